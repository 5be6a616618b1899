"""Results as messages, the same for the HTTP interface and the command line."""

import math
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

import msgspec
import numpy as np
from halftruth_shared import Survey
from halftruth_shared.classifiers import ClassifierResult
from halftruth_shared.messages import (
    AssociationsQuery,
    AssociationsResult,
    ClassifierQuery,
    CountedReport,
    CountsResult,
    FittedCell,
    Items,
    ItemsetsQuery,
    ItemsetsResult,
    LoglinearQuery,
    LoglinearResult,
    MeasuresQuery,
    MeasuresResult,
    PartialQuery,
    PartialResult,
    RandomizedQuery,
    RandomizedResult,
    RuleQuery,
    RuleResult,
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
        candidates=itemsets.candidates,
        precision=list(itemsets.precision),
        itemsets=list(itemsets),
    )


def rules_result(survey: Survey, counts: Counts, as_of: datetime, query: RulesQuery) -> RulesResult:
    """Rules as :meth:`Estimator.rules` gives them."""
    rules = Estimator(survey, counts).rules(**msgspec.structs.asdict(query))
    return RulesResult(**_origin(survey, counts, as_of), query=query, rules=list(rules))


def rule_result(survey: Survey, counts: Counts, as_of: datetime, query: RuleQuery) -> RuleResult:
    """One rule as :meth:`Estimator.rule` gives it."""
    rule = Estimator(survey, counts).rule(**msgspec.structs.asdict(query))
    return RuleResult(**_origin(survey, counts, as_of), query=query, rule=rule)


def table_result(survey: Survey, counts: Counts, as_of: datetime, query: TableQuery) -> TableResult:
    """A table as :meth:`Estimator.table` gives it, cells in row-major order."""
    estimator = Estimator(survey, counts)
    table = estimator.table(query.attributes)
    support = estimator.support(query.attributes, query.estimate)
    lower, upper = table.interval(query.confidence, query.target)
    error = np.sqrt(table.variance(query.target))
    cells = [
        TableCell(
            values=values,
            support=float(support[cell]),
            standard_error=optional(float(error[cell])),
            interval=None if np.isnan(error[cell]) else (float(lower[cell]), float(upper[cell])),
        )
        for cell, values in _cells(survey, query.attributes)
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


def randomized_result(
    survey: Survey, counts: Counts, as_of: datetime, query: RandomizedQuery
) -> RandomizedResult:
    """Measures of the reports as :meth:`Estimator.randomized` gives them."""
    measures = Estimator(survey, counts).randomized(**msgspec.structs.asdict(query))
    return RandomizedResult(**_origin(survey, counts, as_of), query=query, measures=measures)


def partial_result(
    survey: Survey, counts: Counts, as_of: datetime, query: PartialQuery
) -> PartialResult:
    """Partial correlation of the answers and of the reports."""
    estimator = Estimator(survey, counts)
    asked = (query.attributes, query.given, query.present, query.confidence)
    return PartialResult(
        **_origin(survey, counts, as_of),
        query=query,
        reconstructed=estimator.partial_correlation(*asked, query.target),
        randomized=estimator.randomized_partial_correlation(*asked),
    )


def loglinear_result(
    survey: Survey, counts: Counts, as_of: datetime, query: LoglinearQuery
) -> LoglinearResult:
    """A loglinear model of the reports as :meth:`Estimator.loglinear` fits it."""
    estimator = Estimator(survey, counts)
    fit, preserved, statement = estimator.loglinear(query.terms)
    names = list(dict.fromkeys(name for term in query.terms for name in term))
    reported = np.rint(estimator.table(names).observed * counts.reports)
    cells = []
    for cell, values in _cells(survey, names):
        count, fitted = int(reported[cell]), float(fit.fitted[cell])
        residual = (count - fitted) / math.sqrt(fitted) if fitted > 0 else None
        cells.append(FittedCell(values=values, count=count, fitted=fitted, residual=residual))
    return LoglinearResult(
        **_origin(survey, counts, as_of),
        query=query,
        chi_squared=fit.chi_squared,
        g_squared=fit.g_squared,
        degrees_of_freedom=fit.degrees_of_freedom,
        chi_squared_p=fit.p_value(fit.chi_squared),
        g_squared_p=fit.p_value(fit.g_squared),
        preserved=preserved,
        statement=statement,
        cells=cells,
    )


def classifier_result(
    survey: Survey, counts: Counts, as_of: datetime, query: ClassifierQuery
) -> ClassifierResult:
    """A classifier as :meth:`Estimator.classifier` learns it."""
    model = Estimator(survey, counts).classifier(**msgspec.structs.asdict(query))
    return ClassifierResult(**_origin(survey, counts, as_of), query=query, model=model)


def associations_result(
    survey: Survey, counts: Counts, as_of: datetime, query: AssociationsQuery
) -> AssociationsResult:
    """Associations as :meth:`Estimator.associations` gives them."""
    found = Estimator(survey, counts).associations(**msgspec.structs.asdict(query))
    return AssociationsResult(
        **_origin(survey, counts, as_of),
        query=query,
        attributes=list(survey.schema.names if query.attributes is None else query.attributes),
        associations=found,
    )


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


def _cells(survey: Survey, names: Sequence[str]) -> Iterator[tuple[tuple[int, ...], Items]]:
    """The cells of a table in row-major order, as codes and in words."""
    categories = [survey.schema.attributes[j].categories for j in survey.schema.positions(names)]
    for cell in np.ndindex(*map(len, categories)):
        values = (known[code] for known, code in zip(categories, cell, strict=True))
        yield cell, dict(zip(names, values, strict=True))


def _origin(survey: Survey, counts: Counts, as_of: datetime) -> dict[str, Any]:
    """Fields of every result that say where it comes from."""
    return {
        "survey": survey.id,
        "digest": survey.digest,
        "reports": counts.reports,
        "as_of": as_of,
    }
