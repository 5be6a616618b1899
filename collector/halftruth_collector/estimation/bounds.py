"""Normal quantiles, significance above zero, and checks of the fields of queries."""

import math
from statistics import NormalDist
from typing import TypeVar

import numpy as np
from halftruth_shared.analyses.base import EstimateQuery
from halftruth_shared.analyses.reading import fields, make
from halftruth_shared.protocol.base import Request
from numpy.typing import NDArray

from .variances import check_target as check_target

Array = NDArray[np.float64]

Q = TypeVar("Q", bound=Request)


def project_to_simplex(values: Array) -> Array:
    """Project values onto the simplex: max(x − t, 0) with the t for which they sum to 1."""
    ordered = np.sort(values, axis=None)[::-1]
    shifts = (np.cumsum(ordered) - 1) / np.arange(1, values.size + 1)
    shift = shifts[np.flatnonzero(ordered > shifts)[-1]]
    return np.asarray(np.maximum(values - shift, 0.0))


def normal_quantile(alpha: float) -> float:
    """Return z such that a standard normal variable is outside ±z with probability α.

    The argument is α rather than 1 − α, because small levels would be lost to rounding.
    """
    return abs(NormalDist().inv_cdf(alpha / 2))


#: Standard errors by which an estimate is significantly above zero, in two-sided tests at 5 %.
SIGNIFICANT = normal_quantile(0.05)

#: Standard errors above zero from which the delta method is accurate for a ratio with an estimated
#: denominator: the neglected terms are about 4 % of the others.
NEARLY_LINEAR = 5

#: Relative rounding error of an estimate of reports without perturbation.
_ROUNDING = 1e-9

#: Explanation for a share below that limit.
TOO_SMALL = "which is less than five standard errors above zero"


def significantly_positive(
    value: Array, error: Array, quantile: float = SIGNIFICANT
) -> NDArray[np.bool_]:
    """Return which estimates are significantly above zero, at level of `quantile` and at 5 %.

    This is Fieller's condition: a ratio with such a denominator has a bounded confidence set. False
    if the error is unknown.
    """
    with np.errstate(invalid="ignore"):
        return np.asarray(value > max(quantile, SIGNIFICANT) * error)


def reaches(values: Array, threshold: float | Array) -> NDArray[np.bool_]:
    """Return which values reach a threshold; one that equals it but for rounding does.

    >>> reaches(np.array([0.05, 0.05 - 1e-15, 0.0499]), 0.05).tolist()
    [True, True, False]
    """
    return np.asarray(values >= np.asarray(threshold) * (1 - _ROUNDING))


def logits(share: Array, error: Array) -> tuple[Array, Array]:
    """Return logits of shares with their standard errors; infinite with error 0 for 0 or 1.

    >>> [values.round(3).tolist() for values in logits(np.array([0.5, 0.2]), np.array([0.1, 0.04]))]
    [[0.0, -1.386], [0.4, 0.25]]
    """
    inside = (share > 0) & (share < 1)
    middle = np.where(inside, share, 0.5)
    logit = np.log(middle / (1 - middle))
    return (
        np.where(inside, logit, np.where(share > 0, np.inf, -np.inf)),
        np.where(inside, error / (middle * (1 - middle)), 0.0),
    )


def check_field(query: type[Request], name: str, value: object) -> None:
    """Raise ParameterError unless a field of a query takes a value."""
    fields(query)[name].checked(value)


def checked(query: Q) -> Q:
    """Return a query after checking the ranges of its fields; raises ParameterError."""
    return make(type(query), {name: getattr(query, name) for name in fields(type(query))})


def check_confidence(confidence: float) -> None:
    """Raise ParameterError unless 0 < confidence < 1."""
    check_field(EstimateQuery, "confidence", confidence)


def optional(value: float) -> float | None:
    """Return a number for a message; None if it is not finite."""
    return value if math.isfinite(value) else None
