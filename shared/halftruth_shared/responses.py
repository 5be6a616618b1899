"""Responses: the exact random answer of a device to the questions of one view.

There are three kinds. *Columns* answer each question independently. A *mixture* answers with a
whole record, and all records but the true one are equally likely. A *subset response* (in
`subset_responses`) answers with a symbol. Probabilities are integer weights of a few uniform
integers, so that a test can enumerate all outcomes.

Everything here is exact and needs no library. `channels.channel_of` returns the transition matrix
of a response, and `vectorized` draws reports of many records at once.
"""

import math
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Callable, Collection, Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from typing import Protocol

#: Source of randomness: returns a uniform integer from 0 to k−1.
RandBelow = Callable[[int], int]

Matrix = tuple[tuple[Fraction, ...], ...]


class Response(Hashable, Protocol):
    """Random response to answers, given by their codes.

    A subset response has a single code, the cell of the answers in the table of the view, and
    reports one symbol.
    """

    @property
    def outcomes(self) -> int:
        """Largest number of equally likely outcomes of one draw for many records."""

    def amplification(self, axes: Collection[int]) -> Fraction | float:
        """Return the largest likelihood ratio of a report between two cells.

        The two cells differ only along the given axes. It is 1 without axes, and infinite if a
        report can rule out a cell.
        """

    def draw(self, codes: Sequence[int], randbelow: RandBelow) -> tuple[int, ...]:
        """Draw the report of one record."""


# -- independent columns ---------------------------------------------------------------------------


class Column(ABC):
    """Response to one question: a function of the answer and of a uniform integer below `total`."""

    @property
    @abstractmethod
    def total(self) -> int:
        """Sum of the weights of all values, the same for every answer."""

    @abstractmethod
    def value(self, code: int, drawn: int) -> int:
        """Return the reported value."""

    @property
    @abstractmethod
    def amplification(self) -> Fraction | float:
        """Largest likelihood ratio of a value between two answers."""


@dataclass(frozen=True)
class Kept(Column):
    """Weight `same` for the true one of `size` values, and `other` for each other one."""

    size: int
    same: int
    other: int

    @property
    def total(self) -> int:
        return self.same + self.other * (self.size - 1)

    def value(self, code: int, drawn: int) -> int:
        if drawn < self.same:
            return code
        value = (drawn - self.same) // self.other
        return value + (value >= code)

    @property
    def amplification(self) -> Fraction | float:
        return Fraction(self.same, self.other) if self.other else math.inf

    @property
    def condition_number(self) -> Fraction:
        """Ratio of the singular values of its matrix, 1 and the difference of two probabilities."""
        return Fraction(self.total, self.same - self.other)


@dataclass(frozen=True)
class Transitions(Column):
    """Column-stochastic matrix of an attribute, as cumulative integer weights.

    `protected` are the answers between which the amplification is computed.
    """

    matrix: Matrix
    protected: tuple[int, ...]

    @cached_property
    def total(self) -> int:
        return math.lcm(*(entry.denominator for row in self.matrix for entry in row))

    @cached_property
    def bounds(self) -> list[list[int]]:
        """For each answer the cumulative weights of the values."""
        columns = zip(*self.matrix, strict=True)
        return [list(accumulate(int(entry * self.total) for entry in each)) for each in columns]

    def value(self, code: int, drawn: int) -> int:
        return bisect_right(self.bounds[code], drawn)

    @cached_property
    def amplification(self) -> Fraction | float:
        rows = [[row[u] for u in self.protected] for row in self.matrix]
        return max(max(row) / min(row) if min(row) > 0 else math.inf for row in rows if any(row))


@dataclass(frozen=True)
class Columns:
    """Independent response to each question.

    With `at_once`, a single record takes one draw, whose digits in the mixed radix of the totals
    are those of the columns; otherwise it takes a draw for each column.
    """

    columns: tuple[Column, ...]
    at_once: bool = False

    @property
    def outcomes(self) -> int:
        return max(column.total for column in self.columns)

    @cached_property
    def _combinations(self) -> int:
        return math.prod(column.total for column in self.columns)

    def amplification(self, axes: Collection[int]) -> Fraction | float:
        """Return the product of the amplifications of these questions.

        Records that differ in all of them attain it. If conditions of the survey exclude such
        records, it is an upper bound.
        """
        every = [self.columns[axis].amplification for axis in axes]
        return math.inf if math.inf in every else math.prod(every, start=Fraction(1))

    def draw(self, codes: Sequence[int], randbelow: RandBelow) -> tuple[int, ...]:
        if not self.at_once:
            pairs = zip(self.columns, codes, strict=True)
            return tuple([column.value(code, randbelow(column.total)) for column, code in pairs])
        report = list(codes)
        draws = randbelow(self._combinations)
        for j in reversed(range(len(report))):
            draws, drawn = divmod(draws, self.columns[j].total)
            report[j] = self.columns[j].value(report[j], drawn)
        return tuple(report)


# -- mixtures of whole records ---------------------------------------------------------------------


@dataclass(frozen=True)
class Mixture:
    """Dependent-column sampling of whole records (FRAPP §5, eq. 36).

    Let n_j = d_1⋯d_j (`sizes`), D the weight of the true record (`same`) and O that of any other
    record (`other`). If all earlier columns kept their value, column j keeps its value with weight
    D + O(n/n_j − 1) and takes each other value with weight O·n/n_j, out of D + O(n/n_{j−1} − 1).

    With `steps`, the weights are drawn first: same + shift·(n−1)·t and other − shift·t, for a
    uniform t from −steps to steps. Their total is the same for every t.
    """

    sizes: tuple[int, ...]
    same: int
    other: int
    shift: int = 0
    steps: int = 0

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

    def amplification(self, axes: Collection[int]) -> Fraction:
        return Fraction(self.same, self.other) if axes else Fraction(1)

    def draw(self, codes: Sequence[int], randbelow: RandBelow) -> tuple[int, ...]:
        """Perturb one record with one draw, after that of the weights.

        The total weight of a column equals the keeping weight of the column before it. So a draw
        that keeps a column is also a draw for the next one, and a draw that changes a column
        leaves a remainder that is uniform over its other values and all values of later columns.
        """
        t = randbelow(2 * self.steps + 1) - self.steps if self.steps else 0
        same = self.same + self.shift * (self.cells - 1) * t
        other = self.other - self.shift * t
        drawn = randbelow(self.outcomes)
        for changed, later in enumerate(self._later):
            kept = same + other * (later - 1)
            if drawn >= kept:
                value = (drawn - kept) // other
                report = list(codes)
                for j in range(len(report) - 1, changed, -1):
                    value, report[j] = divmod(value, self.sizes[j])
                report[changed] = value + (value >= codes[changed])
                return tuple(report)
        return tuple(codes)
