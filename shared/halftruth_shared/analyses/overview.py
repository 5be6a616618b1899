"""Distributions of the answers to all questions."""

from collections.abc import Iterator
from typing import Annotated, ClassVar

import msgspec
from msgspec import Meta

from ..protocol.base import Message
from ..results.estimate import Estimate, Reliability
from .base import (
    CategoryName,
    DayCount,
    EstimatesResult,
    Interactions,
    MethodOf,
    Modelled,
    QuestionName,
    Row,
    SampleQuery,
    TypicalError,
)


class AnswerShare(Estimate, frozen=True, kw_only=True):
    """Share of one answer, or of one option of a question with several answers.

    Errors are those of the moment estimate. Best guesses have none of their own: with these, they
    are null. `sampling_error` is 0 if the target is exactly these respondents, and null if the
    estimate is outside of 0 to 1.
    """

    answer: CategoryName
    value: float


class QuestionOverview(Message, frozen=True, kw_only=True):
    """Distribution of the answers to one question.

    `label` is the question as a form asks it, or its name. `verdict` says in words whether the
    shares are precise enough to be used, and `typical` how far best guesses are off. Without
    perturbation `effective_reports` answers would be as precise. Categories that the survey
    declares missing are in `missing`, with shares of all; `answers` are shares of all, too, or of
    those who answered.

    A question with several answers is a `multiple_response`: `answers` are the shares of those who
    chose each option, then of those who chose none, where the reports tell of all options
    together. `mean_number` is the mean number of options chosen by those who answered.
    """

    attribute: QuestionName
    label: str
    multiple_response: bool = False
    mean_number: Estimate | None = None
    reliability: Reliability
    verdict: str
    typical: TypicalError | None = None
    effective_reports: float | None = None
    answers: list[AnswerShare]
    missing: list[AnswerShare]


class OverviewResult(EstimatesResult, frozen=True, kw_only=True):
    """Distributions of the answers to all questions, in the order of the survey.

    `days` are the numbers of all reports counted on each day, earliest first.
    """

    query: "OverviewQuery"
    days: list[DayCount] = msgspec.field(default_factory=list)
    questions: list[QuestionOverview]

    KEYS: ClassVar = ("attribute", "label", "answer")
    QUANTITY: ClassVar = "share"
    OTHERS: ClassVar = (("missing", bool),)
    PANELS: ClassVar = 2

    def estimates(self) -> Iterator[Row]:
        for question in self.questions:
            for missing, answers in ((False, question.answers), (True, question.missing)):
                for share in answers:
                    yield (question.attribute, question.label, share.answer), share, (missing,)


class OverviewQuery(SampleQuery[OverviewResult], frozen=True, kw_only=True):
    """Distribution of the answers to every question, each share with its bounds."""

    attributes: (
        Annotated[
            list[QuestionName],
            Meta(
                min_length=1,
                description="Which questions; by default all.",
                extra_json_schema={"uniqueItems": True},
            ),
        ]
        | None
    ) = None
    estimate: MethodOf = "moment"
    interactions: Interactions = msgspec.field(default_factory=list)
    modelled: Modelled | None = None
