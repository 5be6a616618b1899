"""Subset responses: report a cell by a symbol, γ times as likely from the subset of the cell.

With A_u the subset of symbols of cell u, p(y|u) = γc for y in A_u and c for all other symbols,
c = 1/(K + (γ−1)k). Every A_u has k of the K symbols, and any two have λ₂ in common. Three responses
have this form. *k-ary randomized response*, for few cells, has one symbol for each cell. *Pairs*,
for some more cells, have one for every two cells, and the subset of a cell is its n − 1 pairs.
*Projective geometry response*, for many cells (Feldman, Nelson, Nguyen & Talwar 2022), represents
cells and symbols by points of PG(t−1, q); the symbols of a cell are the points orthogonal to it.
`response` chooses among them by the number of cells.

Points are one-dimensional subspaces of F_q^t, represented by the vector whose first nonzero
coordinate is 1. They are numbered by the place of that 1, and then by the following coordinates,
read as digits of a number: first the q^{t−1} points (1, y'), then the points of PG(t−2, q) with a
0 in front.
"""

from bisect import bisect_left
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache, cached_property, lru_cache
from math import ceil, isqrt
from operator import mul

from .responses import RandBelow

#: Largest number of cells of a view.
MAX_CELLS = 2**20

#: Largest number of cells whose pairs are symbols.
MAX_PAIRS = 512

#: The largest prime below 2¹⁶, whose planes are the largest with fewer than 2³² points.
MAX_PRIME = 65_521

#: Largest difference between consecutive primes up to `MAX_PRIME`.
_LARGEST_GAP = 72


@dataclass(frozen=True)
class SubsetResponse:
    """Subset response to a cell, as of several questions together.

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

    def _symbol(self, cell: int, place: int, in_subset: bool) -> int:
        if in_subset:
            pair = place + (place >= cell), cell
        else:
            larger = (1 + isqrt(1 + 8 * place)) // 2
            smaller = place - larger * (larger - 1) // 2
            # Both are places among the other cells.
            pair = smaller + (smaller >= cell), larger + (larger >= cell)
        return max(pair) * (max(pair) - 1) // 2 + min(pair)


# -- the response to a view, by its information ----------------------------------------------------


def choose_prime(gamma: Fraction) -> int:
    """Return the prime nearest γ + 1, with which the subset of a cell has 1 in γ + 1 symbols.

    >>> choose_prime(Fraction(19))
    19
    """
    best = gamma + 1
    near = min(round(best), MAX_PRIME)
    window = range(near - _LARGEST_GAP, min(near + _LARGEST_GAP, MAX_PRIME) + 1)
    return min(filter(is_prime, window), key=lambda prime: abs(prime - best))


@lru_cache
def choose_pairs(gamma: Fraction, prime: int) -> tuple[int, int]:
    """Return the largest numbers of cells for k-ary response, and for pairs.

    k-ary response is as informative as pairs up to the first, pairs as a geometry up to the second.

    >>> choose_pairs(Fraction(19), 19)
    (28, 73)
    """

    def information(cells: int) -> tuple[Fraction, Fraction, Fraction]:
        direct = response(gamma, cells, prime, direct=cells)
        geometry = response(gamma, cells, prime, direct=0)
        return direct.information, PairResponse.of(gamma, cells).information, geometry.information

    found = [(cells, *information(cells)) for cells in range(3, MAX_PAIRS + 1)]
    direct = max((cells for cells, single, pairs, _ in found if single >= pairs), default=2)
    return direct, max((cells for cells, _, pairs, other in found if pairs >= other), default=2)


@lru_cache
def choose_direct(gamma: Fraction, prime: int) -> int:
    """Return the largest number of cells for which k-ary response is as informative as geometry.

    >>> choose_direct(Fraction(19), 19)
    45
    """

    def worse(cells: int) -> bool:
        by_geometry = response(gamma, cells, prime, direct=0).information
        return response(gamma, cells, prime, direct=cells).information < by_geometry

    # Both are most informative for about γ − 1 cells; beyond, k-ary response gets worse.
    fewest = min(max(2, ceil(gamma - 1)), MAX_CELLS)
    return fewest - 1 + bisect_left(range(fewest, MAX_CELLS + 1), True, key=worse)


@cache
def response(
    gamma: Fraction, cells: int, prime: int, direct: int, pairs: int = 0
) -> SubsetResponse:
    """Return the response to a view with n ≥ 2 cells, where q = `prime` is that of the geometry.

    Up to `direct` cells it is k-ary randomized response, then up to `pairs` cells pairs. With more
    cells, the geometry has the smallest dimension t ≥ 3 with a point for each cell.
    """
    if cells <= direct:
        return SubsetResponse(gamma, cells, cells, 1, 0, Fraction(0))
    if cells <= pairs:
        return PairResponse.of(gamma, cells)
    dimension = 3
    while count_points(prime, dimension) < cells:
        dimension += 1
    symbols = count_points(prime, dimension)
    common, line = count_points(prime, dimension - 2), count_points(prime, dimension - 3)
    # Of the symbols − 2 points besides any two, q − 1 are on the line through these two.
    in_three = (prime - 1) * common + (symbols - prime - 1) * line
    return SubsetResponse(
        gamma,
        cells,
        symbols,
        count_points(prime, dimension - 1),
        common,
        Fraction(in_three, symbols - 2),
        prime,
        dimension,
    )


# -- points of projective geometries ---------------------------------------------------------------


@cache
def count_points(prime: int, dimension: int) -> int:
    """Return the number of points of PG(t−1, q), (q^t − 1)/(q − 1).

    >>> count_points(19, 4)
    7240
    """
    return (int(prime**dimension) - 1) // (prime - 1)


@cache
def is_prime(number: int) -> bool:
    """Return true for a prime number, by trial division."""
    return number > 1 and all(number % divisor for divisor in range(2, isqrt(number) + 1))


@cache
def cubing_modulus(symbols: int) -> int:
    """Return the smallest prime ≥ `symbols` that is 2 modulo 3, for which cubing is a bijection."""
    candidate = max(symbols, 5)
    while candidate % 3 != 2 or not is_prime(candidate):
        candidate += 1
    return candidate


def point_of_cell(cell: int, symbols: int) -> int:
    """Return the index of the point that represents a cell, a different one for each cell.

    In their original order, cells would be collinear. Cubing them, modulo a prime that is no
    smaller than the number of points, spreads them like random points.
    """
    ring = cubing_modulus(symbols)
    point = cell
    while True:
        point = (point + ring // 3) ** 3 % ring
        if point < symbols:
            return point


def coordinates(point: int, prime: int, dimension: int) -> tuple[int, ...]:
    """Return the coordinates of a point; the first nonzero coordinate is 1.

    >>> [coordinates(point, 2, 2) for point in range(3)]
    [(1, 0), (1, 1), (0, 1)]
    """
    place, block = 0, prime ** (dimension - 1)
    while point >= block:
        point -= block
        place, block = place + 1, block // prime
    digits = []
    for _ in range(dimension - 1 - place):
        point, digit = divmod(point, prime)
        digits.append(digit)
    return (0,) * place + (1, *reversed(digits))


def point_of(vector: tuple[int, ...], prime: int) -> int:
    """Return the index of the point of a nonzero vector: the inverse of `coordinates`."""
    dimension, place, value = len(vector), 0, 0
    while not vector[place]:
        place += 1
    scale = 1 if vector[place] == 1 else pow(vector[place], -1, prime)
    for entry in vector[place + 1 :]:
        value = value * prime + entry * scale % prime
    return count_points(prime, dimension) - count_points(prime, dimension - place) + value


def digits(value: int, base: int, count: int) -> tuple[int, ...]:
    """Return the last `count` digits of a number, the most significant first."""
    digits = []
    for _ in range(count):
        value, digit = divmod(value, base)
        digits.append(digit)
    return tuple(reversed(digits))
