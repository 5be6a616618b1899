"""Counts of perturbed reports."""

from halftruth_shared.analyses.counts import CountedReport, CountsQuery, CountsResult
from halftruth_shared.results.claims import Claim, Test
from halftruth_shared.results.wording import number

from . import sentences
from .base import Analysis, Counted, Grid


def compute(counted: Counted, query: CountsQuery) -> CountsResult:
    """Every perturbed record that was reported, and how often; none is no error."""
    counts = counted.counts
    return CountsResult(
        **counted.origin(),
        query=query,
        names=list(counts.names),
        shape=list(counts.shape),
        cells=[
            CountedReport(values=values, count=count)
            for values, count in zip(counts.cells.tolist(), counts.counts.tolist(), strict=True)
        ],
    )


def grid(result: CountsResult) -> Grid:
    """Table of the reported values with their counts."""
    return Grid([*result.names, "count"], [[*cell.values, cell.count] for cell in result.cells])


def decide(result: CountsResult) -> tuple[list[Test], list[Claim]]:
    """The number of different reports."""
    return [], [Claim(kind="counted", count=len(result.cells))]


def state(result: CountsResult, claim: Claim) -> str:
    """State the numbers of reports and of different ones."""
    return f"{sentences.counted(result)}, {number(claim.count or 0, 0)} of them different."


ANALYSIS = Analysis(
    query=CountsQuery,
    title="Counts of reports",
    compute=compute,
    start=lambda _: CountsQuery(),
    grid=grid,
    decide=decide,
    state=state,
    interpretation=lambda _: [
        "These are reports, which were perturbed at random, and no answers; every estimate is"
        " computed from them."
    ],
    place="Quality",
    order=200,
)
