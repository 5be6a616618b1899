"""Charts as Matplotlib figures: forest plots, bars, heat maps and curves.

One layout serves pages, files and notebooks. A figure is `WIDTH` inches wide and as high as its
rows need; pages scale it. Matplotlib's constrained layout makes room for labels and legends.
"""

import io
import textwrap
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, cycle
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap, to_rgba
from matplotlib.figure import Figure, SubFigure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import FixedLocator, LogLocator, MaxNLocator

from ...deadlines import check_deadline
from ..long_table import DECISIONS, Row
from ..wording import number, share
from . import (
    DOUBTFUL_LABEL,
    INNER_LABEL,
    OUTER_LABEL,
    Axis,
    Chart,
    CurveChart,
    EstimateChart,
    HeatMap,
    Panel,
    shorten,
)

#: Sizes in inches: width of a figure, height of a row, of an axis with its label, of a text line.
WIDTH, _ROW, _AXIS, _LINE = 4.6, 0.24, 0.55, 0.16
#: Characters of a line over the whole width and of a label, and largest number of lines of a label.
_LETTERS, _LABEL, _LABEL_LINES = 62, 24, 3

#: The only colours of drawings, which pages replace in dark mode. Their contrast with white is 17,
#: 7, 3.5 and 1.3 to 1; texts and data use the first three.
INK, QUIET, BAR, GRID, PAGE = "#1a1a1a", "#595959", "#4a8fc2", "#e2e2e2", "#ffffff"
#: Colours of bars that are not usable, of intervals without perturbation, and of grid cells.
PALE, INNER, CELLS = "#d5dfe8", "#c05a00", "#0b5c8a"
#: Combinations of colours and dashes distinguish more than twenty curves; categories use the first.
CURVES = ("#0072b2", "#c04f00", "#007d5a", "#a8528a", "#7a6000")
_DASHES, _SHAPES = ("-", "--", "-.", ":"), ("o", "D", "v", "s", "^", "P", "X")
_DASHED: Any = (0, (3, 2))
_REFERENCE: Any = {"color": INK, "linewidth": 1, "linestyle": _DASHED, "zorder": 1}

#: Limits of the axis of shares in all charts, slightly wider than 0 to 1.
_SHARES = (-0.04, 1.04)
#: Shades of a grid. Texts are white on shades darker than `_DARK`; lighter shades are scaled by
#: `_PALER`, so that dark text is legible. Insignificant cells are at most `_FAINT`. The darkest
#: shade means a share of at least `_LEAST_DARKEST`, so that noise does not look like an effect.
_DARK, _PALER, _FAINT, _LEAST_DARKEST = 0.8, 0.78, 0.15, 0.05

SETTINGS: Any = {
    "font.family": "sans-serif",
    # The first font comes with Matplotlib, and is wide enough for the fonts of readers.
    "font.sans-serif": ["DejaVu Sans", "Verdana", "Arial", "Helvetica"],
    "font.size": 9.0,
    "text.color": INK,
    "text.hinting": "none",  # widths of texts do not depend on the resolution
    "text.parse_math": False,  # categories can contain dollar signs
    **{f"axes.spines.{side}": False for side in ("left", "right", "top", "bottom")},
    **{f"{axis}tick.major.size": 0 for axis in "xy"},
    "xtick.labelcolor": QUIET,
    "ytick.labelcolor": INK,
    "axes.axisbelow": True,
    "axes.facecolor": "none",
    "axes.labelcolor": QUIET,
    "axes.titlelocation": "left",
    "axes.titlesize": 9.0,
    "axes.titley": 1.0,
    "axes.titleweight": "bold",
    "figure.labelsize": 9.0,
    "figure.titlesize": 9.0,
    "figure.titleweight": "bold",
    "grid.color": GRID,
    "legend.borderaxespad": 0.0,
    "legend.borderpad": 0.2,
    "legend.frameon": False,
    "legend.labelspacing": 0.25,
    "lines.markeredgewidth": 1.2,
    "lines.markersize": 5.0,
    "svg.fonttype": "none",
}


class ChartFigure(Figure):
    """Figure with a representation for notebooks, not registered with pyplot."""

    def _repr_png_(self) -> bytes:
        buffer = io.BytesIO()
        with mpl.rc_context(SETTINGS):
            self.savefig(buffer, format="png", dpi=150)
        return buffer.getvalue()


def draw(chart: Chart, *, caption: bool = True) -> ChartFigure:
    """Draw a chart, shortened if it is too long; pages show its caption (title, notes) as text."""
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(SETTINGS)
        return _figure(shorten(chart), caption)


def _figure(chart: Chart, caption: bool) -> ChartFigure:
    figure, height = ChartFigure(), 0.1
    part: Figure | SubFigure = figure
    if caption:
        title = textwrap.wrap(chart.title, _LETTERS - 6)
        notes = [line for note in chart.notes for line in textwrap.wrap(note, _LETTERS)]
        figure.suptitle("\n".join(title), x=0, ha="left")
        figure.supxlabel("\n".join(notes), x=0, ha="left", color=QUIET)
        height += (len(title) + len(notes) + 1) * _LINE
        # Use a subfigure, because title and legend are both placed at the top of their figure.
        [[part]] = figure.subfigures(squeeze=False)
    if isinstance(chart, CurveChart):
        height += _draw_curves(part, chart)
    elif isinstance(chart, HeatMap):
        height += _draw_grid(part, chart)
    else:
        height += _draw_rows(part, chart)
    figure.set_size_inches(WIDTH, height + _draw_legend(part))
    check_deadline()
    # It runs twice by itself; running it again moves nothing by more than a pixel.
    ConstrainedLayoutEngine(w_pad=0.06, h_pad=0.03, hspace=0.0).execute(figure)
    for axes in figure.axes:
        # Round the positions, whose last digits vary between runs.
        axes.set_position(np.round(axes.get_position().bounds, 6))
    return figure


def _draw_legend(part: Figure | SubFigure) -> float:
    """Draw a legend above all axes; return its height."""
    handles: dict[str, Any] = {}
    for axes in part.axes:
        for handle, name in zip(*axes.get_legend_handles_labels(), strict=True):
            handles.setdefault("\n".join(textwrap.wrap(name, _LETTERS - 8)), handle)
    if not handles:
        return 0.0
    columns = 2 if len(handles) > 3 and max(map(len, handles)) < _LETTERS / 2 - 6 else 1
    part.legend(list(handles.values()), list(handles), loc="outside upper left", ncols=columns)
    lines = sum(1 + name.count("\n") for name in handles)
    return (-(-lines // columns) + 0.5) * 1.15 * _LINE


# Rows of estimates


def _draw_rows(part: Figure | SubFigure, chart: EstimateChart) -> float:
    """Draw panels below each other, one row for each estimate; return the height."""
    groups = [[panel] for panel in chart.panels if panel.rows]
    if not groups:
        return 0.0
    if chart.bars:
        # All bars share one linear axis, since bars begin at zero.
        axis = replace(groups[0][0].axis, scale="linear")
        groups = [[replace(panel, axis=axis) for [panel] in groups]]
    all_axes = part.subplots(len(groups), squeeze=False)[:, 0]
    heights = [
        _draw_group(axes, chart, group) for axes, group in zip(all_axes, groups, strict=True)
    ]
    all_axes[0].get_gridspec().set_height_ratios(heights)
    return sum(heights)


def _draw_group(axes: Axes, chart: EstimateChart, group: Sequence[Panel]) -> float:
    """Draw panels that share an axis; return the height."""
    axis, reference = group[0].axis, group[0].reference
    lines: list[tuple[str, Row | None]] = []
    for panel in group:
        check_deadline()
        if panel.heading and len(group) > 1:
            lines.append((panel.heading, None))
        lines += panel.rows
    if len(group) == 1 and group[0].heading:
        axes.set_title("\n".join(textwrap.wrap(group[0].heading, _LETTERS - _LABEL)), x=0)
    rows = [(row, place) for place, (_, row) in enumerate(lines) if row is not None]
    limits = _limits_of_rows(chart, [row for row, _ in rows], group[0])
    axes.set(ylim=(len(lines) - 0.5, -0.5))
    axes.set_yticks(range(len(lines)), [_label(label) for label, _ in lines])
    for tick, (_, row) in zip(axes.get_yticklabels(), lines, strict=True):
        if row is None:
            tick.set_fontweight("bold")
    _set_axis(axes, "x", axis, limits)
    titled = axes.get_title(loc="left").replace("\n", " ").casefold()
    if axis.label.casefold() != titled:
        axes.set_xlabel("\n".join(textwrap.wrap(axis.label, _LETTERS - _LABEL)))
    axes.grid(axis="x")
    if chart.bars or axis.shares:
        axes.axvline(0, color=INK if chart.bars else QUIET, linewidth=0.8, zorder=3)
    if reference:
        axes.axvline(reference.value, label=reference.label, **_REFERENCE)
    _draw_marks(axes, chart, [(row, place) for row, place in rows if row.value is not None])
    for row, place in rows:
        if row.value is None:
            words = "undefined" if row.undefined is None else f"undefined: {row.undefined}"
            text = "\n".join(textwrap.wrap(words, _LETTERS - _LABEL, max_lines=2, placeholder="…"))
            at = axes.get_yaxis_transform()
            axes.text(0.01, place, text, transform=at, va="center", color=QUIET, in_layout=False)
    # The longest label determines the height of all rows.
    folded = max(_label(label).count("\n") for label, _ in lines)
    title = axes.get_title("left")
    return (_ROW + 0.9 * _LINE * folded) * len(lines) + _LINE * 1.5 * bool(title) + _AXIS


def _label(words: str) -> str:
    """Fold the label of a row into a few short lines."""
    hyphens = any(len(word) > _LABEL for word in words.split())
    how: Any = {"max_lines": _LABEL_LINES, "placeholder": "…", "break_on_hyphens": hyphens}
    return "\n".join(textwrap.wrap(words, _LABEL, **how))


def _limits_of_rows(chart: EstimateChart, rows: Sequence[Row], panel: Panel) -> tuple[float, float]:
    """Return the limits of the axis of rows; for shares, they are the same in all charts."""
    axis, values = panel.axis, [row.value for row in rows if row.value is not None]
    values += [panel.reference.value] if panel.reference else []
    intervals = [row.drawn for row in rows]
    if not axis.shares or axis.scale == "log":
        return _limits(axis, values + ([0.0] if chart.bars else []), intervals)
    if values and (min(values) < _SHARES[0] or max(values) > _SHARES[1]):
        return _limits(axis, [*values, *_SHARES], intervals)
    return _SHARES


def _draw_marks(axes: Axes, chart: EstimateChart, rows: Sequence[tuple[Row, int]]) -> None:
    """Draw values as dots or bars, with their intervals in one tone or two.

    An interval that leaves the axis has no cap at that end.
    """
    inner = [(*alone, y) for row, y in rows if (alone := chart.inner(row))]
    outer = OUTER_LABEL if inner else "_"
    # The legend lists usable estimates first, and decisions in their order.
    order, by_look = ["", *DECISIONS], defaultdict(list)
    for row, y in rows:
        by_look[row.doubtful, order.index(chart.category(row))].append((row, y))
    for (doubtful, place), some in sorted(by_look.items(), key=lambda look: look[0]):
        name = DOUBTFUL_LABEL if doubtful else order[place] or "_"
        colour = QUIET if doubtful else INK if chart.bars else CURVES[max(place - 1, 0) % 5]
        dashes: Any = _DASHED if doubtful else "-"
        numbers = [(row.value, *(row.drawn or (np.nan, np.nan)), y) for row, y in some]
        value, low, high, at = np.array(numbers, float).T
        if chart.bars:
            edge: Any = {"edgecolor": QUIET, "linestyle": dashes, "linewidth": 0.6 * doubtful}
            axes.barh(at, value, 0.6, color=PALE if doubtful else BAR, label=name, zorder=2, **edge)
        else:
            face = PAGE if doubtful or (place % 2 == 0 and place) else colour
            shape = _SHAPES[max(place - 1, 0) % len(_SHAPES)]
            look: Any = {"color": colour, "markerfacecolor": face, "zorder": 6}
            axes.plot(value, at, shape, label=name, **look)
        if np.isfinite(low).any():
            line: Any = {"colors": colour, "linewidth": 1.2, "zorder": 4}
            limits = axes.get_xlim()
            within = np.clip([low, high], *limits)
            axes.hlines(at, within[0], within[1], linestyles=dashes, label=outer, **line)
            ends, beside = np.array([*low, *high]), np.array([*at, *at])
            seen = (ends >= limits[0]) & (ends <= limits[1])
            axes.vlines(ends[seen], beside[seen] - 0.18, beside[seen] + 0.18, **line)
    if inner:
        low, high, at = np.array(inner).T
        axes.hlines(at, low, high, colors=INNER, linewidth=2.8, zorder=4, label=INNER_LABEL)


# Curves and grids


def _draw_curves(part: Figure | SubFigure, chart: CurveChart) -> float:
    """Draw all curves on one pair of axes; return the height."""
    axes, x_axis, y_axis = part.subplots(), chart.x_axis, chart.y_axis
    drawn = [
        [(x, y) for x, y in curve.defined_points if _fits(x, x_axis) and _fits(y, y_axis)]
        for curve in chart.curves
    ]
    along = [x for x, _ in chain(*drawn)] + [0.0] * x_axis.shares
    up = [y for _, y in chain(*drawn)] + [0.0] * (y_axis.shares or y_axis.counted)
    if chart.x_marker:
        along.append(chart.x_marker.value)
        axes.axvline(along[-1], label=chart.x_marker.label, **_REFERENCE | {"linestyle": ":"})
    if chart.y_marker:
        up.append(chart.y_marker.value)
        axes.axhline(up[-1], label=chart.y_marker.label, **_REFERENCE)
    _set_axis(axes, "x", x_axis, _limits(x_axis, along, ()))
    _set_axis(axes, "y", y_axis, _limits(y_axis, up, chain(*(c.ends for c in chart.curves))))
    axes.grid(axis="both")
    # A single curve with the name of its axis needs no legend.
    alone = [curve.name for curve in chart.curves] == [y_axis.label]
    looks = zip(CURVES * 5, cycle(_DASHES), cycle(_SHAPES), strict=False)
    for (colour, dashes, shape), curve, known in zip(looks, chart.curves, drawn, strict=False):
        step = 1 if curve.ends else max(1, len(known) // 8)
        look: Any = {"color": colour, "linestyle": dashes, "marker": shape, "markevery": step}
        name = "_" if alone else curve.name
        axes.plot(*np.reshape(known, (-1, 2)).T, label=name, linewidth=1.6, mew=0, **look)
        whiskers = [(x, *ends) for x, ends in zip(curve.x, curve.ends, strict=False) if ends]
        if whiskers:
            at, low, high = np.transpose(whiskers)
            line: Any = {"color": colour, "elinewidth": 1.2, "capsize": 2.5, "fmt": "none"}
            axes.errorbar(at, (low + high) / 2, (high - low) / 2, **line)
    axes.set_title("\n".join(textwrap.wrap(y_axis.label, _LETTERS)), fontweight="normal", x=0)
    axes.set_xlabel("\n".join(textwrap.wrap(x_axis.label, _LETTERS)))
    return 2.9


def _draw_grid(part: Figure | SubFigure, chart: HeatMap) -> float:
    """Draw shares in a grid, the darker the larger; return the height."""
    if not chart.rows or not chart.columns:
        return 0.0
    axes, many = part.subplots(), len(chart.columns)
    known = [cell for row in chart.cells for cell in row if cell and cell.value is not None]
    clear = [cell.value or 0.0 for cell in known if not chart.is_pale(cell)]
    darkest = max([_LEAST_DARKEST, *clear])
    shades = np.array([[_shade(chart, cell, darkest) for cell in row] for row in chart.cells])
    opacity = np.linspace(0, 1, 101)
    opacity = np.where(opacity > _DARK, opacity, opacity * _PALER)
    colours = ListedColormap([to_rgba(CELLS, each) for each in opacity], bad=GRID)
    across, down = np.arange(many + 1), np.arange(len(chart.rows) + 1)
    mesh: Any = {"vmin": 0, "vmax": 1, "edgecolors": PAGE, "linewidth": 1}
    axes.pcolormesh(across, down, np.ma.masked_invalid(shades), cmap=colours, **mesh)
    # By the number of columns, all numbers have decimals, are whole, or are omitted.
    if many <= 14:
        for row, place in _placed(chart.cells):
            if row.value is not None:
                whole = many > 5
                text = number(100 * row.value, 0) if whole else share(row.value, row.drawn)
                ink = PAGE if shades[place] > _DARK else INK
                x, y = place[1] + 0.5, place[0] + 0.5
                axes.text(x, y, text, ha="center", va="center", color=ink, in_layout=False)
    axes.set(ylim=(len(chart.rows), 0))
    axes.set_yticks(down[:-1] + 0.5, [_label(name) for name in chart.rows])
    upright = many * max(map(len, chart.columns)) > _LETTERS - _LABEL
    names = [_label(name) if upright else name for name in chart.columns]
    axes.set_xticks(across[:-1] + 0.5, names, rotation=90 * upright)
    axes.tick_params(labeltop=True, labelbottom=False, labelcolor=INK)
    reasons = sorted({c.undefined for row in chart.cells for c in row if c and c.undefined})
    under = ["in percent"] * (5 < many <= 14) + [f"undefined: {'; '.join(reasons)}"] * bool(reasons)
    lines = textwrap.wrap("; ".join(under), _LETTERS - _LABEL)
    axes.set_xlabel("\n".join(lines))
    head = max(len(line) for name in names for line in name.split("\n")) * 0.08 if upright else 0.2
    return 0.35 * len(chart.rows) + head + _LINE * (len(lines) + 1)


def _placed(
    cells: Sequence[Sequence[Row | None]],
) -> Iterator[tuple[Row, tuple[int, int]]]:
    return ((cell, (i, j)) for i, row in enumerate(cells) for j, cell in enumerate(row) if cell)


def _shade(chart: HeatMap, cell: Row | None, darkest: float) -> float:
    """Return the shade of a cell from 0 to 1; NaN without a cell."""
    if cell is None:
        return np.nan
    return float(np.clip((cell.value or 0.0) / darkest, 0, _FAINT if chart.is_pale(cell) else 1))


# Axes


def _fits(value: float, axis: Axis) -> bool:
    """Return whether an axis can show a value."""
    return bool(np.isfinite(value)) and (value > 0 or axis.scale == "linear")


def _limits(
    axis: Axis, values: Iterable[float], intervals: Iterable[tuple[float, float] | None]
) -> tuple[float, float]:
    """Return the limits of an axis for all values, and for intervals without very far ends."""
    log = axis.scale == "log"

    def places(numbers: Iterable[float]) -> list[float]:
        fit = [number for number in numbers if _fits(number, axis)]
        return [float(np.log10(number)) for number in fit] if log else fit

    pairs = [places(interval) for interval in intervals if interval]
    widths = [pair[1] - pair[0] for pair in pairs if len(pair) == 2]
    within = places(values) or [0.0]
    far = 2 * max(max(within) - min(within), float(np.median(widths)) if widths else 0.0)
    reached = within + [end for pair in pairs for end in pair]
    low, high = max(min(reached), min(within) - far), min(max(reached), max(within) + far)
    room = 0.04 * (high - low or abs(high) or 1.0)
    return (10 ** (low - room), 10 ** (high + room)) if log else (low - room, high + room)


def _set_axis(axes: Axes, name: str, axis: Axis, limits: tuple[float, float]) -> None:
    """Set scale, limits and ticks of the axis `name` ("x" or "y")."""
    # A single wave has one tick.
    locator: Any = MaxNLocator(4, steps=[1, 2, 2.5, 5, 10], integer=axis.counted, min_n_ticks=1)
    if axis.scale == "log" and (ratio := limits[1] / limits[0]) > 10:
        # A short logarithmic axis contains few powers of ten.
        locator = LogLocator(subs=(1, 2, 5) if ratio < 100 else (1,), numticks=5)
    ticks = [tick for tick in locator.tick_values(*limits) if limits[0] <= tick <= limits[1]]
    axes.set(**{f"{name}scale": axis.scale, f"{name}lim": limits})
    axes.minorticks_off()
    drawn = axes.xaxis if name == "x" else axes.yaxis
    drawn.set_major_locator(FixedLocator(ticks))
    drawn.set_major_formatter(lambda value, _: axis.written(value))
