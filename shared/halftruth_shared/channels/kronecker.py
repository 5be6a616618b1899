"""Kronecker products of channels."""

import math
from collections.abc import Sequence
from functools import reduce

import numpy as np

from .axes import Array, along_axes, as_table
from .base import Channel, MarginMoments, WeightMoments
from .dense import Dense
from .margins import KroneckerMargins

#: Neighbouring axes are combined up to this many cells, since fewer products take less time.
_MAX_MERGED_CELLS = 32


class Kronecker(Channel):
    """Kronecker product of independent channels, A = A_1 ⊗ … ⊗ A_k, one for each axis.

    It is applied axis by axis, by (A⊗B) vec(X) = vec(B X Aᵀ) (Guo Lemma 3), without building the
    product.

    Parameters
    ----------
    factors : sequence of Channel
        Channel of each axis.
    """

    def __init__(self, factors: Sequence[Channel]) -> None:
        self._factors = tuple(factors)

    @property
    def factors(self) -> tuple[Channel, ...]:
        return self._factors

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(factor.shape[0] for factor in self.factors)

    def margin(self, axes: Sequence[int]) -> "Kronecker":
        return Kronecker([self._factors[axis] for axis in axes])

    @property
    def condition_number(self) -> float:
        return math.prod(factor.condition_number for factor in self.factors)

    def forward(self, x: Array) -> Array:
        return along_axes([factor.forward for factor in self.factors], x, self.shape)

    def solve(self, y: Array) -> Array:
        return along_axes([factor.solve for factor in self.factors], y, self.shape)

    def adjoint(self, y: Array) -> Array:
        return along_axes([factor.adjoint for factor in self.factors], y, self.shape)

    def solve_squared(self, y: Array) -> Array:
        return along_axes([factor.solve_squared for factor in self.factors], y, self.shape)

    def margins(self, y: Array) -> MarginMoments:
        return KroneckerMargins(as_table(y, self.shape), self.factors)

    def merged(self) -> "Kronecker":
        factors: list[Channel] = []
        for factor in self.factors:
            if factors and factors[-1].shape[0] * factor.shape[0] <= _MAX_MERGED_CELLS:
                factors[-1] = Dense(np.kron(factors[-1].dense(), factor.dense()))
            else:
                factors.append(factor)
        return Kronecker(factors)

    def weight_moments(self) -> WeightMoments:
        parts = [factor.weight_moments() for factor in self.factors]
        own = reduce(np.multiply.outer, [part.own for part in parts])
        total = reduce(np.multiply.outer, [part.total for part in parts])
        return WeightMoments(own, total)
