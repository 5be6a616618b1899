"""Results as messages, the same for the HTTP interface and the command line."""

from collections.abc import Sequence
from datetime import datetime

import numpy as np
from halftruth_shared import Survey
from halftruth_shared.messages import (
    CountedReport,
    CountsResult,
    ItemsetsResult,
    RulesResult,
    Selection,
    TableCell,
    TableResult,
    Target,
)

from .estimate import Counts, Estimator
from .estimate.bounds import optional


def itemsets_result(
    survey: Survey,
    counts: Counts,
    as_of: datetime,
    *,
    min_support: float,
    max_length: int | None = None,
    confidence: float = 0.95,
    select: Selection = "estimate",
    target: Target = "population",
) -> ItemsetsResult:
    """Itemsets as :meth:`Estimator.itemsets` gives them."""
    itemsets = Estimator(survey, counts).itemsets(
        min_support, max_length, confidence, select, target
    )
    return ItemsetsResult(
        survey=survey.id,
        digest=survey.digest,
        reports=counts.reports,
        as_of=as_of,
        min_support=min_support,
        confidence=confidence,
        target=target,
        select=select,
        precision=list(itemsets.precision),
        itemsets=list(itemsets),
    )


def rules_result(
    survey: Survey,
    counts: Counts,
    as_of: datetime,
    *,
    min_support: float,
    min_confidence: float,
    max_length: int | None = None,
    confidence: float = 0.95,
    select: Selection = "estimate",
    target: Target = "population",
) -> RulesResult:
    """Rules as :meth:`Estimator.rules` gives them."""
    rules = Estimator(survey, counts).rules(
        min_support, min_confidence, max_length, confidence, select, target
    )
    return RulesResult(
        survey=survey.id,
        digest=survey.digest,
        reports=counts.reports,
        as_of=as_of,
        min_support=min_support,
        min_confidence=min_confidence,
        confidence=confidence,
        target=target,
        rules=list(rules),
    )


def table_result(
    survey: Survey,
    counts: Counts,
    as_of: datetime,
    *,
    attributes: Sequence[str],
    confidence: float = 0.95,
    target: Target = "population",
    covariance: bool = False,
) -> TableResult:
    """A table as :meth:`Estimator.table` gives it, cells in row-major order."""
    table = Estimator(survey, counts).table(attributes)
    lower, upper = table.interval(confidence, target)
    error = np.sqrt(table.variance(target))
    categories = [
        survey.schema.attributes[j].categories for j in survey.schema.positions(attributes)
    ]
    cells = [
        TableCell(
            values={
                name: known[code]
                for name, known, code in zip(attributes, categories, cell, strict=True)
            },
            support=float(table.support[cell]),
            standard_error=optional(float(error[cell])),
            interval=None if np.isnan(error[cell]) else (float(lower[cell]), float(upper[cell])),
        )
        for cell in np.ndindex(table.support.shape)
    ]
    matrix = table.covariance(target).tolist() if covariance and counts.reports > 1 else None
    return TableResult(
        survey=survey.id,
        digest=survey.digest,
        reports=counts.reports,
        as_of=as_of,
        attributes=list(attributes),
        confidence=confidence,
        target=target,
        condition_number=table.channel.condition_number,
        cells=cells,
        covariance=matrix,
    )


def counts_result(survey: Survey, counts: Counts, as_of: datetime) -> CountsResult:
    """Counts of perturbed reports."""
    return CountsResult(
        survey=survey.id,
        digest=survey.digest,
        reports=counts.reports,
        as_of=as_of,
        columns=list(counts.names),
        shape=list(counts.shape),
        cells=[
            CountedReport(values=values, count=count)
            for values, count in zip(counts.cells.tolist(), counts.counts.tolist(), strict=True)
        ],
    )
