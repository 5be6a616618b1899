"""Quantiles for intervals, and checks of what analysts ask of them."""

import math
from numbers import Real
from statistics import NormalDist
from typing import get_args

import numpy as np
from halftruth_shared import ParameterError
from halftruth_shared.analyses.base import Target
from numpy.typing import NDArray

Array = NDArray[np.float64]


def normal_quantile(alpha: float) -> float:
    """Z such that a normal variable lies outside ±z with this probability.

    Asked by the level α rather than the confidence 1 − α, which loses a small α to rounding.
    """
    return abs(NormalDist().inv_cdf(alpha / 2))


def chebyshev_factor(alpha: float) -> float:
    """1/√α, the half-width in standard deviations that Chebyshev's inequality needs."""
    return 1 / math.sqrt(alpha)


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


def optional(value: float) -> float | None:
    """A number for a message, None where it is undefined."""
    return value if math.isfinite(value) else None
