"""Charts on pages: the places of their marks, which the template ``charts.html`` draws.

Places are in percent of the width or height that a chart has, so that the browser lays it out and
letters have the size of other texts at any width. No script is needed, and no style attribute,
which the content security policy would refuse.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from halftruth_shared.deadlines import check_deadline
from halftruth_shared.results import Row
from halftruth_shared.results.charts import (
    DOUBTFUL_LABEL,
    INNER_LABEL,
    OUTER_LABEL,
    Axis,
    Chart,
    Curve,
    CurveChart,
    EstimateChart,
    HeatMap,
    Panel,
    Reference,
    shorten,
)
from halftruth_shared.results.charts.scales import (
    Limits,
    fits,
    limits,
    limits_of_rows,
    place,
    ticks,
)
from halftruth_shared.results.layout import in_words
from halftruth_shared.results.long_table import FREQUENT
from halftruth_shared.results.wording import (
    UNDEFINED,
    half_width,
    number_in_words,
    unbiased_in_words,
)

#: Number of colours of curves and decisions, of tints of the answers to a question, and of shades
#: of a heat map.
COLOURS, TINTS, SHADES = 5, 5, 10

#: Largest number of columns of a heat map whose cells have whole texts, not only numbers.
_WORDED = 8

#: Darkest shade of a heat map: at least this share, so that noise does not look like an effect.
_LEAST_DARKEST = 0.05


@dataclass(frozen=True)
class Tick:
    """Tick of an axis: its place and its text."""

    at: float
    text: str

    @property
    def anchor(self) -> str:
        """Side of the text at the place: the first and the last do not leave the axis."""
        return "start" if self.at < 1 else "end" if self.at > 99 else "middle"


@dataclass(frozen=True)
class Scale:
    """Axis of a chart with its ticks, and the place of a line that values are compared with."""

    axis: Axis
    ends: Limits
    reference: Reference | None = None

    def at(self, value: float) -> float:
        """Return the place of a value in percent."""
        return round(100 * place(value, self.axis, self.ends), 2)

    @property
    def ticks(self) -> list[Tick]:
        """The ticks, from the smallest."""
        return [
            Tick(self.at(each), self.axis.written(each)) for each in ticks(self.axis, self.ends)
        ]

    @property
    def zero(self) -> float:
        """Place where bars begin."""
        return self.at(0.0) if self.axis.scale == "linear" else 0.0

    @property
    def marked(self) -> float | None:
        """Place of the reference line."""
        return None if self.reference is None else self.at(self.reference.value)


@dataclass(frozen=True)
class Mark:
    """Row of a chart: an estimate with its interval.

    `ends` and `inner` are the places of the interval and of that without perturbation, and `caps`
    those of the ends that the axis reaches. `look` is the number of the decision, 0 without one.
    """

    label: str
    words: str
    at: float | None
    ends: Limits | None
    caps: tuple[float, ...]
    inner: Limits | None
    doubtful: bool
    look: int
    detail: str


@dataclass(frozen=True)
class Part:
    """Part of the line of a question: the place of an answer, its width, its tint and its text.

    The reason why a question has no estimates has no tint.
    """

    at: float
    width: float
    tint: int | None
    words: str


@dataclass(frozen=True)
class Group:
    """Marks with a heading; `line` and `margin` describe them in one line of a folded chart."""

    heading: str
    marks: tuple[Mark, ...]
    line: tuple[Part, ...] = ()
    margin: str = ""


@dataclass(frozen=True)
class RowsOnPage:
    """Groups of rows, each with the scale below it; None if the next group has the same."""

    bars: bool
    folded: bool
    groups: tuple[tuple[Group, Scale | None, Scale], ...]
    legend: tuple[tuple[str, str], ...]
    kind: str = "rows"


@dataclass(frozen=True)
class CellOnPage:
    """Cell of a heat map, with a shade from 0 to `SHADES`."""

    words: str
    shade: int
    detail: str


@dataclass(frozen=True)
class GridOnPage:
    """Heat map as a table of shaded cells; None for a cell without an estimate."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[CellOnPage | None, ...]], ...]
    upright: bool
    legend: str
    kind: str = "grid"


@dataclass(frozen=True)
class CurveOnPage:
    """Curve: its points in percent, as the attribute of a polyline, and its marks."""

    name: str
    colour: int
    points: str
    marks: tuple[tuple[float, float, Limits | None, str], ...]


@dataclass(frozen=True)
class CurvesOnPage:
    """Curves with their scales; places upwards are from the top."""

    x: Scale
    y: Scale
    curves: tuple[CurveOnPage, ...]
    legend: tuple[tuple[str, str], ...]
    kind: str = "curves"


@dataclass(frozen=True)
class ChartOnPage:
    """Chart with its title, notes below it, and the places of its marks."""

    title: str
    notes: tuple[str, ...]
    places: RowsOnPage | GridOnPage | CurvesOnPage


def on_page(chart: Chart, several: Collection[str] = ()) -> ChartOnPage:
    """Return a chart with the places of its marks, shortened if it is too long.

    Parameters
    ----------
    several : collection of str
        Headings of questions whose answers do not exclude each other.
    """
    short = shorten(chart)
    places: RowsOnPage | GridOnPage | CurvesOnPage
    if isinstance(short, CurveChart):
        places = _curves(short)
    elif isinstance(short, HeatMap):
        places = _grid(short)
    else:
        places = _rows(short, several)
    return ChartOnPage(short.title, short.notes, places)


# Rows


def _rows(chart: EstimateChart, several: Collection[str]) -> RowsOnPage:
    panels = [panel for panel in chart.panels if panel.rows]
    every = [row for panel in panels for _, row in panel.rows]
    common = limits_of_rows(chart, every, panels[0]) if chart.bars and panels else None
    groups = []
    for number, panel in enumerate(panels):
        check_deadline()
        rows = [row for _, row in panel.rows]
        ends = common or limits_of_rows(chart, rows, panel)
        scale = Scale(panel.axis, ends, panel.reference)
        marks = tuple(_mark(chart, scale, panel, label, row) for label, row in panel.rows)
        group = Group(panel.heading, marks)
        if chart.folded:
            line = _line(panel, apart=panel.heading in several)
            group = Group(panel.heading, marks, line, _margin(rows))
        last = common is None or number == len(panels) - 1
        groups.append((group, scale if last or chart.folded else None, scale))
    return RowsOnPage(chart.bars, chart.folded, tuple(groups), tuple(_legend(chart, every)))


def _mark(chart: EstimateChart, scale: Scale, panel: Panel, label: str, row: Row) -> Mark:
    ends, inner = row.drawn, chart.inner(row)
    low, high = scale.ends
    # The reason is in the sentences below the chart, and in the detail.
    words, said = UNDEFINED if row.value is None else in_words(row), in_words(row)
    about = ", ".join(filter(None, [panel.heading, label]))
    category, unbiased = chart.category(row), unbiased_in_words(row, row.of)
    return Mark(
        label=label,
        words=words,
        at=None if row.possible is None else scale.at(row.possible),
        ends=None if ends is None else (scale.at(ends[0]), scale.at(ends[1])),
        caps=tuple(scale.at(end) for end in ends or () if low <= end <= high),
        inner=None if inner is None else (scale.at(inner[0]), scale.at(inner[1])),
        doubtful=row.doubtful,
        look=["", *FREQUENT].index(category),
        detail="; ".join(filter(None, [f"{about}: {said}", unbiased, category, chart.reports])),
    )


def _legend(chart: EstimateChart, rows: Sequence[Row]) -> Iterator[tuple[str, str]]:
    """Yield the classes and names of marks that need an explanation."""
    decisions = {chart.category(row) for row in rows if not row.doubtful}
    yield from ((f"look-{i}", each) for i, each in enumerate(FREQUENT, 1) if each in decisions)
    if any(row.doubtful for row in rows):
        yield "doubtful", DOUBTFUL_LABEL
    references = {panel.reference.label for panel in chart.panels if panel.reference}
    yield from (("reference", each) for each in sorted(references) if each)
    if any(chart.inner(row) for row in rows):
        yield "interval", OUTER_LABEL
        yield "inner", INNER_LABEL


def _line(panel: Panel, *, apart: bool) -> tuple[Part, ...]:
    """Return the parts of the line of a question: shares beside each other, or one bar for each.

    Beside each other, the line ends before its end if some people gave no answer. Shares that add
    up to more than all people, as a negative estimate is shown as none, are drawn in proportion.
    """
    reasons = {row.undefined for _, row in panel.rows if row.value is None}
    if len(reasons) == 1 and all(row.value is None for _, row in panel.rows):
        return (Part(0.0, 0.0, None, reasons.pop() or UNDEFINED),)
    values = [row.possible or 0.0 for _, row in panel.rows]
    total, room = max(sum(values), 1.0), 100 / len(values)
    parts, at = [], 0.0
    for i, ((label, row), value) in enumerate(zip(panel.rows, values, strict=True)):
        words = f"{label} {_value(row)}"
        if apart:
            parts.append(Part(round(i * room, 2), round(0.9 * room * value, 2), 0, words))
            continue
        width = 100 * value / total
        parts.append(Part(round(at, 2), round(width, 2), i % TINTS, words))
        at += width
    return tuple(parts)


def _value(row: Row) -> str:
    return row.undefined or UNDEFINED if row.value is None else number_in_words(row, row.of)


def _margin(rows: Sequence[Row]) -> str:
    """Return the median of half the lengths of the intervals of a question."""
    halves = [(row.ends[1] - row.ends[0]) / 2 for row in rows if row.ends]
    return half_width(float(np.median(halves))) if halves else ""


# Heat maps


def _grid(chart: HeatMap) -> GridOnPage:
    known = [cell for line in chart.cells for cell in line if cell and cell.value is not None]
    clear = [cell.possible or 0.0 for cell in known if not chart.is_pale(cell)]
    darkest = max([_LEAST_DARKEST, *clear])
    worded = len(chart.columns) <= _WORDED
    rows = tuple(
        (
            name,
            tuple(
                _cell(chart, cell, name, column, darkest, worded)
                for column, cell in zip(chart.columns, line, strict=True)
            ),
        )
        for name, line in zip(chart.rows, chart.cells, strict=True)
    )
    return GridOnPage(chart.columns, rows, not worded, chart.legend)


def _cell(
    chart: HeatMap, row: Row | None, name: str, column: str, darkest: float, worded: bool
) -> CellOnPage | None:
    if row is None:
        return None
    said = filter(None, [in_words(row), unbiased_in_words(row, row.of)])
    detail = f"{name}, {column}: {'; '.join(said)}"
    pale = chart.is_pale(row)
    if row.value is None or (pale and chart.tested):
        return CellOnPage("", 0, detail)
    shade = 0 if pale else round(SHADES * float(np.clip((row.possible or 0.0) / darkest, 0, 1)))
    return CellOnPage(_value(row) if worded else chart.brief(row), shade, detail)


# Curves


def _curves(chart: CurveChart) -> CurvesOnPage:
    x_axis, y_axis = chart.x_axis, chart.y_axis
    drawn = [
        [(x, y) for x, y in curve.defined_points if fits(x, x_axis) and fits(y, y_axis)]
        for curve in chart.curves
    ]
    along = [x for x, _ in chain(*drawn)] + [0.0] * x_axis.shares
    up = [y for _, y in chain(*drawn)] + [0.0] * (y_axis.shares or y_axis.counted)
    along += [chart.x_marker.value] if chart.x_marker else []
    up += [chart.y_marker.value] if chart.y_marker else []
    ends = chain(*(curve.ends for curve in chart.curves))
    x = Scale(x_axis, limits(x_axis, along, ()), chart.x_marker)
    y = Scale(y_axis, limits(y_axis, up, ends), chart.y_marker)
    curves = [
        _curve(curve, known, x, y, i % COLOURS)
        for i, (curve, known) in enumerate(zip(chart.curves, drawn, strict=True))
    ]
    markers = [each.label for each in (chart.x_marker, chart.y_marker) if each]
    names = [(f"colour-{each.colour}", each.name) for each in curves]
    alone = [name for _, name in names] == [y_axis.label]
    legend = (*(() if alone else names), *(("reference", label) for label in markers))
    return CurvesOnPage(x, y, tuple(curves), legend)


def _curve(
    curve: Curve, known: Sequence[tuple[float, float]], x: Scale, y: Scale, colour: int
) -> CurveOnPage:
    placed = [(x.at(a), round(100 - y.at(b), 2)) for a, b in known]
    ends = dict(zip(curve.x, curve.ends, strict=False))
    marks = []
    for (a, b), (left, top) in zip(known, placed, strict=True):
        interval = ends.get(a)
        whisker = None
        words = y.axis.written(b)
        if interval is not None:
            whisker = (round(100 - y.at(interval[0]), 2), round(100 - y.at(interval[1]), 2))
            words += f" ({' to '.join(y.axis.written(end) for end in interval)})"
        marks.append(
            (left, top, whisker, f"{curve.name}, {x.axis.label} {x.axis.written(a)}: {words}")
        )
    points = " ".join(f"{left:g},{top:g}" for left, top in placed)
    return CurveOnPage(curve.name, colour, points, tuple(marks))
