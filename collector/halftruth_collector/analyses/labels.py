"""Replacement of names in results by short labels of questions and answers.

The names in every table, chart and sentence are replaced; files keep the names.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec
from halftruth_shared import Attribute, Schema, Survey
from halftruth_shared.analyses import Query
from halftruth_shared.analyses.base import Answers, Contradiction, ModelFit, TestedInteraction
from halftruth_shared.analyses.reading import fields
from halftruth_shared.results import AnswerSets, Caveat, Key, Result, Texts

from ..estimation.merging import Merging

#: Kinds of names of questions.
_NAMES = ("attribute", "question")

N = TypeVar("N", ModelFit, TestedInteraction, Contradiction)
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
        # A label can equal the name of another attribute.
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

    def margins(self, margins: Mapping[str, Mapping[str, float]]) -> dict[str, dict[str, float]]:
        """Replace names in numbers of answers by labels."""
        return {
            self.questions.get(name, name): {
                self.answers.get(name, {}).get(answer, answer): number
                for answer, number in numbers.items()
            }
            for name, numbers in margins.items()
        }


def _option_labels(options: Sequence[Attribute], *languages: str) -> dict[str, str]:
    """Return the labels of the options of a question, made unique if they differ in the survey."""
    short = {str(o.option): o.short_option_in(*languages) for o in options}
    uses = Counter(short.values())
    return {
        str(o.option): name if uses[name] == 1 else o.option_in(*languages)
        for o, name in zip(options, short.values(), strict=True)
    }


def labelled(result: R, survey: Survey, *languages: str) -> R:
    """Replace the names in a result by labels, in the order of preference of languages.

    The result is for tables, charts and sentences alone; the survey's title replaces its id.
    """
    merging = Merging(survey.schema, getattr(result.query, "merge", {}))
    labels = Labels.of(merging.schema, *languages)
    group = result.group
    if group is not None:
        group = msgspec.structs.replace(group, items=labels.items(group.items))
    replaced: R = msgspec.structs.replace(
        result,
        survey=survey.title_in(*languages),
        group=group,
        query=_query(result.query, labels),
        keys=[_key(key, result, labels) for key in result.keys],
        caveats=[_caveat(caveat, labels) for caveat in result.caveats],
        **_assumptions(result, labels),
    )
    return replaced


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
        if name in ("question", "questions"):
            values[name] = _replaced(value, labels.questions)
        elif name == "answers":
            values[name] = labels.items(value)
        elif name in ("terms", "groups"):
            values[name] = [labels.items(each) for each in value]
        elif name == "scores":
            [values[name]] = labels.margins({caveat.values["question"]: value}).values()
        elif name == "margins":
            values[name] = labels.margins(value)
    return msgspec.structs.replace(caveat, values=values)


def _query(query: Query[Any], labels: Labels) -> Query[Any]:
    """Return a query with labels, for headlines and titles."""
    known = fields(type(query))
    values = {name: getattr(query, name) for name in known}
    one = [values[f.name] for f in known.values() if f.kind == "text" and f.of in _NAMES]
    # Categories belong to the only attribute that the query names.
    answers = labels.answers.get(one[0], {}) if len(one) == 1 else {}
    changed = {}
    for name, field in known.items():
        value = values[name]
        if value is None:
            continue
        if field.of in _NAMES or field.of == "category":
            short = answers if field.of == "category" else labels.questions
            changed[name] = _replaced(value, short)
        elif field.kind == "items":
            changed[name] = labels.items(value)
        elif field.kind == "margins":
            changed[name] = labels.margins(value)
    return msgspec.structs.replace(query, **changed)


def _replaced(value: Any, short: Mapping[str, str]) -> Any:
    """Replace a text, or all texts in lists."""
    if isinstance(value, str):
        return short.get(value, value)
    return [_replaced(each, short) for each in value]


def _assumptions(result: Result[Any], labels: Labels) -> dict[str, Any]:
    """Return the model of a result and its contradictions, with labels."""

    def renamed(each: N) -> N:
        return msgspec.structs.replace(
            each, attributes=_replaced(each.attributes, labels.questions)
        )

    model = result.model_fit
    if model is not None:
        model = msgspec.structs.replace(
            renamed(model),
            interactions=[renamed(each) for each in model.interactions],
            added=[renamed(each) for each in model.added],
            clearest=model.clearest and renamed(model.clearest),
        )
    return {"model_fit": model, "contradictions": [renamed(each) for each in result.contradictions]}
