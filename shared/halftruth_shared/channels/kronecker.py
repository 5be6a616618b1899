"""Kronecker products of channels."""

import math
from collections.abc import Sequence
from functools import cached_property, reduce

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .axes import Array, Places, along_axes, as_table, beside, together, total, with_sum
from .base import Channel, MarginMoments, WeightMoments
from .dense import Dense
from .distortion import Distortion

#: Most cells of a table with the products of all margins.
_PRODUCT_CELLS = 2**19

#: Neighbouring axes are multiplied out up to this many cells: fewer products take less time.
_MERGED = 32


class Kronecker(Channel):
    """Kronecker product of independent channels, A = A_1 ⊗ … ⊗ A_k, each on one axis of its own.

    Applied axis by axis by (A⊗B) vec(X) = vec(B X Aᵀ) (Guo Lemma 3): the product is never built.

    Parameters
    ----------
    factors : sequence of Channel
        The channel of each axis, from one axis to one axis.
    """

    def __init__(self, factors: Sequence[Channel]) -> None:
        self.factors = tuple(factors)

    @property
    def input_shape(self) -> tuple[int, ...]:
        return tuple(factor.input_shape[0] for factor in self.factors)

    @property
    def output_shape(self) -> tuple[int, ...]:
        return tuple(factor.output_shape[0] for factor in self.factors)

    @property
    def condition_number(self) -> float:
        return math.prod(factor.condition_number for factor in self.factors)

    def forward(self, x: ArrayLike) -> Array:
        return along_axes([factor.forward for factor in self.factors], x, self.input_shape)

    def solve(self, y: ArrayLike) -> Array:
        return along_axes([factor.solve for factor in self.factors], y, self.output_shape)

    def adjoint(self, y: ArrayLike) -> Array:
        return along_axes([factor.adjoint for factor in self.factors], y, self.output_shape)

    def solve_squared(self, y: ArrayLike) -> Array:
        return along_axes([factor.solve_squared for factor in self.factors], y, self.output_shape)

    def margins(self, y: ArrayLike) -> MarginMoments:
        return _KroneckerMargins(as_table(y, self.output_shape), self.factors)

    def merged(self) -> "Kronecker":
        factors: list[Channel] = []
        for factor in self.factors:
            size = factor.input_shape[0]
            if factors and factors[-1].input_shape[0] * size <= _MERGED:
                together = np.kron(factors[-1].dense(), factor.dense())
                factors[-1] = Dense(together, (len(together),))
            else:
                factors.append(factor)
        if all(factor.input_shape[0] <= _MERGED for factor in factors):
            return _SmallFactors(factors)
        return Kronecker(factors)

    @property
    def by_axis(self) -> tuple[Channel, ...]:
        return self.factors

    def distortions(self, categories: Sequence[int | None]) -> tuple[Distortion, ...] | None:
        distortions: list[Distortion] = []
        for factor, category in zip(self.factors, categories, strict=True):
            distortions.extend(factor.distortions([category]) or ())
        return tuple(distortions)

    def weight_moments(self) -> WeightMoments:
        parts = [factor.weight_moments() for factor in self.factors]
        own = reduce(np.multiply.outer, [part.own for part in parts])
        total = reduce(np.multiply.outer, [part.total for part in parts])
        # Another record differs in at least one attribute, and elsewhere as it likes.
        others = [
            reduce(
                np.multiply.outer,
                [
                    part.largest_other
                    if other is part
                    else np.maximum(other.own, other.largest_other)
                    for other in parts
                ],
            )
            for part in parts
        ]
        return WeightMoments(own, np.max(others, axis=0), total)


class _SmallFactors(Kronecker):
    """Kronecker product with explicit matrices, for thousands of products of single tables."""

    def __init__(self, factors: Sequence[Channel]) -> None:
        super().__init__(factors)
        matrices = [factor.dense() for factor in factors]
        self._transposed = [np.ascontiguousarray(matrix.T) for matrix in matrices]
        self._matrices = matrices

    def forward(self, x: ArrayLike) -> Array:
        return self._multiply(self._transposed, x)

    def adjoint(self, y: ArrayLike) -> Array:
        return self._multiply(self._matrices, y)

    def _multiply(self, matrices: Sequence[Array], x: ArrayLike) -> Array:
        """Each product brings the first axis to the end, until all are in their places."""
        table = as_table(x, self.input_shape)
        if table.ndim > len(matrices):
            return along_axes([matrix.__rmatmul__ for matrix in matrices], x, self.input_shape)
        for matrix in matrices:
            table = table.reshape(len(matrix), -1).T @ matrix
        return table.reshape(self.input_shape)


class _KroneckerMargins(MarginMoments):
    """A weight is a product over the axes, and 1 for an axis that a margin sums over."""

    def __init__(self, y: Array, factors: tuple[Channel, ...]) -> None:
        self._y, self._factors = y, factors
        self.support = along_axes([with_sum(factor.solve) for factor in factors], y, y.shape)
        self.second_moment = along_axes(
            [with_sum(factor.solve_squared) for factor in factors], y, y.shape
        )

    def product(self, first: Places, second: Places) -> Array:
        named = together(first, second, self.support.shape)
        shape = np.array(self._y.shape)
        both, neither = (first < shape) & (second < shape), named == shape
        if math.prod(2 * shape + 1) <= _PRODUCT_CELLS:
            # Places of one cell alone come behind those of both.
            return np.asarray(self._products[tuple(np.where(both, named, named + shape).T)])
        return self._products_by_pattern(named, both, neither)

    @cached_property
    def _products(self) -> Array:
        """Shape (2·d_1 + 1, …): axis by axis a category of both cells, of one, or of neither."""
        steps = [beside(factor.solve_squared, with_sum(factor.solve)) for factor in self._factors]
        return along_axes(steps, self._y, self._y.shape)

    def _products_by_pattern(
        self, named: Places, both: NDArray[np.bool_], neither: NDArray[np.bool_]
    ) -> Array:
        """Products for large tables, one pattern of axes after the other."""
        products = np.empty(len(named))
        patterns, group = np.unique(both + 2 * neither.astype(int), axis=0, return_inverse=True)
        for number, pattern in enumerate(patterns.tolist()):
            steps = [
                (factor.solve, factor.solve_squared, total)[kind]
                for factor, kind in zip(self._factors, pattern, strict=True)
            ]
            chosen = group.reshape(-1) == number
            places = np.where(neither[chosen], 0, named[chosen])
            products[chosen] = along_axes(steps, self._y, self._y.shape)[tuple(places.T)]
        return products
