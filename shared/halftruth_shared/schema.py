"""Schemas of surveys, their questions, and records as tuples of category codes."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from numbers import Integral

from .attribute import NO_ANSWER, NOT_ASKED, OPTION, Attribute, find_repeated
from .errors import RecordError, SchemaError, listing
from .texts import Text, choose_language

_MAX_ATTRIBUTES = 1_024


@dataclass(frozen=True)
class Question:
    """Question as respondents see it.

    Parameters
    ----------
    name, label, help, short : str
        Texts of the attribute, or of the multiple-response question.
    kind : str
        ``"choice"``, ``"scale"``, ``"number"`` or ``"several"`` (multiple response).
    attributes : tuple of Attribute
        One attribute, or all options of a multiple-response question. The options have the same
        page, condition and optionality.
    at_most : int, optional
        Largest number of options of a multiple-response question that is perturbed as one set.
    """

    name: str
    label: Text
    help: Text
    kind: str
    attributes: tuple[Attribute, ...]
    short: Text = ""
    at_most: int | None = None

    def label_in(self, *languages: str) -> str:
        """Return the label, in the first available of some languages."""
        return choose_language(self.label or self.name, *languages)


@dataclass(frozen=True)
class Schema:
    """The attributes of a survey, in order; a record is a tuple with one code for each.

    Raises
    ------
    SchemaError
        If there is no attribute, or two share a name.
    """

    attributes: tuple[Attribute, ...]
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "attributes", tuple(self.attributes))
        if not 1 <= len(self.attributes) <= _MAX_ATTRIBUTES:
            raise SchemaError(
                f"attributes: expected 1 to {_MAX_ATTRIBUTES}, got {len(self.attributes)}",
                field="attributes",
            )
        twice = find_repeated(self.names)
        if twice is not None:
            raise SchemaError(f"attributes: '{twice}' is named twice; expected once", field=twice)
        self._check_options()
        # Samplers are cached by schema, so the hash is computed only once.
        object.__setattr__(self, "_hash", hash(self.attributes))

    def __repr__(self) -> str:
        sizes = [f"{each.name} ({len(each.categories)})" for each in self.attributes]
        return f"<Schema {', '.join(sizes)}>"

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[type["Schema"], tuple[tuple[Attribute, ...]]]:
        # The hash is not pickled, because another process hashes text differently.
        return Schema, (self.attributes,)

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {attribute.name: j for j, attribute in enumerate(self.attributes)}

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Attribute names in order."""
        return tuple(attribute.name for attribute in self.attributes)

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """Number of categories of each attribute, (d_1, …, d_M)."""
        return tuple(len(attribute.categories) for attribute in self.attributes)

    @cached_property
    def group_shape(self) -> tuple[int, ...]:
        """Number of groups of answers of each attribute, in tables of several attributes."""
        return tuple(
            len(each.groups.names) if each.collapsed else len(each.categories)
            for each in self.attributes
        )

    @cached_property
    def size(self) -> int:
        """Number of cells n = ∏ d_j, an exact integer of any size."""
        return math.prod(self.shape)

    def view_shape(self, positions: Sequence[int]) -> tuple[int, ...]:
        """Return the shape of the table of a report about some attributes.

        With one attribute it has all its answers, with several the groups of their answers.
        """
        if len(positions) == 1:
            return (self.shape[positions[0]],)
        return tuple([self.group_shape[j] for j in positions])

    def position(self, name: str, field: str = "attributes") -> int:
        """Return the position of an attribute that a field names.

        Raises
        ------
        SchemaError
            If the schema has no such attribute.
        """
        try:
            return self._positions[name]
        except (KeyError, TypeError):
            if isinstance(name, str) and name in self.options:
                options = listing([option.name for option in self.options[name]])
                raise SchemaError(
                    f"{field}: '{name}' is a question with several answers; expected one of its"
                    f" options: {options}",
                    field=field,
                ) from None
            raise SchemaError(
                f"{field}: unknown attribute '{name}'; the survey has: {listing(self.names)}",
                field=field,
            ) from None

    def positions(self, names: Sequence[str], field: str = "attributes") -> tuple[int, ...]:
        """Return the positions of the attributes that a field names, in the order given.

        Raises
        ------
        SchemaError
            If a name is unknown or repeated, or the list is empty; the message has all unknown
            names.
        """
        if not names or isinstance(names, str):
            raise SchemaError(
                f"{field}: expected a list with one or more of: {listing(self.names)}", field=field
            )
        known = {*self.names, *self.options}
        unknown = [each for each in names if not isinstance(each, str) or each not in known]
        if len(unknown) > 1:
            named = listing([f"'{each}'" for each in unknown])
            raise SchemaError(
                f"{field}: unknown attributes {named}; the survey has: {listing(self.names)}",
                field=field,
            )
        positions = tuple([self.position(name, field) for name in names])
        twice = find_repeated(names)
        if twice is not None:
            raise SchemaError(f"{field}: '{twice}' is named twice; expected once", field=field)
        return positions

    def attributes_of(self, name: str, field: str = "attributes") -> tuple[Attribute, ...]:
        """Return the attributes of a question: its options, or a single attribute.

        Raises
        ------
        SchemaError
            If there is no question or attribute of that name.
        """
        options = self.options.get(name) if isinstance(name, str) else None
        return options or (self.attributes[self.position(name, field)],)

    @cached_property
    def questions(self) -> tuple[Question, ...]:
        """Questions as respondents see them, in order."""
        groups: list[list[Attribute]] = []
        for attribute in self.attributes:
            if (
                groups
                and attribute.question
                and attribute.question_name == groups[-1][0].question_name
            ):
                groups[-1].append(attribute)
            else:
                groups.append([attribute])
        return tuple([_make_question(group) for group in groups])

    @cached_property
    def options(self) -> dict[str, tuple[Attribute, ...]]:
        """Options of each multiple-response question, by its name."""
        return {q.name: q.attributes for q in self.questions if q.kind == "several"}

    @cached_property
    def sets(self) -> dict[str, tuple[int, ...]]:
        """Positions of the options of each question that is perturbed as one set, by its name."""
        return {
            question.name: tuple([self._positions[each.name] for each in question.attributes])
            for question in self.questions
            if question.at_most is not None
        }

    @cached_property
    def set_of(self) -> dict[int, str]:
        """Name of the question that is perturbed as one set, by the position of each option."""
        return {j: name for name, positions in self.sets.items() for j in positions}

    def _check_options(self) -> None:
        """Check that the options of a question are adjacent and consistent, as forms require."""
        names = [question.name for question in self.questions]
        twice = find_repeated(names)
        if twice is not None:
            raise SchemaError(f"attributes: '{twice}' is named twice; expected once", field=twice)
        for name in self.options:
            if name in self._positions:
                raise SchemaError(f"attributes: '{name}' is named twice; expected once", field=name)
        for name, options in self.options.items():
            first = options[0]
            if any(
                replace(o, name=first.name, label=first.label, short=first.short) != first
                for o in options[1:]
            ):
                raise SchemaError(
                    f"attribute '{name}': expected options alike in all but name, label and short",
                    field=name,
                )

    def check_conditions(self) -> None:
        """Raise SchemaError unless all conditions name categories of earlier attributes.

        This is checked for surveys only, since a schema can also consist of some attributes of
        another schema.
        """
        _ = self._conditions

    @cached_property
    def _conditions(self) -> tuple[tuple[tuple[int, frozenset[int]], ...], ...]:
        """For each attribute, the positions and codes in its condition."""
        return tuple([self._conditions_of(j) for j in range(len(self.attributes))])

    def _conditions_of(self, j: int) -> tuple[tuple[int, frozenset[int]], ...]:
        about, conditions = self.attributes[j], []
        for name, answers in about.ask_if.items():
            i = self._positions.get(name, j)
            if i >= j:
                earlier = listing(self.names[:j]) or "none, since it is the first"
                if name in self.options:
                    earlier = listing([option.name for option in self.options[name]])
                raise SchemaError(
                    f"attribute '{about.name}': ask_if: '{name}' is no earlier attribute; expected"
                    f" one of: {earlier}",
                    field="ask_if",
                )
            categories = self.attributes[i].categories
            for answer in answers:
                if answer not in categories:
                    raise SchemaError(
                        f"attribute '{about.name}': ask_if: '{answer}' is not one of the categories"
                        f" of '{name}': {listing(categories)}",
                        field="ask_if",
                    )
            conditions.append((i, frozenset(map(categories.index, answers))))
        return tuple(conditions)

    def dependents(self, name: str, public: Collection[str] = ()) -> frozenset[str]:
        """Return an attribute and all attributes whose condition depends on it.

        They depend on it directly, or through other attributes that are not public.
        """
        dependents = {name}
        for attribute in self.attributes if name in self.conditional else ():
            if attribute.name not in public and not dependents.isdisjoint(attribute.ask_if):
                dependents.add(attribute.name)
        return frozenset(dependents)

    def varying_with(self, question: Question, public: Collection[str] = ()) -> set[str]:
        """Return the attributes that can differ if all other answers are known.

        These are the attributes of a question and of the questions asked after it, except public
        ones.
        """
        found = (self.dependents(attribute.name, public) for attribute in question.attributes)
        return set().union(*found).difference(public)

    def components(self, public: Collection[str] = ()) -> list[frozenset[str]]:
        """Return the attributes that are not public, as groups that conditions do not connect.

        Given the public answers, all combinations of feasible answers of the groups are feasible.
        """
        groups = [frozenset({name}) for name in self.names if name not in public]
        for attribute in filter(lambda attribute: attribute.ask_if, self.attributes):
            related = {attribute.name, *attribute.ask_if}
            joined = [group for group in groups if not group.isdisjoint(related)]
            if len(joined) > 1:
                others = [group for group in groups if group.isdisjoint(related)]
                groups = [*others, frozenset().union(*joined)]
        return groups

    @cached_property
    def conditional(self) -> frozenset[str]:
        """Attributes with a condition, and attributes that a condition names."""
        with_condition = [attribute for attribute in self.attributes if attribute.ask_if]
        return frozenset(
            name for attribute in with_condition for name in (attribute.name, *attribute.ask_if)
        )

    def encode(self, record: Mapping[str, object]) -> tuple[int, ...]:
        """Return the codes of a record.

        The record has an answer to every attribute that is asked and not optional. The answer to a
        multiple-response question is the list of chosen options, or one answer for each option.

        Raises
        ------
        RecordError
            For an unknown or missing attribute, an invalid answer, or an answer to a question that
            is not asked. The message contains no answer and no unknown key, since a key can be a
            misplaced answer; it suggests attributes of the schema with similar names.
        """
        if not isinstance(record, Mapping):
            raise RecordError("record: expected a mapping of attribute names to answers")
        unknown = [n for n in record if n not in self._positions and n not in self.options]
        if unknown:
            keys = {_normalize_name(key) for key in unknown if isinstance(key, str)}
            meant = [n for n in (*self._positions, *self.options) if _normalize_name(n) in keys]
            raise RecordError(
                f"record: {len(unknown)} unknown attribute{'s' if len(unknown) > 1 else ''}"
                f"{f', perhaps {listing(meant)}' if meant else ''};"
                f" the survey has: {listing(self.names)}",
                field="record",
            )
        answers = self._expand_option_lists(record)
        codes: list[int] = []
        for attribute, conditions in zip(self.attributes, self._conditions, strict=True):
            is_asked = all(codes[i] in accepted for i, accepted in conditions)
            codes.append(_encode_answer(attribute, answers, is_asked))
        self._check_sets(codes)
        return tuple(codes)

    def _expand_option_lists(self, record: Mapping[str, object]) -> Mapping[str, object]:
        """Replace lists of chosen options in a record by an answer to each option."""
        lists = [name for name in self.options if name in record]
        if not lists:
            return record
        answers = dict(record)
        for name in lists:
            options, chosen = self.options[name], answers.pop(name)
            if any(option.name in record for option in options):
                raise RecordError(
                    f"attribute '{name}': expected the list of what was chosen or an answer to each"
                    " option, not both",
                    field=name,
                )
            for option in options:
                answers[option.name] = _read_option(name, options, option, chosen)
        return answers

    def decode(self, codes: Sequence[int]) -> dict[str, str]:
        """Return the record with some codes, as answers by attribute."""
        return {
            attribute.name: attribute.categories[code]
            for attribute, code in zip(self.attributes, self.check(codes), strict=True)
        }

    def check(self, codes: Sequence[int]) -> tuple[int, ...]:
        """Check the codes of a record and return them as a tuple of integers.

        Raises
        ------
        RecordError
            If a code is invalid; the message names the attribute, but not the code.
        """
        # Arrays are no sequences.
        is_listed = isinstance(codes, Sequence) or hasattr(codes, "__array__")
        if not is_listed or len(codes) != len(self.shape):
            raise RecordError(f"record: expected {len(self.shape)} codes, one for each attribute")
        for j, (code, size) in enumerate(zip(codes, self.shape, strict=True)):
            is_integer = isinstance(code, Integral) and not isinstance(code, bool)
            if not is_integer or not 0 <= code < size:
                raise RecordError(
                    f"attribute '{self.names[j]}': expected a code from 0 to {size - 1}",
                    field=self.names[j],
                )
        self._check_sets(codes)
        return tuple(map(int, codes))

    def _check_sets(self, codes: Sequence[int]) -> None:
        """Raise RecordError for too many chosen options, or options that are missing in part."""
        for name, positions in self.sets.items():
            own = [codes[j] for j in positions]
            if max(own) > 1 and min(own) < max(own):
                raise incomplete_set(name)
            if own.count(1) > self.at_most(name):
                raise too_many_chosen(name, self.at_most(name))

    def at_most(self, name: str) -> int:
        """Return the largest number of options of a question that is perturbed as one set."""
        question = self.attributes[self.sets[name][0]].question
        assert question is not None  # noqa: S101 - sets are questions with options
        assert question.at_most is not None  # noqa: S101
        return question.at_most


def too_many_chosen(name: str, at_most: int) -> RecordError:
    """Return the error for too many chosen options of a question."""
    return RecordError(f"attribute '{name}': expected at most {at_most} chosen options", field=name)


def incomplete_set(name: str) -> RecordError:
    """Return the error for a question of which some options have no answer."""
    return RecordError(
        f"attribute '{name}': expected an answer to every option, or the same missing category of"
        " all",
        field=name,
    )


def _make_question(group: Sequence[Attribute]) -> Question:
    first = group[0]
    if first.question is None:
        return Question(first.name, first.label, first.help, first.kind, tuple(group), first.short)
    several = first.question
    return Question(
        several.name,
        several.label,
        several.help,
        "several",
        tuple(group),
        several.short,
        several.at_most,
    )


def _normalize_name(name: str) -> str:
    """Return a name without case, blanks and punctuation, to find similar names."""
    return "".join(filter(str.isalnum, name)).casefold()


def _encode_answer(attribute: Attribute, answers: Mapping[str, object], is_asked: bool) -> int:
    """Return the code of the answer to an attribute, or of its missing category."""
    if not is_asked:
        answer = answers.get(attribute.name, NOT_ASKED)
        if not isinstance(answer, str) or answer != NOT_ASKED:
            raise RecordError(
                f"attribute '{attribute.name}': not asked after the earlier answers; leave it out",
                field=attribute.name,
            )
        return attribute.code(NOT_ASKED)
    if attribute.name in answers:
        code = attribute.code(answers[attribute.name])
        if attribute.ask_if and attribute.categories[code] == NOT_ASKED:
            raise RecordError(
                f"attribute '{attribute.name}': asked after the earlier answers; answer"
                f" {attribute.expected}",
                field=attribute.name,
            )
        return code
    if not attribute.optional:
        raise RecordError(
            f"attribute '{attribute.name}' is missing; answer {attribute.expected}",
            field=attribute.name,
        )
    return attribute.code(NO_ANSWER)


def _read_option(name: str, options: Sequence[Attribute], option: Attribute, chosen: object) -> str:
    """Return the answer to one option, from a list of options or a missing category."""
    if isinstance(chosen, str) and chosen in option.missing:
        return chosen
    names = [o.option or "" for o in options]
    is_list_of_options = isinstance(chosen, list | tuple | set | frozenset) and all(
        isinstance(option_name, str) and option_name in names for option_name in chosen
    )
    if not is_list_of_options or not isinstance(chosen, Collection):
        missing = f", or one of: {listing(option.missing)}" if option.missing else ""
        raise RecordError(
            f"attribute '{name}': expected a list of: {listing(names)}{missing}", field=name
        )
    return OPTION[option.option in chosen]
