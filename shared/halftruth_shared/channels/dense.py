"""Channels with an arbitrary dense matrix."""

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from .axes import Array, as_table
from .base import Channel, MarginMoments, WeightMoments
from .margins import KroneckerMargins


class Dense(Channel):
    """Channel of one attribute with an arbitrary invertible matrix.

    Parameters
    ----------
    matrix : array_like, shape (d, d)
        Column-stochastic matrix.
    """

    def __init__(self, matrix: Any) -> None:
        if any(np.shape(row) != (len(matrix),) for row in matrix):
            raise ValueError("matrix: expected as many rows as columns")
        self._entries = matrix

    @cached_property
    def _matrix(self) -> Array:
        return np.array(self._entries, dtype=np.float64)

    def margin(self, axes: Sequence[int]) -> "Dense":
        return self

    @property
    def shape(self) -> tuple[int, ...]:
        return (len(self._entries),)

    @cached_property
    def condition_number(self) -> float:
        singular = np.linalg.svd(self._matrix, compute_uv=False)
        return float(singular[0] / singular[-1]) if singular[-1] > 0 else math.inf

    @cached_property
    def _inverse(self) -> Array:
        return np.asarray(np.linalg.inv(self._matrix), dtype=np.float64)

    def forward(self, x: Array) -> Array:
        return as_table(x, self.shape) @ self._matrix.T

    def solve(self, y: Array) -> Array:
        return as_table(y, self.shape) @ self._inverse.T

    def adjoint(self, y: Array) -> Array:
        return as_table(y, self.shape) @ self._matrix

    def solve_squared(self, y: Array) -> Array:
        return as_table(y, self.shape) @ self._inverse.T**2

    def margins(self, y: Array) -> MarginMoments:
        return KroneckerMargins(as_table(y, self.shape), [self])

    def weight_moments(self) -> WeightMoments:
        moments = self._inverse**2 @ self._matrix
        return WeightMoments(np.diag(moments).copy(), moments.sum(axis=1))
