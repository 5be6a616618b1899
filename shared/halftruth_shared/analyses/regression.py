"""Regression of one answer on others."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from ..results import Result
from ..results.caveats import Sentences, folded, listed
from ..results.labels import Labels
from ..results.quantities import Quantity, by_name, difference, ratio
from .base import (
    GROUPS,
    KEPT,
    QUESTION,
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

    outcome: Annotated[AttributeName, Meta(extra=QUESTION, description="Attribute to explain.")]
    predictors: Annotated[
        list[AttributeName],
        Meta(
            min_length=1,
            extra=GROUPS,
            description="Attributes that explain the outcome.",
            extra_json_schema={"uniqueItems": True},
        ),
    ]
    model: Annotated[
        Model,
        Meta(
            description="Model of the odds of one answer (logistic), or of the mean of the"
            " outcome's scores (linear)."
        ),
    ] = "logistic"
    interactions: Annotated[
        list[list[AttributeName]],
        Meta(
            description="Interactions of predictors; each is written as two or more names"
            " separated by commas."
        ),
    ] = msgspec.field(default_factory=list)
    present: Annotated[
        Items,
        Meta(
            description="Answer whose odds a logistic model explains, as attribute=category; by"
            " default the only item of the outcome, or the second of two categories."
        ),
    ] = msgspec.field(default_factory=dict)
    reference: Annotated[
        Items,
        Meta(
            description="Reference category of a predictor, as attribute=category; by default its"
            " first."
        ),
    ] = msgspec.field(default_factory=dict)
    scores: Annotated[
        Items,
        Meta(
            description="Scores of the categories of an attribute, in their order:"
            " attribute=ranks for 1, 2, …, or numbers such as attribute=20,45,70; for numbers by"
            " default the midpoints of their bins. The outcome of a linear model needs scores. A"
            " predictor with scores has one coefficient, per unit of its scores.",
            extra={"also": ("ranks",), "written": "attribute=ranks"},
        ),
    ] = msgspec.field(default_factory=dict)
    estimate: Annotated[
        Literal["auto", "moment", "model"],
        Meta(
            extra=KEPT,
            description="Estimator: from the unbiased table of these answers (moment), or from"
            " one loglinear model of all answers, without interactions of three or more except"
            " those named (model). By default (auto), the table is used if the design determines"
            " the coefficients even of a rare answer; otherwise a model, of these questions with"
            " all their interactions for up to two predictors, and of all answers for more.",
        ),
    ] = "auto"
    merge: MergeOf = msgspec.field(default_factory=dict)
    population: PopulationOf = None
    covariance: CovarianceOf = False


def _no_coefficients(
    labels: Labels, reason: str, terms: Sequence[Mapping[str, str]], by_model: bool = False
) -> str:
    """Explain why a regression has no coefficients, and which terms are least precise."""
    text = f"{reason[:1].upper()}{reason[1:]}"
    if terms:
        names = listed([labels.items(each) or "the intercept" for each in terms])
        text += f"; least precise: {names}"
    if by_model:
        return f"{text}. The choice “estimate: model” needs fewer reports, but assumes more."
    return f"{text}."


def _regression(
    labels: Labels,
    method: str,
    question: str = "",
    answers: Mapping[str, str] | None = None,
    own: bool = False,
) -> str:
    """Describe the outcome of a regression, and how it was estimated."""
    about = (
        f"log odds of {labels.quoted_items(answers)}"
        if answers
        else f"mean score of {labels.quoted(question)}"
    )
    by = {
        "moment": "from the unbiased tables of these answers, without assumptions about how answers"
        " depend on each other.",
        "model": "from a model of these questions with all their interactions, which assumes"
        " nothing about how answers depend on each other."
        if own
        else "from one model of all answers.",
        "outcome": "by the likelihood of the outcome, given predictors that are not perturbed. The"
        " equation is assumed to hold; nothing is assumed about the predictors.",
    }
    return f"Regression of the {about}. Estimated {by[method]}"


def _held_constant(_: Labels, interactions: bool) -> str:
    assumed = (
        "no interactions besides those in the equation"
        if interactions
        else "no interactions; if there are any, the coefficients are those of the best equation"
        " without them"
    )
    return (
        f"Coefficients hold all other predictors constant and assume {assumed}. Intervals account"
        " for the perturbation of all answers."
    )


def _tested(_: Labels, method: str, odds: bool, test: str) -> str:
    if not odds:
        return (
            "p-values are of score tests; an interval contains the values that such a test does not"
            " reject."
        )
    if test == "score":
        return (
            "Intervals are normal approximations. The p-values are of score tests; they can differ"
            " slightly from the intervals."
        )
    return "Intervals are normal approximations, and the p-values are of Wald tests."


#: Quantities of this analysis.
QUANTITIES = by_name(
    Quantity("intercept"),
    replace(ratio("odds"), no_effect=None),
    difference("coefficient", style="number"),
    Quantity("marginal_effect", "average change", "points", no_effect=0.0),
)

#: Sentences of the caveats of this analysis.
CAVEATS: Sentences = {
    "few reports": lambda _, reports: (
        f"With about {reports:.1f} reports for each cell, intervals cover the true value less often"
        " than stated."
    ),
    "untested coefficients": lambda _, limit: (
        "Coefficients without a p-value are too imprecise to test: if all answers were independent,"
        f" their standard error would be above {limit}. Their intervals may cover the true value"
        " less often than stated."
    ),
    "no coefficients": _no_coefficients,
    "regression": _regression,
    "odds ratios": lambda _: (
        "Odds ratios are farther from 1 than ratios of shares. The average change (average marginal"
        " effect) is that of the probability of the answer if everybody gave one answer instead of"
        " the other, or per unit of scores."
    ),
    "held constant": _held_constant,
    "unasked predictors": lambda labels, pairs: folded(
        "No report asks these predictors together: {}. So their coefficients are not adjusted for"
        " an association of these two, except as far as the other answers explain it.",
        [" and ".join(map(labels.quoted, pair)) for pair in pairs],
        "pairs",
    ),
    "p-values of coefficients": _tested,
    "left out of regression": lambda _: (
        "People with a missing answer to one of these questions are left out, assuming that this is"
        " unrelated to the outcome."
    ),
}
