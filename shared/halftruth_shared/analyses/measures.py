"""Association measures."""

from collections.abc import Iterator
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
        description="Which attributes, two or more; with more than two, only some measures apply.",
        extra_json_schema={"uniqueItems": True},
    ),
]


class MeasuresResult(EstimatesResult, frozen=True, kw_only=True):
    """Association measures of some attributes.

    `present` is the category of each attribute that counts as presence, where one does.
    """

    query: "MeasuresQuery"
    present: Items
    measures: list[MeasureEstimate]

    KEYS: ClassVar = ("measure",)

    def estimates(self) -> Iterator[Row]:
        for measure in self.measures:
            yield (measure.name,), measure, ()


class MeasuresQuery(AnsweredQuery[MeasuresResult], frozen=True, kw_only=True):
    """Association measures of two or more attributes, each with its bounds."""

    attributes: Associated
    present: Presence = msgspec.field(default_factory=dict)
    measures: MeasureNames | None = None
