"""Curves with their names where they end."""

import math
from collections.abc import Iterator, Sequence
from itertools import cycle
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..specification import Axis, Curve, CurveChart, Reference
from .layout import limits, spread, wrapped
from .page import (
    BESIDE,
    INK,
    LINE,
    MARGIN,
    QUIET,
    WIDTH,
    Block,
    axes_at,
    lines_around,
    measure,
    text,
    text_width,
)

_HEIGHT = 4.2
_ABOVE = 0.45
_BELOW = 0.55
_TICK_LABELS = 0.6
_NAMES = 2.0

#: Points of a curve up to which each is marked.
_FEW = 15

#: Colours that differ for everyone, dashes and shapes for those who see no colour.
_COLOURS = ("#0072b2", "#c04f00", "#007d5a", "#a8528a", "#7a6000")
_DASHES = ("-", "--", "-.", ":")
_SHAPES = ("o", "s", "^", "D", "v", "P", "X")
_MARKER: dict[str, Any] = {"color": QUIET, "linewidth": 1, "linestyle": (0, (4, 2)), "zorder": 1}


def curve_blocks(chart: CurveChart) -> Iterator[Block]:
    """One block with all curves."""
    yield Block(_ABOVE + _HEIGHT + _BELOW, lambda figure, top: _draw(chart, figure, top))


def _draw(chart: CurveChart, figure: Figure, top: float) -> None:
    names = [curve.name for curve in chart.curves]
    names += [chart.y_marker.label] if chart.y_marker else []
    beside = min(max(map(text_width, names), default=0.0), _NAMES)
    left = MARGIN + _TICK_LABELS
    right = WIDTH - MARGIN - beside - 2 * BESIDE
    axes = axes_at(figure, left, top - _ABOVE - _HEIGHT, right - left, _HEIGHT)
    curves = [_drawable(curve, chart) for curve in chart.curves]
    xs = [x for points in curves for x, y in points if not math.isnan(y)]
    ys = [y for points in curves for _, y in points if not math.isnan(y)]
    measure(axes, "x", chart.x_axis, _ends(xs, chart.x_axis, chart.x_marker), right - left)
    measure(axes, "y", chart.y_axis, _ends(ys, chart.y_axis, chart.y_marker), _HEIGHT)
    axes.set_xlabel(chart.x_axis.label, color=QUIET, labelpad=4)
    text(figure, MARGIN, top, chart.y_axis.label, color=QUIET, va="top")
    if chart.x_marker:
        axes.axvline(chart.x_marker.value, **_MARKER)
        above = (chart.x_marker.value, 1 + 0.07 / _HEIGHT)
        axes.text(*above, chart.x_marker.label, transform=axes.get_xaxis_transform(), ha="center")
    labels = []
    for curve, points, colour, dashes, shape in zip(
        chart.curves, curves, cycle(_COLOURS), cycle(_DASHES), cycle(_SHAPES), strict=False
    ):
        known = [y for _, y in points if not math.isnan(y)]
        if known:
            x, y = zip(*points, strict=True)
            marker = shape if len(known) <= _FEW else ""
            axes.plot(
                x, y, color=colour, linestyle=dashes, linewidth=1.8, marker=marker, markersize=5
            )
            labels.append((known[-1], curve.name, colour))
    if chart.y_marker:
        axes.axhline(chart.y_marker.value, **_MARKER)
        labels.append((chart.y_marker.value, chart.y_marker.label, INK))
    _label(figure, axes, right + BESIDE, labels)


def _label(figure: Figure, axes: Axes, x: float, labels: Sequence[tuple[float, str, str]]) -> None:
    """Names at the heights where their curves end, as far as they have room."""
    heights = [axes.transData.transform((1, value))[1] / figure.dpi for value, _, _ in labels]
    lines = [
        wrapped(name.split(" "), WIDTH - MARGIN - x + 0.001, text_width) for _, name, _ in labels
    ]
    highest = axes.transAxes.transform((1, 1))[1] / figure.dpi
    distance = LINE * max(map(len, lines), default=1) + 0.02
    for y, words, (_, _, colour) in zip(
        spread(heights, distance, highest), lines, labels, strict=True
    ):
        lines_around(figure, x, y, words, color=colour)


def _drawable(curve: Curve, chart: CurveChart) -> list[tuple[float, float]]:
    """Points with NaN where nothing can be drawn: what is undefined or has no logarithm."""
    return [
        (x, y if y is not None and _fits(x, chart.x_axis) and _fits(y, chart.y_axis) else math.nan)
        for x, y in zip(curve.x, curve.y, strict=True)
    ]


def _fits(value: float, axis: Axis) -> bool:
    return axis.scale == "linear" or value > 0


def _ends(values: Sequence[float], axis: Axis, marker: Reference | None) -> tuple[float, float]:
    zero = [0.0] if axis.shares and axis.scale == "linear" else []
    line = [marker.value] if marker else []
    return limits([*values, *line, *zero] or [1.0], [], axis.scale)
