"""Shares of one answer in several groups, compared."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from ..results import Result
from ..results.caveats import Sentences
from ..results.labels import Labels
from .base import (
    GROUPS,
    QUESTION,
    AttributeName,
    AutoSourceOf,
    CategoryName,
    CovarianceOf,
    Interactions,
    Items,
    MergeOf,
    Modelled,
    SampleQuery,
)

#: Effect measure of two shares.
Effect = Literal["difference", "risk_ratio", "odds_ratio"]


class ComparisonQuery(SampleQuery[Result[Any]], frozen=True, kw_only=True):
    """Comparison of the share of one answer between groups, with intervals and tests.

    A share refers to the respondents of a group, and *people* is their estimated number. A
    difference or ratio compares a group with its reference group, or with all other groups. Its
    p-value is of the test that the shares are equal, with the standard error under that
    hypothesis. *trend* is the mean change of the share from one group to the next. With it, two
    scales also have their correlations, as among their measures.
    """

    answer: Annotated[
        Items,
        Meta(
            min_length=1,
            max_length=1,
            extra=QUESTION,
            description="Answer whose share is compared, as attribute=category, or as"
            " question=option of a question with several answers.",
        ),
    ]
    groups: Annotated[
        AttributeName,
        Meta(extra=GROUPS, description="Attribute whose categories are the groups."),
    ]
    among: (
        Annotated[
            list[CategoryName],
            Meta(
                min_length=2,
                description="Compare only these groups; by default all.",
                extra_json_schema={"uniqueItems": True},
            ),
        ]
        | None
    ) = None
    reference: (
        Annotated[
            CategoryName,
            Meta(
                description="Group that all others are compared with. By default each group is"
                " compared with all others together, and the second of two groups with the first."
            ),
        ]
        | None
    ) = None
    effect: Annotated[
        Effect,
        Meta(
            description="Effect measure: the difference of two shares, their ratio, or the ratio of"
            " their odds."
        ),
    ] = "difference"
    trend: Annotated[
        bool,
        Meta(
            description="Also estimate the trend from each group to the next, in the order of the"
            " survey."
        ),
    ] = False
    merge: MergeOf = msgspec.field(default_factory=dict)
    estimate: AutoSourceOf = "auto"
    interactions: Interactions = msgspec.field(default_factory=list)
    modelled: Modelled | None = None
    covariance: CovarianceOf = False


def _equality(_: Labels, by_model: bool) -> str:
    tests = "Wald tests by the model" if by_model else "score tests"
    return (
        f"p-values are of {tests} and assume equal shares, so they can disagree with the interval."
        " A large p-value is no evidence that shares are equal: perturbation hides small"
        " differences."
    )


#: Sentences of the caveats of this analysis.
CAVEATS: Sentences = {
    "open ratios": lambda _: (
        "Where a denominator is not significantly above zero, its ratio has no upper end."
    ),
    "p-values of shares": _equality,
}
