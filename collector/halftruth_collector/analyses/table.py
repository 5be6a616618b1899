"""Reconstructed tables."""

from typing import Any

import numpy as np
from halftruth_shared.analyses.table import TableQuery
from halftruth_shared.results import (
    Block,
    Labels,
    Result,
    Show,
)
from halftruth_shared.results.caveats import listed
from halftruth_shared.results.claims import Claim, Test
from halftruth_shared.results.layout import in_words
from halftruth_shared.results.wording import number, quoted

from ..estimation.estimates import covariance_of
from .base import Analysis, AnalysisContext, answer_keys, names_of_clearest
from .deciding import AtLevel, as_selected, selected_sets
from .shares import share_columns
from .work import check_cells


def compute(counted: AnalysisContext, query: TableQuery) -> Result[TableQuery]:
    """Return the table of ``Estimator.table``, with cells in row-major order."""
    estimator, names = counted.estimator, query.attributes
    columns, caveats = share_columns(estimator, names, query, quantity="support")
    table = estimator.table(names)
    cells = np.indices(table.value.shape).reshape(len(names), -1).T
    wanted = query.covariance and table.reports > 1 and query.estimate != "likelihood"
    return counted.result(
        query,
        answer_keys(estimator.schema, names, cells),
        columns,
        caveats=caveats,
        covariance=covariance_of(table.covariance()) if wanted else None,
    )


def decide(result: Result[TableQuery], at_level: AtLevel) -> tuple[list[Test], list[Claim]]:
    """Decide which cell is significantly larger than all others, if any is."""
    query, values = result.query, result.estimates.value
    if query.estimate == "likelihood":
        return [], [Claim(kind="untested", count=len(values))]
    most, rate = int(np.nanargmax(values)), 1 - query.confidence
    # The named cell was selected among all cells, so the bounds are simultaneous.
    further = at_level(1 - rate / len(values)).estimates
    lower, upper = further.numbers("lower"), further.numbers("upper")
    # No possible share explains an estimate far below 0.
    nothing = further.texts("set").equals("empty") & (values < 0)
    if (lower[most] > np.delete(np.where(nothing, 0.0, upper), most)).all():
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
