"""Means, standard deviations, quantiles and cumulative shares of numbers and ordered answers."""

from collections.abc import Iterator
from typing import Annotated, ClassVar, Literal

import msgspec
from msgspec import Meta

from ..protocol.base import Message
from ..results.estimate import Estimate
from .base import AttributeName, CategoryName, EstimateQuery, EstimatesResult, Items, Row

#: Scores of answers: middles of the bins of numbers, categories that are numbers, requested
#: scores, or ranks 1, 2, ….
CountedAs = Literal["middles", "numbers", "scores", "ranks"]


class QuantileEstimate(Estimate, frozen=True, kw_only=True):
    """Quantile: where the cumulative share reaches `percentile` percent.

    `answer` is its category, and `answers` are the ends of the interval of categories. `value` and
    `interval` are their scores; for numbers they are interpolated within bins.
    """

    percentile: int
    answer: str | None = None
    answers: tuple[str, str] | None = None


class OrderedShare(Estimate, frozen=True, kw_only=True):
    """Share of one answer within the group, and `cumulative` of it and those before it."""

    answer: str
    cumulative: Estimate


class GroupDistribution(Message, frozen=True, kw_only=True):
    """Distribution within one group, or of everybody (null).

    `base` is the estimated number of respondents in the group who answered. Unless it is
    significantly above zero there are no numbers, and `undefined` gives the reason. `difference` is
    the mean less that of the reference group, null for this and for everybody.
    """

    group: str | None
    base: float
    mean: Estimate
    deviation: Estimate
    difference: Estimate | None = None
    quantiles: list[QuantileEstimate]
    answers: list[OrderedShare]
    undefined: str | None = None


class DistributionResult(EstimatesResult, frozen=True, kw_only=True):
    """Distribution of everybody, and then of each group.

    `values` are the scores of the `answers`, and `counted_as` is their kind. `ordered` is whether
    the survey declares the answers ordered. For numbers, which are reported as bins, `bin_error`
    bounds the difference between a mean or standard deviation of the numbers and that of the
    middles; it is not part of the intervals. `reference` is the group that means are compared with.
    """

    query: "DistributionQuery"
    label: str
    ordered: bool
    answers: list[str]
    values: list[float]
    counted_as: CountedAs
    bin_error: float | None
    reference: CategoryName | None = None
    groups: list[GroupDistribution]

    KEYS: ClassVar = ("estimate", "group", "of")
    OTHERS: ClassVar = (
        ("bin_error", float),
        ("base", float),
        ("answer", str),
        ("answer_from", str),
        ("answer_to", str),
    )

    def estimates(self) -> Iterator[Row]:
        no_answers = (None, None, None)
        for each in self.groups:
            group = "everybody" if each.group is None else each.group
            of_moments = (self.bin_error, each.base, *no_answers)
            yield ("mean", group, ""), each.mean, of_moments
            yield ("deviation", group, ""), each.deviation, of_moments
            if each.difference is not None:
                yield ("mean_difference", group, self.reference), each.difference, of_moments
            for quantile in each.quantiles:
                answers = (quantile.answer, *(quantile.answers or (None, None)))
                of = str(quantile.percentile)
                yield ("percentile", group, of), quantile, (None, each.base, *answers)
        for each in self.groups:
            group = "everybody" if each.group is None else each.group
            for share in each.answers:
                others = (None, each.base, *no_answers)
                yield ("share", group, share.answer), share, others
                yield ("cumulative_share", group, share.answer), share.cumulative, others


class DistributionQuery(EstimateQuery[DistributionResult], frozen=True, kw_only=True):
    """Mean and percentiles of a number or of answers in an order, with cumulative shares.

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
    reference: (
        Annotated[
            CategoryName,
            Meta(
                description="The group that the means of the others are compared with; the first"
                " by default."
            ),
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
