"""A single association rule."""

from typing import Annotated

from msgspec import Meta

from .base import EstimateQuery, Items, MeasureNames
from .rules import RuleEstimate, RuleRows


class RuleResult(RuleRows, frozen=True, kw_only=True):
    """Association rule with its bounds and measures."""

    query: "RuleQuery"
    rule: RuleEstimate

    def named_measures(self) -> list[str]:
        return [measure.name for measure in self.rule.measures]

    def listed_rules(self) -> list[RuleEstimate]:
        return [self.rule]


class RuleQuery(EstimateQuery[RuleResult], frozen=True, kw_only=True):
    """A single association rule, whatever its support."""

    antecedent: Annotated[
        Items,
        Meta(min_length=1, description="Items on the left of the rule, as attribute=category."),
    ]
    consequent: Annotated[
        Items,
        Meta(
            min_length=1,
            description="Items on the right of the rule, of other attributes, as"
            " attribute=category.",
        ),
    ]
    measures: MeasureNames | None = None
