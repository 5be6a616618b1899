"""Counts of perturbed reports."""

from collections.abc import Iterator
from typing import Any

from ..protocol.base import Message
from ..results.estimate import Columns
from .base import Query, Result


class CountedReport(Message, frozen=True, kw_only=True):
    """Count of one perturbed record."""

    values: list[int]
    count: int


class CountsResult(Result, frozen=True, kw_only=True):
    """Counts of perturbed records, from which everything else is computed.

    `names` are those of a report's values, and `shape` the number of values that each can have.
    """

    query: "CountsQuery"
    names: list[str]
    shape: list[int]
    cells: list[CountedReport]

    @property
    def columns(self) -> Columns:
        return [(name, int) for name in (*self.names, "count")]

    def rows(self) -> Iterator[tuple[Any, ...]]:
        for cell in self.cells:
            yield (*cell.values, cell.count)


class CountsQuery(Query[CountsResult], frozen=True, kw_only=True):
    """Counts of perturbed records, as reported."""
