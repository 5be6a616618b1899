"""A result as notebooks, shells and pictures show it, derived from its columns.

Columns `lower` and `upper` are the interval of the first number of a row, `X_lower` and `X_upper`
that of the column `X`; a column `set` or `X_set` before them says what kind of set they are.
A column `sampling_error` is what the standard error would be without perturbation.
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

#: Rows of a table in a notebook, and of a picture.
MOST_ROWS = 60
MOST_DRAWN = 40

#: Numbers with intervals beside each other, if there is one row of them.
_MOST_BESIDE = 4

#: First columns that name what is measured, each with an axis of its own.
_QUANTITIES = ("estimate", "measure")

_THICK = "Thick: without perturbation the interval would be this long."

#: What stands before the second text of a label, where that is no comma.
_BEFORE = {"against": " against ", "consequent": " → "}


def of_reports(result: Any) -> str:
    """How many reports a result is of, and when; or how many people of a pilot."""
    pilot = getattr(result, "pilot", None)
    if pilot is not None:
        return f"{number(pilot, 0)} people of a pilot"
    counted = "1 report" if result.reports == 1 else f"{number(result.reports, 0)} reports"
    return f"{counted}, {result.as_of.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def of_group(result: Any) -> list[str]:
    """Whom a result is about, where that is not everybody, and how many they are."""
    query: Any = getattr(result, "query", None)
    left_out = getattr(query, "missing", "keep") == "exclude"
    said = (
        ["Of each table those are left out whose answer to a question of it is missing."]
        if left_out
        else []
    )
    if result.group is None:
        return said
    found = result.group
    size = number(found.people, 0)
    if found.people_interval is not None:
        size += f" ({' to '.join(number(end, 0) for end in found.people_interval)})"
    return [
        f"Only those with {items(found.items)}: {share(found.share, found.interval)}"
        f" ({share_interval(found.interval)}) of everybody, about {size} of these reports.",
        *said,
    ]


def level(confidence: float) -> str:
    """What the intervals of a result are called."""
    return f"{percent(confidence)} interval"


def name_of_result(result: Any) -> str:
    """Name of the analysis that a result is of."""
    return type(result).__module__.rpartition(".")[2].replace("_", "-")


class Bounds(msgspec.Struct, frozen=True):
    """Where a row has a number, its interval, and what kind of set that is."""

    value: int
    lower: int
    kind: int | None = None

    def of(self, row: Sequence[Any]) -> tuple[float, float] | None:
        """The interval of a row, where it has one with both ends."""
        lower, upper = row[self.lower], row[self.lower + 1]
        if lower is None or upper is None or self.kind_of(row) != "interval":
            return None
        return lower, upper

    def drawn(self, row: Sequence[Any]) -> tuple[float, float] | None:
        """The same; without an upper end it is infinite."""
        if row[self.lower] is not None and row[self.lower + 1] is None:
            return row[self.lower], math.inf
        return self.of(row)

    def kind_of(self, row: Sequence[Any]) -> str:
        """An interval, unless the row says otherwise."""
        return "interval" if self.kind is None else row[self.kind] or "interval"

    def said(self, row: Sequence[Any]) -> str:
        """The interval in words; empty where there is none."""
        lower, upper = row[self.lower], row[self.lower + 1]
        kind = self.kind_of(row)
        if kind == "everything":
            return "anything"
        if lower is None:
            return ""
        if upper is None:
            return f"from {number(_short(lower))} on"
        if kind == "outside":
            return f"up to {number(_short(lower))}, or from {number(_short(upper))} on"
        return value_interval((lower, upper))


class Layout:
    """What the columns of a result are.

    Attributes
    ----------
    keys : int
        How many of the first columns say what a row is of.
    bounds : list of Bounds
        The numbers that have intervals; the first is what a picture shows.
    in_two_tones : bool
        Whether it is known how long the first interval would be without perturbation.
    others : list of int
        The other columns, without standard errors.
    """

    def __init__(self, result: Any, index: int) -> None:
        self.names = [name for name, _ in result.columns]
        self.types = [kind for _, kind in result.columns]
        self.keys = index or self._leading_texts()
        # An attribute among the keys may be called like another column.
        self._after = {name: i for i, name in enumerate(self.names) if i >= self.keys}
        found = {name: self._bounds(name) for name in self._after if name.endswith("lower")}
        self.in_two_tones = "sampling_error" in self._after
        query: Any = getattr(result, "query", None)
        self._quantile = NormalDist().inv_cdf((1 + getattr(query, "confidence", 0.95)) / 2)
        self.bounds = [bounds for bounds in found.values() if bounds is not None]
        told = {i for b in self.bounds for i in (b.value, b.lower, b.lower + 1, b.kind)}
        self.others = [
            i
            for name, i in self._after.items()
            if i not in told and not name.endswith(("_error", "lower", "upper"))
        ]

    @cached_property
    def usability(self) -> int | None:
        """The column that says whether numbers are to be used."""
        return self._after.get("usability")

    def sampling(self, row: Sequence[Any]) -> tuple[float, float] | None:
        """As long as a row's first interval would be without perturbation, where that is known."""
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
    """A table for people: what is said above it, a header, rows, and how many are left out."""

    title: str
    said: Sequence[str]
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    left_out: int = 0

    def text(self) -> str:
        """For a shell."""
        table = [self.header, *self.rows]
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        lines = [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in table
        ]
        lines.insert(1, "  ".join("-" * width for width in widths))
        return "\n".join([self.title, *self.said, *(lines if self.rows else []), *self._more()])

    def html(self) -> str:
        """For a notebook; every text is escaped."""
        # Imported here: a server and most clients show no notebook anything.
        from html import escape

        head = "".join(f"<th>{escape(cell)}</th>" for cell in self.header)
        body = "".join(
            f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in self.rows
        )
        said = "".join(f"<br>{escape(sentence)}" for sentence in self.said)
        caption = f"<b>{escape(self.title)}</b>{said}"
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
    """A result as a compact table: numbers with their intervals, and what is to be known."""
    found = [*result.rows()]
    header, rows = _table(Layout(result, result.index), found[:MOST_ROWS], _confidence(result))
    return Shown(
        f"{name_of_result(result)} of {result.survey}",
        [*_asked(result), of_reports(result), *of_group(result), *_verdicts(result)],
        header,
        rows,
        max(0, len(found) - MOST_ROWS),
    )


def _table(
    layout: Layout, rows: Sequence[Sequence[Any]], interval: str
) -> tuple[list[str], list[list[str]]]:
    columns: list[tuple[str, list[str]]] = []
    for i in range(layout.keys):
        # What stands above needs no repetition, nor does a label that is the name.
        if layout.names[i] == "label" and all(row[i] == row[i - 1] for row in rows):
            continue
        cells = [str(row[i]) for row in rows]
        columns.append((layout.names[i], cells if i == layout.keys - 1 else _once(rows, i)))
    for bounds in layout.bounds:
        columns.append(
            (layout.names[bounds.value], [_estimate(layout, bounds, row) for row in rows])
        )
        columns.append((interval, [bounds.said(row) for row in rows]))
    for i in layout.others:
        usual = (None, "usable", *((False,) if layout.names[i] == "missing" else ()))
        if all(row[i] in usual for row in rows):
            continue
        columns.append((layout.names[i], [_plain(layout.names[i], row[i]) for row in rows]))
    header = [name.replace("_", " ") for name, _ in columns]
    lines = [list(line) for line in zip(*(cells for _, cells in columns), strict=True)]
    if len(lines) == 1 and len(layout.bounds) > _MOST_BESIDE:
        return _upright(header, lines[0], interval)
    return header, lines


def _upright(
    header: Sequence[str], cells: Sequence[str], interval: str
) -> tuple[list[str], list[list[str]]]:
    """One row of many numbers as a table that is no wider than a page."""
    rows: list[list[str]] = []
    for name, cell in zip(header, cells, strict=True):
        if name == interval:
            rows[-1][2] = cell
        else:
            rows.append([name, cell, ""])
    return ["", "", interval], rows


def _once(rows: Sequence[Sequence[Any]], i: int) -> list[str]:
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


def _plain(name: str, found: Any) -> str:
    if found is None:
        return ""
    if isinstance(found, bool):
        return "yes" if found else "no"
    if not isinstance(found, (int, float)):
        return str(found)
    return p_value(found) if name == "p_value" else number(_short(found))


def _short(found: float) -> float:
    return found if isinstance(found, int) else float(f"{found:.4g}")


def _confidence(result: Any) -> str:
    return level(getattr(result.query, "confidence", 0.95))


def _asked(result: Any) -> list[str]:
    """What was asked besides what is asked by default; of whom, the group says."""
    kind: Any = type(result.query)
    defaults = {name: field.default for name, field in fields(kind).items()}
    said = [
        f"{name.replace('_', ' ')}: {', '.join(texts)}"
        for name, texts in write(result.query).items()
        if name not in ("where", "missing") and getattr(result.query, name) != defaults[name]
    ]
    return ["; ".join(said)] if said else []


def _verdicts(result: Any) -> Iterator[str]:
    for name in ("verdict", "statement", "undefined"):
        said = getattr(result, name, None)
        if said:
            yield f"{said[:1].upper()}{said[1:]}{'' if said.endswith('.') else '.'}"


def picture(result: Any) -> Picture | None:
    """The first estimate of every row with its interval; None where there are no intervals."""
    layout = Layout(result, result.index)
    if not layout.bounds:
        return None
    bounds, split = layout.bounds[0], result.panels
    found = [*result.rows()]
    panels = []
    for keys, rows in groupby(found[:MOST_DRAWN], lambda row: tuple(row[:split])):
        heading = str(keys[-1]) if keys else ""
        panels.append(
            Panel(
                heading,
                heading if keys and layout.names[0] in _QUANTITIES else layout.names[bounds.value],
                [_mark(layout, bounds, row, split) for row in rows],
            )
        )
    marks = [mark for panel in panels for mark in panel.marks if mark.value is not None]
    notes = [
        *_asked(result),
        f"{of_reports(result)}; {_confidence(result)}s",
        *of_group(result),
        *(["Pale: not usable."] if not all(mark.usable for mark in marks) else []),
        *(["Hollow: no interval."] if not all(mark.interval for mark in marks) else []),
        *([_THICK] if any(mark.sampling for mark in marks) else []),
    ]
    if len(found) > MOST_DRAWN:
        notes.append(f"Not drawn: {number(len(found) - MOST_DRAWN, 0)} more rows.")
    return Picture(f"{name_of_result(result)} of {result.survey}", notes, panels)


def _mark(layout: Layout, bounds: Bounds, row: Sequence[Any], split: int) -> Mark:
    label = ""
    for name, key in zip(layout.names[split : layout.keys], row[split:], strict=False):
        label += f"{_BEFORE.get(name, ', ') if label and key else ''}{key}"
    return Mark(
        label or str(row[0]),
        row[bounds.value],
        bounds.drawn(row),
        layout.sampling(row),
        layout.usability is None or row[layout.usability] != "not usable",
    )
