"""Every question's distribution."""

from collections.abc import Iterator
from typing import Annotated, Any

from msgspec import Meta

from ..protocol.base import Message
from .base import (
    AttributeNames,
    Columns,
    Estimate,
    EstimateQuery,
    Interval,
    Result,
    Usability,
    ends,
    numbers,
    texts,
)


class AnswerShare(Message, frozen=True, kw_only=True):
    """How many give one answer; standard error and interval are those of the moment estimate."""

    answer: str
    share: float
    standard_error: float | None
    interval: Interval | None
    usability: Usability


class QuestionOverview(Message, frozen=True, kw_only=True):
    """How the answers to one question are distributed.

    `label` is the question as a form asks it, or its name. `verdict` says in words whether the
    shares are precise enough to be used.
    """

    attribute: str
    label: str
    usability: Usability
    verdict: str
    answers: list[AnswerShare]


class OverviewResult(Result, frozen=True, kw_only=True):
    """Every question's distribution, in the order of the survey."""

    query: "OverviewQuery"
    questions: list[QuestionOverview]

    @property
    def columns(self) -> Columns:
        return [
            *texts("attribute", "label", "answer"),
            *numbers("share", "standard_error", "lower", "upper"),
            ("usability", str),
        ]

    @property
    def panels(self) -> int:
        return 2

    def rows(self) -> Iterator[tuple[Any, ...]]:
        for question in self.questions:
            for found in question.answers:
                yield (
                    question.attribute,
                    question.label,
                    found.answer,
                    found.share,
                    found.standard_error,
                    *ends(found.interval),
                    found.usability,
                )


class OverviewQuery(EstimateQuery[OverviewResult], frozen=True, kw_only=True):
    """How the answers to every question are distributed, each share with its bounds."""

    attributes: (
        Annotated[AttributeNames, Meta(description="Which questions; by default all.")] | None
    ) = None
    estimate: Estimate = "moment"
