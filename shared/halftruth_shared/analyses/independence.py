"""A test of independence of two attributes."""

from collections.abc import Iterator
from typing import Annotated, Any

from msgspec import Meta

from .base import AttributeName, FilteredQuery, MissingOf, Result, numbers, texts
from .estimate import Columns


class IndependenceResult(Result, frozen=True, kw_only=True):
    """Test of independence of the answers to two questions in the population.

    `statistic` is approximately χ² distributed with `degrees_of_freedom` under independence, and
    `p_value` the probability of a larger one. A small p-value is evidence against independence; a
    large one proves nothing. If nothing can be tested both are null, and `undefined` gives the
    reason.
    """

    query: "IndependenceQuery"
    statistic: float | None
    degrees_of_freedom: int
    p_value: float | None
    undefined: str | None
    statement: str

    @property
    def columns(self) -> Columns:
        return [
            *texts("row", "column"),
            *numbers("statistic"),
            ("degrees_of_freedom", int),
            *numbers("p_value"),
            *texts("undefined"),
        ]

    @property
    def index(self) -> int:
        return 2

    def rows(self) -> Iterator[tuple[Any, ...]]:
        row, column = self.query.attributes
        yield row, column, self.statistic, self.degrees_of_freedom, self.p_value, self.undefined


class IndependenceQuery(FilteredQuery[IndependenceResult], frozen=True, kw_only=True):
    """A test whether two questions are answered independently, valid under every mechanism."""

    attributes: Annotated[
        list[AttributeName],
        Meta(
            min_length=2,
            max_length=2,
            description="Which two attributes.",
            extra_json_schema={"uniqueItems": True},
        ),
    ]
    missing: MissingOf = "keep"
