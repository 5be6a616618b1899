"""Frequent itemsets."""

from collections.abc import Iterator
from math import comb
from typing import Any

import msgspec
import numpy as np
from halftruth_shared import ParameterError, Schema
from halftruth_shared.analyses.base import MiningQuery
from halftruth_shared.analyses.itemsets import ItemsetsQuery
from halftruth_shared.results import (
    Block,
    Caveat,
    Labels,
    Result,
    Selection,
    Show,
    note,
    warning,
)
from halftruth_shared.results.claims import Claim, Test
from halftruth_shared.results.wording import number, percent
from numpy.typing import NDArray

from ..estimation.identified import IdentifiedSets
from ..estimation.intervals import SHARE
from ..estimation.itemsets import (
    Itemsets,
    Mask,
    Mined,
    Unexamined,
    by_departure,
    mine_itemsets,
    with_false_reports,
)
from ..estimation.reliability import WELL_FILLED, LengthPrecision
from .base import Analysis, AnalysisContext
from .deciding import AtLevel, lower_bound_in_words
from .work import check_lengths

#: Largest number of itemsets in a chart.
MAX_ITEMSETS = 40


def compute(counted: AnalysisContext, query: ItemsetsQuery) -> Result[ItemsetsQuery]:
    """Return the itemsets of a query, or the requested ones."""
    schema = counted.estimator.schema
    # Refuse an unknown attribute before mining.
    wanted = [] if query.attribute is None else schema.attributes_of(query.attribute, "attribute")
    if query.sort == "departure" and query.estimate != "moment":
        raise ParameterError(
            "sort: departures from independence have unbiased estimates; expected"
            " estimate = moment, or sort = support",
            field="sort",
        )
    mined = mine_itemsets(counted.estimator, query)
    mined = with_false_reports(mined, counted.estimator, query)
    if query.sort == "departure":
        mined = by_departure(mined, counted.estimator, query)
    of_sets = _shown(mined, query, schema, [each.name for each in wanted])
    # There are one or two estimates of each itemset.
    shown = np.flatnonzero(np.resize(of_sets, len(mined.estimates)))
    keys = [msgspec.structs.replace(key, values=key.values.take(shown)) for key in mined.keys]
    guessed = query.estimate == "likelihood"
    rate = 1 - query.confidence
    return counted.result(
        query,
        keys,
        mined.estimates.take(shown),
        selection=None
        if guessed
        else Selection(candidates=mined.candidates, listed=len(mined), rate=rate),
        caveats=[
            *unexamined(mined.unexamined, "itemsets", query),
            *asked_sets(counted.estimator.identified_sets, mined, "itemsets"),
            *(precision_of(each, query.min_support) for each in mined.precision),
            note("best guesses") if guessed else note("frequent", rate=rate),
            *([note("departures of itemsets", rate=rate)] if query.sort == "departure" else []),
        ],
        claims=[*_largest_bound(mined, query, shown)] if query.sort == "support" else [],
    )


def _largest_bound(
    mined: Itemsets, query: ItemsetsQuery, shown: NDArray[np.int64]
) -> Iterator[Claim]:
    """Yield the claim of the largest lower bound of a longer itemset, if it is frequent by it."""
    best = mined.largest_bound(shown, query.confidence)
    if best is not None and best[1] >= query.min_support:
        row, bound = int(np.searchsorted(shown, best[0])), min(best[1], SHARE.upper)
        yield Claim(kind="at least", rows=[row], rate=1 - query.confidence, bound=bound)


def _shown(mined: Itemsets, query: ItemsetsQuery, schema: Schema, names: list[str]) -> Mask:
    """Return a mask of the itemsets that the query selects."""
    shown = np.ones(len(mined), dtype=np.bool_)
    if query.length is not None:
        shown &= mined.lengths == query.length
    if query.attribute is not None:
        positions = [schema.names.index(name) for name in names if name in schema.names]
        shown &= (mined.codes[:, positions] >= 0).any(axis=1)
    if query.decision is not None:
        shown &= mined.frequent == (query.decision == "frequent")
    return shown


def unexamined(why: Unexamined | None, what: str, query: MiningQuery[Any]) -> Iterator[Caveat]:
    """Return the caveat that itemsets or rules from some length on were not examined."""
    if why is not None and why.margin is None:
        yield note("unexamined", length=why.length, what=what)
    elif why is not None:
        of_margin = {"margin": why.margin, "threshold": query.min_support}
        yield note("unexamined", length=why.length, what=what, **of_margin)


def asked_sets(family: IdentifiedSets, mined: Mined, what: str) -> Iterator[Caveat]:
    """Yield the note that not all sets of questions were examined, as no report asks some."""
    length = family.any_of + 1
    if 1 < length <= min(mined.max_length, family.count):
        asked, possible = family.number(length), comb(family.count, length)
        yield note("asked together", what=what, length=length, asked=asked, possible=possible)


def precision_of(each: LengthPrecision, threshold: float) -> Caveat:
    """Return a caveat on the precision of the median itemset of a length, or of best guesses."""
    weight = note if each.reliability == "usable" else warning
    values: dict[str, Any] = {"reliability": each.reliability, "length": each.length}
    if each.guess is not None:
        return weight("typical error", **values | msgspec.structs.asdict(each.guess))
    values |= {"what": "supports", "threshold": threshold}
    if each.half_width is not None:
        values["margin"] = each.half_width
        if each.filled < WELL_FILLED:
            values["few_reports"] = each.filled
    return weight("precision", **values)


def decide(result: Result[ItemsetsQuery], _: AtLevel) -> tuple[list[Test], list[Claim]]:
    """Claim the frequent itemsets, and the largest lower bound of a longer one."""
    query, table = result.query, result.estimates
    chosen, every = result.selection, len(table)
    if not every:
        return [], [Claim(kind="none found", count=chosen.candidates if chosen else None)]
    if chosen is None:
        return [], [Claim(kind="untested", count=every)]
    rate = 1 - query.confidence
    if query.sort == "departure":
        rows = result.places("departure")
        found = rows[table.numbers("adjusted_p_value")[rows] <= rate].tolist()
        return [], [Claim(kind="associated", rows=found, rate=rate, by_rate=True, count=len(rows))]
    frequent = np.flatnonzero(table.numbers("adjusted_p_value") <= rate).tolist()
    claims = [Claim(kind="frequent", rows=frequent, rate=rate / 2, by_rate=True, count=every)]
    return [], [*claims, *result.claims]


def state(result: Result[ItemsetsQuery], claim: Claim, labels: Labels) -> str:
    """State the number of frequent itemsets, or the lower bound of an itemset."""
    threshold = percent(result.query.min_support)
    if claim.kind == "none found":
        if result.query.sort == "departure":
            return (
                "No itemset of two answers or more has an estimated support of"
                f" {threshold} or more."
            )
        return f"No itemset has an estimated support of {threshold} or more."
    count = number(claim.count or 0, 0)
    if claim.kind == "untested":
        return (
            f"{count} itemsets have a best guess of {threshold} or more. Best guesses have no"
            " intervals, so none of these is significant."
        )
    if claim.kind == "associated":
        return (
            f"{number(len(claim.rows), 0) if claim.rows else 'None'} of {count} itemsets of two"
            f" answers or more depart{'' if len(claim.rows) > 1 else 's'} significantly from"
            f" independence (false discovery rate {percent(claim.rate)})."
        )
    if claim.kind == "frequent":
        return (
            f"{number(len(claim.rows), 0)} of {count} itemsets are significantly frequent"
            f" ({threshold} or more; false discovery rate {percent(claim.rate)})."
        )
    surest = labels.quoted_items(result.rows[claim.rows[0]]["itemset"])
    return (
        f"Of two answers or more, {surest} has the largest lower bound: at least"
        f" {lower_bound_in_words(claim)}."
    )


def layout(result: Result[ItemsetsQuery], _: Labels) -> list[Block]:
    """Arrange a line for each itemset; a chart compares the clearest with the threshold."""
    threshold = result.query.min_support
    guessed = result.query.estimate == "likelihood"
    parts = ["value"] if guessed else ["value", "interval", "adjusted_p_value", "decision"]
    if result.query.sort == "departure":
        departure = Show(quantity="departure", parts=["value", "interval", "adjusted_p_value"])
        return [
            Block(
                title="Departures from independence",
                lines=["itemset"],
                shows=[departure, Show(quantity="support", parts=["value"], drawn=False)],
                picture="dots",
                reference=0.0,
                reference_label="independent answers",
                most=MAX_ITEMSETS,
            )
        ]
    return [
        Block(
            title="Itemsets",
            lines=["itemset"],
            shows=[Show(quantity="support", parts=parts)],
            picture="dots",
            reference=threshold,
            reference_label=f"min. support {percent(threshold)}",
            most=MAX_ITEMSETS,
        )
    ]


ANALYSIS = Analysis(
    query=ItemsetsQuery,
    title="Itemsets",
    compute=compute,
    start=lambda _: ItemsetsQuery(min_support=0.05),
    check_work=check_lengths,
    layout=layout,
    decide=decide,
    state=state,
    place="Explore",
    order=20,
)
