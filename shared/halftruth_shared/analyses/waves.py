"""Levels, changes and trends over the waves of a series."""

from collections.abc import Iterator
from typing import Annotated, ClassVar

import msgspec
from msgspec import Meta

from ..protocol.base import Message
from ..results.estimate import Estimate
from .base import (
    AnsweredQuery,
    AttributeName,
    AttributeNames,
    CategoryName,
    EstimatesResult,
    Items,
    Row,
)


class WaveSurvey(Message, frozen=True, kw_only=True):
    """One wave: its survey, and `left_out`, the reason why nothing is compared with it.

    `gamma` is the amplification of one report. `invited` is whether only people with an invitation
    could answer.
    """

    wave: int
    survey: str
    digest: str
    reports: int
    gamma: str
    invited: bool
    left_out: str | None = None


class NotComparable(Message, frozen=True, kw_only=True):
    """A question that a wave's estimates are missing of, with the reason.

    Where `only_said` it is compared all the same, and the reason is what to know of it.
    """

    attribute: AttributeName
    wave: int
    reason: str
    only_said: bool = False


class WaveEstimate(Estimate, frozen=True, kw_only=True):
    """Share of an answer or, without answer, the mean of a number or score.

    With groups it is the difference of the group from the reference.
    """

    attribute: AttributeName
    answer: CategoryName | None
    group: str | None = None


class WaveLevel(WaveEstimate, frozen=True, kw_only=True):
    """Level in one wave."""

    wave: int


class WaveChange(WaveEstimate, frozen=True, kw_only=True):
    """Level of one wave less that of another.

    `adjusted` is the smallest false discovery rate at which it is significant, among all changes
    and trends of the result.
    """

    wave: int
    since: int
    adjusted: float | None = None


class WaveTrend(WaveEstimate, frozen=True, kw_only=True):
    """Slope of the straight line through the levels, per wave, each weighted by its precision.

    `adjusted` is the smallest false discovery rate at which it is significant, among all changes
    and trends of the result.
    """

    adjusted: float | None = None


class WavesResult(EstimatesResult, frozen=True, kw_only=True):
    """Levels, changes and trends over the waves of a series.

    `waves` are those of the series, this one among them; `reference` is the group that others are
    compared with. Errors of changes take waves to be independent.
    """

    query: "WavesQuery"
    series: str | None
    waves: list[WaveSurvey]
    reference: str | None = None
    levels: list[WaveLevel]
    changes: list[WaveChange]
    trends: list[WaveTrend]
    not_comparable: list[NotComparable]

    KEYS: ClassVar = ("estimate", "attribute", "answer", "group", "wave", "since")
    OTHERS: ClassVar = (("adjusted_p_value", float),)

    def estimates(self) -> Iterator[Row]:
        for level in self.levels:
            yield (*self._of("level", level), str(level.wave), ""), level, (None,)
        for change in self.changes:
            waves = (str(change.wave), str(change.since))
            yield (*self._of("change", change), *waves), change, (change.adjusted,)
        for trend in self.trends:
            yield (*self._of("trend", trend), "", ""), trend, (trend.adjusted,)

    def _of(self, name: str, estimate: WaveEstimate) -> tuple[str, ...]:
        what = "mean" if estimate.answer is None else "share"
        quantity = what if name == "level" and estimate.group is None else f"{what}_{name}"
        return quantity, estimate.attribute, estimate.answer or "", estimate.group or ""


class WavesQuery(AnsweredQuery[WavesResult], frozen=True, kw_only=True):
    """Change between the waves of a series, with levels and trends, of shares and of means.

    Questions of the same name and the same answers are compared. A change is against the wave
    before, or against one that is chosen; a trend is over all waves, per wave.
    """

    attributes: (
        Annotated[AttributeNames, Meta(description="Which questions; by default all.")] | None
    ) = None
    base: (
        Annotated[
            int,
            Meta(
                ge=1,
                description="Number of the wave that others are compared with; by default each with"
                " the wave before.",
            ),
        ]
        | None
    ) = None
    groups: (
        Annotated[
            AttributeName,
            Meta(
                description="The attribute whose categories are groups: then all is about the"
                " difference between a group and the reference."
            ),
        ]
        | None
    ) = None
    reference: (
        Annotated[
            CategoryName,
            Meta(description="The group that others are compared with; the first by default."),
        ]
        | None
    ) = None
    scores: Annotated[
        Items,
        Meta(
            description="What the answers count as in means, in their order: attribute=ranks for 1,"
            " 2, …, or numbers that grow, such as attribute=20,45,70. By default numbers count as"
            " the middle of their bin, and answers in an order as what they say, or as ranks.",
            extra={"also": ("ranks",), "written": "attribute=ranks"},
        ),
    ] = msgspec.field(default_factory=dict)
