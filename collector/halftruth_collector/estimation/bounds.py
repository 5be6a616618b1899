"""Quantiles for intervals, and checks of what analysts ask of them."""

import math
from statistics import NormalDist
from typing import TypeVar

import numpy as np
from halftruth_shared.analyses.base import EstimateQuery
from halftruth_shared.analyses.reading import fields, make
from halftruth_shared.mechanisms.variances import check_target as check_target
from halftruth_shared.protocol.base import Request
from numpy.typing import NDArray

Array = NDArray[np.float64]

Q = TypeVar("Q", bound=Request)


def normal_quantile(alpha: float) -> float:
    """Z such that a normal variable lies outside ±z with this probability.

    Asked by the level α rather than the confidence 1 − α, which loses a small α to rounding.
    """
    return abs(NormalDist().inv_cdf(alpha / 2))


def chebyshev_factor(alpha: float) -> float:
    """1/√α, the half-width in standard deviations that Chebyshev's inequality needs."""
    return 1 / math.sqrt(alpha)


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
