"""Association rules."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from halftruth_shared.analyses.wording import items as words

from ..protocol.base import Message
from .base import (
    Columns,
    FiellerSet,
    Interval,
    Items,
    MeasureEstimate,
    MeasureName,
    MiningQuery,
    Result,
    Usability,
    ends,
    numbers,
    texts,
)


class RuleEstimate(Message, frozen=True, kw_only=True):
    """Association rule with the estimates of its support and its confidence.

    `verdict` says in words whether they are precise enough to be used. `confidence` is the plain
    ratio, and `confidence_set` is Fieller's set for it, which may be everything. `confidence_mean`
    is its expected value to second order, so the ratio and its estimated bias together, and the
    centre of the wider `confidence_chebyshev` (Guo Results 2, 3). These are null unless the
    antecedent is significantly above zero. For measures, a side is present where all of its items
    hold.
    """

    antecedent: Items
    consequent: Items
    usability: Usability
    verdict: str
    support: float
    support_standard_error: float | None
    support_interval: Interval | None
    confidence: float
    confidence_set: FiellerSet | None
    confidence_mean: float | None
    confidence_standard_error: float | None
    confidence_chebyshev: Interval | None
    measures: list[MeasureEstimate] = msgspec.field(default_factory=list)


class RulesResult(Result, frozen=True, kw_only=True):
    """Rules, the most usable first, then those with bounds, then in the requested order.

    `left_out` counts the rules left out since their support is not significantly above zero.
    """

    query: "RulesQuery"
    left_out: int
    rules: list[RuleEstimate]

    @property
    def columns(self) -> Columns:
        return rule_columns(self.query.measures)

    def rows(self) -> Iterator[tuple[Any, ...]]:
        yield from map(rule_row, self.rules)


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
        bool, Meta(description="Whether to give rules whose support cannot be told from zero, too.")
    ] = False


def rule_columns(measures: Sequence[str]) -> Columns:
    """Columns of a rule with its bounds, then four for each measure."""
    parts = ("", "_standard_error", "_lower", "_upper")
    return [
        *texts("antecedent", "consequent", "usability"),
        *numbers("support", "support_standard_error", "support_lower", "support_upper"),
        *numbers("confidence"),
        ("confidence_set", str),
        *numbers("confidence_lower", "confidence_upper"),
        *numbers("confidence_mean", "confidence_standard_error"),
        *numbers("chebyshev_lower", "chebyshev_upper"),
        *numbers(*(f"{name}{part}" for name in measures for part in parts)),
    ]


def rule_row(rule: RuleEstimate) -> tuple[Any, ...]:
    """Return the row of a rule in the columns of `rule_columns`."""
    ratios = rule.confidence_set
    row = [
        words(rule.antecedent),
        words(rule.consequent),
        rule.usability,
        rule.support,
        rule.support_standard_error,
        *ends(rule.support_interval),
        rule.confidence,
        *((ratios.kind, ratios.lower, ratios.upper) if ratios else (None, None, None)),
        rule.confidence_mean,
        rule.confidence_standard_error,
        *ends(rule.confidence_chebyshev),
    ]
    for measure in rule.measures:
        row += [measure.value, measure.standard_error, *ends(measure.interval)]
    return tuple(row)
