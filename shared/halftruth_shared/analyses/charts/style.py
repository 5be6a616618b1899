"""Look of charts: sizes, colours, settings of Matplotlib, axes and legends.

There are two widths, for two layouts: a wide one, for a column of A4, and a narrow one, for phones.
Both have letters of the same size. The height follows from the lines of text.
"""

import io
import textwrap
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.text import Text
from matplotlib.ticker import FixedLocator, LogLocator, MaxNLocator

from . import Axis

WIDE, NARROW = 482.0, 240.0
#: Size of letters and height of a line of text, in points; most lines of a label.
SIZE, LINE, LABEL_LINES = 9.0, 11.5, 3
#: Room for a letter, among others that are small and where all are large.
SMALL, _LARGE = 5.6, 10.5

#: Pages recolour these for dark screens, so that a drawing has no other colours. Contrast with
#: white is 17, 7, 3.5 and 1.3 to 1: letters and data have the first three.
INK, QUIET, BAR, GRID, PAGE = "#1a1a1a", "#595959", "#4a8fc2", "#e2e2e2", "#ffffff"
#: A bar that is not usable.
PALE = "#d5dfe8"
#: Stands out from the page, from the bars, and from the ends of the interval around it.
INNER = "#c05a00"
#: Cells of a grid, by their share more or less opaque.
CELLS = "#0b5c8a"
#: Together they differ for twenty curves and more; categories have colour and shape of the first.
CURVES = ("#0072b2", "#c04f00", "#007d5a", "#a8528a", "#7a6000")
DASHES, SHAPES = ("-", "--", "-.", ":"), ("o", "D", "v", "s", "^", "P", "X")
DASHED: Any = (0, (3, 2))
#: A line that values are compared with.
REFERENCE: Any = {"color": INK, "linewidth": 1, "linestyle": DASHED, "zorder": 1}

SETTINGS: Any = {
    "font.family": "sans-serif",
    # The first comes with Matplotlib; it is wide, and leaves room for those of readers.
    "font.sans-serif": ["DejaVu Sans", "Verdana", "Arial", "Helvetica"],
    "font.size": SIZE,
    "text.color": INK,
    "text.hinting": "none",  # so that widths are the same wherever they are measured
    "text.parse_math": False,  # a category may hold dollar signs
    **{f"axes.spines.{side}": False for side in ("left", "right", "top", "bottom")},
    **{
        f"{axis}tick.{part}": look
        for axis in "xy"
        for part, look in (("labelcolor", QUIET), ("major.size", 0))
    },
    "axes.axisbelow": True,
    "axes.facecolor": "none",
    "axes.labelcolor": QUIET,
    "axes.titlecolor": QUIET,
    "axes.titlelocation": "left",
    "axes.titlesize": SIZE,
    "axes.titley": 1.0,
    "figure.labelsize": SIZE,
    "figure.titlesize": SIZE,
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


class Drawn(Figure):
    """Figure that notebooks show, freed when it is not referenced.

    Attributes
    ----------
    hints : list of str
        What is said to a reader who points at a place, for each shape of the collections with the
        `gid` "hints".
    hint_at : tuple of float or None
        Where it is written, in points from the top left, if it does not stand in the picture.
    """

    hints: list[str]
    hint_at: tuple[float, float] | None

    def _repr_png_(self) -> bytes:
        buffer = io.BytesIO()
        self.savefig(buffer, format="png", dpi=150)
        return buffer.getvalue()


@dataclass
class Body:
    """Height of a drawing in lines of text, hints of its places, and the text above the hints."""

    lines: float = 0.0
    hints: list[str] = field(default_factory=list)
    above: Text | None = None


def folded(words: str, width: float, most: int = 16) -> list[str]:
    """A text in as many lines of a width in points as it needs, and no more than `most`."""
    letters = max(int(width / (SMALL if any(map(str.islower, words)) else _LARGE)), 2)
    hyphens = any(len(word) > letters for word in words.split())
    return textwrap.wrap(words, letters, max_lines=most, placeholder="…", break_on_hyphens=hyphens)


def fits(value: float | None, axis: Axis) -> bool:
    """Return whether an axis has a place for a value."""
    return value is not None and bool(np.isfinite(value)) and (value > 0 or axis.scale == "linear")


def ends_of(
    axis: Axis, values: Iterable[float], intervals: Iterable[tuple[float, float] | None]
) -> tuple[float, float]:
    """Ends of an axis around all values, and all but the far ends of very long intervals."""
    log = axis.scale == "log"

    def places(numbers: Iterable[float]) -> list[float]:
        fit = [number for number in numbers if fits(number, axis)]
        return [float(np.log10(number)) for number in fit] if log else fit

    pairs = [places(interval) for interval in intervals if interval]
    widths = sorted(pair[1] - pair[0] for pair in pairs if len(pair) == 2)
    within = places(values) or [0.0]
    far = 2 * max(max(within) - min(within), widths[len(widths) // 2] if widths else 0.0)
    reached = within + [end for pair in pairs for end in pair]
    low, high = max(min(reached), min(within) - far), min(max(reached), max(within) + far)
    room = 0.04 * (high - low or abs(high) or 1.0)
    return (10 ** (low - room), 10 ** (high + room)) if log else (low - room, high + room)


def scale(axes: Axes, along: str, axis: Axis, ends: tuple[float, float], room: float) -> None:
    """Give the axis `along` ("x" or "y") its ends, and ticks for whose letters there is room."""
    ratio = ends[1] / ends[0] if axis.scale == "log" else 1.0
    for most in range(6, 2, -1):
        locator: Any = MaxNLocator(most - 1, steps=[1, 2, 2.5, 5, 10], integer=axis.counted)
        if ratio > 10:
            # A short logarithmic axis has hardly any powers of ten.
            locator = LogLocator(subs=(1, 2, 5) if ratio < 100 else (1,), numticks=most)
        ticks = [float(tick) for tick in locator.tick_values(*ends) if ends[0] <= tick <= ends[1]]
        longest = max((len(axis.written(tick)) for tick in ticks), default=0)
        if len(ticks) * (longest + 1) * SMALL <= room:
            break
    axes.set(**{f"{along}scale": axis.scale, f"{along}lim": ends})
    axes.minorticks_off()
    drawn = axes.xaxis if along == "x" else axes.yaxis
    drawn.set_major_locator(FixedLocator(ticks))
    drawn.set_major_formatter(lambda value, _: axis.written(value))


def draw_legend(figure: Figure | SubFigure, width: float) -> float:
    """Name what has a label, once each, above all axes; returns how many lines it takes."""
    handles: dict[str, Any] = {}
    for axes in figure.axes:
        for handle, name in zip(*axes.get_legend_handles_labels(), strict=True):
            handles.setdefault(name, handle)
    if not handles:
        return 0.0
    names = [folded(name, width - 6 * SMALL) for name in handles]
    for columns in range(len(names), 0, -1):
        parts = np.array_split(np.arange(len(names)), columns)
        wide = [max(len(line) + 6 for i in part for line in names[i]) for part in parts]
        if sum(wide) * SMALL <= width:
            break
    texts = ["\n".join(lines) for lines in names]
    figure.legend(list(handles.values()), texts, loc="outside upper left", ncols=columns)
    return 0.5 + 1.1 * max(sum(len(names[i]) for i in part) for part in parts)
