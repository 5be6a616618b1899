"""Exact sampling where the true value has one weight and every other value another.

Both the gamma-diagonal family (over whole records) and randomized response (over one attribute)
are of this form; only the weights differ.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..sampling import RandBelow


@dataclass(frozen=True)
class ColumnWeights:
    """Integer weights of dependent-column sampling (FRAPP §5, eq. 36).

    With n_j = d_1⋯d_j, a weight D for the true record and O for any other one, column j keeps
    its value with weight D + O(n/n_j − 1) and takes each other value with weight O·n/n_j, out of
    D + O(n/n_{j−1} − 1), while every earlier column kept its value.

    Attributes
    ----------
    sizes : tuple of int
        d_j, the number of values of each column.
    same, other : int
        D and O, at least 0.
    total : int
        D + O(n − 1).
    kept, moved : tuple of int
        Weights of keeping column j, and of moving it to one other value.
    """

    sizes: tuple[int, ...]
    same: int
    other: int
    total: int
    kept: tuple[int, ...]
    moved: tuple[int, ...]

    @classmethod
    def of(cls, sizes: tuple[int, ...], same: int, other: int) -> "ColumnWeights":
        """Weights for columns of these sizes."""
        later = 1
        moved: list[int] = []
        for size in reversed(sizes):
            moved.append(other * later)
            later *= size
        moved.reverse()
        kept = tuple(same - other + weight for weight in moved)
        return cls(sizes, same, other, same + other * (later - 1), kept, tuple(moved))

    def sample(self, codes: Sequence[int], randbelow: RandBelow) -> tuple[int, ...]:
        """Perturb one record with one draw.

        A column's total is the kept weight of the column before it, so a draw that keeps a
        column already is the next column's draw; and one that changes a column leaves a
        remainder that is uniform over the values of all later columns.
        """
        draw = randbelow(self.total)
        changed = 0
        while draw < self.kept[changed]:
            changed += 1
            if changed == len(self.kept):
                return tuple(codes)
        value, remainder = divmod(draw - self.kept[changed], self.moved[changed])
        later = remainder // self.other
        report = list(codes)
        for j in range(len(report) - 1, changed, -1):
            later, report[j] = divmod(later, self.sizes[j])
        report[changed] = value + (value >= codes[changed])
        return tuple(report)


def move_or_keep(
    values: NDArray[np.int64],
    draws: NDArray[np.int64],
    same: int | NDArray[np.int64],
    other: int | NDArray[np.int64],
) -> NDArray[np.int64]:
    """Perturb many values: weight `same` for the true one, `other` for each different one.

    Parameters
    ----------
    values : ndarray, shape (N,)
        True values, from 0 to d−1.
    draws : ndarray, shape (N,)
        Uniform below same + other·(d−1).
    same, other : int or ndarray of shape (N,)
    """
    moved = (draws - same) // np.maximum(other, 1)
    moved += moved >= values
    return np.where(draws < same, values, moved)
