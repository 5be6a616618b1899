"""Charts as Matplotlib figures, laid out by its constrained layout.

A wide chart has the labels of its rows at the left of the axis and their numbers at its right; a
narrow one has both above the marks.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure, SubFigure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.transforms import blended_transform_factory

from . import (
    DOUBTFUL_LABEL,
    INNER_LABEL,
    OUTER_LABEL,
    Chart,
    CurveChart,
    EstimateChart,
    HeatMap,
    Mark,
    Panel,
    entry,
    shortened,
    style,
    written,
)
from .planes import draw_curves, draw_grid
from .style import INK, LABEL_LINES, LINE, NARROW, PAGE, QUIET, WIDE, Body, Drawn, folded

#: Thickness of a bar, half of an end of an interval, and room between rows, in lines of text.
_BAR, _CAP, _BETWEEN = 0.6, 0.22, 0.4
#: Shares of the width: most for labels, and least for the axis beside them.
_LABELS, _AXIS = 0.42, 0.36
#: Ends of the axis of shares that all charts have, with room for what is a little outside.
_SHARES = (-0.04, 1.04)
#: Room between the parts of a figure, in inches.
_PADS: Any = {"w_pad": 0.0, "h_pad": 0.03, "hspace": 0.0}

#: Rows with where they are.
_Placed = list[tuple[Mark, float]]


def draw(chart: Chart, width: float = WIDE) -> Drawn:
    """Draw a chart, or as much of it as can be read, with settings of its own."""
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(style.SETTINGS)
        figure = figure_of(shortened(chart), width)
    # Where it is shown, letters may be wider by other settings.
    figure.set_layout_engine("constrained", **_PADS)
    for axes in figure.axes:
        axes.set_in_layout(True)
    return figure


def figure_of(chart: Chart, width: float = WIDE, *, caption: bool = True) -> Drawn:
    """The picture of a chart, as high as it needs; pages have title and notes beside it."""
    figure, lines = Drawn(), 0.5
    if caption:
        title = folded(chart.title, width)
        notes = [line for note in chart.notes for line in folded(note, width)]
        figure.suptitle("\n".join(title), x=0, ha="left")
        figure.supxlabel("\n".join(notes), x=0, ha="left", color=QUIET)
        lines += len(title) + len(notes) + 0.5
    # A title and a legend are each the topmost of their figure.
    part: Any = figure.subfigures() if caption else figure
    kinds: Any = {CurveChart: draw_curves, HeatMap: draw_grid, EstimateChart: _rows}
    body = kinds[type(chart)](part, chart, width)
    lines += body.lines + style.draw_legend(part, width)
    figure.set_size_inches(width / 72, lines * LINE / 72)
    # Once, and not again for each file.
    ConstrainedLayoutEngine(**_PADS).execute(figure)
    for axes in figure.axes:
        # The last digits vary from one time to the next.
        axes.set_position(np.round(axes.get_position().bounds, 6))
    bottom = body.above.get_window_extent().y0 * 72 / figure.dpi if body.above else None
    figure.hint_at = (0.0, lines * LINE - bottom - 2) if bottom else None
    figure.hints = body.hints
    return figure


def _rows(figure: Figure | SubFigure, chart: EstimateChart, width: float) -> Body:
    """Panels below each other: label, axis with dots or bars, and number."""
    groups = [[panel] for panel in chart.panels if panel.rows]
    if not groups:
        return Body()
    if chart.bars:
        # Bars begin at zero, which a logarithmic axis does not have.
        axis = replace(groups[0][0].axis, scale="linear")
        groups = [[replace(panel, axis=axis) for [panel] in groups]]
    body, heights = Body(), []
    all_axes = figure.subplots(len(groups), squeeze=False)[:, 0]
    for axes, group in zip(all_axes, groups, strict=True):
        heights.append(_group(axes, chart, group, width, body))
    all_axes[0].get_gridspec().set_height_ratios(heights)
    return body


def _group(
    axes: Axes, chart: EstimateChart, group: Sequence[Panel], width: float, body: Body
) -> float:
    """Draw panels that share an axis, upright in lines of text; returns how many these are."""
    axis, reference = group[0].axis, group[0].reference
    ends = _ends(chart, [row for panel in group for row in panel.rows], group[0])
    y, behind, marks, spans = _BETWEEN, [], [], []
    if body.lines == 0 and (chart.labels or chart.values_label):
        _row(axes, chart.labels, chart.values_label, y, width, QUIET, QUIET)
        y += 1 + _BETWEEN
        behind.append((-1.0, y))
    for panel in group:
        if panel.heading:
            behind.append((y - 0.5, y + len(folded(panel.heading, width))))
            y = _write(axes, 0, y, folded(panel.heading, width), weight="bold")
        for row, number in zip(panel.rows, written(panel.rows, panel.axis), strict=True):
            top, defined = y, ends is not None and row.value is not None
            ink = QUIET if row.doubtful else INK
            y, free = _row(axes, row.label, number, y, width, INK, ink, defined=defined)
            behind += [(top - 0.1, free)] * (free > top)
            if defined:
                marks.append((row, (free + y) / 2))
                spans.append((top - _BETWEEN / 2, y + _BETWEEN / 2))
                body.hints.append(entry(row, number, panel.axis))
            y += _BETWEEN
        y += _BETWEEN
    body.lines += y
    axes.set(ylim=(y, 0), xticks=[], yticks=[])
    if ends is None:
        return y
    room = _AXIS * width if width > NARROW else width
    name = folded(axis.label, room)
    style.scale(axes, "x", axis, ends, room)
    axes.set_xlabel("\n".join(name))
    axes.grid(axis="x")
    _bands(axes, behind, facecolor=PAGE, zorder=3.5)
    _bands(axes, spans, facecolor="none", edgecolor=PAGE, zorder=9, gid="hints")
    if chart.bars or axis.shares:
        axes.axvline(0, color=INK if chart.bars else QUIET, linewidth=0.8, zorder=3)
    if reference:
        axes.axvline(reference.value, label=reference.label, **style.REFERENCE)
    _marks(axes, chart, marks, ends)
    body.lines += 1 + len(name)
    return y


def _row(
    axes: Axes, label: str, number: str, y: float, width: float, *inks: str, defined: bool = True
) -> tuple[float, float]:
    """Write label and number of a row, or why it has none; returns its end, and that of words."""
    if width <= NARROW:
        taken = 5.3 * len(number) if defined else 0
        below = _write(axes, 0, y, folded(label, width - taken, LABEL_LINES), color=inks[0])
        if not defined:
            below = _write(axes, 0, below, folded(number, width), color=QUIET)
            return below, below
        _write(axes, 1, y, [number], ha="right", color=inks[1])
        return below + 1, below
    lines = folded(label, _LABELS * width, LABEL_LINES)
    reason = folded(number, (1 - _LABELS) * width) if not defined else []
    high = max(len(lines), len(reason), 1)
    beside: Any = {"transform": axes.get_yaxis_transform(), "va": "center", "zorder": 5}
    middle = y + high / 2
    axes.text(-0.03, middle, "\n".join(lines), ha="right", color=inks[0], **beside)
    if reason:
        axes.text(0.02, middle, "\n".join(reason), color=QUIET, in_layout=False, **beside)
        return y + high, y + high
    axes.text(1.03, middle, number, color=inks[1], **beside)
    return y + high, y


def _write(axes: Axes, x: float, y: float, lines: Sequence[str], **how: Any) -> float:
    """Write lines from y on, over the whole width; returns where they end."""
    where: Any = {"transform": _across(axes), "va": "top", "in_layout": False, "zorder": 5}
    axes.text(x, y, "\n".join(lines), **where | how)
    return y + len(lines)


def _across(axes: Axes) -> Any:
    """Places from edge to edge of the figure, and along its lines of text."""
    return blended_transform_factory(axes.figure.transSubfigure, axes.transData)


def _bands(axes: Axes, spans: Iterable[tuple[float, float]], **how: Any) -> None:
    """Fill spans of lines over the whole width."""
    shapes = [[(0, low), (1, low), (1, high), (0, high)] for low, high in spans]
    where: Any = {"transform": _across(axes), "in_layout": False, "clip_on": False}
    axes.add_collection(PolyCollection(shapes, linewidth=0, **where | how), autolim=False)


def _ends(chart: EstimateChart, rows: Sequence[Mark], panel: Panel) -> tuple[float, float] | None:
    """Ends of the axis of rows, if any has a value; those of shares are the same in all charts."""
    values = [row.value for row in rows if row.value is not None]
    if not values:
        return None
    axis, intervals = panel.axis, [row.interval for row in rows]
    values += [panel.reference.value] if panel.reference else []
    if not axis.shares or axis.scale != "linear":
        return style.ends_of(axis, values + ([0.0] if chart.bars else []), intervals)
    if min(values) < _SHARES[0] or max(values) > _SHARES[1]:
        return style.ends_of(axis, [*values, *_SHARES], intervals)
    return _SHARES


def _marks(axes: Axes, chart: EstimateChart, marks: _Placed, ends: tuple[float, float]) -> None:
    """Draw values as dots or bars, with their intervals in one tone or two, as far as `ends`."""
    looks: dict[tuple[bool, int, str], _Placed] = {}
    for row, y in marks:
        place = chart.categories.index(row.category) if row.category in chart.categories else 0
        name = DOUBTFUL_LABEL if row.doubtful else row.category or "_"
        looks.setdefault((row.doubtful, place, name), []).append((row, y))
    for (doubtful, place, name), some in sorted(looks.items(), key=lambda look: look[0]):
        numbers = [(row.value, *(row.interval or (np.nan, np.nan)), y) for row, y in some]
        *reached, at = np.array(numbers, float).T
        value, low, high = np.clip(reached, *ends)
        colour = QUIET if doubtful else INK if chart.bars else style.CURVES[place % 5]
        dashes: Any = style.DASHED if doubtful else "-"
        dots: Any = {"color": colour, "zorder": 6, "clip_on": False}
        if chart.bars:
            edge: Any = {"edgecolor": QUIET, "linestyle": dashes, "linewidth": 0.6 * doubtful}
            fill = style.PALE if doubtful else style.BAR
            axes.barh(at, value, _BAR, color=fill, zorder=2, label=name, **edge)
        else:
            face = PAGE if doubtful or place % 2 else colour
            shape = style.SHAPES[place % len(style.SHAPES)]
            axes.plot(value, at, shape, markerfacecolor=face, label=name, **dots)
        if np.isfinite(low).any():
            line: Any = {"colors": colour, "linewidth": 1.2, "zorder": 4}
            named = OUTER_LABEL if any(row.inner for row, _ in marks) else "_"
            axes.hlines(at, low, high, linestyles=dashes, label=named, **line)
            axes.vlines([*low, *high], [*at - _CAP] * 2, [*at + _CAP] * 2, **line)
        # What leaves the axis has an arrow at its end.
        for end, shape, beyond in (
            (ends[0], "<", np.nanmin(reached, axis=0) < ends[0]),
            (ends[1], ">", np.nanmax(reached, axis=0) > ends[1]),
        ):
            if beyond.any():
                axes.plot(np.full(beyond.sum(), end), at[beyond], shape, mew=0, **dots)
    inner = [(*row.inner, y) for row, y in marks if row.inner]
    if inner:
        low, high, at = np.array(inner).T
        line = {"colors": style.INNER, "linewidth": 2.8, "zorder": 4, "label": INNER_LABEL}
        axes.hlines(at, *np.clip([low, high], *ends), **line)
