"""Tables and charts of results for notebooks and shells, derived from their columns.

Columns `lower` and `upper` are the interval of the first number of a row, `X_lower` and `X_upper`
that of the column `X`; a column `set` or `X_set` before them says what kind of set they are.
A column `sampling_error` is the standard error without perturbation.
"""

import math
from collections.abc import Iterator, Sequence
from datetime import UTC
from functools import cached_property
from itertools import groupby
from statistics import NormalDist
from typing import Any

import msgspec

from halftruth_shared.analyses.wording import (
    items,
    judged,
    number,
    p_value,
    percent,
    share,
    share_interval,
    value,
    value_interval,
)

from ..picture import Mark, Panel, Picture
from .reading import fields, write

#: Most rows of a table in a notebook, and of a chart.
MOST_ROWS = 60
MOST_DRAWN = 40

#: Numbers with intervals beside each other, if there is one row of them.
_MOST_BESIDE = 4

#: First columns that name a quantity, each with its own axis.
_QUANTITIES = ("estimate", "measure")

_THICK = "Thick: without perturbation the interval would be this long."

#: Separators before the second text of a label, other than a comma.
_SEPARATORS = {"against": " against ", "consequent": " → "}


def of_reports(result: Any) -> str:
    """Describe the number of reports of a result and their time, or the size of a pilot."""
    pilot = getattr(result, "pilot", None)
    if pilot is not None:
        return f"{number(pilot, 0)} people of a pilot"
    counted = "1 report" if result.reports == 1 else f"{number(result.reports, 0)} reports"
    return f"{counted}, {result.as_of.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def of_group(result: Any) -> list[str]:
    """Describe the domain of a result and its size; empty if it is everybody."""
    query: Any = getattr(result, "query", None)
    left_out = getattr(query, "missing", "keep") == "exclude"
    sentences = (
        ["Of each table those are left out whose answer to a question of it is missing."]
        if left_out
        else []
    )
    if result.group is None:
        return sentences
    group = result.group
    size = number(group.people, 0)
    if group.people_interval is not None:
        size += f" ({' to '.join(number(end, 0) for end in group.people_interval)})"
    return [
        f"Only those with {items(group.items)}: {share(group.share, group.interval)}"
        f" ({share_interval(group.interval)}) of everybody, about {size} of these reports.",
        *sentences,
    ]


def level(confidence: float) -> str:
    """Name of intervals of a confidence level."""
    return f"{percent(confidence)} interval"


def name_of_result(result: Any) -> str:
    """Name of the analysis of a result."""
    return type(result).__module__.rpartition(".")[2].replace("_", "-")


class Bounds(msgspec.Struct, frozen=True):
    """Columns of a number, of its interval, and of the kind of confidence set."""

    value: int
    lower: int
    kind: int | None = None

    def of(self, row: Sequence[Any]) -> tuple[float, float] | None:
        """Return the interval of a row if it has both ends."""
        lower, upper = row[self.lower], row[self.lower + 1]
        if lower is None or upper is None or self.kind_of(row) != "interval":
            return None
        return lower, upper

    def drawn(self, row: Sequence[Any]) -> tuple[float, float] | None:
        """Return the interval of a row to draw, infinite without an upper end."""
        if row[self.lower] is not None and row[self.lower + 1] is None:
            return row[self.lower], math.inf
        return self.of(row)

    def kind_of(self, row: Sequence[Any]) -> str:
        """Return the kind of confidence set of a row, by default an interval."""
        return "interval" if self.kind is None else row[self.kind] or "interval"

    def in_words(self, row: Sequence[Any]) -> str:
        """Describe the confidence set of a row; empty if there is none."""
        lower, upper = row[self.lower], row[self.lower + 1]
        kind = self.kind_of(row)
        if kind == "everything":
            return "anything"
        if lower is None:
            return ""
        if upper is None:
            return f"from {number(_rounded(lower))} on"
        if kind == "outside":
            return f"up to {number(_rounded(lower))}, or from {number(_rounded(upper))} on"
        return value_interval((lower, upper))


class Layout:
    """Roles of the columns of a result.

    Attributes
    ----------
    keys : int
        Number of leading columns that identify a row.
    bounds : list of Bounds
        The numbers with intervals; charts show the first.
    in_two_tones : bool
        Whether the length of the first interval without perturbation is known.
    others : list of int
        The other columns, without standard errors.
    """

    def __init__(self, result: Any, index: int) -> None:
        self.names = [name for name, _ in result.columns]
        self.types = [kind for _, kind in result.columns]
        self.keys = index or self._leading_texts()
        # An attribute among the keys may have the name of another column.
        self._after = {name: i for i, name in enumerate(self.names) if i >= self.keys}
        intervals = [self._bounds(name) for name in self._after if name.endswith("lower")]
        self.in_two_tones = "sampling_error" in self._after
        query: Any = getattr(result, "query", None)
        self._quantile = NormalDist().inv_cdf((1 + getattr(query, "confidence", 0.95)) / 2)
        self.bounds = [bounds for bounds in intervals if bounds is not None]
        shown = {i for b in self.bounds for i in (b.value, b.lower, b.lower + 1, b.kind)}
        self.others = [
            i
            for name, i in self._after.items()
            if i not in shown and not name.endswith(("_error", "lower", "upper"))
        ]

    @cached_property
    def usability(self) -> int | None:
        """The column of reliabilities."""
        return self._after.get("usability")

    def sampling(self, row: Sequence[Any]) -> tuple[float, float] | None:
        """Return the first interval of a row without perturbation, if known."""
        interval = self.bounds[0].of(row) if self.in_two_tones else None
        if interval is None:
            return None
        error = row[self._after["sampling_error"]]
        if not error:
            return None
        middle, half_width = sum(interval) / 2, self._quantile * error
        return middle - half_width, middle + half_width

    def _leading_texts(self) -> int:
        for i, (name, kind) in enumerate(zip(self.names, self.types, strict=True)):
            if kind is not str or name == "usability":
                return i
        return len(self.names)

    def _bounds(self, lower: str) -> Bounds | None:
        stem = lower.removesuffix("lower").removesuffix("_")
        number = self._after.get(stem)
        if not stem:
            after = range(self.keys, len(self.names))
            number = next((i for i in after if self.types[i] is float), None)
        if number is None:
            return None
        return Bounds(number, self._after[lower], self._after.get(f"{stem}_set".lstrip("_")))


class Shown(msgspec.Struct, frozen=True):
    """Table for people: title, notes, header, rows, and the number of rows left out."""

    title: str
    notes: Sequence[str]
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    left_out: int = 0

    def text(self) -> str:
        """Format as plain text."""
        table = [self.header, *self.rows]
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        lines = [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in table
        ]
        lines.insert(1, "  ".join("-" * width for width in widths))
        return "\n".join([self.title, *self.notes, *(lines if self.rows else []), *self._more()])

    def html(self) -> str:
        """Format as HTML, with every text escaped."""
        # Imported here: only notebooks need it.
        from html import escape

        head = "".join(f"<th>{escape(cell)}</th>" for cell in self.header)
        body = "".join(
            f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in self.rows
        )
        notes = "".join(f"<br>{escape(sentence)}" for sentence in self.notes)
        caption = f"<b>{escape(self.title)}</b>{notes}"
        more = "".join(f"<p>{escape(sentence)}</p>" for sentence in self._more())
        return (
            f'<table><caption style="caption-side: top; text-align: left">{caption}</caption>'
            f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"
        )

    def _more(self) -> list[str]:
        if not self.rows:
            return ["Nothing was found."]
        left = number(self.left_out, 0)
        return [f"… and {left} more: to_pandas() has all"] if self.left_out else []


def shown(result: Any) -> Shown:
    """Format a result as a compact table: numbers with their intervals, and notes."""
    rows = [*result.rows()]
    header, cells = _table(Layout(result, result.index), rows[:MOST_ROWS], _confidence(result))
    return Shown(
        f"{name_of_result(result)} of {result.survey}",
        [*_parameters(result), of_reports(result), *of_group(result), *_verdicts(result)],
        header,
        cells,
        max(0, len(rows) - MOST_ROWS),
    )


def _table(
    layout: Layout, rows: Sequence[Sequence[Any]], interval: str
) -> tuple[list[str], list[list[str]]]:
    columns: list[tuple[str, list[str]]] = []
    for i in range(layout.keys):
        # Repeated keys are blank, and so is a label that equals the name.
        if layout.names[i] == "label" and all(row[i] == row[i - 1] for row in rows):
            continue
        cells = [str(row[i]) for row in rows]
        columns.append((layout.names[i], cells if i == layout.keys - 1 else _unrepeated(rows, i)))
    for bounds in layout.bounds:
        columns.append(
            (layout.names[bounds.value], [_estimate(layout, bounds, row) for row in rows])
        )
        columns.append((interval, [bounds.in_words(row) for row in rows]))
    for i in layout.others:
        usual = (None, "usable", *((False,) if layout.names[i] == "missing" else ()))
        if all(row[i] in usual for row in rows):
            continue
        columns.append((layout.names[i], [_plain(layout.names[i], row[i]) for row in rows]))
    header = [name.replace("_", " ") for name, _ in columns]
    lines = [list(line) for line in zip(*(cells for _, cells in columns), strict=True)]
    if len(lines) == 1 and len(layout.bounds) > _MOST_BESIDE:
        return _transposed(header, lines[0], interval)
    return header, lines


def _transposed(
    header: Sequence[str], cells: Sequence[str], interval: str
) -> tuple[list[str], list[list[str]]]:
    """Turn one row of many numbers into a table no wider than a page."""
    rows: list[list[str]] = []
    for name, cell in zip(header, cells, strict=True):
        if name == interval:
            rows[-1][2] = cell
        else:
            rows.append([name, cell, ""])
    return ["", "", interval], rows


def _unrepeated(rows: Sequence[Sequence[Any]], i: int) -> list[str]:
    before = [None, *(tuple(row[: i + 1]) for row in rows)]
    return [
        "" if tuple(row[: i + 1]) == above else str(row[i])
        for row, above in zip(rows, before, strict=False)
    ]


def _estimate(layout: Layout, bounds: Bounds, row: Sequence[Any]) -> str:
    if row[bounds.value] is None:
        return "undefined" if bounds is layout.bounds[0] else ""
    text = value(row[bounds.value], bounds.of(row))
    return text if layout.usability is None else judged(text, row[layout.usability])


def _plain(name: str, cell: Any) -> str:
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if not isinstance(cell, (int, float)):
        return str(cell)
    return p_value(cell) if name == "p_value" else number(_rounded(cell))


def _rounded(quantity: float) -> float:
    return quantity if isinstance(quantity, int) else float(f"{quantity:.4g}")


def _confidence(result: Any) -> str:
    return level(getattr(result.query, "confidence", 0.95))


def _parameters(result: Any) -> list[str]:
    """Describe the parameters of a query that differ from defaults, without its domain."""
    kind: Any = type(result.query)
    defaults = {name: field.default for name, field in fields(kind).items()}
    parameters = [
        f"{name.replace('_', ' ')}: {', '.join(texts)}"
        for name, texts in write(result.query).items()
        if name not in ("where", "missing") and getattr(result.query, name) != defaults[name]
    ]
    return ["; ".join(parameters)] if parameters else []


def _verdicts(result: Any) -> Iterator[str]:
    for name in ("verdict", "statement", "undefined"):
        text = getattr(result, name, None)
        if text:
            yield f"{text[:1].upper()}{text[1:]}{'' if text.endswith('.') else '.'}"


def picture(result: Any) -> Picture | None:
    """Chart of the first estimate of every row with its interval; None without intervals."""
    layout = Layout(result, result.index)
    if not layout.bounds:
        return None
    bounds, split = layout.bounds[0], result.panels
    rows = [*result.rows()]
    panels = []
    for keys, panel in groupby(rows[:MOST_DRAWN], lambda row: tuple(row[:split])):
        heading = str(keys[-1]) if keys else ""
        panels.append(
            Panel(
                heading,
                heading if keys and layout.names[0] in _QUANTITIES else layout.names[bounds.value],
                [_mark(layout, bounds, row, split) for row in panel],
            )
        )
    marks = [mark for panel in panels for mark in panel.marks if mark.value is not None]
    notes = [
        *_parameters(result),
        f"{of_reports(result)}; {_confidence(result)}s",
        *of_group(result),
        *(["Pale: not usable."] if not all(mark.usable for mark in marks) else []),
        *(["Hollow: no interval."] if not all(mark.interval for mark in marks) else []),
        *([_THICK] if any(mark.sampling for mark in marks) else []),
    ]
    if len(rows) > MOST_DRAWN:
        notes.append(f"Not drawn: {number(len(rows) - MOST_DRAWN, 0)} more rows.")
    return Picture(f"{name_of_result(result)} of {result.survey}", notes, panels)


def _mark(layout: Layout, bounds: Bounds, row: Sequence[Any], split: int) -> Mark:
    label = ""
    for name, key in zip(layout.names[split : layout.keys], row[split:], strict=False):
        label += f"{_SEPARATORS.get(name, ', ') if label and key else ''}{key}"
    return Mark(
        label or str(row[0]),
        row[bounds.value],
        bounds.drawn(row),
        layout.sampling(row),
        layout.usability is None or row[layout.usability] != "not usable",
    )
