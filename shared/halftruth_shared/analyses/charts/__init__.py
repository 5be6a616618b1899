"""Contents of charts, with a text alternative from the same data; ``drawing`` draws them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Literal

from .. import wording

Scale = Literal["linear", "log"]

#: Legend of the thick and the thin part of an interval in two tones.
INNER_LABEL, OUTER_LABEL = "without perturbation the interval would be this long", "the interval"
#: And that of what is pale and dashed.
DOUBTFUL_LABEL = "not usable"


@dataclass(frozen=True)
class Axis:
    """Axis of a chart: the quantity measured along it; shares are written in percent.

    What is counted is marked in whole numbers; days since one are written as their dates.
    """

    label: str
    shares: bool = False
    scale: Scale = "linear"
    counted: bool = False
    since: date | None = None

    def written(self, value: float, places: int | None = None) -> str:
        """A value on this axis in words."""
        if self.since is not None:
            return f"{self.since + timedelta(days=value):%m-%d}"
        write = wording.percent if self.shares else wording.number
        return write(value, places)


@dataclass(frozen=True)
class Reference:
    """A line at a value that the others are compared with."""

    value: float
    label: str


@dataclass(frozen=True)
class Mark:
    """One row of a chart: a value with the ends of its interval, each None where it is undefined.

    Attributes
    ----------
    category : str or None
        One of the chart's categories.
    reason : str or None
        Why the value is undefined, if that is known.
    inner : tuple of float or None
        A shorter interval within, the one that there would be without perturbation.
    doubtful : bool
        True if it is not usable, and so pale and dashed.
    """

    label: str
    value: float | None = None
    lower: float | None = None
    upper: float | None = None
    category: str | None = None
    reason: str | None = None
    inner: tuple[float, float] | None = None
    doubtful: bool = False

    @property
    def interval(self) -> tuple[float, float] | None:
        """Both ends, or None."""
        return None if self.lower is None or self.upper is None else (self.lower, self.upper)


@dataclass(frozen=True)
class Panel:
    """Rows that share one axis."""

    axis: Axis
    rows: tuple[Mark, ...]
    heading: str = ""
    reference: Reference | None = None


@dataclass(frozen=True)
class _Titled:
    """Every chart has a title, and notes: sentences that stand under it."""

    title: str
    notes: tuple[str, ...]


@dataclass(frozen=True)
class EstimateChart(_Titled):
    """Estimates with their intervals, one row for each: as dots, or as bars from zero.

    Attributes
    ----------
    panels : tuple of Panel
        One for each scale, below each other; bars have a single axis, that of the first.
    values_label : str
        What the numbers beside the rows are.
    categories : tuple of str
        What rows can be told apart by, in the order of a legend; not of bars.
    bars : bool
        Whether they are bars.
    labels : str
        What the labels of bars are.
    """

    panels: tuple[Panel, ...]
    values_label: str
    categories: tuple[str, ...] = ()
    bars: bool = False
    labels: str = ""

    @property
    def rows(self) -> list[Mark]:
        """Rows of all panels."""
        return [row for panel in self.panels for row in panel.rows]

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
class HeatMap(_Titled):
    """Shares in a grid of rows and columns, the darker the larger.

    Each cell is labelled by row and column, and None where there is nothing to say. One with a
    category, such as "not usable", is pale like one that may be nothing.
    """

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: tuple[tuple[Mark | None, ...], ...]

    @property
    def description(self) -> str:
        """The text alternative: every cell, in one paragraph."""
        every = tuple(cell for row in self.cells for cell in row if cell is not None)
        return _paragraph(
            self.title, *self.notes, _in_words("", every, Axis("association", shares=True))
        )


@dataclass(frozen=True)
class Curve:
    """Points (x, y) in order of x; y is None where it is undefined.

    `ends` are those of the intervals of all y, or there are none.
    """

    name: str
    x: tuple[float, ...]
    y: tuple[float | None, ...]
    ends: tuple[tuple[float, float] | None, ...] = ()

    @property
    def known(self) -> list[tuple[float, float]]:
        """Points whose y is defined."""
        return [(x, y) for x, y in zip(self.x, self.y, strict=True) if y is not None]


@dataclass(frozen=True)
class CurveChart(_Titled):
    """Several curves y(x), and lines at one x and at one y.

    On a logarithmic axis only positive numbers are drawn.
    """

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
        if curve.ends:
            return "; ".join(self.point(curve, point) for point in curve.known)
        first, last = self._point(curve.known[0]), self._point(curve.known[-1])
        return f"{curve.name}: from {first} to {last}"

    def point(self, curve: Curve, point: tuple[float, float]) -> str:
        """A point of a curve in words, with its interval."""
        ends = dict(zip(curve.x, curve.ends, strict=False)).get(point[0])
        if ends is None:
            return f"{curve.name}: {self._point(point)}"
        at = f"{self.x_axis.label} {self.x_axis.written(point[0])}"
        return _in_words(curve.name, (Mark(at, point[1], *ends),), self.y_axis)

    def _point(self, point: tuple[float, float]) -> str:
        x, y = point
        return f"{self.y_axis.written(float(f'{y:.3g}'))} at {self.x_axis.written(x)}"


Chart = EstimateChart | CurveChart | HeatMap


#: Rows, cells of a grid along each side, and curves beyond which a chart is cut: a picture of
#: many more would be too long to be read, and beyond twenty curves two would look alike.
MOST_ROWS, MOST_NAMES, MOST_CURVES = 100, 20, 20


def shortened(chart: Chart) -> Chart:
    """A chart with no more than can be read, and with a note that says how much more there is."""
    if isinstance(chart, CurveChart):
        left = len(chart.curves) - MOST_CURVES
        return _noted(replace(chart, curves=chart.curves[:MOST_CURVES]), left, "curves")
    if isinstance(chart, HeatMap):
        names = slice(MOST_NAMES)
        cells = tuple(row[names] for row in chart.cells[names])
        left = max(len(chart.rows), len(chart.columns)) - MOST_NAMES
        cut = replace(chart, rows=chart.rows[names], columns=chart.columns[names], cells=cells)
        return _noted(cut, left, "rows or columns")
    panels, room = [], MOST_ROWS
    for panel in chart.panels:
        panels.append(replace(panel, rows=panel.rows[:room]))
        room -= len(panels[-1].rows)
    some_panels = tuple(panel for panel in panels if panel.rows)
    return _noted(replace(chart, panels=some_panels), len(chart.rows) - MOST_ROWS + room, "rows")


def _noted(chart: Chart, left: int, what: str) -> Chart:
    if left <= 0:
        return chart
    return replace(chart, notes=(*chart.notes, f"Not drawn: {wording.number(left)} more {what}."))


def written(rows: Sequence[Mark], axis: Axis) -> list[str]:
    """The number of each row with its interval, or the word "undefined".

    The decimal places follow from the intervals: those of shares are the same for all rows.
    """
    widths = [row.interval[1] - row.interval[0] for row in rows if row.interval]
    common = min(2, wording.places((100 * width for width in widths), digits=2)) if widths else 1
    return [_number(row, axis, common) for row in rows]


def _number(row: Mark, axis: Axis, common: int) -> str:
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
    # The nearer end, or a far one would leave nothing of the value.
    nearer = min(row.value - lower, upper - row.value)
    width = 2 * nearer * (1 + 1e-9) if nearer > 0 else upper - lower
    places = wording.places([width], digits=2)
    value, *ends = [axis.written(number, places) for number in (row.value, lower, upper)]
    return f"{value} ({ends[0]} to {ends[1]})"


def _in_words(heading: str, rows: Sequence[Mark], axis: Axis) -> str:
    numbers = written(rows, axis)
    entries = [entry(row, number, axis) for row, number in zip(rows, numbers, strict=True)]
    return (f"{heading}: " if heading else "") + "; ".join(entries)


def entry(row: Mark, number: str, axis: Axis) -> str:
    """A row in words, with its number as `written`."""
    inner, doubtful = "", DOUBTFUL_LABEL if row.doubtful else ""
    if row.inner:
        lower, upper = (axis.written(float(f"{end:.3g}")) for end in row.inner)
        inner = f"{INNER_LABEL}: {lower} to {upper}"
    return ", ".join(filter(None, [f"{row.label} {number}", inner, row.category, doubtful]))


def _line(reference: Reference, axis: Axis) -> str:
    return f"A line at {axis.written(reference.value)}: {reference.label}"


def _paragraph(*sentences: str) -> str:
    return " ".join(f"{sentence.rstrip('.')}." for sentence in sentences if sentence)
