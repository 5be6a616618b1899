"""Measures of the reports themselves."""

from collections.abc import Iterator
from typing import Any

import msgspec

from ..protocol.base import Message
from .base import (
    MEASURE_COLUMNS,
    Columns,
    Confidence,
    Items,
    MeasureEstimate,
    MeasureNames,
    Presence,
    Query,
    Result,
    measure_row,
)
from .measures import Associated


class RandomizedMeasure(Message, frozen=True, kw_only=True):
    """Measure of the reports themselves, and its implications for the answers.

    `never_grows`: distortion can only have brought it nearer to its value at independence.
    `order_preserved`: pairs of attributes with equal distortion keep the order that they have among
    the answers.
    """

    estimate: MeasureEstimate
    never_grows: bool
    order_preserved: bool
    statement: str


class RandomizedResult(Result, frozen=True, kw_only=True):
    """Measures of the reports themselves."""

    query: "RandomizedQuery"
    present: Items
    measures: list[RandomizedMeasure]

    @property
    def columns(self) -> Columns:
        return [
            *MEASURE_COLUMNS,
            ("never_grows", bool),
            ("order_preserved", bool),
            ("statement", str),
        ]

    @property
    def index(self) -> int:
        return 1

    @property
    def panels(self) -> int:
        return 1

    def rows(self) -> Iterator[tuple[Any, ...]]:
        for measure in self.measures:
            yield (
                *measure_row(measure.estimate),
                measure.never_grows,
                measure.order_preserved,
                measure.statement,
            )


class RandomizedQuery(Query[RandomizedResult], frozen=True, kw_only=True):
    """Association measures of the reports themselves, and what follows for the answers."""

    attributes: Associated
    present: Presence = msgspec.field(default_factory=dict)
    measures: MeasureNames | None = None
    confidence: Confidence = 0.95
