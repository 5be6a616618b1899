"""Tables of pages: sorted, searched and cut into pages by the address, for any `Grid`."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import Annotated

from halftruth_shared import ParameterError
from halftruth_shared.analyses.wording import plain, said_number
from halftruth_shared.protocol.base import Request, prepare
from msgspec import Meta

from ...analyses import Grid

#: Rows of one page.
ROWS = 25

#: Rows that show whether a column holds numbers.
_TYPICAL = 200


class TableQuery(Request, frozen=True, kw_only=True):
    """Which rows of a table are shown, and in which order; files have all of them."""

    order: (
        Annotated[
            int,
            Meta(
                description="Number of the column to sort by, the first is 1; with a minus before"
                " it the largest come first."
            ),
        ]
        | None
    ) = None
    page: Annotated[int, Meta(ge=1, description="Which page of the table.")] = 1
    search: Annotated[str, Meta(description="Words that a row has to hold.")] = ""


prepare(TableQuery)

#: Parameters of an address that are not the analysis's.
PARAMETERS = tuple(TableQuery.__struct_fields__)


@dataclass(frozen=True)
class Column:
    """A column's heading.

    `order` is "ascending", "descending" or "", as it is sorted; `next` is the value of `order` that
    sorts by it, or the other way round.
    """

    heading: str
    order: str
    next: int


@dataclass(frozen=True)
class Page:
    """Some rows of a table.

    Attributes
    ----------
    columns : tuple of Column
    rows : sequence of sequence
    first, last : int
        Numbers of the first and last row shown, among those found.
    found, every : int
        How many rows hold what was searched for, and how many there are.
    number, pages : int
        Which page it is, of how many.
    """

    columns: tuple[Column, ...]
    rows: Sequence[Sequence[object]]
    first: int
    last: int
    found: int
    every: int
    number: int
    pages: int


def page_of(grid: Grid, query: TableQuery) -> Page:
    """The rows of a grid that a page shows.

    Raises
    ------
    ParameterError
        If there is no such column or page.
    """
    rows = _filled(grid.rows)
    place = _place(grid, query.order)
    if query.search:
        rows = [row for row in rows if _holds(row, query.search)]
    if place is not None and query.order is not None:
        rows = _sorted(rows, place, descending=query.order < 0)
    pages = max(1, ceil(len(rows) / ROWS))
    if query.page > pages:
        raise ParameterError(
            f"page: expected an integer from 1 to {pages}" if pages > 1 else "page: expected 1",
            field="page",
        )
    start = ROWS * (query.page - 1)
    shown = rows[start : start + ROWS]
    if place is None:
        shown = _once(shown, grid)
    return Page(
        tuple(_column(grid, number, query.order) for number in range(1, len(grid.header) + 1)),
        shown,
        min(start + 1, len(rows)),
        start + len(shown),
        len(rows),
        len(grid.rows),
        query.page,
        pages,
    )


def _place(grid: Grid, sort: int | None) -> int | None:
    if sort is None:
        return None
    if not 1 <= abs(sort) <= len(grid.header):
        raise ParameterError(
            f"order: expected the number of a column, from 1 to {len(grid.header)}, or with a minus"
            " before it",
            field="order",
        )
    return abs(sort) - 1


def _filled(rows: Sequence[Sequence[object]]) -> list[Sequence[object]]:
    """Rows with what an empty first cell stands for."""
    first: object = ""
    filled: list[Sequence[object]] = []
    for row in rows:
        first = first if row[0] == "" else row[0]
        filled.append([first, *row[1:]])
    return filled


def _once(rows: Sequence[Sequence[object]], grid: Grid) -> list[Sequence[object]]:
    """Rows whose first cell is empty where it repeats, if those of the grid are."""
    if all(row[0] != "" for row in grid.rows):
        return list(rows)
    return [["", *row[1:]] if i and row[0] == rows[i - 1][0] else row for i, row in enumerate(rows)]


def _holds(row: Sequence[object], search: str) -> bool:
    text = " ".join(plain(str(cell)) for cell in row).casefold()
    return all(word in text for word in plain(search).casefold().split())


def _sorted(
    rows: Sequence[Sequence[object]], place: int, *, descending: bool
) -> list[Sequence[object]]:
    """By number where there is one, else by text.

    What is not usable comes after all that is, whichever the order; then what is no number, and
    what is empty.
    """

    def value(row: Sequence[object]) -> tuple[float, str]:
        text = str(row[place])
        found = said_number(text)
        return (0.0, text.casefold()) if found is None else (found, "")

    def rank(row: Sequence[object]) -> int:
        text = str(row[place])
        if said_number(text) is None:
            return 2 if text else 3
        return int(text.startswith("not usable"))

    return sorted(sorted(rows, key=value, reverse=descending), key=rank)


def _column(grid: Grid, number: int, sort: int | None) -> Column:
    heading = grid.header[number - 1]
    if sort == number:
        return Column(heading, "ascending", -number)
    if sort == -number:
        return Column(heading, "descending", number)
    cells = [said_number(str(row[number - 1])) for row in grid.rows[:_TYPICAL]]
    # The largest numbers are what people look for; words are read from A on.
    numeric = 2 * sum(cell is not None for cell in cells) > len(cells)
    return Column(heading, "", -number if numeric else number)
