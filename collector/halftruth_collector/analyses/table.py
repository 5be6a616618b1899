"""Reconstructed tables."""

from typing import Any

import numpy as np
from halftruth_shared.analyses.table import TableQuery
from halftruth_shared.results import (
    QUANTITIES,
    Block,
    EstimateColumns,
    Labels,
    Result,
    Show,
)
from halftruth_shared.results.caveats import listed
from halftruth_shared.results.claims import Claim, Test
from halftruth_shared.results.layout import in_words
from halftruth_shared.results.wording import number, quoted
from msgspec.structs import replace

from ..estimation.bounds import Array
from ..estimation.estimates import covariance_of, shares_of_table
from ..estimation.false_reports import to_undo
from ..estimation.table import Table
from .base import Analysis, AnalysisContext, answer_keys, names_of_clearest
from .deciding import AtLevel, as_selected, reports_in_domain, selected_sets
from .shares import share_columns
from .work import check_cells

#: Number of cells whose intervals are nearest to that of the largest one, which false reports could
#: make reach it.
_RIVALS = 40


def compute(counted: AnalysisContext, query: TableQuery) -> Result[TableQuery]:
    """Return the table of ``Estimator.table``, with cells in row-major order."""
    estimator, names = counted.estimator, query.attributes
    columns, caveats = share_columns(estimator, names, query, quantity="support")
    table = estimator.table(names)
    cells = np.indices(table.value.shape).reshape(len(names), -1).T
    wanted = query.covariance and table.reports > 1 and query.estimate != "likelihood"
    result = counted.result(
        query,
        answer_keys(estimator.schema, names, cells),
        columns,
        caveats=caveats,
        covariance=covariance_of(table.covariance()) if wanted else None,
    )
    return result if query.estimate == "likelihood" else _with_false_reports(result, table)


def _with_false_reports(result: Result[TableQuery], table: Table) -> Result[TableQuery]:
    """Return a result that says how many false reports would undo that its largest cell is named.

    The interval of the cell then reaches that of another one: the nearest ones are examined.
    """
    values, rate = result.estimates.value, 1 - result.query.confidence
    shares = shares_of_table(table, QUANTITIES["support"])
    most, gaps = find_largest(shares.columns(1 - rate / len(values)))
    others = np.flatnonzero(np.arange(len(values)) != most)
    if not (gaps[others] > 0).all():
        return result
    nearest = others[np.argsort(gaps[others], kind="stable")[:_RIVALS]]
    leads = np.eye(len(values))[most] - np.eye(len(values))[nearest]
    needed = to_undo(gaps[nearest], 0.0, table.largest_falls(leads), reports_in_domain(result))
    undone_by = np.full(len(values), np.nan)
    undone_by[most] = np.fmin.reduce(needed)
    return replace(result, estimates=replace(result.estimates, undone_by=undone_by))


def find_largest(selected: EstimateColumns) -> tuple[int, Array]:
    """Return the place of the largest share, and how far its interval is above those of the others.

    The intervals are simultaneous, since the cell was selected among all. The distance is NaN for
    the cell itself.
    """
    values = selected.value
    most = int(np.nanargmax(values))
    lower, upper = selected.numbers("lower"), selected.numbers("upper")
    # No possible share explains an estimate far below 0.
    nothing = selected.texts("set").equals("empty") & (values < 0)
    gaps = lower[most] - np.where(nothing, 0.0, upper)
    gaps[most] = np.nan
    return most, gaps


def decide(result: Result[TableQuery], at_level: AtLevel) -> tuple[list[Test], list[Claim]]:
    """Decide which cell is significantly larger than all others, if any is."""
    query, values = result.query, result.estimates.value
    if query.estimate == "likelihood":
        return [], [Claim(kind="untested", count=len(values))]
    rate = 1 - query.confidence
    most, gaps = find_largest(at_level(1 - rate / len(values)).estimates)
    if (np.delete(gaps, most) > 0).all():
        sets = selected_sets(result, at_level, [most], rate, len(values))
        return [], [Claim(kind="largest", rows=[most], rate=rate, sets=sets)]
    return [], [Claim(kind="none found", count=len(values))]


def state(result: Result[TableQuery], claim: Claim, labels: Labels) -> str:
    """State the largest share, or that no share is significantly the largest."""
    about = listed([quoted(labels.title(key)) for key in result.keys])
    if claim.kind == "largest":
        most = as_selected(result, claim)
        return f"{labels.quoted_items(most.keys)} is the most frequent: {in_words(most)}."
    count = number(claim.count or 0, 0)
    if claim.kind == "untested":
        return f"Best guesses of the {count} shares of {about}, without intervals."
    return f"None of the {count} cells of {about} is significantly more frequent than all others."


def layout(result: Result[Any], labels: Labels) -> list[Block]:
    """Arrange a line for each cell, grouped by the first of several attributes."""
    names = [key.name for key in result.keys]
    title = " × ".join(map(labels.title, result.keys))
    return [
        Block(
            title=f"Supports · {title}",
            lines=names,
            shows=[Show(quantity="support")],
            panels=1 if len(names) > 1 else 0,
            picture="bars",
        )
    ]


ANALYSIS = Analysis(
    check_work=lambda survey, query: check_cells(survey, query.attributes),
    query=TableQuery,
    title="Tables",
    compute=compute,
    start=lambda survey: TableQuery(attributes=names_of_clearest(survey)),
    layout=layout,
    decide=decide,
    state=state,
    table=lambda _, query: query.attributes,
    place="Compare",
    order=10,
)
