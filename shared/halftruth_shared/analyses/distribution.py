"""Means, standard deviations, quantiles and cumulative shares of numbers and ordered answers."""

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

#: Scores of answers: middles of the bins of numbers, categories that are numbers, requested
#: scores, or ranks 1, 2, ….
CountedAs = Literal["middles", "numbers", "scores", "ranks"]


class MomentEstimate(Message, frozen=True, kw_only=True):
    """Mean or standard deviation by the delta method, or the reason why it is undefined."""

    value: float | None = None
    standard_error: float | None = None
    interval: Interval | None = None
    usability: Usability
    verdict: str
    undefined: str | None = None


class QuantileEstimate(Message, frozen=True, kw_only=True):
    """Quantile: where the cumulative share reaches `percentile` percent.

    `answer` is its category, and `answers` are the ends of the interval of categories. `value` and
    `interval` are their scores; for numbers they are interpolated within bins.
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
    """Share and cumulative share of one answer within the group."""

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

    `base` is the estimated number of respondents in the group who answered. Unless it is
    significantly above zero there are no numbers, and `undefined` gives the reason.
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

    `values` are the scores of the `answers`, and `counted_as` is their kind. `ordered` is whether
    the survey declares the answers ordered. For numbers, which are reported as bins, `bin_error`
    bounds the difference between a mean or standard deviation of the numbers and that of the
    middles; it is not part of the intervals.
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
        for each in self.groups:
            group = "everybody" if each.group is None else each.group
            for name, moment in (("mean", each.mean), ("deviation", each.deviation)):
                yield (
                    *(name, group, "", moment.value, moment.standard_error),
                    *(*ends(moment.interval), self.bin_error, each.base, None, None, None),
                    *(moment.usability, moment.undefined),
                )
            for quantile in each.quantiles:
                yield (
                    *("percentile", group, str(quantile.percentile), quantile.value, None),
                    *(*ends(quantile.interval), None, each.base, quantile.answer),
                    *(*(quantile.answers or (None, None)), quantile.usability, quantile.undefined),
                )
        for each in self.groups:
            for answer in each.answers:
                of = ("everybody" if each.group is None else each.group, answer.answer)
                rest = (None, each.base, None, None, None, answer.usability, None)
                error, interval = answer.standard_error, answer.interval
                yield ("share", *of, answer.share, error, *ends(interval), *rest)
                error, interval = answer.cumulative_standard_error, answer.cumulative_interval
                yield ("cumulative_share", *of, answer.cumulative, error, *ends(interval), *rest)


class DistributionQuery(EstimateQuery[DistributionResult], frozen=True, kw_only=True):
    """Mean, deviation, quantiles and cumulative shares of a number or of answers in an order.

    Missing answers are excluded. By default the score of a number is the middle of its bin, that of
    a category that is a number is this number, and others have their ranks.
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
