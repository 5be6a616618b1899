"""Linear regression from second moments of pairs of answers.

Least squares depends only on the second moments M = E z zᵀ, with z the columns of the predictors
and then the outcome. Each entry of M is a linear form of the table of two predictors, or of one and
the outcome. So a regression can have any number of predictors, even if reports identify only pairs,
or if all answers have too many combinations.

A coefficient is a ratio of two linear forms of M, (r M e)/(r M r), where r and e partial the other
predictors out of column j and out of the outcome (Frisch-Waugh-Lovell). Its interval is Fieller's
set of this ratio, the values that a score test (Rao 1948; Boos 1992) does not reject, and its
p-value is that of the score test of 0. A Wald test would reject too often for rare answers.

r and e require the inverse of the moments of the other predictors. Their errors enter only as a
product (Neyman orthogonality; Chernozhukov et al. 2018), so they can be regularized: an eigenvalue
of the second moments below `SIGNIFICANT` standard errors is raised to this value. Otherwise one
rare answer would make the effects of all other predictors imprecise.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from itertools import combinations_with_replacement

import numpy as np
from halftruth_shared import ParameterError
from halftruth_shared.deadlines import check_deadline
from numpy.typing import NDArray

from .bounds import SIGNIFICANT, Array
from .equation import Equation
from .estimator import Estimator
from .intervals import fieller_sets
from .reconstruction import reconstruction
from .regression import Regression, coefficients_of, without_numbers
from .table import Table

#: Rounding error of a second moment, for columns with largest value 1.
_ROUNDING = 1e-10


@dataclass(frozen=True, eq=False)
class Part:
    """A table, with the moments that are computed from it.

    Attributes
    ----------
    kept : ndarray of bool, shape (cells,)
        The cells that the equation uses.
    places : ndarray of int, shape (n,)
        Columns of the equation that depend only on attributes of the table.
    columns : ndarray, shape (cells, n)
        Their values.
    used : ndarray of bool, shape (n, n)
        Which moments are computed from this table.
    """

    table: Table
    kept: NDArray[np.bool_]
    places: NDArray[np.int64]
    columns: Array
    used: NDArray[np.bool_]

    @property
    def moments(self) -> Array:
        """The moments; 0 for moments of other tables."""
        shares = np.where(self.kept, self.table.value.ravel(), 0.0)
        return np.asarray(self.used * (self.columns.T @ (shares[:, None] * self.columns)))

    def forms(self, left: Array, right: Array) -> Array:
        """Weights of the cells in K forms l M r, shape (cells, K)."""
        first = (self.columns[:, None] * left[:, self.places]) @ self.used
        weights = (first * (self.columns[:, None] * right[:, self.places])).sum(axis=2)
        return np.asarray(self.kept[:, None] * weights)


def fit_linear_table(table: Table, model: Equation, kept: NDArray[np.bool_]) -> Regression:
    """Fit a linear equation to some cells of the table of the predictors and the outcome."""
    if table.reports < 2:
        return without_numbers(len(model.predictors.terms), "one report shows no error")
    sizes = [*(len(each.values) for each in model.predictors.each), len(model.outcome.scores)]
    columns = np.zeros((table.value.size, len(model.predictors.terms) + 1))
    cells = np.indices(sizes).reshape(len(sizes), -1)
    columns[kept.ravel()] = np.column_stack(
        [model.predictors.at(cells[:-1].T).columns, model.outcome.scores[cells[-1]]]
    )
    every = np.arange(columns.shape[1])
    part = Part(table, kept.ravel(), every, columns, np.ones((len(every),) * 2, dtype=bool))
    covariance = table.covariance()

    def covariance_of(left: Array, right: Array) -> Array:
        forms = part.forms(left, right)
        return np.asarray(forms.T @ covariance @ forms)

    units = 1 / np.abs(columns[:, :-1]).max(axis=0)
    return _fit(part.moments, units, covariance_of, [part])


def fit_linear_pairs(estimator: Estimator, model: Equation) -> Regression:
    """Fit a linear equation to the tables of pairs of its answers, for the population.

    If an answer can be missing, pairs do not identify people who answered all questions:
    ParameterError.
    """
    parts = list(_parts(estimator, model))
    size = len(model.predictors.terms) + 1
    moments = np.zeros((size, size))
    largest = np.zeros(size)
    for part in parts:
        largest[part.places] = np.abs(part.columns).max(axis=0)
        moments[np.ix_(part.places, part.places)] += part.moments
    reports = estimator.counts.reports
    if reports < 2:
        return without_numbers(size - 1, "one report shows no error")
    unbiased = reconstruction(estimator.survey)

    def covariance_of(left: Array, right: Array) -> Array:
        forms = {
            part.table.axes: part.forms(left, right).reshape(*part.table.value.shape, -1)
            for part in parts
        }
        products = sum(
            (numbers[:, None] * each).T @ each
            for numbers, each in unbiased.contributions(estimator.counts, forms)
        )
        return np.asarray(products) / (reports * (reports - 1))

    return _fit(moments, 1 / largest[:-1], covariance_of, parts)


def _parts(estimator: Estimator, model: Equation) -> Iterator[Part]:
    """Yield the table of each pair of predictors, or of one and the outcome."""
    schema, domain = estimator.survey.schema, estimator.domain
    for name in model.names:
        if schema.attributes[schema.position(name)].missing:
            raise ParameterError(
                f"predictors: '{name}' can be missing, and no table tells who answered all of"
                " these; expected other or fewer predictors",
                field="predictors",
            )
    values = {each.name: each.values for each in model.predictors.each}
    values[model.names[-1]] = model.outcome.scores[:, None]
    crossed = [[model.names[n] for n in each] for each in model.predictors.interactions]
    # Group columns by the attributes on which they depend, in the order of the columns.
    blocks: list[list[str]] = [[], *([name] for name in model.names[:-1]), *crossed]
    blocks.append([model.names[-1]])
    widths = [math.prod(values[name].shape[1] for name in names) for names in blocks]
    ends = np.cumsum(widths)
    pairs = defaultdict(list)
    for pair in combinations_with_replacement(range(len(blocks)), 2):
        either = {name for number in pair for name in blocks[number]} or {model.names[-1]}
        pairs[tuple(name for name in model.names if name in either)].append(pair)
    for names, of_table in pairs.items():
        check_deadline()
        table = estimator.reconstruction.table(estimator.counts, _checked(estimator, names))
        cells = np.indices(table.value.shape).reshape(table.value.ndim, -1)
        kept = np.ones(table.value.size, dtype=bool)
        for answers, codes in zip(cells[len(names) :], domain.codes, strict=True):
            kept &= np.isin(answers, codes)
        inside = sorted({number for pair in of_table for number in pair})
        columns = []
        for number in inside:
            each = [values[name][cells[names.index(name)]] for name in blocks[number]]
            columns.append(reduce(_products, each, np.ones((len(kept), 1))))
        which = np.repeat(inside, [widths[number] for number in inside])
        used = np.array([[(a, b) in of_table or (b, a) in of_table for b in which] for a in which])
        places = np.concatenate([np.arange(ends[n] - widths[n], ends[n]) for n in inside])
        yield Part(table, kept, places, np.hstack(columns), used)


def _checked(estimator: Estimator, names: Sequence[str]) -> list[str]:
    """Return the names of a table and its domain, after checking that reports identify it."""
    estimator.check(names)
    return [*names, *estimator.domain.where]


def _products(first: Array, second: Array) -> Array:
    """Return the products of all pairs of columns."""
    return np.asarray((first[:, :, None] * second[:, None]).reshape(len(first), -1))


def _fit(
    moments: Array,
    units: Array,
    covariance_of: Callable[[Array, Array], Array],
    parts: Sequence[Part],
) -> Regression:
    """Fit the equation to its moments.

    `units` are the reciprocals of the largest value of each column, shape (k,); `covariance_of`
    returns the covariance of K forms l M r, from the rows l and r of each, shapes (K, z). The
    moments are those of `parts`.
    """
    values, vectors = np.linalg.eigh(moments[:-1, :-1] * np.outer(units, units))
    directions = np.pad(vectors.T * units, ((0, 0), (0, 1)))
    errors = np.sqrt(np.maximum(np.diag(covariance_of(directions, directions)), 0.0))
    floor = np.maximum(SIGNIFICANT * errors, _ROUNDING)
    if not np.isfinite(floor).all():
        reason = "the reports do not determine the errors of these answers together"
        return without_numbers(len(values), reason)
    if (np.maximum(values, floor) <= _ROUNDING).any():
        least = np.abs(vectors[:, 0]) >= np.abs(vectors[:, 0]).max() / 2
        reason = "the data cannot carry the model: some predictors follow from others"
        return without_numbers(len(values), reason, tuple(np.flatnonzero(least).tolist()))
    inverse = (directions[:, :-1].T / np.maximum(values, floor)) @ directions[:, :-1]
    own = np.pad(inverse / np.diag(inverse)[:, None], ((0, 0), (0, 1)))
    others = inverse @ moments[:-1, -1]
    rest = np.append(-others, 1.0) + others[:, None] * own
    numerator, left = (((own @ moments) * each).sum(axis=1) for each in (rest, own))
    spread = covariance_of(np.vstack([own, own]), np.vstack([rest, own]))
    of_rest, of_left = np.split(np.diag(spread), 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        beta = numerator / left
        change = np.hstack([np.eye(len(beta)), -np.diag(beta)]) / left[:, None]
        z = np.where(of_rest > 0, numerator / np.sqrt(of_rest), np.nan)
    sets = partial(fieller_sets, numerator, left, (of_rest, of_left), np.diag(spread, len(beta)))
    # One report cannot move the forms of all tables by more than the sum of the largest falls.
    ways = np.sign(numerator)[:, None]
    falls = sum(part.table.largest_falls(ways * part.forms(own, rest).T) for part in parts)
    with np.errstate(divide="ignore", invalid="ignore"):
        moved = falls * np.abs(z / numerator)
    return Regression(coefficients_of(beta, change @ spread @ change.T, z, sets, moved))
