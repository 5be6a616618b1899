"""Shares and ratios by a model, with errors on the scale on which they are nearly normal."""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy

from ..bounds import Array, check_confidence, normal_quantile


@dataclass(frozen=True, eq=False)
class Shares:
    """Estimated shares of the cells of a table, among everybody or a domain.

    Attributes
    ----------
    attributes : tuple of str
        One for each axis.
    support : ndarray
    gradient : ndarray, shape (cells, p)
        Derivatives of the logarithm of each share by θ, cells in row-major order; 0 where the share
        is 0 because nobody can give these answers.
    parameters : ndarray, shape (p, p)
        Covariance of θ̂.
    """

    attributes: tuple[str, ...]
    support: Array
    gradient: Array
    parameters: Array

    def covariance(self) -> Array:
        """Covariance of the shares, shape (cells, cells), cells in row-major order."""
        slopes = self.gradient * self.support.reshape(-1, 1)
        return np.asarray(slopes @ self.parameters @ slopes.T)

    def variance(self) -> Array:
        """Variance of each share, shape of `support`."""
        return self._relative_variance() * self.support**2

    def standard_error(self) -> Array:
        """Standard error of each share, shape of `support`."""
        return np.asarray(np.sqrt(self.variance()))

    def interval(self, confidence: float = 0.95) -> tuple[Array, Array]:
        """Interval of each share, normal on the logit scale and so inside of 0 to 1.

        Returns
        -------
        lower, upper : ndarray, shape of `support`
        """
        check_confidence(confidence)
        inside = (self.support > 0) & (self.support < 1)
        rest = np.where(inside, 1 - self.support, 1.0)
        width = normal_quantile(1 - confidence) * np.sqrt(self._relative_variance()) / rest
        logit = scipy.special.logit(self.support)
        lower, upper = (scipy.special.expit(logit + sign * width) for sign in (-1, 1))
        return np.where(inside, lower, self.support), np.where(inside, upper, self.support)

    def _relative_variance(self) -> Array:
        squares = np.einsum("cp,cp->c", self.gradient @ self.parameters, self.gradient)
        return np.asarray(np.maximum(squares, 0.0).reshape(self.support.shape))


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
