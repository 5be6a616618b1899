"""Association of every pair of attributes."""

from collections.abc import Iterator
from typing import Annotated, Any

from msgspec import Meta

from ..protocol.base import Message
from .base import (
    MEASURE_COLUMNS,
    AnsweredQuery,
    AttributeName,
    Columns,
    MeasureEstimate,
    Result,
    measure_row,
    texts,
)


class Association(Message, frozen=True, kw_only=True):
    """Goodman–Kruskal τ: relative reduction of the Gini index of `column` given `row`."""

    row: AttributeName
    column: AttributeName
    estimate: MeasureEstimate


class AssociationsResult(Result, frozen=True, kw_only=True):
    """Goodman–Kruskal τ (concentration) of every ordered pair of attributes, row by row."""

    query: "AssociationsQuery"
    attributes: list[AttributeName]
    associations: list[Association]

    @property
    def columns(self) -> Columns:
        return [*texts("row", "column"), *MEASURE_COLUMNS]

    @property
    def index(self) -> int:
        return 2

    def rows(self) -> Iterator[tuple[Any, ...]]:
        for pair in self.associations:
            yield (pair.row, pair.column, *measure_row(pair.estimate))


class AssociationsQuery(AnsweredQuery[AssociationsResult], frozen=True, kw_only=True):
    """Association of every ordered pair of attributes (Goodman–Kruskal τ)."""

    attributes: (
        Annotated[
            list[AttributeName],
            Meta(
                min_length=2,
                description="Which attributes, two or more; by default all.",
                extra_json_schema={"uniqueItems": True},
            ),
        ]
        | None
    ) = None
