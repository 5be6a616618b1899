"""Means, standard deviations, quantiles and cumulative shares of numbers and ordered answers."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from ..results import Result
from ..results.caveats import Sentences
from ..results.labels import Labels
from ..results.wording import number
from .base import GROUPS, QUESTION, AttributeName, CategoryName, EstimateQuery, Items, MergeOf

#: Scores of answers: midpoints of the bins of numbers, values of numeric categories, requested
#: scores, or ranks 1, 2, ….
CountedAs = Literal["middles", "numbers", "scores", "ranks"]


class DistributionQuery(EstimateQuery[Result[Any]], frozen=True, kw_only=True):
    """Mean and percentiles of a number or of answers in an order, with cumulative shares.

    Missing answers are excluded. By default the score of a number is the midpoint of its bin, the
    score of a numeric category is its value, and other answers have their ranks as scores.

    A percentile is the score of the answer where the cumulative share reaches it; for numbers it
    is interpolated within a bin. *people* is the estimated number of respondents who answered.
    """

    attribute: Annotated[AttributeName, Meta(extra=QUESTION, description="Attribute to describe.")]
    groups: (
        Annotated[
            AttributeName,
            Meta(
                extra=GROUPS,
                description="Attribute whose categories are the groups; by default no groups.",
            ),
        ]
        | None
    ) = None
    reference: (
        Annotated[
            CategoryName,
            Meta(
                description="Group whose mean the others are compared with; by default the first."
            ),
        ]
        | None
    ) = None
    percentiles: Annotated[
        list[Annotated[int, Meta(ge=1, le=99)]],
        Meta(
            description="Percentiles to estimate; 50 is the median.",
            extra_json_schema={"uniqueItems": True},
        ),
    ] = msgspec.field(default_factory=lambda: [25, 50, 75])
    scores: Annotated[
        Items,
        Meta(
            description="Other scores of the answers, in their order: attribute=ranks for 1, 2,"
            " …, or increasing numbers, such as attribute=20,45,70.",
            extra={"also": ("ranks",), "written": "attribute=ranks"},
        ),
    ] = msgspec.field(default_factory=dict)
    merge: MergeOf = msgspec.field(default_factory=dict)


def _scores(labels: Labels, question: str, kind: str, scores: Mapping[str, float]) -> str:
    """List the scores of the answers to a question."""
    each = ", ".join(
        name if name == number(score) else f"{name} {number(score)}"
        for answer, score in scores.items()
        for name in [labels.answer(question, answer)]
    )
    return f"The answers to {labels.quoted(question)} count as {kind}s: {each}."


#: Sentences of the caveats of this analysis.
CAVEATS: Sentences = {
    "unordered": lambda labels, question: (
        f"The survey does not declare the answers to {labels.quoted(question)} as ordered; they are"
        " used in the order of the survey."
    ),
    "scores": _scores,
    "bin error": lambda _, error: (
        "Numbers are represented by the midpoints of their bins: this changes means and standard"
        f" deviations by at most {number(error)}, in addition to their intervals."
    ),
    "interpolated": lambda _: (
        "Percentiles are interpolated within bins; the bins at both ends of an interval are valid"
        " for any distribution within them."
    ),
    "falling": lambda _: (
        "If an estimate below 0 makes cumulative shares decrease, percentiles are computed from"
        " nondecreasing cumulative shares."
    ),
    "overlap": lambda _: (
        "Judge by the differences and their p-values, not by whether intervals of means overlap."
    ),
}
