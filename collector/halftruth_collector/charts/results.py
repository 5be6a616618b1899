"""Charts of results."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC
from itertools import groupby

from halftruth_shared.messages import (
    AssociationsResult,
    Decision,
    Interval,
    ItemsetEstimate,
    ItemsetsResult,
    MeasureEstimate,
    MeasuresResult,
    Method,
    Selection,
    TableCell,
    TableResult,
)

from .specification import (
    Axis,
    BarChart,
    BarGroup,
    Estimate,
    HeatMap,
    Panel,
    Reference,
    Scale,
    WhiskerChart,
)
from .wording import number, percent, words

#: Itemsets and cells beyond which a chart shows only some, and says so.
MAX_ITEMSETS = 40
MAX_CELLS = 100

#: Ratios are drawn on a logarithmic axis where they differ by more than this factor.
_WIDE = 3.0

_SUPPORTS = Axis("support", shares=True)

_Result = ItemsetsResult | TableResult | MeasuresResult | AssociationsResult

_DECISIONS: tuple[Decision, ...] = ("frequent", "undecided", "infrequent")


def itemsets_chart(result: ItemsetsResult) -> WhiskerChart:
    """Supports of itemsets against the threshold, largest first.

    Of more than `MAX_ITEMSETS` itemsets, those are shown that are the most standard errors above
    the threshold: the largest estimates of many would be mostly noise.
    """
    query = result.query
    clearest = sorted(result.itemsets, key=lambda itemset: -_clearness(itemset, query.min_support))[
        :MAX_ITEMSETS
    ]
    rows = tuple(
        replace(
            _estimate(words(itemset.items), itemset.support, itemset.interval),
            category=itemset.decision,
        )
        for itemset in sorted(clearest, key=lambda itemset: -itemset.support)
    )
    threshold = percent(query.min_support)
    lengths = {len(itemset.items) for itemset in clearest}
    notes = [
        *_notes(result, rows, together=query.select == "bonferroni"),
        *_estimated(query.estimate),
        *_negative(rows),
        _decided(query.select) if rows else f"No itemset was found for a support of {threshold}.",
        *_left_out(
            len(rows),
            len(result.itemsets),
            "itemsets that are the most standard errors above the threshold",
        ),
        *(
            f"Itemsets of length {precision.length}: {precision.verdict}."
            for precision in result.precision
            if precision.length in lengths and not precision.usable
        ),
    ]
    return WhiskerChart(
        title=f"Supports of itemsets in {result.survey}",
        notes=tuple(notes),
        panels=(
            Panel(
                _SUPPORTS,
                rows,
                reference=Reference(query.min_support, f"min. support {threshold}"),
            ),
        ),
        values_label=f"support ({_interval(result)})",
        categories=_DECISIONS,
    )


def table_chart(result: TableResult) -> BarChart:
    """Supports of the cells of a table, grouped by its first attribute where it has several.

    Of more than `MAX_CELLS` cells, those furthest from zero are shown.
    """
    first, *others = result.query.attributes
    order = sorted(range(len(result.cells)), key=lambda i: -abs(result.cells[i].support))
    cells = [result.cells[i] for i in sorted(order[:MAX_CELLS])]
    grouped = groupby(cells, key=lambda cell: f"{first}={cell.values[first]}" if others else "")
    groups = tuple(
        BarGroup(heading, tuple(_bar(cell, others or [first]) for cell in group))
        for heading, group in grouped
    )
    bars = [bar for group in groups for bar in group.bars]
    notes = [
        *_notes(result, bars),
        *_estimated(result.query.estimate),
        *_negative(bars),
        *_left_out(len(bars), len(result.cells), "cells furthest from zero"),
    ]
    return BarChart(
        title=f"Supports of {_listed(result.query.attributes)} in {result.survey}",
        notes=tuple(notes),
        axis=_SUPPORTS,
        groups=groups,
        bars_label=", ".join(others or [first]),
        values_label=f"support ({_interval(result)})",
    )


def associations_chart(result: AssociationsResult) -> HeatMap:
    """How much each attribute tells of each other one, as a grid."""
    found = {(a.row, a.column): a.estimate for a in result.associations}
    names = tuple(result.attributes)
    cells = tuple(
        tuple(
            _association(f"{row} → {column}", found[row, column]) if row != column else None
            for column in names
        )
        for row in names
    )
    return HeatMap(
        title=f"What each attribute tells of the others in {result.survey}",
        notes=(
            *_notes(result, [cell for row in cells for cell in row if cell]),
            "Share by which the gini index of the column's attribute falls when the row's is"
            " known (concentration τ).",
            "Pale with a dashed frame: the interval reaches 0 or below.",
        ),
        rows=names,
        columns=names,
        cells=cells,
    )


def _association(label: str, measure: MeasureEstimate) -> Estimate:
    lower, upper = measure.interval or (None, None)
    return Estimate(label, measure.value, lower, upper, reason=measure.undefined)


def measures_chart(result: MeasuresResult) -> WhiskerChart:
    """Association measures, one panel for each scale on which they can be compared."""
    known = {measure.name: measure for measure in result.measures}
    panels = [
        _panel(scale, [known.pop(name) for name in scale.names if name in known])
        for scale in _SCALES
    ]
    panels += [_panel(_MeasureScale("Other", (name,)), [known[name]]) for name in known]
    shown = tuple(panel for panel in panels if panel.rows)
    rows = [row for panel in shown for row in panel.rows]
    present = f"Presence means {words(result.query.present)}." if result.query.present else ""
    notes = [
        present,
        *_notes(result, rows),
        "Intervals are normal ones by the delta method; those of measures that cannot be negative"
        " are too narrow near independence.",
    ]
    return WhiskerChart(
        title=f"Association of {_listed(result.query.attributes)} in {result.survey}",
        notes=tuple(note for note in notes if note),
        panels=shown,
        values_label=f"value ({_interval(result)})",
    )


@dataclass(frozen=True)
class _MeasureScale:
    """Measures that can be compared on one axis, and what they are without association."""

    heading: str
    names: tuple[str, ...]
    independent: float | None = None
    ratios: bool = False


_SCALES = (
    _MeasureScale(
        "Correlations and differences: at most 1, and 0 when independent",
        ("phi", "kappa", "certainty", "added_value", "risk_difference", "piatetsky_shapiro"),
        independent=0,
    ),
    _MeasureScale(
        "Ratios: 1 when independent",
        ("odds_ratio", "interest", "conviction", "collective_strength"),
        independent=1,
        ratios=True,
    ),
    _MeasureScale(
        "Overlap and confidence: no fixed value when independent",
        ("jaccard", "cosine", "laplace"),
    ),
    _MeasureScale(
        "Information and explained variation: never negative in truth, and 0 when independent",
        ("mutual_information", "uncertainty_coefficient", "concentration", "j_measure"),
        independent=0,
    ),
    _MeasureScale(
        "Test statistics: they grow with the number of reports",
        ("chi_squared", "g_squared"),
    ),
    _MeasureScale(
        "Standardized residual: 0 when independent; grows with the root of the reports",
        ("standardized_residual",),
        independent=0,
    ),
)

_SYMBOLS = {
    "phi": "φ",
    "kappa": "κ",
    "chi_squared": "χ²",
    "g_squared": "G²",
    "piatetsky_shapiro": "Piatetsky-Shapiro",
    "j_measure": "J-measure",
}


def _name(measure: str) -> str:
    return _SYMBOLS.get(measure, measure.replace("_", " "))


def _panel(scale: _MeasureScale, measures: Sequence[MeasureEstimate]) -> Panel:
    rows = tuple(
        replace(
            _estimate(_name(measure.name), measure.value, measure.interval),
            reason=measure.undefined,
        )
        for measure in measures
    )
    line = None if scale.independent is None else Reference(scale.independent, "independent")
    axis = Axis("", scale=_ratio_scale(rows) if scale.ratios else "linear")
    logarithmic = ", on a logarithmic axis" if axis.scale == "log" else ""
    return Panel(axis, rows, scale.heading + logarithmic, line)


def _ratio_scale(rows: Sequence[Estimate]) -> Scale:
    """Logarithmic where ratios differ widely, so that 1/2 and 2 are equally far from 1."""
    values = [1.0, *(row.value for row in rows if row.value is not None)]
    seen = values + [end for row in rows for end in row.interval or () if end > 0]
    return "log" if min(values) > 0 and max(seen) > _WIDE * min(seen) else "linear"


def _bar(cell: TableCell, names: Sequence[str]) -> Estimate:
    label = ", ".join(cell.values[name] for name in names)
    return _estimate(label, cell.support, cell.interval)


def _estimate(label: str, value: float | None, interval: Interval | None) -> Estimate:
    return Estimate(label, value, *(interval or (None, None)))


def _interval(result: _Result) -> str:
    return f"{percent(result.query.confidence)} interval"


def _clearness(itemset: ItemsetEstimate, min_support: float) -> float:
    """Standard errors above the threshold, −∞ where they are unknown."""
    above = itemset.support - min_support
    if itemset.standard_error:
        return above / itemset.standard_error
    return math.copysign(math.inf, above) if itemset.standard_error == 0 else -math.inf


def _notes(result: _Result, rows: Sequence[Estimate], *, together: bool = False) -> list[str]:
    """Where the numbers come from, and how many are missing."""
    hold = "which hold all together" if together else "each by itself"
    people = {"population": "the population", "respondents": "exactly these respondents"}
    notes = [
        f"{number(result.reports, 0)} reports, {result.as_of.astimezone(UTC):%Y-%m-%d %H:%M} UTC;"
        f" {_interval(result)}s, {hold}, for {people[result.query.target]}."
    ]
    values = [row for row in rows if row.value is not None]
    without = sum(row.interval is None for row in values)
    if without:
        notes.append(f"Without interval, as the error is undefined: {without} of {len(values)}.")
    return notes


def _estimated(method: Method) -> list[str]:
    if method == "moment":
        return []
    name = {"projected": "projected", "likelihood": "maximum likelihood"}[method]
    return [f"Supports are {name} estimates; the intervals are those of the moment estimates."]


def _decided(select: Selection) -> str:
    if select == "holm":
        return "The decisions hold all together (Holm), and may differ from single intervals."
    return (
        "Frequent: all of the interval is at or above the threshold."
        " Undecided: the threshold is within it."
    )


def _negative(rows: Sequence[Estimate]) -> list[str]:
    if all(row.value is None or row.value >= 0 for row in rows):
        return []
    return ["A negative support means that the true one is small compared with the error."]


def _left_out(shown: int, found: int, which: str) -> list[str]:
    if shown == found:
        return []
    return [f"Shown are the {shown} of {number(found, 0)} {which}."]


def _listed(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
