"""Measures that are 0 at independence and never negative, corrected to second order.

Near independence such a measure g is a quadratic form of what the estimates depart by: its gradient
vanishes, it comes out too large by b = ½ tr(H V), with H its second derivative and V the covariance
of the table, and it varies by ½ tr((H V)²) besides ∇ᵀV∇. So g − b is given, cut at 0, and its
interval has every value θ from which it is at most z standard errors away. The squares of these are
½ tr((H V)²) + κθ with κ = ∇ᵀV∇/g, since ∇ᵀV∇ grows with θ as g does; at θ = 0 an estimate is then a
centred weighted χ², and 0 is left out in about 5 % of surveys at 95 %.
"""

from dataclasses import dataclass

import numpy as np

from .bounds import Array
from .jets import Jet


@dataclass(frozen=True, eq=False)
class SecondOrder:
    """Measures of R tables as columns, NaN where undefined.

    Attributes
    ----------
    plain : ndarray, shape (R,)
        g of the estimated tables.
    bias : ndarray, shape (R,)
        b.
    growth : ndarray, shape (R,)
        κ.
    least : ndarray, shape (R,)
        ½ tr((H V)²), the variance at independence.
    """

    plain: Array
    bias: Array
    growth: Array
    least: Array

    @classmethod
    def of(cls, plain: Jet, slopes: Jet, covariance: Array) -> "SecondOrder":
        """From the measure, and its gradient with what that changes by along the columns of V.

        Parameters
        ----------
        plain : Jet
            g, with its gradient in the variables of `covariance`.
        slopes : Jet, shape (cells…, R)
            ∇g, with H V in the place of its gradient.
        covariance : ndarray, shape (R, variables, variables)
        """
        value = plain.value.reshape(-1)
        first = plain.standard_error(covariance).reshape(-1) ** 2
        cells = slopes.gradient.shape[-1]
        change = slopes.gradient.reshape(cells, len(value), cells).swapaxes(0, 1)
        bias = np.trace(change, axis1=1, axis2=2) / 2
        least = (change * change.swapaxes(1, 2)).sum(axis=(1, 2)) / 2
        growth = np.where(value > 0, first / np.where(value > 0, value, 1), 0.0)
        return cls(value, bias, growth, np.where(least >= 0, least, np.nan))

    @property
    def value(self) -> Array:
        """Corrected for bias; undefined where that is."""
        return np.maximum(self.plain - self.bias, 0.0)

    @property
    def standard_error(self) -> Array:
        """If the truth is as estimated."""
        return np.sqrt(self.least + self.growth * self.value)

    def interval(self, quantile: float) -> tuple[Array, Array]:
        """Every value that is so many standard errors away at most."""
        middle = self.value + quantile**2 * self.growth / 2
        half_width = np.sqrt(middle**2 - self.value**2 + quantile**2 * self.least)
        return np.maximum(middle - half_width, 0.0), middle + half_width
