"""Frequent itemsets."""

import math
from dataclasses import replace
from typing import get_args

from halftruth_shared.analyses.base import Decision
from halftruth_shared.analyses.charts import Axis, EstimateChart, Panel, Reference
from halftruth_shared.analyses.itemsets import ItemsetEstimate, ItemsetsQuery, ItemsetsResult
from halftruth_shared.analyses.wording import items, number, percent, quoted_items

from ..estimation.selection import listed_alpha
from . import sentences, verdicts
from .base import Analysis, Counted, asked
from .shares import ends_at

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


def headline(result: ItemsetsResult) -> str:
    """Number of frequent itemsets, and the longer one with the largest lower bound."""
    threshold = percent(result.query.min_support)
    if not result.itemsets:
        return f"No itemset has an estimated support of {threshold} or more."
    count = number(len(result.itemsets), 0)
    if result.query.estimate == "likelihood":
        return (
            f"{count} itemsets have a best guess of {threshold} or more. Best guesses have no"
            " intervals, so none of these is significant."
        )
    frequent = sum(each.decision == "frequent" for each in result.itemsets)
    said = (
        f"{number(frequent, 0)} of {count} itemsets are significantly frequent ({threshold} or"
        f" more; {_rate(result)})"
    )
    surest = max(
        (each for each in result.itemsets if len(each.items) > 1),
        key=lambda each: _least(result, each),
        default=None,
    )
    if surest is None or _least(result, surest) < result.query.min_support:
        return f"{said}."
    least = percent(math.floor(1000 * _least(result, surest)) / 1000, 1)
    return (
        f"{said}. Of two answers or more, {quoted_items(surest.items)} has the largest lower bound:"
        f" at least {least}."
    )


def _least(result: ItemsetsResult, itemset: ItemsetEstimate) -> float:
    """Lower bound of a support at a level that holds for the best of all candidates."""
    alpha = listed_alpha(result.query.confidence, 1, result.candidates)
    return ends_at(alpha, itemset, result.query.estimate)[0]


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
    start=lambda _: ItemsetsQuery(min_support=0.05),
    grid=lambda result: sentences.estimates_grid(result, {"decision": "decision"}),
    headline=headline,
    chart=chart,
    warnings=warnings,
    interpretation=interpretation,
    place="Explore",
    order=20,
)
