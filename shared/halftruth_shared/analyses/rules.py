"""Association rules."""

from collections.abc import Iterator
from typing import Annotated, ClassVar

import msgspec
from msgspec import Meta

from halftruth_shared.analyses.wording import items as words

from .base import (
    EstimatesResult,
    Interactions,
    Items,
    MeasureEstimate,
    MeasureName,
    MiningQuery,
    Modelled,
    Row,
    SourceOf,
)
from .estimate import Columns, Estimate


class RuleEstimate(Estimate, frozen=True, kw_only=True):
    """Confidence of an association rule, with Fieller's set, and the rule's support.

    `reliability` is of both. `mean` is the expected value of the confidence to
    second order, so the ratio and its estimated bias together, with the wider interval of Chebyshev
    around it (Guo Results 2, 3); null unless the antecedent is significantly above zero. For
    measures, a side is present where all of its items hold.
    """

    antecedent: Items
    consequent: Items
    support: Estimate
    mean: Estimate | None
    measures: list[MeasureEstimate] = msgspec.field(default_factory=list)


class RuleRows(EstimatesResult, frozen=True, kw_only=True):
    """Result whose rows are rules, each with its measures."""

    KEYS: ClassVar = ("antecedent", "consequent")
    QUANTITY: ClassVar = "confidence"
    PANELS: ClassVar = 0

    def named_measures(self) -> list[str]:
        """Names of the measures of every rule."""
        raise NotImplementedError

    def listed_rules(self) -> list[RuleEstimate]:
        """The rules."""
        raise NotImplementedError

    @property
    def others(self) -> Columns:
        names = ("support", "confidence_mean", *self.named_measures())
        return [(name, Estimate) for name in names]

    def estimates(self) -> Iterator[Row]:
        for rule in self.listed_rules():
            sides = (words(rule.antecedent), words(rule.consequent))
            yield sides, rule, (rule.support, rule.mean, *rule.measures)


class RulesResult(RuleRows, frozen=True, kw_only=True):
    """Rules, the most usable first, then those with bounds, then in the requested order.

    `left_out` counts the rules left out since their support is not significantly above zero.
    """

    query: "RulesQuery"
    left_out: int
    rules: list[RuleEstimate]

    def named_measures(self) -> list[str]:
        return self.query.measures

    def listed_rules(self) -> list[RuleEstimate]:
        return self.rules


class RulesQuery(MiningQuery[RulesResult], frozen=True, kw_only=True):
    """Association rules between the itemsets that the same parameters select."""

    min_confidence: Annotated[
        float, Meta(ge=0, le=1, examples=[0.8], description="Least estimated confidence.")
    ]
    min_lift: (
        Annotated[
            float, Meta(ge=0, examples=[1.2], description="Least estimated lift; by default any.")
        ]
        | None
    ) = None
    measures: Annotated[
        list[MeasureName],
        Meta(
            description="Names of measures to compute of each rule; by default none.",
            extra_json_schema={"uniqueItems": True},
        ),
    ] = msgspec.field(default_factory=list)
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
