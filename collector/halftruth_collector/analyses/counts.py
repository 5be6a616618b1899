"""Counts of perturbed reports."""

from halftruth_shared.analyses.counts import CountedReport, CountsQuery, CountsResult
from halftruth_shared.analyses.wording import number

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


def headline(result: CountsResult) -> str:
    """Number of different reports."""
    return f"{sentences.counted(result)}, {number(len(result.cells), 0)} of them different."


ANALYSIS = Analysis(
    query=CountsQuery,
    title="Counts of reports",
    compute=compute,
    start=lambda _: CountsQuery(),
    grid=grid,
    headline=headline,
    interpretation=lambda _: [
        "These are reports, which were perturbed at random, and no answers; every estimate is"
        " computed from them."
    ],
    place="Quality",
    order=200,
)
