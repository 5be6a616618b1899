"""How many false reports would undo a decision (formulas.md §26).

An estimate is a sum of contributions of reports. Whoever can choose a report moves it by the
contribution of that report, which for a split questionnaire can be many times that of a person. A
decision rests on a statistic z, the estimate in standard errors, and on a critical value c. If the
most harmful report moves z by m towards no effect,

    k = (z − c) / (m − (z − c)/n)

of them among n reports undo the decision, since k reports move the mean of n + k by k·m·n/(n + k).
No number of them does if m·n ≤ z − c. The contribution is that in a survey without an effect, where
the test knows it: the nearer the estimate comes to 0, the less a further report moves it. All of
this is of first order, and best where k is small compared with n.
"""

from collections.abc import Sequence

import numpy as np
import scipy

from .bounds import Array
from .table import Table

#: Smallest statistic of a decision, at a level of 20 %.
DECISIVE = 1.28

#: Digits of a number of reports; further ones are rounding errors.
_DIGITS = 6

#: Smallest p-value with a statistic, so that one that is 0 to all digits has one, too.
_LEAST = 1e-300


def moved_by(
    table: Table, forms: Array, value: Array, z: Array, nulls: Sequence[Array] | None = None
) -> Array:
    """Return by how much one more report can move statistics towards 0, in standard errors.

    Statistics below `DECISIVE` support no decision, and are left out.

    Parameters
    ----------
    table : Table
    forms : ndarray, shape (K, cells)
        Estimates as linear forms of the cells: gradients, or the scores of a test.
    value, z : ndarray, shape (K,)
        The estimates, 0 without an effect, and their test statistics, of either sign.
    nulls : sequence of ndarray, optional
        The shares under each null hypothesis. Where there are few reports about a view, those that
        were made up are many among them, and move less each the nearer the estimate is to 0.

    Returns
    -------
    ndarray, shape (K,)
        NaN where an estimate or a statistic is unknown.
    """
    moved = np.full(len(forms), np.nan)
    decisive = np.isfinite(z) & (np.abs(z) >= DECISIVE) & (value != 0)
    known = np.flatnonzero(decisive & np.isfinite(forms).all(axis=1))
    ways = np.sign(value[known])[:, None] * forms[known]
    if not len(known):
        return moved
    if nulls is None:
        falls = table.largest_falls(ways)
    else:
        pairs = zip(ways[:, None], known.tolist(), strict=True)
        falls = np.concatenate([table.largest_falls(way, nulls[row]) for way, row in pairs])
    moved[known] = falls * np.abs(z[known] / value[known])
    return moved


def statistics(p_values: Array) -> Array:
    """Return the absolute normal statistics of two-sided p-values.

    >>> statistics(np.array([0.05, 1.0])).round(2).tolist()
    [1.96, 0.0]
    """
    return np.asarray(np.abs(scipy.special.ndtri(np.maximum(p_values, _LEAST) / 2)))


def to_undo(z: Array, critical: float, moved: Array, reports: int) -> Array:
    """Return how many false reports would undo decisions; NaN where none or unknown.

    Parameters
    ----------
    z : ndarray
        Absolute test statistics.
    critical : float
        The decisions are that z is at least this.
    moved : ndarray
        See `moved_by`.
    reports : int
        n.

    Examples
    --------
    >>> to_undo(np.array([3.96, 3.96, 1.0]), 1.96, np.array([0.1, 0.001, 0.1]), 1000).tolist()
    [21.0, nan, nan]
    """
    beyond = np.asarray(z) - critical
    with np.errstate(divide="ignore", invalid="ignore"):
        needed = np.ceil(np.round(beyond / (moved - beyond / reports), _DIGITS))
    possible = (beyond >= 0) & (moved * reports > beyond)
    return np.asarray(np.where(possible, np.maximum(needed, 1.0), np.nan))
