"""A matrix given whole."""

import math
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from .axes import Array, Places, along_axes, as_table, same, together, with_sum
from .base import Channel, MarginMoments, WeightMoments


class Dense(Channel):
    """Any invertible matrix, given whole.

    Parameters
    ----------
    matrix : array_like, shape (cells, cells)
        Column-stochastic; cells in row-major order.
    shape : tuple of int
        Shape of the tables whose cells these are.
    """

    def __init__(self, matrix: ArrayLike, shape: tuple[int, ...]) -> None:
        self._matrix: Array = np.array(matrix, dtype=np.float64)
        self._shape = shape
        if self._matrix.shape != (math.prod(shape), math.prod(shape)):
            raise ValueError("matrix: expected one row and one column for each cell")

    @property
    def input_shape(self) -> tuple[int, ...]:
        return self._shape

    @property
    def output_shape(self) -> tuple[int, ...]:
        return self._shape

    @cached_property
    def condition_number(self) -> float:
        singular = np.linalg.svd(self._matrix, compute_uv=False)
        return float(singular[0] / singular[-1]) if singular[-1] > 0 else math.inf

    @cached_property
    def _inverse(self) -> Array:
        return np.asarray(np.linalg.inv(self._matrix), dtype=np.float64)

    def _apply(self, matrix: Array, x: ArrayLike) -> Array:
        table = as_table(x, self._shape)
        if len(self._shape) == 1:
            return np.asarray(table @ matrix.T)
        return (table.reshape(-1, len(matrix)) @ matrix.T).reshape(table.shape)

    def forward(self, x: ArrayLike) -> Array:
        return self._apply(self._matrix, x)

    def solve(self, y: ArrayLike) -> Array:
        return self._apply(self._inverse, y)

    def adjoint(self, y: ArrayLike) -> Array:
        return self._apply(self._matrix.T, y)

    def solve_squared(self, y: ArrayLike) -> Array:
        return self._apply(self._inverse**2, y)

    def margins(self, y: ArrayLike) -> MarginMoments:
        return _DenseMargins(as_table(y, self._shape), self._inverse)

    def weight_moments(self) -> WeightMoments:
        moments = self._inverse**2 @ self._matrix
        own, total = np.diag(moments).copy(), moments.sum(axis=1)
        np.fill_diagonal(moments, 0.0)
        values = (own, moments.max(axis=1), total)
        return WeightMoments(*(value.reshape(self._shape) for value in values))


class _DenseMargins(MarginMoments):
    """The weights for every cell of every margin, one row for each."""

    def __init__(self, y: Array, inverse: Array) -> None:
        self._observed = y.ravel()
        steps = [with_sum(same)] * y.ndim
        self._weights = np.moveaxis(
            along_axes(steps, inverse.T.reshape(-1, *y.shape), y.shape), 0, -1
        )
        self.support = self._weights @ self._observed
        self.second_moment = self._weights**2 @ self._observed

    def product(self, first: Places, second: Places) -> Array:
        together(first, second, self.support.shape)
        weights = self._weights
        return np.asarray((weights[tuple(first.T)] * weights[tuple(second.T)]) @ self._observed)
