"""Attributes: the units of perturbation, each with one answer."""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from itertools import chain

from .errors import RecordError, SchemaError, listing
from .number import NumberRange, parse_number
from .texts import Frozen, Text, choose_language, describe_accepted_text, fits, freeze_text, shorten

#: Kinds of questions whose answer is one attribute.
KINDS = ("choice", "scale", "number")

#: Category for respondents who skip an optional question.
NO_ANSWER = "no answer"
#: Category for respondents who are not asked because of an earlier answer.
NOT_ASKED = "not asked"

#: Categories of an option: not chosen, chosen.
OPTION = ("no", "yes")

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,63}", re.ASCII)
_MAX_CATEGORIES = 65_536
_MAX_TEXT = 256
_MAX_HELP = 2_000


@dataclass(frozen=True)
class MultipleResponse:
    """Multiple-response question; each of its options is a yes/no attribute.

    `name` is the prefix of the names of its attributes, as in ``symptoms.cough``. `label` (the name
    by default) and `help` are texts of a form above the options; `short` is the name in results.
    With `at_most`, a respondent chooses at most so many of the options, and the device perturbs
    them together, as one set.
    """

    name: str
    label: Text = ""
    help: Text = ""
    short: Text = ""
    at_most: int | None = None

    def __post_init__(self) -> None:
        _check_name(self.name, "attribute name")
        if self.at_most is not None and (type(self.at_most) is not int or self.at_most < 1):
            raise SchemaError(
                f"attribute '{self.name}': at_most: expected an integer from 1 to the number of"
                " options",
                field="at_most",
            )
        for what in ("label", "help", "short"):
            _freeze_text(self, what)

    def short_in(self, *languages: str) -> str:
        """Return the name of the question in results."""
        label = choose_language(self.label, *languages)
        return choose_language(self.short, *languages) or _short_label(label, self.name)


@dataclass(frozen=True)
class Groups:
    """Groups of the answers to a question.

    `names` are those of the groups; `codes` has for each code of an answer that of its group.
    """

    names: tuple[str, ...]
    codes: tuple[int, ...]


@dataclass(frozen=True)
class Attribute:
    """Question with a single answer, or one option of a multiple-response question.

    Parameters
    ----------
    name : str
        At most 64 letters, digits, ``_``, ``.`` and ``-``, starting with a letter.
    categories : sequence of str
        The possible answers, at least two, all different. The *code* of an answer is its position.
        The categories of a number follow from its range. Missing categories that are not listed are
        appended.
    items : sequence of str, optional
        Categories that count in itemsets; by default *yes* of a question with the answers *yes* and
        *no*, and all but the missing ones of others. A question with other words for them, such as
        *ja* and *nein*, has ``("ja",)``.
    sensitive : bool
        Whether the answer must be perturbed.
    label, help : str or mapping of str to str
        Texts of a form, perhaps by language; the label is the name by default.
    page : str or mapping of str to str
        Title of the page of a form; neighbouring questions with the same title share a page.
    kind : str
        ``"choice"``, ``"scale"`` (a choice shown as a scale) or ``"number"``.
    ordered : bool
        Whether the order of the categories has a meaning; always true for scales and numbers.
        Missing categories are not part of the order.
    missing : sequence of str
        Categories for missing answers. ``"no answer"`` is added to an optional question, ``"not
        asked"`` to a question with a condition.
    number : NumberRange, optional
        Range of a numeric question; its categories are the bins.
    optional : bool
        Whether the question can be skipped.
    ask_if : mapping of str to sequence of str
        Condition: one of the listed answers to each of these earlier attributes.
    shuffle : bool
        Whether a form shuffles the answers.
    answers : mapping of str to str or mapping of str to str
        Labels of categories in a form, perhaps by language.
    short : str or mapping of str to str
        Name in results, perhaps by language; by default the beginning of the label.
    short_answers : mapping of str to str or mapping of str to str
        Names of categories in results; by default the beginning of their labels.
    collapsed : mapping of str to sequence of str, optional
        Groups of answers by name, at least two and fewer than answers, for reports about several
        questions of a split questionnaire; a report about this question alone has the answer in
        detail. Each answer is in one group. Groups of an ordered question are contiguous, and a
        missing category is a group of its own, which need not be listed. Groups are in the order
        of their first answers. `answers` and `short_answers` can label groups, too.
    question : MultipleResponse, optional
        The question that this attribute is an option of.

    Raises
    ------
    SchemaError
        If a parameter is invalid.
    """

    name: str
    categories: tuple[str, ...] = ()
    items: tuple[str, ...] | None = None
    sensitive: bool = True
    label: Text = ""
    help: Text = ""
    page: Text = ""
    kind: str = field(default="choice", kw_only=True)
    ordered: bool = field(default=False, kw_only=True)
    missing: tuple[str, ...] = field(default=(), kw_only=True)
    number: NumberRange | None = field(default=None, kw_only=True)
    optional: bool = field(default=False, kw_only=True)
    ask_if: Mapping[str, Sequence[str]] = field(default_factory=dict, kw_only=True)
    shuffle: bool = field(default=False, kw_only=True)
    answers: Mapping[str, Text] = field(default_factory=dict, kw_only=True)
    question: MultipleResponse | None = field(default=None, kw_only=True)
    short: Text = field(default="", kw_only=True)
    short_answers: Mapping[str, Text] = field(default_factory=dict, kw_only=True)
    collapsed: Mapping[str, Sequence[str]] | None = field(default=None, kw_only=True)

    def __repr__(self) -> str:
        """Return the parameters that differ from their defaults."""
        given = {each.name: getattr(self, each.name) for each in fields(self)}
        usual = {each.name: each.default for each in fields(self)}
        shown = [f"{n}={x!r}" for n, x in given.items() if x != usual[n] and x != {}]
        return f"Attribute({', '.join(shown)})"

    def __post_init__(self) -> None:
        _check_name(self.name, "attribute name")
        for what in ("sensitive", "ordered", "optional", "shuffle"):
            if not isinstance(getattr(self, what), bool):
                raise self._error(what, "expected true or false")
        self._check_kind()
        self._check_ask_if()
        self._check_missing()
        self._check_categories()
        self._check_collapsed()
        if self.items is not None:
            self._set("items", self._texts("items", self.items))
            for item in self.items:
                self._check_category("items", item)
        for what in ("label", "help", "page", "short"):
            _freeze_text(self, what)
        for what in ("answers", "short_answers"):
            self._check_answers(what)
        self._check_option()

    def _set(self, what: str, value: object) -> None:
        object.__setattr__(self, what, value)

    def _error(self, what: str, message: str) -> SchemaError:
        return SchemaError(f"attribute '{self.name}': {what}: {message}", field=what)

    def _check_category(self, what: str, category: object) -> None:
        if category not in self.categories:
            raise self._error(
                what, f"'{category}' is not one of its categories: {listing(self.categories)}"
            )

    def _check_kind(self) -> None:
        if self.number is not None and self.kind == "choice":
            self._set("kind", "number")
        if self.kind not in KINDS:
            raise self._error("kind", f"expected one of: {', '.join((*KINDS, 'several'))}")
        if (self.kind == "number") != isinstance(self.number, NumberRange):
            raise self._error(
                "kind", "expected minimum, maximum and step (or bins) of a number, and of it alone"
            )
        if self.kind != "choice":
            self._set("ordered", True)
        if self.shuffle and self.ordered:
            raise self._error("shuffle", "expected false, since the order of the answers counts")

    def _check_ask_if(self) -> None:
        if not isinstance(self.ask_if, Mapping):
            raise self._error("ask_if", 'expected answers by attribute, as in { smoker = ["yes"] }')
        for name in self.ask_if:
            _check_name(name, f"attribute '{self.name}': ask_if")
        conditions = {name: self._texts("ask_if", answers) for name, answers in self.ask_if.items()}
        if not all(conditions.values()):
            raise self._error("ask_if", "expected one answer or more of each attribute")
        self._set("ask_if", Frozen(conditions))

    def _check_missing(self) -> None:
        missing = self._texts("missing", self.missing)
        implied = ((NO_ANSWER, self.optional), (NOT_ASKED, bool(self.ask_if)))
        for category, applies in implied:
            if category in missing and not applies:
                raise self._error(
                    "missing",
                    f"'{category}' is for questions that are optional or have a condition",
                )
        missing += tuple(c for c, applies in implied if applies and c not in missing)
        if self.number is not None and any(
            parse_number(category) is not None for category in missing
        ):
            raise self._error("missing", "expected words, since a number would be an answer")
        self._set("missing", missing)

    def _check_categories(self) -> None:
        categories = self._texts("categories", self.categories)
        if self.number is not None:
            derived = (*self.number.categories, *self.missing)
            if categories not in ((), derived):
                raise self._error(
                    "categories", "expected none, since those of a number are its bins"
                )
            categories = self._texts("categories", derived)
        else:
            categories += tuple(c for c in self.missing if c not in categories)
        if len(categories) < 2:
            raise SchemaError(
                f"attribute '{self.name}': expected 2 to {_MAX_CATEGORIES} categories,"
                f" got {len(categories)}",
                field="categories",
            )
        self._set("categories", categories)
        if len(self.missing) == len(categories):
            raise self._error("missing", "expected a category besides")

    def _check_collapsed(self) -> None:
        if self.collapsed is None:
            return
        if not isinstance(self.collapsed, Mapping):
            raise self._error(
                "collapsed", 'expected answers by group, as in { low = ["1", "2"], high = ["3"] }'
            )
        self._texts("collapsed", list(self.collapsed))
        groups = {
            name: self._texts("collapsed", answers) for name, answers in self.collapsed.items()
        }
        listed = tuple(chain(*groups.values()))
        for answer in listed:
            if answer not in self._codes:
                self._check_category("collapsed", answer)
        twice = find_repeated(listed)
        if twice is not None:
            raise self._error("collapsed", f"'{twice}' is in two groups; expected one")
        in_groups = set(listed)
        for category in filter(lambda category: category not in in_groups, self.categories):
            if category not in self.missing:
                raise self._error("collapsed", f"'{category}' is in no group; expected one")
            groups[category] = (*groups.get(category, ()), category)
        order = [category for category in self.categories if category not in self.missing]
        ranks = {category: rank for rank, category in enumerate(order)}
        for name, answers in groups.items():
            self._check_group(name, answers, ranks)
        count = len(groups) - len(self.missing)
        if not 2 <= count < len(order):
            raise self._error(
                "collapsed",
                f"{count} groups of {len(order)} answers, besides missing ones; expected at least"
                " two, and fewer than answers",
            )
        codes = {name: sorted(map(self._codes.__getitem__, groups[name])) for name in groups}
        collapsed = {
            name: tuple([self.categories[code] for code in codes[name]])
            for name in sorted(codes, key=lambda name: codes[name][0])
        }
        self._set("collapsed", Frozen(collapsed))

    def _check_group(self, name: str, answers: Sequence[str], ranks: Mapping[str, int]) -> None:
        """Check one group of `collapsed`, given the ranks of the answers that are not missing."""
        if not answers:
            raise self._error("collapsed", f"'{name}' has no answers; expected one or more")
        if len(answers) > 1 and not ranks.keys() >= set(answers):
            raise self._error(
                "collapsed",
                f"'{name}' has a missing category; expected each of these in a group of its own",
            )
        if name in self._codes and (name,) != tuple(answers):
            raise self._error(
                "collapsed",
                f"'{name}' is an answer, too; expected another name, or a group of this answer"
                " alone",
            )
        own = [ranks[answer] for answer in answers if answer in ranks]
        if self.ordered and own and max(own) - min(own) >= len(own):
            raise self._error(
                "collapsed", f"'{name}' leaves out answers; expected neighbours in their order"
            )

    def _check_answers(self, what: str) -> None:
        given, shown = getattr(self, what), {}
        if not isinstance(given, Mapping):
            raise self._error(what, f"expected by category {describe_accepted_text(_MAX_TEXT)}")
        for category, text in given.items():
            if category not in (self.collapsed or ()):
                self._check_category(what, category)
            frozen = freeze_text(text, _MAX_TEXT)
            if not frozen:
                raise self._error(
                    what, f"'{category}': expected {describe_accepted_text(_MAX_TEXT)}"
                )
            shown[category] = frozen
        self._set(what, Frozen(shown))

    def _check_option(self) -> None:
        if self.question is not None and self.collapsed is not None:
            raise self._error("collapsed", "expected in questions with one answer")
        if self.question is not None and (
            not self.name.startswith(f"{self.question.name}.")
            or self.categories != (*OPTION, *self.missing)
            or self.items != OPTION[1:]
            or self.ordered
        ):
            raise self._error(
                "question",
                f"expected an option '{self.question.name}.…' with the categories no and yes, of"
                " which yes is an item",
            )

    def _texts(self, what: str, values: Sequence[str]) -> tuple[str, ...]:
        if isinstance(values, str) or not isinstance(values, Sequence):
            raise self._error(what, "expected a list")
        if len(values) > _MAX_CATEGORIES:
            raise self._error(what, f"expected 2 to {_MAX_CATEGORIES}, got {len(values)}")
        for value in values:
            if not isinstance(value, str) or not _is_plain_text(value):
                raise self._error(
                    what,
                    f"expected text of 1 to {_MAX_TEXT} characters without control characters or"
                    " outer blanks",
                )
        twice = find_repeated(values)
        if twice is not None:
            raise self._error(what, f"'{twice}' is named twice; expected once")
        return tuple(values)

    @cached_property
    def _codes(self) -> dict[str, int]:
        return {category: code for code, category in enumerate(self.categories)}

    @cached_property
    def groups(self) -> Groups:
        """Groups of its answers in reports about several questions; by default each answer."""
        if self.collapsed is None:
            return Groups(self.categories, tuple(range(len(self.categories))))
        number = {answer: k for k, each in enumerate(self.collapsed.values()) for answer in each}
        return Groups(
            tuple(self.collapsed), tuple([number[category] for category in self.categories])
        )

    @property
    def question_name(self) -> str | None:
        """Name of the question that this attribute is an option of; None for other attributes."""
        return None if self.question is None else self.question.name

    @property
    def option(self) -> str | None:
        """Name of the option, ``cough`` of ``symptoms.cough``; None for other attributes."""
        return None if self.question is None else self.name[len(self.question.name) + 1 :]

    @cached_property
    def is_missing(self) -> tuple[bool, ...]:
        """Whether a category is missing, by code."""
        return tuple([category in self.missing for category in self.categories])

    @cached_property
    def is_item(self) -> tuple[bool, ...]:
        """Whether a category counts in itemsets, by code."""
        if self.items is not None:
            return tuple([category in self.items for category in self.categories])
        if self.is_yes_no:
            return tuple([category.casefold() == OPTION[1] for category in self.categories])
        return tuple([category in self.answered for category in self.categories])

    @property
    def is_yes_no(self) -> bool:
        """Whether the answers, but for missing ones, are *yes* and *no*, in any order and case."""
        return sorted(each.casefold() for each in self.answered) == sorted(OPTION)

    @property
    def answered(self) -> tuple[str, ...]:
        """The categories that are not missing."""
        return tuple([each for each in self.categories if each not in self.missing])

    def label_in(self, *languages: str) -> str:
        """Return the label, in the first available of some languages.

        The label of an option includes that of its question.
        """
        if self.question is None:
            return self.option_in(*languages)
        question = choose_language(self.question.label or self.question.name, *languages)
        return f"{question} – {self.option_in(*languages)}"

    def option_in(self, *languages: str) -> str:
        """Return the label; for an option, without that of its question."""
        return choose_language(self.label or self.option or self.name, *languages)

    def short_in(self, *languages: str) -> str:
        """Return the name in results; for an option, after that of its question."""
        own = self.short_option_in(*languages)
        return own if self.question is None else f"{self.question.short_in(*languages)} – {own}"

    def short_option_in(self, *languages: str) -> str:
        """Return the name in results; for an option, without that of its question."""
        label, name = self.option_in(*languages), self.option or self.name
        return choose_language(self.short, *languages) or _short_label(label, name)

    def short_answers_in(self, *languages: str) -> tuple[str, ...]:
        """Return the names of the categories in results, longer ones where short ones coincide."""
        return self._short_in(self.categories, *languages)

    def short_groups_in(self, *languages: str) -> tuple[str, ...]:
        """Return the names of the groups in results, as `short_answers_in`."""
        return self._short_in(self.groups.names, *languages)

    def _short_in(self, names: Sequence[str], *languages: str) -> tuple[str, ...]:
        labels = [self.answer_in(name, *languages) for name in names]
        short = [
            choose_language(self.short_answers.get(name, ""), *languages) or shorten(label)
            for name, label in zip(names, labels, strict=True)
        ]
        for longer in ([shorten(label, ends=True) for label in labels], labels):
            short = [
                s if short.count(s) == 1 else other for s, other in zip(short, longer, strict=True)
            ]
        return tuple(short)

    def answers_in(self, *languages: str) -> tuple[str, ...]:
        """Return the labels of the categories, in order."""
        return tuple([self.answer_in(category, *languages) for category in self.categories])

    def answer_in(self, category: str, *languages: str) -> str:
        """Return the label of a category, or of a group."""
        return choose_language(self.answers.get(category, category), *languages)

    def code(self, answer: object) -> int:
        """Return the code of an answer: a category, or a number for a numeric question.

        Raises
        ------
        RecordError
            If the answer is invalid; the message does not contain it.
        """
        code = self._codes.get(answer) if isinstance(answer, str) else None
        if code is None and self.number is not None:
            code = self.number.bin(answer)
        if code is None:
            raise RecordError(
                f"attribute '{self.name}': the answer is not {self.expected}", field=self.name
            )
        return code

    @property
    def expected(self) -> str:
        """Description of the accepted answers, for messages."""
        chosen = [c for c in self.categories if c != NOT_ASKED or c not in self.missing]
        if self.number is None:
            return f"one of: {listing(chosen)}"
        missing = [category for category in self.missing if category != NOT_ASKED]
        return f"{self.number}" + (f", or one of: {listing(missing)}" if missing else "")


def find_repeated(values: Sequence[str]) -> str | None:
    """Return the first repeated value; None if all values differ."""
    seen: set[str] = set()
    for value in values:
        if value in seen:
            return value
        seen.add(value)
    return None


def _check_name(name: object, what: str) -> None:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise SchemaError(
            f"{what}: expected a letter followed by letters, digits, '_', '.' or '-', 64 at most",
            field="name",
        )


def _short_label(label: str, name: str) -> str:
    """Return a label if it is short enough for results, or else the name."""
    return " ".join(label.split()) if label and fits(label) else name


def _freeze_text(owner: Attribute | MultipleResponse, what: str) -> None:
    text = freeze_text(getattr(owner, what), _MAX_HELP)
    if text is None:
        raise SchemaError(
            f"attribute '{owner.name}': {what}: expected {describe_accepted_text(_MAX_HELP)}",
            field=what,
        )
    object.__setattr__(owner, what, text)


def _is_plain_text(value: str) -> bool:
    return (
        0 < len(value) <= _MAX_TEXT
        and value == value.strip()
        and not any(unicodedata.category(character) in ("Cc", "Cs") for character in value)
    )
