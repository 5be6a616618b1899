"""Levels, changes and trends over the waves of a series."""

from typing import Annotated, Any, ClassVar

import msgspec
from msgspec import Meta

from ..results import Result
from .base import AnsweredQuery, AttributeName, AttributeNames, CategoryName, Items


class WavesQuery(AnsweredQuery[Result[Any]], frozen=True, kw_only=True):
    """Change between the waves of a series, with levels and trends, of shares and of means.

    Questions with the same name and the same answers are compared. A *change* is relative to the
    previous wave, or to a chosen wave. A *trend* is the slope, per wave, of a straight line through
    the levels, weighted by their precision. The errors of both assume independent waves, and
    p-values are adjusted for all changes and trends of the result. With groups, levels are
    differences of each group from the reference.
    """

    of_series: ClassVar[bool] = True

    attributes: (
        Annotated[AttributeNames, Meta(description="Which questions; by default all.")] | None
    ) = None
    base: (
        Annotated[
            int,
            Meta(
                ge=1,
                description="Number of the wave that others are compared with; by default each with"
                " the wave before.",
            ),
        ]
        | None
    ) = None
    groups: (
        Annotated[
            AttributeName,
            Meta(
                description="The attribute whose categories are groups: then all is about the"
                " difference between a group and the reference."
            ),
        ]
        | None
    ) = None
    reference: (
        Annotated[
            CategoryName,
            Meta(description="The group that others are compared with; the first by default."),
        ]
        | None
    ) = None
    scores: Annotated[
        Items,
        Meta(
            description="What the answers count as in means, in their order: attribute=ranks for 1,"
            " 2, …, or numbers that grow, such as attribute=20,45,70. By default numbers count as"
            " the middle of their bin, and answers in an order as what they say, or as ranks.",
            extra={"also": ("ranks",), "written": "attribute=ranks"},
        ),
    ] = msgspec.field(default_factory=dict)
