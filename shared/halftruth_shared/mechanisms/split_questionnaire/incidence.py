"""Sums over the orthogonal points of a projective geometry, by the Fourier transform.

Points are one-dimensional subspaces of F_q^t, numbered as by `responses.coordinates`: first the
q^{t−1} points (1, y') and then those of PG(t−2, q) with a 0 in front.
"""

from collections.abc import Iterator
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ...channels.axes import Array
from .responses import Response, points
from .sampling import coordinates_of, placed_of

#: Numbers that are transformed at once.
_AT_ONCE = 2**22


@lru_cache(maxsize=64)
def placement(response: Response) -> NDArray[np.int64]:
    """Return the symbols that represent the cells of a geometry, shape (n,)."""
    return placed_of(np.arange(response.cells), response.symbols)


def sums_by_symbol(values: Array, response: Response) -> Array:
    """For each symbol, the sum of the values of the cells that own it, from shape (…, n)."""
    if not response.prime:
        return values
    placed = np.zeros((*values.shape[:-1], response.symbols))
    placed[..., placement(response)] = values
    return orthogonal_sums(placed, response.prime, response.dimension)


def sums_by_cell(values: Array, response: Response) -> Array:
    """For each cell, the sum of the values of its own symbols, from shape (…, K)."""
    if not response.prime:
        return values
    sums = orthogonal_sums(values, response.prime, response.dimension)
    return np.asarray(sums[..., placement(response)])


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
    for part in _parts(len(flat), flat.shape[1]):
        result[part] = _orthogonal_sums(flat[part], prime, dimension)
    return result.reshape(values.shape)


def _parts(rows: int, numbers: int) -> Iterator[slice]:
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


def belongs(
    symbols: NDArray[np.int64], response: Response, cells: slice = slice(None)
) -> NDArray[np.bool_]:
    """Incidence of symbols and cells of a geometry, shape (symbols, cells)."""
    points = symbols, placement(response)[cells]
    rows, columns = (coordinates_of(p, response.prime, response.dimension) for p in points)
    # Coordinates are below 2¹⁶, so that no sum of products is rounded.
    product = rows.T.astype(np.float64) @ columns.astype(np.float64)
    return np.asarray(product % response.prime == 0)


def sums_of_few(symbols: NDArray[np.int64], values: Array, response: Response) -> Array:
    """For each cell, the sum of the values of its symbols, where these are few.

    From shape (…, symbols) to (…, cells).
    """
    result = np.empty((*values.shape[:-1], response.cells))
    for part in _parts(response.cells, len(symbols)):
        result[..., part] = values @ belongs(symbols, response, part)
    return result
