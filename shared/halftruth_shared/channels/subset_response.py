"""Subset responses: report a cell by a symbol, γ times as likely from the subset of the cell.

With A_u the subset of symbols of cell u, p(y|u) = γc for y in A_u and c for all other symbols,
c = 1/(K + (γ−1)k). Every A_u has k of the K symbols, and any two have λ₂ in common. Three responses
have this form. *k-ary randomized response*, for few cells, has one symbol for each cell. *Pairs*,
for some more cells, have one for every two cells, and the subset of a cell is its n − 1 pairs.
*Projective geometry response*, for many cells (Feldman, Nelson, Nguyen & Talwar 2022), represents
cells and symbols by points of PG(t−1, q); the symbols of a cell are the points orthogonal to it.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, lru_cache
from math import isqrt
from operator import mul

import numpy as np
from numpy.typing import NDArray

from ..deadlines import check_deadline
from ..sampling import DrawBelow, RandBelow
from .axes import Array
from .base import Operator
from .geometry import (
    Integers,
    coordinates,
    coordinates_of_points,
    digits,
    digits_of_numbers,
    orthogonal_sums,
    point_of,
    point_of_cell,
    points_of_cells,
    points_of_vectors,
    solve_coordinates,
    split_rows,
)
from .uniform_mixture import UniformMixture


@dataclass(frozen=True)
class SubsetResponse(Operator):
    """Subset response to a cell, as of several questions together: a channel to symbols.

    Attributes
    ----------
    gamma : Fraction
    cells : int
        n, the number of cells.
    symbols, subset_size, common : int
        K, the number of symbols; k, the number of symbols of one cell; λ₂, the number of symbols
        that two cells have in common.
    common_to_three : Fraction
        λ₃, the mean number of symbols that three points have in common.
    prime, dimension : int
        q and t of the geometry; 0 for k-ary randomized response.
    """

    # Hashing fractions is slow, and responses differ in the hashed fields anyway.
    gamma: Fraction = field(hash=False)
    cells: int
    symbols: int
    subset_size: int
    common: int
    common_to_three: Fraction = field(hash=False)
    prime: int = 0
    dimension: int = 0

    @property
    def reports(self) -> int:
        return self.symbols

    @property
    def channel(self) -> "SubsetResponse":
        """This response, which is its own channel from cells to symbols."""
        return self

    @property
    def is_direct(self) -> bool:
        """True for k-ary randomized response, whose symbols are the cells.

        A symbol then represents all cells that agree with it on a margin, so that reports identify
        margins; one of a geometry identifies the table of all its questions alone.
        """
        return not self.prime

    @property
    def mean_owners(self) -> float:
        """Mean number of cells that have a symbol in their subset."""
        return self.cells * self.subset_size / self.symbols

    def amplification(self, axes: Collection[int]) -> Fraction:
        """Return γ for two cells that differ along some axes."""
        return self.gamma if axes else Fraction(1)

    @cached_property
    def share(self) -> Fraction:
        """c, the probability of each symbol outside the subset of the cell."""
        return 1 / (self.symbols + (self.gamma - 1) * self.subset_size)

    @cached_property
    def information(self) -> Fraction:
        """Information i of one report about each contrast of the cells, for uniform cells.

        A contrast Σ r_u π_u with Σ r_u = 0 and Σ r_u² = 1 has the variance 1/(N·i) with N reports,
        and a share (n − 1)/(n·N·i). The upper bound for all responses is n/(n − 1)·(γ−1)²/(4γ).
        """
        own = self.subset_size - self.common
        alone = self.subset_size - 3 * self.common + 2 * self.common_to_three
        spread = alone / self.cells + self.common - self.common_to_three
        return self.share * (self.gamma - 1) ** 2 * own**2 / (own + (self.gamma - 1) * spread)

    def merged(self, cells: int) -> UniformMixture:
        """Return k-ary response to a margin; a symbol represents all cells that agree with it."""
        return UniformMixture((cells,), (self.gamma - 1) * self.share)

    # The channel.

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

    # Exact sampling of the same channel.

    @property
    def outcomes(self) -> int:
        """Number of outcomes: γ for each symbol in the subset, 1 for each other, as integers."""
        own, other = self.gamma.as_integer_ratio()
        return own * self.subset_size + other * (self.symbols - self.subset_size)

    def draw(self, codes: Sequence[int], randbelow: RandBelow) -> tuple[int]:
        """Draw a symbol for the only code, which is the cell."""
        return (self._draw(codes[0], randbelow),)

    def _draw(self, cell: int, randbelow: RandBelow) -> int:
        own, other = self.gamma.as_integer_ratio()
        drawn = randbelow(self.outcomes)
        chances = own * self.subset_size
        in_subset = drawn < chances
        return self._symbol(
            cell, drawn // own if in_subset else (drawn - chances) // other, in_subset
        )

    def _symbol(self, cell: int, place: int, in_subset: bool) -> int:
        """Return a symbol by its place among those in the subset of a cell, or all others."""
        prime, rest_of = self.prime, self.dimension - 1
        if self.is_direct:
            return cell if in_subset else place + (place >= cell)
        vector = coordinates(point_of_cell(cell, self.symbols), prime, rest_of + 1)
        pivot = vector.index(1)
        # An orthogonal point is given by all coordinates but the pivot, which follows from
        # ⟨u,y⟩ = 0. Every other point has one vector with ⟨u,y⟩ = 1, found in the same way.
        rest = (coordinates if in_subset else digits)(place, prime, rest_of)
        # All coordinates of u before its pivot are 0.
        across = sum(map(mul, vector[pivot + 1 :], rest[pivot:]))
        answer = ((not in_subset) - across) % prime
        return point_of((*rest[:pivot], answer, *rest[pivot:]), prime)

    def draw_many(self, codes: Integers, draw: DrawBelow) -> Integers:
        """Draw a symbol for each of N cells, of shape (N, 1); requires at most 2⁶² outcomes."""
        return self._draw_many(codes[:, 0], draw)[:, np.newaxis]

    def _draw_many(self, cells: Integers, draw: DrawBelow) -> Integers:
        own, other = self.gamma.as_integer_ratio()
        drawn = draw(self.outcomes, len(cells))
        in_subset = drawn < own * self.subset_size
        place = np.where(in_subset, drawn // own, (drawn - own * self.subset_size) // other)
        return self._symbols(cells, place, in_subset)

    def _symbols(self, cells: Integers, place: Integers, in_subset: NDArray[np.bool_]) -> Integers:
        """Return `_symbol` of many cells."""
        if self.is_direct:
            return np.where(in_subset, cells, place + (place >= cells))
        prime, dimension = self.prime, self.dimension
        vectors = coordinates_of_points(points_of_cells(cells, self.symbols), prime, dimension)
        rest = digits_of_numbers(place, prime, dimension - 1)
        orthogonal = np.flatnonzero(in_subset)
        rest[:, orthogonal] = coordinates_of_points(place[orthogonal], prime, dimension - 1)
        return points_of_vectors(solve_coordinates(vectors, rest, 1 - in_subset, prime), prime)


@dataclass(frozen=True)
class PairResponse(SubsetResponse):
    """Response whose symbols are the pairs of cells; the subset of a cell is its pairs.

    Pairs are ordered by their larger cell, then by the smaller one. Any two cells have one symbol
    in common, and any three have none.
    """

    @classmethod
    def of(cls, gamma: Fraction, cells: int) -> "PairResponse":
        """Return the response to at least three cells."""
        symbols = cells * (cells - 1) // 2
        # The dimension is the number of cells of a symbol.
        return cls(gamma, cells, symbols, cells - 1, 1, Fraction(0), dimension=2)

    @property
    def is_direct(self) -> bool:
        return False

    def sums_by_symbol(self, values: Array) -> Array:
        smaller, larger = _pairs(self.cells)
        return np.asarray(values[..., smaller] + values[..., larger])

    def sums_by_cell(self, values: Array) -> Array:
        cells = np.arange(self.cells)
        result = np.empty((*values.shape[:-1], self.cells))
        for cell in cells.tolist():
            others = cells[cells != cell]
            result[..., cell] = values[..., _pair_numbers(others, np.full_like(others, cell))].sum(
                axis=-1
            )
        return result

    def belongs(self, symbols: Integers, cells: slice = slice(None)) -> NDArray[np.bool_]:
        smaller, larger = _cells_of_pairs(symbols)
        columns = np.arange(self.cells)[cells]
        return np.asarray((smaller[:, None] == columns) | (larger[:, None] == columns))

    def _symbol(self, cell: int, place: int, in_subset: bool) -> int:
        if in_subset:
            pair = place + (place >= cell), cell
        else:
            larger = (1 + isqrt(1 + 8 * place)) // 2
            smaller = place - larger * (larger - 1) // 2
            # Both are places among the other cells.
            pair = smaller + (smaller >= cell), larger + (larger >= cell)
        return max(pair) * (max(pair) - 1) // 2 + min(pair)

    def _symbols(self, cells: Integers, place: Integers, in_subset: NDArray[np.bool_]) -> Integers:
        smaller, larger = _cells_of_pairs(place)
        first = np.where(in_subset, place, smaller)
        first += first >= cells
        second = np.where(in_subset, cells, larger + (larger >= cells))
        return _pair_numbers(first, second)


def _pair_numbers(first: Integers, second: Integers) -> Integers:
    """Return the numbers of pairs of different cells."""
    larger = np.maximum(first, second)
    return np.asarray(larger * (larger - 1) // 2 + np.minimum(first, second))


def _cells_of_pairs(pairs: Integers) -> tuple[Integers, Integers]:
    """Return the smaller and the larger cell of each pair, by its number below 2⁴⁸."""
    # The square root is exact where it is an integer, and else its floor is.
    larger = ((1 + np.sqrt(1.0 + 8.0 * pairs)) // 2).astype(np.int64)
    return pairs - larger * (larger - 1) // 2, larger


@lru_cache(maxsize=64)
def _pairs(cells: int) -> tuple[Integers, Integers]:
    """Return the smaller and the larger cell of every pair."""
    return _cells_of_pairs(np.arange(cells * (cells - 1) // 2))


@lru_cache(maxsize=64)
def _placement(cells: int, symbols: int) -> Integers:
    """Return the points that represent the cells of a geometry, shape (n,)."""
    return points_of_cells(np.arange(cells), symbols)
