"""What a chart shows, whoever draws it, with a text alternative from the same data."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from . import wording

Scale = Literal["linear", "log"]


@dataclass(frozen=True)
class Axis:
    """What is measured along an axis.

    Attributes
    ----------
    label : str
    shares : bool
        Whether the numbers are shares, which are written in percent.
    scale : {"linear", "log"}
    """

    label: str
    shares: bool = False
    scale: Scale = "linear"

    def written(self, value: float, places: int | None = None) -> str:
        """A value on this axis in words."""
        write = wording.percent if self.shares else wording.number
        return write(value, places)


@dataclass(frozen=True)
class Reference:
    """A line at a value that the others are compared with."""

    value: float
    label: str


@dataclass(frozen=True)
class Estimate:
    """One row of a chart.

    Attributes
    ----------
    label : str
    value : float or None
        None where it is undefined.
    lower, upper : float or None
        Ends of the interval; None where it is undefined.
    category : str or None
        One of the chart's categories.
    reason : str or None
        Why the value is undefined, if that is known.
    """

    label: str
    value: float | None = None
    lower: float | None = None
    upper: float | None = None
    category: str | None = None
    reason: str | None = None

    @property
    def interval(self) -> tuple[float, float] | None:
        """Both ends, or None."""
        return None if self.lower is None or self.upper is None else (self.lower, self.upper)


@dataclass(frozen=True)
class Panel:
    """Rows that share one axis."""

    axis: Axis
    rows: tuple[Estimate, ...]
    heading: str = ""
    reference: Reference | None = None


@dataclass(frozen=True)
class WhiskerChart:
    """Estimates as dots, each with its interval as a whisker; one row for each.

    Attributes
    ----------
    title : str
    notes : tuple of str
        Sentences that stand under the title.
    panels : tuple of Panel
        One for each scale, below each other.
    values_label : str
        What the numbers beside the rows are.
    categories : tuple of str
        What rows can be told apart by, in the order of a legend.
    """

    title: str
    notes: tuple[str, ...]
    panels: tuple[Panel, ...]
    values_label: str
    categories: tuple[str, ...] = ()

    @property
    def description(self) -> str:
        """The text alternative: all that the picture shows, in one paragraph."""
        return _paragraph(
            self.title,
            *self.notes,
            *(_in_words(panel.heading, panel.rows, panel.axis) for panel in self.panels),
            *(_line(panel.reference, panel.axis) for panel in self.panels if panel.reference),
        )


@dataclass(frozen=True)
class BarGroup:
    """Bars under one heading."""

    heading: str
    bars: tuple[Estimate, ...]


@dataclass(frozen=True)
class BarChart:
    """Estimates as bars from zero, each with its interval as an error bar.

    Attributes
    ----------
    title : str
    notes : tuple of str
        Sentences that stand under the title.
    axis : Axis
    groups : tuple of BarGroup
    bars_label : str
        What the labels of the bars are.
    values_label : str
        What the numbers beside the bars are.
    """

    title: str
    notes: tuple[str, ...]
    axis: Axis
    groups: tuple[BarGroup, ...]
    bars_label: str
    values_label: str

    @property
    def description(self) -> str:
        """The text alternative: all that the picture shows, in one paragraph."""
        return _paragraph(
            self.title,
            *self.notes,
            *(_in_words(group.heading, group.bars, self.axis) for group in self.groups),
        )


@dataclass(frozen=True)
class HeatMap:
    """Shares in a grid of rows and columns, the darker the larger.

    Attributes
    ----------
    title : str
    notes : tuple of str
        Sentences that stand under the title.
    rows, columns : tuple of str
    cells : tuple of tuple of Estimate or None
        Row by row, each labelled by row and column; None where there is nothing to say.
    """

    title: str
    notes: tuple[str, ...]
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: tuple[tuple[Estimate | None, ...], ...]

    @property
    def description(self) -> str:
        """The text alternative: every cell, in one paragraph."""
        every = tuple(cell for row in self.cells for cell in row if cell is not None)
        return _paragraph(
            self.title, *self.notes, _in_words("", every, Axis("association", shares=True))
        )


@dataclass(frozen=True)
class Curve:
    """Points (x, y) in order of x; y is None where it is undefined."""

    name: str
    x: tuple[float, ...]
    y: tuple[float | None, ...]

    @property
    def known(self) -> list[tuple[float, float]]:
        """Points whose y is defined."""
        return [(x, y) for x, y in zip(self.x, self.y, strict=True) if y is not None]


@dataclass(frozen=True)
class CurveChart:
    """Several curves y(x).

    Attributes
    ----------
    title : str
    notes : tuple of str
        Sentences that stand under the title.
    x_axis, y_axis : Axis
        On a logarithmic axis only positive numbers are drawn.
    curves : tuple of Curve
    x_marker, y_marker : Reference or None
        A line at one x, and one at one y.
    """

    title: str
    notes: tuple[str, ...]
    x_axis: Axis
    y_axis: Axis
    curves: tuple[Curve, ...]
    x_marker: Reference | None = None
    y_marker: Reference | None = None

    @property
    def description(self) -> str:
        """The text alternative: ends of every curve and both lines, in one paragraph."""
        markers = ((self.x_marker, self.x_axis), (self.y_marker, self.y_axis))
        return _paragraph(
            self.title,
            *self.notes,
            f"{self.y_axis.label} against {self.x_axis.label}",
            *(self._ends(curve) for curve in self.curves),
            *(_line(marker, axis) for marker, axis in markers if marker),
        )

    def _ends(self, curve: Curve) -> str:
        if not curve.known:
            return f"{curve.name}: undefined"
        points = [
            f"{self.y_axis.written(float(f'{y:.3g}'))} at {self.x_axis.written(x)}"
            for x, y in (curve.known[0], curve.known[-1])
        ]
        return f"{curve.name}: from {points[0]} to {points[1]}"


Chart = WhiskerChart | BarChart | CurveChart | HeatMap


def written(rows: Sequence[Estimate], axis: Axis) -> list[str]:
    """The number of each row with its interval, or the word "undefined".

    The decimal places follow from the intervals: those of shares are the same for all rows.
    """
    widths = [row.interval[1] - row.interval[0] for row in rows if row.interval]
    common = max(1, wording.places((100 * width for width in widths), digits=1))
    return [_number(row, axis, common) for row in rows]


def _number(row: Estimate, axis: Axis, common: int) -> str:
    if row.value is None:
        return "undefined" if row.reason is None else f"undefined: {row.reason}"
    if row.interval is None:
        places = common if axis.shares else None
        return f"{axis.written(row.value, places)}, no interval"
    lower, upper = row.interval
    if axis.shares:
        # The sign of the value says what its ends are, too.
        ends = [wording.number(100 * end, common) for end in row.interval]
        return f"{axis.written(row.value, common)} ({ends[0]} to {ends[1]})"
    places = wording.places([upper - lower], digits=2)
    value, *ends = [axis.written(number, places) for number in (row.value, lower, upper)]
    return f"{value} ({ends[0]} to {ends[1]})"


def _in_words(heading: str, rows: Sequence[Estimate], axis: Axis) -> str:
    entries = [
        f"{row.label} {number}" + (f", {row.category}" if row.category else "")
        for row, number in zip(rows, written(rows, axis), strict=True)
    ]
    return (f"{heading}: " if heading else "") + "; ".join(entries)


def _line(reference: Reference, axis: Axis) -> str:
    return f"A line at {axis.written(reference.value)}: {reference.label}"


def _paragraph(*sentences: str) -> str:
    return " ".join(f"{sentence.rstrip('.')}." for sentence in sentences if sentence)
