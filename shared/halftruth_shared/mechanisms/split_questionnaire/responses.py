"""The response to a view: k-ary randomized response, pairs or a geometry, by their information."""

from bisect import bisect_left
from fractions import Fraction
from functools import cache, lru_cache
from math import ceil

from ...subset_responses import PairResponse, SubsetResponse, count_points, is_prime

#: Largest number of cells of a view.
MAX_CELLS = 2**20

#: Largest number of cells whose pairs are symbols.
MAX_PAIRS = 512

#: The largest prime below 2¹⁶, whose planes are the largest with fewer than 2³² points.
MAX_PRIME = 65_521

#: Largest difference between consecutive primes up to `MAX_PRIME`.
_LARGEST_GAP = 72


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
