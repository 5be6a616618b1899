"""Frequent itemsets."""

import math
from dataclasses import replace
from typing import get_args

from halftruth_shared.analyses.base import Decision
from halftruth_shared.analyses.charts import Axis, EstimateChart, Panel, Reference
from halftruth_shared.analyses.itemsets import ItemsetEstimate, ItemsetsQuery, ItemsetsResult
from halftruth_shared.analyses.wording import items, number, percent, quoted_items

from . import sentences, verdicts
from .base import Analysis, Counted, asked

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
            *sentences.notes(result, rows, together=query.select == "bonferroni"),
            *sentences.estimated(query.estimate),
            *sentences.negative(rows),
            _decided(query) if rows else f"No itemset was found for a support of {threshold}.",
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
        values_label=sentences.with_level("support", result),
        categories=get_args(Decision),
    )


def headline(result: ItemsetsResult) -> str:
    """Number of frequent itemsets, and the most frequent one of two or more answers."""
    if not result.itemsets:
        return f"No itemset was found for a support of {percent(result.query.min_support)}."
    if result.query.estimate == "likelihood":
        return (
            f"{number(len(result.itemsets))} itemsets have a best guess of"
            f" {percent(result.query.min_support)} or more; without intervals none of them is sure."
        )
    decided = [each for each in result.itemsets if each.decision == "frequent"]
    said = (
        f"{number(len(decided))} of {number(len(result.itemsets))} itemsets are frequent for sure"
        f" ({percent(result.query.min_support)} or more)"
    )
    longer = [each for each in decided if len(each.items) > 1]
    if not longer:
        return f"{said}, none of two answers or more."
    most = max(longer, key=lambda each: each.value)
    return f"{said}; of two answers or more, most often {quoted_items(most.items)}:" + (
        f" {sentences.of_share(most)}."
    )


def warnings(result: ItemsetsResult) -> list[str]:
    """For which lengths nothing can be concluded."""
    return [f"Length {p.length} is {p.verdict}." for p in result.precision if not p.usable]


def interpretation(result: ItemsetsResult) -> list[str]:
    """Describe the precision of each usable length, and simultaneous statements."""
    query = result.query
    lines = [f"Length {p.length} is {p.verdict}." for p in result.precision if p.usable]
    lines += sentences.estimated(query.estimate)
    if query.select in ("bonferroni", "holm"):
        lines.append(
            f"The chance that any itemset called frequent here is not is at most"
            f" {1 - query.confidence:.3g}, among {result.candidates} that could have been."
        )
    return lines


def _clearness(itemset: ItemsetEstimate, min_support: float) -> float:
    """Standard errors above the threshold, −∞ where they are unknown."""
    above = itemset.value - min_support
    if itemset.standard_error:
        return above / itemset.standard_error
    return math.copysign(math.inf, above) if itemset.standard_error == 0 else -math.inf


def _decided(query: ItemsetsQuery) -> str:
    if query.estimate == "likelihood":
        return "Without intervals nothing is decided: frequent or not, all are undecided."
    if query.select == "holm":
        return "The decisions hold all together (Holm), and may differ from single intervals."
    return (
        "Frequent: all of the interval is at or above the threshold."
        " Undecided: the threshold is within it."
    )


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
