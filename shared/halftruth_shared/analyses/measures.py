"""Association measures of two questions, and the map of all pairs."""

from collections.abc import Iterator, Sequence
from typing import Annotated, ClassVar

import msgspec
from msgspec import Meta

from .base import (
    AnsweredQuery,
    AttributeName,
    EstimatesResult,
    Items,
    MeasureEstimate,
    MeasureNames,
    Presence,
    Row,
)

#: Attributes whose association is estimated.
Associated = Annotated[
    list[AttributeName],
    Meta(
        min_length=2,
        description="Which attributes, two or more: of two all measures, else those named, or the"
        " map of all pairs. By default the map of all attributes.",
        extra_json_schema={"uniqueItems": True},
    ),
]


class Association(MeasureEstimate, frozen=True, kw_only=True):
    """Goodman–Kruskal τ: relative reduction of the Gini index of `column` given `row`.

    `p_value` is that of the two answers that depart most clearly from independence, after
    Bonferroni's correction for the cells of this pair. `adjusted` is the smallest false discovery
    rate at which the pair is significant among all pairs.
    """

    adjusted: float | None = None

    row: AttributeName
    column: AttributeName


class MeasuresResult(EstimatesResult, frozen=True, kw_only=True):
    """Association measures of some attributes, or the map of their pairs.

    `measures` are those of the table of `attributes`, and `present` is the category of each that
    counts as presence, where one does. `associations` is the map: Goodman–Kruskal τ
    (concentration) of every ordered pair, row by row. One of both is empty.
    """

    query: "MeasuresQuery"
    attributes: list[AttributeName]
    present: Items = msgspec.field(default_factory=dict)
    measures: list[MeasureEstimate] = msgspec.field(default_factory=list)
    associations: list[Association] = msgspec.field(default_factory=list)

    KEYS: ClassVar = ("measure",)

    @property
    def keys(self) -> Sequence[str]:
        return ("row", "column") if self.associations else self.KEYS

    def estimates(self) -> Iterator[Row]:
        for measure in self.measures:
            yield (measure.name,), measure, ()
        for pair in self.associations:
            yield (pair.row, pair.column), pair, ()


class MeasuresQuery(AnsweredQuery[MeasuresResult], frozen=True, kw_only=True):
    """Association measures of two questions, or the map of associations of every pair.

    Of two attributes all measures of their table are given, and of more those that are named. Else
    it is Goodman–Kruskal τ of every ordered pair.
    """

    attributes: Associated | None = None
    present: Presence = msgspec.field(default_factory=dict)
    measures: MeasureNames | None = None

    @property
    def maps_pairs(self) -> bool:
        """True if it asks for the map of pairs."""
        single = len(self.attributes or ()) == 2 or self.measures is not None or self.present
        return not single
