"""Rotation of views over the waves of a series, so that a question comes back as late as possible.

Attributes that all classes of views treat alike form a *block*. A *kind* of view is a class with a
number of attributes from each block. A device draws once

- a cycle of kinds: a systematic sample of `turns` kinds from their weights, begun at a uniform
  place, in an order that spreads the questions evenly (the same for equal samples), and where in it
  the first wave is;
- an order of each block, like a shuffled deck of cards.

Wave i takes the i-th kind and deals the next attributes of each block, beginning anew after the
last one.

*Each wave alone has exactly the published weights.* A uniform turn of a systematic sample has each
kind with its weight. The orders are independent of the kinds, so attributes at given places of a
uniform order are a uniform subset of the block, and the views of a kind are equally likely.

*A question comes back only after its block.* Dealing c attributes from a block of b takes each of
them ⌊c/b⌋ or ⌈c/b⌉ times.

*Amplification.* Views are drawn before anything is answered, and symbols show them: reports of the
views v_1 … v_w have the likelihood P(v)·∏ p(y_i | answers to v_i). Two records that differ in one
question alone differ in the factors of the m views with it, each of them γ times at most. So the
amplification is γ^m for one who knows all other answers, and γ^w for whole records. For one who
knows none, so that all are equally likely, the likelihood is a mean over them. Where no other
question of a view is in another wave's, that mean is over questions of its own, and its factor at
most u, the amplification for such a one by a single report; that of each other view is at most γ.
"""

import hashlib
import json
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, chain
from math import gcd
from operator import add

import numpy as np
from numpy.typing import NDArray

from ..errors import ParameterError
from ..sampling import RandBelow
from ..schema import Schema

Integers = NDArray[np.int64]

#: Most turns of a cycle. More bring questions back hardly later.
MAX_TURNS = 64

#: Most kinds of views for which all cycles are looked at.
_MAX_KINDS = 2**9

#: Deviations of blocks are compared in this many parts, so that they stay integers.
_PARTS = 2520


@dataclass(frozen=True)
class _Kind:
    """So many attributes of each block, and the number of each view by its positions."""

    taken: tuple[int, ...]
    weight: int
    numbers: dict[tuple[int, ...], int]


#: What a device draws once: start of the sample and first turn, and then the order of each block.
Drawn = tuple[tuple[int, ...], ...]


class Rotation:
    """Views of a person for all waves of a series.

    Parameters
    ----------
    classes : sequence of sequence of sequence of str
        Of each class of views, the groups of attributes that it takes some of in every way.
    views : sequence of (sequence of int, int)
        Positions and weight of every view.

    Attributes
    ----------
    blocks : tuple of tuple of int
        Positions of interchangeable attributes.
    turns : int
        Number of waves after which the kinds of views repeat.
    """

    def __init__(
        self,
        schema: Schema,
        classes: Sequence[Sequence[Sequence[str]]],
        views: Sequence[tuple[tuple[int, ...], int]],
    ) -> None:
        self._schema = schema
        roles: dict[tuple[int, ...], list[int]] = {}
        for j, name in enumerate(schema.names):
            groups = [[name in group for group in each] for each in classes]
            role = tuple(held.index(True) if True in held else -1 for held in groups)
            if any(place >= 0 for place in role):
                roles.setdefault(role, []).append(j)
        self.blocks = tuple(map(tuple, roles.values()))
        self._block = {j: b for b, block in enumerate(self.blocks) for j in block}
        self._kinds = self._kinds_of(views)
        common = gcd(*(kind.weight for kind in self._kinds))
        self._until = list(accumulate(kind.weight // common for kind in self._kinds))
        self.turns = min(self._until[-1], MAX_TURNS)
        self._ordered: dict[tuple[int, ...], list[int]] = {}

    def _kinds_of(self, views: Sequence[tuple[tuple[int, ...], int]]) -> list[_Kind]:
        """Kinds in the order of their first views.

        Classes may have views of the same positions: the first of each is of one kind, and so on.
        """
        earlier: dict[tuple[int, ...], int] = {}
        kinds: dict[tuple[int, ...], dict[tuple[int, ...], int]] = {}
        weights: dict[tuple[int, ...], int] = {}
        for number, (positions, weight) in enumerate(views):
            taken = [0] * len(self.blocks)
            for j in positions:
                taken[self._block[j]] += 1
            again = earlier[positions] = earlier.get(positions, -1) + 1
            kind = (*taken, again)
            kinds.setdefault(kind, {})[positions] = number
            weights[kind] = weights.get(kind, 0) + weight
        return [_Kind(kind[:-1], weights[kind], numbers) for kind, numbers in kinds.items()]

    @property
    def digest(self) -> str:
        """Name of all rotations of the same attributes by the same weights."""
        names = [[self._schema.names[j] for j in block] for block in self.blocks]
        kinds = [
            (kind.taken, weight) for kind, weight in zip(self._kinds, self._until, strict=True)
        ]
        return hashlib.sha256(json.dumps([names, self.blocks, kinds]).encode()).hexdigest()

    def draw(self, randbelow: RandBelow) -> Drawn:
        """Draw a cycle and the order of each block."""
        drawn: list[tuple[int, ...]] = [(randbelow(self._until[-1]), randbelow(self.turns))]
        for block in self.blocks:
            order = list(block)
            for i in range(len(order) - 1, 0, -1):
                j = randbelow(i + 1)
                order[i], order[j] = order[j], order[i]
            drawn.append(tuple(order))
        return tuple(drawn)

    def view(self, drawn: Drawn, wave: int) -> int:
        """Return the number of the view of a wave, from 1."""
        (sample, first), *orders = drawn
        cycle = self._cycle(sample)
        turns = [self._kinds[cycle[(first + i) % len(cycle)]].taken for i in range(wave)]
        dealt: list[int] = []
        for b, order in enumerate(orders):
            before = sum(taken[b] for taken in turns[:-1])
            dealt += (order[(before + i) % len(order)] for i in range(turns[-1][b]))
        kind = self._kinds[cycle[(first + wave - 1) % len(cycle)]]
        return kind.numbers[tuple(sorted(dealt))]

    def _cycle(self, sample: int) -> list[int]:
        """Kinds of the sample that begins there, each next the one that leaves blocks most even.

        So far as what was taken of each block is from its share, per attribute and in the mean.
        """
        total, turns = self._until[-1], self.turns
        places = [(sample + i * total) // turns for i in range(turns)]
        sampled = tuple(bisect_right(self._until, place) for place in places)
        if sampled not in self._ordered:
            self._ordered[sampled] = self._in_order(sampled)
        return self._ordered[sampled]

    def _in_order(self, sampled: Sequence[int]) -> list[int]:
        usable, left = np.unique(sampled, return_counts=True)
        taken = np.array([self._kinds[kind].taken for kind in usable.tolist()])
        turns, parts = self.turns, np.array([_PARTS // len(block) for block in self.blocks])
        steps = turns * taken - left @ taken
        ahead = np.zeros(len(self.blocks), dtype=np.int64)
        cycle: list[int] = []
        for _ in range(turns):
            uneven = (ahead + steps) ** 2 @ parts
            uneven[left == 0] = np.iinfo(np.int64).max
            chosen = int(uneven.argmin())
            left[chosen] -= 1
            ahead += steps[chosen]
            cycle.append(int(usable[chosen]))
        return cycle

    @cached_property
    def _cycles(self) -> list[Integers]:
        """Number of attributes that each turn takes of each block, in every cycle."""
        # Samples change where one of their places passes from a kind to the next.
        total, turns = self._until[-1], self.turns
        starts = {0, *(until * turns % total for until in self._until)}
        taken = np.array([kind.taken for kind in self._kinds])
        return [taken[self._cycle(start)] for start in sorted(starts)]

    def most(self, name: str, waves: int) -> int:
        """Return the number of views about a question in so many waves in a row, at most.

        It is an upper bound if there are more than 512 kinds of views.

        Raises
        ------
        ParameterError
            If no view is about it.
        """
        block, dealt = self._block_of(name), 0
        if len(self._kinds) > _MAX_KINDS:
            dealt = waves * max(kind.taken[block] for kind in self._kinds)
        else:
            whole, rest = divmod(waves, self.turns)
            for cycle in self._cycles:
                sums = np.append(0, np.cumsum(np.tile(cycle[:, block], 2)))
                in_row = (sums[rest:] - sums[: len(sums) - rest]).max()
                dealt = max(dealt, whole * int(sums[self.turns]) + int(in_row))
        return min(waves, -(-dealt // len(self.blocks[block])))

    def unknown_amplification(
        self, name: str, waves: int, known: Fraction, unknown: Fraction
    ) -> Fraction:
        """Bound the amplification of a question for one who knows no answers, after some waves.

        If there are conditions, or more than 512 kinds of views, it is that for one who knows all
        others but those asked after the question, whose reports tell of it, too.

        Parameters
        ----------
        waves : int
            How many in a row.
        known, unknown : Fraction
            Amplification of an answer by one report, for one who knows the others, and none.

        Raises
        ------
        ParameterError
            If no view is about it.
        """
        block = self._block_of(name)
        if waves == 1:
            return unknown
        if self._schema.conditional or len(self._kinds) > _MAX_KINDS:
            related = self._schema.dependents(name)
            return known ** min(waves, sum(self.most(each, waves) for each in related))
        rows = {
            tuple(map(tuple, cycle[np.arange(first, first + waves) % self.turns].tolist()))
            for cycle in self._cycles
            for first in range(self.turns)
        }
        pairs = {pair for row in rows for pair in self._repeated(block, row)}
        return max((known**shared * unknown**alone for alone, shared in pairs), default=Fraction(1))

    def _repeated(self, block: int, row: Sequence[tuple[int, ...]]) -> Iterator[tuple[int, int]]:
        """Numbers of views with each question of a block, given what each takes of each block.

        First of those whose other questions are in no other view, and then of the others.
        """
        views: list[set[tuple[int, int]]] = []
        before = [0] * len(self.blocks)
        for taken in row:
            sizes = enumerate(map(len, self.blocks))
            views.append({(b, (before[b] + i) % n) for b, n in sizes for i in range(taken[b])})
            before = list(map(add, before, taken))
        count = Counter(chain(*views))
        for question in count:
            if question[0] == block:
                having = [view - {question} for view in views if question in view]
                alone = sum(all(count[other] == 1 for other in others) for others in having)
                yield alone, len(having) - alone

    def _block_of(self, name: str) -> int:
        names = self._schema.names
        block = self._block.get(names.index(name)) if name in names else None
        if block is None:
            raise ParameterError("name: expected an attribute that views are about", field="name")
        return block
