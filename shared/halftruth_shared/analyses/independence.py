"""A test of independence of two attributes."""

from collections.abc import Iterator
from typing import Annotated, Any

from msgspec import Meta

from .base import AttributeName, Columns, FilteredQuery, MissingOf, Result, numbers, texts


class IndependenceResult(Result, frozen=True, kw_only=True):
    """Whether the answers to two questions are independent in the population, tested.

    `statistic` is about a χ² variable of `degrees_of_freedom` where they are, and `p_value` the
    chance of a larger one. A small p-value speaks against independence, a large one for nothing.
    Where nothing can be tested both are null, and `undefined` says why.
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
