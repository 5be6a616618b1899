"""Partial correlation."""

from collections.abc import Iterator
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from .base import (
    MEASURE_COLUMNS,
    AnsweredQuery,
    AttributeName,
    Columns,
    Items,
    MeasureEstimate,
    Presence,
    Result,
    measure_row,
)
from .randomized import RandomizedMeasure


class PartialResult(Result, frozen=True, kw_only=True):
    """Partial correlation of two attributes: reconstructed, and of the reports themselves.

    `randomized` is null if a report is no record, and for a group, whose members are known only by
    their true answers.
    """

    query: "PartialQuery"
    present: Items
    reconstructed: MeasureEstimate
    randomized: RandomizedMeasure | None

    @property
    def columns(self) -> Columns:
        return [("of", str), *MEASURE_COLUMNS]

    @property
    def index(self) -> int:
        return 1

    def rows(self) -> Iterator[tuple[Any, ...]]:
        yield ("answers", *measure_row(self.reconstructed))
        if self.randomized is not None:
            yield ("reports", *measure_row(self.randomized.estimate))


class PartialQuery(AnsweredQuery[PartialResult], frozen=True, kw_only=True):
    """Correlation of two attributes given others, of the answers and of the reports."""

    attributes: Annotated[
        list[AttributeName],
        Meta(
            min_length=2,
            max_length=2,
            description="The two attributes.",
            extra_json_schema={"uniqueItems": True},
        ),
    ]
    given: Annotated[
        list[AttributeName],
        Meta(
            min_length=1,
            description="Attributes that are held constant, one or more.",
            extra_json_schema={"uniqueItems": True},
        ),
    ]
    present: Presence = msgspec.field(default_factory=dict)
