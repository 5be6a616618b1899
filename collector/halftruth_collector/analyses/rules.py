"""Association rules."""

from collections.abc import Iterator, Mapping
from typing import Any

from halftruth_shared import Survey
from halftruth_shared.analyses.rules import RulesQuery
from halftruth_shared.results import (
    Block,
    Caveat,
    Labels,
    Result,
    Row,
    Selection,
    Show,
    note,
    warning,
)
from halftruth_shared.results.claims import Claim, Test
from halftruth_shared.results.layout import in_words
from halftruth_shared.results.wording import number

from ..estimation.rules import Rules, estimate_rule, mine_rules
from .base import Analysis, AnalysisContext
from .deciding import AtLevel, lower_bound_in_words
from .itemsets import asked_sets, unexamined
from .measures import by_scale
from .work import check_lengths

#: Largest number of rules in a chart.
MAX_RULES = 40


def compute(counted: AnalysisContext, query: RulesQuery) -> Result[RulesQuery]:
    """Return the rules of a query, or the rule that it names."""
    if query.names_rule:
        rule = estimate_rule(counted.estimator, query)
        caveats = [*precision_of_rule(*rule.rows[:2]), *_of_measures(rule)]
        return counted.result(query, rule.keys, rule.estimates, caveats=caveats)
    mined = mine_rules(counted.estimator, query)
    caveats = [
        *unexamined(mined.unexamined, "rules", query),
        *asked_sets(counted.estimator.identified_sets, mined, "rules"),
    ]
    if len(mined) and not (mined.estimates.texts("set").codes >= 0).any():
        caveats.append(warning("precision", reliability="not usable"))
    if mined.left_out:
        caveats.append(warning("left out", count=mined.left_out))
    rate = 1 - query.confidence
    claims = []
    if mined.surest is not None:
        rows, bound = [mined.surest], mined.at_least
        claims.append(Claim(kind="at least", rows=rows, rate=rate, bound=bound))
    return counted.result(
        query,
        mined.keys,
        mined.estimates,
        selection=Selection(candidates=mined.candidates, listed=mined.listed, rate=rate),
        caveats=[*caveats, *_of_measures(mined)],
        claims=claims,
    )


def precision_of_rule(confidence: Row, support: Row) -> Iterator[Caveat]:
    """Yield caveats on the joint precision of the two shares of a rule."""
    values: dict[str, Any] = {"reliability": confidence.reliability}
    if confidence.set != "interval":
        values |= {"unbounded": True, "what": "the confidence"}
    elif confidence.ends and support.ends:
        # Reliability does not depend on how near to 0 or 1 the interval is cut.
        width = max(upper - lower for lower, upper in (confidence.ends, support.ends)) / 2
        values |= {"margin": width, "what": "confidence and support"}
    usable = confidence.reliability == "usable"
    yield (note if usable else warning)("precision", **values)
    if support.ends and support.ends[0] <= 0:
        yield warning("near zero")


def _of_measures(rules: Rules) -> Iterator[Caveat]:
    """Yield notes on the measures of rules."""
    if rules.measures:
        yield note("sides")
    if {"chi_squared", "g_squared"} & set(rules.measures):
        yield note("association estimates")


def decide(result: Result[RulesQuery], _: AtLevel) -> tuple[list[Test], list[Claim]]:
    """Claim the rule that the query names, or the number of rules and the largest lower bound."""
    chosen = result.selection
    if chosen is None:
        return [], [Claim(kind="estimate", rows=[0])]
    rules = result.places("confidence")
    if not len(rules):
        return [], [Claim(kind="none found", count=chosen.candidates)]
    usable = rules[result.estimates.texts("reliability").equals("usable")[rules]].tolist()
    # The largest lower bound needs more than the interval of the row.
    return [], [Claim(kind="counted", rows=usable, count=chosen.listed), *result.claims]


def state(result: Result[RulesQuery], claim: Claim, labels: Labels) -> str:
    """State a rule, the number of rules, or the lower bound of a confidence."""
    if claim.kind == "none found":
        return "No matching rules."
    if claim.kind == "counted":
        usable = number(len(claim.rows), 0) if claim.rows else "none"
        rules = f"{number(claim.count or 0, 0)} rule{'' if claim.count == 1 else 's'}"
        listed = len(result.places("confidence"))
        if listed < (claim.count or 0):
            return f"{rules}; of the first {number(listed, 0)}, {usable} are usable."
        return f"{rules}, {usable} of them usable."
    rule = result.rows[claim.rows[0]]
    if claim.kind == "estimate":
        return f"{_sides(rule.keys, labels)}, {in_words(rule)}."
    return (
        f"{_sides(rule.keys, labels)} has the largest lower bound of a confidence: at least"
        f" {lower_bound_in_words(claim)}."
    )


def _sides(keys: Mapping[str, Any], labels: Labels) -> str:
    return " → ".join(labels.quoted_items(keys[side]) for side in ("antecedent", "consequent"))


def layout(result: Result[RulesQuery], _: Labels) -> list[Block]:
    """Arrange a line for each rule; for a single rule, its shares, and its measures by scale."""
    quantities = result.estimates.texts("quantity").levels
    if result.query.names_rule:
        shares = [Show(quantity="confidence"), Show(quantity="support")]
        rule = Block(title="Rule", shows=shares, stacked=True, picture="dots")
        return [rule, *by_scale(result)]
    measures = [Show(quantity=name, parts=["value"], drawn=False) for name in quantities[2:]]
    shows = [Show(quantity="confidence"), Show(quantity="support", drawn=False), *measures]
    sides = ["antecedent", "consequent"]
    return [Block(title="Rules", lines=sides, shows=shows, picture="dots", most=MAX_RULES)]


def _check_work(survey: Survey, query: RulesQuery) -> None:
    if not query.names_rule:
        check_lengths(survey, query, rules=True)


ANALYSIS = Analysis(
    query=RulesQuery,
    title="Rules",
    compute=compute,
    start=lambda _: RulesQuery(measures=["lift"]),
    check_work=_check_work,
    layout=layout,
    decide=decide,
    state=state,
    options={"antecedent": "if", "consequent": "then"},
    place="Explore",
    order=30,
)
