"""Charts as Matplotlib figures.

A wide chart has labels in a column at the left of its axis and numbers in one at its right, a
narrow one has both above its marks.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import matplotlib as mpl

from . import (
    DOUBTFUL_LABEL,
    INNER_LABEL,
    OUTER_LABEL,
    Axis,
    Chart,
    CurveChart,
    EstimateChart,
    HeatMap,
    Mark,
    Panel,
    Reference,
    entry,
    shortened,
    written,
)
from .planes import draw_curves, draw_grid
from .sheet import (
    BAR,
    BEHIND,
    CURVES,
    DASHED,
    GAP,
    INK,
    INNER,
    LABEL_LINES,
    LINE,
    NARROW,
    PAGE,
    PALE,
    QUIET,
    SAMPLE,
    SETTINGS,
    SHAPES,
    WIDE,
    Drawn,
    Ruler,
    Sample,
    Sheet,
    ends_of,
    folded,
    ruled,
    width_of,
)

#: Thickness of a bar.
_BAR = 7.0
#: Share of the width that labels have at most.
_LABELS = 0.42
#: Ends of the axis of shares that all charts have, with room for what is a little outside.
_SHARES = (-0.04, 1.04)


def draw(chart: Chart, width: float = WIDE) -> Drawn:
    """Draw a chart, or as much of it as can be read, with settings of its own."""
    with mpl.rc_context(SETTINGS):
        return figure_of(shortened(chart), width)


def figure_of(chart: Chart, width: float = WIDE, *, caption: bool = True) -> Drawn:
    """The picture of a chart, as high as it needs; pages have title and notes beside it."""
    sheet = Sheet(width)
    if caption:
        sheet.words(chart.title, weight="bold")
        for note in chart.notes:
            sheet.words(note, color=QUIET)
        sheet.y += 6
    if isinstance(chart, CurveChart):
        draw_curves(sheet, chart)
    elif isinstance(chart, HeatMap):
        draw_grid(sheet, chart)
    else:
        _rows(sheet, chart)
    return sheet.finished()


def _rows(sheet: Sheet, chart: EstimateChart) -> None:
    """Panels below each other: label, axis with dots or bars, and number."""
    groups = [[panel] for panel in chart.panels if panel.rows]
    if not groups:
        return
    if chart.bars:
        # Bars begin at zero, which a logarithmic axis does not have.
        axis = replace(groups[0][0].axis, scale="linear")
        groups = [[replace(panel, axis=axis) for [panel] in groups]]
    every = [[row for panel in group for row in panel.rows] for group in groups]
    numbers = [
        [words for panel in group for words in written(panel.rows, panel.axis)] for group in groups
    ]
    start, left = GAP / 2, None
    if sheet.width > NARROW:
        left = max(width_of(chart.labels), *(width_of(row.label) for rows in every for row in rows))
        left = min(left, _LABELS * sheet.width)
        start = left + GAP
    end = sheet.width - GAP / 2
    if left is not None:
        known = [
            width_of(words)
            for rows, texts in zip(every, numbers, strict=True)
            for row, words in zip(rows, texts, strict=True)
            if row.value is not None
        ]
        end -= max([width_of(chart.values_label), *known]) + GAP / 2
    sheet.legend(_legend(chart))
    if chart.labels or chart.values_label:
        sheet.text(0, sheet.y, chart.labels, color=QUIET)
        sheet.text(sheet.width, sheet.y, chart.values_label, ha="right", color=QUIET)
        sheet.y += LINE + 2
    for group, rows, texts in zip(groups, every, numbers, strict=True):
        ruler = _ruler(chart, group[0], rows, start, end)
        each, spans = iter(texts), []
        for panel in group:
            if panel.heading:
                sheet.words(panel.heading, weight="bold")
            if ruler and panel.reference:
                _beside(sheet, ruler, panel.reference)
            top = sheet.y
            places = [_row(sheet, chart, ruler, row, next(each), left) for row in panel.rows]
            spans += places if left is None else [(top, sheet.y)]
            sheet.y += 3
        if ruler:
            ruled(sheet, ruler, spans, group[0].reference, zero=chart.bars)
        sheet.y += 4


def _ruler(
    chart: EstimateChart, panel: Panel, rows: Sequence[Mark], start: float, end: float
) -> Ruler | None:
    """The axis of rows, if any of them has a value; shares have the same in all charts."""
    values = [row.value for row in rows if row.value is not None]
    if not values:
        return None
    axis, intervals = panel.axis, [row.interval for row in rows]
    values += [panel.reference.value] if panel.reference else []
    if axis.shares and axis.scale == "linear":
        ends = _SHARES
        if min(values) < ends[0] or max(values) > ends[1]:
            ends = ends_of(axis, [*values, *ends], intervals)
    else:
        ends = ends_of(axis, values + ([0.0] if chart.bars else []), intervals)
    return Ruler(axis, *ends, start, end)


def _row(
    sheet: Sheet,
    chart: EstimateChart,
    ruler: Ruler | None,
    row: Mark,
    words: str,
    left: float | None,
) -> tuple[float, float]:
    """Draw a row, with labels in a column at the left or else above; returns where its axis is."""
    top, undefined = sheet.y, ruler is None or row.value is None
    room = sheet.width - (0 if undefined else width_of(words) + GAP) if left is None else left
    below = sheet.text(0, top, *folded(row.label, room, most=LABEL_LINES))
    if ruler is None or row.value is None:
        start, at = (0.0, below) if left is None else (left + GAP, top)
        reason = folded(words, sheet.width - start)
        at = sheet.text(start, at, *reason, color=QUIET, bbox=BEHIND)
        sheet.y = max(at, below) + 3
        return at, at
    middle = top + LINE / 2 if left is not None else below + _BAR / 2 + 1
    sheet.text(sheet.width, top, words, ha="right", color=QUIET if row.doubtful else INK)
    sheet.y = max(below, middle + _BAR / 2 + 1) + 3
    _mark(sheet, chart, ruler, row, middle)
    sheet.hint(0, top - 1.5, sheet.width, sheet.y - top, entry(row, words, ruler.axis))
    return middle - _BAR / 2 - 1, middle + _BAR / 2 + 1


def _mark(sheet: Sheet, chart: EstimateChart, ruler: Ruler, row: Mark, y: float) -> None:
    """Draw a value as a dot or bar, with its interval in one tone or two."""
    at = ruler(row.value or 0.0)
    colour, face, shape = _look(chart, row.category)
    if chart.bars:
        colour = INK
    if row.doubtful:
        colour, face = QUIET, PAGE
    dashes: Any = DASHED if row.doubtful else "-"
    if chart.bars:
        zero, fill = ruler(0.0), PALE if row.doubtful else BAR
        edge = {"edgecolor": QUIET, "linestyle": dashes, "linewidth": 0.6 * row.doubtful}
        sheet.box(zero, y - _BAR / 2, at - zero, _BAR, fc=fill, zorder=2, **edge)
    if row.interval:
        low, high = map(ruler, row.interval)
        sheet.lines([(low, y, high, y)], color=colour, linewidth=1.2, linestyle=dashes, zorder=4)
        caps = [(end, y - 2.5, end, y + 2.5) for end in (low, high)]
        sheet.lines(caps, color=colour, linewidth=1.2, zorder=4)
    if row.inner:
        low, high = map(ruler, row.inner)
        sheet.lines([(low, y, high, y)], color=INNER, linewidth=2.8, zorder=4)
    if not chart.bars:
        sheet.marks([(at, y)], shape, facecolor=face, edgecolor=colour, linewidth=1.2)
    reached = [row.value or 0.0, *(row.interval or ())]
    for end, arrow, beyond in (
        (ruler.start, "<", min(reached) < ruler.low),
        (ruler.end, ">", max(reached) > ruler.high),
    ):
        sheet.marks([(end, y)] * beyond, arrow, facecolor=colour, edgecolor="none")


def _beside(sheet: Sheet, ruler: Ruler, reference: Reference) -> None:
    """Name a line above it, on the side that has more room."""
    x = ruler(reference.value)
    left = x - ruler.start < ruler.end - x
    lines = folded(reference.label, max(x - ruler.start, ruler.end - x))
    sheet.y = sheet.text(x, sheet.y, *lines, ha="left" if left else "right")


def _look(chart: EstimateChart, category: str | None) -> tuple[str, str, str]:
    """Colour, filling and shape of a category, which differ for those who see no colour, too."""
    place = chart.categories.index(category) if category in chart.categories else 0
    colour = CURVES[place % len(CURVES)]
    return colour, PAGE if place % 2 else colour, SHAPES[place % len(SHAPES)]


def _legend(chart: EstimateChart) -> list[tuple[str, Sample]]:
    """Legend: categories, and the meaning of thick and pale marks."""
    drawn = [row for row in chart.rows if row.value is not None]
    whole = Mark("", 0.5, 0.0, 1.0)
    entries = [
        (name, replace(whole, category=name))
        for name in chart.categories
        if name in {row.category for row in drawn}
    ]
    if any(row.inner for row in drawn):
        alone = Mark("", 0.0)
        entries.append((INNER_LABEL, replace(alone, inner=(0.0, 1.0))))
        entries.append((OUTER_LABEL, replace(alone, lower=0.0, upper=1.0)))
    if any(row.doubtful for row in drawn):
        entries.append((DOUBTFUL_LABEL, replace(whole, doubtful=True)))
    return [(name, partial(_sample, chart, mark)) for name, mark in entries]


def _sample(chart: EstimateChart, mark: Mark, sheet: Sheet, x: float, y: float) -> None:
    _mark(sheet, chart, Ruler(Axis(""), 0.0, 1.0, x, x + SAMPLE), mark, y)
