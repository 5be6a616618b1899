"""Shares in a grid, the darker the larger."""

from collections.abc import Iterator

from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from ..specification import Estimate, HeatMap
from ..wording import percent
from .layout import wrapped
from .page import BESIDE, GRID, INK, LABELS, LINE, MARGIN, QUIET, WIDTH, Block, text, text_width

#: From white to a blue on which white letters can be read.
_SHADES = LinearSegmentedColormap.from_list("shares", ["#ffffff", "#0b5c8a"])
#: Share of the darkest shade from which letters are white.
_DARK = 0.55
_TALL = 0.62
_NARROWEST = 0.42
_LETTERS = 8.0
#: The darkest shade stands for at least this share, or noise would look like something.
_LEAST_DARKEST = 0.05


def grid_blocks(chart: HeatMap) -> Iterator[Block]:
    """One block with the whole grid; names of columns stand upright above it."""
    widest = max(map(text_width, chart.columns), default=0.0)
    above = min(LABELS, widest) + BESIDE
    yield Block(
        above + _TALL * len(chart.rows), lambda figure, top: _draw(chart, figure, top, above)
    )


def _draw(chart: HeatMap, figure: Figure, top: float, above: float) -> None:
    before = min(LABELS, max(map(text_width, chart.rows), default=0.0)) + BESIDE
    left = MARGIN + before
    wide = max(_NARROWEST, min(1.2, (WIDTH - MARGIN - left) / max(len(chart.columns), 1)))
    values = [cell.value for row in chart.cells for cell in row if cell and cell.value is not None]
    darkest = max([_LEAST_DARKEST, *values])
    for j, name in enumerate(chart.columns):
        x = left + (j + 0.5) * wide
        text(figure, x, top - above + BESIDE, name, rotation=90, ha="center", va="bottom")
    for i, (name, row) in enumerate(zip(chart.rows, chart.cells, strict=True)):
        bottom = top - above - (i + 1) * _TALL
        lines = wrapped(name.split(" "), LABELS, text_width)
        for k, line in enumerate(lines[:3]):
            y = bottom + _TALL / 2 + ((len(lines[:3]) - 1) / 2 - k) * LINE
            text(figure, left - BESIDE, y, line, ha="right", va="center_baseline")
        for j, cell in enumerate(row):
            _cell(figure, cell, (left + j * wide, bottom, wide), darkest)


def _cell(
    figure: Figure, cell: Estimate | None, place: tuple[float, float, float], darkest: float
) -> None:
    x, y, wide = place
    known = cell is not None and cell.value is not None
    share = max(0.0, (cell.value or 0.0) / darkest) if cell is not None and known else 0.0
    # What may be nothing must not look like something.
    doubtful = cell is not None and (cell.lower is None or cell.lower <= 0)
    shade = share * (0.35 if doubtful else 1.0)
    figure.patches.append(
        Rectangle(
            (x + 0.02, y + 0.02),
            wide - 0.04,
            _TALL - 0.04,
            transform=figure.dpi_scale_trans,
            facecolor=_SHADES(shade) if cell is not None else GRID,
            edgecolor=QUIET if doubtful else GRID,
            linestyle=(0, (3, 2)) if doubtful else "solid",
            linewidth=0.8,
        )
    )
    if cell is None:
        return
    colour = "white" if shade > _DARK else INK
    written = "undefined" if cell.value is None else percent(cell.value, 1)
    size = _LETTERS if text_width(written, _LETTERS) <= wide - 0.06 else _LETTERS - 2
    text(
        figure, x + wide / 2, y + _TALL / 2, written,
        ha="center", va="center_baseline", color=colour, fontsize=size,
    )  # fmt: skip
