"""Regression of one answer on others."""

from collections.abc import Iterator
from typing import Annotated, ClassVar, Literal

import msgspec
from msgspec import Meta

from halftruth_shared.results.wording import items as words

from ..protocol.base import Message
from ..results.estimate import Estimate
from .base import (
    AttributeName,
    CategoryName,
    CovarianceOf,
    EstimateQuery,
    EstimatesResult,
    Items,
    PopulationOf,
    Row,
)

#: Scale of the linear predictor: log odds of an answer, or the mean of the outcome's scores.
Model = Literal["logistic", "linear"]

#: How coefficients are estimated: from the unbiased table, from a model of all answers, or by the
#: likelihood of a perturbed outcome given predictors that are not.
RegressionEstimate = Literal["moment", "model", "outcome"]


class Factor(Message, frozen=True, kw_only=True):
    """One of the predictors of a term: a category against a reference, or a unit of scores."""

    attribute: AttributeName
    category: CategoryName | None = None
    reference: CategoryName | None = None


class Coefficient(Estimate, frozen=True, kw_only=True):
    """Coefficient of a regression; undefined if the model is not identified.

    It belongs to a `category` of an `attribute`, which it compares with the category `reference`;
    to a unit of the scores of an attribute, where there is no category; or to nothing, as the
    intercept, which is everybody of all reference categories and scores of 0. `by` are the further
    factors of an interaction.

    But in a linear model `odds_ratio` is its exponential, for the intercept the odds themselves,
    and what its reliability goes by. `marginal_effect` is by how much the probability of the
    answer changes on average where everybody gives `category` instead of `reference`, or for a unit
    of the scores. `z` is a test statistic of
    the hypothesis that the coefficient is 0, and `p_value` the chance of one further from 0 if so.
    `adjusted` is the smallest false discovery rate at which it is significant among all but the
    intercept.
    """

    attribute: AttributeName | None
    category: CategoryName | None
    reference: CategoryName | None
    by: list[Factor] = msgspec.field(default_factory=list)
    odds_ratio: Estimate | None = None
    marginal_effect: Estimate | None = None
    z: float | None = None
    adjusted: float | None = None

    @property
    def term(self) -> str:
        """Name of the term that it belongs to."""
        if self.attribute is None:
            return "(intercept)"
        factors = [(self.attribute, self.category), *((f.attribute, f.category) for f in self.by)]
        return " × ".join(n if answer is None else words({n: answer}) for n, answer in factors)


class RegressionResult(EstimatesResult, frozen=True, kw_only=True):
    """Coefficients of a regression, the intercept first, or the reason why there are none.

    `present` is the answer whose odds a logistic model is about; `reference` the category of each
    predictor that its others are compared with; `scores` those of the categories of an attribute.
    `estimate` is how coefficients are estimated, and `assumes` what they rest on if not on
    `model_fit`. If the model is not identified, `undefined` says so and there are no numbers;
    `caution` says if intervals rest on few reports.
    """

    query: "RegressionQuery"
    present: Items
    reference: Items
    scores: dict[str, list[float]]
    estimate: RegressionEstimate
    assumes: str | None
    undefined: str | None
    caution: str | None
    coefficients: list[Coefficient]

    KEYS: ClassVar = ("term",)
    OTHERS: ClassVar = (
        ("reference", str),
        ("odds_ratio", Estimate),
        ("marginal_effect", Estimate),
        ("z", float),
        ("estimate", str),
        ("adjusted_p_value", float),
    )

    def estimates(self) -> Iterator[Row]:
        for each in self.coefficients:
            others = (
                each.reference,
                each.odds_ratio,
                each.marginal_effect,
                each.z,
                self.estimate,
                each.adjusted,
            )
            yield (each.term,), each, others


class RegressionQuery(EstimateQuery[RegressionResult], frozen=True, kw_only=True):
    """Regression of one answer on others, of any number of them and with chosen interactions.

    Outcome and predictors may all be perturbed: what is not known of the true answers is in the
    errors of the coefficients.
    """

    outcome: Annotated[AttributeName, Meta(description="The attribute that is to be explained.")]
    predictors: Annotated[
        list[AttributeName],
        Meta(
            min_length=1,
            description="The attributes that it is explained by.",
            extra_json_schema={"uniqueItems": True},
        ),
    ]
    model: Annotated[
        Model,
        Meta(
            description="For the odds of one answer (logistic), or for the mean of the outcome's"
            " scores (linear)."
        ),
    ] = "logistic"
    interactions: Annotated[
        list[list[AttributeName]],
        Meta(
            description="Predictors that change each other's effect, each time the names of two or"
            " more with commas between them."
        ),
    ] = msgspec.field(default_factory=list)
    present: Annotated[
        Items,
        Meta(
            description="The answer whose odds a logistic model is about, as attribute=category. By"
            " default the only item of the outcome, or the second of two categories."
        ),
    ] = msgspec.field(default_factory=dict)
    reference: Annotated[
        Items,
        Meta(
            description="The category of a predictor that its others are compared with, as"
            " attribute=category; by default its first."
        ),
    ] = msgspec.field(default_factory=dict)
    scores: Annotated[
        Items,
        Meta(
            description="What the categories of an attribute count as, in their order: attribute="
            "ranks for 1, 2, …, or numbers such as attribute=20,45,70; of numbers the middles of"
            " their bins by default. A linear model needs them of its outcome; a predictor with"
            " scores has one coefficient, for a unit of them.",
            extra={"also": ("ranks",), "written": "attribute=ranks"},
        ),
    ] = msgspec.field(default_factory=dict)
    estimate: Annotated[
        Literal["auto", "moment", "model"],
        Meta(
            description="By the unbiased table of all these answers (moment), by one model of all"
            " answers without interactions of three or more but those named (model), or by the"
            " table where reports tell of it and else by the model (auto)."
        ),
    ] = "auto"
    population: PopulationOf = None
    covariance: CovarianceOf = False
