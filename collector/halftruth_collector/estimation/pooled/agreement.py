"""Kernels that depend on two cells of a table only through the attributes on which they agree.

A table of m attributes splits into orthogonal components, one for each subset U of them (the
analysis of variance): along the attributes of U the projection I − J/d, along the others the mean.
A combination of these projections lies in the algebra ⊗ span{I, J}, and is determined by 2^m
numbers: its weight for each component, or its value for each set of attributes on which two cells
agree.

Numbers by subset have the shape (…, 2^m); the first attribute is the highest bit of the index.
"""

from collections.abc import Callable, Sequence
from functools import reduce

import numpy as np
from halftruth_shared.channels.axes import Array
from numpy.typing import NDArray

_Step = Callable[[Array, Array], tuple[Array, Array]]


def members(count: int) -> NDArray[np.bool_]:
    """Membership mask of every subset of m attributes, shape (2^m, m)."""
    return (np.arange(2**count)[:, None] >> np.arange(count)[::-1] & 1).astype(bool)


def products(values: Sequence[float]) -> Array:
    """Return the product of the values of the attributes in each subset.

    >>> products([2.0, 5.0]).tolist()
    [1.0, 5.0, 2.0, 10.0]
    """
    return reduce(np.multiply.outer, [(1.0, value) for value in values], np.ones(1)).ravel()


def subset_sums(values: Array) -> Array:
    """Return the sum over the subsets of each subset.

    >>> subset_sums(np.array([1.0, 10.0, 100.0, 1000.0])).tolist()
    [1.0, 11.0, 101.0, 1111.0]
    """
    return _along(values, [lambda without, within: (without, without + within)] * _count(values))


def subset_differences(values: Array) -> Array:
    """Return the numbers with these sums over subsets (Möbius inversion)."""
    return _along(values, [lambda without, within: (without, within - without)] * _count(values))


def superset_sums(values: Array) -> Array:
    """Return the sum over the supersets of each subset."""
    return _along(values, [lambda without, within: (without + within, within)] * _count(values))


def kernel(weights: Array, sizes: Sequence[int]) -> Array:
    """Value for each set of attributes on which two cells agree.

    Parameters
    ----------
    weights : ndarray, shape (…, 2^m)
        Weights of the components; component U contributes its weight times
        ∏_{j∈U} (d_j·[agree on j] − 1).
    sizes : sequence of int
        d_j.
    """

    def step(size: int) -> _Step:
        return lambda without, within: (without - within, without + (size - 1) * within)

    return _along(weights, [step(size) for size in sizes])


def matrix(values: Array, sizes: Sequence[int]) -> Array:
    """Return a kernel as a matrix, shape (cells, cells), from its value for each agreement."""
    agreement = np.zeros((1, 1), dtype=np.int64)
    for size in sizes:
        equal = np.eye(size, dtype=np.int64)
        agreement = np.add.outer(2 * agreement, equal).swapaxes(1, 2)
        agreement = agreement.reshape(len(agreement) * size, -1)
    return np.asarray(values[agreement])


def expand(values: Array, sizes: Sequence[int]) -> Array:
    """Expand numbers by subset to the cells of all margins, shape (d_1 + 1, …, d_m + 1).

    A cell of a margin is a place along each axis; the last place, d_j, is the sum over the axis.
    """
    places = [np.append(np.ones(size, dtype=np.int64), 0) for size in sizes]
    return np.asarray(values.reshape((2,) * len(sizes))[np.ix_(*places)])


def _count(values: Array) -> int:
    return int(values.shape[-1]).bit_length() - 1


def _along(values: Array, steps: Sequence[_Step]) -> Array:
    """Apply one step for each attribute, to the numbers without and with it."""
    result = values
    for j, step in enumerate(steps):
        pairs = result.reshape(-1, 2, 2 ** (len(steps) - 1 - j))
        result = np.empty_like(pairs)
        result[:, 0], result[:, 1] = step(pairs[:, 0], pairs[:, 1])
    return result.reshape(values.shape)
