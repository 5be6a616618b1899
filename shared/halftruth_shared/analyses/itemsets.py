"""Frequent itemsets."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from ..results import Result
from ..results.caveats import Sentences
from ..results.wording import percent
from .base import QUESTION, Decision, Interactions, MethodOf, MiningQuery, Modelled, QuestionName

#: Orders of itemsets.
ItemsetOrder = Literal["support", "departure"]


class ItemsetsQuery(MiningQuery[Result[Any]], frozen=True, kw_only=True):
    """Itemsets whose support reaches a threshold, each with its bounds and a decision.

    Itemsets are sorted by length, and by decreasing support within a length; or those of two
    answers or more by the test of their departure from independence, the support minus the product
    of the shares of their answers, from the largest statistic of either sign. The false discovery
    rate of the decisions and the false coverage rate of the intervals are 1 − confidence over all
    candidates of the examined lengths, even if the query selects some of them. An itemset is
    *frequent* if its adjusted p-value is at most 1 − confidence. Best guesses have neither error
    nor interval, and are undecided.
    """

    estimate: MethodOf = "moment"
    interactions: Interactions = msgspec.field(default_factory=list)
    modelled: Modelled | None = None
    length: Annotated[int, Meta(ge=1, description="Only itemsets of this length.")] | None = None
    attribute: (
        Annotated[
            QuestionName,
            Meta(
                extra=QUESTION,
                description="Only itemsets with this attribute, or with options of this question.",
            ),
        ]
        | None
    ) = None
    decision: Annotated[Decision, Meta(description="Only itemsets with this decision.")] | None = (
        None
    )
    sort: Annotated[
        ItemsetOrder,
        Meta(
            description="Order of the itemsets: by length and support, or those of two answers or"
            " more by how clearly they depart from independence."
        ),
    ] = "support"


#: Sentences of the caveats of this analysis.
CAVEATS: Sentences = {
    "best guesses": lambda _: "Supports are best guesses without intervals.",
    "frequent": lambda _, rate: (
        "Frequent: significantly above the threshold (adjusted p-value up to"
        f" {percent(rate)}, of two-sided tests). Others are undecided."
    ),
    "departures of itemsets": lambda _, rate: (
        "The departure is the support minus the product of the shares of the answers, in points."
        " Itemsets are in the order of its test, from the largest statistic of either sign; that of"
        " the first is too large on average, since it was chosen for it. The p-values are adjusted"
        " for all possible itemsets of two answers or more (false discovery rate"
        f" {percent(rate)}), and the intervals for the selection."
    ),
}
