"""Results as people read them: questions and answers by their texts, in place of their names.

The types of a result say where it names attributes and categories (`AttributeName`, `CategoryName`,
and `Items`), so every table, chart and sentence that is made of one is readable without asking what
it is of. Files keep the names.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar, cast

import msgspec
from halftruth_shared import Survey
from halftruth_shared.analyses import Result
from halftruth_shared.analyses.base import Answers
from msgspec import inspect

R = TypeVar("R", bound=Result)


@dataclass(frozen=True)
class Labels:
    """What people read for each attribute, and for each of its categories."""

    questions: Mapping[str, str]
    answers: Mapping[str, Mapping[str, str]]

    @classmethod
    def of(cls, survey: Survey, *languages: str) -> "Labels":
        """Those of a survey; a label that several questions have is followed by their names."""
        attributes = survey.schema.attributes
        labels = {a.name: a.label_in(*languages) for a in attributes}
        # Also those that are called what another one is labelled.
        often = Counter([*labels.values(), *(name for name in labels if labels[name] != name)])
        return cls(
            {
                name: label if often[label] == 1 else f"{label} ({name})"
                for name, label in labels.items()
            },
            {
                a.name: dict(zip(a.categories, a.answers_in(*languages), strict=True))
                for a in attributes
            },
        )

    def items(self, found: Answers) -> dict[str, str | list[str]]:
        """Answers by question, both as people read them."""
        said: dict[str, str | list[str]] = {}
        for name, given in found.items():
            known = self.answers.get(name, {})
            said[self.questions.get(name, name)] = (
                known.get(given, given)
                if isinstance(given, str)
                else [known.get(category, category) for category in given]
            )
        return said


def labelled(result: R, survey: Survey, *languages: str) -> R:
    """A result that says labels wherever its types say that it names attributes.

    Parameters
    ----------
    result : Result
    survey : Survey
    languages : str
        Those that labels are read in, the first one that there is.

    Returns
    -------
    Result
        For tables, charts and sentences alone; the survey has its title in place of its id.
    """
    found: R = _of_struct(result, Labels.of(survey, *languages))
    return msgspec.structs.replace(found, survey=survey.title_in(*languages))


def _of_struct(value: Any, labels: Labels, attribute: str = "") -> Any:
    # Categories are those of the one attribute that is named beside them, or else further out.
    told = [value, *([value.query] if hasattr(value, "query") else [])]
    named = [
        getattr(one, field.name)
        for one in told
        for field in _naming(one.__class__)
        if "attribute" in map(_of_what, _each(field.type))
    ]
    about = named[0] if len(named) == 1 and isinstance(named[0], str) else attribute
    changed = {
        field.name: _of(getattr(value, field.name), field.type, labels, about)
        for field in _naming(value.__class__)
    }
    return msgspec.structs.replace(value, **changed) if changed else value


@cache
def _naming(kind: type[msgspec.Struct]) -> tuple[inspect.Field, ...]:
    """Fields that may hold names, which of thousands of rows are a few."""
    fields = cast(inspect.StructType, inspect.type_info(kind)).fields
    return tuple(field for field in fields if _may_name(field.type, frozenset([kind])))


def _may_name(type_: inspect.Type, around: frozenset[type]) -> bool:
    """Whether a type may hold names; that of a struct is not asked again within itself."""
    if isinstance(type_, inspect.Metadata):
        return bool(_of_what(type_)) or _may_name(type_.type, around)
    if isinstance(type_, inspect.UnionType):
        return any(_may_name(one, around) for one in type_.types)
    if isinstance(type_, inspect.ListType):
        return _may_name(type_.item_type, around)
    if isinstance(type_, inspect.StructType):
        inside = around | {type_.cls}
        within = () if type_.cls in around else type_.fields
        return any(_may_name(field.type, inside) for field in within)
    return isinstance(type_, inspect.DictType)


def _of_what(type_: inspect.Type) -> str:
    """What a name is of: "attribute", "category", or "" for anything else."""
    extra = type_.extra if isinstance(type_, inspect.Metadata) else None
    return str((extra or {}).get("of", ""))


def _each(type_: inspect.Type) -> tuple[inspect.Type, ...]:
    """A type, or those of which it may be any."""
    return type_.types if isinstance(type_, inspect.UnionType) else (type_,)


def _of(value: Any, type_: inspect.Type, labels: Labels, attribute: str) -> Any:
    """A value of a type, said in labels."""
    if isinstance(value, msgspec.Struct):
        return _of_struct(value, labels, attribute)
    for one in _each(type_):
        what, inner = _of_what(one), one.type if isinstance(one, inspect.Metadata) else one
        if isinstance(value, str) and what == "attribute":
            return labels.questions.get(value, value)
        if isinstance(value, str) and what == "category":
            return labels.answers.get(attribute, {}).get(value, value)
        if isinstance(value, list) and isinstance(inner, inspect.ListType):
            return [_of(member, inner.item_type, labels, attribute) for member in value]
        if isinstance(value, dict) and isinstance(inner, inspect.DictType):
            if any(isinstance(one, inspect.StrType) for one in _each(inner.value_type)):
                return labels.items(value)
            # By category of an attribute, or by attribute.
            known = {**labels.questions, **labels.answers.get(attribute, {})}
            return {
                known.get(name, name): _of(
                    member,
                    inner.value_type,
                    labels,
                    name if name in labels.questions else attribute,
                )
                for name, member in value.items()
            }
    return value
