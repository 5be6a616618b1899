"""Counts, estimates and analysis contexts of given reports."""

from datetime import UTC, datetime

import numpy as np
from halftruth_collector.analyses import AnalysisContext
from halftruth_collector.estimation import Counts, Estimator

NOW = datetime(2026, 5, 9, tzinfo=UTC)


def counts_of(survey, rows, rng=None):
    """Return counts of reports as rows of codes; with a generator, perturb the rows first."""
    if rng is not None:
        rows = survey.perturbation.reports(np.asarray(rows), rng)
    return Counts.from_reports(survey, rows)


def coefficients(result):
    """Return the intercept and the coefficients of a regression."""
    return [row for row in result.rows if row.quantity in ("intercept", "coefficient")]


def estimator_of(survey, rows, rng=None):
    return Estimator(survey, counts_of(survey, rows, rng))


def source_of(survey, rows, rng=None, *, min_reports=1, **more):
    """Return the context of an analysis, from counts or from rows as for `counts_of`."""
    counts = rows if isinstance(rows, Counts) else counts_of(survey, rows, rng)
    return AnalysisContext(survey, counts, NOW, min_reports=min_reports, **more)


def aimed(estimator, target):
    """Return the estimator with errors for another target."""
    return Estimator(
        estimator.survey,
        estimator.counts,
        estimator.domain.where,
        estimator.missing,
        estimator.model,
        estimator.population,
        target=target,
    )


def aim(table, target):
    """Return the table with errors for a target: the population or these respondents alone."""
    return table.alone if target == "respondents" else table
