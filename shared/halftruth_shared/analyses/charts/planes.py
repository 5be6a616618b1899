"""Curves on a pair of axes, and grids of shares."""

from collections.abc import Sequence
from functools import partial
from itertools import cycle, pairwise
from typing import Any

import numpy as np

from ..wording import number, share
from . import Axis, CurveChart, HeatMap, Mark, Reference, entry, written
from .sheet import (
    BASE,
    BEHIND,
    CELLS,
    CURVES,
    DASHED,
    DASHES,
    GAP,
    GRID,
    INK,
    LABEL_LINES,
    LINE,
    PAGE,
    QUIET,
    SAMPLE,
    SHAPES,
    Ruler,
    Sheet,
    ends_of,
    fits,
    folded,
    ruled,
    width_of,
)

#: Height of axes with curves, and of a row of a grid; most of upright names.
_HIGH, _CELL, _UPRIGHT = 190.0, 24.0, 100.0
#: Letters are white from a share of the darkest on; what is below is paler, or dark letters would
#: not stand out from it, nor light ones on a dark page.
_DARK, _PALER = 0.8, 0.78
#: The darkest shade stands for at least this share, or noise would look like something.
_LEAST_DARKEST = 0.05


def draw_curves(sheet: Sheet, chart: CurveChart) -> None:
    """All curves on one pair of axes, below their legend and the name of the upright axis."""
    drawn = [
        [(x, y) for x, y in curve.known if fits(x, chart.x_axis) and fits(y, chart.y_axis)]
        for curve in chart.curves
    ]
    looks = [*zip(CURVES * 5, cycle(DASHES), cycle(SHAPES), chart.curves, strict=False)]
    # One that is called like its axis needs no legend.
    if [curve.name for curve in chart.curves] not in ([], [chart.y_axis.label]):
        sheet.legend([(curve.name, partial(_sample, a, b, c)) for a, b, c, curve in looks])
    sheet.words(chart.y_axis.label, color=QUIET)
    sheet.room_for_hint()
    top = sheet.y + (LINE if chart.x_marker else 0)
    bottom = top + _HIGH
    intervals = [ends for curve in chart.curves for ends in curve.ends]
    low, high = _ends(drawn, 1, chart.y_axis, chart.y_marker, intervals)
    up = Ruler(chart.y_axis, low, high, bottom, top)
    start = max((width_of(label) for _, label in up.ticks), default=0.0) + GAP
    low, high = _ends(drawn, 0, chart.x_axis, chart.x_marker)
    along = Ruler(chart.x_axis, low, high, start, sheet.width - GAP)
    for value, label in up.ticks:
        sheet.lines([(start, up(value), along.end, up(value))], color=GRID, lw=0.8, zorder=0)
        sheet.text(start - GAP / 2, up(value) - LINE / 2, label, ha="right", color=QUIET)
    for (colour, dashes, shape, curve), known in zip(looks, drawn, strict=True):
        places = [(along(x), up(y)) for x, y in known]
        segments = [(*one, *other) for one, other in pairwise(places)]
        sheet.lines(segments, color=colour, linestyle=dashes, linewidth=1.6, zorder=4)
        for x, ends in zip(curve.x, curve.ends, strict=False):
            if ends:
                at, (bottom_end, top_end) = along(x), map(up, ends)
                caps = [(at - 2.5, end, at + 2.5, end) for end in (bottom_end, top_end)]
                sheet.lines([(at, bottom_end, at, top_end), *caps], color=colour, lw=1.2, zorder=3)
        step = max(1, len(places) // 8) if not curve.ends else 1
        sheet.marks(places[::step], shape, facecolor=colour, edgecolor="none")
        for point, (x, y) in zip(known[::step], places[::step], strict=True):
            sheet.hint(x - 5, y - 5, 10, 10, chart.point(curve, point))
    if chart.y_marker:
        at = up(chart.y_marker.value)
        how: Any = {"color": INK, "linewidth": 1, "linestyle": DASHED, "zorder": 1}
        sheet.lines([(start, at, along.end, at)], **how)
        sheet.text(along.end, at - LINE - 2, chart.y_marker.label, ha="right", bbox=BEHIND)
    if chart.x_marker:
        at = along(chart.x_marker.value)
        side = "left" if at < sheet.width / 2 else "right"
        sheet.text(at, top - LINE - 1, chart.x_marker.label, ha=side)
    sheet.y = bottom + 3
    ruled(sheet, along, [(top, bottom)], chart.x_marker)


def _ends(
    drawn: Sequence[Sequence[tuple[float, float]]],
    i: int,
    axis: Axis,
    marker: Reference | None,
    intervals: Sequence[tuple[float, float] | None] = (),
) -> tuple[float, float]:
    values = [point[i] for curve in drawn for point in curve]
    values += [marker.value] if marker else []
    values += [0.0] if axis.shares or (axis.counted and i) else []
    return ends_of(axis, values, intervals)


def _sample(colour: str, dashes: str, shape: str, sheet: Sheet, x: float, y: float) -> None:
    sheet.lines([(x, y, x + SAMPLE, y)], color=colour, linestyle=dashes, linewidth=1.6)
    sheet.marks([(x + SAMPLE / 2, y)], shape, facecolor=colour, edgecolor="none")


def draw_grid(sheet: Sheet, chart: HeatMap) -> None:
    """Shares in a grid, the darker the larger; pale and framed where they may be nothing."""
    cells = [cell for row in chart.cells for cell in row if cell]
    reasons = sorted({cell.reason for cell in cells if cell.value is None and cell.reason})
    if reasons:
        sheet.words(f"Undefined: {'; '.join(reasons)}.", color=QUIET)
    sheet.room_for_hint()
    before = min(max(map(width_of, chart.rows), default=0.0), 0.3 * sheet.width) + GAP
    wide = (sheet.width - before) / max(len(chart.columns), 1)
    longest = max(map(width_of, chart.columns), default=0.0)
    # Two lines of words beside each other, or else upright.
    upright = longest > 1.6 * wide
    room = min(longest, _UPRIGHT) if upright else wide - 4
    names = [folded(name, room, most=max(1, int(wide / LINE))) for name in chart.columns]
    head = room + 3 if upright else LINE * max(map(len, names), default=0)
    for j, lines in enumerate(names):
        middle = before + (j + 0.5) * wide
        if upright:
            how: Any = {"rotation": 90, "ha": "center", "va": "bottom", "color": QUIET}
            for i, line in enumerate(lines):
                x = middle + (i + 0.5 - len(lines) / 2) * LINE
                sheet.text(x, sheet.y + head - 3 - BASE, line, **how)
        else:
            sheet.text(middle, sheet.y, *lines, ha="center", color=QUIET)
    # What may be nothing must not look like something, nor make the others pale.
    clear = [cell.value for cell in cells if cell.value is not None and not _doubtful(cell)]
    darkest = max([_LEAST_DARKEST, *clear])
    sheet.y += head
    # Numbers of all cells are written alike: with their places, or whole, or not at all.
    known = [cell for cell in cells if cell.value is not None]
    texts = {cell: share(cell.value, cell.interval) for cell in cells}
    whole = {cell: number(100 * (cell.value or 0.0), 0) for cell in known}
    shown: dict[Mark, str] = {}
    for each in (whole, texts):
        shown = each if all(width_of(words) <= wide - 3 for words in each.values()) else shown
    if shown is whole:
        sheet.text(0, sheet.y - LINE - 2, "in %", color=QUIET)
    for name, row in zip(chart.rows, chart.cells, strict=True):
        labels = folded(name, before - GAP, most=LABEL_LINES)
        high = max(_CELL, len(labels) * LINE + 2)
        sheet.text(0, sheet.y + (high - len(labels) * LINE) / 2, *labels, color=QUIET)
        for j, cell in enumerate(row):
            words = shown.get(cell, "") if cell else ""
            _cell(sheet, cell, words, before + j * wide, wide, high, darkest)
        sheet.y += high


def _cell(
    sheet: Sheet,
    cell: Mark | None,
    words: str,
    x: float,
    wide: float,
    high: float,
    darkest: float,
) -> None:
    if cell is None:
        sheet.box(x + 1, sheet.y + 1, wide - 2, high - 2, fc=GRID, lw=0)
        return
    doubtful = _doubtful(cell)
    shade = float(np.clip((cell.value or 0.0) / darkest, 0, 0.15 if doubtful else 1))
    shade *= 1 if shade > _DARK else _PALER
    frame: Any = {"ec": QUIET, "ls": DASHED, "lw": 0.8, "fill": False, "zorder": 2}
    sheet.box(x + 1, sheet.y + 1, wide - 2, high - 2, fc=CELLS, alpha=shade, lw=0)
    if doubtful:
        sheet.box(x + 1.5, sheet.y + 1.5, wide - 3, high - 3, **frame)
    colour = PAGE if shade > _DARK else INK
    sheet.text(x + wide / 2, sheet.y + high / 2 - LINE / 2, words, ha="center", color=colour)
    axis = Axis("", shares=True)
    sheet.hint(x, sheet.y, wide, high, entry(cell, written([cell], axis)[0], axis))


def _doubtful(cell: Mark) -> bool:
    return cell.lower is None or cell.lower <= 0 or cell.doubtful or cell.category is not None
