"""Report one cell out of n, γ times as likely by some symbols as by the others.

With A_u the symbols of cell u, p(y|u) = γc for y in A_u and c elsewhere, c = 1/(K + (γ−1)k).
Every A_u has k of the K symbols, and any two have λ₂ in common. Few cells are answered by *k-ary
randomized response*, each with the one symbol of its own; many by *projective geometry response*
(Feldman, Nelson, Nguyen & Talwar 2022): cells and symbols are points of PG(t−1, q), and the
symbols of a cell are the points orthogonal to its own.
"""

from bisect import bisect_left
from collections.abc import Collection
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache, cached_property, lru_cache
from math import ceil
from operator import mul

import numpy as np
from numpy.typing import NDArray

from ...channels import Operator, UniformMixture
from ...channels.axes import Array
from ...sampling import DrawBelow, RandBelow
from .geometry import (
    Integers,
    coordinates,
    coordinates_of,
    digits,
    digits_of,
    is_prime,
    number,
    numbers_of,
    orthogonal_sums,
    parts,
    placed,
    placed_of,
    points,
    solved,
)

#: Most cells of a view.
MAX_CELLS = 2**20

#: The largest prime below 2¹⁶, whose planes are the largest with fewer than 2³² points.
MAX_PRIME = 65_521

#: No two primes below `MAX_PRIME` that follow each other are further apart.
_LARGEST_GAP = 72


@dataclass(frozen=True)
class Response(Operator):
    """Randomized response to the cell of a view: a channel from its cells to symbols.

    Attributes
    ----------
    gamma : Fraction
    cells : int
        n.
    symbols, inside, common : int
        K; k, the symbols of one cell; λ₂, those that two cells share.
    common_to_three : Fraction
        λ₃, the symbols that three points share in the mean.
    prime, dimension : int
        q and t of the geometry; 0 for k-ary randomized response.
    """

    # Equal γ and numbers of cells and symbols make equal responses; hashes of fractions are slow.
    gamma: Fraction = field(hash=False)
    cells: int
    symbols: int
    inside: int
    common: int
    common_to_three: Fraction = field(hash=False)
    prime: int = 0
    dimension: int = 0

    @property
    def reports(self) -> int:
        return self.symbols

    def amplification(self, axes: Collection[int]) -> Fraction:
        return self.gamma if axes else Fraction(1)

    @cached_property
    def share(self) -> Fraction:
        """The probability c of each symbol that is not the cell's own."""
        return 1 / (self.symbols + (self.gamma - 1) * self.inside)

    @cached_property
    def information(self) -> Fraction:
        """The information of a report about each contrast of the cells, under uniform cells.

        Of a contrast Σ r_u π_u with Σ r_u = 0 and Σ r_u² = 1 the variance is 1/(N·i) with N
        reports, and of a share (n − 1)/(n·N·i). No response has more than n/(n − 1)·(γ−1)²/(4γ).
        """
        own = self.inside - self.common
        alone = self.inside - 3 * self.common + 2 * self.common_to_three
        spread = alone / self.cells + self.common - self.common_to_three
        return self.share * (self.gamma - 1) ** 2 * own**2 / (own + (self.gamma - 1) * spread)

    def merged(self, cells: int) -> UniformMixture:
        """Return k-ary randomized response to a margin with so many cells.

        Each symbol stands for all cells that agree with it there. Symbols of a geometry alone tell
        nothing of a margin.
        """
        return UniformMixture((cells,), (self.gamma - 1) * self.share)

    # The channel.

    def forward(self, x: Array) -> Array:
        own = float(self.gamma - 1) * self.sums_by_symbol(x)
        return np.asarray(float(self.share) * (own + x.sum(axis=-1, keepdims=True)))

    def adjoint(self, y: Array) -> Array:
        own = float(self.gamma - 1) * self.sums_by_cell(y)
        return np.asarray(float(self.share) * (own + y.sum(axis=-1, keepdims=True)))

    def sums_by_symbol(self, values: Array) -> Array:
        """For each symbol, the sum of the values of the cells that own it, from shape (…, n)."""
        if not self.prime:
            return values
        placed = np.zeros((*values.shape[:-1], self.symbols))
        placed[..., _placement(self.cells, self.symbols)] = values
        return orthogonal_sums(placed, self.prime, self.dimension)

    def sums_by_cell(self, values: Array) -> Array:
        """For each cell, the sum of the values of its own symbols, from shape (…, K)."""
        if not self.prime:
            return values
        sums = orthogonal_sums(values, self.prime, self.dimension)
        return np.asarray(sums[..., _placement(self.cells, self.symbols)])

    def sums_of_few(self, symbols: Integers, values: Array) -> Array:
        """For each cell of a geometry, the sum of the values of its symbols, where these are few.

        From shape (…, symbols) to (…, cells).
        """
        result = np.empty((*values.shape[:-1], self.cells))
        for part in parts(self.cells, len(symbols)):
            result[..., part] = values @ self.belongs(symbols, part)
        return result

    def belongs(self, symbols: Integers, cells: slice = slice(None)) -> NDArray[np.bool_]:
        """Incidence of symbols and cells of a geometry, shape (symbols, cells)."""
        points = symbols, _placement(self.cells, self.symbols)[cells]
        rows, columns = (coordinates_of(p, self.prime, self.dimension) for p in points)
        # Coordinates are below 2¹⁶, so that no sum of products is rounded.
        product = rows.T.astype(np.float64) @ columns.astype(np.float64)
        return np.asarray(product % self.prime == 0)

    # The same as an exact draw.

    @property
    def outcomes(self) -> int:
        """Equally likely outcomes of the draw: γ for each of a cell's own symbols, 1 for others.

        Both are multiplied by the denominator of γ.
        """
        own, other = self.gamma.as_integer_ratio()
        return own * self.inside + other * (self.symbols - self.inside)

    def draw(self, cell: int, randbelow: RandBelow) -> int:
        """Draw a symbol that answers for a cell."""
        own, other = self.gamma.as_integer_ratio()
        drawn = randbelow(self.outcomes)
        chances = own * self.inside
        inside = drawn < chances
        place = drawn // own if inside else (drawn - chances) // other
        prime, rest_of = self.prime, self.dimension - 1
        if not prime:
            return cell if inside else place + (place >= cell)
        vector = coordinates(placed(cell, self.symbols), prime, rest_of + 1)
        pivot = vector.index(1)
        # The orthogonal points are those of the other coordinates, the pivot's being solved from
        # ⟨u,y⟩ = 0. Each other point has one vector with ⟨u,y⟩ = 1, and it is solved likewise.
        rest = (coordinates if inside else digits)(place, prime, rest_of)
        # Before its pivot, u is 0.
        across = sum(map(mul, vector[pivot + 1 :], rest[pivot:]))
        answer = ((not inside) - across) % prime
        return number((*rest[:pivot], answer, *rest[pivot:]), prime)

    def draw_many(self, cells: Integers, draw: DrawBelow) -> Integers:
        """Draw a symbol for each of many cells; at most 2⁶² outcomes."""
        own, other = self.gamma.as_integer_ratio()
        drawn = draw(self.outcomes, len(cells))
        inside = drawn < own * self.inside
        place = np.where(inside, drawn // own, (drawn - own * self.inside) // other)
        if not self.prime:
            return np.where(inside, cells, place + (place >= cells))
        prime, dimension = self.prime, self.dimension
        vectors = coordinates_of(placed_of(cells, self.symbols), prime, dimension)
        rest = digits_of(place, prime, dimension - 1)
        orthogonal = np.flatnonzero(inside)
        rest[:, orthogonal] = coordinates_of(place[orthogonal], prime, dimension - 1)
        return numbers_of(solved(vectors, rest, 1 - inside, prime), prime)


@lru_cache(maxsize=64)
def _placement(cells: int, symbols: int) -> Integers:
    """Return the symbols that represent the cells of a geometry, shape (n,)."""
    return placed_of(np.arange(cells), symbols)


def nearest_prime(gamma: Fraction) -> int:
    """The prime nearest γ + 1, with which a set of points and so its symbols are 1 in γ + 1.

    >>> nearest_prime(Fraction(19))
    19
    """
    best = gamma + 1
    near = min(round(best), MAX_PRIME)
    window = range(near - _LARGEST_GAP, min(near + _LARGEST_GAP, MAX_PRIME) + 1)
    return min(filter(is_prime, window), key=lambda prime: abs(prime - best))


@lru_cache
def most_direct(gamma: Fraction, prime: int) -> int:
    """Return the largest number of cells with k-ary randomized response as informative as geometry.

    >>> most_direct(Fraction(19), 19)
    45
    """

    def worse(cells: int) -> bool:
        by_geometry = response(gamma, cells, prime, direct=0).information
        return response(gamma, cells, prime, direct=cells).information < by_geometry

    # Both are best for about γ − 1 cells; beyond, k-ary randomized response gets worse.
    fewest = min(max(2, ceil(gamma - 1)), MAX_CELLS)
    return fewest - 1 + bisect_left(range(fewest, MAX_CELLS + 1), True, key=worse)


@cache
def response(gamma: Fraction, cells: int, prime: int, direct: int) -> Response:
    """The response to a view.

    Parameters
    ----------
    gamma : Fraction
    cells : int
        n, at least 2.
    prime : int
        q, of the geometries.
    direct : int
        Most cells that are answered by k-ary randomized response; beyond, the geometry is that of
        the smallest dimension t ≥ 3 that has a point for each cell.
    """
    if cells <= direct:
        return Response(gamma, cells, cells, 1, 0, Fraction(0))
    dimension = 3
    while points(prime, dimension) < cells:
        dimension += 1
    symbols = points(prime, dimension)
    common, line = points(prime, dimension - 2), points(prime, dimension - 3)
    # Of the symbols − 2 other points, q − 1 are on the line through two of them.
    in_three = (prime - 1) * common + (symbols - prime - 1) * line
    return Response(
        gamma,
        cells,
        symbols,
        points(prime, dimension - 1),
        common,
        Fraction(in_three, symbols - 2),
        prime,
        dimension,
    )
