"""Distributions of the answers to all questions."""

from collections.abc import Iterator
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from ..protocol.base import Message
from .base import (
    AnsweredQuery,
    AttributeName,
    AttributeNames,
    CategoryName,
    Columns,
    DayCount,
    Estimate,
    Interval,
    Result,
    TypicalError,
    Usability,
    ends,
    numbers,
    texts,
)


class AnswerShare(Message, frozen=True, kw_only=True):
    """Share of one answer; standard error and interval are those of the moment estimate.

    Best guesses have none of their own: with these, they are null.

    `sampling_error` is the standard error without perturbation, and `perturbation_error` that for
    exactly these respondents: their squares add up to the square of the standard error. The former
    is 0 if the target is exactly these respondents, and null if the estimate is outside of 0 to 1.
    """

    answer: CategoryName
    share: float
    standard_error: float | None
    perturbation_error: float | None
    sampling_error: float | None
    interval: Interval | None
    usability: Usability


class QuestionOverview(Message, frozen=True, kw_only=True):
    """Distribution of the answers to one question.

    `label` is the question as a form asks it, or its name. `verdict` says in words whether the
    shares are precise enough to be used, and `typical` how far best guesses are off. Categories
    that the survey declares missing are in `missing`, with shares of all; `answers` are shares of
    all, too, or of those who answered.
    """

    attribute: AttributeName
    label: str
    usability: Usability
    verdict: str
    typical: TypicalError | None = None
    answers: list[AnswerShare]
    missing: list[AnswerShare]


class OverviewResult(Result, frozen=True, kw_only=True):
    """Distributions of the answers to all questions, in the order of the survey.

    `days` are the numbers of all reports counted on each day, earliest first.
    """

    query: "OverviewQuery"
    days: list[DayCount] = msgspec.field(default_factory=list)
    questions: list[QuestionOverview]

    @property
    def columns(self) -> Columns:
        return [
            *texts("attribute", "label", "answer"),
            *numbers("share", "standard_error", "lower", "upper"),
            ("usability", str),
            *numbers("perturbation_error", "sampling_error"),
            ("missing", bool),
        ]

    @property
    def panels(self) -> int:
        return 2

    def rows(self) -> Iterator[tuple[Any, ...]]:
        for question in self.questions:
            for i, answer in enumerate([*question.answers, *question.missing]):
                yield (
                    question.attribute,
                    question.label,
                    answer.answer,
                    answer.share,
                    answer.standard_error,
                    *ends(answer.interval),
                    answer.usability,
                    answer.perturbation_error,
                    answer.sampling_error,
                    i >= len(question.answers),
                )


class OverviewQuery(AnsweredQuery[OverviewResult], frozen=True, kw_only=True):
    """Distribution of the answers to every question, each share with its bounds."""

    attributes: (
        Annotated[AttributeNames, Meta(description="Which questions; by default all.")] | None
    ) = None
    estimate: Estimate = "moment"
