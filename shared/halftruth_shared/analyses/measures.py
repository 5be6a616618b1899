"""Association measures."""

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
    MeasureNames,
    Presence,
    Result,
    measure_row,
)

#: Attributes whose association is estimated.
Associated = Annotated[
    list[AttributeName],
    Meta(
        min_length=2,
        description="Which attributes, two or more; with more than two, only some measures apply.",
        extra_json_schema={"uniqueItems": True},
    ),
]


class MeasuresResult(Result, frozen=True, kw_only=True):
    """Association measures of some attributes.

    `present` is the category of each attribute that counts as presence, where one does.
    """

    query: "MeasuresQuery"
    present: Items
    measures: list[MeasureEstimate]

    @property
    def columns(self) -> Columns:
        return MEASURE_COLUMNS

    @property
    def index(self) -> int:
        return 1

    @property
    def panels(self) -> int:
        return 1

    def rows(self) -> Iterator[tuple[Any, ...]]:
        yield from map(measure_row, self.measures)


class MeasuresQuery(AnsweredQuery[MeasuresResult], frozen=True, kw_only=True):
    """Association measures of two or more attributes, each with its bounds."""

    attributes: Associated
    present: Presence = msgspec.field(default_factory=dict)
    measures: MeasureNames | None = None
