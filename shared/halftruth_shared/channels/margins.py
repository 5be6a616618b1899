"""Margins of a table whose axes are each perturbed by themselves."""

import math
from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from .axes import Array, Places, along_axes, beside, joint_cell, total, with_sum
from .base import Channel, MarginMoments

#: Most cells of a table with the products of all margins.
_PRODUCT_CELLS = 2**19


class KroneckerMargins(MarginMoments):
    """A weight is a product over the axes, and 1 for an axis that a margin sums over."""

    def __init__(self, y: Array, factors: Sequence[Channel]) -> None:
        self._y, self._factors = y, factors
        self.support = along_axes([with_sum(factor.solve) for factor in factors], y, y.shape)
        self.second_moment = along_axes(
            [with_sum(factor.solve_squared) for factor in factors], y, y.shape
        )

    def product(self, first: Places, second: Places) -> Array:
        named = joint_cell(first, second, self.support.shape)
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
