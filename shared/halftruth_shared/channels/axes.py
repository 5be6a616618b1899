"""Tables with one axis for each attribute, and linear maps (steps) along these axes."""

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

#: Places along each axis, shape (R, k).
Places = NDArray[np.integer]

Step = Callable[[Array], Array]


def as_table(values: ArrayLike, shape: tuple[int, ...]) -> Array:
    """Return values as a table whose last axes have this shape, after any batch axes.

    Raises ValueError for any other shape, which would otherwise be rearranged silently.
    """
    table = np.asarray(values, dtype=np.float64)
    if table.shape[table.ndim - len(shape) :] != shape:
        raise ValueError(f"expected a table of shape (…, {', '.join(map(str, shape))})")
    return table


def same(table: Array) -> Array:
    """Return a table unchanged: the identity step."""
    return table


def total(table: Array) -> Array:
    """Sum over the last axis, keeping it with length 1."""
    return np.asarray(table.sum(axis=-1, keepdims=True))


def append_sum(step: Step) -> Step:
    """Return a step that appends the sum over the last axis to the result of another step."""
    return concatenate_steps(step, total)


def concatenate_steps(first: Step, second: Step) -> Step:
    """Return a step that concatenates the results of two steps along the last axis."""
    return lambda table: np.concatenate([first(table), second(table)], axis=-1)


def joint_cell(first: Places, second: Places, shape: tuple[int, ...]) -> Places:
    """Return the places of the joint cell of two cells, in margins of this shape."""
    open_place = np.array(shape) - 1
    if ((first != second) & (first != open_place) & (second != open_place)).any():
        raise ValueError("second: expected the categories that first names")
    # A cell that sums over an axis has the larger place there.
    return np.minimum(first, second)


def apply_along(matrix: Array, table: Array, axis: int) -> Array:
    """Apply a matrix along an axis of a table.

    >>> apply_along(np.array([[1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]), np.arange(6.0).reshape(2, 3), 1)
    array([[1., 2.],
           [7., 5.]])
    """
    return np.asarray(np.moveaxis(np.tensordot(matrix, table, axes=(1, axis)), 0, axis))


def along_axes(steps: Sequence[Step], x: ArrayLike, shape: tuple[int, ...]) -> Array:
    """Apply the k-th step along the k-th of the last axes of `x`, which have this shape.

    The first axis is moved to the end before each step. The batch axes start at the end, so that
    after all steps every axis is in its original place.
    """
    table = as_table(x, shape)
    batch = table.shape[: table.ndim - len(shape)]
    if batch:
        table = table.reshape(math.prod(batch), math.prod(shape)).T
    after = []
    for step, size in zip(steps, shape, strict=True):
        table = step(table.reshape(size, table.size // size).T)
        after.append(table.shape[-1])
    return table.reshape(*batch, *after)
