"""Confidence of a rule, a ratio of two estimates (Guo Results 2, 3)."""

from dataclasses import dataclass

import numpy as np

from .bounds import Array

#: Standard errors by which an antecedent's support must exceed 0 for its rules to have bounds; the
#: terms that the second-order formulas leave out are then about a twenty-fifth of those they keep.
CLEARLY = 5


@dataclass(frozen=True)
class ConfidenceMoments:
    """Second-order mean and variance of an estimated confidence, elementwise."""

    estimate: Array
    mean: Array
    variance: Array


def confidence_moments(
    both: Array, left: Array, var_both: Array, var_left: Array, cov: Array
) -> ConfidenceMoments:
    """Moments of ĉ = a/(a+b), the confidence of X ⇒ Y (Guo Results 2, 3).

    Parameters
    ----------
    both : ndarray
        a, the estimated support of X and Y together.
    left : ndarray
        a + b, the estimated support of X.
    var_both, var_left, cov : ndarray
        Variances of these two estimates and their covariance.

    Returns
    -------
    ConfidenceMoments
        The estimate is NaN where the support of X is not above 0, so that no confidence is
        defined. Mean and variance are NaN where it is not *clearly* above 0, that is, by at least
        `CLEARLY` standard errors: these series in the relative error of X say nothing then.
    """
    left = np.where(left > 0, left, np.nan)
    # A variance of 0 says that all reports weigh the same, and nothing of its true size.
    clear = (left**2 >= CLEARLY**2 * var_left) & (var_left >= 0) & (var_both > 0)
    a, b = both, left - both
    var_a = var_both
    var_b = var_left + var_both - 2 * cov
    cov_ab = cov - var_both
    mean = a / left + (a * var_b - b * var_a + (a - b) * cov_ab) / left**3
    variance = (b * b * var_a + a * a * var_b - 2 * a * b * cov_ab) / left**4
    return ConfidenceMoments(
        a / left,
        np.where(clear, mean, np.nan),
        np.where(clear & (variance >= 0), variance, np.nan),
    )
