"""Regression of one answer on others."""

from collections.abc import Iterator
from typing import Annotated, ClassVar, Literal

import msgspec
from msgspec import Meta

from halftruth_shared.analyses.wording import items as words

from .base import (
    AttributeName,
    CategoryName,
    CovarianceOf,
    EstimateQuery,
    EstimatesResult,
    Items,
    Row,
)
from .estimate import Estimate

#: Scale of the linear predictor: log odds of an answer, or the mean of its score.
Model = Literal["logistic", "linear"]


class Coefficient(Estimate, frozen=True, kw_only=True):
    """Coefficient of a regression; undefined if the model is not identified.

    It belongs to a `category` of an `attribute`, which it compares with the category `reference`;
    to a unit of the scores of an attribute, where there is no category; or to nothing, as the
    intercept, which is everybody of all reference categories and scores of 0. In a logistic model
    `odds_ratio` is its exponential, for the intercept the odds themselves, and what its reliability
    goes by. `z` is the score of the coefficient where it is 0, in standard errors (Rao's score
    test), and `p_value` the chance of one further from 0 if the coefficient is 0 in truth.
    """

    attribute: AttributeName | None
    category: CategoryName | None
    reference: CategoryName | None
    odds_ratio: Estimate | None = None
    z: float | None = None

    @property
    def term(self) -> str:
        """Name of the term that it belongs to."""
        if self.attribute is None:
            return "(intercept)"
        return self.attribute if self.category is None else words({self.attribute: self.category})


class RegressionResult(EstimatesResult, frozen=True, kw_only=True):
    """Coefficients of a regression, the intercept first, or the reason why there are none.

    `present` is the answer whose odds a logistic model is about; `reference` the category of each
    predictor that its others are compared with; `scores` those of the categories of an
    attribute. If the model is not identified, `undefined` says so and there are no numbers;
    `caution` says if intervals rest on few reports.
    """

    query: "RegressionQuery"
    present: Items
    reference: Items
    scores: dict[str, list[float]]
    undefined: str | None
    caution: str | None
    coefficients: list[Coefficient]

    KEYS: ClassVar = ("term",)
    OTHERS: ClassVar = (("reference", str), ("odds_ratio", Estimate), ("z", float))

    def estimates(self) -> Iterator[Row]:
        for each in self.coefficients:
            yield (each.term,), each, (each.reference, each.odds_ratio, each.z)


class RegressionQuery(EstimateQuery[RegressionResult], frozen=True, kw_only=True):
    """Regression of one answer on others, logistic or linear, with main effects alone.

    Outcome and predictors may all be perturbed: their table is reconstructed, and the errors of
    the reconstruction are in those of the coefficients (corrected scores, Nakamura 1990).
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
        Meta(description="For the odds of one answer, or for the mean of the outcome's scores."),
    ] = "logistic"
    present: Annotated[
        Items,
        Meta(
            description="The answer whose odds are modelled, as attribute=category. By default the"
            " only item of the outcome, or the second of two categories."
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
    covariance: CovarianceOf = False
