"""Results as messages, the same for the HTTP interface and the command line."""

from datetime import datetime
from typing import Any

import msgspec
import numpy as np
from halftruth_shared import Survey
from halftruth_shared.messages import (
    CountedReport,
    CountsResult,
    ItemsetsQuery,
    ItemsetsResult,
    MeasuresQuery,
    MeasuresResult,
    RulesQuery,
    RulesResult,
    TableCell,
    TableQuery,
    TableResult,
)

from .estimate import Counts, Estimator
from .estimate.bounds import optional


def itemsets_result(
    survey: Survey, counts: Counts, as_of: datetime, query: ItemsetsQuery
) -> ItemsetsResult:
    """Itemsets as :meth:`Estimator.itemsets` gives them."""
    itemsets = Estimator(survey, counts).itemsets(**msgspec.structs.asdict(query))
    return ItemsetsResult(
        **_origin(survey, counts, as_of),
        query=query,
        precision=list(itemsets.precision),
        itemsets=list(itemsets),
    )


def rules_result(survey: Survey, counts: Counts, as_of: datetime, query: RulesQuery) -> RulesResult:
    """Rules as :meth:`Estimator.rules` gives them."""
    rules = Estimator(survey, counts).rules(**msgspec.structs.asdict(query))
    return RulesResult(**_origin(survey, counts, as_of), query=query, rules=list(rules))


def table_result(survey: Survey, counts: Counts, as_of: datetime, query: TableQuery) -> TableResult:
    """A table as :meth:`Estimator.table` gives it, cells in row-major order."""
    table = Estimator(survey, counts).table(query.attributes)
    lower, upper = table.interval(query.confidence, query.target)
    error = np.sqrt(table.variance(query.target))
    categories = [
        survey.schema.attributes[j].categories for j in survey.schema.positions(query.attributes)
    ]
    cells = [
        TableCell(
            values={
                name: known[code]
                for name, known, code in zip(query.attributes, categories, cell, strict=True)
            },
            support=float(table.support[cell]),
            standard_error=optional(float(error[cell])),
            interval=None if np.isnan(error[cell]) else (float(lower[cell]), float(upper[cell])),
        )
        for cell in np.ndindex(table.support.shape)
    ]
    wanted = query.covariance and counts.reports > 1
    return TableResult(
        **_origin(survey, counts, as_of),
        query=query,
        condition_number=table.channel.condition_number,
        cells=cells,
        covariance=table.covariance(query.target).tolist() if wanted else None,
    )


def measures_result(
    survey: Survey, counts: Counts, as_of: datetime, query: MeasuresQuery
) -> MeasuresResult:
    """Association measures as :meth:`Estimator.measures` gives them."""
    measures = Estimator(survey, counts).measures(**msgspec.structs.asdict(query))
    return MeasuresResult(**_origin(survey, counts, as_of), query=query, measures=measures)


def counts_result(survey: Survey, counts: Counts, as_of: datetime) -> CountsResult:
    """Counts of perturbed reports."""
    return CountsResult(
        **_origin(survey, counts, as_of),
        columns=list(counts.names),
        shape=list(counts.shape),
        cells=[
            CountedReport(values=values, count=count)
            for values, count in zip(counts.cells.tolist(), counts.counts.tolist(), strict=True)
        ],
    )


def _origin(survey: Survey, counts: Counts, as_of: datetime) -> dict[str, Any]:
    """Fields of every result that say where it comes from."""
    return {
        "survey": survey.id,
        "digest": survey.digest,
        "reports": counts.reports,
        "as_of": as_of,
    }
