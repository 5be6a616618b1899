"""HTML form controls for the query of an analysis."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations, product
from typing import Any

from halftruth_shared import Attribute, Survey
from halftruth_shared.analyses.base import FilteredQuery
from halftruth_shared.analyses.reading import Field
from halftruth_shared.results import quantity

from ...analyses import Analysis, choices
from ...estimation.groups import survey_in_groups
from ...estimation.reconstruction import of_table, reconstruction

#: Titles of fields whose names are those of programs, as people read them.
_TITLES = {
    "attribute": "Question",
    "attributes": "Questions",
    "where": "Only people with",
    "missing": "Missing answers",
    "merge": "Merged answers",
    "confidence": "Confidence level",
    "among": "Groups to compare",
    "min_support": "Smallest support",
    "min_confidence": "Smallest confidence",
    "min_lift": "Smallest lift",
    "max_length": "Longest itemsets",
    "modelled": "Questions of the model",
    "quasi": "Quasi-identifiers",
    "sensitive": "Sensitive question",
    "max_rows": "Most rows",
    "limit": "Most rows",
}

#: Largest number of attributes whose interactions are offered; 8 have 28 pairs and 56 triples.
MOST_OFFERED = 8


class Offered:
    """Questions that a form offers: those that some report asks together with what was chosen.

    Parameters
    ----------
    given : mapping of str to sequence of str
        The values of the form, valid or not.
    """

    def __init__(
        self, analysis: Analysis[Any, Any], survey: Survey, given: Mapping[str, Sequence[str]]
    ) -> None:
        self._survey, self._schema = survey, survey.schema
        self._of_several = analysis.min_order > 1
        # Other questions are offered if some report asks them together with the main one.
        self._main = {name for name, each in analysis.fields.items() if each.links == "question"}
        texts = (given.get(field, ()) for field in self._main)
        named = [text.partition("=")[0] for of_field in texts for text in of_field]
        #: The main question, if one was chosen.
        self.main = self._known(named)[:1]
        # Any two questions are asked together in most surveys.
        self._every = reconstruction(survey_in_groups(survey)).identified_sets.any_of > 1

    def _known(self, names: Iterable[str]) -> list[str]:
        known = {*self._schema.names, *self._schema.options}
        return [name for name in names if name in known]

    def _together(self, names: Sequence[str]) -> bool:
        options = [[each.name for each in self._schema.attributes_of(name)] for name in names]
        # A question with several answers is not asked together with one of its own options.
        if len({*chain(*options)}) < sum(map(len, options)):
            return False
        tables = product(*options)
        return all(of_table(self._survey, each).identified(each) for each in tables)

    def _with_another(self, name: str) -> bool:
        return any(self._together([name, other]) for other in self._schema.names if other != name)

    def names(self, field: str, names: Sequence[str]) -> list[str]:
        """Return the names that a field offers."""
        if self._every or field == "attributes":
            return [*names]
        if field in self._main:
            return [name for name in names if not self._of_several or self._with_another(name)]
        return self.beside(self.main, names) if self.main else [*names]

    def beside(self, chosen: Sequence[str], names: Sequence[str]) -> list[str]:
        """Return the names that are asked together with chosen ones, or with any other."""
        if self._every:
            return [*names]
        chosen = self._known(chosen)
        if not chosen:
            return [name for name in names if self._with_another(name)]
        return [name for name in names if name not in chosen and self._together([*chosen, name])]

    def groups(self, chosen: Sequence[str], names: Sequence[str]) -> list[tuple[str, list[str]]]:
        """Return names in two titled groups: asked together with chosen ones, and others.

        There is a single group without a title if all are asked together.
        """
        near = [*self._known(chosen), *self.beside(chosen, names)]
        far = [name for name in names if name not in near]
        if not far:
            return [("", [*names])]
        return [
            ("Asked together with these", [name for name in names if name in near]),
            ("Not asked together with these", far),
        ]


@dataclass(frozen=True)
class Option:
    """Option of a control."""

    value: str
    label: str
    chosen: bool


@dataclass(frozen=True)
class Control:
    """Control of a form, of kind "input", "area", "select", "selects" or "boxes".

    `options` has a tuple for each group of options: the answers to one question, or one select.
    `groups` has the names of several groups. `is_default` is true for an optional control with its
    default value.
    """

    name: str
    label: str
    hint: str
    kind: str
    value: str = ""
    options: tuple[tuple[Option, ...], ...] = ()
    groups: tuple[str, ...] = ()
    is_default: bool = False


def controls(
    analysis: Analysis[Any, Any], survey: Survey, given: Mapping[str, Sequence[str]]
) -> list[Control]:
    """Return the controls of the form of an analysis, with the given values, valid or not."""
    # Answers are chosen for what is about several questions, a filter or groups among them.
    survey = survey_in_groups(survey)
    # The domain comes last, since it usually consists of all people.
    fields = sorted(
        analysis.fields.values(), key=lambda field: field.name in FilteredQuery.__struct_fields__
    )
    named = [given.get(f.name, ()) for f in fields if f.of == "attribute" and f.kind == "text"]
    known = [a for a in survey.schema.attributes if any(a.name in texts for texts in named)]
    answers = {category: label for a in known[:1] for category, label in _answers(a).items()}
    offered = Offered(analysis, survey, given)
    return [
        replace(
            _control(field, survey, list(given.get(field.name, ())), answers, offered),
            is_default=not field.required and list(given.get(field.name, usual)) == usual,
        )
        for field, usual in ((field, _usual(field)) for field in fields)
    ]


def _usual(field: Field) -> list[str]:
    """Return the default of a field as texts."""
    return [] if field.default is None or field.required else field.texts(field.default)


def _control(
    field: Field,
    survey: Survey,
    texts: list[str],
    answers: Mapping[str, str],
    offered: Offered,
) -> Control:
    heading = _TITLES.get(field.name, field.name.replace("_", " ").capitalize())
    described = (field.name, heading, field.description)
    known = {a.name: _label_with_name(a) for a in survey.schema.attributes}
    several = {q.name: f"{q.label_in()} ({q.name})" for q in survey.schema.questions}
    names = tuple(answers) if field.of == "category" else choices(field, survey)
    if field.of in ("attribute", "question"):
        names = tuple(offered.names(field.name, names))
    titles = {n: quantity(n).title for n in names} if field.of == "measure" else {}
    said = {**titles, **answers, **several, **known}
    labels = [said.get(name, name) for name in names]
    if field.kind == "items":
        given = {text.partition("=")[0] for text in texts}
        asked = {*offered.names(field.name, survey.schema.names), *offered.main, *given}
        attributes = [a for a in survey.schema.attributes if a.name in asked]
        every = [_items(a, field.choices, texts) for a in attributes]
        # Keep values for unknown attributes, so that the page shows them with the error.
        strange = [text for text in texts if text.partition("=")[0] not in known]
        every += [_options([text], [text]) for text in strange]
        titles_of = [known[a.name] for a in attributes]
        groups = (*titles_of, *(text.partition("=")[0] for text in strange))
        kind = "select" if field.most == 1 else "boxes"
        return Control(*described, kind, options=tuple(every), groups=groups)
    if field.kind == "terms":
        # The interactions of many attributes are too many to choose from.
        few = [*known][:MOST_OFFERED]
        terms = [",".join(term) for size in (2, 3) for term in combinations(few, size)]
        # Keep given terms of any length.
        terms += [text for text in texts if text not in terms]
        return Control(*described, "boxes", options=(_options(terms, texts),))
    if field.kind in ("margins", "groups"):
        return Control(*described, "area", value="\n".join(texts))
    if field.kind == "flag":
        ticked = [text for text in texts if text != "false"]
        return Control(*described, "boxes", options=(_options(["true"], ticked, ["yes"]),))
    if field.kind == "categories":
        return Control(*described, "boxes", options=(_options(names, texts, labels),))
    if field.kind == "names":
        named = [name for text in texts for name in text.split(",")]
        title = dict(zip(names, labels, strict=True))
        if field.places:
            selects = _selects(offered, title, named, len(field.places))
            return Control(*described, "selects", options=selects, groups=field.places)
        if field.name == "attributes" and field.required:
            joint, joint_titles = _joint(offered, title, named)
            return Control(*described, "boxes", options=joint, groups=joint_titles)
        return Control(*described, "boxes", options=(_options(names, named, labels),))
    default = ",".join(_usual(field))
    if names:
        blank = "" if field.required or default else "any"
        if blank and field.of == "category":
            blank = "by default"
        options = _options(names, texts or [default], labels, blank=blank)
        return Control(*described, "select", options=(options,))
    return Control(*described, "input", value=",".join(texts) or default)


def _selects(
    offered: Offered, title: Mapping[str, str], named: Sequence[str], places: int
) -> tuple[tuple[Option, ...], ...]:
    """Return the options of several selects; each is asked together with those before it."""
    chosen = [*named, *[""] * places]
    every = []
    for place in range(places):
        beside = offered.beside(chosen[:place], [*title])
        labels = [title[name] for name in beside]
        every.append(_options(beside, chosen[place : place + 1], labels, blank="none"))
    return tuple(every)


def _joint(
    offered: Offered, title: Mapping[str, str], named: Sequence[str]
) -> tuple[tuple[tuple[Option, ...], ...], tuple[str, ...]]:
    """Return the options for questions of one table and the titles of their groups, if any."""
    titled = offered.groups(named, [*title])
    if unknown := [name for name in named if name not in title]:
        titled.append(("Unknown", unknown))
    every = tuple(
        _options(some, named, [title.get(name, name) for name in some], keep=False)
        for _, some in titled
    )
    return every, tuple(text for text, _ in titled) if len(titled) > 1 else ()


def _label_with_name(attribute: Attribute) -> str:
    """Return the label of a question, with its name if that differs."""
    label = attribute.label_in()
    return attribute.name if label == attribute.name else f"{label} ({attribute.name})"


def _answers(attribute: Attribute) -> dict[str, str]:
    """Return the labels of an attribute's categories."""
    return dict(zip(attribute.categories, attribute.answers_in(), strict=True))


def _items(attribute: Attribute, names: Sequence[str], texts: Sequence[str]) -> tuple[Option, ...]:
    """Return the options of an attribute: its categories or the choices, and given values."""
    begin = f"{attribute.name}="
    given = [text.removeprefix(begin) for text in texts if text.startswith(begin)]
    said = list(dict.fromkeys([*(names or attribute.categories), *given]))
    every, labels = [f"{begin}{one}" for one in said], _answers(attribute)
    return _options(every, texts, [labels.get(one, one) for one in said], keep=False)


def _options(
    values: Sequence[str],
    chosen: Iterable[str],
    labels: Sequence[str] | None = None,
    *,
    blank: str = "",
    keep: bool = True,
) -> tuple[Option, ...]:
    chosen = list(dict.fromkeys(chosen))
    pairs = zip(values, labels or values, strict=True)
    # Keep given values that are not among the choices.
    other = [text for text in chosen if text and text not in values] if keep else []
    return (
        *((Option("", blank, False),) if blank else ()),
        *(Option(value, label, value in chosen) for value, label in pairs),
        *(Option(text, text, True) for text in other),
    )
