"""Mean and interval of the confidence of a rule by Guo's formulas (Results 2 and 3).

The collector has Fieller's sets instead, which hold their level where these do not.
"""

from math import sqrt

import numpy as np
from halftruth_collector.estimation.ratios import Quotients
from halftruth_shared.channels.axes import Array
from numpy.typing import ArrayLike


def second_order_mean(confidences: Quotients) -> Array:
    """Return the mean of an estimated confidence up to second order (Guo eq. 3.4).

    With u and x as the supports of X and Y together and of X, it is c + (c·var(x) − cov(u, x))/x².
    Guo writes the same with x − u in place of x.

    Examples
    --------
    >>> import numpy as np
    >>> u, x, var_u, var_x, cov = np.array([[0.3], [0.5], [4e-4], [5e-4], [3e-4]])
    >>> mean = second_order_mean(Quotients(u, x, var_u, var_x, cov))
    >>> [round(value, 6) for value in mean.tolist()]
    [0.6]
    """
    c, x = confidences.value, confidences.denominator
    return c + (c * confidences.var_denominator - confidences.cov) / x**2


def chebyshev_interval(confidences: Quotients, alpha: float) -> tuple[Array, Array]:
    """Return the interval E(ĉ) ± sd/√α, which holds for any distribution of ĉ (Guo Result 3).

    Parameters
    ----------
    alpha : float
        Largest probability that the interval misses the true confidence.
    """
    mean = second_order_mean(confidences)
    margin = confidences.variance**0.5 / sqrt(alpha)
    return mean - margin, mean + margin


def rule_confidences(counts: ArrayLike, keep: float) -> Quotients:
    """Estimate the confidence of X ⇒ Y from the reports of surveys, and its error (Guo Result 1).

    Parameters
    ----------
    counts : array_like, shape (…, 2, 2)
        Reports by X (absent, present) and Y in each survey, whole numbers or expected ones.
    keep : float
        Probability that each of the two bits of a report is kept.
    """
    numbers = np.asarray(counts, dtype=np.float64)
    reports = numbers.sum(axis=(-2, -1))
    shares = numbers / reports[..., None, None]
    bit = np.array([keep - 1, keep]) / (2 * keep - 1)
    of_both, of_left = np.outer(bit, bit), bit[:, None] * np.ones(2)

    def mean(weights: Array) -> Array:
        return np.asarray((shares * weights).sum(axis=(-2, -1)))

    both, left = mean(of_both), mean(of_left)
    var_both, var_left, cov = (
        (mean(product) - means) / (reports - 1)
        for product, means in (
            (of_both**2, both**2),
            (of_left**2, left**2),
            (of_both * of_left, both * left),
        )
    )
    return Quotients(both, left, var_both, var_left, cov)


def expected_counts(shares: Array, keep: float, reports: int) -> Array:
    """Return the expected reports of people with true shares, shape (2, 2) both."""
    matrix = np.array([[keep, 1 - keep], [1 - keep, keep]])
    return np.asarray(reports * (matrix @ shares @ matrix.T))
