"""Reconstructed tables."""

from collections.abc import Iterator
from typing import Annotated, Any

from msgspec import Meta

from ..protocol.base import Message
from .base import (
    AnsweredQuery,
    AttributeNames,
    Columns,
    Estimate,
    Interval,
    Items,
    Result,
    TypicalError,
    Usability,
    ends,
    numbers,
    texts,
)


class TableCell(Message, frozen=True, kw_only=True):
    """Cell of a reconstructed table.

    Standard error and interval are those of the moment estimate, null with a best guess. For both
    parts of the error see the overview.
    """

    values: Items
    support: float
    standard_error: float | None
    perturbation_error: float | None
    sampling_error: float | None
    interval: Interval | None
    usability: Usability


class TableResult(Result, frozen=True, kw_only=True):
    """A reconstructed table, cells in row-major order.

    `verdict` says in words whether its shares are precise enough to be used, and `typical` how far
    best guesses are off, null without one. `condition_number` is null where it is not the inverse
    of one matrix.
    """

    query: "TableQuery"
    usability: Usability
    verdict: str
    typical: TypicalError | None = None
    condition_number: float | None = None
    cells: list[TableCell]
    covariance: list[list[float]] | None = None

    @property
    def columns(self) -> Columns:
        return [
            *texts(*self.query.attributes),
            *numbers("support", "standard_error", "lower", "upper"),
            ("usability", str),
            *numbers("perturbation_error", "sampling_error"),
        ]

    @property
    def index(self) -> int:
        return len(self.query.attributes)

    def rows(self) -> Iterator[tuple[Any, ...]]:
        for cell in self.cells:
            yield (
                *cell.values.values(),
                cell.support,
                cell.standard_error,
                *ends(cell.interval),
                cell.usability,
                cell.perturbation_error,
                cell.sampling_error,
            )


class TableQuery(AnsweredQuery[TableResult], frozen=True, kw_only=True):
    """Reconstructed table of some attributes, each cell with its bounds."""

    attributes: AttributeNames
    estimate: Estimate = "moment"
    covariance: Annotated[
        bool, Meta(description="Whether to give the covariance of the cells, too.")
    ] = False
