"""Counts of perturbed reports."""

from collections.abc import Iterator

import numpy as np
from halftruth_shared.analyses.counts import CountsQuery
from halftruth_shared.results import (
    QUANTITIES,
    Block,
    Caveat,
    Key,
    Labels,
    Result,
    Show,
    Texts,
    note,
    warning,
)
from halftruth_shared.results.claims import Claim, Test
from halftruth_shared.results.showing import report_count
from halftruth_shared.results.wording import number

from ..estimation.estimates import Estimates
from ..estimation.views import compare_views
from .base import Analysis, AnalysisContext
from .deciding import AtLevel

#: p-value below which the views of reports are said to differ from the design.
_ODD = 0.01


def compute(counted: AnalysisContext, query: CountsQuery) -> Result[CountsQuery]:
    """Return each distinct perturbed report with its frequency; an empty result is valid."""
    counts, keys = counted.counts, []
    for name, column in zip(counts.names, counts.cells.T, strict=True):
        values, codes = np.unique(column, return_inverse=True)
        known = Texts(codes, [str(value) for value in values.tolist()])
        keys.append(Key(name=name, kind="number", values=known))
    return counted.result(
        query,
        keys,
        Estimates.numbers(QUANTITIES["reports"], counts.counts).columns(),
        caveats=[note("perturbed"), *_who_chooses(counted)],
    )


def _who_chooses(counted: AnalysisContext) -> Iterator[Caveat]:
    """Yield what is known of who has chosen the questions that reports are about."""
    known = counted.survey.has_tickets
    if known and counted.tickets is None:
        return
    issued, spent = counted.tickets() if known and counted.tickets is not None else (0, 0)
    if known and counted.survey.relay is not None:
        yield note("relay_tickets", spent=spent)
    # Reports that were read from files have no tickets.
    elif spent:
        yield note("tickets", issued=issued, spent=spent)
    elif (tested := compare_views(counted.survey, counted.counts)) is not None:
        is_odd = tested.p_value < _ODD
        kind = warning if is_odd else note
        yield kind("views", views=tested.views, p_value=tested.p_value, is_odd=is_odd)


def layout(result: Result[CountsQuery], _: Labels) -> list[Block]:
    """Arrange a line for each distinct report."""
    shows = [Show(quantity="reports", parts=["value"])]
    return [Block(lines=[key.name for key in result.keys], shows=shows)]


def decide(result: Result[CountsQuery], _: AtLevel) -> tuple[list[Test], list[Claim]]:
    """Count the distinct reports."""
    return [], [Claim(kind="counted", count=len(result.estimates))]


def state(result: Result[CountsQuery], claim: Claim, _: Labels) -> str:
    """State the number of reports and of distinct reports."""
    return f"{report_count(result)}, {number(claim.count or 0, 0)} of them distinct."


ANALYSIS = Analysis(
    query=CountsQuery,
    title="Counts of reports",
    compute=compute,
    start=lambda _: CountsQuery(),
    layout=layout,
    decide=decide,
    state=state,
    pictured=False,
    place="Quality",
    order=200,
)
