"""Exact sampling with one weight for the true value and another for every other value.

The gamma-diagonal mechanisms (over whole records) and randomized response (over one attribute)
have this form, with different weights.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..cells import ravel, unravel
from ..sampling import DrawBelow, RandBelow, Sampler


@dataclass(frozen=True)
class RecordSampler(Sampler):
    """Dependent-column sampling of whole records (FRAPP §5, eq. 36).

    Let n_j = d_1⋯d_j (`sizes`), D the weight of the true record (`same`) and O that of any other
    record (`other`). If all earlier columns kept their value, column j keeps its value with weight
    D + O(n/n_j − 1) and takes each other value with weight O·n/n_j, out of D + O(n/n_{j−1} − 1).
    """

    sizes: tuple[int, ...]
    same: int
    other: int

    @cached_property
    def _later(self) -> tuple[int, ...]:
        """n/n_j, the number of combinations of the columns after each column."""
        return tuple(math.prod(self.sizes[j + 1 :]) for j in range(len(self.sizes)))

    @cached_property
    def cells(self) -> int:
        """n, the number of cells."""
        return math.prod(self.sizes)

    @property
    def outcomes(self) -> int:
        return self.same + self.other * (self.cells - 1)

    def report(self, record: Sequence[int], randbelow: RandBelow) -> tuple[int, ...]:
        return self._report(record, self.same, self.other, randbelow)

    def _report(
        self, record: Sequence[int], same: int, other: int, randbelow: RandBelow
    ) -> tuple[int, ...]:
        """Perturb one record with one draw.

        The total weight of a column equals the keeping weight of the column before it. So a draw
        that keeps a column is also a draw for the next one, and a draw that changes a column
        leaves a remainder that is uniform over the values of all later columns.
        """
        draw = randbelow(same + other * (self.cells - 1))
        for changed, later in enumerate(self._later):
            kept = same + other * (later - 1)
            if draw >= kept:
                value, rest = divmod((draw - kept) // other, later)
                report = list(record)
                for j in range(len(report) - 1, changed, -1):
                    rest, report[j] = divmod(rest, self.sizes[j])
                report[changed] = value + (value >= record[changed])
                return tuple(report)
        return tuple(record)

    def reports(self, records: NDArray[np.int64], draw: DrawBelow) -> NDArray[np.int64]:
        draws = draw(self.outcomes, len(records))
        cells = move_or_keep(ravel(records, self.sizes), draws, self.same, self.other)
        return unravel(cells, self.sizes)


def move_or_keep(
    values: NDArray[np.int64],
    draws: NDArray[np.int64],
    same: int | NDArray[np.int64],
    other: int | NDArray[np.int64],
) -> NDArray[np.int64]:
    """Perturb N values from 0 to d−1: weight `same` for the true one, `other` for each other one.

    `draws` are uniform below same + other·(d−1).
    """
    moved = (draws - same) // np.maximum(other, 1)
    moved += moved >= values
    return np.where(draws < same, values, moved)
