"""Estimates with their intervals, drawn by Matplotlib, which is an optional extra."""

import io
import math
from collections.abc import Sequence
from textwrap import wrap

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter, PercentFormatter

from .picture import Mark, Panel, Picture

#: Inches: width, height of a mark, and the space around a panel and around all of them.
WIDTH, MARK, AROUND, BESIDES = 7.0, 0.28, 0.75, 0.7

#: A bar or dot, pale where it is not usable; the interval, and of it the part that is sampling.
_COLOUR, _PALE, _WHOLE, _SAMPLING = "#4a8fc2", "#d5dfe8", "#1a1a1a", "#e08a1e"

_SHARES = ("share", "support")

#: Letters of a note that a line of the figure has room for.
_LETTERS = 100


class Drawn(Figure):
    """Figure that notebooks show, freed when it is not referenced."""

    def _repr_png_(self) -> bytes:
        buffer = io.BytesIO()
        self.savefig(buffer, format="png")
        return buffer.getvalue()


def draw(picture: Picture, figure: Figure | None = None) -> Figure:
    """Draw a chart of a result, by default into a new figure.

    Parameters
    ----------
    figure : Figure, optional

    Returns
    -------
    Figure
    """
    panels = picture.panels
    heights = [AROUND + MARK * len(panel.marks) for panel in panels] or [AROUND]
    # A category may hold dollar signs.
    with mpl.rc_context({"text.parse_math": False}):
        if figure is None:
            figure = Drawn(figsize=(WIDTH, sum(heights) + BESIDES), layout="constrained", dpi=110)
        figure.suptitle(picture.title, x=0.01, ha="left", fontweight="bold")
        notes = "\n".join(line for note in picture.notes for line in wrap(note, _LETTERS))
        figure.supxlabel(notes, x=0.01, ha="left", fontsize="small")
        every = figure.subplots(len(heights), squeeze=False, height_ratios=heights)[:, 0]
        for axes, panel in zip(every, panels, strict=False):
            _panel(axes, panel)
        for quantity in {panel.quantity for panel in panels}:
            _alike([axes for axes, p in zip(every, panels, strict=True) if p.quantity == quantity])
        if not panels:
            every[0].set_axis_off()
            every[0].text(0, 0.5, "Nothing was found.")
    return figure


def _panel(axes: Axes, panel: Panel) -> None:
    marks, places = panel.marks, range(len(panel.marks))
    bars, ratio = panel.quantity in _SHARES, panel.quantity.endswith("ratio")
    for place, mark in zip(places, marks, strict=True):
        if mark.value is not None:
            _draw(axes, place, mark, mark.value, bars=bars)
    if ratio and all(_positive(mark) for mark in marks):
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.xaxis.set_major_formatter("{x:g}")
        axes.xaxis.set_minor_formatter(NullFormatter())
    if bars:
        axes.xaxis.set_major_formatter(PercentFormatter(1))
    _whiskers(axes, marks)
    axes.axvline(1 if ratio else 0, color=_WHOLE, linewidth=0.8)
    axes.set_yticks(places, [_label(mark) for mark in marks])
    axes.set_ylim(len(marks) - 0.4, -0.6)
    axes.set_title(panel.heading, loc="left", fontsize="medium")
    axes.set_xlabel(panel.quantity.replace("_", " "))
    axes.spines[["top", "right"]].set_visible(False)


def _alike(panels: Sequence[Axes]) -> None:
    """Give panels of the same quantity the same limits."""
    lows, highs = zip(*(axes.get_xlim() for axes in panels), strict=True)
    for axes in panels:
        axes.set_xlim(min(lows), max(highs))


def _draw(axes: Axes, place: int, mark: Mark, value: float, *, bars: bool) -> None:
    colour = _COLOUR if mark.usable else _PALE
    filled = colour if mark.interval else "none"
    if bars:
        axes.barh(place, value, height=0.7, color=filled, edgecolor=colour)
    else:
        axes.plot(value, place, "o", color=colour, markerfacecolor=filled, zorder=4)


def _whiskers(axes: Axes, marks: Sequence[Mark]) -> None:
    """Draw intervals within the limits of all finite ends."""
    for mark in marks:
        for end in (*(mark.interval or ()), *(mark.sampling or ())):
            if math.isfinite(end):
                axes.update_datalim([(end, 0)], updatey=False)
    axes.autoscale_view(scaley=False)
    low, high = axes.get_xlim()
    for place, mark in enumerate(marks):
        if mark.interval is not None:
            lower, upper = mark.interval
            upper = upper if math.isfinite(upper) else high
            axes.hlines(place, lower, upper, color=_WHOLE, linewidth=1.4)
        if mark.sampling is not None:
            axes.hlines(place, *mark.sampling, color=_SAMPLING, linewidth=3.5, zorder=3)
    axes.set_xlim(low, high)


def _positive(mark: Mark) -> bool:
    return mark.value is None or (mark.value > 0 and (not mark.interval or mark.interval[0] > 0))


def _label(mark: Mark) -> str:
    return f"{mark.label} (undefined)" if mark.value is None else mark.label
