"""Regression of one answer on others."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from ..results import Result
from .base import (
    AttributeName,
    CovarianceOf,
    EstimateQuery,
    Items,
    MergeOf,
    PopulationOf,
)

#: Scale of the linear predictor: log odds of an answer, or the mean of the outcome's scores.
Model = Literal["logistic", "linear"]


class RegressionQuery(EstimateQuery[Result[Any]], frozen=True, kw_only=True):
    """Regression of one answer on any number of other answers, with chosen interactions.

    Outcome and predictors can all be perturbed; the errors of the coefficients include the
    uncertainty from the perturbation.

    The *intercept* is the mean score, or the log *odds*, of people with all reference categories
    and scores of 0. A *coefficient* belongs to a term: an answer to a predictor compared with the
    answer *against*, a unit of its scores, or an interaction of these. The *odds ratio* is the
    exponential of the coefficient. The *marginal effect* is the average change of the probability
    of the outcome if everybody gave the one answer instead of the other, or per unit of scores.
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
            description="By the unbiased table of these answers (moment), or by one model of all"
            " answers without interactions of three or more but those named (model). By default"
            " (auto) the table is taken if the design determines the coefficients even of a rare"
            " answer; else a model: of these questions with all their interactions for up to two"
            " predictors, and of all answers for more."
        ),
    ] = "auto"
    merge: MergeOf = msgspec.field(default_factory=dict)
    population: PopulationOf = None
    covariance: CovarianceOf = False
