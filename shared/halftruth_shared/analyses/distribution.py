"""Means, deviations, quantiles and cumulative shares of numbers and of answers in an order."""

from collections.abc import Iterator
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from ..protocol.base import Message
from .base import (
    AttributeName,
    Columns,
    EstimateQuery,
    Interval,
    Items,
    Result,
    Usability,
    ends,
    numbers,
    texts,
)

#: What answers count as: middles of the bins of numbers, numbers that the categories are, scores
#: that were given, or their ranks 1, 2, ….
CountedAs = Literal["middles", "numbers", "scores", "ranks"]


class MomentEstimate(Message, frozen=True, kw_only=True):
    """A mean or a standard deviation, by the delta method; where it is undefined, why."""

    value: float | None = None
    standard_error: float | None = None
    interval: Interval | None = None
    usability: Usability
    verdict: str
    undefined: str | None = None


class QuantileEstimate(Message, frozen=True, kw_only=True):
    """Where the cumulative share reaches so many percent.

    `answer` is the category, and `answers` those from which and to which it is. `value` and
    `interval` are what these count as; of numbers they are interpolated within their bins.
    """

    percentile: int
    answer: str | None = None
    answers: tuple[str, str] | None = None
    value: float | None = None
    interval: Interval | None = None
    usability: Usability
    verdict: str
    undefined: str | None = None


class OrderedShare(Message, frozen=True, kw_only=True):
    """Share of one answer within the group, and of it together with all before it."""

    answer: str
    share: float
    standard_error: float | None
    interval: Interval | None
    usability: Usability
    cumulative: float
    cumulative_standard_error: float | None
    cumulative_interval: Interval | None


class GroupDistribution(Message, frozen=True, kw_only=True):
    """Distribution within one group, or of everybody (null).

    `base` is the estimated number of respondents in the group who answered. Where it cannot be told
    from zero there are no numbers, and `undefined` says so.
    """

    group: str | None
    base: float
    mean: MomentEstimate
    deviation: MomentEstimate
    quantiles: list[QuantileEstimate]
    answers: list[OrderedShare]
    undefined: str | None = None


class DistributionResult(Result, frozen=True, kw_only=True):
    """Distribution of everybody, and then of each group.

    `values` is what each of the `answers` counts as, and `counted_as` what that is. `ordered` is
    whether the survey says that they are in an order. Of numbers, which are known by their bins,
    `bin_error` is how far a mean or standard deviation of them is from that of the middles at most,
    whatever the numbers are; it is not in the intervals.
    """

    query: "DistributionQuery"
    label: str
    ordered: bool
    answers: list[str]
    values: list[float]
    counted_as: CountedAs
    bin_error: float | None
    groups: list[GroupDistribution]

    @property
    def columns(self) -> Columns:
        return [
            *texts("estimate", "group", "of"),
            *numbers("value", "standard_error", "lower", "upper", "bin_error", "base"),
            *texts("answer", "answer_from", "answer_to", "usability", "undefined"),
        ]

    @property
    def index(self) -> int:
        return 3

    def rows(self) -> Iterator[tuple[Any, ...]]:
        for found in self.groups:
            group = "everybody" if found.group is None else found.group
            for name, moment in (("mean", found.mean), ("deviation", found.deviation)):
                yield (
                    *(name, group, "", moment.value, moment.standard_error),
                    *(*ends(moment.interval), self.bin_error, found.base, None, None, None),
                    *(moment.usability, moment.undefined),
                )
            for quantile in found.quantiles:
                yield (
                    *("percentile", group, str(quantile.percentile), quantile.value, None),
                    *(*ends(quantile.interval), None, found.base, quantile.answer),
                    *(*(quantile.answers or (None, None)), quantile.usability, quantile.undefined),
                )
        for found in self.groups:
            for one in found.answers:
                of = ("everybody" if found.group is None else found.group, one.answer)
                rest = (None, found.base, None, None, None, one.usability, None)
                error, interval = one.standard_error, one.interval
                yield ("share", *of, one.share, error, *ends(interval), *rest)
                error, interval = one.cumulative_standard_error, one.cumulative_interval
                yield ("cumulative_share", *of, one.cumulative, error, *ends(interval), *rest)


class DistributionQuery(EstimateQuery[DistributionResult], frozen=True, kw_only=True):
    """Mean, deviation, quantiles and cumulative shares of a number or of answers in an order.

    Those whose answer is missing are left out. Answers count as what they are: numbers as the
    middles of their bins, categories that are numbers as these, others as their ranks.
    """

    attribute: Annotated[AttributeName, Meta(description="The attribute that is described.")]
    groups: (
        Annotated[
            AttributeName,
            Meta(description="The attribute whose categories are groups; by default none."),
        ]
        | None
    ) = None
    percentiles: Annotated[
        list[Annotated[int, Meta(ge=1, le=99)]],
        Meta(
            description="Which quantiles, in percent; 50 is the median.",
            extra_json_schema={"uniqueItems": True},
        ),
    ] = msgspec.field(default_factory=lambda: [25, 50, 75])
    scores: Annotated[
        Items,
        Meta(
            description="What the answers count as instead, in their order: attribute=ranks for 1,"
            " 2, …, or numbers that grow, such as attribute=20,45,70.",
            extra={"also": ("ranks",), "written": "attribute=ranks"},
        ),
    ] = msgspec.field(default_factory=dict)
