"""Tables and charts of any result, from its columns and its layout.

A layout defines the arrangement of a long table: the keys that identify a line, the key that is
spread over columns, and the quantities in each line. Analyses define only layouts; the tables and
charts of all analyses are created here.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import msgspec
import numpy as np

from ..columns import Codes
from ..deadlines import check_deadline
from .blocks import Block, Show
from .caveats import Caveat
from .charts import Axis, Chart, Curve, CurveChart, EstimateChart, HeatMap, Panel
from .charts import Reference as Line
from .keys import Key, key_text
from .labels import NAMES, Labels
from .long_table import Row, Rows, Selection, Tidy
from .quantities import Quantity
from .showing import report_count
from .wording import (
    GAP,
    UNDEFINED,
    estimate_in_words,
    interval_in_words,
    items,
    judged,
    number,
    p_value,
    percent,
    quoted,
    unbiased_in_words,
    value,
    with_interval,
)

#: Marks of estimates that are significantly above or below the value of no effect.
MORE, LESS = "▲", "▼"

#: Largest combined code of keys before renumbering, to avoid overflow.
_LARGE = 2**31


class Tabled(Tidy, Protocol):
    """What is read of a result for tables and charts; `Result` has it."""

    @property
    def survey(self) -> str: ...

    @property
    def query(self) -> Any: ...

    @property
    def selection(self) -> Selection | None: ...

    @property
    def caveats(self) -> list[Caveat]: ...

    @property
    def headline(self) -> str: ...

    @property
    def layout(self) -> list[Block]: ...

    @property
    def rows(self) -> Rows: ...

    def key(self, name: str) -> Key:
        """Return a key by name."""


@dataclass(frozen=True)
class Cell:
    """Cell of a table for people: its text, and the number for sorting, None if it is not usable.

    `above` is the text of the cell above, which an empty first cell repeats, `address` the target
    of its link, and `detail` what is shown of a cell that is pointed at. Narrow screens show an
    interval that is `beside` a value in the cell of the value.
    """

    text: str
    number: float | None = None
    above: str = ""
    address: str = ""
    detail: str = ""
    beside: bool = False

    @property
    def value(self) -> str:
        """The number for scripts; empty if it is missing."""
        return "" if self.number is None else f"{self.number:.12g}".replace("inf", "Infinity")

    def __str__(self) -> str:
        return self.text


class Lines(Sequence[list[Cell]]):
    """Lines of a table, formatted when they are read, since pages show only the first of many."""

    def __init__(self, line: Callable[[int], list[Cell]], count: int) -> None:
        self._line, self._count = line, count

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            return [self._line(i) for i in range(*place.indices(self._count))]
        if not 0 <= place < self._count:
            raise IndexError(place)
        return self._line(place)


@dataclass(frozen=True)
class Grid:
    """Table for people: a header and rows of cells."""

    header: Sequence[str]
    rows: Sequence[list[Cell]]


#: Separators before the values of some keys in the name of a line; the default is a comma.
_BETWEEN = {"consequent": " → ", "against": " against "}


class Arranged:
    """Rows of a result arranged in a block: a table, perhaps with a chart.

    `places` has the row of each line, value of the key across, and show; −1 for missing ones. The
    values of `keys` are labels.
    """

    def __init__(self, result: Tabled, block: Block, labels: Labels = NAMES) -> None:
        self.result, self.block, self.labels = result, block, labels
        self.keys = {key.name: labels.key(key, result.keys) for key in result.keys}
        self.lines = [self.keys[name] for name in block.lines]
        self.across = None if block.across is None else self.keys[block.across]
        quantities = result.estimates.texts("quantity")
        if block.stacked and not (self.lines and self.lines[-1].blank):
            titles = {show.quantity: show.of.title for show in block.shows}
            named = Key(name="quantity", label=" ", values=quantities.renamed(titles))
            self.lines.append(named)
        shows = np.full(len(result.estimates), -1)
        for i, show in enumerate(block.shows):
            shows[quantities.equals(show.quantity)] = 0 if block.stacked else i
        rows = np.flatnonzero(shows >= 0)
        line, first = _numbered([key.values.ids[rows] for key in self.lines], len(rows))
        across, self.columns = np.zeros(len(rows), int), np.zeros(1, int)
        if self.across is not None:
            across, firsts = _numbered([self.across.values.ids[rows]], len(rows))
            self.columns = rows[firsts]
        shape = (len(first), len(self.columns), 1 if block.stacked else len(block.shows))
        self.places: Codes = np.full(shape, -1)
        self.places[line, across, shows[rows]] = rows
        #: One row of each line, which has its keys.
        self.first = rows[first]

    @property
    def title(self) -> str:
        """Title of the block."""
        return self.block.title

    @cached_property
    def grid(self) -> Grid:
        """The table."""
        return _grid(self)

    @cached_property
    def chart(self) -> Chart | None:
        """The chart; None for a block without a chart, or without lines."""
        return _chart(self)

    def heading(self, line: int, keys: Sequence[Key]) -> str:
        """Format the keys of a line as one text, each answer with its question."""
        place = int(self.first[line])
        texts = [(key, key.text(place)) for key in keys]
        return ", ".join(
            items({key.title: text}) if key.kind == "answer" and key.question else text
            for key, text in texts
            if text
        )

    def drawn(self, line: int, column: int, show: int) -> Row | None:
        """Return a row if charts show its quantity, else None."""
        row = self.row(line, column, show)
        quantities = {each.quantity for each in self.block.shows if each.drawn}
        return row if row is not None and row.quantity in quantities else None

    @cached_property
    def drawn_lines(self) -> Codes:
        """The lines that a chart draws, in the order of the table.

        With panels, these are the lines of the first panels, up to `most` lines. Otherwise, these
        are the `most` usable lines whose first estimate is the most standard errors above the
        reference, since the largest of many estimates would be mostly noise. Best guesses have no
        errors, so the largest are drawn.
        """
        block = self.block
        if block.most is None:
            return np.arange(len(self.first))
        if block.panels:
            heads = [key.values.ids[self.first] for key in self.lines[: block.panels]]
            panel = _numbered(heads, len(self.first))[0]
            fits = np.cumsum(np.bincount(panel)) <= block.most
            fits[0] = True
            return np.flatnonzero(fits[panel])
        table, places = self.result.estimates, self.places[:, 0, 0]
        usable = ~table.texts("reliability").equals("not usable")[places]
        usable |= not usable.any()
        above = table.value - (block.reference or 0.0)
        if table.standard_error is not None:
            with np.errstate(divide="ignore", invalid="ignore"):
                above = above / table.standard_error
        above = np.where(usable, np.nan_to_num(above[places], nan=-np.inf, posinf=np.inf), -np.inf)
        clearest = np.lexsort((-above, ~usable))
        return np.sort(clearest[: min(block.most, int(usable.sum()))])

    @cached_property
    def with_intervals(self) -> bool:
        """Whether any row has an interval."""
        return bool((self.result.estimates.texts("set").codes >= 0).any())

    def row(self, line: int, column: int, show: int) -> Row | None:
        """Return a row of the result."""
        place = int(self.places[line, column, show])
        return None if place < 0 else self.result.rows[place]

    def name(self, line: int, keys: Sequence[Key] | None = None) -> str:
        """Format the keys of a line as one text."""
        place = int(self.first[line])
        chosen = self.lines if keys is None else keys
        name = ""
        for key in chosen:
            text = key.text(place)
            if text and key.kind == "number":
                text = f"{key.title} {text}"
            name += f"{_BETWEEN.get(key.name, ', ') if name and text else ''}{text}"
        return name


def _numbered(ids: Sequence[Codes], count: int) -> tuple[Codes, Codes]:
    """Number distinct tuples in the order of first occurrence; return numbers and first rows."""
    if not ids:
        return np.zeros(count, int), np.zeros(min(count, 1), int)
    whole = np.zeros(count, dtype=np.int64)
    for column in ids:
        whole = whole * (int(column.max(initial=-1)) + 2) + column + 1
        if whole.max(initial=0) > _LARGE:
            whole = np.unique(whole, return_inverse=True)[1]
    _, first, inverse = np.unique(whole, return_index=True, return_inverse=True)
    rank = np.empty(len(first), int)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse], np.sort(first)


def _grid(arranged: Arranged) -> Grid:
    block = arranged.block
    parts = [
        (i, show, [p for p in show.parts if p != "interval" or arranged.with_intervals])
        for i, show in enumerate(block.shows[: arranged.places.shape[2]])
    ]
    across = arranged.across
    header = [key.title for key in arranged.lines]
    shown = [
        (j, i, show, chosen)
        for j in range(len(arranged.columns))
        for i, show, chosen in parts
        if (arranged.places[:, j, i] >= 0).any()
    ]
    for j, _, show, chosen in shown:
        over = "" if across is None else across.text(int(arranged.columns[j]))
        header += [_heading(arranged, show, part, over) for part in chosen]

    def line(i: int) -> list[Cell]:
        check_deadline()
        cells = []
        for j, key in enumerate(arranged.lines):
            text = key.text(int(arranged.first[i]))
            repeated = (
                not j
                and i > 0
                and len(arranged.lines) > 1
                and text == key.text(int(arranged.first[i - 1]))
            )
            cells.append(Cell("", above=text) if repeated else Cell(text, _as_number(text)))
        for column, place, show, chosen in shown:
            row = arranged.row(i, column, place)
            where = int(arranged.places[i, column, place])
            cells += [_cell(arranged, where, row, part, show.names) for part in chosen]
        return cells

    return Grid(header, Lines(line, len(arranged.first)))


def _heading(arranged: Arranged, show: Show, part: str, over: str) -> str:
    block = arranged.block
    alone = "value" not in show.parts and part == "estimate"
    styles = {each.of.style for each in block.shows}
    of = show.of
    if block.stacked:
        of = Quantity("value", style=styles.pop() if len(styles) == 1 else "number")
    names = {
        "value": of.title + (" in points" if of.style == "points" else ""),
        "estimate": of.title,
        "interval": f"{percent(confidence(arranged.result))} interval",
        "adjusted_p_value": "adjusted p-value",
        "p_value": "p-value",
    }
    known = {name: key.title for name, key in arranged.keys.items()}
    name = names.get(part) or known.get(part) or part.replace("_", " ")
    return over if over and alone else f"{over}: {name}" if over else name


def confidence(result: Tabled) -> float:
    """Return the confidence level of the intervals of a result."""
    return float(getattr(result.query, "confidence", 0.95))


def value_in_words(row: Row, names: Mapping[str, str] | None = None) -> str:
    """Format the value of an estimate, or its name, with its reliability if it is not usable."""
    if row.value is None:
        return "" if row.of.style == "count" else row.undefined or UNDEFINED
    if names:
        return judged(names[str(row.value)], row.reliability)
    return estimate_in_words(row, row.of)


def set_in_words(row: Row, names: Mapping[str, str] | None = None) -> str:
    """Format the confidence set of an estimate, or the names of its ends."""
    if names and row.ends is not None:
        lower, upper = (names[str(end)] for end in row.ends)
        return lower if lower == upper else f"{quoted(lower)} to {quoted(upper)}"
    return interval_in_words(row, row.of)


def in_words(row: Row) -> str:
    """Format an estimate with its interval; differences of shares are in percentage points."""
    return with_interval(row, row.of)


def _cell(
    arranged: Arranged, place: int, row: Row | None, part: str, names: Mapping[str, str]
) -> Cell:
    if row is None:
        return Cell("")
    of = row.of
    usable = row.value if row.reliability != "not usable" or of.style == "count" else None
    unbiased = "" if names else unbiased_in_words(row, of)
    if part == "value":
        return Cell(value_in_words(row, names), usable, detail=unbiased)
    if part == "interval":
        least = row.interval[0] if row.interval else None
        return Cell(set_in_words(row, names), least, beside=True)
    if part == "estimate":
        # A set that is not an interval does not fit into a cell.
        words = value_in_words if row.drawn is None else in_words
        return Cell(words(row) + _mark(row), usable, detail=unbiased)
    if part in ("p_value", "adjusted_p_value"):
        p = getattr(row, part)
        return Cell(p_value(p) if p is not None else "", p)
    if part in ("standard_error", "statistic"):
        some = row.standard_error if part == "standard_error" else row.statistic
        if part == "standard_error" and some is None:
            some = row.standard_error_log
        return Cell("" if some is None else value(some), some)
    if part == "decision":
        return Cell(row.decision or "")
    text = key_text(arranged.keys[part].values[place]) or ""
    return Cell(text, _as_number(text))


def _mark(row: Row) -> str:
    if row.statistic is None or not row.is_significant:
        return ""
    # A non-breaking space keeps the mark on the line of the estimate.
    return f"{GAP}{MORE if row.statistic > 0 else LESS}"


def _as_number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


# Charts


def _chart(arranged: Arranged) -> Chart | None:
    result, block, labels = arranged.result, arranged.block, arranged.labels
    if block.picture is None:
        return None
    if block.picture == "heat map" and block.across is None:
        # The last key of the lines defines the columns.
        *lines, across = block.lines
        block = msgspec.structs.replace(block, lines=lines, across=across)
        arranged = Arranged(result, block, labels)
    title = " · ".join(filter(None, [block.title, labels.survey or result.survey]))
    if not len(arranged.first):
        return None
    if block.picture == "heat map":
        return _heat_map(arranged, title)
    if block.picture == "curves":
        return _curves(arranged, title)
    panels = [
        panel
        for i, show in enumerate(block.shows[: arranged.places.shape[2]])
        if show.drawn
        for panel in _panels(arranged, i, show)
    ]
    shares = all(panel.axis.shares for panel in panels)
    drawn, every = len(arranged.drawn_lines), len(arranged.first)
    most = "largest" if result.estimates.standard_error is None else "most clearly above the line"
    fewer = f"the {drawn} of {number(every, 0)} that are {most}"
    if block.panels:
        fewer = f"the first {drawn} of {number(every, 0)} rows"
    return EstimateChart(
        title,
        (f"Shown are {fewer}.",) if drawn < every else (),
        tuple(panels),
        confidence(result),
        bars=block.picture == "bars" and shares,
        decided=any("decision" in show.parts for show in block.shows),
        folded=block.folded,
        reports=report_count(result),
    )


def _axis(of: Quantity) -> Axis:
    """Return the linear axis of a quantity."""
    points = of.style == "points"
    title = "percentage points" if points else of.title
    return Axis(title, shares=of.style == "share", points=points)


def _panels(arranged: Arranged, place: int, show: Show) -> Iterator[Panel]:
    block, of = arranged.block, show.of
    axis = replace(_axis(of), scale="log" if of.ratio else "linear")
    line = None
    if block.reference is not None:
        line = Line(block.reference, block.reference_label)
    elif of.no_effect is not None:
        line = Line(of.no_effect, "no difference")
    heads, names = arranged.lines[: block.panels], arranged.lines[block.panels :]
    grouped: dict[str, list[tuple[str, Row]]] = {}
    for i in arranged.drawn_lines.tolist():
        check_deadline()
        for j, column in enumerate(arranged.columns.tolist()):
            row = arranged.drawn(i, j, place)
            if row is None:
                continue
            over = "" if arranged.across is None else arranged.across.text(column)
            label = ", ".join(filter(None, [arranged.name(i, names), over]))
            head = arranged.heading(i, heads)
            grouped.setdefault(head, []).append((label or of.title, row))
    several = not block.stacked and sum(each.drawn for each in block.shows) > 1
    for head, rows in grouped.items():
        name = f"{of.title[:1].upper()}{of.title[1:]}" if several else ""
        heading = ", ".join(filter(None, [head, name]))
        yield Panel(axis, tuple(rows), heading, line)


def _heat_map(arranged: Arranged, title: str) -> HeatMap:
    across = arranged.across
    names = [""] if across is None else [*map(across.text, arranged.columns.tolist())]
    known = [
        [arranged.drawn(i, j, 0) for j in range(len(names))] for i in range(len(arranged.first))
    ]
    columns = [j for j in range(len(names)) if any(line[j] for line in known)]
    tested = "adjusted_p_value" in arranged.block.shows[0].parts
    every = [arranged.name(i) for i in range(len(arranged.first))]
    lines = [(every[i], line) for i, line in enumerate(known) if any(line)]
    cells = {(name, names[j]): line[j] for name, line in lines for j in columns}
    down, over = [name for name, _ in lines], [names[j] for j in columns]
    if arranged.block.symmetric:
        cells |= {(b, a): cell for (a, b), cell in cells.items() if cell is not None}
        down = over = [*dict.fromkeys([*down, *over])]
    shown = tuple(tuple(cells.get((name, other)) for other in over) for name in down)
    return HeatMap(title, (), tuple(down), tuple(over), shown, tested)


def _curves(arranged: Arranged, title: str) -> CurveChart:
    block = arranged.block
    assert block.along is not None  # noqa: S101 (curves have an axis)
    along, of = arranged.keys[block.along], block.shows[0].of
    heads = arranged.lines[: block.panels]
    others = [key for key in arranged.lines[block.panels :] if key is not along]
    every = [arranged.name(i, heads) for i in range(len(arranged.first))]
    curves: dict[str, list[Row]] = {}
    for i, head in enumerate(every):
        row = arranged.row(i, 0, 0)
        if row is not None and head == every[0]:
            curves.setdefault(arranged.name(i, others), []).append(row)
    panels = len({*every})
    return CurveChart(
        " · ".join(filter(None, [every[0], title])),
        (f"Shown is {every[0]}, the first of {number(panels)}.",) if panels > 1 else (),
        Axis(along.title, counted=True),
        _axis(of),
        tuple(
            Curve(
                name or of.title,
                tuple(float(row[along.name]) for row in rows),
                tuple(row.possible for row in rows),
                tuple(row.ends for row in rows),
            )
            for name, rows in curves.items()
        ),
    )
