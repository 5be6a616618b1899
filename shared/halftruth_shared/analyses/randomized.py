"""Measures of the reports themselves."""

from collections.abc import Iterator
from typing import ClassVar

import msgspec

from .base import (
    Confidence,
    EstimatesResult,
    Items,
    MeasureEstimate,
    MeasureNames,
    Presence,
    Query,
    Row,
)
from .measures import Associated


class RandomizedMeasure(MeasureEstimate, frozen=True, kw_only=True):
    """Measure of the reports themselves, and its implications for the answers.

    `never_grows`: distortion can only have brought it nearer to its value at independence.
    `order_preserved`: pairs of attributes with equal distortion keep the order that they have among
    the answers.
    """

    never_grows: bool
    order_preserved: bool
    statement: str


class RandomizedResult(EstimatesResult, frozen=True, kw_only=True):
    """Measures of the reports themselves."""

    query: "RandomizedQuery"
    present: Items
    measures: list[RandomizedMeasure]

    KEYS: ClassVar = ("measure",)
    OTHERS: ClassVar = (("never_grows", bool), ("order_preserved", bool), ("statement", str))

    def estimates(self) -> Iterator[Row]:
        for measure in self.measures:
            beside = (measure.never_grows, measure.order_preserved, measure.statement)
            yield (measure.name,), measure, beside


class RandomizedQuery(Query[RandomizedResult], frozen=True, kw_only=True):
    """Association measures of the reports themselves, and what follows for the answers."""

    attributes: Associated
    present: Presence = msgspec.field(default_factory=dict)
    measures: MeasureNames | None = None
    confidence: Confidence = 0.95
