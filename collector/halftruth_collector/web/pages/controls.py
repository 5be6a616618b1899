"""HTML form controls for the query of an analysis."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

from halftruth_shared import Attribute, Survey
from halftruth_shared.analyses.base import FilteredQuery
from halftruth_shared.analyses.reading import Field
from halftruth_shared.results import quantity

from ...analyses import Analysis, choices

#: Largest number of attributes whose interactions are offered; 8 have 28 pairs and 56 triples.
MOST_OFFERED = 8


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
    # The domain comes last, since it usually consists of all people.
    fields = sorted(
        analysis.fields.values(), key=lambda field: field.name in FilteredQuery.__struct_fields__
    )
    named = [given.get(f.name, ()) for f in fields if f.of == "attribute" and f.kind == "text"]
    known = [a for a in survey.schema.attributes if any(a.name in texts for texts in named)]
    answers = {category: label for a in known[:1] for category, label in _answers(a).items()}
    return [
        replace(
            _control(field, survey, list(given.get(field.name, ())), answers),
            is_default=not field.required and list(given.get(field.name, usual)) == usual,
        )
        for field, usual in ((field, _usual(field)) for field in fields)
    ]


def _usual(field: Field) -> list[str]:
    """Return the default of a field as texts."""
    return [] if field.default is None or field.required else field.texts(field.default)


def _control(field: Field, survey: Survey, texts: list[str], answers: Mapping[str, str]) -> Control:
    described = (field.name, field.name.replace("_", " ").capitalize(), field.description)
    known = {a.name: _label_with_name(a) for a in survey.schema.attributes}
    several = {q.name: f"{q.label_in()} ({q.name})" for q in survey.schema.questions}
    names = tuple(answers) if field.of == "category" else choices(field, survey)
    titles = {n: quantity(n).title for n in names} if field.of == "measure" else {}
    said = {**titles, **answers, **several, **known}
    labels = [said.get(name, name) for name in names]
    if field.kind == "items":
        every = [_items(a, field.choices, texts) for a in survey.schema.attributes]
        # Keep values for unknown attributes, so that the page shows them with the error.
        strange = [text for text in texts if text.partition("=")[0] not in known]
        every += [_options([text], [text]) for text in strange]
        groups = (*known.values(), *(text.partition("=")[0] for text in strange))
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
        if field.places:
            chosen = [*named, *[""] * len(field.places)]
            selects = tuple(
                _options(names, chosen[place : place + 1], labels, blank="none")
                for place in range(len(field.places))
            )
            return Control(*described, "selects", options=selects, groups=field.places)
        return Control(*described, "boxes", options=(_options(names, named, labels),))
    default = ",".join(_usual(field))
    if names:
        blank = "" if field.required or default else "any"
        if blank and field.of == "category":
            blank = "by default"
        options = _options(names, texts or [default], labels, blank=blank)
        return Control(*described, "select", options=(options,))
    return Control(*described, "input", value=",".join(texts) or default)


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
