"""Tables with one axis for each attribute, and steps along these axes."""

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

#: Places along each axis, shape (R, k).
Places = NDArray[np.integer]

Step = Callable[[Array], Array]


def as_table(values: ArrayLike, shape: tuple[int, ...]) -> Array:
    """A table with any batch axes before those of this shape.

    Raises
    ------
    ValueError
        For another shape, which would be scrambled without a word.
    """
    table = np.asarray(values, dtype=np.float64)
    if table.shape[table.ndim - len(shape) :] != shape:
        raise ValueError(f"expected a table of shape (…, {', '.join(map(str, shape))})")
    return table


def same(table: Array) -> Array:
    """The step that changes nothing."""
    return table


def total(table: Array) -> Array:
    """The sum over the last axis, which stays with length 1."""
    return np.asarray(table.sum(axis=-1, keepdims=True))


def with_sum(step: Step) -> Step:
    """The step along the last axis, with the sum over that axis put behind it."""
    return beside(step, total)


def beside(first: Step, second: Step) -> Step:
    """Both steps along the last axis, the result of one behind that of the other."""
    return lambda table: np.concatenate([first(table), second(table)], axis=-1)


def joint_cell(first: Places, second: Places, shape: tuple[int, ...]) -> Places:
    """Return the places of the union of two cells, in margins of this shape."""
    open_place = np.array(shape) - 1
    if ((first != second) & (first != open_place) & (second != open_place)).any():
        raise ValueError("second: expected the categories that first names")
    # An axis that one cell leaves open has the larger place there.
    return np.minimum(first, second)


def along_axes(steps: Sequence[Step], x: ArrayLike, shape: tuple[int, ...]) -> Array:
    """Apply the k-th step along the k-th of the last axes of `x`, which have this shape.

    Each step works on what is the first axis, brought to the end as the last one. The batch axes
    start at the end, so that after all steps every axis is back in its place.
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
