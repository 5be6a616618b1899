"""Association rules."""

import math

from halftruth_shared.analyses.base import Source
from halftruth_shared.analyses.estimate import Estimate
from halftruth_shared.analyses.rules import RuleEstimate, RulesQuery, RulesResult
from halftruth_shared.analyses.wording import (
    estimate_in_words,
    interval_in_words,
    items,
    number,
    number_in_words,
    quoted_items,
)

from . import sentences, verdicts
from .base import Analysis, Counted, Grid, Rows, asked


def compute(counted: Counted, query: RulesQuery) -> RulesResult:
    """Rules as ``Estimator.rules`` gives them, or one rule by ``Estimator.rule``."""
    parameters = asked(query)
    if query.names_rule:
        names = ("antecedent", "consequent", "confidence", "target", "measures")
        rule = counted.estimator.rule(**{name: parameters[name] for name in names})
        return RulesResult(**counted.origin(), query=query, left_out=0, rules=[rule])
    for name in ("estimate", "antecedent", "consequent"):
        parameters.pop(name)
    parameters["measures"] = query.measures or ()
    mined = counted.estimator.rules(**parameters)
    return RulesResult(**counted.origin(), query=query, left_out=mined.left_out, rules=list(mined))


def grid(result: RulesResult) -> Grid:
    """Table of rules with their bounds and measures; of a single rule one below the other."""
    columns = _header(result.query.confidence, result.query.estimate)
    if not result.query.names_rule:
        return Grid(
            [*columns, *map(sentences.named, result.query.measures or ())],
            Rows(lambda rule: [*_row(rule), *map(estimate_in_words, rule.measures)], result.rules),
        )
    [rule] = result.rules
    return Grid(
        ["", sentences.VALUE, sentences.level(result.query.confidence)],
        [
            *([name, value, ""] for name, value in zip(columns, _row(rule), strict=True)),
            [
                "Chebyshev interval of the confidence",
                "",
                interval_in_words(rule.mean or Estimate(), as_share=True),
            ],
            *sentences.measure_rows(rule.measures),
        ],
    )


def _header(confidence: float, estimate: Source = "moment") -> list[str]:
    """Header of the rows by :func:`_row`."""
    interval = sentences.level(confidence)
    return [
        "antecedent",
        "consequent",
        "verdict",
        f"support ({interval})",
        f"confidence ({interval}{', Fieller' * (estimate == 'moment')})",
    ]


def _row(rule: RuleEstimate) -> list[object]:
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
    if result.query.names_rule:
        return f"{_in_words(result.rules[0])}."
    if not result.rules:
        return "No matching rules."
    said = f"{number(len(result.rules), 0)} rule{'' if len(result.rules) == 1 else 's'}"
    for grade in ("usable", "barely usable"):
        known = [rule for rule in result.rules if rule.reliability == grade]
        if known:
            best = max(known, key=lambda rule: rule.ends[0] if rule.ends else -math.inf)
            return (
                f"{said}, {number(len(known), 0)} of them {grade}; the surest: {_in_words(best)}."
            )
    return f"{said}, of which none is usable."


def _in_words(rule: RuleEstimate) -> str:
    """A rule with its confidence."""
    sides = f"{quoted_items(rule.antecedent)} → {quoted_items(rule.consequent)}"
    return f"{sides}, {sentences.of_share(rule)}"


def warnings(result: RulesResult) -> list[str]:
    """Warn of rules that are too uncertain, or were left out as such."""
    if result.query.names_rule:
        [rule] = result.rules
        return [*_verdict(rule, usable=False), *sentences.uncertain_measures(rule.measures)]
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
    """Describe presence in measures, and the reliability of a single rule."""
    lines, names = [], result.query.measures or []
    if result.query.names_rule:
        [rule] = result.rules
        lines, names = _verdict(rule, usable=True), [each.name for each in rule.measures]
    if names:
        lines.append("Measures take each side of a rule as present where all of its items hold.")
    return [*lines, *sentences.no_tests(names)]


def _verdict(rule: RuleEstimate, *, usable: bool) -> list[str]:
    """The verdict on a rule if that is usable, or if it is not."""
    if (rule.reliability == "usable") != usable:
        return []
    return [f"The rule is {verdicts.on_rule(rule)}."]


ANALYSIS = Analysis(
    query=RulesQuery,
    title="Rules",
    compute=compute,
    start=lambda _: RulesQuery(measures=["lift"], limit=100),
    grid=grid,
    headline=headline,
    warnings=warnings,
    interpretation=interpretation,
    options={"antecedent": "if", "consequent": "then"},
    place="Explore",
    order=30,
)
