"""Counts, estimates and what analyses are asked about, of reports that are at hand."""

from datetime import UTC, datetime

import numpy as np
from halftruth_collector.analyses import AnalysisContext
from halftruth_collector.estimation import Counts, Estimator

NOW = datetime(2026, 5, 9, tzinfo=UTC)


def counts_of(survey, rows, rng=None):
    """Counts of reports as rows of codes; with a generator, of answers that are perturbed by it."""
    if rng is not None:
        rows = survey.perturbation.reports(np.asarray(rows), rng)
    return Counts.from_reports(survey, rows)


def coefficients(result):
    """The intercept and the coefficients of a regression."""
    return [row for row in result.rows if row.quantity in ("intercept", "coefficient")]


def estimator_of(survey, rows, rng=None):
    return Estimator(survey, counts_of(survey, rows, rng))


def source_of(survey, rows, rng=None, *, min_reports=1, **more):
    """What an analysis is asked about: counts, or rows as for `counts_of`."""
    counts = rows if isinstance(rows, Counts) else counts_of(survey, rows, rng)
    return AnalysisContext(survey, counts, NOW, min_reports=min_reports, **more)


def aimed(estimator, target):
    """The same estimates with errors for a target."""
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
    """The same table with errors for a target: the population, or these respondents alone."""
    return table.alone if target == "respondents" else table
