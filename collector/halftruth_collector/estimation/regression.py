"""Regression of one answer on others by corrected scores, valid under every mechanism.

The score of a generalized linear model is linear in the shares of the true answers,
U(β) = Σ π(x, y)·(t(y) − μ(xᵀβ))·x, with t(y) what answer y counts as. With the unbiased π̂ of a
reconstructed table in place of π it is an unbiased estimating equation, whether outcome or
predictors were perturbed (Nakamura 1990). Its root β̂ has the variance A⁻¹·G V Gᵀ·A⁻¹ with
A = Σ π̂(x, ·)·μ′(xᵀβ̂)·x xᵀ, G = ∂U/∂π and V the covariance of the table. That holds, too, where
the model does not: β is then the best approximation of its form.

A is an estimate as well. Where its smallest eigenvalue, in units of its diagonal, is less than
`CLEAR` standard errors above 0, a root may be anything, and no number is given. More of them would
refuse more surveys, and those that are left would be less of a fair sample.

A coefficient is tested by its score where it is 0 and the others are fitted, with the error that
U has there (Rao 1948; Boos 1992). β̂ over its standard error would reject too often: where an answer
is rare, β̂ is finite only if the answer came out frequent.
"""

from dataclasses import dataclass

import numpy as np
import scipy
from halftruth_shared.analyses.base import Target
from halftruth_shared.analyses.regression import Model
from halftruth_shared.mechanisms import TableEstimate
from numpy.typing import NDArray

from .bounds import Array
from .gradients import CLEAR

#: Largest linear predictor, in either direction, of a logistic model: odds of three millions.
_FARTHEST = 15.0

#: Most steps of Newton's method, and most halvings of one.
_STEPS, _HALVINGS = 50, 30

#: Step of every linear predictor at which Newton's method ends; eigenvalues below it are 0.
_ROUNDING = 1e-10

_NOT_DETERMINED = "too little is known of these answers together"
_NO_ROOT = "no coefficients solve its equations, as where hardly anybody answers so or otherwise"


class _NotIdentified(Exception):
    """The data cannot carry the model; `weights` are how much that is about each coefficient."""

    def __init__(self, reason: str, weights: np.ndarray) -> None:
        super().__init__(f"the data cannot carry the model: {reason}")
        self.weights = np.abs(weights)


@dataclass(frozen=True, eq=False)
class Regression:
    """Coefficients of a model, or why there are none.

    Attributes
    ----------
    coefficients : ndarray, shape (k,)
        NaN where undefined.
    covariance : ndarray, shape (k, k)
        Of the coefficients, NaN where undefined.
    z : ndarray, shape (k,)
        Score of each coefficient if it is 0, in standard errors; NaN where undefined.
    undefined : str or None
        Why there are no coefficients.
    least_known : tuple of int
        Coefficients of which the reports tell least, where they cannot carry the model.
    """

    coefficients: Array
    covariance: Array
    z: Array
    undefined: str | None = None
    least_known: tuple[int, ...] = ()

    @property
    def standard_error(self) -> Array:
        """Standard error of each coefficient."""
        return np.sqrt(np.maximum(np.diag(self.covariance), 0.0))


def fit_regression(
    table: TableEstimate,
    design: Array,
    outcome_scores: Array,
    model: Model = "logistic",
    target: Target = "population",
    kept: NDArray[np.bool_] | None = None,
) -> Regression:
    """Fit a model to a reconstructed table.

    Parameters
    ----------
    table : TableEstimate
        Of the predictors and then the outcome.
    design : ndarray, shape (cells of the predictors, k)
        Their columns in every combination of answers, in row-major order.
    outcome_scores : ndarray, shape (answers to the outcome,)
        What each answer counts as: 0 or 1 in a logistic model, any score in a linear one.
    kept : ndarray of bool, optional
        The cells of the table that the model is about, all by default.

    Raises
    ------
    DomainTooLarge
        If the table is too large for its covariance.
    """
    if table.reports < 2:
        return _without_numbers(design, "one report shows no error")
    whole = table.covariance(target)
    if not np.isfinite(whole).all():
        return _without_numbers(
            design, "the reports do not determine the errors of these answers together"
        )
    support = table.support
    if kept is not None:
        cells = np.flatnonzero(kept)
        support, whole = support.ravel()[cells], whole[np.ix_(cells, cells)]
    try:
        return _fitted(support, whole, design, outcome_scores, linear=model == "linear")
    except _NotIdentified as failure:
        weights = failure.weights
        least = np.flatnonzero(weights >= weights.max() / 2)
        return _without_numbers(design, str(failure), tuple(least.tolist()))


def _without_numbers(design: Array, reason: str, least_known: tuple[int, ...] = ()) -> Regression:
    nothing = np.full(design.shape[1], np.nan)
    return Regression(nothing, np.diag(nothing), nothing, reason, least_known)


def _fitted(
    support: Array, whole: Array, design: Array, outcome_scores: Array, *, linear: bool
) -> Regression:
    support = support.reshape(len(design), len(outcome_scores))
    shares, sums = support.sum(axis=1), support @ outcome_scores
    coefficients = _root(design, shares, sums, linear)
    mean, derivative, curvature = _response(design @ coefficients, linear)
    information = _information(design, shares * derivative)
    influence = np.linalg.solve(information, _gradient(design, outcome_scores, mean))
    eigenvalue, vector, units = _smallest(information)
    squares = (design @ (units * vector)) ** 2
    # The smallest eigenvalue depends on the shares, and through β̂ on the whole table.
    change = np.repeat(derivative * squares, len(outcome_scores)) + (
        (shares * curvature * squares) @ design @ influence
    )
    if not eigenvalue > CLEAR * np.sqrt(max(change @ whole @ change, 0.0)):
        raise _NotIdentified(_NOT_DETERMINED, vector)
    tested = range(design.shape[1])
    z = np.array(
        [_score_if_zero(j, support, whole, design, outcome_scores, linear) for j in tested]
    )
    return Regression(coefficients, influence @ whole @ influence.T, z)


def _gradient(design: Array, outcome_scores: Array, mean: Array) -> Array:
    """∂U/∂π, coefficients in rows and cells of the table in columns."""
    return (design.T[:, :, None] * (outcome_scores - mean[:, None])).reshape(design.shape[1], -1)


def _score_if_zero(
    j: int, support: Array, whole: Array, design: Array, outcome_scores: Array, linear: bool
) -> float:
    """Score of coefficient `j` in standard errors, where it is 0 and the others are fitted."""
    shares, sums = support.sum(axis=1), support @ outcome_scores
    others = np.delete(np.arange(design.shape[1]), j)
    try:
        predictor = design[:, others] @ _root(design[:, others], shares, sums, linear)
    except _NotIdentified:
        return np.nan
    mean, derivative, _ = _response(predictor, linear)
    information = _information(design, shares * derivative)
    # The others are estimated, and move with the table.
    row = np.zeros(design.shape[1])
    row[j] = 1
    row[others] = -np.linalg.solve(information[np.ix_(others, others)], information[others, j])
    change = row @ _gradient(design, outcome_scores, mean)
    variance = change @ whole @ change
    score = design[:, j] @ (sums - shares * mean)
    return float(score / np.sqrt(variance)) if variance > 0 else np.nan


def _root(design: Array, shares: Array, sums: Array, linear: bool) -> Array:
    """Return the root of the score, by Newton's method with halved steps."""
    coefficients: Array = np.zeros(design.shape[1])
    likelihood = _log_likelihood(design, shares, sums, coefficients, linear)
    for _ in range(_STEPS):
        mean, derivative, _ = _response(design @ coefficients, linear)
        information = _information(design, shares * derivative)
        eigenvalue, vector, _ = _smallest(information)
        if not eigenvalue > _ROUNDING:
            # Before the first step A is that of the linear model: its predictors alone.
            raise _NotIdentified(_NO_ROOT if coefficients.any() else _NOT_DETERMINED, vector)
        step = np.linalg.solve(information, design.T @ (sums - shares * mean))
        for halving in range(_HALVINGS):
            trial = coefficients + step / 2**halving
            reached = _log_likelihood(design, shares, sums, trial, linear)
            if reached >= likelihood - _ROUNDING * (1 + abs(likelihood)):
                break
        else:
            break
        coefficients, likelihood = trial, reached
        if not linear and np.abs(design @ coefficients).max() > _FARTHEST:
            break
        if np.abs(design @ step).max() < _ROUNDING * (1 + np.abs(design @ coefficients).max()):
            return coefficients
    raise _NotIdentified(_NO_ROOT, step)


def _response(predictor: Array, linear: bool) -> tuple[Array, Array, Array]:
    """Mean of the outcome by the linear predictor, and its first two derivatives."""
    if linear:
        return predictor, np.ones_like(predictor), np.zeros_like(predictor)
    mean = scipy.special.expit(predictor)
    derivative = mean * (1 - mean)
    return mean, derivative, derivative * (1 - 2 * mean)


def _log_likelihood(
    design: Array, shares: Array, sums: Array, coefficients: Array, linear: bool
) -> float:
    """Return the corrected log-likelihood, whose gradient is the score."""
    predictor = design @ coefficients
    within = predictor**2 / 2 if linear else np.logaddexp(0.0, predictor)
    return float(sums @ predictor - shares @ within)


def _information(design: Array, weights: Array) -> Array:
    return (design.T * weights) @ design


def _smallest(information: Array) -> tuple[float, Array, Array]:
    """Smallest eigenvalue of a matrix in units of its diagonal, its vector, and the units."""
    diagonal = np.diag(information)
    if not (diagonal > 0).all():
        return float(diagonal.min()), np.where(diagonal > 0, 0.0, 1.0), np.ones_like(diagonal)
    units = 1 / np.sqrt(diagonal)
    values, vectors = np.linalg.eigh(information * np.outer(units, units))
    return float(values[0]), vectors[:, 0], units
