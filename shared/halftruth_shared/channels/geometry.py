"""Arrays of points of projective geometries PG(t−1, q), and sums over orthogonal points.

The functions of `subset_responses` number the points and process them one at a time, with integers
of any size; those here process arrays.
"""

from collections.abc import Iterator
from functools import cache, lru_cache

import numpy as np
from numpy.typing import NDArray

from ..deadlines import check_deadline
from ..subset_responses import count_points, cubing_modulus
from .axes import Array

Integers = NDArray[np.int64]

#: Largest number of values that are transformed at once.
_MAX_BATCH_NUMBERS = 2**22


def solve_coordinates(vectors: Integers, rest: Integers, product: Integers, prime: int) -> Integers:
    """Return the vectors y with a given ⟨u,y⟩ and given coordinates except at the pivot of u.

    `vectors`, of shape (t, N), are points u, whose pivot is the first nonzero coordinate; `rest`,
    of shape (t − 1, N), are the coordinates of y without the pivot.
    """
    pivot = np.argmax(vectors != 0, axis=0)
    result = np.zeros_like(vectors)
    for j in range(len(rest)):
        # Coordinates before the pivot keep their place.
        result[j] = np.where(pivot > j, rest[j], result[j])
        result[j + 1] = np.where(pivot > j, 0, rest[j])
    across = (vectors * result).sum(axis=0)
    result[pivot, np.arange(len(pivot))] = (product - across) % prime
    return result


def points_of_cells(cells: Integers, count: int) -> Integers:
    """Return `point_of_cell` of many cells, among `count` points."""
    ring = np.uint64(cubing_modulus(count))
    third = ring // np.uint64(3)
    indices = cells.astype(np.uint64)
    left = np.arange(len(cells))
    while left.size:
        moved = (indices[left] + third) % ring
        moved = moved * moved % ring * moved % ring
        indices[left] = moved
        left = left[moved >= count]
    return indices.astype(np.int64)


def digits_of_numbers(values: Integers, base: int, count: int) -> Integers:
    """Return `digits` of many numbers, shape (count, N)."""
    digits = np.empty((count, len(values)), dtype=np.int64)
    for j in reversed(range(count)):
        # This is much faster than the remainder operator.
        whole = values // base
        digits[j] = values - whole * base
        values = whole
    return digits


def coordinates_of_points(indices: Integers, prime: int, dimension: int) -> Integers:
    """Return `coordinates` of many points, shape (t, N)."""
    blocks = _blocks(prime, dimension)
    place = np.searchsorted(blocks, indices, side="right") - 1
    coordinates = digits_of_numbers(indices - blocks[place], prime, dimension)
    coordinates[place, np.arange(len(indices))] = 1
    return coordinates


def points_of_vectors(vectors: Integers, prime: int) -> Integers:
    """Return `point_of` of many vectors of shape (t, N)."""
    dimension = len(vectors)
    place = np.argmax(vectors != 0, axis=0)
    scale = _inverses(prime)[vectors[place, np.arange(len(place))]]
    value = np.zeros(len(place), dtype=np.int64)
    for j, column in enumerate(vectors):
        value = value * prime + np.where(place < j, column * scale % prime, 0)
    return np.asarray(value + _blocks(prime, dimension)[place])


@cache
def _blocks(prime: int, dimension: int) -> Integers:
    """Return, for each place, the number of points whose first 1 is before it."""
    total = count_points(prime, dimension)
    return np.array([total - count_points(prime, dimension - j) for j in range(dimension)])


@cache
def _inverses(prime: int) -> Integers:
    """Return the inverse of each number modulo a prime, with 0 for 0."""
    return np.array([0, *(pow(number, -1, prime) for number in range(1, prime))])


def orthogonal_sums(values: Array, prime: int, dimension: int) -> Array:
    """Sum, for each point, the values (…, K_t) of all points orthogonal to it.

    The sums over all hyperplanes of F_q^{t−1} are inverse transforms of lines of the Fourier
    transform of the values, so that the total takes O(q^t log q) steps.
    """
    flat = values.reshape(-1, values.shape[-1])
    result = np.empty_like(flat)
    for part in split_rows(len(flat), flat.shape[1]):
        check_deadline()
        result[part] = _orthogonal_sums(flat[part], prime, dimension)
    return result.reshape(values.shape)


def split_rows(rows: int, numbers: int) -> Iterator[slice]:
    """Return slices of rows, with at most `_MAX_BATCH_NUMBERS` numbers each."""
    step = max(1, _MAX_BATCH_NUMBERS // numbers)
    return (slice(start, start + step) for start in range(0, rows, step))


def _orthogonal_sums(values: Array, prime: int, dimension: int) -> Array:
    if dimension == 1:
        return np.zeros_like(values)
    block = prime ** (dimension - 1)
    lines, order = _lines(prime, dimension)
    axes = range(1, dimension)
    table = values[:, :block].reshape(-1, *[prime] * len(axes))
    spectrum = np.fft.fftn(table, axes=axes).reshape(-1, block)
    # On the line of a direction d the transform is Σ y' e(−s⟨d,y'⟩); inverted, it is the sums of
    # the values by ⟨d,y'⟩.
    sums = np.fft.irfft(np.take(spectrum, lines, axis=1), prime)
    sums += _orthogonal_sums(values[:, block:], prime, dimension - 1)[:, :, None]
    result = np.take(sums.reshape(len(sums), -1), order, axis=1)
    result[:, 0] = values[:, block:].sum(axis=1)
    return result


@lru_cache(maxsize=8)
def _lines(prime: int, dimension: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the indices of the input and of the output of the sums over hyperplanes.

    The first, of shape (K_{t−1}, q//2 + 1), are those in F_q^{t−1} of the multiples 0·d, 1·d, … of
    every direction d. The second, of shape (K_t,), are q·d + b of the hyperplane ⟨d,y'⟩ = b whose
    points (1, y') are orthogonal to each point, except the first one, (1, 0).
    """
    directions = coordinates_of_points(
        np.arange(count_points(prime, dimension - 1)), prime, dimension - 1
    )
    multiples = np.zeros((directions.shape[1], prime), dtype=np.int64)
    for coordinate in directions:
        multiples *= prime
        multiples += np.multiply.outer(coordinate, np.arange(prime)) % prime
    first = prime * np.arange(len(multiples))
    order = np.zeros(count_points(prime, dimension), dtype=np.int64)
    order[prime ** (dimension - 1) :] = first
    # (1, s·d) is orthogonal to (1, y') where ⟨d,y'⟩ = −1/s.
    inverses = [-pow(s, -1, prime) % prime for s in range(1, prime)]
    order[multiples[:, 1:]] = first[:, None] + inverses
    return multiples[:, : prime // 2 + 1].copy(), order
