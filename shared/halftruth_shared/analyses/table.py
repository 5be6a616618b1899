"""Reconstructed tables."""

from collections.abc import Iterator, Sequence
from typing import ClassVar

import msgspec

from .base import (
    AttributeNames,
    CovarianceOf,
    EstimatesResult,
    Interactions,
    Items,
    MethodOf,
    Modelled,
    Row,
    SampleQuery,
    TypicalError,
)
from .estimate import Estimate, Reliability


class TableCell(Estimate, frozen=True, kw_only=True):
    """Support of a cell of a reconstructed table, with errors as in the overview."""

    values: Items
    value: float


class TableResult(EstimatesResult, frozen=True, kw_only=True):
    """A reconstructed table, cells in row-major order.

    `verdict` says in words whether its shares are precise enough to be used, and `typical` how far
    best guesses are off, null without one. `condition_number` is null where it is not the inverse
    of one matrix. `effective_reports` answers without perturbation would be as precise.
    """

    query: "TableQuery"
    reliability: Reliability
    verdict: str
    typical: TypicalError | None = None
    condition_number: float | None = None
    effective_reports: float | None = None
    cells: list[TableCell]

    QUANTITY: ClassVar = "support"

    @property
    def keys(self) -> Sequence[str]:
        return self.query.attributes

    def estimates(self) -> Iterator[Row]:
        for cell in self.cells:
            yield tuple(cell.values.values()), cell, ()


class TableQuery(SampleQuery[TableResult], frozen=True, kw_only=True):
    """Reconstructed table of some attributes, each cell with its bounds."""

    attributes: AttributeNames
    estimate: MethodOf = "moment"
    interactions: Interactions = msgspec.field(default_factory=list)
    modelled: Modelled | None = None
    covariance: CovarianceOf = False
