"""Loglinear models of the reports."""

import math

from halftruth_shared.analyses.loglinear import FittedCell, LoglinearQuery, LoglinearResult
from halftruth_shared.analyses.wording import p_value, value

from ..estimation.reports.loglinear import model_of_reports
from . import table
from .base import Analysis, Counted, Grid, names_of_clearest


def compute(counted: Counted, query: LoglinearQuery) -> LoglinearResult:
    """A loglinear model of the reports as ``model_of_reports`` fits it."""
    fit, preserved, statement = model_of_reports(counted.estimator, query.terms)
    names = list(dict.fromkeys(name for term in query.terms for name in term))
    cells = []
    for cell, values in table.cells(counted.survey.schema, names):
        count, fitted = int(fit.counts[cell]), float(fit.fitted[cell])
        residual = (count - fitted) / math.sqrt(fitted) if fitted > 0 else None
        cells.append(FittedCell(values=values, count=count, fitted=fitted, residual=residual))
    return LoglinearResult(
        **counted.origin(),
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


def grid(result: LoglinearResult) -> Grid:
    """Table of cells with fitted counts."""
    return Grid(
        [*result.attributes, "reports", "fitted", "residual"],
        [
            [*cell.values.values(), cell.count, f"{cell.fitted:.1f}", value(cell.residual, None)]
            for cell in result.cells
        ],
    )


def interpretation(result: LoglinearResult) -> list[str]:
    """Describe the test and its conclusion."""
    return [
        f"Chi-squared {result.chi_squared:.2f}, {result.degrees_of_freedom} df, p-value"
        f" {p_value(result.chi_squared_p)}; G-squared {result.g_squared:.2f}, p-value"
        f" {p_value(result.g_squared_p)}.",
        f"{result.statement[0].upper()}{result.statement[1:]}.",
    ]


ANALYSIS = Analysis(
    query=LoglinearQuery,
    title="Loglinear models",
    compute=compute,
    start=lambda survey: LoglinearQuery(terms=[[name] for name in names_of_clearest(survey)]),
    grid=grid,
    interpretation=interpretation,
    options={"terms": "term"},
    of_records=True,
    order=90,
)
