"""Departure of itemsets from independence.

The departure of an itemset is its support minus the product of the shares of its answers, δ = π_S −
∏ π_j. It is 0 if all answers of the itemset are independent of each other. It is tested by its
score: the variance of δ̂ is that under mutual independence with the estimated shares, and the score
is corrected for skewness. For two answers this is the adjusted residual of their cross-tabulation,
see :mod:`.independence`.

There is no test if the share of an answer is not significantly above zero, or if fewer than one
person is expected to give all of the answers.
"""

from collections import defaultdict
from functools import reduce

import numpy as np
import scipy
from halftruth_shared.deadlines import check_deadline
from halftruth_shared.results import QUANTITIES
from numpy.typing import NDArray

from .bounds import Array, significantly_positive
from .estimates import Estimates, normal_sets
from .estimator import Estimator
from .independence import LEAST_EXPECTED, unskewed
from .table import Table

DEPARTURE = QUANTITIES["departure"]


def itemset_departures(estimator: Estimator, codes: NDArray[np.int64]) -> Estimates:
    """Estimate and test the departure of each itemset, of two answers or more, from independence.

    Parameters
    ----------
    estimator : Estimator
    codes : ndarray of int, shape (K, M)
        Category code of each attribute, −1 for attributes that the itemset leaves open.

    Returns
    -------
    Estimates
        With normal intervals by the estimated covariance; statistics and p-values are of the tests.
    """
    value, error, score = np.full((3, len(codes)), np.nan)
    rows_of: dict[tuple[int, ...], list[int]] = defaultdict(list)
    for row, itemset in enumerate(codes):
        rows_of[tuple(np.flatnonzero(itemset >= 0).tolist())].append(row)
    for (positions, rows), table in zip(rows_of.items(), estimator.subsets(rows_of), strict=True):
        check_deadline()
        cells = codes[np.ix_(rows, positions)]
        value[rows], error[rows], score[rows] = _of_table(table, cells)
    return Estimates(
        DEPARTURE,
        value,
        error,
        normal_sets(value, error),
        statistic=score,
        p_value=2 * scipy.special.ndtr(-np.abs(score)),
    )


def _of_table(table: Table, cells: NDArray[np.int64]) -> tuple[Array, Array, Array]:
    """Return departures, standard errors and scores of the cells of a table, shape (K, axes)."""
    shape, axes = table.value.shape, range(table.value.ndim)
    margins = [table.value.sum(axis=tuple(a for a in axes if a != axis)) for axis in axes]
    under = np.asarray(reduce(np.multiply.outer, [np.maximum(m, 0.0) for m in margins]))
    under /= under.sum()
    shares = np.stack([margin[cells[:, axis]] for axis, margin in enumerate(margins)], axis=1)
    # Whether each cell of the table has the answer of an itemset to each question.
    places = np.indices(shape).reshape(len(shape), -1)
    has = (cells[:, :, None] == places).astype(float)
    slopes = np.stack([np.delete(shares, axis, axis=1).prod(axis=1) for axis in axes], axis=1)
    forms = has.prod(axis=1) - np.einsum("ka,kac->kc", slopes, has)
    departures = table.value[tuple(cells.T)] - shares.prod(axis=1)
    error = np.sqrt(np.maximum(np.diag(table.covariance(forms)), 0.0))
    of_shares = np.diag(table.covariance(has.reshape(-1, table.value.size)))
    errors = np.sqrt(np.maximum(of_shares, 0.0)).reshape(shares.shape)
    clear = significantly_positive(shares, errors)
    variance = np.diag(table.covariance(forms, under))
    known = clear.all(axis=1) & (variance > 0)
    known &= table.reports * shares.prod(axis=1) >= LEAST_EXPECTED
    with np.errstate(divide="ignore", invalid="ignore"):
        skewness = table.third_moment(forms, under) / variance**1.5
        score = unskewed(departures / np.sqrt(variance), skewness)
    return departures, error, np.where(known, score, np.nan)


def order_of(departures: Estimates) -> NDArray[np.int64]:
    """Return the order by the absolute score, largest first; those without a test come last."""
    assert departures.statistic is not None  # noqa: S101 - they are tested
    return np.argsort(-np.nan_to_num(np.abs(departures.statistic), nan=-1.0), kind="stable")
