"""Conversion between records and row-major cell indices."""

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

#: Largest number of cells of a table for which all records are cached.
_TABULATED_CELLS = 2**14


def ravel(records: NDArray[np.int64], sizes: tuple[int, ...]) -> NDArray[np.int64]:
    """Return the row-major cell index of each record, shape (N,)."""
    return np.asarray(np.ravel_multi_index(tuple(records.T), sizes), dtype=np.int64)


def unravel(cells: NDArray[np.int64], sizes: tuple[int, ...]) -> NDArray[np.int64]:
    """Return the record of each row-major cell index, shape (N, M)."""
    if math.prod(sizes) <= _TABULATED_CELLS:
        return np.take(_all_records(sizes), cells, axis=0)
    return np.stack(np.unravel_index(cells, sizes), axis=1)


@lru_cache(maxsize=16)
def _all_records(sizes: tuple[int, ...]) -> NDArray[np.int64]:
    """Return all records in row-major order; indexing them is faster than division."""
    return np.indices(sizes).reshape(len(sizes), -1).T.copy()
