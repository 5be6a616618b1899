"""Curves on a pair of axes, and grids of shares."""

from itertools import cycle
from typing import Any

import numpy as np
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure, SubFigure

from ..wording import number, share
from . import Axis, CurveChart, HeatMap, Mark, entry, style, written
from .style import INK, LABEL_LINES, LINE, PAGE, QUIET, SMALL, Body, folded

#: Lines of text that axes with curves are high, and a row of a grid.
_HIGH, _CELL = 16.0, 2.1
#: Most points of upright names, and most of the width for labels.
_UPRIGHT, _LABELS = 120.0, 0.3
#: Letters are white from a share of the darkest on; what is below is paler, or dark letters would
#: not stand out from it, nor light ones on a dark page.
_DARK, _PALER = 0.8, 0.78
#: The darkest shade stands for at least this share, or noise would look like something.
_LEAST_DARKEST = 0.05


def draw_curves(figure: Figure | SubFigure, chart: CurveChart, width: float) -> Body:
    """All curves on one pair of axes, below the name of the upright axis."""
    axes, x_axis, y_axis = figure.subplots(), chart.x_axis, chart.y_axis
    drawn = [
        [(x, y) for x, y in curve.known if style.fits(x, x_axis) and style.fits(y, y_axis)]
        for curve in chart.curves
    ]
    along, up = ([point[i] for known in drawn for point in known] for i in (0, 1))
    if chart.x_marker:
        along.append(chart.x_marker.value)
        axes.axvline(along[-1], label=chart.x_marker.label, **style.REFERENCE | {"linestyle": ":"})
    if chart.y_marker:
        up.append(chart.y_marker.value)
        axes.axhline(up[-1], label=chart.y_marker.label, **style.REFERENCE)
    along += [0.0] * x_axis.shares
    up += [0.0] * (y_axis.shares or y_axis.counted)
    intervals = [ends for curve in chart.curves for ends in curve.ends]
    y_ends = style.ends_of(y_axis, up, intervals)
    style.scale(axes, "y", y_axis, y_ends, np.inf)
    style.scale(axes, "x", x_axis, style.ends_of(x_axis, along, ()), 0.8 * width)
    axes.grid()
    # One that is called like its axis needs no legend.
    alone = [curve.name for curve in chart.curves] == [y_axis.label]
    looks = zip(style.CURVES * 5, cycle(style.DASHES), cycle(style.SHAPES), strict=False)
    places, hints = [], []
    for (colour, dashes, shape), curve, known in zip(looks, chart.curves, drawn, strict=False):
        step = max(1, len(known) // 8) if not curve.ends else 1
        look: Any = {"color": colour, "linestyle": dashes, "marker": shape, "markevery": step}
        name = "_" if alone else curve.name
        axes.plot(*np.reshape(known, (-1, 2)).T, label=name, linewidth=1.6, mew=0, **look)
        whiskers = [(x, *ends) for x, ends in zip(curve.x, curve.ends, strict=False) if ends]
        if whiskers:
            at, *reached = np.transpose(whiskers)
            low, high = np.clip(reached, *y_ends)
            line: Any = {"color": colour, "elinewidth": 1.2, "capsize": 2.5, "fmt": "none"}
            axes.errorbar(at, (low + high) / 2, (high - low) / 2, **line)
        places += known[::step]
        hints += [chart.point(curve, point) for point in known[::step]]
    empty: Any = {"facecolor": "none", "edgecolor": PAGE, "linewidth": 0, "clip_on": False}
    x, y = np.reshape(places, (-1, 2)).T
    axes.scatter(x, y, s=100, marker="s", zorder=9, gid="hints", **empty)
    above, below = folded(y_axis.label, width), folded(x_axis.label, 0.8 * width)
    axes.set_title("\n".join(above))
    # The last line is for what places say.
    last = axes.set_xlabel("\n".join([*below, " "]))
    return Body(_HIGH + len(above) + len(below) + 3, hints, last)


def draw_grid(figure: Figure | SubFigure, chart: HeatMap, width: float) -> Body:
    """Shares in a grid, the darker the larger; pale and framed where they may be nothing."""
    shape = len(chart.rows), len(chart.columns)
    if 0 in shape:
        return Body()
    axes, cells = figure.subplots(), [cell for row in chart.cells for cell in row]
    labels = [folded(name, _LABELS * width, LABEL_LINES) for name in chart.rows]
    before = max(len(line) for lines in labels for line in lines) * SMALL
    wide = (width - min(before, _LABELS * width)) / shape[1]
    # Two lines of words beside each other, or else upright.
    longest = max(map(len, chart.columns)) * SMALL
    upright = longest > 1.6 * wide
    room = min(1.25 * longest, _UPRIGHT) if upright else wide
    names = [folded(name, room, most=max(1, int(wide / LINE))) for name in chart.columns]
    edges = np.cumsum([0.0, *(max(_CELL, len(lines) + 0.3) for lines in labels)])
    across, down = np.arange(shape[1]) + 0.5, (edges[:-1] + edges[1:]) / 2
    # What may be nothing must not look like something, nor make the others pale.
    clear = [cell.value for cell in cells if cell and cell.value and not _doubtful(cell)]
    shades = [_shade(cell, max([_LEAST_DARKEST, *clear])) for cell in cells]
    colours = [
        to_rgba(style.CELLS if cell else style.GRID, shade)
        for cell, shade in zip(cells, shades, strict=True)
    ]
    # Numbers of all cells are written alike: with their places, or whole, or not at all.
    known = [cell for cell in cells if cell and cell.value is not None]
    texts = {cell: share(cell.value, cell.interval) for cell in known}
    whole = {cell: number(100 * (cell.value or 0.0), 0) for cell in known}
    shown: Any = {}
    for each in (whole, texts):
        shown = each if max(map(len, each.values()), default=0) * SMALL <= wide - 3 else shown
    boxes = []
    for i, cell in enumerate(cells):
        x, y = across[i % shape[1]], down[i // shape[1]]
        left, above = x - 0.5 + 1 / wide, edges[i // shape[1]] + 1 / LINE
        right, below = 2 * x - left, 2 * y - above
        boxes.append([(left, above), (right, above), (right, below), (left, below)])
        if cell in shown:
            how: Any = {"ha": "center", "va": "center", "in_layout": False}
            axes.text(x, y, shown[cell], color=PAGE if shades[i] > _DARK else INK, **how)
    look: Any = {
        "facecolor": [*map(to_rgba, colours, shades)],
        "edgecolor": [QUIET if cell and _doubtful(cell) else "none" for cell in cells],
        "linestyle": style.DASHED,
        "linewidth": 0.8,
    }
    axes.add_collection(PolyCollection(boxes, gid="hints", **look))
    axes.set(xlim=(0, shape[1]), ylim=(edges[-1], 0))
    axes.set_yticks(down, ["\n".join(lines) for lines in labels])
    axes.set_xticks(across, ["\n".join(lines) for lines in names], rotation=90 * upright)
    axes.tick_params(labeltop=True, labelbottom=False)
    reasons = sorted({cell.reason for cell in cells if cell and cell.value is None and cell.reason})
    remarks = ["in %"] * (shown is whole) + [f"undefined: {'; '.join(reasons)}"] * bool(reasons)
    under = folded("; ".join(remarks), 0.7 * width)
    # The last line is for what places say.
    last = axes.set_xlabel("\n".join([*under, " "]))
    head = room / LINE if upright else max(map(len, names))
    axis = Axis("", shares=True)
    hints = [entry(cell, written([cell], axis)[0], axis) if cell else "" for cell in cells]
    return Body(edges[-1] + head + len(under) + 2, hints, last)


def _shade(cell: Mark | None, darkest: float) -> float:
    if cell is None:
        return 1.0
    shade = float(np.clip((cell.value or 0.0) / darkest, 0, 0.15 if _doubtful(cell) else 1))
    return shade if shade > _DARK else shade * _PALER


def _doubtful(cell: Mark) -> bool:
    return cell.lower is None or cell.lower <= 0 or cell.doubtful or cell.category is not None
