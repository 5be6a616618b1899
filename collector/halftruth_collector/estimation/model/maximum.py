"""Maximum of the penalized likelihood of a loglinear model."""

from dataclasses import dataclass

import numpy as np
from halftruth_shared import EstimateError
from halftruth_shared.errors import listing
from halftruth_shared.mechanisms.parts import ReportPart
from numpy.typing import NDArray

from ..bounds import Array
from .design import Design
from .information import Derivatives, Fitted, derivatives, log_likelihood

#: Most steps of scoring, and most halvings of each.
_STEPS, _HALVINGS = 100, 30

#: Scoring ends where a step would move no linear function of θ by more of its standard error.
_PRECISION = 1e-5

#: A step of scoring is short below so many standard errors.
_FAR = 1.0

#: Smallest curvature that a step is divided by, as a share of the expected information, and
#: smallest slope in standard errors in a direction in which the likelihood is convex.
_LEAST_CURVATURE, _LEAST_SLOPE = 0.05, 0.01

#: Of a log-likelihood, what is nothing but rounding.
_ROUNDING = 1e-12

#: Smallest share of a parameter's information that it shares with no other, without a penalty.
_SINGULAR = 1e-9


@dataclass(frozen=True, eq=False)
class Problem:
    """Maximization problem: the penalized log-likelihood of some reports.

    Attributes
    ----------
    names : tuple of str
        Of the attributes.
    design : Design
    parts : list of ReportPart
        Positions are axes of the table.
    ridge : ndarray, shape (p,)
        Diagonal of R.
    feasible : ndarray of bool or None
    """

    names: tuple[str, ...]
    design: Design
    parts: list[ReportPart]
    ridge: Array
    feasible: NDArray[np.bool_] | None = None

    def at(self, theta: Array) -> Fitted:
        return Fitted(self.design, self.design.corner @ theta, self.feasible)

    def level(self, theta: Array) -> float:
        """Penalized log-likelihood."""
        return log_likelihood(self.parts, self.at(theta)) - float(self.ridge @ theta**2) / 2

    def derivatives(self, theta: Array, *, expected: bool) -> Derivatives:
        """Penalized score and information in sum-to-zero coding."""
        of_parts = derivatives(self.parts, self.at(theta), expected=expected)
        recoded, added = of_parts.recoded(self.design.corner), np.diag(self.ridge)
        return Derivatives(
            recoded.score - self.ridge * theta, recoded.observed + added, recoded.expected + added
        )


@dataclass(frozen=True, eq=False)
class Maximum:
    """A maximum of the penalized likelihood.

    Attributes
    ----------
    theta : ndarray, shape (p,)
    covariance : ndarray, shape (p, p)
    level : float
        The penalized log-likelihood.
    penalty : float
        What was added to the log-likelihood for that, at most 0.
    steps : int
    converged : bool
    """

    theta: Array
    covariance: Array
    level: float
    penalty: float
    steps: int
    converged: bool


def maximum(problem: Problem, start: Array) -> Maximum:
    """Return a maximum of the penalized likelihood.

    The likelihood of perturbed reports is not concave. Steps are Newton's where the observed
    information is positive definite. Elsewhere they are those of Fisher scoring and, where these
    have become short, follow directions of negative curvature as well.
    """
    theta, level = start, problem.level(start)
    converged, steps, definite = False, 0, False
    while True:
        asked, here = not definite, problem.derivatives(theta, expected=not definite)
        definite = _is_definite(here.observed)
        if not definite and not asked:
            here = problem.derivatives(theta, expected=True)
        information = here.observed if definite else here.expected
        _check_identified(problem, information)
        covariance: Array = np.asarray(np.linalg.inv(information), dtype=np.float64)
        step = covariance @ here.score
        converged = definite and bool(here.score @ step <= _PRECISION**2)
        if not definite and here.score @ step < _FAR**2:
            step = _indefinite_step(here)
        if converged or steps == _STEPS:
            break
        for halving in range(_HALVINGS):
            trial = theta + step / 2**halving
            reached = problem.level(trial)
            if reached >= level - _ROUNDING * abs(level):
                break
        else:
            break
        theta, level, steps = trial, reached, steps + 1
    penalty = -float(problem.ridge @ theta**2) / 2
    return Maximum(theta, covariance, level, penalty, steps, converged)


def _is_definite(matrix: Array) -> bool:
    try:
        np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        return False
    return True


def _indefinite_step(here: Derivatives) -> Array:
    """Newton's step with the magnitudes of curvatures, in units of the expected information.

    Where the likelihood is convex in a direction it goes some way there even from where it is flat,
    which no maximum is.
    """
    root = np.linalg.cholesky(here.expected)
    half = np.linalg.solve(root, here.observed)
    curvatures, ways = np.linalg.eigh(np.linalg.solve(root, half.T))
    slopes = ways.T @ np.linalg.solve(root, here.score)
    small = (curvatures < 0) & (np.abs(slopes) < _LEAST_SLOPE)
    slopes[small] = np.copysign(_LEAST_SLOPE, slopes[small])
    step = ways @ (slopes / np.maximum(np.abs(curvatures), _LEAST_CURVATURE))
    return np.asarray(np.linalg.solve(root.T, step))


def _check_identified(problem: Problem, information: Array) -> None:
    """Refuse what only a penalty would determine, where there is none.

    Raises
    ------
    EstimateError
    """
    if problem.ridge.all():
        return
    diagonal = np.diag(information)
    units = 1 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    values, vectors = np.linalg.eigh(information * np.outer(units, units))
    if values[0] > _SINGULAR:
        return
    of_term = np.bincount(problem.design.term_of, vectors[:, 0] ** 2)
    term = [problem.names[axis] for axis in problem.design.terms[int(np.argmax(of_term))]]
    raise EstimateError(
        f"terms: the reports do not determine the effect of {listing(term)}; expected a penalty,"
        " more reports, or terms without it",
        field="terms",
    )
