"""Identified sets: attributes whose joint table the reports identify.

The reports of one view tell of the attributes that it asks together. So the family of these sets is
that of all subsets of views, each with any attributes that every report states unperturbed. Reports
that are records are one view of all attributes.

A model of further sets needs an interaction of every two attributes that are asked together; other
pairs are independent given the other answers. So the model adds nothing but this assumption to a
set that falls into parts which no report asks together.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import chain, combinations
from math import comb

import numpy as np
from halftruth_shared.deadlines import check_deadline
from numpy.typing import NDArray


class IdentifiedSets:
    """Family of sets of positions that is closed under subsets.

    Parameters
    ----------
    asked : ndarray of bool, shape (V, M)
        Whether each view asks about each of M attributes.
    unperturbed : sequence of int, optional
        Positions of the attributes that every report states unperturbed.

    Examples
    --------
    >>> family = IdentifiedSets(np.array([[True, True, False], [False, True, True]]))
    >>> (0, 1) in family, (0, 2) in family, family.longest, family.any_of
    (True, False, 2, 1)
    >>> [*family.of_length(2)]
    [(0, 1), (1, 2)]
    """

    def __init__(self, asked: NDArray[np.bool_], unperturbed: Sequence[int] = ()) -> None:
        self.count = int(asked.shape[1])
        self._public = tuple(sorted(unperturbed))
        self._free = [j for j in range(self.count) if j not in set(self._public)]
        # Column-major order, since columns are selected.
        self._asked = np.asfortranarray(asked)

    @classmethod
    def everything(cls, count: int) -> "IdentifiedSets":
        """Return the family of all sets of some attributes."""
        return cls(np.ones((1, count), dtype=bool))

    def __contains__(self, positions: Sequence[int]) -> bool:
        return bool(self._asked[:, self.perturbed(positions)].all(axis=1).any())

    def perturbed(self, positions: Sequence[int]) -> list[int]:
        """Return the positions that are not stated unperturbed by every report."""
        return [j for j in positions if j not in self._public]

    @cached_property
    def _views(self) -> set[tuple[int, ...]]:
        """Positions of the perturbed attributes of each view."""
        free = np.array(self._free, dtype=np.int64)
        return {tuple(free[row].tolist()) for row in np.unique(self._asked[:, free], axis=0)}

    @cached_property
    def longest(self) -> int:
        """Number of attributes in the largest set."""
        return max(map(len, self._views), default=0) + len(self._public)

    @cached_property
    def any_of(self) -> int:
        """Largest k such that any k perturbed attributes are in the family; M if all are."""
        count = len(self._free)
        if not count or tuple(self._free) in self._views:
            return self.count
        for length in range(1, count):
            needed = comb(count, length)
            if sum(comb(len(view), length) for view in self._views) < needed:
                return length - 1
            asked = chain.from_iterable(combinations(view, length) for view in self._views)
            if len(set(asked)) < needed:
                return length - 1
        return count - 1

    def number(self, length: int) -> int:
        """Return the number of sets of some length."""
        if length <= self.any_of:
            return comb(self.count, length)
        return sum(1 for _ in self.of_length(length))

    def of_length(self, length: int) -> Iterator[tuple[int, ...]]:
        """Yield the sets of some length, in lexicographic order."""
        if length <= self.any_of:
            yield from combinations(range(self.count), length)
            return
        found: set[tuple[int, ...]] = set()
        for view in self._views:
            check_deadline()
            found.update(combinations(sorted((*view, *self._public)), length))
        yield from sorted(found)

    def example(self, positions: Sequence[int]) -> tuple[int, ...]:
        """Return the largest part of a set that is in the family, in the order given.

        A single attribute is returned with one that is asked together with it, if there is one.
        """
        free = self.perturbed(positions)
        best = self._asked[int(self._asked[:, free].sum(axis=1).argmax())]
        part = tuple(j for j in positions if j in self._public or best[j])
        others = [j for j in range(self.count) if j not in part and (*part, j) in self]
        return (*part, *others[:1]) if len(part) == 1 else part

    def pairs(self, positions: Sequence[int]) -> list[tuple[int, int]]:
        """Return the pairs among some positions that are in the family."""
        return [pair for pair in combinations(positions, 2) if pair in self]

    def partners(self, position: int) -> list[int]:
        """Return the positions of the other attributes that are in the family with one."""
        return [j for j in range(self.count) if j != position and (position, j) in self]

    def hang_together(self, positions: Sequence[int]) -> bool:
        """Return whether pairs in the family connect all of some positions."""
        return not positions or len(self.component(positions)) == len(positions)

    def component(self, positions: Sequence[int]) -> tuple[int, ...]:
        """Return those of some positions that pairs in the family connect with the first of them.

        Paths are among these positions; the result has their order.
        """
        reached, waiting = {positions[0]}, [positions[0]]
        while waiting:
            one = waiting.pop()
            further = [j for j in positions if j not in reached and (one, j) in self]
            reached.update(further)
            waiting += further
        return tuple(j for j in positions if j in reached)

    def largest_component(self, positions: Sequence[int]) -> tuple[int, ...]:
        """Return the largest part of some positions that pairs in the family connect."""
        waiting = [*positions]
        parts: list[tuple[int, ...]] = []
        while waiting:
            parts.append(self.component(waiting))
            waiting = [j for j in waiting if j not in parts[-1]]
        return max(parts, key=len, default=())

    def cliques(self, positions: Sequence[int]) -> "IdentifiedSets":
        """Return the sets of some attributes of which all pairs are in the family.

        Positions are then those among these attributes. Largest cliques are found by the algorithm
        of Bron and Kerbosch (1973), with a pivot.
        """
        count = len(positions)
        beside: list[set[int]] = [set() for _ in positions]
        for one, other in combinations(range(count), 2):
            if (positions[one], positions[other]) in self:
                beside[one].add(other)
                beside[other].add(one)
        rows: list[set[int]] = []

        def extend(chosen: set[int], possible: set[int], done: set[int]) -> None:
            check_deadline()
            if not possible and not done:
                rows.append(chosen)
                return
            pivot = max(possible | done, key=lambda j: len(beside[j] & possible))
            for j in possible - beside[pivot]:
                extend({*chosen, j}, possible & beside[j], done & beside[j])
                possible, done = possible - {j}, done | {j}

        extend(set(), set(range(count)), set())
        asked = np.zeros((len(rows), count), dtype=bool)
        for row, clique in zip(asked, rows, strict=True):
            row[list(clique)] = True
        return IdentifiedSets(asked)

    def beside(self, others: Sequence[int]) -> "IdentifiedSets":
        """Return the sets that are in the family together with some others, without these.

        Positions are then those among the remaining attributes.
        """
        free = self.perturbed(others)
        kept = [j for j in range(self.count) if j not in set(others)]
        rows = self._asked[:, free].all(axis=1)
        places = {j: place for place, j in enumerate(kept)}
        return IdentifiedSets(
            self._asked[rows][:, kept], [places[j] for j in self._public if j in places]
        )
