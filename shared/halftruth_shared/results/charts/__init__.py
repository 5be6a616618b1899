"""Contents of charts; ``drawing`` draws them. The table beside a chart is its text alternative."""

from dataclasses import dataclass, replace
from typing import Literal

from .. import wording
from ..estimate import Interval
from ..long_table import Row

Scale = Literal["linear", "log"]

#: Legend of the thick and the thin part of an interval in two tones.
INNER_LABEL, OUTER_LABEL = "without perturbation the interval would be this long", "the interval"
#: Legend of estimates that are pale and dashed.
DOUBTFUL_LABEL = "not usable"


@dataclass(frozen=True)
class Axis:
    """Axis of a chart: the quantity measured along it.

    Shares are written in percent, and their differences in percentage points. An axis of numbers
    that are counted, such as waves, has ticks at whole numbers.
    """

    label: str
    shares: bool = False
    scale: Scale = "linear"
    counted: bool = False
    points: bool = False

    def written(self, value: float) -> str:
        """Format a value of this axis."""
        if self.shares:
            return wording.percent(value)
        return wording.number(100 * value if self.points else value)


@dataclass(frozen=True)
class Reference:
    """Line at a value that the others are compared with."""

    value: float
    label: str


@dataclass(frozen=True)
class Panel:
    """Rows of a result that share one axis, each with its label."""

    axis: Axis
    rows: tuple[tuple[str, Row], ...]
    heading: str = ""
    reference: Reference | None = None


@dataclass(frozen=True)
class _Titled:
    """Base class of charts, with a title and notes below the chart."""

    title: str
    notes: tuple[str, ...]

    @property
    def description(self) -> str:
        """Title and notes in one paragraph."""
        return " ".join(f"{sentence.rstrip('.')}." for sentence in (self.title, *self.notes))


@dataclass(frozen=True)
class EstimateChart(_Titled):
    """Chart of estimates with their intervals, one row each, as dots or as bars from zero.

    Panels are below each other, one for each scale; bars share the axis of the first panel. Dots of
    estimates that were compared with a threshold (`decided`) show the decision. On pages, each
    panel of a `folded` chart is one line that unfolds, and `reports` is said of a pointed-at row.
    """

    panels: tuple[Panel, ...]
    confidence: float = 0.95
    bars: bool = False
    decided: bool = False
    folded: bool = False
    reports: str = ""

    @property
    def rows(self) -> list[tuple[str, Row]]:
        """Rows of all panels, each with its label."""
        return [row for panel in self.panels for row in panel.rows]

    def category(self, row: Row) -> str:
        """Return the decision about an estimate; empty if there is none."""
        return (row.decision or "") if self.decided else ""

    def inner(self, row: Row) -> Interval | None:
        """Return the interval of a share without perturbation."""
        is_share = row.of.style == "share"
        return row.without_perturbation(self.confidence) if is_share else None


@dataclass(frozen=True)
class HeatMap(_Titled):
    """Heat map of shares or measures from 0 to 1; larger ones are darker.

    Cells are pale if their interval includes zero, or they are not usable. If they are `tested`,
    those that are not significant are blank.
    """

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: tuple[tuple[Row | None, ...], ...]
    tested: bool = False

    @property
    def legend(self) -> str:
        """Meaning of the shades."""
        pale = "Pale: not usable, or the interval reaches 0"
        return f"The darker, the larger. {'Blank: not significant' if self.tested else pale}."

    def is_pale(self, row: Row) -> bool:
        """Return whether an estimate may be zero."""
        if self.tested:
            return not row.is_significant
        lower = row.drawn[0] if row.drawn else None
        return lower is None or lower <= 0 or row.doubtful

    def brief(self, row: Row) -> str:
        """Format the value of a cell with few letters; shares are in percent."""
        shown = row.possible or 0.0
        return (
            wording.number(100 * shown, 0) if row.of.style == "share" else wording.number(shown, 2)
        )


@dataclass(frozen=True)
class Curve:
    """Points (x, y) in order of x; y is None if it is undefined.

    `ends` are the intervals of all y, or empty.
    """

    name: str
    x: tuple[float, ...]
    y: tuple[float | None, ...]
    ends: tuple[tuple[float, float] | None, ...] = ()

    @property
    def defined_points(self) -> list[tuple[float, float]]:
        """Points with a defined y."""
        return [(x, y) for x, y in zip(self.x, self.y, strict=True) if y is not None]


@dataclass(frozen=True)
class CurveChart(_Titled):
    """Chart of several curves y(x), with reference lines at one x and one y.

    On a logarithmic axis, only positive numbers are drawn.
    """

    x_axis: Axis
    y_axis: Axis
    curves: tuple[Curve, ...]
    x_marker: Reference | None = None
    y_marker: Reference | None = None


Chart = EstimateChart | CurveChart | HeatMap


#: Largest numbers of rows, of grid rows or columns, and of curves of a chart, so that it stays
#: legible; more than twenty curves could not be distinguished.
MOST_ROWS, MOST_NAMES, MOST_CURVES = 100, 20, 20


def shorten(chart: Chart) -> Chart:
    """Shorten a chart to a legible size, with a note of how much is left out."""
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
