"""Projective geometries PG(t−1, q): their points, and sums over orthogonal points.

Points are one-dimensional subspaces of F_q^t, represented by the vector whose first coordinate
that is not 0 is 1. They are numbered by the place of that 1, and where it is the same by the
coordinates that follow, as digits of a number: first the q^{t−1} points (1, y'), then those of
PG(t−2, q) with a 0 in front. Exact samplers take one point at a time, in integers of any size;
functions of arrays do the same for many.
"""

from collections.abc import Iterator
from functools import cache, lru_cache
from math import isqrt

import numpy as np
from numpy.typing import NDArray

from ...channels.axes import Array

Integers = NDArray[np.int64]

#: Numbers that are transformed at once.
_AT_ONCE = 2**22


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


def digits(value: int, base: int, count: int) -> tuple[int, ...]:
    """The last so many digits of a number, the most significant first."""
    digits = []
    for _ in range(count):
        value, digit = divmod(value, base)
        digits.append(digit)
    return tuple(reversed(digits))


def solved(vectors: Integers, rest: Integers, product: Integers, prime: int) -> Integers:
    """Vectors y of these coordinates other than the pivot's, so that ⟨u,y⟩ is as given.

    Parameters
    ----------
    vectors : ndarray of int64, shape (t, N)
        The points u; their pivot is their first coordinate that is not 0.
    rest : ndarray of int64, shape (t − 1, N)
    product : ndarray, shape (N,)
        ⟨u,y⟩ modulo the prime.
    """
    pivot = np.argmax(vectors != 0, axis=0)
    result = np.zeros_like(vectors)
    for j in range(len(rest)):
        # What stands before the pivot keeps its place.
        result[j] = np.where(pivot > j, rest[j], result[j])
        result[j + 1] = np.where(pivot > j, 0, rest[j])
    across = (vectors * result).sum(axis=0)
    result[pivot, np.arange(len(pivot))] = (product - across) % prime
    return result


def placed_of(cells: Integers, count: int) -> Integers:
    """`placed` of many cells, of so many points."""
    ring = np.uint64(modulus(count))
    third = ring // np.uint64(3)
    indices = cells.astype(np.uint64)
    left = np.arange(len(cells))
    while left.size:
        moved = (indices[left] + third) % ring
        moved = moved * moved % ring * moved % ring
        indices[left] = moved
        left = left[moved >= count]
    return indices.astype(np.int64)


def digits_of(values: Integers, base: int, count: int) -> Integers:
    """`digits` of many numbers, shape (count, N)."""
    digits = np.empty((count, len(values)), dtype=np.int64)
    for j in reversed(range(count)):
        # Much quicker than the remainder.
        whole = values // base
        digits[j] = values - whole * base
        values = whole
    return digits


def coordinates_of(indices: Integers, prime: int, dimension: int) -> Integers:
    """`coordinates` of many points, shape (t, N)."""
    blocks = _blocks(prime, dimension)
    place = np.searchsorted(blocks, indices, side="right") - 1
    coordinates = digits_of(indices - blocks[place], prime, dimension)
    coordinates[place, np.arange(len(indices))] = 1
    return coordinates


def numbers_of(vectors: Integers, prime: int) -> Integers:
    """`number` of many vectors, shape (t, N)."""
    dimension = len(vectors)
    place = np.argmax(vectors != 0, axis=0)
    scale = _inverses(prime)[vectors[place, np.arange(len(place))]]
    value = np.zeros(len(place), dtype=np.int64)
    for j, column in enumerate(vectors):
        value = value * prime + np.where(place < j, column * scale % prime, 0)
    return np.asarray(value + _blocks(prime, dimension)[place])


@cache
def _blocks(prime: int, dimension: int) -> Integers:
    """Number of points whose first 1 is before each place."""
    total = points(prime, dimension)
    return np.array([total - points(prime, dimension - j) for j in range(dimension)])


@cache
def _inverses(prime: int) -> Integers:
    """The inverse of each number modulo a prime, 0 for 0."""
    return np.array([0, *(pow(number, -1, prime) for number in range(1, prime))])


def orthogonal_sums(values: Array, prime: int, dimension: int) -> Array:
    """Sum of the values of all points that are orthogonal to each point.

    It takes O(q^t log q) steps, from the sums over all hyperplanes of F_q^{t−1}, which are inverse
    transforms of one line of its Fourier transform each.

    Parameters
    ----------
    values : ndarray, shape (…, K_t)
    prime, dimension : int
        q and t.
    """
    flat = values.reshape(-1, values.shape[-1])
    result = np.empty_like(flat)
    for part in parts(len(flat), flat.shape[1]):
        result[part] = _orthogonal_sums(flat[part], prime, dimension)
    return result.reshape(values.shape)


def parts(rows: int, numbers: int) -> Iterator[slice]:
    """Return slices of rows of so many numbers, as many as are transformed at once."""
    step = max(1, _AT_ONCE // numbers)
    return (slice(start, start + step) for start in range(0, rows, step))


def _orthogonal_sums(values: Array, prime: int, dimension: int) -> Array:
    if dimension == 1:
        return np.zeros_like(values)
    block = prime ** (dimension - 1)
    lines, order = _lines(prime, dimension)
    axes = range(1, dimension)
    table = values[:, :block].reshape(-1, *[prime] * len(axes))
    spectrum = np.fft.fftn(table, axes=axes).reshape(-1, block)
    # On the line of a direction d it is Σ y' e(−s⟨d,y'⟩), of which the inverse sums by ⟨d,y'⟩.
    sums = np.fft.irfft(np.take(spectrum, lines, axis=1), prime)
    sums += _orthogonal_sums(values[:, block:], prime, dimension - 1)[:, :, None]
    result = np.take(sums.reshape(len(sums), -1), order, axis=1)
    result[:, 0] = values[:, block:].sum(axis=1)
    return result


@lru_cache(maxsize=8)
def _lines(prime: int, dimension: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Indices where sums over hyperplanes come from, and where they are needed.

    Returns
    -------
    lines : ndarray of int, shape (K_{t−1}, q//2 + 1)
        Index in F_q^{t−1} of the multiples 0·d, 1·d, … of every direction d.
    order : ndarray of int, shape (K_t,)
        For each point but the first, (1, 0), the hyperplane whose points (1, y') it is orthogonal
        to: of all ⟨d,y'⟩ = b, with the index q·d + b.
    """
    directions = coordinates_of(np.arange(points(prime, dimension - 1)), prime, dimension - 1)
    multiples = np.zeros((directions.shape[1], prime), dtype=np.int64)
    for coordinate in directions:
        multiples *= prime
        multiples += np.multiply.outer(coordinate, np.arange(prime)) % prime
    first = prime * np.arange(len(multiples))
    order = np.zeros(points(prime, dimension), dtype=np.int64)
    order[prime ** (dimension - 1) :] = first
    # (1, s·d) is orthogonal to (1, y') where ⟨d,y'⟩ = −1/s.
    inverses = [-pow(s, -1, prime) % prime for s in range(1, prime)]
    order[multiples[:, 1:]] = first[:, None] + inverses
    return multiples[:, : prime // 2 + 1].copy(), order
