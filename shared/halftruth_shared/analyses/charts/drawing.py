"""Charts as Matplotlib figures: its constrained layout finds room for all that stands around axes.

A row is a line with its label and its number, and below them, over the whole width, its dot or bar
with the interval: so the picture is narrow enough to be read on a phone. Lengths are in points.
"""

import io
import math
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import cycle
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from matplotlib.textpath import text_to_path
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator
from matplotlib.transforms import blended_transform_factory

from ..wording import share
from . import (
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
    shortened,
    written,
)

WIDTH, MARGIN = 375.0, 10.0
ROOM = WIDTH - 2 * MARGIN
#: A line of text, and how far its baseline is below its top.
LINE, BASE = 13.0, 10.0
#: The line with the dot or bar, and how far below its top it is.
MARK, MIDDLE = 20.0, 5.0
#: Axes with curves; least width and height of a cell of a grid; widest names beside it.
HIGH, CELL, ROW, NAMES = 250.0, 54.0, 38.0, 110.0

#: Contrast with white is 17, 7, 3.5 and 1.3 to 1: letters and data have the first three.
INK, QUIET, BAR, GRID = "#1a1a1a", "#595959", "#4a8fc2", "#e2e2e2"
#: A bar that is not usable.
PALE = "#d5dfe8"
#: Stands out from the page, from the bars, and from the ends of the interval around it.
INNER = "#c05a00"
#: Categories differ in colour, and in shape and filling for those who see no colour.
_MARKS: tuple[dict[str, Any], ...] = (
    {"color": "#0072b2", "marker": "o"},
    {"color": "#b35900", "marker": "D", "markerfacecolor": "white"},
    {"color": "#595959", "marker": "v"},
)
#: Together they differ for twenty curves and more.
_COLOURS = ("#0072b2", "#c04f00", "#007d5a", "#a8528a", "#7a6000")
_DASHES = ("-", "--", "-.", ":")
_SHAPES = ("o", "s", "^", "D", "v", "P", "X")
_DASHED: dict[str, Any] = {"color": INK, "linewidth": 1, "linestyle": (0, (4, 2)), "zorder": 1}
#: Keeps grid and lines from running through a text.
_BEHIND = {"facecolor": "white", "edgecolor": "none", "pad": 1}
#: From white to a blue; letters are white from a share of it on.
_SHADES, _DARK = LinearSegmentedColormap.from_list("shares", ["#ffffff", "#0b5c8a"]), 0.8
#: The darkest shade stands for at least this share, or noise would look like something.
_LEAST_DARKEST = 0.05

SETTINGS: Any = {
    "font.family": "sans-serif",
    # The first comes with Matplotlib; it is wide, and leaves room for those of readers.
    "font.sans-serif": ["DejaVu Sans", "Verdana", "Arial", "Helvetica"],
    "font.size": 9.5,
    "text.color": INK,
    "text.parse_math": False,  # a category may hold dollar signs
    "axes.axisbelow": True,
    "axes.labelcolor": QUIET,
    "axes.spines.left": False,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.spines.bottom": False,
    "grid.color": GRID,
    "legend.frameon": False,
    "legend.fontsize": 9.5,
    "xtick.labelcolor": QUIET,
    "xtick.labelsize": 9.5,
    "xtick.major.size": 0,
    "ytick.labelcolor": QUIET,
    "ytick.labelsize": 9.5,
    "ytick.major.size": 0,
    "svg.fonttype": "none",
    "svg.hashsalt": "halftruth",
}


class Drawn(Figure):
    """Figure that notebooks show, freed when it is not referenced."""

    def _repr_png_(self) -> bytes:
        buffer = io.BytesIO()
        self.savefig(buffer, format="png")
        return buffer.getvalue()


def draw(chart: Chart) -> Figure:
    """Draw a chart, or as much of it as can be read, with settings of its own."""
    with mpl.rc_context(SETTINGS):
        return figure_of(shortened(chart))


def figure_of(chart: Chart) -> Figure:
    """The picture of a chart, as high as it needs."""
    if isinstance(chart, CurveChart):
        return _curves(chart)
    return _grid(chart) if isinstance(chart, HeatMap) else _rows(chart)


def _rows(chart: EstimateChart) -> Figure:
    """Panels below each other, each on its own axis."""
    figure = Drawn(figsize=(WIDTH / 72, 1))
    drawn = [panel for panel in chart.panels if panel.rows]
    if not drawn:
        return _page(figure, chart, [], 0)
    panels, captions = [[panel] for panel in drawn], ("", chart.values_label)
    if chart.bars:
        # Bars begin at zero, which a logarithmic axis does not have.
        axis = replace(drawn[0].axis, scale="linear")
        panels = [[replace(panel, axis=axis) for panel in drawn]]
        captions = (chart.labels, chart.values_label)
    every = list(figure.subplots(len(panels), squeeze=False)[:, 0])
    heights = []
    for axes, groups in zip(every, panels, strict=True):
        y = _words(axes, 0, *captions, color=QUIET) if axes is every[0] and any(captions) else 0
        heights.append(_panel(axes, y, groups, chart))
    every[0].get_gridspec().set_height_ratios(heights)
    _legend(every[0], chart)
    return _page(figure, chart, every, sum(heights))


def _panel(axes: Axes, y: float, groups: Sequence[Panel], chart: EstimateChart) -> float:
    """Draw groups of rows on one axis, from y downwards; returns where they end."""
    bars, axis, reference = chart.bars, groups[0].axis, groups[0].reference
    rows = [row for group in groups for row in group.rows]
    values = [row.value for row in rows if row.value is not None]
    line = [reference.value] if reference else []
    zero = [0.0] if bars or axis.shares else []
    _measure(axes, "x", axis, _ends(axis, values + line + zero, [row.interval for row in rows]))
    if not values:
        axes.set_axis_off()
    elif zero:
        axes.axvline(0, color=INK if bars else QUIET, linewidth=0.8, zorder=3)
    numbers, top = iter(written(rows, axis)), y
    placed: dict[str, list[tuple[float, Mark]]] = {}
    for group in groups:
        if group.heading:
            y = _words(axes, y + 5, _folded(group.heading, ROOM, "bold"), weight="bold")
        if reference and values:
            top = y
            _beside(axes, reference, y + BASE, axes.transData)
            y += LINE
        for row, number in zip(group.rows, numbers, strict=False):
            if row.value is None:
                y = _words(axes, y, _folded(row.label, ROOM))
                y = _words(axes, y, _folded(number, ROOM), color=QUIET) + MARK - LINE
                continue
            y = _words(axes, y, _folded(row.label, ROOM - _width(number) - 14), number)
            look = _look(chart, row.category)
            if not bars:
                look = look | ({"markerfacecolor": "white"} if row.doubtful else {})
                axes.plot([row.value], [y + MIDDLE], zorder=5, clip_on=False, **look)
            placed.setdefault(look["color"], []).append((y + MIDDLE, row))
            y += MARK
    if bars and values:
        known = [(at, row.value, PALE if row.doubtful else BAR) for at, row in placed[INK]]
        at, lengths, colours = zip(*known, strict=True)
        axes.barh(at, lengths, height=8, color=colours, zorder=2)
    for colour, estimates in placed.items():
        _intervals(axes, estimates, colour)
    if reference and values:
        axes.axvline(reference.value, ymax=1 - top / y, **_DASHED)
    axes.set(ylim=(y, 0), yticks=[])
    return y


def _words(axes: Axes, y: float, label: str, number: str = "", **how: Any) -> float:
    """Write a label on the left and a number on the right; returns where they end."""
    # From margin to margin, where a layout with long numbers on the axis makes it shorter.
    figure: Any = axes.get_figure(root=True)
    how["transform"] = blended_transform_factory(figure.transFigure, axes.transData)
    how |= {"bbox": _BEHIND, "zorder": 4, "in_layout": False}
    # Line by line, or SVG could not align them in another font.
    lines = label.split("\n")
    for i, line in enumerate(lines):
        axes.text(MARGIN / WIDTH, y + i * LINE + BASE, line, **how)
    axes.text(1 - MARGIN / WIDTH, y + BASE, number, ha="right", **how)
    return y + len(lines) * LINE


def _beside(axes: Axes, reference: Reference, y: float, where: Any) -> None:
    """Name a line at some x, on the side that has more room."""
    place = (axes.transData - axes.transAxes).transform((reference.value, 1.0))[0]
    side, label = "left" if place < 0.5 else "right", _folded(reference.label, ROOM / 2)
    axes.text(reference.value, y, label, ha=side, zorder=4, transform=where, bbox=_BEHIND)


def _intervals(axes: Axes, placed: Sequence[tuple[float, Mark]], colour: str) -> None:
    """Intervals, and in another tone thicker ones within; arrows where they leave the axis.

    All at once: an artist for each takes most of the time that a long chart takes.
    """
    left, right = axes.get_xlim()
    whole: Any = {"ecolor": colour, "capsize": 3}
    within: Any = {"ecolor": INNER, "elinewidth": 3.5}
    for intervals, how in (
        ([(y, row.interval) for y, row in placed if row.interval], whole),
        ([(y, row.inner) for y, row in placed if row.inner], within),
    ):
        if intervals:
            low, high = np.clip([ends for _, ends in intervals], left, right).T
            heights = [y for y, _ in intervals]
            axes.errorbar(
                (low + high) / 2, heights, xerr=(high - low) / 2, fmt="none", zorder=4, **how
            )
    reached = [
        (y, [end for end in (row.value, row.lower, row.upper) if end is not None])
        for y, row in placed
    ]
    for edge, arrow, leaving in (
        (left, "<", [y for y, ends in reached if min(ends) < left]),
        (right, ">", [y for y, ends in reached if max(ends) > right]),
    ):
        if leaving:
            [drawn] = axes.plot(
                [edge] * len(leaving), leaving, linestyle="none", marker=arrow, color=colour,
                clip_on=False,
            )  # fmt: skip
            drawn.set_in_layout(False)


def _look(chart: EstimateChart, category: str | None) -> dict[str, Any]:
    if chart.bars:
        return {"color": INK}
    place = chart.categories.index(category) if category in chart.categories else 0
    return _MARKS[place % len(_MARKS)]


def _legend(axes: Axes, chart: EstimateChart) -> None:
    """Above the first panel, what categories there are and what thick lines mean."""
    categories = {row.category for row in chart.rows}
    handles = [
        Line2D([], [], label=name, **_look(chart, name))
        for name in chart.categories
        if name in categories
    ]
    if any(row.inner for row in chart.rows):
        handles.append(Line2D([], [], color=INNER, linewidth=3.5, label=INNER_LABEL))
        handles.append(Line2D([], [], color=INK, linewidth=1.5, label=OUTER_LABEL))
    if handles:
        fits = sum(_width(str(handle.get_label())) + 30 for handle in handles) <= ROOM
        axes.legend(
            handles=handles, ncols=len(handles) if fits else 1, loc="lower left",
            bbox_to_anchor=(0, 1), borderpad=0, handlelength=1.4, columnspacing=1,
        )  # fmt: skip


def _curves(chart: CurveChart) -> Figure:
    """All curves on one pair of axes, with a legend below."""
    figure = Drawn(figsize=(WIDTH / 72, 1))
    axes = figure.subplots()
    drawn = np.empty((0, 2))
    looks = zip(cycle(_COLOURS), cycle(_DASHES), cycle(_SHAPES), strict=False)
    for curve, (colour, dashes, shape) in zip(chart.curves, looks, strict=False):
        known = [
            (x, y) if _fits(x, chart.x_axis) and _fits(y, chart.y_axis) else (np.nan, np.nan)
            for x, y in zip(curve.x, curve.y, strict=True)
        ]
        points = np.array(known).reshape(-1, 2)
        drawn = np.concatenate((drawn, points))
        axes.plot(
            *points.T, color=colour, linestyle=dashes, linewidth=1.8, marker=shape, markersize=5,
            markevery=max(1, len(points) // 8), label=_folded(curve.name, ROOM - 50),
        )  # fmt: skip
    for i, side, axis, line in (
        (0, "x", chart.x_axis, chart.x_marker),
        (1, "y", chart.y_axis, chart.y_marker),
    ):
        zero = [0.0] if axis.shares or axis.counted else []
        others = ([line.value] if line else []) + zero
        _measure(axes, side, axis, _ends(axis, [*drawn[:, i], *others], []))
    if chart.x_marker:
        axes.axvline(chart.x_marker.value, **_DASHED)
        _beside(axes, chart.x_marker, 1.02, axes.get_xaxis_transform())
    if chart.y_marker:
        axes.axhline(chart.y_marker.value, **_DASHED)
        label, where = _folded(chart.y_marker.label, 70), axes.get_yaxis_transform()
        axes.text(1.02, chart.y_marker.value, label, transform=where, va="center")
    # One that is called like its axis needs no legend.
    if [curve.name for curve in chart.curves] not in ([], [chart.y_axis.label]):
        fits = all(_width(curve.name) <= ROOM / 2 - 55 for curve in chart.curves)
        figure.legend(loc="outside lower left", ncols=2 if fits else 1, handlelength=4)
    return _page(figure, chart, [axes], HIGH)


def _grid(chart: HeatMap) -> Figure:
    """Shares in a grid, the darker the larger; pale and framed where they may be nothing."""
    cells = [cell for row in chart.cells for cell in row if cell]
    reasons = sorted({cell.reason for cell in cells if cell.value is None and cell.reason})
    notes = (*chart.notes, f"Undefined: {'; '.join(reasons)}.") if reasons else chart.notes
    labels = [_folded(name, NAMES) for name in chart.rows]
    before = max((_width(line) for label in labels for line in label.split("\n")), default=0.0)
    many = max(len(chart.columns), 1)
    wide = max(WIDTH, before + CELL * many + 3 * MARGIN)
    upright = max(map(_width, chart.columns), default=0.0) > (wide - before) / many - MARGIN
    figure = Drawn(figsize=(wide / 72, 1))
    axes = figure.subplots()
    axes.set(xlim=(0, many), ylim=(max(len(labels), 1), 0), facecolor=GRID)
    axes.set_yticks(np.arange(len(labels)) + 0.5, labels)
    axes.xaxis.tick_top()
    names = [_folded(name, NAMES) for name in chart.columns]
    axes.set_xticks(np.arange(len(names)) + 0.5, names, rotation=90 if upright else 0)
    # What may be nothing must not look like something, nor make the others pale.
    clear = [cell.value for cell in cells if cell.value is not None and not _doubtful(cell)]
    darkest = max([_LEAST_DARKEST, *clear])
    for (i, j), cell in np.ndenumerate(np.array(chart.cells, dtype=object)):
        if cell is None:
            continue
        doubtful = _doubtful(cell)
        shade = np.clip((cell.value or 0.0) / darkest, 0, 0.15 if doubtful else 1)
        frame: Any = {"edgecolor": QUIET, "linestyle": (0, (3, 2))} if doubtful else {}
        axes.add_patch(Rectangle((j + 0.04, i + 0.04), 0.92, 0.92, fc=_SHADES(shade), **frame))
        words = share(cell.value, cell.interval)
        colour = "white" if shade > _DARK else "black"
        axes.text(j + 0.5, i + 0.5, words, ha="center", va="center", size=8, color=colour)
    return _page(figure, replace(chart, notes=notes), [axes], ROW * len(labels))


def _doubtful(cell: Mark) -> bool:
    return cell.lower is None or cell.lower <= 0 or cell.category is not None


def _measure(axes: Axes, side: str, axis: Axis, ends: tuple[float, float]) -> None:
    """Set scale, ends, ticks, grid and label of one side ("x" or "y")."""
    drawn = axes.xaxis if side == "x" else axes.yaxis
    axes.set(**{f"{side}scale": axis.scale, f"{side}lim": ends})
    # A short logarithmic axis has hardly any powers of ten.
    powers = axis.scale == "log" and ends[1] / ends[0] > 10
    subs = (1.0, 2.0, 5.0) if ends[1] / ends[0] < (100 if side == "x" else 3000) else (1.0,)
    drawn.set_major_locator(
        LogLocator(subs=subs, numticks=8)
        if powers
        else MaxNLocator(6, steps=[1, 2, 2.5, 5, 10], integer=axis.counted)
    )
    drawn.set_minor_locator(NullLocator())
    drawn.set_major_formatter(FuncFormatter(lambda value, place: axis.written(value)))
    drawn.set_label_text(_folded(axis.label, HIGH))
    drawn.grid(visible=True)


def _fits(value: float | None, axis: Axis) -> bool:
    """Return whether an axis has a place for a value."""
    return value is not None and math.isfinite(value) and (value > 0 or axis.scale == "linear")


def _ends(
    axis: Axis, values: Iterable[float], intervals: Iterable[tuple[float, float] | None]
) -> tuple[float, float]:
    """Ends of an axis around all values, and all but the far ends of very long intervals."""
    log = axis.scale == "log"

    def places(numbers: Iterable[float]) -> list[float]:
        fit = [number for number in numbers if _fits(number, axis)]
        return [float(np.log10(number)) for number in fit] if log else fit

    pairs = [places(interval) for interval in intervals if interval]
    widths = sorted(pair[1] - pair[0] for pair in pairs if len(pair) == 2)
    within = places(values) or [0.0]
    far = 2 * max(max(within) - min(within), widths[len(widths) // 2] if widths else 0.0)
    reached = within + [end for pair in pairs for end in pair]
    low, high = max(min(reached), min(within) - far), min(max(reached), max(within) + far)
    room = 0.04 * (high - low or abs(high) or 1.0)
    return (10 ** (low - room), 10 ** (high + room)) if log else (low - room, high + room)


def _page(figure: Figure, chart: Chart, axes: Sequence[Axes], height: float) -> Figure:
    """Give a figure title and notes, and the height with which its axes are as high as told."""
    wide = 72 * figure.get_figwidth()
    title = _folded(chart.title, wide - 2 * MARGIN, "bold", 13)
    notes = "\n".join(_folded(note, wide - 2 * MARGIN) for note in chart.notes)
    texts = [figure.text(0, 0, title, size=13, weight="bold")]
    texts += [figure.text(0, 0, notes, color=QUIET, linespacing=1.3)] if notes else []
    steps = [72 * text.get_window_extent().height / figure.dpi + 8 for text in texts]
    above = MARGIN + sum(steps)
    high = above + height + MARGIN
    figure.set_size_inches(wide / 72, high / 72)
    engine = ConstrainedLayoutEngine(w_pad=MARGIN / 72, h_pad=4 / 72, hspace=0, wspace=0)
    # First with more room than it takes, then with what that showed to be needed.
    for spare in (300.0, 0.0) if axes else ():
        high += spare
        figure.set_size_inches(wide / 72, high / 72)
        engine.set(rect=(0, 0, 1, 1 - above / high))
        engine.execute(figure)
        high += height - high * sum(each.get_position().height for each in axes)
    top = high - MARGIN
    for text, step in zip(texts, steps, strict=True):
        text.set(x=MARGIN / wide, y=top / high, va="top")
        top -= step
    return figure


def _folded(words: str, width: float, weight: str = "normal", size: float = 9.5) -> str:
    """A text in as many lines of a width as it needs, at most 16."""
    share, lines = width / max(_width(words, weight, size), 1.0), [words]
    for most in range(min(len(words), int(1.3 * share * len(words)) + 1), 0, -1):
        hyphens = any(len(word) > most for word in words.split())
        lines = textwrap.wrap(words, most, break_on_hyphens=hyphens, max_lines=16, placeholder="…")
        if all(_width(line, weight, size) <= width for line in lines):
            break
    return "\n".join(lines)


@lru_cache(maxsize=20_000)
def _width(words: str, weight: str = "normal", size: float = 9.5) -> float:
    font = FontProperties(size=size, weight=weight)
    return float(text_to_path.get_text_width_height_descent(words, font, ismath=False)[0])
