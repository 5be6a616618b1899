"""Frequent itemsets."""

import math
from dataclasses import replace
from typing import get_args

from halftruth_shared.analyses.base import Decision
from halftruth_shared.analyses.itemsets import ItemsetEstimate, ItemsetsQuery, ItemsetsResult
from halftruth_shared.results.charts import Axis, EstimateChart, Panel, Reference
from halftruth_shared.results.claims import Claim, Test
from halftruth_shared.results.wording import items, number, percent, quoted_items

from ..estimation.selection import listed_alpha
from . import sentences, verdicts
from .base import Analysis, Counted, asked
from .shares import end_at
from .work import affordable_length, check_lengths

#: Most itemsets in a chart.
MAX_ITEMSETS = 40

#: What is asked of the answer, and not of the estimator.
_SHOWN = ("length", "attribute", "decision")


def compute(counted: Counted, query: ItemsetsQuery) -> ItemsetsResult:
    """Itemsets as ``Estimator.itemsets`` gives them, or some of them."""
    parameters = asked(query)
    length, attribute, decision = (parameters.pop(name) for name in _SHOWN)
    schema, named = counted.estimator.schema, None
    if attribute is not None:
        named = {each.name for each in schema.attributes_of(attribute, "attribute")}
    mined = counted.estimator.itemsets(**parameters)
    return ItemsetsResult(
        **counted.origin(),
        query=query,
        candidates=mined.candidates,
        listed=len(mined),
        precision=[verdicts.on_length(each, query.min_support) for each in mined.precision],
        itemsets=[
            itemset
            for itemset in mined
            if length in (None, len(itemset.items))
            and (named is None or not named.isdisjoint(itemset.items))
            and decision in (None, itemset.decision)
        ],
    )


def chart(result: ItemsetsResult) -> EstimateChart:
    """Supports of itemsets against the threshold, largest first.

    Where some itemsets are usable the others are left out; and of more than `MAX_ITEMSETS` those
    are shown that are the most standard errors above the threshold. The largest estimates of many
    would be mostly noise.
    """
    query = result.query
    usable = [itemset for itemset in result.itemsets if itemset.reliability != "not usable"]
    clearest = sorted(
        usable or result.itemsets, key=lambda itemset: -_clearness(itemset, query.min_support)
    )[:MAX_ITEMSETS]
    rows = tuple(
        replace(sentences.drawn(items(itemset.items), itemset), category=itemset.decision)
        for itemset in sorted(clearest, key=lambda itemset: -itemset.value)
    )
    threshold = percent(query.min_support)
    lengths = {len(itemset.items) for itemset in clearest}
    return EstimateChart(
        title=sentences.title(result, "Itemsets"),
        notes=(
            *sentences.notes(result, rows),
            *sentences.estimated(query.estimate),
            *sentences.negative(rows),
            _decided(result) if rows else f"No itemset was found for a support of {threshold}.",
            *sentences.left_out(
                len(rows),
                len(result.itemsets),
                "itemsets that are the most standard errors above the threshold"
                + (", among the usable ones" if usable else ""),
            ),
            *(
                f"Itemsets of length {precision.length}: {precision.verdict}."
                for precision in result.precision
                if precision.length in lengths and not precision.usable
            ),
        ),
        panels=(
            Panel(
                Axis("support", shares=True),
                rows,
                reference=Reference(query.min_support, f"min. support {threshold}"),
            ),
        ),
        categories=get_args(Decision),
    )


def decide(result: ItemsetsResult) -> tuple[list[Test], list[Claim]]:
    """The frequent itemsets, and the largest lower bound of a longer one above the threshold."""
    every = len(result.itemsets)
    if not every:
        return [], [Claim(kind="none found", count=result.candidates)]
    if result.query.estimate == "likelihood":
        return [], [Claim(kind="untested", count=every)]
    frequent = [i for i, each in enumerate(result.itemsets) if each.decision == "frequent"]
    rate = (1 - result.query.confidence) / 2
    claims = [Claim(kind="frequent", rows=frequent, rate=rate, by_rate=True, count=every)]
    least, place = max(
        (
            (_least(result, each), -i)
            for i, each in enumerate(result.itemsets)
            if len(each.items) > 1
        ),
        default=(-math.inf, 0),
    )
    if least >= result.query.min_support:
        claims.append(
            Claim(kind="at least", rows=[-place], rate=1 - result.query.confidence, bound=least)
        )
    return [], claims


def state(result: ItemsetsResult, claim: Claim) -> str:
    """State how many itemsets are frequent, or the lower bound of one."""
    threshold = percent(result.query.min_support)
    if claim.kind == "none found":
        return f"No itemset has an estimated support of {threshold} or more."
    count = number(claim.count or 0, 0)
    if claim.kind == "untested":
        return (
            f"{count} itemsets have a best guess of {threshold} or more. Best guesses have no"
            " intervals, so none of these is significant."
        )
    if claim.kind == "frequent":
        return (
            f"{number(len(claim.rows), 0)} of {count} itemsets are significantly frequent"
            f" ({threshold} or more; {_rate(result)})."
        )
    surest = quoted_items(result.itemsets[claim.rows[0]].items)
    return (
        f"Of two answers or more, {surest} has the largest lower bound: at least"
        f" {sentences.lower_bound(claim)}."
    )


def _least(result: ItemsetsResult, itemset: ItemsetEstimate) -> float:
    """Lower bound of a support at a level that holds for the best of all candidates."""
    alpha = listed_alpha(result.query.confidence, 1, result.candidates)
    return end_at(alpha, itemset, result.query.estimate)[0]


def _rate(result: ItemsetsResult) -> str:
    return f"false discovery rate {percent((1 - result.query.confidence) / 2, 1)}"


def warnings(result: ItemsetsResult) -> list[str]:
    """For which lengths nothing can be concluded."""
    return [f"Length {p.length} is {p.verdict}." for p in result.precision if not p.usable]


def interpretation(result: ItemsetsResult) -> list[str]:
    """Describe the precision of each usable length, and how the list was selected."""
    lines = [f"Length {p.length} is {p.verdict}." for p in result.precision if p.usable]
    lines += sentences.estimated(result.query.estimate)
    if result.query.estimate != "likelihood":
        lines.append(sentences.selected(result, "itemsets"))
    return lines


def _clearness(itemset: ItemsetEstimate, min_support: float) -> float:
    """Standard errors above the threshold, −∞ where they are unknown."""
    above = itemset.value - min_support
    if itemset.standard_error:
        return above / itemset.standard_error
    return math.copysign(math.inf, above) if itemset.standard_error == 0 else -math.inf


def _decided(result: ItemsetsResult) -> str:
    if result.query.estimate == "likelihood":
        return "Best guesses have no intervals, so all itemsets are undecided."
    return f"Frequent: significantly above the threshold ({_rate(result)}). Others are undecided."


ANALYSIS = Analysis(
    query=ItemsetsQuery,
    title="Itemsets",
    compute=compute,
    start=lambda survey: ItemsetsQuery(
        min_support=0.05, max_length=affordable_length(survey, 0.05)
    ),
    check_work=check_lengths,
    grid=lambda result: sentences.estimates_grid(result, {"decision": "decision"}),
    decide=decide,
    state=state,
    chart=chart,
    warnings=warnings,
    interpretation=interpretation,
    place="Explore",
    order=20,
)
