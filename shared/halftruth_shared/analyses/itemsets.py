"""Frequent itemsets."""

from collections.abc import Iterator
from typing import Annotated, ClassVar

import msgspec
from msgspec import Meta

from halftruth_shared.results.wording import items as words

from ..protocol.base import Message
from ..results.estimate import Estimate, Reliability
from .base import (
    Decision,
    EstimatesResult,
    Interactions,
    Items,
    MethodOf,
    MiningQuery,
    Modelled,
    QuestionName,
    Row,
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
    reliability: Reliability
    verdict: str

    @property
    def usable(self) -> bool:
        """True if they are usable without reserve."""
        return self.reliability == "usable"


class ItemsetEstimate(Estimate, frozen=True, kw_only=True):
    """Support of an itemset, with its decision.

    Best guesses have neither error nor interval, and are undecided.
    """

    items: Items
    value: float
    decision: Decision


class ItemsetsResult(EstimatesResult, frozen=True, kw_only=True):
    """Itemsets, shortest first and most frequent first within a length.

    `candidates` counts the itemsets that could have been listed, and `listed` those whose estimate
    reaches the threshold. Decisions have a false discovery rate, and intervals a false coverage
    rate, of 1 − confidence for all of these together, whichever of them the query asks to see.
    """

    query: "ItemsetsQuery"
    candidates: int
    listed: int
    precision: list[Precision]
    itemsets: list[ItemsetEstimate]

    KEYS: ClassVar = ("itemset",)
    QUANTITY: ClassVar = "support"
    OTHERS: ClassVar = (("length", int), ("decision", str))

    def estimates(self) -> Iterator[Row]:
        for itemset in self.itemsets:
            yield (words(itemset.items),), itemset, (len(itemset.items), itemset.decision)


class ItemsetsQuery(MiningQuery[ItemsetsResult], frozen=True, kw_only=True):
    """Itemsets whose support reaches a threshold, each with its bounds and a decision."""

    estimate: MethodOf = "moment"
    interactions: Interactions = msgspec.field(default_factory=list)
    modelled: Modelled | None = None
    length: Annotated[int, Meta(ge=1, description="Give only itemsets of this length.")] | None = (
        None
    )
    attribute: (
        Annotated[
            QuestionName,
            Meta(
                description="Give only itemsets with this attribute, or with options of this"
                " question."
            ),
        ]
        | None
    ) = None
    decision: (
        Annotated[Decision, Meta(description="Give only itemsets that were decided like this.")]
        | None
    ) = None
