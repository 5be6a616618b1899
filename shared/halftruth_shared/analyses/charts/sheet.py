"""A sheet that charts are drawn on, in points from the top left corner.

There are two widths, for two layouts: a wide one, for a column of A4, and a narrow one, for phones.
Both have letters of the same size.
"""

import io
import math
import textwrap
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.lines import Line2D
from matplotlib.markers import MarkerStyle
from matplotlib.patches import PathPatch, Rectangle
from matplotlib.path import Path
from matplotlib.textpath import text_to_path
from matplotlib.ticker import LogLocator, MaxNLocator
from matplotlib.transforms import Affine2D

from . import Axis, Reference

WIDE, NARROW = 482.0, 240.0
SIZE = 9.0
#: Height of a line of text, and how far its baseline is below its top.
LINE, BASE = 11.5, 9.0
MARGIN, GAP = 2.0, 8.0
#: Width of samples in a legend; most lines of a label.
SAMPLE, LABEL_LINES = 16.0, 3

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
DASHES = ("-", "--", "-.", ":")
SHAPES = ("o", "D", "v", "s", "^", "P", "X")
DASHED: Any = (0, (3, 2))
#: Keeps lines from running through a text.
BEHIND = {"facecolor": PAGE, "edgecolor": "none", "pad": 0.5}

SETTINGS: Any = {
    "font.family": "sans-serif",
    # The first comes with Matplotlib; it is wide, and leaves room for those of readers.
    "font.sans-serif": ["DejaVu Sans", "Verdana", "Arial", "Helvetica"],
    "font.size": SIZE,
    "text.color": INK,
    "text.hinting": "none",  # so that widths are the same wherever they are measured
    "text.parse_math": False,  # a category may hold dollar signs
    "svg.fonttype": "none",
    "svg.hashsalt": "halftruth",
}


class Drawn(Figure):
    """Figure that notebooks show, freed when it is not referenced.

    Attributes
    ----------
    hints : dict of str to str
        What is shown of each place that a reader points at, by the id of its element.
    hint_at : tuple of float or None
        Where it is written, in points, if it does not stand in the picture.
    """

    hints: dict[str, str]
    hint_at: tuple[float, float] | None

    def _repr_png_(self) -> bytes:
        buffer = io.BytesIO()
        self.savefig(buffer, format="png", dpi=150)
        return buffer.getvalue()


#: Draws a sample of what a legend names, in a sheet from x on around y.
Sample = Callable[["Sheet", float, float], None]


class Sheet:
    """A figure whose coordinates are points, and the place `y` that is drawn so far."""

    def __init__(self, width: float) -> None:
        self.width, self.y = width, MARGIN
        self.figure = Drawn(figsize=(width / 72, 1))
        self.figure.hints, self.figure.hint_at = {}, None
        self._points = Affine2D()
        self._places: Any = {"transform": self._points + self.figure.dpi_scale_trans}

    def text(self, x: float, y: float, *lines: str, **how: Any) -> float:
        """Write lines below each other, the first with its top at y; returns where they end."""
        # Line by line, or SVG could not align them in another font.
        for i, words in enumerate(lines):
            at = y + i * LINE + BASE
            self.figure.text(x, at, words, **{"zorder": 5, **self._places, **how})
        return y + len(lines) * LINE

    def words(self, words: str, **how: Any) -> None:
        """Write a text over the whole width."""
        lines = folded(words, self.width, how.get("weight", "normal"))
        self.y = self.text(0, self.y, *lines, **how)

    def lines(self, segments: Iterable[tuple[float, float, float, float]], **how: Any) -> None:
        """Draw lines from x, y to x, y of one look, which are one element of a picture."""
        points = [(x, y) for a, b, c, d in segments for x, y in ((a, b), (c, d), (np.nan, np.nan))]
        if points:
            x, y = np.array(points).T
            self._add(Line2D(x, y, solid_capstyle="butt", **self._places, **how))

    def marks(self, places: Sequence[tuple[float, float]], shape: str, **how: Any) -> None:
        """Draw marks of one look, 5 points wide."""
        if places:
            # As paths: a page with several pictures would define markers twice.
            style = MarkerStyle(shape)
            form = style.get_path().transformed(style.get_transform() + Affine2D().scale(5, -5))
            paths = [form.transformed(Affine2D().translate(*place)) for place in places]
            path = Path.make_compound_path(*paths)
            self._add(PathPatch(path, zorder=6, **self._places, **how))

    def box(self, x: float, y: float, width: float, height: float, **how: Any) -> None:
        """Draw a rectangle."""
        self._add(Rectangle((x, y), width, height, **self._places, **how))

    def hint(self, x: float, y: float, width: float, height: float, words: str) -> None:
        """Let a place say something to whoever points at it."""
        name = f"hint-{len(self.figure.hints)}"
        self.figure.hints[name] = words
        self.box(x, y, width, height, fill=False, linewidth=0, zorder=9, gid=name)

    def room_for_hint(self) -> None:
        """Leave a line for what places say."""
        self.figure.hint_at = (0.0, self.y + BASE)
        self.y += LINE + 3

    def legend(self, entries: Sequence[tuple[str, Sample]]) -> None:
        """Draw samples with their names, in as many lines as they need."""
        x = 0.0
        for name, sample in entries:
            lines = folded(name, self.width - SAMPLE - 5)
            wide = SAMPLE + 5 + max(map(width_of, lines))
            if x and x + wide > self.width:
                x, self.y = 0.0, self.y + LINE + 1
            sample(self, x, self.y + LINE / 2)
            self.y = self.text(x + SAMPLE + 5, self.y, *lines) - LINE
            x += wide + 2 * GAP
        self.y += LINE + 5 if entries else 0

    def finished(self) -> Drawn:
        """The figure, as high as what was drawn."""
        high = self.y + MARGIN
        self.figure.set_size_inches(self.width / 72, high / 72)
        self._points.scale(1 / 72, -1 / 72).translate(0, high / 72)
        return self.figure

    def _add(self, artist: Artist) -> None:
        self.figure.add_artist(artist)


@dataclass(frozen=True)
class Ruler:
    """Places along an axis, from value `low` at `start` to value `high` at `end`, in points."""

    axis: Axis
    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        """Place of a value; what is beyond an end is at this end."""
        log = self.axis.scale == "log"
        if log and value <= 0:
            return self.start
        low, high, at = map(math.log, (self.low, self.high, value)) if log else (
            self.low, self.high, value
        )  # fmt: skip
        share = min(max((at - low) / (high - low), 0.0), 1.0)
        return self.start + share * (self.end - self.start)

    def beyond(self, value: float) -> bool:
        """Return whether a value is outside."""
        return not self.low <= value <= self.high

    @property
    def ticks(self) -> list[tuple[float, str]]:
        """Values that are marked, with their labels, as many as there is room for."""
        ratio = self.high / self.low if self.axis.scale == "log" else 1.0
        for most in range(6, 1, -1):
            # A short logarithmic axis has hardly any powers of ten.
            if ratio > 10:
                locator: Any = LogLocator(subs=(1, 2, 5) if ratio < 100 else (1,), numticks=most)
            else:
                steps = [1, 2, 2.5, 5, 10]
                locator = MaxNLocator(most - 1, steps=steps, integer=self.axis.counted)
            values = [float(v) for v in locator.tick_values(self.low, self.high)]
            ticks = [(v, self.axis.written(v)) for v in values if not self.beyond(v)]
            places = [self(value) for value, _ in ticks]
            widths = [width_of(label) + GAP for _, label in ticks]
            apart = zip(places, places[1:], widths, widths[1:], strict=False)
            if self.start > self.end or all(b - a >= (v + w) / 2 for a, b, v, w in apart):
                break
        return ticks


def ruled(
    sheet: Sheet,
    ruler: Ruler,
    spans: Sequence[tuple[float, float]],
    reference: Reference | None = None,
    *,
    zero: bool = False,
) -> None:
    """Draw lines of a grid, that of zero and that of a reference behind rows, and their labels."""

    def across(value: float, **how: Any) -> None:
        x = ruler(value)
        sheet.lines([(x, low, x, high) for low, high in spans], **how)

    for value, label in ruler.ticks:
        across(value, color=GRID, linewidth=0.8, zorder=0)
        # The last one may be wider than what is left of the sheet.
        half = width_of(label) / 2
        middle = min(max(ruler(value), half), sheet.width - half)
        sheet.text(middle, sheet.y, label, ha="center", color=QUIET)
    if zero or ruler.axis.shares:
        across(0.0, color=INK if zero else QUIET, linewidth=0.8, zorder=3)
    if reference:
        across(reference.value, color=INK, linewidth=1, linestyle=DASHED, zorder=1)
    sheet.y += LINE
    if ruler.axis.label:
        lines = folded(ruler.axis.label, ruler.end - ruler.start)
        middle = (ruler.start + ruler.end) / 2
        sheet.y = sheet.text(middle, sheet.y, *lines, ha="center", color=QUIET)


def fits(value: float | None, axis: Axis) -> bool:
    """Return whether an axis has a place for a value."""
    return value is not None and math.isfinite(value) and (value > 0 or axis.scale == "linear")


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


def folded(
    words: str, width: float, weight: str = "normal", size: float = SIZE, most: int = 16
) -> list[str]:
    """A text in as many lines of a width as it needs, and no more than `most`."""
    share, lines = width / max(width_of(words, weight, size), 1.0), [words]
    for letters in range(min(len(words), int(1.3 * share * len(words)) + 1), 0, -1):
        hyphens = any(len(word) > letters for word in words.split())
        lines = textwrap.wrap(
            words, letters, break_on_hyphens=hyphens, max_lines=most, placeholder="…"
        )
        if lines[-1] == "…":
            # What is cut in a long word is cut there.
            lines[-2:] = [f"{lines[-2] if len(lines) > 1 else words[:letters]}"[:-1] + "…"]
        if all(width_of(line, weight, size) <= width for line in lines):
            break
    return lines


@lru_cache(maxsize=20_000)
def width_of(words: str, weight: str = "normal", size: float = SIZE) -> float:
    """Width of a line."""
    font = FontProperties(size=size, weight=weight)
    return float(text_to_path.get_text_width_height_descent(words, font, ismath=False)[0])
