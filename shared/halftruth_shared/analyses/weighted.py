"""Distributions weighted to known margins of other questions."""

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from msgspec import Meta

from ..protocol.base import Message
from .base import (
    AnsweredQuery,
    AttributeName,
    AttributeNames,
    CategoryName,
    Columns,
    Interval,
    Result,
    Usability,
    ends,
    numbers,
    texts,
)

Weighting = Literal["raking", "calibration"]

Margins = Annotated[
    dict[str, Annotated[dict[str, Annotated[float, Meta(ge=0)]], Meta(min_length=1)]],
    Meta(
        min_length=1,
        description="What is known of other questions (of a group, where one is asked about), as"
        " attribute=category:number: the share of every category, or its number of people.",
    ),
]


class WeightedAnswer(Message, frozen=True, kw_only=True):
    """Weighted share of one answer.

    `perturbation_error` and `sampling_error` are as in the overview, with the margins.
    `unweighted` is the estimate without the margins, and `design_effect` the variance of `share`
    over that of `unweighted`.
    """

    answer: CategoryName
    share: float | None
    standard_error: float | None
    perturbation_error: float | None
    sampling_error: float | None
    interval: Interval | None
    usability: Usability
    unweighted: float
    design_effect: float | None


class Weights(Message, frozen=True, kw_only=True):
    """Weights that give the respondents the margins, relative to their mean.

    `smallest` and `largest` are of combinations of the margins' categories, and `design_effect` is
    1 plus the squared coefficient of variation of the respondents' weights (Kish 1965).
    """

    smallest: float
    largest: float
    design_effect: float


class WeightedQuestion(Message, frozen=True, kw_only=True):
    """Distribution of the answers to one question, given the margins.

    `label` is the question as a form asks it, or its name. `undefined` gives the reason if there is
    no share. The other fields are about those whose answers count for this question, who differ
    between questions if missing answers are excluded: `sum_of_weights` is the number of people that
    the margins count, or if they are shares the number of these reports. `weights` is null for
    calibration, which has no weights of respondents, and `p_value` for raking: it is that of the
    test that these respondents are a sample of people with these margins.
    """

    attribute: AttributeName
    label: str
    usability: Usability
    verdict: str
    undefined: str | None
    answers: list[WeightedAnswer]
    sum_of_weights: float
    weights: Weights | None
    p_value: float | None


class WeightedResult(Result, frozen=True, kw_only=True):
    """Distributions of some questions, given the margins of others."""

    query: "WeightedQuery"
    questions: list[WeightedQuestion]

    @property
    def columns(self) -> Columns:
        return [
            *texts("attribute", "label", "answer"),
            *numbers("share", "standard_error", "lower", "upper"),
            ("usability", str),
            *numbers("unweighted", "design_effect"),
            *texts("undefined"),
            *numbers("perturbation_error", "sampling_error"),
        ]

    @property
    def panels(self) -> int:
        return 2

    def rows(self) -> Iterator[tuple[Any, ...]]:
        for question in self.questions:
            for answer in question.answers:
                yield (
                    question.attribute,
                    question.label,
                    answer.answer,
                    answer.share,
                    answer.standard_error,
                    *ends(answer.interval),
                    answer.usability,
                    answer.unweighted,
                    answer.design_effect,
                    question.undefined,
                    answer.perturbation_error,
                    answer.sampling_error,
                )


class WeightedQuery(AnsweredQuery[WeightedResult], frozen=True, kw_only=True):
    """Distribution of answers in a population of which other questions' margins are known."""

    margins: Margins
    attributes: (
        Annotated[
            AttributeNames, Meta(description="Which questions; by default all without a margin.")
        ]
        | None
    ) = None
    method: Annotated[
        Weighting,
        Meta(
            description="raking weights respondents who are no simple random sample of their"
            " population (post-stratification, if there is one margin). calibration makes estimates"
            " more precise by margins of the respondents themselves, or of a population whose"
            " simple random sample they are."
        ),
    ] = "raking"
