"""Values with their exact gradients, carried through arithmetic (forward-mode differentiation).

The delta method needs the gradient of a measure in the cells of a table. A measure written in
plain arithmetic on jets yields both at once, without finite differences.

Measures that are 0 at independence and never negative are corrected to second order.
Near independence such a measure g is a quadratic form of the departures of the estimates: its
gradient vanishes, it has the bias b = ½ tr(H V), with H its second derivative and V the covariance
of the table, and its variance is ∇ᵀV∇ + ½ tr((H V)²). So the estimate is g − b, truncated at 0. Its
interval contains every value θ within z standard errors of the estimate. The squared standard error
at θ is ½ tr((H V)²) + κθ with κ = ∇ᵀV∇/g, since ∇ᵀV∇ grows with θ as g does. At θ = 0 the estimate
is a centred weighted χ², and 95 % intervals exclude 0 in about 5 % of surveys.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .bounds import Array, significantly_positive

#: Negative variances down to minus this value are rounding errors of 0.
_ROUNDING = 1e-15


@dataclass(frozen=True, eq=False)
class Jet:
    """An array of values, each with its gradient in n variables (the last axis)."""

    value: Array
    gradient: Array

    @classmethod
    def variables(cls, values: Array) -> "Jet":
        """Return an array whose entries, in row-major order, are the variables."""
        return cls(values, np.eye(values.size).reshape(*values.shape, values.size))

    def standard_error(self, covariance: Array) -> Array:
        """Return the errors by the delta method; NaN where unknown.

        The covariance of the variables has the shape (n, n), or such a matrix for each value.
        """
        with np.errstate(invalid="ignore", over="ignore"):
            through = (self.gradient[..., None, :] @ covariance)[..., 0, :]
            variance = (through * self.gradient).sum(axis=-1)
            known = ~np.isnan(self.value) & (variance >= -_ROUNDING)
            error = np.sqrt(np.where(known, np.maximum(variance, 0.0), np.nan))
        return np.where(np.isfinite(error), error, np.nan)

    def clear(self, covariance: Array, quantile: float) -> NDArray[np.bool_]:
        """Return which values are significantly above zero."""
        return significantly_positive(self.value, self.standard_error(covariance), quantile)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the values."""
        return self.value.shape

    @classmethod
    def stack(cls, jets: "Sequence[Jet]") -> "Jet":
        """Stack jets as columns, with one value of each jet in a row."""
        values, gradients = ([getattr(j, name) for j in jets] for name in ("value", "gradient"))
        return cls(np.stack(values, axis=1), np.stack(gradients, axis=1))

    def __getitem__(self, index: Any) -> "Jet":
        at = index if isinstance(index, tuple) else (index,)
        return Jet(np.asarray(self.value[at]), self.gradient[at])

    def sum(self, *axes: int) -> "Jet":
        """Sum over some axes, by default over all; each summed axis is kept with length 1."""
        chosen = axes or tuple(range(self.value.ndim))
        value = self.value.sum(axis=chosen, keepdims=True)
        return Jet(value, self.gradient.sum(axis=chosen, keepdims=True))

    def cumsum(self, axis: int) -> "Jet":
        """Cumulative sum along an axis."""
        return Jet(self.value.cumsum(axis=axis), self.gradient.cumsum(axis=axis))

    def _chain(self, value: Array, slope: Array) -> "Jet":
        return Jet(value, slope[..., None] * self.gradient)

    def __neg__(self) -> "Jet":
        return Jet(-self.value, -self.gradient)

    def __add__(self, other: "Jet | float") -> "Jet":
        if isinstance(other, Jet):
            return Jet(self.value + other.value, self.gradient + other.gradient)
        return Jet(self.value + other, self.gradient)

    def __sub__(self, other: "Jet | float") -> "Jet":
        return self + (-other)

    def __mul__(self, other: "Jet | float | Array") -> "Jet":
        if isinstance(other, Jet):
            gradient = self.value[..., None] * other.gradient
            return Jet(self.value * other.value, gradient + other.value[..., None] * self.gradient)
        return Jet(self.value * other, self.gradient * np.asarray(other)[..., None])

    def __truediv__(self, other: "Jet | float") -> "Jet":
        if isinstance(other, Jet):
            return self * other._chain(1 / other.value, -1 / other.value**2)
        return self * (1 / other)

    __radd__ = __add__
    __rmul__ = __mul__

    def __rsub__(self, other: float) -> "Jet":
        return -self + other

    def __rtruediv__(self, other: float) -> "Jet":
        return self._chain(other / self.value, -other / self.value**2)

    def __pow__(self, exponent: float) -> "Jet":
        value = self.value**exponent
        return self._chain(value, exponent * self.value ** (exponent - 1))

    def positive(self) -> "Jet":
        """Replace values that are not positive, which cannot be divisors, by NaN."""
        return Jet(np.where(self.value > 0, self.value, np.nan), self.gradient)

    def log(self) -> "Jet":
        """Natural logarithm."""
        return self._chain(np.log(self.value), 1 / self.value)

    def entropy_terms(self, reference: "Jet | None" = None) -> "Jet":
        """X ln x, or x ln(x/reference); 0 where x is 0, with an infinite gradient there."""
        ratio = self if reference is None else self / reference
        product = self * ratio.log()
        return Jet(np.where(self.value == 0, 0.0, product.value), product.gradient)


@dataclass(frozen=True, eq=False)
class SecondOrder:
    """Measures of R tables as columns, NaN where undefined.

    `plain` is g of the estimated tables, `bias` is b, `growth` is κ, and `least` is ½ tr((H V)²),
    the variance at independence.
    """

    plain: Array
    bias: Array
    growth: Array
    least: Array

    @classmethod
    def of(cls, plain: Jet, slopes: Jet, covariance: Array) -> "SecondOrder":
        """Compute the correction from the measure, its gradient, and the product H V.

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
        """The measure corrected for bias; NaN if the bias is undefined."""
        return np.maximum(self.plain - self.bias, 0.0)

    @property
    def standard_error(self) -> Array:
        """Standard error at the estimate."""
        return np.sqrt(self.least + self.growth * self.value)

    def interval(self, quantile: float) -> tuple[Array, Array]:
        """Return the interval of values within `quantile` standard errors of the estimate."""
        middle = self.value + quantile**2 * self.growth / 2
        half_width = np.sqrt(middle**2 - self.value**2 + quantile**2 * self.least)
        return np.maximum(middle - half_width, 0.0), middle + half_width
