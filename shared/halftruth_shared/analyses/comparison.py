"""Shares of one answer in several groups, compared."""

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from msgspec import Meta

from ..protocol.base import Message
from .base import (
    AnsweredQuery,
    AttributeName,
    CategoryName,
    Columns,
    Interval,
    Items,
    OpenInterval,
    Result,
    Usability,
    ends,
    numbers,
    texts,
)

#: Effect measure of two shares.
Effect = Literal["difference", "risk_ratio", "odds_ratio"]

#: Multiplicity of intervals and p-values: pointwise, or a method for simultaneous ones.
Simultaneous = Literal["none", "bonferroni", "holm", "maximum"]


class GroupShare(Message, frozen=True, kw_only=True):
    """Share of the answer in one group, with Fieller's interval.

    `base` is the estimated number of respondents in the group. Unless it is significantly above
    zero there is no share, and `undefined` gives the reason; if it is less than five standard
    errors above zero the share has no standard error.
    """

    group: CategoryName
    base: float
    share: float | None = None
    standard_error: float | None = None
    interval: Interval | None = None
    usability: Usability
    verdict: str
    undefined: str | None = None


class EffectEstimate(Message, frozen=True, kw_only=True):
    """Difference or ratio of two shares, or trend; or the reason why it is undefined.

    `standard_error` and `interval` are by the delta method, those of a ratio on the logarithmic
    scale, from which the interval is transformed back. `p_value` is that of the test that the
    shares are equal, with the standard error under that hypothesis; it may be known if a ratio is
    not.
    """

    value: float | None = None
    standard_error: float | None = None
    interval: OpenInterval | None = None
    p_value: float | None = None
    usability: Usability
    verdict: str
    undefined: str | None = None


class GroupComparison(Message, frozen=True, kw_only=True):
    """Comparison of a group with another one, or with all the others together (null)."""

    group: CategoryName
    against: CategoryName | None
    effect: EffectEstimate


class ComparisonResult(Result, frozen=True, kw_only=True):
    """Shares of one answer in several groups, and their differences or ratios.

    `reference` is the group that all others are compared with, null where each is compared with
    all the others together. `trend` is the mean change of the share from one group to the next,
    null unless requested.
    """

    query: "ComparisonQuery"
    reference: CategoryName | None
    groups: list[GroupShare]
    comparisons: list[GroupComparison]
    trend: EffectEstimate | None = None

    @property
    def columns(self) -> Columns:
        return [
            *texts("estimate", "group", "against"),
            *numbers("value", "standard_error", "lower", "upper", "p_value", "base"),
            *texts("usability", "undefined"),
        ]

    @property
    def index(self) -> int:
        return 3

    def rows(self) -> Iterator[tuple[Any, ...]]:
        for group in self.groups:
            numbers = (group.share, group.standard_error, *ends(group.interval), None, group.base)
            yield ("share", group.group, "", *numbers, group.usability, group.undefined)
        for compared in self.comparisons:
            against = "all others" if compared.against is None else compared.against
            yield (self.query.effect, compared.group, against, *_effect_row(compared.effect))
        if self.trend is not None:
            yield ("trend", "", "", *_effect_row(self.trend))


def _effect_row(effect: EffectEstimate) -> tuple[Any, ...]:
    lower, upper = effect.interval or (None, None)
    return (
        effect.value,
        effect.standard_error,
        lower,
        upper,
        effect.p_value,
        None,
        effect.usability,
        effect.undefined,
    )


class ComparisonQuery(AnsweredQuery[ComparisonResult], frozen=True, kw_only=True):
    """Comparison of the share of one answer between groups, with intervals and tests.

    Shares are those among the respondents of each group; a difference or ratio is that of a group
    and the one that it is compared with.
    """

    answer: Annotated[
        Items,
        Meta(min_length=1, max_length=1, description="Whose share, as attribute=category."),
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
    simultaneous: Annotated[
        Simultaneous,
        Meta(
            description="What intervals and p-values of all comparisons hold for: each by itself"
            " (none), or all together, by Bonferroni's inequality or, narrower, by the maximum of"
            " correlated normal variables; holm has smaller p-values beside Bonferroni's intervals."
        ),
    ] = "none"
    trend: Annotated[
        bool,
        Meta(
            description="Whether the groups are ordered as in the survey, so that a trend from"
            " each to the next is wanted, too."
        ),
    ] = False
