"""Multiple testing: false discovery rate of decisions, false coverage rate of intervals.

A decision about many hypotheses controls the false discovery rate (Benjamini & Hochberg 1995): on
average at most this share of the discoveries is false. Estimates that are listed because they are
large have intervals with a false coverage rate (Benjamini & Yekutieli 2005): on average at most
this share of the listed intervals misses the true value. A headline that names a single estimate
adjusts for all candidates (Bonferroni). Both procedures are proved for independent and positively
dependent estimates; simulations show that they also hold for the negatively dependent cells of one
table.
"""

import numpy as np
from numpy.typing import NDArray

from .bounds import Array

Mask = NDArray[np.bool_]


def adjusted_p_values(p_values: Array, candidates: int | None = None) -> Array:
    """Return the smallest false discovery rates at which each hypothesis is rejected.

    Parameters
    ----------
    p_values : ndarray, shape (K,)
        NaN for hypotheses without a test, which are not rejected.
    candidates : int, optional
        Number m of hypotheses that could have been tested; by default K. Those without a p-value
        here are taken as not rejected.

    Returns
    -------
    ndarray, shape (K,)
        min over j ≥ k of m·p_(j)/j, at most 1 (Benjamini & Hochberg 1995); NaN where there is no
        test.

    Examples
    --------
    >>> adjusted_p_values(np.array([0.01, 0.04, 0.03, np.nan])).round(3).tolist()
    [0.04, 0.053, 0.053, nan]
    """
    order = np.argsort(p_values)
    ranks = np.arange(1, len(p_values) + 1)
    scaled = (len(p_values) if candidates is None else float(candidates)) / ranks
    steps = np.where(np.isnan(p_values[order]), np.inf, p_values[order]) * scaled
    adjusted = np.empty(len(p_values))
    adjusted[order] = np.minimum.accumulate(steps[::-1])[::-1]
    return np.where(np.isnan(p_values), np.nan, np.minimum(adjusted, 1.0))


def discoveries(p_values: Array, rate: float, candidates: int | None = None) -> Mask:
    """Return which hypotheses are rejected at a false discovery rate.

    On average at most this share of the rejected hypotheses is true.

    Examples
    --------
    >>> discoveries(np.array([0.001, 0.2, 0.02]), 0.05).tolist()
    [True, False, True]
    """
    with np.errstate(invalid="ignore"):
        return np.asarray(adjusted_p_values(p_values, candidates) <= rate)


def listed_alpha(confidence: float, listed: int, candidates: int) -> float:
    """Return the level α of each interval of a list, so that its false coverage rate holds.

    It is (1 − confidence)·R/m for R listed of m candidates (Benjamini & Yekutieli 2005).

    Examples
    --------
    >>> round(listed_alpha(0.95, 41, 820), 6)
    0.0025
    """
    return (1 - confidence) * min(max(listed, 1) / max(float(candidates), 1.0), 1.0)
