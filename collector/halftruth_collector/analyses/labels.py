"""Replacement of names in results by short labels of questions and answers.

The types of a result mark names of attributes and categories (`AttributeName`, `CategoryName`, and
`Items`), so that the names in every table, chart and sentence can be replaced. Files keep the
names.
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
    """Labels of attributes and of their categories."""

    questions: Mapping[str, str]
    answers: Mapping[str, Mapping[str, str]]

    @classmethod
    def of(cls, survey: Survey, *languages: str) -> "Labels":
        """Return the labels of a survey; ambiguous ones are followed by names."""
        attributes = survey.schema.attributes
        labels = {a.name: a.short_in(*languages) for a in attributes}
        short = Counter(labels.values())
        for a in attributes:
            if short[labels[a.name]] > 1:
                labels[a.name] = a.label_in(*languages)
        # A label may be the name of another attribute.
        uses = Counter([*labels.values(), *(name for name in labels if labels[name] != name)])
        return cls(
            {
                name: label if uses[label] == 1 else f"{label} ({name})"
                for name, label in labels.items()
            },
            {
                a.name: dict(zip(a.categories, a.short_answers_in(*languages), strict=True))
                for a in attributes
            },
        )

    def items(self, answers: Answers) -> dict[str, str | list[str]]:
        """Replace names in answers by labels."""
        labels: dict[str, str | list[str]] = {}
        for name, answer in answers.items():
            known = self.answers.get(name, {})
            labels[self.questions.get(name, name)] = (
                known.get(answer, answer)
                if isinstance(answer, str)
                else [known.get(category, category) for category in answer]
            )
        return labels


def labelled(result: R, survey: Survey, *languages: str) -> R:
    """Replace the names in a result by labels.

    Parameters
    ----------
    result : Result
    survey : Survey
    languages : str
        Languages of the labels, in order of preference.

    Returns
    -------
    Result
        For tables, charts and sentences alone, with the survey's title in place of its id.
    """
    replaced: R = _of_struct(result, Labels.of(survey, *languages))
    return msgspec.structs.replace(replaced, survey=survey.title_in(*languages))


def _of_struct(value: Any, labels: Labels, attribute: str = "") -> Any:
    # Categories belong to the single attribute named beside them, or else in an outer struct.
    structs = [value, *([value.query] if hasattr(value, "query") else [])]
    named = [
        getattr(struct, field.name)
        for struct in structs
        for field in _naming(struct.__class__)
        if "attribute" in map(_kind_of_name, _each(field.type))
    ]
    about = named[0] if len(named) == 1 and isinstance(named[0], str) else attribute
    changed = {
        field.name: _of(getattr(value, field.name), field.type, labels, about)
        for field in _naming(value.__class__)
    }
    return msgspec.structs.replace(value, **changed) if changed else value


@cache
def _naming(kind: type[msgspec.Struct]) -> tuple[inspect.Field, ...]:
    """Return the fields that may hold names, which are few."""
    fields = cast(inspect.StructType, inspect.type_info(kind)).fields
    return tuple(field for field in fields if _may_hold_names(field.type))


def _may_hold_names(type_: inspect.Type) -> bool:
    """Return whether a type may hold names."""
    if isinstance(type_, inspect.Metadata):
        return bool(_kind_of_name(type_)) or _may_hold_names(type_.type)
    if isinstance(type_, inspect.UnionType):
        return any(_may_hold_names(part) for part in type_.types)
    if isinstance(type_, inspect.ListType):
        return _may_hold_names(type_.item_type)
    if isinstance(type_, inspect.StructType):
        return any(_may_hold_names(field.type) for field in type_.fields)
    return isinstance(type_, inspect.DictType)


def _kind_of_name(type_: inspect.Type) -> str:
    """Return the kind of a name: "attribute", "category", or "" for anything else."""
    extra = type_.extra if isinstance(type_, inspect.Metadata) else None
    return str((extra or {}).get("of", ""))


def _each(type_: inspect.Type) -> tuple[inspect.Type, ...]:
    """Return the members of a union type, or the type itself."""
    return type_.types if isinstance(type_, inspect.UnionType) else (type_,)


def _of(value: Any, type_: inspect.Type, labels: Labels, attribute: str) -> Any:
    """Replace the names in a value of a type by labels."""
    if isinstance(value, msgspec.Struct):
        return _of_struct(value, labels, attribute)
    for part in _each(type_):
        kind, inner = _kind_of_name(part), part.type if isinstance(part, inspect.Metadata) else part
        if isinstance(value, str) and kind == "attribute":
            return labels.questions.get(value, value)
        if isinstance(value, str) and kind == "category":
            return labels.answers.get(attribute, {}).get(value, value)
        if isinstance(value, list) and isinstance(inner, inspect.ListType):
            return [_of(member, inner.item_type, labels, attribute) for member in value]
        if isinstance(value, dict) and isinstance(inner, inspect.DictType):
            if any(isinstance(each, inspect.StrType) for each in _each(inner.value_type)):
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
