"""Association rules."""

from halftruth_shared import Survey
from halftruth_shared.analyses.base import Source
from halftruth_shared.analyses.rules import RuleEstimate, RulesQuery, RulesResult
from halftruth_shared.results.claims import Claim, Test
from halftruth_shared.results.wording import (
    estimate_in_words,
    interval_in_words,
    items,
    number,
    number_in_words,
    quoted_items,
)

from . import sentences, verdicts
from .base import Analysis, Counted, Grid, Rows, asked
from .work import affordable_length, check_lengths


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
    return RulesResult(
        **counted.origin(),
        query=query,
        left_out=mined.left_out,
        candidates=mined.candidates,
        listed=mined.listed,
        surest=mined.surest,
        at_least=mined.at_least,
        rules=list(mined),
    )


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


def decide(result: RulesResult) -> tuple[list[Test], list[Claim]]:
    """The rule that was asked for by name; or how many there are, and the largest lower bound."""
    if result.query.names_rule:
        return [], [Claim(kind="estimate", rows=[0])]
    if not result.rules:
        return [], [Claim(kind="none found", count=result.candidates)]
    usable = [i for i, rule in enumerate(result.rules) if rule.reliability == "usable"]
    claims = [Claim(kind="counted", rows=usable, count=result.listed)]
    if result.surest is not None and result.at_least is not None:
        rate = 1 - result.query.confidence
        claims.append(
            Claim(kind="at least", rows=[result.surest], rate=rate, bound=result.at_least)
        )
    return [], claims


def state(result: RulesResult, claim: Claim) -> str:
    """State a rule, the number of rules, or the lower bound of a confidence."""
    if claim.kind == "none found":
        return "No matching rules."
    if claim.kind == "counted":
        usable = len(claim.rows)
        return (
            f"{number(claim.count or 0, 0)} rule{'' if claim.count == 1 else 's'},"
            f" {number(usable, 0) if usable else 'none'} of them usable."
        )
    rule = result.rules[claim.rows[0]]
    if claim.kind == "estimate":
        return f"{_in_words(rule)}."
    return (
        f"The largest lower bound of a confidence: {_sides(rule)}, at least"
        f" {sentences.lower_bound(claim)}."
    )


def _in_words(rule: RuleEstimate) -> str:
    """A rule with its confidence."""
    return f"{_sides(rule)}, {sentences.of_share(rule)}"


def _sides(rule: RuleEstimate) -> str:
    return f"{quoted_items(rule.antecedent)} → {quoted_items(rule.consequent)}"


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
    else:
        lines.append(sentences.selected(result, "rules"))
    if names:
        lines.append("Measures take each side of a rule as present where all of its items hold.")
    return [*lines, *sentences.no_tests(names)]


def _verdict(rule: RuleEstimate, *, usable: bool) -> list[str]:
    """The verdict on a rule if that is usable, or if it is not."""
    if (rule.reliability == "usable") != usable:
        return []
    return [f"The rule is {verdicts.on_rule(rule)}."]


def _check_work(survey: Survey, query: RulesQuery) -> None:
    if not query.names_rule:
        check_lengths(survey, query, rules=True)


ANALYSIS = Analysis(
    query=RulesQuery,
    title="Rules",
    compute=compute,
    start=lambda survey: RulesQuery(
        measures=["lift"], limit=100, max_length=affordable_length(survey, 0.05, rules=True)
    ),
    check_work=_check_work,
    grid=grid,
    decide=decide,
    state=state,
    warnings=warnings,
    interpretation=interpretation,
    options={"antecedent": "if", "consequent": "then"},
    place="Explore",
    order=30,
)
