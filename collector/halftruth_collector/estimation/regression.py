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
from dataclasses import dataclass
from functools import cached_property, reduce

import numpy as np
from halftruth_shared import DomainTooLarge
from halftruth_shared.deadlines import check_deadline
from halftruth_shared.results import QUANTITIES
from numpy.typing import NDArray

from .bounds import SIGNIFICANT, Array
from .equation import Equation, Outcome, Predictors, Response
from .estimates import Estimates, Sets, normal_sets
from .false_reports import moved_by
from .table import SOMEBODY, Table

#: Largest absolute linear predictor of a logistic model: odds of three million.
_FARTHEST = 15.0

#: Largest number of steps of Newton's method, and of halvings of a step.
_STEPS, _HALVINGS = 50, 30

#: Step of every linear predictor at which Newton's method ends; eigenvalues below it are 0.
_ROUNDING = 1e-10

#: Largest number of derivatives of linear predictors, or of coefficients.
_MOST_NUMBERS = 2**25

_NOT_DETERMINED = "too little is known of these answers together"
_NO_ROOT = "no coefficients solve its equations, as where hardly anybody answers so or otherwise"


class NotIdentified(Exception):
    """The coefficients are not identified; `weights` are the contributions of each to that."""

    def __init__(self, reason: str, weights: np.ndarray) -> None:
        super().__init__(f"the data cannot carry the model: {reason}")
        self.weights = np.abs(weights)


@dataclass(frozen=True, eq=False)
class Regression:
    """Coefficients of a regression, or the reason why they are undefined.

    Attributes
    ----------
    coefficients : Estimates, shape (k,)
        With their test statistics and joint covariance; NaN if undefined.
    effects : Estimates, shape (terms of one factor,), optional
        Average marginal effects on the probability of the answer; None for a linear model, whose
        coefficients are the effects.
    undefined : str or None
    least_known : tuple of int
        The least precise coefficients, if the coefficients are not identified.
    """

    coefficients: Estimates
    effects: Estimates | None = None
    undefined: str | None = None
    least_known: tuple[int, ...] = ()


def coefficients_of(
    value: Array,
    covariance: Array,
    z: Array,
    sets: Sets | None = None,
    moved: Array | None = None,
) -> Estimates:
    """Return coefficients with test statistics z; their intervals are normal by default."""
    error = _errors(covariance)
    sets = sets or normal_sets(value, error)
    of = QUANTITIES["coefficient"]
    return Estimates(of, value, error, sets, joint=covariance, statistic=z, moved=moved)


def effects_of(value: Sequence[float], error: Sequence[float]) -> Estimates:
    """Return average marginal effects."""
    effects, errors = np.array(value), np.array(error)
    of = QUANTITIES["marginal_effect"]
    return Estimates(of, effects, errors, normal_sets(effects, errors))


def without_numbers(
    coefficients: int, reason: str, least_known: tuple[int, ...] = ()
) -> Regression:
    """Return undefined coefficients with their reason."""
    nothing = np.full(coefficients, np.nan)
    undefined = coefficients_of(nothing, np.diag(nothing), nothing)
    return Regression(undefined, undefined=reason, least_known=least_known)


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
        If there are too many combinations of answers and coefficients.
    """
    predictors, outcome = model.predictors.everywhere(), model.outcome
    columns = predictors.columns
    coefficients = columns.shape[1]
    if not table.logit:
        if table.reports < 2:
            return without_numbers(coefficients, "one report shows no error")
        if not np.isfinite(table.covariance()).all():
            reason = "the reports do not determine the errors of these answers together"
            return without_numbers(coefficients, reason)
    cells = np.arange(table.value.size) if kept is None else np.flatnonzero(kept)
    if coefficients * cells.size > _MOST_NUMBERS:
        raise DomainTooLarge(
            f"predictors: {cells.size} combinations of answers, {coefficients}"
            " coefficients; expected fewer predictors",
            field="predictors",
        )

    def errors(influence: Array) -> Array:
        """Return the standard errors of functions of the shares, from their derivatives."""
        return _errors(table.covariance(_placed(influence, cells, table)))

    support = table.value.ravel()[cells].reshape(-1, len(outcome.scores))
    equations = _Equations(columns, support, outcome)
    try:
        by_shares = equations.by_shares
        covariance = table.covariance(_placed(by_shares, cells, table))
        if table.logit:
            z = equations.coefficients / _errors(covariance)
            moved = moved_by(table, _placed(by_shares, cells, table), equations.coefficients, z)
        else:
            sizes, directions = _directions(equations.information)
            if not sizes[0] > SIGNIFICANT * errors(equations.influence(directions[:1]))[0]:
                raise NotIdentified(_NOT_DETERMINED, directions[0])
            tests = [equations.score(j) for j in range(coefficients)]
            scores, forms, fitted = map(np.array, zip(*tests, strict=True))
            error = np.concatenate([errors(form[None]) for form in forms])
            z = scores / np.where(error > 0, error, np.nan)
            nulls = [_with(table, cells, each) for each in fitted]
            moved = moved_by(table, _placed(forms, cells, table), scores, z, nulls)
    except NotIdentified as failure:
        weights = failure.weights
        least = np.flatnonzero(weights >= weights.max() / 2)
        return without_numbers(coefficients, str(failure), tuple(least.tolist()))
    total = support.sum()
    shares = support.sum(axis=1) / total
    effects, influences = [], []
    for each, slope in marginal_effects(predictors, outcome, equations.coefficients, shares):
        average = shares @ each
        # The average also depends on the shares of the combinations.
        own = np.repeat((each - average) / total, support.shape[1])
        effects.append(average)
        influences.append(own + slope @ by_shares)
    effect_errors = [errors(influence[None])[0] for influence in influences]
    return Regression(
        coefficients_of(equations.coefficients, covariance, z, moved=moved),
        effects_of(effects, effect_errors),
    )


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
    equations = _Equations(columns, support, model.outcome)
    try:
        sizes, directions = _directions(equations.information)
    except NotIdentified:
        return False
    every = np.concatenate([directions, np.eye(len(sizes))])
    known = np.concatenate([sizes, np.ones(len(sizes))])
    influence = np.concatenate([equations.influence(every), equations.by_shares])
    error = _errors(table.covariance(_placed(influence, cells, table), independent))
    carried = known > 2 * SIGNIFICANT * error[: len(every)]
    # Otherwise the estimated share of the answer in a category can be below 0 or above 1.
    span = np.ptp(columns, axis=0)
    share = float((equations.here.mean * support.sum(axis=1)).sum() / support.sum())
    far = error[len(every) :] * np.where(span > 0, span, 1.0) * max(share, 1 - share)
    return bool(carried.all() and (SIGNIFICANT * far < 1).all())


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


@dataclass(frozen=True, eq=False)
class _Equations:
    """Estimating equations of a table, with their solution.

    Attributes
    ----------
    columns : ndarray, shape (x, k)
    shares : ndarray, shape (x, answers)
        Of the table.
    outcome : Outcome
    """

    columns: Array
    shares: Array
    outcome: Outcome

    @cached_property
    def coefficients(self) -> Array:
        """β; raises NotIdentified if there is no solution."""
        return self._solve(self.columns)

    @cached_property
    def here(self) -> Response:
        return self.outcome.response(self.columns @ self.coefficients)

    @cached_property
    def information(self) -> Array:
        """A, shape (k, k)."""
        return information_of(self.columns, self.shares, self.here)

    @cached_property
    def by_shares(self) -> Array:
        """Derivatives of the coefficients by the shares, shape (k, cells)."""
        return np.asarray(np.linalg.solve(self.information, self._gradient(self.here)))

    def _solve(self, columns: Array) -> Array:
        def evaluate(coefficients: Array) -> tuple[float, Array, Array]:
            here = self.outcome.response(columns @ coefficients)
            level = float((self.shares * here.level).sum())
            score = score_of(columns, self.shares, here)
            return level, score, information_of(columns, self.shares, here)

        return newton(columns, evaluate, _FARTHEST)

    def _gradient(self, here: Response) -> Array:
        """∂U/∂π, shape (k, cells)."""
        by_cell = np.einsum("xy,xk->kxy", here.slope, self.columns)
        return np.asarray(by_cell.reshape(len(by_cell), -1))

    def influence(self, directions: Array) -> Array:
        """Return derivatives, by the shares, of the information about linear combinations.

        The information depends on the shares directly and through the coefficients.

        Parameters
        ----------
        directions : ndarray, shape (r, k)
            In units in which the information about each coefficient is 1.

        Returns
        -------
        ndarray, shape (r, cells)
        """
        squares = (self.columns @ (directions * _units(self.information)).T).T ** 2
        own = np.repeat(squares * self.here.curvature, self.shares.shape[1], axis=1)
        # The derivative of m(1 − m) by the linear predictor is m(1 − m)(1 − 2m).
        bend = self.here.curvature * (1 - 2 * self.here.mean) * self.shares.sum(axis=1)
        return np.asarray(own + squares * bend @ self.columns @ self.by_shares)

    def score(self, j: int) -> tuple[float, Array, Array]:
        """Return the score of coefficient `j` if it is 0, with the other ones fitted.

        It is followed by its gradient by the shares and by the fitted shares, both (cells,). NaN if
        the others are not identified.
        """
        others = np.delete(np.arange(self.columns.shape[1]), j)
        try:
            rest = self._solve(self.columns[:, others])
        except NotIdentified:
            return np.nan, *np.full((2, self.shares.size), np.nan)
        here = self.outcome.response(self.columns[:, others] @ rest)
        information = information_of(self.columns, self.shares, here)
        # The nuisance coefficients are estimated, so they depend on the table.
        row = np.zeros(self.columns.shape[1])
        row[j] = 1
        row[others] = -np.linalg.solve(information[np.ix_(others, others)], information[others, j])
        score = score_of(self.columns, self.shares, here)[j]
        fitted = np.exp(here.level) * self.shares.sum(axis=1, keepdims=True)
        return float(score), row @ self._gradient(here), fitted.ravel()


def _placed(influence: Array, cells: NDArray[np.int64], table: Table) -> Array:
    """Return linear forms of all cells of a table from those of some cells."""
    forms = np.zeros((len(influence), table.value.size))
    forms[:, cells] = influence
    return forms


def _with(table: Table, cells: NDArray[np.int64], shares: Array) -> Array:
    """Return a table with other shares of some cells, all cut at 0."""
    people = table.value.copy()
    people.ravel()[cells] = shares
    people = np.maximum(people, SOMEBODY)
    return np.asarray(people / people.sum())


def _errors(covariance: Array) -> Array:
    return np.asarray(np.sqrt(np.maximum(np.diag(covariance), 0.0)))


def score_of(columns: Array, weights: Array, here: Response) -> Array:
    """Return Σ w(x, y) ∂l/∂β, of weights of shape (x, answers)."""
    return np.asarray((weights * here.slope).sum(axis=1) @ columns)


def information_of(columns: Array, weights: Array, here: Response) -> Array:
    """Return −Σ w(x, y) ∂²l/∂β², of weights of shape (x, answers)."""
    return weighted_squares(columns, weights.sum(axis=1) * here.curvature)


def weighted_squares(columns: Array, weights: Array) -> Array:
    """Return X' W X, with a weight for each row of X."""
    return np.asarray(columns.T @ (weights[:, None] * columns))


def newton(
    columns: Array,
    evaluate: Callable[[Array], tuple[float, Array, Array]],
    farthest: float = np.inf,
) -> Array:
    """Return the maximum of a log-likelihood, by Newton's method with halved steps.

    Parameters
    ----------
    columns : ndarray, shape (x, k)
    evaluate : callable
        Returns log-likelihood, score and information at some coefficients.
    farthest : float
        Largest absolute linear predictor of a solution.

    Raises
    ------
    NotIdentified
    """
    coefficients = np.zeros(columns.shape[1])
    level, score, information = evaluate(coefficients)
    reason = _NOT_DETERMINED
    for _ in range(_STEPS):
        check_deadline()
        (eigenvalue, *_), (vector, *_) = _directions(information)
        if not eigenvalue > _ROUNDING:
            # At the first step, the information depends on the predictors alone.
            raise NotIdentified(reason, vector)
        step, reason = np.linalg.solve(information, score), _NO_ROOT
        for halving in range(_HALVINGS):
            trial = coefficients + step / 2**halving
            reached, score, information = evaluate(trial)
            if reached >= level - _ROUNDING * (1 + abs(level)):
                break
        else:
            break
        coefficients, level = trial, reached
        if np.abs(columns @ coefficients).max() > farthest:
            break
        if np.abs(columns @ step).max() < _ROUNDING * (1 + np.abs(columns @ coefficients).max()):
            return np.asarray(coefficients)
    raise NotIdentified(_NO_ROOT, step)


def _units(information: Array) -> Array:
    """Return scale factors of the coefficients that make the information about each 1."""
    diagonal = np.diag(information)
    return 1 / np.sqrt(diagonal) if (diagonal > 0).all() else np.ones_like(diagonal)


def _directions(information: Array) -> tuple[Array, Array]:
    """Return eigenvalues, the smallest first, and vectors in units of the diagonal.

    If the diagonal is not positive, return its smallest element and the positions of such elements.
    """
    diagonal = np.diag(information)
    if not (diagonal > 0).all():
        return diagonal.min(keepdims=True), np.where(diagonal > 0, 0.0, 1.0)[None]
    units = _units(information)
    values, vectors = np.linalg.eigh(information * np.outer(units, units))
    return values, vectors.T
