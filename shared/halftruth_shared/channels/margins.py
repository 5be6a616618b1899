"""Moments of the margins of a table whose axes are perturbed independently."""

import math
from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from .axes import Array, Places, along_axes, append_sum, concatenate_steps, joint_cell, total
from .base import Channel, MarginMoments

#: Largest number of cells of a table with the products of all margins.
_PRODUCT_CELLS = 2**19


class KroneckerMargins(MarginMoments):
    """Moments of the margins of a Kronecker product.

    A weight is a product over the axes, with the factor 1 for an axis that the margin sums over.
    """

    def __init__(self, y: Array, factors: Sequence[Channel]) -> None:
        self._y, self._factors = y, factors
        self.support = along_axes([append_sum(factor.solve) for factor in factors], y, y.shape)
        self.second_moment = along_axes(
            [append_sum(factor.solve_squared) for factor in factors], y, y.shape
        )

    def product(self, first: Places, second: Places) -> Array:
        named = joint_cell(first, second, self.support.shape)
        shape = np.array(self._y.shape)
        both, neither = (first < shape) & (second < shape), named == shape
        if math.prod(2 * shape + 1) <= _PRODUCT_CELLS:
            # Places of axes with a category of one cell only follow the places for both cells.
            return np.asarray(self._products[tuple(np.where(both, named, named + shape).T)])
        return self._products_by_pattern(named, both, neither)

    @cached_property
    def _products(self) -> Array:
        """Products for all pairs of cells, shape (2·d_1 + 1, …).

        Along each axis, the places are the categories of both cells, of one cell, and of no cell.
        """
        steps = [
            concatenate_steps(factor.solve_squared, append_sum(factor.solve))
            for factor in self._factors
        ]
        return along_axes(steps, self._y, self._y.shape)

    def _products_by_pattern(
        self, named: Places, both: NDArray[np.bool_], neither: NDArray[np.bool_]
    ) -> Array:
        """Return the products for a large table, one pattern of axes after the other."""
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
