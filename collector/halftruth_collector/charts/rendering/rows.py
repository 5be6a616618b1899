"""Rows on one axis: labels on the left, dots or bars, and their numbers on the right."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ..specification import Axis, BarChart, Estimate, Reference, WhiskerChart, written
from .layout import limits, wrapped
from .page import (
    BESIDE,
    GRID,
    INK,
    LABELS,
    LINE,
    MARGIN,
    QUIET,
    WIDTH,
    Block,
    axes_at,
    lines_around,
    measure,
    paragraph,
    text,
    text_width,
)

_ROOM = 0.1
_CAPTION = 0.24
_TICKS = 0.26

_BAR = "#9ecae1"

#: Keeps grid and lines from running through a text.
_BEHIND = {"facecolor": "white", "edgecolor": "none", "pad": 1.5}


@dataclass(frozen=True)
class _Mark:
    """How a dot looks: by shape and filling for those who see no colour."""

    shape: str
    colour: str
    filled: bool


_MARKS = (_Mark("o", "#0072b2", True), _Mark("D", "#b35900", False), _Mark("v", "#595959", True))


@dataclass(frozen=True)
class _Row:
    """A heading, or an estimate with its number in words."""

    label: str
    estimate: Estimate | None = None
    number: str = ""

    @property
    def has_value(self) -> bool:
        return self.estimate is not None and self.estimate.value is not None


@dataclass(frozen=True)
class _Columns:
    """Where the marks are; labels end and numbers begin beside them."""

    left: float
    right: float

    @classmethod
    def around(cls, rows: Sequence[_Row], captions: tuple[str, str]) -> "_Columns":
        """As much room for marks as labels and numbers leave."""
        labels = [row.label for row in rows if row.estimate]
        numbers = [row.number for row in rows if row.has_value]
        before = min(LABELS, max(map(text_width, [*labels, captions[0]])))
        after = max(map(text_width, [*numbers, captions[1]]))
        return cls(MARGIN + before + BESIDE, WIDTH - MARGIN - after - 2 * BESIDE)

    def label_lines(self, row: _Row) -> list[str]:
        width = self.left - BESIDE - MARGIN if row.estimate else WIDTH - 2 * MARGIN
        items = row.label.replace(", ", ",\n").split("\n")
        whole = all(text_width(item) <= width for item in items)
        return wrapped(items if whole else row.label.split(" "), width + 0.001, text_width)

    def number_lines(self, row: _Row) -> list[str]:
        """The number, or over the whole width why there is none."""
        if row.has_value:
            return [row.number]
        return wrapped(row.number.split(" "), WIDTH - MARGIN - self.left, text_width)

    def height(self, row: _Row) -> float:
        lines = max(len(self.label_lines(row)), len(self.number_lines(row)))
        return lines * LINE + _ROOM


@dataclass(frozen=True)
class _Rows:
    """Rows on one axis, with captions above labels and numbers."""

    rows: Sequence[_Row]
    axis: Axis
    columns: _Columns
    captions: tuple[str, str]
    reference: Reference | None = None
    categories: tuple[str, ...] = ()
    bars: bool = False

    def block(self) -> Block:
        below = _TICKS + (LINE if self.axis.label else 0) if self._values else 0
        return Block(self._above + sum(self._heights) + below + 0.12, self._draw)

    @property
    def _above(self) -> float:
        shown = self.reference and self._values
        return _CAPTION if shown or any(self.captions) else 0.05

    @property
    def _heights(self) -> list[float]:
        return [self.columns.height(row) for row in self.rows]

    @property
    def _values(self) -> list[float]:
        found = [row.estimate.value for row in self.rows if row.estimate]
        return [value for value in found if value is not None]

    def _draw(self, figure: Figure, top: float) -> None:
        top -= self._above
        above, (labels, numbers) = top + 0.07, self.captions
        if MARGIN + text_width(labels) > self.columns.left:
            text(figure, MARGIN, above, labels, color=QUIET)
        else:
            text(figure, self.columns.left - BESIDE, above, labels, color=QUIET, ha="right")
        text(figure, WIDTH - MARGIN, above, numbers, color=QUIET, ha="right")
        axes = self._axes(figure, top, sum(self._heights))
        y = 0.0
        for row, height in zip(self.rows, self._heights, strict=True):
            self._words(figure, top - y - height / 2, row)
            if row.estimate is not None and row.estimate.value is not None:
                draw = self._bar if self.bars else self._dot
                draw(axes, y + height / 2, row.estimate, row.estimate.value)
            y += height

    def _axes(self, figure: Figure, top: float, height: float) -> Axes:
        """The axis with its grid and lines; y is in inches from above."""
        width = self.columns.right - self.columns.left
        axes = axes_at(figure, self.columns.left, top - height, width, height)
        axes.set_ylim(height, 0)
        axes.set_yticks([])
        if not self._values:
            axes.set_axis_off()
            return axes
        zero = [0.0] if self.axis.shares else []
        line = [self.reference.value] if self.reference else []
        ends = [end for row in self.rows if row.estimate for end in row.estimate.interval or ()]
        measure(
            axes, "x", self.axis, limits([*self._values, *zero, *line], ends, self.axis.scale),
            width,
        )  # fmt: skip
        axes.set_xlabel(self.axis.label, color=QUIET, labelpad=3)
        if zero:
            axes.axvline(0, color=INK if self.bars else QUIET, linewidth=0.8, zorder=3)
        if self.reference:
            self._line(axes, self.reference)
        return axes

    def _line(self, axes: Axes, reference: Reference) -> None:
        axes.axvline(reference.value, color=INK, linewidth=1, linestyle=(0, (4, 2)), zorder=1)
        shown = axes.transData.transform((reference.value, 0))
        place = axes.transAxes.inverted().transform(shown)[0]
        side = "left" if place < 0.2 else "right" if place > 0.8 else "center"
        axes.text(reference.value, -0.07, reference.label, ha=side, va="baseline")

    def _words(self, figure: Figure, y: float, row: _Row) -> None:
        label, number = self.columns.label_lines(row), self.columns.number_lines(row)
        if row.estimate is None:
            lines_around(figure, MARGIN, y, label, weight="bold", bbox=_BEHIND)
            return
        lines_around(figure, self.columns.left - BESIDE, y, label, ha="right")
        if row.has_value:
            lines_around(figure, WIDTH - MARGIN, y, number, ha="right")
        else:
            lines_around(figure, self.columns.left, y, number, color=QUIET, bbox=_BEHIND)

    def _dot(self, axes: Axes, y: float, estimate: Estimate, value: float) -> None:
        mark = _mark(self.categories, estimate.category)
        axes.axhline(y, color=GRID, linewidth=0.8, linestyle=(0, (1, 2)), zorder=0)
        if estimate.interval:
            lower, upper = estimate.interval
            edge = axes.get_xlim()[0]
            axes.plot([max(lower, edge), upper], [y, y], color=mark.colour, linewidth=1.8)
            if lower < edge:
                axes.plot([edge], [y], color=mark.colour, marker="<", clip_on=False)
        axes.add_line(_dots(mark, [value], [y]))

    def _bar(self, axes: Axes, y: float, estimate: Estimate, value: float) -> None:
        axes.barh(y, value, height=0.19, color=_BAR, zorder=2)
        if estimate.interval:
            axes.plot(
                estimate.interval,
                [y, y],
                color=INK,
                linewidth=1,
                marker="|",
                markersize=6,
                zorder=4,
            )


def whisker_blocks(chart: WhiskerChart) -> Iterator[Block]:
    """A legend, then the panels below each other."""
    panels = [(panel, _rows(panel.rows, panel.axis)) for panel in chart.panels if panel.rows]
    captions = ("", chart.values_label)
    columns = _Columns.around([row for _, rows in panels for row in rows], captions)
    found = {row.category for panel in chart.panels for row in panel.rows}
    if found & set(chart.categories):
        yield _legend(chart.categories, [name for name in chart.categories if name in found])
    for panel, rows in panels:
        if panel.heading:
            yield paragraph(panel.heading, heading=True)
        yield _Rows(rows, panel.axis, columns, captions, panel.reference, chart.categories).block()
        # The columns are the same in all panels.
        captions = ("", "")


def bar_blocks(chart: BarChart) -> Iterator[Block]:
    """Groups of bars on one axis."""
    every = _rows([bar for group in chart.groups for bar in group.bars], chart.axis)
    left = iter(every)
    rows: list[_Row] = []
    for group in chart.groups:
        rows += [_Row(group.heading)] if group.heading else []
        rows += [next(left) for _ in group.bars]
    if rows:
        captions = (chart.bars_label, chart.values_label)
        columns = _Columns.around(every, captions)
        yield _Rows(rows, chart.axis, columns, captions, bars=True).block()


def _rows(estimates: Sequence[Estimate], axis: Axis) -> list[_Row]:
    numbers = written(estimates, axis)
    return [_Row(row.label, row, number) for row, number in zip(estimates, numbers, strict=True)]


def _legend(categories: Sequence[str], shown: Sequence[str]) -> Block:
    def draw(figure: Figure, top: float) -> None:
        x, y = MARGIN, top - 0.08
        for category in shown:
            mark = _mark(categories, category)
            inches = figure.dpi_scale_trans
            figure.add_artist(
                Line2D([x, x + 0.3], [y, y], color=mark.colour, linewidth=1.8, transform=inches)
            )
            dot = _dots(mark, [x + 0.15], [y])
            dot.set_transform(inches)
            figure.add_artist(dot)
            text(figure, x + 0.38, y, category, va="center_baseline")
            x += 0.38 + text_width(category) + 0.3

    return Block(0.25, draw)


def _mark(categories: Sequence[str], category: str | None) -> _Mark:
    place = categories.index(category) if category in categories else 0
    return _MARKS[place % len(_MARKS)]


def _dots(mark: _Mark, x: Sequence[float], y: Sequence[float]) -> Line2D:
    return Line2D(
        x,
        y,
        color=mark.colour,
        linestyle="none",
        marker=mark.shape,
        markersize=6,
        markerfacecolor=mark.colour if mark.filled else "white",
        markeredgewidth=1.3,
        zorder=5,
        clip_on=False,
    )
