"""A single association rule."""

from collections.abc import Iterator
from typing import Annotated, Any

from msgspec import Meta

from .base import Columns, EstimateQuery, Items, MeasureNames, Result
from .rules import RuleEstimate, rule_columns, rule_row


class RuleResult(Result, frozen=True, kw_only=True):
    """Association rule with its bounds and measures."""

    query: "RuleQuery"
    rule: RuleEstimate

    @property
    def columns(self) -> Columns:
        return rule_columns([measure.name for measure in self.rule.measures])

    def rows(self) -> Iterator[tuple[Any, ...]]:
        yield rule_row(self.rule)


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
