"""Loglinear models of the reports."""

from collections.abc import Iterator
from typing import Annotated, Any

from msgspec import Meta

from ..protocol.base import Message
from .base import AttributeName, Items, Query, Result, numbers, texts
from .estimate import Columns


class FittedCell(Message, frozen=True, kw_only=True):
    """Cell of a table of reports under a model; residual (n − m)/√m, null where m is 0."""

    values: Items
    count: int
    fitted: float
    residual: float | None


class LoglinearResult(Result, frozen=True, kw_only=True):
    """Test of a loglinear model of the reports.

    `preserved`: if the model holds for the answers it holds for the reports, so that a small
    p-value is evidence against it. A large p-value proves nothing. The p-values are null if the
    model is saturated.
    """

    query: "LoglinearQuery"
    chi_squared: float
    g_squared: float
    degrees_of_freedom: int
    chi_squared_p: float | None
    g_squared_p: float | None
    preserved: bool
    statement: str
    cells: list[FittedCell]

    @property
    def attributes(self) -> list[str]:
        """The attributes of the table, in the order of its axes."""
        return list(dict.fromkeys(name for term in self.query.terms for name in term))

    @property
    def columns(self) -> Columns:
        return [*texts(*self.attributes), ("count", int), *numbers("fitted", "residual")]

    @property
    def index(self) -> int:
        return len(self.attributes)

    def rows(self) -> Iterator[tuple[Any, ...]]:
        for cell in self.cells:
            yield (*cell.values.values(), cell.count, cell.fitted, cell.residual)


class LoglinearQuery(Query[LoglinearResult], frozen=True, kw_only=True):
    """A hierarchical loglinear model of the reports, fitted and tested.

    Single attributes as terms test their independence.
    """

    terms: Annotated[
        list[list[AttributeName]],
        Meta(
            min_length=1,
            description="The highest-order terms of the model, each the names of its attributes"
            " with commas between them.",
        ),
    ]
