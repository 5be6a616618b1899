"""A matrix given whole."""

import math
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from .axes import Array, as_table
from .base import Channel, MarginMoments, WeightMoments
from .margins import KroneckerMargins


class Dense(Channel):
    """Any invertible matrix for one attribute, given whole.

    Parameters
    ----------
    matrix : array_like, shape (d, d)
        Column-stochastic.
    """

    def __init__(self, matrix: ArrayLike) -> None:
        self._matrix: Array = np.array(matrix, dtype=np.float64)
        if self._matrix.ndim != 2 or len(self._matrix) != len(self._matrix.T):
            raise ValueError("matrix: expected as many rows as columns")

    @property
    def shape(self) -> tuple[int, ...]:
        return (len(self._matrix),)

    @cached_property
    def condition_number(self) -> float:
        singular = np.linalg.svd(self._matrix, compute_uv=False)
        return float(singular[0] / singular[-1]) if singular[-1] > 0 else math.inf

    @cached_property
    def _inverse(self) -> Array:
        return np.asarray(np.linalg.inv(self._matrix), dtype=np.float64)

    def forward(self, x: ArrayLike) -> Array:
        return as_table(x, self.shape) @ self._matrix.T

    def solve(self, y: ArrayLike) -> Array:
        return as_table(y, self.shape) @ self._inverse.T

    def adjoint(self, y: ArrayLike) -> Array:
        return as_table(y, self.shape) @ self._matrix

    def solve_squared(self, y: ArrayLike) -> Array:
        return as_table(y, self.shape) @ self._inverse.T**2

    def margins(self, y: ArrayLike) -> MarginMoments:
        return KroneckerMargins(as_table(y, self.shape), [self])

    def weight_moments(self) -> WeightMoments:
        moments = self._inverse**2 @ self._matrix
        own, total = np.diag(moments).copy(), moments.sum(axis=1)
        np.fill_diagonal(moments, 0.0)
        return WeightMoments(own, moments.max(axis=1), total)
