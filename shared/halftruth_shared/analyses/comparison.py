"""Shares of one answer in several groups, compared."""

from collections.abc import Iterator
from typing import Annotated, ClassVar, Literal

import msgspec
from msgspec import Meta

from .base import (
    AttributeName,
    CategoryName,
    CovarianceOf,
    EstimatesResult,
    Interactions,
    Items,
    Modelled,
    Row,
    SampleQuery,
    SourceOf,
)
from .estimate import Estimate

#: Effect measure of two shares.
Effect = Literal["difference", "risk_ratio", "odds_ratio"]


class GroupShare(Estimate, frozen=True, kw_only=True):
    """Share of the answer in one group, with Fieller's interval.

    `base` is the estimated number of respondents in the group. Unless it is significantly above
    zero there is no share; if it is less than five standard errors above zero the share has no
    standard error.
    """

    group: CategoryName
    base: float


class GroupComparison(Estimate, frozen=True, kw_only=True):
    """Difference or ratio of the shares of a group and another, or of all others (null).

    Its error is by the delta method, that of a ratio on the logarithmic scale. `p_value` is of the
    test that the shares are equal, with the standard error under that hypothesis; it may be known
    if a ratio is not. `adjusted` is the smallest false discovery rate at which it is significant
    among all comparisons.
    """

    group: CategoryName
    against: CategoryName | None
    adjusted: float | None = None


class ComparisonResult(EstimatesResult, frozen=True, kw_only=True):
    """Shares of one answer in several groups, and their differences or ratios.

    `reference` is the group that all others are compared with, null where each is compared with
    all the others together. `trend` is the mean change of the share from one group to the next,
    null unless requested.
    """

    query: "ComparisonQuery"
    reference: CategoryName | None
    groups: list[GroupShare]
    comparisons: list[GroupComparison]
    trend: Estimate | None = None

    KEYS: ClassVar = ("estimate", "group", "against")
    OTHERS: ClassVar = (("base", float), ("adjusted_p_value", float))

    def estimates(self) -> Iterator[Row]:
        for share in self.groups:
            yield ("share", share.group, ""), share, (share.base, None)
        for effect in self.comparisons:
            against = "all others" if effect.against is None else effect.against
            yield (self.query.effect, effect.group, against), effect, (None, effect.adjusted)
        if self.trend is not None:
            yield ("trend", "", ""), self.trend, (None, None)


class ComparisonQuery(SampleQuery[ComparisonResult], frozen=True, kw_only=True):
    """Comparison of the share of one answer between groups, with intervals and tests.

    Shares are those among the respondents of each group; a difference or ratio is that of a group
    and the one that it is compared with.
    """

    answer: Annotated[
        Items,
        Meta(
            min_length=1,
            max_length=1,
            description="Whose share, as attribute=category, or question=option of a question with"
            " several answers.",
        ),
    ]
    groups: Annotated[
        AttributeName, Meta(description="The attribute whose categories are the groups.")
    ]
    among: (
        Annotated[
            list[CategoryName],
            Meta(
                min_length=2,
                description="Only these groups; by default all.",
                extra_json_schema={"uniqueItems": True},
            ),
        ]
        | None
    ) = None
    reference: (
        Annotated[
            CategoryName,
            Meta(
                description="The group that all others are compared with. By default each is"
                " compared with all the others together, and of two the second with the first."
            ),
        ]
        | None
    ) = None
    effect: Annotated[Effect, Meta(description="What two shares are compared by.")] = "difference"
    trend: Annotated[
        bool,
        Meta(
            description="Whether the groups are ordered as in the survey, so that a trend from"
            " each to the next is wanted, too."
        ),
    ] = False
    estimate: SourceOf = "moment"
    interactions: Interactions = msgspec.field(default_factory=list)
    modelled: Modelled | None = None
    covariance: CovarianceOf = False
