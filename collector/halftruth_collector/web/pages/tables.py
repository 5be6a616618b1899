"""Tables of pages, with the numbers by which scripts sort them beside what people read."""

from collections.abc import Iterator
from dataclasses import dataclass

from flask import request
from halftruth_shared import ParameterError
from halftruth_shared.results.layout import Cell as Typed
from halftruth_shared.results.wording import said_number

from ...analyses import Grid

#: Rows of a large table that are shown first.
ROWS = 500

#: The parameter that asks for all of them.
PARAMETER = "rows"


@dataclass(frozen=True)
class Cell:
    """A cell of a table.

    Attributes
    ----------
    text : str
        What people read.
    above : str
        What an empty first cell stands for.
    value : str
        The number that it says, for scripts; empty where there is none, or none to be relied on.
    address : str
        Where it leads to; empty where it is no link.
    """

    text: str
    above: str
    value: str
    address: str = ""


def rows_of(grid: Grid) -> list[list[Cell]]:
    """Return the rows that a page shows: the first ones, or all if its address says so.

    Raises
    ------
    ParameterError
    """
    asked = request.args.getlist(PARAMETER)
    if asked not in ([], ["all"]):
        raise ParameterError(f"{PARAMETER}: expected 'all'", field=PARAMETER)
    return list(_rows(grid, len(grid.rows) if asked else ROWS))


def _rows(grid: Grid, most: int) -> Iterator[list[Cell]]:
    first = ""
    for row in grid.rows[:most]:
        if any(isinstance(cell, Typed) for cell in row):
            yield [Cell(cell.text, cell.above, _written(cell.number)) for cell in row]
            continue
        texts = [str(text) for text in row]
        above = first if not texts[0] else ""
        first = texts[0] or first
        yield [Cell(text, "" if i else above, _value(text)) for i, text in enumerate(texts)]


def _written(number: float | None) -> str:
    return "" if number is None else f"{number:.12g}".replace("inf", "Infinity")


def _value(text: str) -> str:
    number = said_number(text)
    return "" if number is None else str(number).replace("inf", "Infinity")
