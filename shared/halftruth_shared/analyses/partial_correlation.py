"""Partial correlation."""

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
    Presence,
    Row,
)
from .randomized import RandomizedMeasure


class PartialResult(EstimatesResult, frozen=True, kw_only=True):
    """Partial correlation of two attributes: reconstructed, and of the reports themselves.

    `randomized` is null if a report is no record, and for a group, whose members are known only by
    their true answers.
    """

    query: "PartialQuery"
    present: Items
    reconstructed: MeasureEstimate
    randomized: RandomizedMeasure | None

    KEYS: ClassVar = ("of",)

    def estimates(self) -> Iterator[Row]:
        yield ("answers",), self.reconstructed, ()
        if self.randomized is not None:
            yield ("reports",), self.randomized, ()


class PartialQuery(AnsweredQuery[PartialResult], frozen=True, kw_only=True):
    """Correlation of two attributes given others, of the answers and of the reports."""

    attributes: Annotated[
        list[AttributeName],
        Meta(
            min_length=2,
            max_length=2,
            description="The two attributes.",
            extra_json_schema={"uniqueItems": True},
        ),
    ]
    given: Annotated[
        list[AttributeName],
        Meta(
            min_length=1,
            description="Attributes that are held constant, one or more.",
            extra_json_schema={"uniqueItems": True},
        ),
    ]
    present: Presence = msgspec.field(default_factory=dict)
