"""Association of every pair of attributes."""

from collections.abc import Iterator
from typing import Annotated, ClassVar

from msgspec import Meta

from .base import AnsweredQuery, AttributeName, EstimatesResult, MeasureEstimate, Row


class Association(MeasureEstimate, frozen=True, kw_only=True):
    """Goodman–Kruskal τ: relative reduction of the Gini index of `column` given `row`.

    `p_value` is that of the two answers that depart most clearly from independence, after
    Bonferroni's correction for all cells of all pairs: the chance that any pair of independent
    questions has one below α is at most α.
    """

    row: AttributeName
    column: AttributeName


class AssociationsResult(EstimatesResult, frozen=True, kw_only=True):
    """Goodman–Kruskal τ (concentration) of every ordered pair of attributes, row by row."""

    query: "AssociationsQuery"
    attributes: list[AttributeName]
    associations: list[Association]

    KEYS: ClassVar = ("row", "column")

    def estimates(self) -> Iterator[Row]:
        for pair in self.associations:
            yield (pair.row, pair.column), pair, ()


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
