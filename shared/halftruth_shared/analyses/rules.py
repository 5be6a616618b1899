"""Association rules."""

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from ..results import Result
from ..results.caveats import Sentences
from ..results.wording import number
from .base import (
    Interactions,
    Items,
    MeasureName,
    MiningQuery,
    MinSupport,
    Modelled,
    SourceOf,
)


class RulesQuery(MiningQuery[Result[Any]], frozen=True, kw_only=True):
    """Association rules between the itemsets that the same parameters select, or one rule by name.

    A query with antecedent and consequent selects that rule alone, whatever its support, confidence
    and lift. Rules are sorted by usability, then rules with bounds before others, then in the
    requested order. The intervals of all selected rules together have a false coverage rate of
    1 − confidence. The reliability of a *confidence* takes that of the support into account. For
    measures, a side of a rule is present if all of its items are.
    """

    antecedent: Annotated[
        Items, Meta(description="Items of the left side of a single rule, as attribute=category.")
    ] = msgspec.field(default_factory=dict)
    consequent: Annotated[
        Items,
        Meta(
            description="Items of the right side of a single rule, of other attributes, as"
            " attribute=category."
        ),
    ] = msgspec.field(default_factory=dict)
    min_support: MinSupport = 0.05
    min_confidence: Annotated[
        float, Meta(ge=0, le=1, examples=[0.8], description="Smallest estimated confidence.")
    ] = 0.5
    min_lift: (
        Annotated[
            float,
            Meta(ge=0, examples=[1.2], description="Smallest estimated lift; by default any."),
        ]
        | None
    ) = None
    measures: (
        Annotated[
            list[MeasureName],
            Meta(
                description="Measures to compute for each rule, by name; by default none, and for"
                " a single rule all.",
                extra_json_schema={"uniqueItems": True},
            ),
        ]
        | None
    ) = None
    sort: Annotated[
        str,
        Meta(
            description="Measure to sort by, largest first.",
            extra={"of": "measure", "also": ("confidence", "support")},
        ),
    ] = "confidence"
    limit: (
        Annotated[int, Meta(ge=1, description="Largest number of rules; by default all.")] | None
    ) = None
    include_uncertain: Annotated[
        bool,
        Meta(description="Also give rules whose support is not significantly above zero."),
    ] = False
    estimate: SourceOf = "moment"
    interactions: Interactions = msgspec.field(default_factory=list)
    modelled: Modelled | None = None

    @property
    def names_rule(self) -> bool:
        """True if the query names a single rule."""
        return bool(self.antecedent or self.consequent)


#: Sentences of the caveats of this analysis.
CAVEATS: Sentences = {
    "near zero": lambda _: "The support of the rule is not significantly above zero.",
    "sides": lambda _: "For measures, a side of a rule is present if all of its items hold.",
    "left out": lambda _, count: (
        f"Left out: {number(count, 0)} rule{'' if count == 1 else 's'} whose support is not"
        " significantly above zero; include_uncertain adds them."
    ),
}
