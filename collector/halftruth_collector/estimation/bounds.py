"""Quantiles for intervals, and checks of what analysts ask of them."""

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


def normal_quantile(alpha: float) -> float:
    """Z such that a normal variable lies outside ±z with this probability.

    Asked by the level α rather than the confidence 1 − α, which loses a small α to rounding.
    """
    return abs(NormalDist().inv_cdf(alpha / 2))


#: Standard errors by which an estimate is significantly above zero, in two-sided tests at 5 %.
SIGNIFICANT = normal_quantile(0.05)

#: Standard errors above zero from which on what is divided by an estimate is nearly linear in it,
#: so that errors by the delta method hold; the terms that these leave out are then about a
#: twenty-fifth of those they keep.
NEARLY_LINEAR = 5

#: What is said of a share that is not.
TOO_SMALL = "which is less than five standard errors above zero"


def significantly_positive(
    value: Array, error: Array, quantile: float = SIGNIFICANT
) -> NDArray[np.bool_]:
    """Return which estimates are significantly above zero, by z standard errors and at 5 %.

    That is Fieller's condition: a ratio with such a denominator has a bounded confidence set. False
    where the error is not known.
    """
    with np.errstate(invalid="ignore"):
        return np.asarray(value > max(quantile, SIGNIFICANT) * error)


def logits(share: Array, error: Array) -> tuple[Array, Array]:
    """Logits of shares with their standard errors; infinite and exact for a share of 0 or 1.

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
    """A query whose fields are in their ranges; ParameterError where one is not."""
    return make(type(query), {name: getattr(query, name) for name in fields(type(query))})


def check_confidence(confidence: float) -> None:
    """Raise ParameterError unless 0 < confidence < 1."""
    check_field(EstimateQuery, "confidence", confidence)


def optional(value: float) -> float | None:
    """A number for a message, None where it is undefined."""
    return value if math.isfinite(value) else None
