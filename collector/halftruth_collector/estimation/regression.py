"""Regression of one answer on others, from the estimated table of all of them.

The coefficients β of a table π solve U(β) = Σ π(x, y) ∂l(y | x; β)/∂β = 0 with l the log-likelihood
of an answer (:mod:`.equation`). U is linear in π, and β is a smooth function of it. So β̂ has the
variance A⁻¹·G V Gᵀ·A⁻¹ with A = −∂U/∂β, G = ∂U/∂π and V the covariance of the estimated table.

- With the unbiased table, U is an unbiased estimating equation, whether the outcome or predictors
  are perturbed (corrected scores, Nakamura 1990), and the variance is a sandwich estimator. If the
  regression equation is misspecified, β is its best approximation.
- With the table of a fitted loglinear model, β belongs to the population that the model describes.
  If the model has no other attributes and contains the terms of the equation, the logits are
  parameters of the model (Agresti 2013, §10.1).

A of an unbiased table need not be positive definite. If its smallest eigenvalue, in units of its
diagonal, is less than `SIGNIFICANT` standard errors above 0, the coefficients are undefined. A
stricter limit would refuse more surveys and make the remaining ones a more selective sample.

With an unbiased table, coefficients are tested by generalized score tests (Rao 1948; Boos 1992):
the coefficient is 0, the others are fitted, and the variance of U is evaluated there. A Wald test
would reject too often: for a rare answer, β̂ is finite only if the answer is frequent by chance.
With a model, a weak penalty keeps the estimates finite, and the tests are Wald tests.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce

import numpy as np
from halftruth_shared import DomainTooLarge
from numpy.typing import NDArray

from .bounds import SIGNIFICANT, Array
from .equation import Equation, Outcome, Predictors, Response
from .ratios import Quotients
from .table import Table

#: Largest absolute linear predictor of a logistic model: odds of three million.
_FARTHEST = 15.0

#: Most steps of Newton's method, and most halvings of one.
_STEPS, _HALVINGS = 50, 30

#: Step of every linear predictor at which Newton's method ends; eigenvalues below it are 0.
_ROUNDING = 1e-10

#: Step of a derivative by a coefficient, in units in which its information is 1.
_DIFFERENCE = 1e-5

#: Most numbers in the derivatives of linear predictors, or in those of coefficients.
_MOST_NUMBERS = 2**25

_NOT_DETERMINED = "too little is known of these answers together"
_NO_ROOT = "no coefficients solve its equations, as where hardly anybody answers so or otherwise"


class NotIdentified(Exception):
    """The coefficients are not identified; `weights` say how much each contributes to that."""

    def __init__(self, reason: str, weights: np.ndarray) -> None:
        super().__init__(f"the data cannot carry the model: {reason}")
        self.weights = np.abs(weights)


@dataclass(frozen=True, eq=False)
class Joint:
    """Estimated shares of combinations of predictors and outcome, some of the cells of a table.

    Attributes
    ----------
    table : Table
        Of the predictors and then the outcome.
    cells : ndarray of int
        The cells that the equation uses, in row-major order.
    answers : int
        Number of answers to the outcome in these cells.
    """

    table: Table
    cells: NDArray[np.int64]
    answers: int

    @cached_property
    def support(self) -> Array:
        """Shares, shape (combinations, answers)."""
        return np.asarray(self.table.value.ravel()[self.cells].reshape(-1, self.answers))

    @property
    def modelled(self) -> bool:
        """Whether it is the table of a fitted model."""
        return self.table.logit

    def covariance_of(self, influence: Array) -> Array:
        """Covariance of functions of the shares, from their derivatives in rows."""
        forms = np.zeros((len(influence), self.table.value.size))
        forms[:, self.cells] = influence
        return self.table.covariance_of(forms)


@dataclass(frozen=True, eq=False)
class Regression:
    """Coefficients of a regression, or the reason why they are undefined.

    Attributes
    ----------
    coefficients : ndarray, shape (k,)
        NaN where undefined.
    covariance : ndarray, shape (k, k)
        Of the coefficients, NaN where undefined.
    z : ndarray, shape (k,)
        Test statistic of each coefficient; NaN where undefined.
    effects, effect_errors : ndarray, shape (terms of one factor,)
        Average marginal effects on the probability of the answer, and their standard errors; empty
        for a linear model, whose coefficients are the effects.
    undefined : str or None
        Why the coefficients are undefined.
    least_known : tuple of int
        The least precise coefficients, if the coefficients are not identified.
    ratio : Quotients, optional
        Ratios that are the coefficients, if the intervals are Fieller's.
    """

    coefficients: Array
    covariance: Array
    z: Array
    effects: Array = field(default_factory=lambda: np.zeros(0))
    effect_errors: Array = field(default_factory=lambda: np.zeros(0))
    undefined: str | None = None
    least_known: tuple[int, ...] = ()
    ratio: Quotients | None = None

    @property
    def standard_error(self) -> Array:
        """Standard error of each coefficient."""
        return np.sqrt(np.maximum(np.diag(self.covariance), 0.0))


def fit_table(
    table: Table,
    model: Equation,
    kept: NDArray[np.bool_] | None = None,
) -> Regression:
    """Fit a regression equation to an estimated table, unbiased or of a model.

    Parameters
    ----------
    table : Table
        Of the predictors and then the outcome.
    model : Equation
    kept : ndarray of bool, optional
        The cells of the table that the equation uses; all by default.

    Raises
    ------
    DomainTooLarge
        If the table is too large for its covariance.
    """
    coefficients = len(model.predictors.terms)
    if not table.logit:
        if table.reports < 2:
            return without_numbers(coefficients, "one report shows no error")
        if not np.isfinite(table.covariance()).all():
            reason = "the reports do not determine the errors of these answers together"
            return without_numbers(coefficients, reason)
    cells = np.arange(table.value.size) if kept is None else np.flatnonzero(kept)
    joint = Joint(table, cells, len(model.outcome.scores))
    return fit_regression(joint, model.predictors.everywhere(), model.outcome)


def carries(
    table: Table,
    model: Equation,
    single: Sequence[Array],
    kept: NDArray[np.bool_] | None = None,
) -> bool:
    """Return whether a design can be expected to identify a regression from its table.

    If answers were independent, the information about each coefficient, and the smallest eigenvalue
    of the information, would be significant in 97.5 % of surveys; and in as many, the answer would
    have a share between 0 and 1 in each category of a predictor. The decision does not depend on
    the estimated table or its coefficients.

    Parameters
    ----------
    table : Table
        Table of the predictors and then the outcome; only its design is used.
    model : Equation
    single : sequence of ndarray
        Marginal shares of each question, all above 0.
    kept : ndarray of bool, optional
        As of `fit_table`.
    """
    if table.reports < 2:
        return False
    independent = reduce(np.multiply.outer, single)
    cells = np.arange(table.value.size) if kept is None else np.flatnonzero(kept)
    support = independent.ravel()[cells].reshape(-1, len(model.outcome.scores))
    columns = model.predictors.everywhere().columns
    try:
        solved = _solved(columns, support, model.outcome)
    except NotIdentified:
        return False
    sizes, directions = _directions(solved.information)
    every = np.concatenate([directions, np.eye(len(sizes))])
    known = np.concatenate([sizes, np.ones(len(sizes))])
    influence = [
        _influence_on_information(columns, support, model.outcome, solved, direction)
        for direction in every
    ]
    forms = np.zeros((len(every) + len(columns.T), table.value.size))
    forms[:, cells] = np.concatenate([influence, solved.by_shares])
    error = _errors(table.null_covariance(independent, forms))
    carried = known > 2 * SIGNIFICANT * error[: len(every)]
    # Otherwise the estimated share of the answer in a category can be below 0 or above 1.
    span = np.ptp(columns, axis=0)
    share = float((solved.here.mean * support.sum(axis=1)).sum() / support.sum())
    far = error[len(every) :] * np.where(span > 0, span, 1.0) * max(share, 1 - share)
    return bool(carried.all() and (SIGNIFICANT * far < 1).all())


def fit_regression(joint: Joint, predictors: Predictors, outcome: Outcome) -> Regression:
    """Fit a regression to an estimated table.

    Parameters
    ----------
    joint : Joint
        Of the predictors and then the outcome.
    predictors : Predictors
        Of every combination.
    outcome : Outcome

    Raises
    ------
    DomainTooLarge
        If there are too many combinations of answers and coefficients.
    """
    columns = predictors.columns
    coefficients, answers = columns.shape[1], joint.support.shape[1]
    if coefficients * joint.support.size > _MOST_NUMBERS:
        raise DomainTooLarge(
            f"predictors: {joint.support.size} combinations of answers, {coefficients}"
            " coefficients; expected fewer predictors",
            field="predictors",
        )
    try:
        fit, influence = _fitted(joint, columns, outcome)
    except NotIdentified as failure:
        weights = failure.weights
        least = np.flatnonzero(weights >= weights.max() / 2)
        return without_numbers(coefficients, str(failure), tuple(least.tolist()))
    total = joint.support.sum()
    shares = joint.support.sum(axis=1) / total
    effects, errors = [], []
    for each, by_coefficient in marginal_effects(predictors, outcome, fit.coefficients, shares):
        average = shares @ each
        # The average also depends on the shares of the combinations.
        own = np.repeat((each - average) / total, answers)
        effects.append(average)
        errors.append(_errors(joint.covariance_of((own + by_coefficient @ influence)[None]))[0])
    return replace(fit, effects=np.array(effects), effect_errors=np.array(errors))


def marginal_effects(
    predictors: Predictors, outcome: Outcome, coefficients: Array, shares: Array
) -> list[tuple[Array, Array]]:
    """Return the marginal effects of each term of one factor on the probability of the answer.

    Returns
    -------
    list of pairs of ndarray, shapes (x,) and (k,)
        Of every combination, and the derivatives of their mean by the coefficients.
    """
    effects = []
    for high, low, divisor in predictors.contrasts():
        above, below = (outcome.response(columns @ coefficients) for columns in (high, low))
        slopes = [(shares * r.curvature) @ c for r, c in ((above, high), (below, low))]
        effects.append(((above.mean - below.mean) / divisor, (slopes[0] - slopes[1]) / divisor))
    return effects


def without_numbers(
    coefficients: int, reason: str, least_known: tuple[int, ...] = ()
) -> Regression:
    """Return undefined coefficients with their reason."""
    nothing = np.full(coefficients, np.nan)
    return Regression(nothing, np.diag(nothing), nothing, undefined=reason, least_known=least_known)


@dataclass(frozen=True, eq=False)
class _Solved:
    """Solution of the equations of a table.

    Attributes
    ----------
    coefficients : ndarray, shape (k,)
    here : Response
        At the coefficients.
    information : ndarray, shape (k, k)
    by_shares : ndarray, shape (k, cells)
        Derivatives of the coefficients by the shares of the table.
    """

    coefficients: Array
    here: Response
    information: Array
    by_shares: Array


def _solved(columns: Array, support: Array, outcome: Outcome) -> _Solved:
    """Solve the estimating equations of a table; raise NotIdentified without a solution."""
    coefficients = _root(columns, support, outcome)
    here = outcome.response(columns @ coefficients)
    information = information_of(columns, support, here)
    by_shares = np.asarray(np.linalg.solve(information, _gradient(columns, here)))
    return _Solved(coefficients, here, information, by_shares)


def _influence_on_information(
    columns: Array, support: Array, outcome: Outcome, solved: _Solved, direction: Array
) -> Array:
    """Derivatives, by the shares, of the information about a linear combination of coefficients.

    The information depends on the shares directly and through the coefficients.

    Parameters
    ----------
    direction : ndarray, shape (k,)
        In units in which the information about each coefficient is 1.
    """
    units = _units(solved.information)
    squares = (columns @ (units * direction)) ** 2
    own = np.repeat(squares * solved.here.curvature, support.shape[1])

    def curvature(trial: Array) -> float:
        there = outcome.response(columns @ trial)
        return float((support.sum(axis=1) * squares) @ there.curvature)

    return own + _derivatives(curvature, solved.coefficients, units) @ solved.by_shares


def _fitted(joint: Joint, columns: Array, outcome: Outcome) -> tuple[Regression, Array]:
    solved = _solved(columns, joint.support, outcome)
    coefficients, covariance = solved.coefficients, joint.covariance_of(solved.by_shares)
    if joint.modelled:
        z = coefficients / _errors(covariance)
        return Regression(coefficients, covariance, z), solved.by_shares
    sizes, directions = _directions(solved.information)
    change = _influence_on_information(columns, joint.support, outcome, solved, directions[0])
    error = _errors(joint.covariance_of(change[None]))[0]
    if not sizes[0] > SIGNIFICANT * error:
        raise NotIdentified(_NOT_DETERMINED, directions[0])
    z = np.array([_score_if_zero(j, joint, columns, outcome) for j in range(columns.shape[1])])
    return Regression(coefficients, covariance, z), solved.by_shares


def _errors(covariance: Array) -> Array:
    return np.asarray(np.sqrt(np.maximum(np.diag(covariance), 0.0)))


def _derivatives(function: Callable[[Array], float], at: Array, units: Array) -> Array:
    """Central differences by each coefficient."""
    steps = _DIFFERENCE * np.diag(units)
    return np.array(
        [
            (function(at + step) - function(at - step)) / (2 * step[j])
            for j, step in enumerate(steps)
        ]
    )


def _gradient(columns: Array, here: Response) -> Array:
    """∂U/∂π, coefficients in rows and cells of the table in columns."""
    by_cell = np.einsum("xy,xk->kxy", here.slope, columns)
    return np.asarray(by_cell.reshape(len(by_cell), -1))


def score_of(columns: Array, weights: Array, here: Response) -> Array:
    """Return Σ w(x, y) ∂l/∂β, of weights of shape (x, answers)."""
    return np.asarray((weights * here.slope).sum(axis=1) @ columns)


def information_of(columns: Array, weights: Array, here: Response) -> Array:
    """Return −Σ w(x, y) ∂²l/∂β², of weights of shape (x, answers)."""
    return weighted_squares(columns, weights.sum(axis=1) * here.curvature)


def weighted_squares(columns: Array, weights: Array) -> Array:
    """Return X' W X, with a weight for each row of X."""
    return np.asarray(columns.T @ (weights[:, None] * columns))


def _score_if_zero(j: int, joint: Joint, columns: Array, outcome: Outcome) -> float:
    """Return the score test statistic of coefficient `j`, with the other coefficients fitted."""
    others = np.delete(np.arange(columns.shape[1]), j)
    try:
        rest = _root(columns[:, others], joint.support, outcome)
    except NotIdentified:
        return np.nan
    here = outcome.response(columns[:, others] @ rest)
    information = information_of(columns, joint.support, here)
    # The nuisance coefficients are estimated, so they depend on the table.
    row = np.zeros(columns.shape[1])
    row[j] = 1
    row[others] = -np.linalg.solve(information[np.ix_(others, others)], information[others, j])
    variance = joint.covariance_of((row @ _gradient(columns, here))[None])[0, 0]
    score = score_of(columns, joint.support, here)[j]
    return float(score / np.sqrt(variance)) if variance > 0 else np.nan


def _root(columns: Array, support: Array, outcome: Outcome) -> Array:
    """Return the root of the score, by Newton's method with halved steps."""
    coefficients = np.zeros(columns.shape[1])
    first = True
    here = outcome.response(columns @ coefficients)
    level = _level(support, here)
    for _ in range(_STEPS):
        information = information_of(columns, support, here)
        (eigenvalue, *_), (vector, *_) = _directions(information)
        if not eigenvalue > _ROUNDING:
            # At the first step A depends on the predictors alone.
            raise NotIdentified(_NOT_DETERMINED if first else _NO_ROOT, vector)
        step = np.linalg.solve(information, score_of(columns, support, here))
        first = False
        for halving in range(_HALVINGS):
            trial = coefficients + step / 2**halving
            here = outcome.response(columns @ trial)
            reached = _level(support, here)
            if reached >= level - _ROUNDING * (1 + abs(level)):
                break
        else:
            break
        coefficients, level = trial, reached
        if np.abs(columns @ coefficients).max() > _FARTHEST:
            break
        if np.abs(columns @ step).max() < _ROUNDING * (1 + np.abs(columns @ coefficients).max()):
            return np.asarray(coefficients)
    raise NotIdentified(_NO_ROOT, step)


def _level(support: Array, here: Response) -> float:
    """Return the log-likelihood, whose gradient is the score."""
    return float((support * here.level).sum())


def _units(information: Array) -> Array:
    """Scale factors of the coefficients that make the information about each 1, if possible."""
    diagonal = np.diag(information)
    return 1 / np.sqrt(diagonal) if (diagonal > 0).all() else np.ones_like(diagonal)


def _directions(information: Array) -> tuple[Array, Array]:
    """Eigenvalues of the information in units of its diagonal, the smallest first, and vectors.

    If the diagonal is not positive, return its smallest element and the positions of such elements.
    """
    diagonal = np.diag(information)
    if not (diagonal > 0).all():
        return diagonal.min(keepdims=True), np.where(diagonal > 0, 0.0, 1.0)[None]
    units = _units(information)
    values, vectors = np.linalg.eigh(information * np.outer(units, units))
    return values, vectors.T
