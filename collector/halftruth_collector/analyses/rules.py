"""Association rules."""

import math
from collections.abc import Sequence

from halftruth_shared.analyses.base import Source
from halftruth_shared.analyses.rules import RuleEstimate, RulesQuery, RulesResult
from halftruth_shared.analyses.wording import (
    estimate_in_words,
    interval_in_words,
    items,
    number,
    number_in_words,
    quoted_items,
)

from . import sentences
from .base import Analysis, Counted, Grid, Rows, asked


def compute(counted: Counted, query: RulesQuery) -> RulesResult:
    """Rules as ``Estimator.rules`` gives them."""
    parameters = asked(query)
    parameters.pop("estimate")
    mined = counted.estimator.rules(**parameters)
    return RulesResult(**counted.origin(), query=query, left_out=mined.left_out, rules=list(mined))


def grid(result: RulesResult) -> Grid:
    """Table of rules with their bounds and measures."""
    return Grid(
        [
            *header(result.query.confidence, result.query.estimate),
            *map(sentences.named, result.query.measures),
        ],
        Rows(lambda rule: [*row(rule), *map(estimate_in_words, rule.measures)], result.rules),
    )


def header(confidence: float, estimate: Source = "moment") -> list[str]:
    """Header of the rows by :func:`row`."""
    interval = sentences.level(confidence)
    return [
        "antecedent",
        "consequent",
        "verdict",
        f"support ({interval})",
        f"confidence ({interval}{', Fieller' * (estimate == 'moment')})",
    ]


def row(rule: RuleEstimate) -> list[object]:
    """Row of a rule, without its measures."""
    return [
        items(rule.antecedent),
        items(rule.consequent),
        rule.reliability,
        *(
            f"{number_in_words(share, as_share=True)} ({interval_in_words(share, as_share=True)})"
            for share in (rule.support, rule)
        ),
    ]


def headline(result: RulesResult) -> str:
    """Number of rules, and the one whose confidence is surely the greatest of the best known."""
    if not result.rules:
        return "No matching rules."
    said = f"{number(len(result.rules), 0)} rule{'' if len(result.rules) == 1 else 's'}"
    for grade in ("usable", "barely usable"):
        known = [rule for rule in result.rules if rule.reliability == grade]
        if known:
            best = max(known, key=lambda rule: rule.ends[0] if rule.ends else -math.inf)
            return f"{said}, {number(len(known), 0)} of them {grade}; the surest: {in_words(best)}."
    return f"{said}, of which none is usable."


def in_words(rule: RuleEstimate) -> str:
    """A rule with its confidence."""
    sides = f"{quoted_items(rule.antecedent)} → {quoted_items(rule.consequent)}"
    return f"{sides}, {sentences.of_share(rule)}"


def warnings(result: RulesResult) -> list[str]:
    """Warn of rules that are too uncertain, or were left out as such."""
    lines = []
    for word in ("not usable", "barely usable"):
        count = sum(rule.reliability == word for rule in result.rules)
        if count:
            lines.append(f"{word.capitalize()}: {count} of {len(result.rules)} rules shown.")
    if result.left_out:
        lines.append(
            f"Left out: {number(result.left_out, 0)} rules whose support is not significantly"
            " above zero; include_uncertain gives them, too."
        )
    return lines


def interpretation(result: RulesResult) -> list[str]:
    """Describe presence in measures."""
    names = result.query.measures
    return [*presence(names), *sentences.no_tests(names)]


def presence(measures: Sequence[str]) -> list[str]:
    """Describe presence in measures of rules, if there are any."""
    if not measures:
        return []
    return ["Measures take each side of a rule as present where all of its items hold."]


ANALYSIS = Analysis(
    query=RulesQuery,
    title="Rules",
    compute=compute,
    start=lambda _: RulesQuery(min_support=0.05, min_confidence=0.5, measures=["lift"], limit=100),
    grid=grid,
    headline=headline,
    warnings=warnings,
    interpretation=interpretation,
    place="Explore",
    order=30,
)
