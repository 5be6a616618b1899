"""Association rules."""

from collections.abc import Iterator
from typing import Annotated, ClassVar

import msgspec
from msgspec import Meta

from halftruth_shared.results.wording import items as words

from ..results.estimate import Columns, Estimate
from .base import (
    EstimatesResult,
    Interactions,
    Items,
    MeasureEstimate,
    MeasureName,
    MiningQuery,
    MinSupport,
    Modelled,
    Row,
    SourceOf,
)


class RuleEstimate(Estimate, frozen=True, kw_only=True):
    """Confidence of an association rule, with Fieller's set, and the rule's support.

    `reliability` is of both. For measures, a side is present where all of its items hold.
    """

    antecedent: Items
    consequent: Items
    support: Estimate
    measures: list[MeasureEstimate] = msgspec.field(default_factory=list)


class RulesResult(EstimatesResult, frozen=True, kw_only=True):
    """Rules, the most usable first, then those with bounds, then in the requested order.

    `left_out` counts the rules left out since their support is not significantly above zero. Of
    `candidates` possible rules `listed` fulfil the query; the intervals of these together have a
    false coverage rate of 1 − confidence. `surest` is the place of the rule with the largest lower
    bound, and `at_least` that bound, which holds for the best of all candidates; null without any.
    """

    query: "RulesQuery"
    left_out: int
    candidates: int = 1
    listed: int = 1
    surest: int | None = None
    at_least: float | None = None
    rules: list[RuleEstimate]

    KEYS: ClassVar = ("antecedent", "consequent")
    QUANTITY: ClassVar = "confidence"
    PANELS: ClassVar = 0

    @property
    def others(self) -> Columns:
        names = self.query.measures or []
        if self.query.names_rule and self.rules:
            names = [measure.name for measure in self.rules[0].measures]
        return [(name, Estimate) for name in ("support", *names)]

    def estimates(self) -> Iterator[Row]:
        for rule in self.rules:
            sides = (words(rule.antecedent), words(rule.consequent))
            yield sides, rule, (rule.support, *rule.measures)


class RulesQuery(MiningQuery[RulesResult], frozen=True, kw_only=True):
    """Association rules between the itemsets that the same parameters select, or one rule by name.

    With antecedent and consequent the answer is that rule alone, whatever its support, confidence
    and lift.
    """

    antecedent: Annotated[
        Items, Meta(description="Items on the left of a single rule, as attribute=category.")
    ] = msgspec.field(default_factory=dict)
    consequent: Annotated[
        Items,
        Meta(
            description="Items on the right of a single rule, of other attributes, as"
            " attribute=category."
        ),
    ] = msgspec.field(default_factory=dict)
    min_support: MinSupport = 0.05
    min_confidence: Annotated[
        float, Meta(ge=0, le=1, examples=[0.8], description="Least estimated confidence.")
    ] = 0.5
    min_lift: (
        Annotated[
            float, Meta(ge=0, examples=[1.2], description="Least estimated lift; by default any.")
        ]
        | None
    ) = None
    measures: (
        Annotated[
            list[MeasureName],
            Meta(
                description="Names of measures to compute of each rule; by default none, and of a"
                " single rule all.",
                extra_json_schema={"uniqueItems": True},
            ),
        ]
        | None
    ) = None
    sort: Annotated[
        str,
        Meta(
            description="What comes first when largest.",
            extra={"of": "measure", "also": ("confidence", "support")},
        ),
    ] = "confidence"
    limit: Annotated[int, Meta(ge=1, description="Most rules to give; by default all.")] | None = (
        None
    )
    include_uncertain: Annotated[
        bool,
        Meta(
            description="Whether to give rules whose support is not significantly above zero, too."
        ),
    ] = False
    estimate: SourceOf = "moment"
    interactions: Interactions = msgspec.field(default_factory=list)
    modelled: Modelled | None = None

    @property
    def names_rule(self) -> bool:
        """True if it asks for a single rule."""
        return bool(self.antecedent or self.consequent)
