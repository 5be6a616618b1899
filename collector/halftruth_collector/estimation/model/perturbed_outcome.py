"""Regression with a perturbed outcome and unperturbed predictors, by maximum likelihood.

Only the observed combinations of predictors matter. A report v of the outcome has the probability
λ_v = Σ_u P(v|u) m_u(x; β), and the likelihood is maximized by Newton's method. With q the posterior
probability of each true answer given the report, the score is that of the true answers weighted by
q. The observed information is the weighted complete-data information minus the variance of the
complete-data scores given the report (Louis 1982).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy
from halftruth_shared import ParameterError, Survey
from halftruth_shared.analyses.base import Answers
from numpy.typing import NDArray

from ...counts import Counts
from ..answers import answer_codes, category_codes
from ..bounds import Array
from ..equation import Outcome, Predictors, Response
from ..regression import (
    NotIdentified,
    Regression,
    coefficients_of,
    effects_of,
    information_of,
    marginal_effects,
    newton,
    score_of,
    weighted_squares,
    without_numbers,
)


def channel_of_outcome(survey: Survey, outcome: str, others: Sequence[str]) -> Array | None:
    """Return P(report | answer) of the outcome, if reports state the predictors unperturbed.

    None if they do not, or if they do not state whether the outcome is missing.
    """
    whole = survey.perturbation.channel([*others, outcome])
    if whole is None or whole.factors is None:
        return None
    *known, channel = (factor.dense() for factor in whole.factors)
    exact = all(np.array_equal(factor, np.eye(len(factor))) for factor in known)
    missing = np.array(survey.schema.attributes[survey.schema.position(outcome)].is_missing)
    mixed = channel[missing][:, ~missing].any() or channel[~missing][:, missing].any()
    return channel[~missing][:, ~missing] if exact and not mixed else None


@dataclass(frozen=True, eq=False)
class Reported:
    """Reports of an outcome by the combinations of predictors that occur.

    Attributes
    ----------
    cells : ndarray of int, shape (x, predictors)
        Numbers of the answers among the answers that are not missing.
    numbers : ndarray, shape (x, reports)
    """

    cells: NDArray[np.int64]
    numbers: Array

    @classmethod
    def of(
        cls,
        survey: Survey,
        counts: Counts,
        outcome: str,
        predictors: Sequence[str],
        where: Answers | None = None,
    ) -> "Reported":
        """Count the reports without missing answers, within the domain `where`."""
        schema = survey.schema
        attributes = [schema.attributes[schema.position(name)] for name in predictors]
        kept = np.ones(len(counts.cells), dtype=bool)
        for name, answers in (where or {}).items():
            position = schema.position(name, "where")
            codes = category_codes(schema.attributes[position], answers, "where")
            kept &= np.isin(counts.cells[:, position], codes)
        # A constant column represents the absence of predictors, since NumPy refuses zero columns.
        columns = [np.zeros(len(counts.cells), dtype=np.int64)]
        for attribute in attributes:
            own = counts.cells[:, schema.position(attribute.name)]
            kept &= np.isin(own, answer_codes(attribute))
            columns.append(np.searchsorted(answer_codes(attribute), own))
        position = schema.position(outcome)
        known = answer_codes(schema.attributes[position])
        kept &= np.isin(counts.cells[:, position], known)
        cells, which = np.unique(np.stack(columns, axis=1)[kept], axis=0, return_inverse=True)
        places = which.ravel() * len(known) + np.searchsorted(known, counts.cells[kept, position])
        numbers = np.bincount(places, counts.counts[kept], len(cells) * len(known))
        return cls(cells[:, 1:], numbers.reshape(len(cells), -1).astype(np.float64))


def perturbed_outcome_regression(
    numbers: Array, channel: Array, predictors: Predictors, outcome: Outcome
) -> Regression:
    """Fit the logistic regression of a perturbed outcome on unperturbed predictors.

    Parameters
    ----------
    numbers : ndarray, shape (x, reports)
        Number of each report of the outcome, for each row of the predictors.
    channel : ndarray, shape (reports, answers)

    Raises
    ------
    ParameterError
        If the outcome has more than two answers.
    """
    if not outcome.is_distribution:
        raise ParameterError("outcome: expected a question of two answers", field="outcome")
    columns = predictors.columns

    def derivatives(coefficients: Array) -> tuple[float, Array, Array, Array]:
        """Log-likelihood, score, and information of the reports and of the true answers."""
        here = outcome.response(columns @ coefficients)
        level, posterior = _posterior(numbers, channel, here)
        weighted = numbers[:, :, None] * posterior
        answers = weighted.sum(axis=1)
        complete = information_of(columns, answers, here)
        # Σ_v n_v of the variance of the scores of the true answers given report v.
        by_report = np.einsum("xvu,xu->xv", posterior, here.slope)
        second = (answers * here.slope**2).sum(axis=1)
        open_ = second - (weighted.sum(axis=2) * by_report**2).sum(axis=1)
        observed = complete - weighted_squares(columns, open_)
        return level, score_of(columns, answers, here), observed, complete

    def evaluate(coefficients: Array) -> tuple[float, Array, Array]:
        level, score, observed, complete = derivatives(coefficients)
        # The likelihood is not concave everywhere.
        return level, score, observed if _is_definite(observed) else complete

    try:
        coefficients = newton(columns, evaluate)
        _, score, information, _ = derivatives(coefficients)
        if not _is_definite(information):
            raise NotIdentified("the reports do not determine its coefficients", score)
    except NotIdentified as failure:
        return without_numbers(columns.shape[1], str(failure))
    covariance: Array = np.asarray(np.linalg.inv(information), dtype=np.float64)
    z = coefficients / np.sqrt(np.diag(covariance))
    reports = numbers.sum()
    shares = numbers.sum(axis=1) / reports
    effects, errors = [], []
    for each, slope in marginal_effects(predictors, outcome, coefficients, shares):
        average = shares @ each
        # The predictors are a sample; they are independent of the error of the coefficients.
        sampling = shares @ (each - average) ** 2 / reports
        effects.append(average)
        errors.append(np.sqrt(slope @ covariance @ slope + sampling))
    here = outcome.response(columns @ coefficients)
    by_report = np.einsum("xvu,xu->xv", _posterior(numbers, channel, here)[1], here.slope)
    # A report v of people x changes the coefficients by I⁻¹ s_xv.
    changes = np.einsum("xv,xk->kxv", by_report, columns @ covariance)
    falls = -(np.sign(coefficients)[:, None, None] * changes).min(axis=(1, 2))
    moved = falls * np.abs(z / coefficients)
    return Regression(
        coefficients_of(coefficients, covariance, z, moved=moved), effects_of(effects, errors)
    )


def _is_definite(information: Array) -> bool:
    return bool(np.linalg.eigvalsh(information)[0] > 0)


def _posterior(numbers: Array, channel: Array, here: Response) -> tuple[float, Array]:
    """Return the log-likelihood, and the probability of each answer given each report."""
    joint = np.exp(here.level)[:, None] * channel
    reports = joint.sum(axis=2)
    level = float(scipy.special.xlogy(numbers, reports).sum())
    return level, joint / np.where(reports > 0, reports, 1.0)[:, :, None]
