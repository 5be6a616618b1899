"""Levels, changes and trends over the waves of a series."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar

import msgspec
from msgspec import Meta

from ..results import Result
from ..results.caveats import Sentences, listed
from ..results.labels import Labels
from ..results.quantities import by_name, difference
from ..results.wording import number
from .base import GROUPS, AnsweredQuery, AttributeName, AttributeNames, CategoryName, Items


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
        Annotated[AttributeNames, Meta(description="Questions to include; by default all.")] | None
    ) = None
    base: (
        Annotated[
            int,
            Meta(
                ge=1,
                description="Number of the wave that others are compared with; by default each"
                " wave is compared with the one before.",
            ),
        ]
        | None
    ) = None
    groups: (
        Annotated[
            AttributeName,
            Meta(
                extra=GROUPS,
                description="Attribute whose categories are the groups. All results then compare a"
                " group with the reference group.",
            ),
        ]
        | None
    ) = None
    reference: (
        Annotated[
            CategoryName,
            Meta(description="Group that others are compared with; by default the first."),
        ]
        | None
    ) = None
    scores: Annotated[
        Items,
        Meta(
            description="Scores of the answers for means, in their order: attribute=ranks for 1,"
            " 2, …, or increasing numbers, such as attribute=20,45,70. By default, the score of a"
            " number is the midpoint of its bin, the score of a numeric category is its value,"
            " and other ordered answers have their ranks.",
            extra={"also": ("ranks",), "written": "attribute=ranks"},
        ),
    ] = msgspec.field(default_factory=dict)

    @property
    def each_alone(self) -> bool:
        return self.groups is None


def _waves(numbers: Sequence[int]) -> str:
    """Name waves by their numbers.

    >>> _waves([2]), _waves([1, 3])
    ('wave 2', 'waves 1 and 3')
    """
    return f"wave{'s' * (len(numbers) > 1)} {listed([*map(str, numbers)])}"


def _not_comparable(
    labels: Labels, question: str, waves: Sequence[int], reason: str, compared: bool
) -> str:
    """Name a question that differs in some waves, and say whether it is compared."""
    begin = "Compared nevertheless" if compared else "Not compared"
    return f"{begin}: {labels.quoted(question)} in {_waves(waves)} ({reason})."


def _compared(_: Labels, waves: Sequence[Mapping[str, Any]]) -> str:
    each = (
        f"wave {wave['wave']} ({wave['survey']}) {number(wave['reports'], 0)} reports,"
        f" γ = {wave['gamma']}"
        for wave in waves
    )
    return f"Compared: {'; '.join(each)}."


def _changes(_: Labels, target: str) -> str:
    whom = {
        "population": "Changes refer to the sampled population.",
        "respondents": "Changes refer to exactly the respondents of each wave.",
    }
    return (
        f"{whom[target]} Waves are treated as independent samples: if the same people answered"
        " again, intervals are slightly too wide. A change that is not significant may still have"
        " happened."
    )


def _unlinked(_: Labels, invited: Sequence[int]) -> str:
    text = "Reports are not linked between waves, so individual changes cannot be estimated"
    if not invited:
        return f"{text}."
    return (
        f"{text}. {_waves(invited).capitalize()} used invitations: a list of who received which"
        " code shows who took part in which wave, but not their reports."
    )


#: Quantities of this analysis.
QUANTITIES = by_name(
    difference("share_difference", "difference"),
    difference("share_change", "change"),
    difference("share_trend", "trend per wave"),
    difference("mean_change", "change", "number"),
    difference("mean_trend", "trend per wave", "number"),
)

#: Sentences of the caveats of this analysis.
CAVEATS: Sentences = {
    "no series": lambda _: "This survey belongs to no series.",
    "wave left out": lambda _, wave, survey, reason: (
        f"Wave {wave} ({survey}) is left out: {reason}."
    ),
    "not comparable": _not_comparable,
    "compared waves": _compared,
    "changes": _changes,
    "unlinked": _unlinked,
    "trends": lambda _: (
        "A trend is the slope of a straight line per wave, in points or in the unit of a mean; each"
        " wave is weighted by its precision."
    ),
}
