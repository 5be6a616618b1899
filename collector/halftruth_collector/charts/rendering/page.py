"""A page of blocks below each other; lengths are in inches, sizes of letters in points."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import text_to_path
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator

from ..specification import Axis
from .layout import log_ticks, wrapped

WIDTH = 8.0
MARGIN = 0.3
LINE = 0.175
#: Between marks and what stands beside them.
BESIDE = 0.12
#: Widest column of labels; longer ones are wrapped.
LABELS = 3.1

_MOST_TICKS = 8

SMALL, _HEADING, _TITLE = 9.5, 10.5, 15.0

#: Contrast with white is 17, 7 and 1.3 to 1.
INK, QUIET, GRID = "#1a1a1a", "#595959", "#e2e2e2"


def set_style() -> None:
    """Put our settings in place of the user's."""
    mpl.rcdefaults()
    mpl.rcParams.update(
        {
            "font.family": "sans-serif",
            # The first comes with Matplotlib; it is wide, and leaves room for those of readers.
            "font.sans-serif": ["DejaVu Sans", "Verdana", "Arial", "Helvetica"],
            "font.size": SMALL,
            "text.color": INK,
            # A category may hold dollar signs.
            "text.parse_math": False,
            "svg.fonttype": "none",
            "svg.hashsalt": "halftruth",
        }
    )


@dataclass(frozen=True)
class Block:
    """A part of the page over its whole width: its height, and how to draw it below a top."""

    height: float
    draw: Callable[[Figure, float], None]


def page(blocks: Sequence[Block]) -> Figure:
    """Blocks on a page as high as they need."""
    height = sum(block.height for block in blocks) + 2 * MARGIN
    figure = Figure(figsize=(WIDTH, height), facecolor="white")
    top = height - MARGIN
    for block in blocks:
        block.draw(figure, top)
        top -= block.height
    return figure


def space(height: float) -> Block:
    """Nothing."""
    return Block(height, lambda figure, top: None)


def paragraph(words: str, *, title: bool = False, heading: bool = False) -> Block:
    """A text in as many lines as it needs."""
    size = _TITLE if title else _HEADING if heading else SMALL
    weight = "bold" if title or heading else "normal"
    lines = wrapped(
        words.split(" "), WIDTH - 2 * MARGIN, lambda line: text_width(line, size, weight)
    )
    step = 1.35 * size / 72

    def draw(figure: Figure, top: float) -> None:
        colour = INK if title or heading else QUIET
        for i, line in enumerate(lines):
            text(
                figure, MARGIN, top - i * step, line, va="top",
                fontsize=size, weight=weight, color=colour,
            )  # fmt: skip

    return Block(len(lines) * step + (0.1 if title else 0.04), draw)


def text(figure: Figure, x: float, y: float, words: str, **how: Any) -> None:
    """A text at a place in inches from the lower left corner."""
    figure.text(x, y, words, transform=figure.dpi_scale_trans, **how)


def lines_around(figure: Figure, x: float, y: float, lines: Sequence[str], **how: Any) -> None:
    """Lines around a height; each by itself, or SVG could not align them in another font."""
    for i, line in enumerate(lines):
        text(figure, x, y + ((len(lines) - 1) / 2 - i) * LINE, line, va="center_baseline", **how)


def text_width(words: str, size: float = SMALL, weight: str = "normal") -> float:
    """Width of a text in inches, up to what letters on both sides of a blank share."""
    # Word by word: the same words come again and again, and measuring takes most of the time.
    parts = words.split(" ")
    blanks = (len(parts) - 1) * (_width("n n", size, weight) - _width("nn", size, weight))
    return sum(_width(part, size, weight) for part in parts) + blanks


@lru_cache(maxsize=20_000)
def _width(words: str, size: float, weight: str) -> float:
    font = FontProperties(size=size, weight=weight)
    return float(text_to_path.get_text_width_height_descent(words, font, ismath=False)[0]) / 72


def axes_at(figure: Figure, left: float, bottom: float, width: float, height: float) -> Axes:
    """Axes at a place in inches, without a frame."""
    high = figure.get_figheight()
    axes = figure.add_axes((left / WIDTH, bottom / high, width / WIDTH, height / high))
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0, labelsize=SMALL, labelcolor=QUIET)
    axes.set_axisbelow(True)
    return axes


def measure(axes: Axes, side: str, axis: Axis, ends: tuple[float, float], length: float) -> None:
    """Set scale, ends and grid of one side ("x" or "y"), with ticks as far as they have room."""
    widest = max(text_width(axis.written(float(f"{end:.1g}"))) for end in ends)
    most = min(_MOST_TICKS, max(2, int(length / (widest + 0.2 if side == "x" else 0.5))))
    drawn = axes.xaxis if side == "x" else axes.yaxis
    axes.set(**{f"{side}scale": axis.scale, f"{side}lim": ends})
    if axis.scale == "log":
        drawn.set_major_locator(FixedLocator(log_ticks(*ends, most)))
        drawn.set_minor_locator(NullLocator())
    else:
        drawn.set_major_locator(MaxNLocator(most, steps=[1, 2, 2.5, 5, 10]))
    drawn.set_major_formatter(FuncFormatter(lambda value, place: axis.written(value)))
    drawn.grid(color=GRID, linewidth=0.8)
