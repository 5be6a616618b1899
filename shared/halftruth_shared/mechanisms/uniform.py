"""Exact sampling where the true value has one weight and every other value another.

Both the gamma-diagonal family (over whole records) and randomized response (over one attribute)
are of this form; only the weights differ.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..sampling import RandBelow


@dataclass(frozen=True)
class Columns:
    """The columns of a record, for dependent-column sampling (FRAPP §5, eq. 36).

    With n_j = d_1⋯d_j, a weight D for the true record and O for any other one, column j keeps
    its value with weight D + O(n/n_j − 1) and takes each other value with weight O·n/n_j, out of
    D + O(n/n_{j−1} − 1), while every earlier column kept its value.

    Attributes
    ----------
    sizes : tuple of int
        d_j, the number of values of each column.
    later : tuple of int
        n/n_j, the number of ways to go on after each column.
    cells : int
        n.
    """

    sizes: tuple[int, ...]
    later: tuple[int, ...]
    cells: int

    @classmethod
    def of(cls, sizes: tuple[int, ...]) -> "Columns":
        """Columns of these sizes."""
        later = tuple(math.prod(sizes[j + 1 :]) for j in range(len(sizes)))
        return cls(sizes, later, math.prod(sizes))

    def sample(
        self, codes: Sequence[int], same: int, other: int, randbelow: RandBelow
    ) -> tuple[int, ...]:
        """Perturb one record with one draw.

        A column's total is the kept weight of the column before it, so a draw that keeps a
        column already is the next column's draw; and one that changes a column leaves a
        remainder that is uniform over the values of all later columns.

        Parameters
        ----------
        codes : sequence of int
        same, other : int
            D and O, at least 0.
        randbelow : callable
        """
        draw = randbelow(same + other * (self.cells - 1))
        for changed, later in enumerate(self.later):
            kept = same + other * (later - 1)
            if draw >= kept:
                return self._changed(codes, changed, draw - kept, other)
        return tuple(codes)

    def _changed(
        self, codes: Sequence[int], changed: int, draw: int, other: int
    ) -> tuple[int, ...]:
        """A record of which this column is the first to change."""
        value, rest = divmod(draw // other, self.later[changed])
        report = list(codes)
        for j in range(len(report) - 1, changed, -1):
            rest, report[j] = divmod(rest, self.sizes[j])
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
