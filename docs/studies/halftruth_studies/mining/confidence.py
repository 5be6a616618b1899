"""Mean and interval of the confidence of a rule by Guo's formulas (Results 2 and 3).

The collector has Fieller's sets instead, which hold their level where these do not.
"""

from dataclasses import dataclass
from functools import cached_property
from math import sqrt

import numpy as np
from halftruth_collector.estimation.estimates import Estimates
from halftruth_shared.channels.axes import Array
from halftruth_shared.results import QUANTITIES
from numpy.typing import ArrayLike


@dataclass(frozen=True, eq=False)
class Confidences:
    """Supports of rules, of X and Y together and of X, with their variances and covariance."""

    numerator: Array
    denominator: Array
    var_numerator: Array
    var_denominator: Array
    cov: Array

    @cached_property
    def estimates(self) -> Estimates:
        """The confidences, with Fieller's sets."""
        variances = self.var_numerator, self.var_denominator
        of = QUANTITIES["confidence"]
        return Estimates.quotient(of, self.numerator, self.denominator, variances, self.cov)

    @property
    def value(self) -> Array:
        """The confidences; NaN if the support of X is not positive."""
        return self.estimates.value


def second_order_mean(confidences: Confidences) -> Array:
    """Return the mean of an estimated confidence up to second order (Guo eq. 3.4).

    With u and x as the supports of X and Y together and of X, it is c + (c·var(x) − cov(u, x))/x².
    Guo writes the same with x − u in place of x.

    Examples
    --------
    >>> import numpy as np
    >>> u, x, var_u, var_x, cov = np.array([[0.3], [0.5], [4e-4], [5e-4], [3e-4]])
    >>> mean = second_order_mean(Confidences(u, x, var_u, var_x, cov))
    >>> [round(value, 6) for value in mean.tolist()]
    [0.6]
    """
    c, x = confidences.value, confidences.denominator
    return c + (c * confidences.var_denominator - confidences.cov) / x**2


def chebyshev_interval(confidences: Confidences, alpha: float) -> tuple[Array, Array]:
    """Return the interval E(ĉ) ± sd/√α, which holds for any distribution of ĉ (Guo Result 3).

    Parameters
    ----------
    alpha : float
        Largest probability that the interval misses the true confidence.
    """
    mean = second_order_mean(confidences)
    margin = confidences.estimates.standard_error / sqrt(alpha)
    return mean - margin, mean + margin


def rule_confidences(counts: ArrayLike, keep: float) -> Confidences:
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
    return Confidences(both, left, var_both, var_left, cov)


def expected_counts(shares: Array, keep: float, reports: int) -> Array:
    """Return the expected reports of people with true shares, shape (2, 2) both."""
    matrix = np.array([[keep, 1 - keep], [1 - keep, keep]])
    return np.asarray(reports * (matrix @ shares @ matrix.T))
