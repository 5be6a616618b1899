"""Channels of subset responses: their transition matrices from cells to symbols."""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ..deadlines import check_deadline
from ..subset_responses import PairResponse, SubsetResponse
from .axes import Array
from .base import Operator
from .geometry import (
    Integers,
    coordinates_of_points,
    orthogonal_sums,
    points_of_cells,
    split_rows,
)
from .uniform_mixture import UniformMixture


class SubsetChannel(SubsetResponse, Operator):
    """Subset response as a linear operator from tables of cells to symbols."""

    @property
    def reports(self) -> int:
        return self.symbols

    def merged(self, cells: int) -> UniformMixture:
        """Return k-ary response to a margin; a symbol represents all cells that agree with it."""
        return UniformMixture((cells,), (self.gamma - 1) * self.share)

    def forward(self, x: Array) -> Array:
        own = float(self.gamma - 1) * self.sums_by_symbol(x)
        return np.asarray(float(self.share) * (own + x.sum(axis=-1, keepdims=True)))

    def adjoint(self, y: Array) -> Array:
        own = float(self.gamma - 1) * self.sums_by_cell(y)
        return np.asarray(float(self.share) * (own + y.sum(axis=-1, keepdims=True)))

    def sums_by_symbol(self, values: Array) -> Array:
        """Sum, for each symbol, the values of the cells whose subset has it, from shape (…, n)."""
        if self.is_direct:
            return values
        placed = np.zeros((*values.shape[:-1], self.symbols))
        placed[..., _placement(self.cells, self.symbols)] = values
        return orthogonal_sums(placed, self.prime, self.dimension)

    def sums_by_cell(self, values: Array) -> Array:
        """Sum, for each cell, the values of the symbols in its subset, from shape (…, K)."""
        if self.is_direct:
            return values
        sums = orthogonal_sums(values, self.prime, self.dimension)
        return np.asarray(sums[..., _placement(self.cells, self.symbols)])

    def sums_of_few(self, symbols: Integers, values: Array) -> Array:
        """Sum, for each cell, the values (…, symbols) of the given symbols that its subset has."""
        result = np.empty((*values.shape[:-1], self.cells))
        for part in split_rows(self.cells, len(symbols)):
            check_deadline()
            result[..., part] = values @ self.belongs(symbols, part)
        return result

    def belongs(self, symbols: Integers, cells: slice = slice(None)) -> NDArray[np.bool_]:
        """Return the incidence matrix of symbols and cells, shape (symbols, cells)."""
        if self.is_direct:
            return np.asarray(symbols[:, None] == np.arange(self.cells)[cells])
        points = symbols, _placement(self.cells, self.symbols)[cells]
        rows, columns = (coordinates_of_points(p, self.prime, self.dimension) for p in points)
        # Coordinates are below 2¹⁶, so that sums of products are exact.
        product = rows.T.astype(np.float64) @ columns.astype(np.float64)
        return np.asarray(product % self.prime == 0)


class PairChannel(PairResponse, SubsetChannel):
    """Response by pairs of cells as a linear operator."""

    def sums_by_symbol(self, values: Array) -> Array:
        smaller, larger = _pairs(self.cells)
        return np.asarray(values[..., smaller] + values[..., larger])

    def sums_by_cell(self, values: Array) -> Array:
        cells = np.arange(self.cells)
        result = np.empty((*values.shape[:-1], self.cells))
        for cell in cells.tolist():
            others = cells[cells != cell]
            result[..., cell] = values[..., pair_numbers(others, np.full_like(others, cell))].sum(
                axis=-1
            )
        return result

    def belongs(self, symbols: Integers, cells: slice = slice(None)) -> NDArray[np.bool_]:
        smaller, larger = cells_of_pairs(symbols)
        columns = np.arange(self.cells)[cells]
        return np.asarray((smaller[:, None] == columns) | (larger[:, None] == columns))


def pair_numbers(first: Integers, second: Integers) -> Integers:
    """Return the numbers of pairs of different cells."""
    larger = np.maximum(first, second)
    return np.asarray(larger * (larger - 1) // 2 + np.minimum(first, second))


def cells_of_pairs(pairs: Integers) -> tuple[Integers, Integers]:
    """Return the smaller and the larger cell of each pair, by its number below 2⁴⁸."""
    # The square root is exact where it is an integer, and else its floor is.
    larger = ((1 + np.sqrt(1.0 + 8.0 * pairs)) // 2).astype(np.int64)
    return pairs - larger * (larger - 1) // 2, larger


@lru_cache(maxsize=64)
def _pairs(cells: int) -> tuple[Integers, Integers]:
    """Return the smaller and the larger cell of every pair."""
    return cells_of_pairs(np.arange(cells * (cells - 1) // 2))


@lru_cache(maxsize=64)
def _placement(cells: int, symbols: int) -> Integers:
    """Return the points that represent the cells of a geometry, shape (n,)."""
    return points_of_cells(np.arange(cells), symbols)
