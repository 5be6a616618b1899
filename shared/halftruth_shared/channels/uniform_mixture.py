"""Channels that keep a cell or draw one uniformly."""

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property, reduce

import numpy as np

from .axes import Array, Places, along_axes, append_sum, as_table, joint_cell, same
from .base import Channel, MarginMoments, WeightMoments


class UniformMixture(Channel):
    """Keep the cell with probability p, else draw any cell uniformly: A = p·I + (1−p)/n·J.

    This is the gamma-diagonal matrix and its restriction to any subset of attributes (FRAPP eq.
    17, 40), and for a single attribute also randomized response.

    Parameters
    ----------
    shape : tuple of int
        Shape of the table.
    keep : Fraction or float
        p, above 0 and at most 1.
    """

    def __init__(self, shape: tuple[int, ...], keep: Fraction | float) -> None:
        if not 0 < keep <= 1:
            raise ValueError("keep: expected a probability above 0 and at most 1")
        self._shape = shape
        self._axes = tuple(range(-len(shape), 0))
        self._cells = math.prod(shape)
        self._exact = keep
        self.keep = float(keep)

    @cached_property
    def spread(self) -> float:
        """Probability of each cell in the uniform draws, (1−p)/n."""
        return float(1 - self._exact) / self._cells

    @property
    def shape(self) -> tuple[int, ...]:
        return self._shape

    def margin(self, axes: Sequence[int]) -> "UniformMixture":
        return UniformMixture(tuple([self._shape[axis] for axis in axes]), self._exact)

    @property
    def condition_number(self) -> float:
        return 1 / self.keep if self._cells > 1 else 1.0

    def _total(self, x: Array) -> Array:
        return np.asarray(np.add.reduce(x, axis=self._axes, keepdims=True))

    def forward(self, x: Array) -> Array:
        x = as_table(x, self._shape)
        return self.keep * x + self.spread * self._total(x)

    def solve(self, y: Array) -> Array:
        y = as_table(y, self._shape)
        return (y - self.spread * self._total(y)) / self.keep

    def adjoint(self, y: Array) -> Array:
        return self.forward(y)

    def solve_squared(self, y: Array) -> Array:
        # W[u,v] = (δ − c)/p, with δ = 1 where u = v.
        y = as_table(y, self._shape)
        c = self.spread
        return ((1 - 2 * c) * y + c * c * self._total(y)) / self.keep**2

    def margins(self, y: Array) -> MarginMoments:
        return _MixtureMargins(as_table(y, self._shape), self.keep, self.spread * self._cells)

    def weight_moments(self) -> WeightMoments:
        n, p, c = self._cells, self.keep, self.spread
        same, different = ((1 - c) / p) ** 2, (c / p) ** 2
        own = same * (p + c) + (n - 1) * different * c
        other = same * c + different * (p + c) + (n - 2) * different * c if n > 1 else 0.0
        values = (own, own + (n - 1) * other)
        return WeightMoments(*(np.full(self._shape, value) for value in values))


class _MixtureMargins(MarginMoments):
    """Moments of the margins of a mixture, mixtures with the same p (FRAPP eq. 40)."""

    def __init__(self, y: Array, keep: float, spread: float) -> None:
        self._keep = keep
        self._observed = along_axes([append_sum(same)] * y.ndim, y, y.shape)
        shares = [np.append(np.full(size, 1 / size), 1.0) for size in y.shape]
        #: c of the channel of each margin.
        self._spread: Array = spread * reduce(np.multiply.outer, shares)
        self._total = self._observed[(-1,) * y.ndim]
        c = self._spread
        self.support = (self._observed - c * self._total) / keep
        self.second_moment = ((1 - 2 * c) * self._observed + c**2 * self._total) / keep**2

    def product(self, first: Places, second: Places) -> Array:
        named = joint_cell(first, second, self.support.shape)
        a, b = tuple(first.T), tuple(second.T)
        both = self._observed[tuple(named.T)]
        either = self._spread[b] * self._observed[a] + self._spread[a] * self._observed[b]
        neither = self._spread[a] * self._spread[b] * self._total
        return np.asarray((both - either + neither) / self._keep**2)
