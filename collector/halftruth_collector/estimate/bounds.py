"""Variances, intervals and decisions from the moments of a reconstruction.

Every estimate ŝ is a mean over the reports of one weight each, a row of the inverse channel. With
m = mean of the squared weights, N − 1 times its variance is m − ŝ² where the respondents are a
sample of a population (Guo Result 1, Σ1 + Σ2), and m − ŝ where exactly these respondents are
described (Σ2 alone; FRAPP eq. 10).
"""

import math
from numbers import Real
from statistics import NormalDist
from typing import get_args

import numpy as np
from halftruth_shared import ParameterError
from halftruth_shared.messages import Target
from numpy.typing import NDArray

Array = NDArray[np.float64]

#: Below this share of the second moment, a variance is nothing but rounding.
_ROUNDING = 1e-12


def normal_quantile(doubt: float) -> float:
    """Z such that a normal variable lies outside ±z with this probability.

    Asked by the doubt α rather than the confidence 1 − α, which loses a small α to rounding.
    """
    return abs(NormalDist().inv_cdf(doubt / 2))


def chebyshev_factor(doubt: float) -> float:
    """1/√α, the half-width in standard deviations that Chebyshev's inequality needs."""
    return 1 / math.sqrt(doubt)


def check_confidence(confidence: float) -> None:
    """Raise ParameterError unless 0 < confidence < 1."""
    if not isinstance(confidence, Real) or not 0 < confidence < 1:
        raise ParameterError(
            "confidence: expected a number above 0 and below 1, such as 0.95", field="confidence"
        )


def check_target(target: str) -> None:
    """Raise ParameterError unless the target is one of the two."""
    if target not in get_args(Target):
        raise ParameterError("target: expected population or respondents", field="target")


def covariance(
    product: Array, first: Array, second: Array, common: Array, reports: int, target: Target
) -> Array:
    """Covariance of two estimated supports.

    Parameters
    ----------
    product : ndarray
        Mean over the reports of the product of their two weights.
    first, second : ndarray
        The two estimates.
    common : ndarray
        Estimated share of the records that both count.
    reports : int
        N.
    target : {"population", "respondents"}

    Returns
    -------
    ndarray
        NaN where N < 2.
    """
    check_target(target)
    if reports < 2:
        return np.full(np.shape(product), np.nan)
    subtracted = first * second if target == "population" else common
    return np.asarray((product - subtracted) / (reports - 1))


def variance(second_moment: Array, estimate: Array, reports: int, target: Target) -> Array:
    """Variance of estimates, NaN where these reports do not determine one.

    That is so for fewer than two reports; where the variance for *population* is 0, because all
    reports weigh the same and so say nothing of its size; and where it is negative, which the
    one for *respondents* can be when reports are few.
    """
    result = covariance(second_moment, estimate, estimate, estimate, reports, target)
    rounding = _ROUNDING * second_moment / max(reports - 1, 1)
    if target == "population":
        return np.where(result > rounding, result, np.nan)
    return np.where(result < -rounding, np.nan, np.maximum(result, 0.0))


def optional(value: float) -> float | None:
    """A number for a message, None where it is undefined."""
    return value if math.isfinite(value) else None
