"""What counts of reports show if the parameters of the perturbation are unknown (Guo ch. 4).

Each attribute is perturbed independently, by a matrix of its own. All functions are of expected
counts; arrays of fractions give exact results where noted. A table has an axis for each attribute;
of two categories, 0 is absence and 1 is presence.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import scipy
from halftruth_collector.estimation.bounds import Array
from halftruth_collector.estimation.measures import MEASURES, Cells
from numpy.typing import NDArray

#: Measures that are 1 at independence; all others that are compared with it are 0 there.
FROM_ONE = ("odds_ratio", "interest", "conviction", "collective_strength")

#: Measures of every number of categories.
CATEGORIES = tuple(measure.name for measure in MEASURES if measure.scope == "categories")

#: Measures without one value at independence. Their own values are compared.
BY_VALUE = ("support", "confidence", "laplace", "jaccard", "cosine")

#: Relative and absolute differences of this size are rounding errors.
_ROUNDING = 1e-9

#: Largest number of steps of iterative proportional fitting, and relative precision of margins.
_STEPS, _PRECISION = 1_000, 1e-12

Values = Mapping[str, Array]


def keeping(p: Any) -> NDArray[Any]:
    """Return the matrix that keeps a yes/no answer with probability p; row v is reported."""
    return np.array([[p, 1 - p], [1 - p, p]])


def reported(table: NDArray[Any], *matrices: NDArray[Any] | None) -> NDArray[Any]:
    """Return the expected table of reports; exact for fractions.

    Parameters
    ----------
    table : ndarray
        Shares or counts of the answers.
    *matrices : ndarray or None
        For each axis the matrix with P(report v | answer u) in row v and column u; None if the
        attribute is unperturbed.
    """
    for axis, matrix in enumerate(matrices):
        if matrix is not None:
            table = np.moveaxis(np.tensordot(matrix, table, axes=(1, axis)), 0, axis)
    return table


# Measures of two attributes


def measures(tables: Array, reports: int) -> dict[str, Array]:
    """Return all measures of some tables of shares, with support and confidence.

    Parameters
    ----------
    tables : ndarray, shape (rows, columns, tables)
        If there are not two categories each, only `CATEGORIES` are computed.
    reports : int
        Number of reports, on which χ², G², the residual and Laplace's estimate depend.
    """
    cells = Cells(tables, 2)
    binary = tables.shape[:2] == (2, 2)
    found = {
        measure.name: measure.of(cells, reports).ravel()
        for measure in MEASURES
        if binary or measure.scope == "categories"
    }
    if binary:
        found["support"] = tables[1, 1]
        found["confidence"] = tables[1, 1] / tables[1].sum(axis=0)
    return found


def sizes(values: Values) -> dict[str, Array]:
    """Return how far each measure is from its value at independence, or itself (`BY_VALUE`)."""
    return {
        name: value if name in BY_VALUE else np.abs(value - (name in FROM_ONE))
        for name, value in values.items()
    }


def random_tables(rng: np.random.Generator, shape: Sequence[int], count: int) -> Array:
    """Draw tables of shares, sparse and even ones, a quarter of them nearly independent."""
    weights = rng.gamma(rng.choice([0.2, 1, 5], count), size=(math.prod(shape), count))
    tables: Array = (weights / weights.sum(axis=0) + 1e-5).reshape(*shape, count)
    tables /= tables.sum(axis=(0, 1))
    near = tables[..., : count // 4]
    independent = near.sum(axis=1, keepdims=True) * near.sum(axis=0, keepdims=True)
    near += (1 - 10 ** rng.uniform(-4, 0, near.shape[-1])) * (independent - near)
    return tables


def any_matrices(rng: np.random.Generator, size: int, count: int) -> Array:
    """Draw matrices, shape (reports, answers, matrices): even and nearly singular ones."""
    weights = rng.gamma(rng.choice([0.1, 1], count), size=(size, size, count)) + 1e-6
    return np.asarray(weights / weights.sum(axis=0))


def likely_matrices(rng: np.random.Generator, size: int, count: int) -> Array:
    """Draw 2 × 2 matrices by which presence is reported more often of those it is true of."""
    matrices = any_matrices(rng, size, count)
    swapped = matrices[1, 1] < matrices[1, 0]
    matrices[..., swapped] = matrices[:, ::-1, swapped]
    return matrices


def even_matrices(rng: np.random.Generator, size: int, count: int) -> Array:
    """Draw matrices that keep an answer most often; every other one is equally likely."""
    keep = rng.uniform(1 / size, 1, count)
    other = (1 - keep) / (size - 1)
    return np.asarray(other + (keep - other) * np.eye(size)[..., None])


def perturb(tables: Array, first: Array | None, second: Array | None) -> Array:
    """Return the tables of reports of many tables, each perturbed by matrices of its own."""
    if first is not None:
        tables = np.einsum("iun,ujn->ijn", first, tables)
    return tables if second is None else np.einsum("jvn,ivn->ijn", second, tables)


def growth(before: Values, after: Values) -> dict[str, float]:
    """Return the share of tables whose reports have a larger size of each measure than the answers.

    Differences due to rounding do not count.
    """
    was, now = sizes(before), sizes(after)
    return {
        name: float((now[name] > was[name] * (1 + _ROUNDING) + _ROUNDING).mean()) for name in was
    }


def reversals(before: Sequence[Values], after: Sequence[Values]) -> dict[str, float]:
    """Return the share of couples of tables whose order by each measure's size reverses."""
    found = {}
    for name in before[0]:
        was, now = (
            np.subtract(*(sizes(values)[name] for values in both)) for both in (before, after)
        )
        clear = (np.abs(was) > _ROUNDING) & (np.abs(now) > _ROUNDING)
        found[name] = float(((was * now < 0) & clear).mean())
    return found


def concentration(table: NDArray[Any]) -> Any:
    """Return τ of the columns given the rows; exact for fractions."""
    rows, columns = table.sum(axis=1), (table.sum(axis=0) ** 2).sum()
    return ((table**2).sum(axis=1) / rows).sum() / (1 - columns) - columns / (1 - columns)


def column_risk_difference(table: NDArray[Any]) -> Any:
    """Return D = P(not X | not Y) − P(not X | Y); exact for fractions."""
    columns = table.sum(axis=0)
    return table[0, 0] / columns[0] - table[0, 1] / columns[1]


def added_value(table: NDArray[Any]) -> Any:
    """Return P(Y | X) − P(Y); exact for fractions."""
    return table[1, 1] / table[1].sum() - table[:, 1].sum()


def laplace(table: NDArray[Any], reports: int) -> Any:
    """Return Laplace's estimate of P(Y | X); exact for fractions."""
    return (reports * table[1, 1] + 1) / (reports * table[1].sum() + 2)


def rejections(
    table: Array, reports: int, surveys: int, rng: np.random.Generator, level: float = 0.05
) -> float:
    """Return the share of simulated surveys in which the χ² test rejects independence.

    Parameters
    ----------
    table : ndarray, shape (rows, columns)
        Shares of the reports.
    reports, surveys : int
        Number of reports of each survey, and of surveys.
    """
    drawn = rng.multinomial(reports, table.ravel(), surveys).T.reshape(*table.shape, surveys)
    degrees = (table.shape[0] - 1) * (table.shape[1] - 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        statistic = measures(drawn / reports, reports)["chi_squared"]
    # A survey in which a category is never reported rejects nothing.
    return float((statistic > scipy.stats.chi2.isf(level, degrees)).mean())


# Models of more attributes


@dataclass(frozen=True, eq=False)
class LoglinearFit:
    """A hierarchical loglinear model fitted to counts.

    Attributes
    ----------
    fitted : ndarray
        Expected counts under the model, same shape as the counts.
    chi_squared : float
        Pearson's statistic Σ (n − m)²/m.
    degrees_of_freedom : int
        Cells less parameters.
    """

    fitted: Array
    chi_squared: float
    degrees_of_freedom: int

    @property
    def p_value(self) -> float:
        """Probability of a larger statistic if the model holds."""
        return float(scipy.special.chdtrc(self.degrees_of_freedom, self.chi_squared))


def fit_loglinear(counts: Array, terms: Sequence[Collection[int]]) -> LoglinearFit:
    """Fit a hierarchical loglinear model by iterative proportional fitting.

    Parameters
    ----------
    counts : ndarray
        Counts above 0, one axis for each attribute.
    terms : sequence of collections of int
        Axes of each highest-order term; every axis is in at least one.

    Raises
    ------
    ArithmeticError
        If the fit does not converge.

    Examples
    --------
    >>> fit = fit_loglinear(np.array([[30.0, 10], [20, 40]]), [{0}, {1}])
    >>> fit.fitted.tolist(), fit.degrees_of_freedom, round(fit.chi_squared, 2)
    ([[20.0, 20.0], [30.0, 30.0]], 1, 16.67)
    """
    others = [tuple(axis for axis in range(counts.ndim) if axis not in term) for term in terms]
    margins = [counts.sum(axis=axes, keepdims=True) for axes in others]
    fitted = np.full(counts.shape, counts.mean())
    for _ in range(_STEPS):
        for axes, margin in zip(others, margins, strict=True):
            fitted = fitted * (margin / fitted.sum(axis=axes, keepdims=True))
        if all(
            np.allclose(fitted.sum(axis=axes, keepdims=True), margin, rtol=_PRECISION, atol=0)
            for axes, margin in zip(others, margins, strict=True)
        ):
            break
    else:
        raise ArithmeticError("the fit of a loglinear model did not converge")
    subsets = {
        frozenset(subset)
        for term in terms
        for size in range(len(term) + 1)
        for subset in combinations(term, size)
    }
    parameters = sum(math.prod(counts.shape[axis] - 1 for axis in each) for each in subsets)
    chi_squared = float(((counts - fitted) ** 2 / fitted).sum())
    return LoglinearFit(fitted, chi_squared, counts.size - parameters)


def is_preserved(terms: Sequence[Collection[int]], perturbed: Collection[int]) -> bool:
    """Check Korn's criterion (Theorem 2): a model of the answers also holds for the reports.

    It does if and only if no perturbed attribute is in more than one highest-order term.
    """
    return all(sum(axis in term for term in terms) <= 1 for axis in perturbed)


def partial_correlation(table: Array) -> float:
    """Return the correlation of the first two of three yes/no attributes given the third."""
    shares = table / table.sum()
    correlations = {}
    for pair in combinations(range(3), 2):
        [other] = {0, 1, 2} - set(pair)
        of_pair = shares.sum(axis=other)
        p, q = of_pair[1].sum(), of_pair[:, 1].sum()
        correlations[pair] = (of_pair[1, 1] - p * q) / math.sqrt(p * (1 - p) * q * (1 - q))
    between, left, right = (correlations[pair] for pair in ((0, 1), (0, 2), (1, 2)))
    return float((between - left * right) / math.sqrt((1 - left**2) * (1 - right**2)))


def log_odds_ratio(table: Array) -> float:
    """Return the coefficient of the first attribute in a logistic model of the second.

    The third attribute is the other predictor; the model has no interaction of all three.
    """
    layer = fit_loglinear(table, [(0, 1), (0, 2), (1, 2)]).fitted[..., 0]
    return float(np.log(layer[0, 0] * layer[1, 1] / (layer[0, 1] * layer[1, 0])))


# Classifiers


def gini_after_split(table: NDArray[Any]) -> Any:
    """Return the mean Gini index of the classes (columns) after a split by the rows."""
    rows = table.sum(axis=1, keepdims=True)
    return (rows[:, 0] / table.sum() * (1 - ((table / rows) ** 2).sum(axis=1))).sum()


def posteriors(tables: Sequence[NDArray[Any]], answers: Sequence[int]) -> NDArray[Any]:
    """Return naive Bayes' probability of each class given some answers.

    Parameters
    ----------
    tables : sequence of ndarray
        For each attribute, the table of its answers (rows) and the classes (columns).
    answers : sequence of int
        Code of the answer to each attribute.
    """
    classes = tables[0].sum(axis=0)
    weights = classes / classes.sum()
    for table, answer in zip(tables, answers, strict=True):
        weights = weights * table[answer] / table.sum(axis=0)
    return np.asarray(weights / weights.sum())
