"""Replacement of names in results by short labels of questions and answers.

The types of a result mark names of attributes and categories (`AttributeName`, `CategoryName`, and
`Items`), so that the names in every table, chart and sentence can be replaced. Files keep the
names.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar, cast

import msgspec
from halftruth_shared import Attribute, Schema, Survey
from halftruth_shared.analyses.base import Answers
from halftruth_shared.results import AnswerSets, Caveat, Key, Result, Texts
from msgspec import inspect

from ..estimation.merging import Merging

R = TypeVar("R", bound=Result[Any])


@dataclass(frozen=True)
class Labels:
    """Labels of attributes and of their categories."""

    questions: Mapping[str, str]
    answers: Mapping[str, Mapping[str, str]]

    @classmethod
    def of(cls, schema: Schema, *languages: str) -> "Labels":
        """Return the labels of a schema; ambiguous ones are followed by names."""
        attributes, options = schema.attributes, schema.options
        labels = {a.name: a.short_in(*languages) for a in attributes}
        for name, of_question in options.items():
            [several] = {option.question for option in of_question if option.question}
            labels[name] = several.short_in(*languages)
        short = Counter(labels.values())
        for a in attributes:
            if short[labels[a.name]] > 1:
                labels[a.name] = a.short_in(*languages, ends=True)
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
            }
            | {name: _option_labels(each, *languages) for name, each in options.items()},
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


def _option_labels(options: Sequence[Attribute], *languages: str) -> dict[str, str]:
    """Labels of the options of a question, all different as far as they are in the survey."""
    short = {str(o.option): o.short_option_in(*languages) for o in options}
    uses = Counter(short.values())
    return {
        str(o.option): name if uses[name] == 1 else o.option_in(*languages)
        for o, name in zip(options, short.values(), strict=True)
    }


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
    merging = Merging(survey.schema, getattr(result.query, "merge", {}))
    labels = Labels.of(merging.schema, *languages)
    replaced: R = _of_struct(result, labels)
    return msgspec.structs.replace(
        replaced,
        survey=survey.title_in(*languages),
        query=_of_struct(result.query, labels),
        keys=[_key(key, result, labels) for key in result.keys],
        caveats=[_caveat(caveat, labels) for caveat in result.caveats],
    )


def _key(key: Key, result: Result[Any], labels: Labels) -> Key:
    """Return a key with labels: of a question, of its answers, or of sets of answers."""
    values, title = key.values, labels.questions.get(key.label or key.name, key.label)
    if isinstance(values, AnswerSets):
        values = values.renamed(labels.questions, labels.answers)
    elif key.kind == "question" and isinstance(values, Texts):
        values = values.renamed(labels.questions)
    elif key.kind == "answer" and key.question is not None and isinstance(values, Texts):
        values = values.renamed(labels.answers.get(key.question, {}))
    elif key.kind == "answer":
        [questions] = [each for each in result.keys if each.kind == "question"]
        values = Texts.of(
            [
                answer and labels.answers.get(question, {}).get(answer, answer)
                for question, answer in zip(questions.values, values, strict=True)
            ]
        )
    return msgspec.structs.replace(key, values=values, label=title)


def _caveat(caveat: Caveat, labels: Labels) -> Caveat:
    """Return a caveat with the labels of the questions and answers that it names."""
    values = dict(caveat.values)
    for name, value in values.items():
        if name == "question":
            values[name] = labels.questions.get(value, value)
        elif name == "questions":
            values[name] = [labels.questions.get(each, each) for each in value]
        elif name == "answers":
            values[name] = labels.items(value)
        elif name == "terms":
            values[name] = [labels.items(each) for each in value]
        elif name == "scores":
            known = labels.answers.get(caveat.values["question"], {})
            values[name] = {known.get(each, each): score for each, score in value.items()}
        elif name == "margins":
            values[name] = {
                labels.questions.get(each, each): {
                    labels.answers.get(each, {}).get(answer, answer): share
                    for answer, share in shares.items()
                }
                for each, shares in value.items()
            }
        elif name == "groups":
            values[name] = [labels.items(each) for each in value]
    return msgspec.structs.replace(caveat, values=values)


#: Replaces names in a value by labels; categories in it belong to the attribute of a name.
_Replace = Callable[[Any, Labels, str], Any]


def _of_struct(value: Any, labels: Labels, attribute: str = "") -> Any:
    # Categories belong to the single attribute named beside them, or else in an outer struct.
    structs = [value, *([value.query] if hasattr(value, "query") else [])]
    named = [getattr(struct, name) for struct in structs for name in _naming(struct.__class__)[0]]
    about = named[0] if len(named) == 1 and isinstance(named[0], str) else attribute
    changed = {
        name: _of(getattr(value, name), how, labels, about)
        for name, how in _naming(value.__class__)[1].items()
    }
    return msgspec.structs.replace(value, **changed) if changed else value


def _of(value: Any, replacing: Mapping[type, _Replace], labels: Labels, attribute: str) -> Any:
    kind = msgspec.Struct if isinstance(value, msgspec.Struct) else type(value)
    return replacing[kind](value, labels, attribute) if kind in replacing else value


@cache
def _naming(
    kind: type[msgspec.Struct],
) -> tuple[list[str], dict[str, dict[type, _Replace]]]:
    """Return the fields that name an attribute, and those that hold names, which are few."""
    fields = cast(inspect.StructType, inspect.type_info(kind)).fields
    replacing = {field.name: _replacing(field.type) for field in fields}
    attributes = [
        f.name for f in fields if {"attribute", "question"} & {*map(_kind_of_name, _each(f.type))}
    ]
    return attributes, {name: how for name, how in replacing.items() if how}


def _kind_of_name(type_: inspect.Type) -> str:
    """Return the kind of a name: "attribute", "question", "category", or "" for anything else."""
    extra = type_.extra if isinstance(type_, inspect.Metadata) else None
    return str((extra or {}).get("of", ""))


def _each(type_: inspect.Type) -> tuple[inspect.Type, ...]:
    """Return the members of a union type, or the type itself."""
    return type_.types if isinstance(type_, inspect.UnionType) else (type_,)


def _replacing(type_: inspect.Type) -> dict[type, _Replace]:
    """Return replacements in values of a type, by the types of these; empty without names."""
    kind, inner = _kind_of_name(type_), type_.type if isinstance(type_, inspect.Metadata) else type_
    if kind in ("attribute", "question"):
        return {str: lambda name, labels, _: labels.questions.get(name, name)}
    if kind == "category":
        return {str: lambda name, labels, about: labels.answers.get(about, {}).get(name, name)}
    if isinstance(inner, inspect.UnionType):
        return {value: how for part in inner.types for value, how in _replacing(part).items()}
    if isinstance(inner, inspect.StructType) and _naming(inner.cls)[1]:
        return {msgspec.Struct: _of_struct}
    if isinstance(inner, inspect.ListType) and (members := _replacing(inner.item_type)):
        return {list: lambda value, *about: [_of(member, members, *about) for member in value]}
    if not isinstance(inner, inspect.DictType):
        return {}
    if any(isinstance(each, inspect.StrType) for each in _each(inner.value_type)):
        return {dict: lambda answers, labels, _: labels.items(answers)}
    values = _replacing(inner.value_type)

    def by_name(value: dict[str, Any], labels: Labels, attribute: str) -> dict[str, Any]:
        # By category of an attribute, or by attribute.
        known = {**labels.questions, **labels.answers.get(attribute, {})}
        return {
            known.get(name, name): _of(
                member, values, labels, name if name in labels.questions else attribute
            )
            for name, member in value.items()
        }

    return {dict: by_name}
