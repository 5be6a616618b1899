"""Report one cell out of n, γ times as likely by some symbols as by the others.

With A_u the symbols of cell u, p(y|u) = γc for y in A_u and c elsewhere, c = 1/(K + (γ−1)k).
Every A_u has k of the K symbols, and any two have λ₂ in common. Few cells are answered by *k-ary
randomized response*, each with the one symbol of its own; many by *projective geometry response*
(Feldman, Nelson, Nguyen & Talwar 2022): cells and symbols are points of PG(t−1, q), and the
symbols of a cell are the points orthogonal to its own.
"""

from bisect import bisect_left
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache
from math import ceil, isqrt

#: Most cells of a view.
MAX_CELLS = 2**20

#: The largest prime below 2¹⁶, whose planes are the largest with fewer than 2³² points.
MAX_PRIME = 65_521

#: No two primes below `MAX_PRIME` that follow each other are further apart.
_LARGEST_GAP = 72


@dataclass(frozen=True)
class Response:
    """Randomized response to the cell of a view.

    Attributes
    ----------
    cells : int
        n.
    symbols, inside, common : int
        K; k, the symbols of one cell; λ₂, those that two cells share.
    common_to_three : Fraction
        λ₃, the symbols that three points share in the mean.
    prime, dimension : int
        q and t of the geometry; 0 for k-ary randomized response.
    """

    cells: int
    symbols: int
    inside: int
    common: int
    common_to_three: Fraction
    prime: int = 0
    dimension: int = 0

    def share(self, gamma: Fraction) -> Fraction:
        """The probability c of each symbol that is not the cell's own."""
        return 1 / (self.symbols + (gamma - 1) * self.inside)

    def information(self, gamma: Fraction) -> Fraction:
        """Return the information of a report about each contrast of the cells, under uniform cells.

        Of a contrast Σ r_u π_u with Σ r_u = 0 and Σ r_u² = 1 the variance is 1/(N·i) with N
        reports, and of a share (n − 1)/(n·N·i). No response has more than n/(n − 1)·(γ−1)²/(4γ).
        """
        own = self.inside - self.common
        alone = self.inside - 3 * self.common + 2 * self.common_to_three
        spread = alone / self.cells + self.common - self.common_to_three
        return self.share(gamma) * (gamma - 1) ** 2 * own**2 / (own + (gamma - 1) * spread)


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
        by_geometry = response(cells, prime, direct=0).information(gamma)
        return response(cells, prime, direct=cells).information(gamma) < by_geometry

    # Both are best for about γ − 1 cells; beyond, k-ary randomized response gets worse.
    fewest = min(max(2, ceil(gamma - 1)), MAX_CELLS)
    return fewest - 1 + bisect_left(range(fewest, MAX_CELLS + 1), True, key=worse)


@cache
def response(cells: int, prime: int, direct: int) -> Response:
    """The response to a view.

    Parameters
    ----------
    cells : int
        n, at least 2.
    prime : int
        q, of the geometries.
    direct : int
        Most cells that are answered by k-ary randomized response; beyond, the geometry is that of
        the smallest dimension t ≥ 3 that has a point for each cell.
    """
    if cells <= direct:
        return Response(cells, cells, 1, 0, Fraction(0))
    dimension = 3
    while points(prime, dimension) < cells:
        dimension += 1
    symbols = points(prime, dimension)
    common, line = points(prime, dimension - 2), points(prime, dimension - 3)
    # Of the symbols − 2 other points, q − 1 are on the line through two of them.
    together = (prime - 1) * common + (symbols - prime - 1) * line
    return Response(
        cells,
        symbols,
        points(prime, dimension - 1),
        common,
        Fraction(together, symbols - 2),
        prime,
        dimension,
    )


@cache
def points(prime: int, dimension: int) -> int:
    """Number of points of PG(t−1, q), (q^t − 1)/(q − 1).

    >>> points(19, 4)
    7240
    """
    return (int(prime**dimension) - 1) // (prime - 1)


@cache
def is_prime(number: int) -> bool:
    """Return true for a prime number, by division."""
    return number > 1 and all(number % divisor for divisor in range(2, isqrt(number) + 1))


@cache
def modulus(symbols: int) -> int:
    """The smallest prime of at least so many that is 2 modulo 3, where cubing is one to one."""
    candidate = max(symbols, 5)
    while candidate % 3 != 2 or not is_prime(candidate):
        candidate += 1
    return candidate


def placed(cell: int, symbols: int) -> int:
    """Return the index of the point that represents a cell, distinct for each.

    Cells in their own order would lie in lines; as cubes, in a ring that is no smaller than the
    number of points, they lie like random ones.
    """
    ring = modulus(symbols)
    point = cell
    while True:
        point = (point + ring // 3) ** 3 % ring
        if point < symbols:
            return point


def coordinates(point: int, prime: int, dimension: int) -> tuple[int, ...]:
    """The coordinates of a point, of which the first that is not 0 is 1.

    Points are numbered by the place of that 1, and where it is the same by the coordinates that
    follow, as digits of a number.

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


def number(vector: tuple[int, ...], prime: int) -> int:
    """Index of the point of a vector that is not 0 everywhere; the inverse of `coordinates`."""
    dimension, place, value = len(vector), 0, 0
    while not vector[place]:
        place += 1
    scale = 1 if vector[place] == 1 else pow(vector[place], -1, prime)
    for entry in vector[place + 1 :]:
        value = value * prime + entry * scale % prime
    return points(prime, dimension) - points(prime, dimension - place) + value
