"""Reconstructed tables."""

from collections.abc import Iterator, Sequence
from itertools import groupby

import numpy as np
from halftruth_shared import Schema
from halftruth_shared.analyses.base import Items
from halftruth_shared.analyses.charts import Axis, EstimateChart, Mark, Panel
from halftruth_shared.analyses.claims import Claim, Test
from halftruth_shared.analyses.table import TableCell, TableQuery, TableResult
from halftruth_shared.analyses.wording import items, number, quoted_items

from ..estimation.estimates import covariance_of
from ..estimation.selection import listed_alpha
from . import sentences
from .base import Analysis, Counted, names_of_clearest
from .deciding import as_selected
from .shares import ends_at, estimate_shares
from .work import check_cells

#: Most cells in a chart.
MAX_CELLS = 100


def compute(counted: Counted, query: TableQuery) -> TableResult:
    """A table as ``Estimator.table`` gives it, cells in row-major order."""
    estimator = counted.estimator
    values = [values for _, values in cells(estimator.schema, query.attributes)]
    shares = estimate_shares(estimator, query.attributes, query, TableCell, values=values)
    table = estimator.table(query.attributes)
    wanted = query.covariance and table.reports > 1 and shares.typical is None
    return TableResult(
        **counted.origin(),
        query=query,
        reliability=shares.reliability,
        verdict=shares.verdict,
        typical=shares.typical,
        effective_reports=shares.effective_reports,
        condition_number=table.condition_number,
        cells=shares.cells,
        covariance=covariance_of(table.covariance(query.target)) if wanted else None,
    )


def cells(schema: Schema, names: Sequence[str]) -> Iterator[tuple[tuple[int, ...], Items]]:
    """Iterate over the cells of a table in row-major order, as codes and as labels."""
    categories = [schema.attributes[j].categories for j in schema.positions(names)]
    for cell in np.ndindex(*map(len, categories)):
        values = (known[code] for known, code in zip(categories, cell, strict=True))
        yield cell, dict(zip(names, values, strict=True))


def chart(result: TableResult) -> EstimateChart:
    """Supports of the cells of a table, grouped by its first attribute where it has several.

    Of more than `MAX_CELLS` cells, those furthest from zero are shown.
    """
    first, *others = result.query.attributes
    order = sorted(range(len(result.cells)), key=lambda i: -abs(result.cells[i].value))
    shown = [result.cells[i] for i in sorted(order[:MAX_CELLS])]
    grouped = groupby(shown, key=lambda cell: items({first: cell.values[first]}) if others else "")
    axis = Axis("support", shares=True)
    panels = tuple(
        Panel(axis, tuple(_bar(result, cell, others or [first]) for cell in group), heading)
        for heading, group in grouped
    )
    bars = [bar for panel in panels for bar in panel.rows]
    return EstimateChart(
        title=sentences.title(result, "Supports", " × ".join(result.query.attributes)),
        notes=(
            *sentences.notes(result, bars),
            *warnings(result),
            *sentences.estimated(result.query.estimate),
            *sentences.negative(bars),
            *sentences.in_one_tone(bars),
            *sentences.left_out(len(bars), len(result.cells), "cells furthest from zero"),
        ),
        panels=panels,
        bars=True,
    )


def _bar(result: TableResult, cell: TableCell, names: Sequence[str]) -> Mark:
    label = ", ".join(cell.values[name] for name in names)
    return sentences.drawn(label, cell, result.query.confidence)


def decide(result: TableResult) -> tuple[list[Test], list[Claim]]:
    """Which cell is significantly larger than all others, if any."""
    if result.query.estimate == "likelihood":
        return [], [Claim(kind="untested", count=len(result.cells))]
    most = max(range(len(result.cells)), key=lambda i: result.cells[i].value)
    # The cell that is named was selected among all, so that the bounds hold for all at once.
    alpha = listed_alpha(result.query.confidence, 1, len(result.cells))
    ends = [ends_at(alpha, cell, result.query.estimate) for cell in result.cells]
    if all(ends[most][0] > upper for i, (_, upper) in enumerate(ends) if i != most):
        rate = 1 - result.query.confidence
        return [], [Claim(kind="largest", rows=[most], rate=rate, interval=ends[most])]
    return [], [Claim(kind="none found", count=len(result.cells))]


def state(result: TableResult, claim: Claim) -> str:
    """State the largest share, or that none is significantly the largest."""
    about = sentences.listed([sentences.quoted(name) for name in result.query.attributes])
    if claim.kind == "largest":
        most = result.cells[claim.rows[0]]
        share = sentences.of_share(as_selected(most, claim))
        return f"{quoted_items(most.values)} is the most frequent: {share}."
    cells = f"{about}: {number(claim.count or 0, 0)} shares"
    if claim.kind == "untested":
        return f"{cells}, best guesses without intervals."
    return f"{cells}, none of them significantly larger than all others."


def warnings(result: TableResult) -> list[str]:
    """Warn if the table is too uncertain."""
    return sentences.verdict(result, usable=False)


def interpretation(result: TableResult) -> list[str]:
    """Describe the precision of a usable table, and its shares."""
    effective = (
        []
        if result.effective_reports is None
        else [
            f"As precise as {number(result.effective_reports, 0)} answers without perturbation"
            " would be."
        ]
    )
    usable = sentences.verdict(result, usable=True)
    return [*usable, *effective, *sentences.estimated(result.query.estimate)]


ANALYSIS = Analysis(
    check_work=lambda survey, query: check_cells(survey, query.attributes),
    query=TableQuery,
    title="Tables",
    compute=compute,
    start=lambda survey: TableQuery(attributes=names_of_clearest(survey)),
    grid=sentences.estimates_grid,
    decide=decide,
    state=state,
    chart=chart,
    warnings=warnings,
    interpretation=interpretation,
    place="Compare",
    order=10,
)
