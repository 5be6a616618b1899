"""Distributions weighted to known margins of other questions."""

from collections.abc import Iterator
from typing import Annotated, ClassVar, Literal

from msgspec import Meta

from ..protocol.base import Message
from ..results.estimate import Estimate, Reliability
from .base import (
    AttributeName,
    AttributeNames,
    CategoryName,
    CovarianceOf,
    EstimatesResult,
    Row,
    SampleQuery,
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


class WeightedAnswer(Estimate, frozen=True, kw_only=True):
    """Weighted share of one answer.

    `unweighted` is the estimate without the margins, and `design_effect` the variance of the
    weighted one over that of `unweighted`.
    """

    answer: CategoryName
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
    reliability: Reliability
    verdict: str
    undefined: str | None
    answers: list[WeightedAnswer]
    sum_of_weights: float
    weights: Weights | None
    p_value: float | None


class WeightedResult(EstimatesResult, frozen=True, kw_only=True):
    """Distributions of some questions, given the margins of others."""

    query: "WeightedQuery"
    questions: list[WeightedQuestion]

    KEYS: ClassVar = ("attribute", "label", "answer")
    QUANTITY: ClassVar = "share"
    OTHERS: ClassVar = (("unweighted", float), ("design_effect", float))
    PANELS: ClassVar = 2

    def estimates(self) -> Iterator[Row]:
        for question in self.questions:
            for share in question.answers:
                keys = (question.attribute, question.label, share.answer)
                yield keys, share, (share.unweighted, share.design_effect)


class WeightedQuery(SampleQuery[WeightedResult], frozen=True, kw_only=True):
    """Distribution of answers in a population of known margins."""

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
    covariance: CovarianceOf = False
