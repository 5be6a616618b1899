"""Frequent itemsets."""

from collections.abc import Iterator
from typing import Annotated, Any

from msgspec import Meta

from halftruth_shared.analyses.wording import items as words

from ..protocol.base import Message
from .base import (
    AttributeName,
    Columns,
    Decision,
    Estimate,
    Interval,
    Items,
    MiningQuery,
    Result,
    Usability,
    ends,
    numbers,
    texts,
)


class Precision(Message, frozen=True, kw_only=True):
    """Precision of the itemsets of one length.

    `half_width` is the typical half-width of an interval, which is also the smallest support that
    is significantly above zero; null where undefined, and of best guesses. `verdict` says in words
    what it means.
    """

    length: int
    examined: int
    half_width: float | None
    usability: Usability
    verdict: str

    @property
    def usable(self) -> bool:
        """True if they are usable without reserve."""
        return self.usability == "usable"


class ItemsetEstimate(Message, frozen=True, kw_only=True):
    """Itemset with the estimate of its support.

    Standard error, interval and decision are those of the moment estimate. Best guesses have none:
    null, and undecided.
    """

    items: Items
    support: float
    standard_error: float | None
    interval: Interval | None
    decision: Decision
    usability: Usability


class ItemsetsResult(Result, frozen=True, kw_only=True):
    """Itemsets, shortest first and most frequent first within a length.

    `candidates` counts the itemsets that could have been examined, before any was ruled out.
    """

    query: "ItemsetsQuery"
    candidates: int
    precision: list[Precision]
    itemsets: list[ItemsetEstimate]

    @property
    def columns(self) -> Columns:
        return [
            ("itemset", str),
            ("length", int),
            *numbers("support", "standard_error", "lower", "upper"),
            *texts("decision", "usability"),
        ]

    def rows(self) -> Iterator[tuple[Any, ...]]:
        for itemset in self.itemsets:
            yield (
                words(itemset.items),
                len(itemset.items),
                itemset.support,
                itemset.standard_error,
                *ends(itemset.interval),
                itemset.decision,
                itemset.usability,
            )


class ItemsetsQuery(MiningQuery[ItemsetsResult], frozen=True, kw_only=True):
    """Itemsets whose support reaches a threshold, each with its bounds and a decision."""

    estimate: Estimate = "moment"
    length: Annotated[int, Meta(ge=1, description="Give only itemsets of this length.")] | None = (
        None
    )
    attribute: (
        Annotated[AttributeName, Meta(description="Give only itemsets with this attribute.")] | None
    ) = None
    decision: (
        Annotated[Decision, Meta(description="Give only itemsets that were decided like this.")]
        | None
    ) = None
