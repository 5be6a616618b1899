"""Selection of the rows of a large table that a page shows."""

from flask import request
from halftruth_shared import ParameterError
from halftruth_shared.results.layout import Cell

from ...analyses import Grid

#: Number of rows of a large table that are shown first.
ROWS = 500

#: Query parameter that requests all rows.
PARAMETER = "rows"


def rows_of(grid: Grid) -> list[list[Cell]]:
    """Return the rows that a page shows: the first ones, or all if requested.

    Raises
    ------
    ParameterError
    """
    asked = request.args.getlist(PARAMETER)
    if asked not in ([], ["all"]):
        raise ParameterError(f"{PARAMETER}: expected 'all'", field=PARAMETER)
    return list(grid.rows[: len(grid.rows) if asked else ROWS])
