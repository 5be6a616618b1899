"""Estimates of a table inside the simplex: no share below 0, and all adding up to 1.

The moment estimate is unbiased and the source of all intervals, but can leave the simplex. These
estimates do not, and the margins of one such table are consistent: a superset is never more
frequent than its subset. They are biased where the moment estimate is outside.
"""

from collections.abc import Sequence
from typing import get_args

import numpy as np
from halftruth_shared import ParameterError
from halftruth_shared.analyses.base import Method
from halftruth_shared.errors import listing
from numpy.typing import NDArray

from .bounds import Array

#: Largest whole table that is estimated inside the simplex.
CONSTRAINED_CELLS = 2**18


def check_method(method: str) -> None:
    """Raise ParameterError unless the method is one of the three."""
    if method not in get_args(Method):
        raise ParameterError(
            f"estimate: expected one of: {listing(get_args(Method))}", field="estimate"
        )


def project_to_simplex(values: Array) -> Array:
    """The point of the simplex nearest to some values, by Euclidean distance.

    It is max(x − t, 0) with the t for which this adds up to 1.
    """
    ordered = np.sort(values, axis=None)[::-1]
    shifts = (np.cumsum(ordered) - 1) / np.arange(1, values.size + 1)
    shift = shifts[np.flatnonzero(ordered > shifts)[-1]]
    return np.asarray(np.maximum(values - shift, 0.0))


def margin(table: Array, positions: Sequence[int]) -> Array:
    """Sums of a table over all axes but some, which come in the order given."""
    others = tuple(axis for axis in range(table.ndim) if axis not in positions)
    order = sorted(positions)
    summed: Array = table.sum(axis=others)
    return summed.transpose([order.index(position) for position in positions])


def supports_within(table: Array, codes: NDArray[np.int64]) -> Array:
    """Supports of itemsets in one whole table.

    Parameters
    ----------
    table : ndarray, one axis for each attribute
    codes : ndarray of int, shape (K, M)
        −1 where an attribute is left open.
    """
    supports = np.empty(len(codes))
    patterns, group = np.unique(codes >= 0, axis=0, return_inverse=True)
    for number, pattern in enumerate(patterns):
        rows = np.flatnonzero(group.reshape(-1) == number)
        positions = np.flatnonzero(pattern)
        supports[rows] = margin(table, positions.tolist())[tuple(codes[rows][:, positions].T)]
    return supports
