"""Shares and ratios by a model, with errors on the scale on which they are nearly normal."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy
from halftruth_shared.mechanisms import TableEstimate, Target
from halftruth_shared.mechanisms.reconstruction import Sample

from ..bounds import Array, check_confidence, normal_quantile


class Shares(TableEstimate):
    """Shares of the cells of a table by a model, among everybody or a domain.

    Parameters
    ----------
    attributes : tuple of str
        One for each axis.
    support : ndarray
    gradient : ndarray, shape (cells, p)
        Derivatives of the logarithm of each share by θ, cells in row-major order; 0 where the share
        is 0 because nobody can give these answers.
    parameters : ndarray, shape (p, p)
        Covariance of θ̂.
    reports : int
    """

    def __init__(
        self,
        attributes: tuple[str, ...],
        support: Array,
        gradient: Array,
        parameters: Array,
        reports: int,
    ) -> None:
        self.attributes, self.reports = attributes, reports
        self.gradient, self.parameters = gradient, parameters
        self._support = support

    @property
    def support(self) -> Array:
        return self._support

    @property
    def logit(self) -> bool:
        return True

    @property
    def slopes(self) -> Array:
        """Derivatives of each share by θ, shape (cells, p)."""
        return np.asarray(self.gradient * self.support.reshape(-1, 1))

    @property
    def effective_reports(self) -> Array:
        # By a model every report tells of every cell.
        return np.full(self.support.shape, float(self.reports))

    def known(self, variance: Array, target: Target) -> Array:
        """Variances for a population; a model says nothing of exactly these respondents."""
        return variance if target == "population" else np.full_like(variance, np.nan)

    def samples(self, shares: Array) -> Iterable[Sample]:
        raise NotImplementedError("the reports behind a model have no weights")

    def _variance(self, target: Target) -> Array:
        squares = np.einsum("cp,cp->c", self.slopes @ self.parameters, self.slopes)
        return self.known(np.maximum(squares, 0.0).reshape(self.support.shape), target)

    def _covariance(self, target: Target) -> Array:
        return self.known(self.slopes @ self.parameters @ self.slopes.T, target)


@dataclass(frozen=True)
class Prediction:
    """A share or a ratio with its error.

    Attributes
    ----------
    value : float
    standard_error : float
        Of `value` itself.
    scale : {"logit", "log"}
        On which its interval is normal.
    scale_error : float
        Standard error on that scale.
    """

    value: float
    standard_error: float
    scale: Literal["logit", "log"]
    scale_error: float

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Return the interval with this confidence."""
        check_confidence(confidence)
        width = normal_quantile(1 - confidence) * self.scale_error
        if self.scale == "log":
            return self.value * math.exp(-width), self.value * math.exp(width)
        logit = scipy.special.logit(self.value)
        lower, upper = scipy.special.expit([logit - width, logit + width]).tolist()
        return lower, upper
