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
from halftruth_shared import ParameterError, Survey
from halftruth_shared.analyses.base import Answers
from numpy.typing import NDArray

from ..answers import answer_codes, category_codes
from ..bounds import Array
from ..counts import Counts
from ..equation import Outcome, Predictors, Response
from ..regression import (
    NotIdentified,
    Regression,
    information_of,
    marginal_effects,
    score_of,
    weighted_squares,
    without_numbers,
)

#: Most of Newton's steps, and most halvings of each.
_STEPS, _HALVINGS = 100, 30

#: Newton's steps end where one would be so short in standard errors.
_PRECISION = 1e-8


def channel_of_outcome(survey: Survey, outcome: str, others: Sequence[str]) -> Array | None:
    """Return P(report | answer) of the outcome, if reports state the predictors unperturbed.

    None where they do not, or do not tell whether the outcome is missing. Where it is, there is
    neither report nor answer.
    """
    whole = survey.perturbation.channel([*others, outcome])
    if whole is None or whole.factors is None:
        return None
    *known, channel = (factor.dense() for factor in whole.factors)
    exact = all(np.array_equal(factor, np.eye(len(factor))) for factor in known)
    missing = survey.schema.attributes[survey.schema.position(outcome)].missing_mask
    mixed = channel[missing][:, ~missing].any() or channel[~missing][:, missing].any()
    return channel[~missing][:, ~missing] if exact and not mixed else None


@dataclass(frozen=True, eq=False)
class Reported:
    """Reports of an outcome by the combinations of predictors that occur.

    Attributes
    ----------
    cells : ndarray of int, shape (x, predictors)
        Numbers of the answers among those that are not missing.
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
        # A column that is the same for all stands for no predictors, of which NumPy makes none.
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
    """Fit the regression of a perturbed outcome on unperturbed predictors.

    Parameters
    ----------
    numbers : ndarray, shape (x, reports)
        Of each report of the outcome, for each row of the predictors.
    channel : ndarray, shape (reports, answers)
    predictors : Predictors
    outcome : Outcome
        Outcome with a likelihood: not a linear model.

    Raises
    ------
    ParameterError
        For an outcome without a likelihood.
    """
    if not outcome.is_distribution:
        raise ParameterError("outcome: expected a question of two answers", field="outcome")
    columns = predictors.columns
    try:
        coefficients, information = _maximum(columns, numbers, channel, outcome)
    except NotIdentified as failure:
        return without_numbers(columns.shape[1], str(failure))
    covariance: Array = np.asarray(np.linalg.inv(information), dtype=np.float64)
    z = coefficients / np.sqrt(np.diag(covariance))
    reports = numbers.sum()
    shares = numbers.sum(axis=1) / reports
    effects, errors = [], []
    for each, slope in marginal_effects(predictors, outcome, coefficients, shares):
        average = shares @ each
        # Of a sample of people, whose predictors say nothing of the error of the coefficients.
        sampling = shares @ (each - average) ** 2 / reports
        effects.append(average)
        errors.append(np.sqrt(slope @ covariance @ slope + sampling))
    return Regression(
        coefficients,
        covariance,
        z,
        effects=np.array(effects),
        effect_errors=np.array(errors),
    )


def _maximum(
    columns: Array, numbers: Array, channel: Array, outcome: Outcome
) -> tuple[Array, Array]:
    """Return the coefficients with their observed information."""
    coefficients = np.zeros(columns.shape[1])
    here = outcome.response(columns @ coefficients)
    for _ in range(_STEPS):
        level, posterior = _posterior(numbers, channel, here)
        weighted = numbers[:, :, None] * posterior
        expected = weighted.sum(axis=1)
        score = score_of(columns, expected, here)
        complete = information_of(columns, expected, here)
        information = complete - weighted_squares(columns, _open(weighted, posterior, here))
        definite = bool(np.linalg.eigvalsh(information)[0] > 0)
        try:
            step = np.linalg.solve(information if definite else complete, score)
        except np.linalg.LinAlgError:
            break
        if definite and score @ step <= _PRECISION**2:
            return coefficients, information
        for halving in range(_HALVINGS):
            trial = coefficients + step / 2**halving
            here = outcome.response(columns @ trial)
            if _posterior(numbers, channel, here)[0] >= level - 1e-12 * abs(level):
                break
        coefficients = trial
    raise NotIdentified("the reports do not determine its coefficients", score)


def _posterior(numbers: Array, channel: Array, here: Response) -> tuple[float, Array]:
    """Return the log-likelihood, and the probability of each answer given each report."""
    joint = np.exp(here.level)[:, None] * channel
    reports = joint.sum(axis=2)
    came = numbers > 0
    level = numbers[came] @ np.log(reports[came]) if (reports[came] > 0).all() else -np.inf
    return float(level), joint / np.where(reports > 0, reports, 1.0)[:, :, None]


def _open(weighted: Array, posterior: Array, here: Response) -> Array:
    """Σ_v n_v of the variance of the scores of the true answers given report v."""
    by_report = np.einsum("xvu,xu->xv", posterior, here.slope)
    second = (weighted.sum(axis=1) * here.slope**2).sum(axis=1)
    return np.asarray(second - (weighted.sum(axis=2) * by_report**2).sum(axis=1))
