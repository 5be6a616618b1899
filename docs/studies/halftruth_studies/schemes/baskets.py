"""Records as baskets of items, and what every scheme for baskets offers (FRAPP §2).

A record of M answers is a basket with M of the M_b = Σ d_j items "attribute j has category c", one
of each attribute. The schemes of the literature report another basket, with any number of items of
an attribute. They are here to be compared with halftruth's own mechanisms and for nothing else: no
survey can have one.
"""

import math
import secrets
from abc import ABC, abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations
from typing import ClassVar

import numpy as np
from halftruth_shared import Schema
from halftruth_shared.channels.axes import Array
from halftruth_shared.sampling import RandBelow
from numpy.typing import NDArray

Baskets = NDArray[np.bool_]

#: Most numbers of an array in between, and itemsets of all lengths that are counted at once.
_NUMBERS, _AT_ONCE = 2**20, 2**18


class BasketScheme(ABC):
    """A way to perturb a basket that treats all items alike."""

    kind: ClassVar[str]

    @abstractmethod
    def amplification(self, schema: Schema) -> Fraction:
        """Largest factor by which a report can be likelier under one record than another."""

    @abstractmethod
    def perturb(
        self, schema: Schema, codes: Sequence[int], randbelow: RandBelow = secrets.randbelow
    ) -> tuple[int, ...]:
        """Perturb one record, exactly; gives 1 for each item of the report and 0 for each other.

        Parameters
        ----------
        randbelow : callable
            Source of randomness; the operating system's by default.
        """

    @abstractmethod
    def simulate(
        self, schema: Schema, codes: NDArray[np.int64], rng: np.random.Generator
    ) -> Baskets:
        """Reports of N records, shape (N, M_b), for simulation only: in floating point."""

    @abstractmethod
    def held_matrix(self, attributes: int, length: int) -> list[list[Fraction]]:
        """P(a report holds i of the items of an itemset | the record holds l of them).

        Parameters
        ----------
        attributes : int
            M, the number of items of a record.
        length : int
            k, the number of items of the itemset, each of another attribute.

        Returns
        -------
        list of list of Fraction, shape (k + 1, k + 1)
            Rows are i, columns l.
        """

    @abstractmethod
    def max_order(self, attributes: int) -> int:
        """Most attributes that a report tells of together."""

    @abstractmethod
    def condition_number(self, attributes: int, length: int) -> float:
        """That of the matrix by which the source reconstructs supports of k items.

        Infinite beyond the longest itemsets that a report tells of.
        """

    def weights(self, attributes: int, length: int) -> Array | None:
        """Weight in an itemset's support of a report that holds 0, …, k of its items.

        It is the last row of the inverse of `held_matrix`: the mean weight of the reports of a
        record is 1 if it has the itemset and 0 if not. None where there is no inverse.
        """
        if length > self.max_order(attributes):
            return None
        matrix = np.array(self.held_matrix(attributes, length), dtype=np.float64)
        return np.linalg.solve(matrix.T, np.eye(length + 1)[length])

    def weight_square(self, attributes: int, length: int, share: Fraction) -> float:
        """Mean square of these weights, if people have each of k items independently.

        Parameters
        ----------
        attributes, length : int
            M and k; infinite for more than `max_order`.
        share : Fraction
            Of the people who have an item.
        """
        weights = self.weights(attributes, length)
        if weights is None:
            return math.inf
        matrix = np.array(self.held_matrix(attributes, length), dtype=np.float64)
        holding = [float(binomial(length, held, share)) for held in range(length + 1)]
        return float(weights**2 @ matrix @ holding)


class BasketSupports:
    """Supports of itemsets, reconstructed from baskets.

    Parameters
    ----------
    baskets : ndarray of bool, shape (N, M_b)
        Reports.
    weights : ndarray of float, shape (N,), optional
        How often each arrived; once by default.
    """

    def __init__(
        self, scheme: BasketScheme, schema: Schema, baskets: Baskets, weights: Array | None = None
    ) -> None:
        self._scheme, self._schema, self._baskets = scheme, schema, baskets
        self._weights = np.ones(len(baskets)) if weights is None else weights
        every = tuple(range(len(schema.shape)))
        small = math.prod(size + 1 for size in schema.shape) <= _AT_ONCE
        self._whole = self._shares(every) if small else None

    def support(self, names: Sequence[str]) -> Array | None:
        """Estimated support of every combination of categories, one axis for each attribute.

        A function of how many of k items a report holds is a sum over the sets of items that it
        holds, so shares of reports with all items of a set are enough.

        Returns
        -------
        ndarray or None
            None where the scheme tells nothing of so many attributes together.
        """
        positions = self._schema.positions(names)
        length = len(positions)
        weights = self._scheme.weights(len(self._schema.shape), length)
        if weights is None:
            return None
        shares = self._shares(positions) if self._whole is None else self._margin(positions)
        support = np.zeros([self._schema.shape[j] for j in positions])
        for size in range(length + 1):
            factor = sum(
                (-1) ** (size - held) * math.comb(size, held) * weights[held]
                for held in range(size + 1)
            )
            for axes in combinations(range(length), size):
                cells = [slice(-1) if axis in axes else slice(-1, None) for axis in range(length)]
                support += factor * shares[tuple(cells)]
        return support

    def _margin(self, positions: tuple[int, ...]) -> Array:
        assert self._whole is not None  # noqa: S101
        order = sorted(positions)
        margin = self._whole[
            tuple(slice(None) if j in order else -1 for j in range(len(self._schema.shape)))
        ]
        return margin.transpose([order.index(j) for j in positions])

    def _shares(self, positions: tuple[int, ...]) -> Array:
        """Share of the reports with an item of each attribute; the last place is any or none."""
        shape = [self._schema.shape[j] + 1 for j in positions]
        middle = len(positions) // 2
        widest = max(math.prod(shape[:middle]), math.prod(shape[middle:]))
        block = max(1, _NUMBERS // widest)
        total = np.zeros(())
        for start in range(0, len(self._baskets), block):
            rows = slice(start, start + block)
            first = self._holding(rows, positions[:middle]) * self._weights[rows, None]
            total = total + first.T @ self._holding(rows, positions[middle:])
        return np.reshape(total / self._weights.sum(), shape)

    def _holding(self, rows: slice, positions: tuple[int, ...]) -> Array:
        """Which of some reports hold all items, shape (reports, combinations)."""
        ends = np.cumsum([0, *self._schema.shape])
        baskets = self._baskets[rows]
        found = np.ones((len(baskets), 1))
        for j in positions:
            items = np.ones((len(baskets), 1, self._schema.shape[j] + 1))
            items[:, 0, :-1] = baskets[:, ends[j] : ends[j + 1]]
            found = (found[:, :, None] * items).reshape(len(baskets), -1)
        return found


def baskets_of(schema: Schema, codes: NDArray[np.int64]) -> Baskets:
    """The items of each record, shape (N, M_b).

    >>> from halftruth_shared import Attribute
    >>> schema = Schema([Attribute("smoker", ["no", "yes"]), Attribute("coughs", ["no", "yes"])])
    >>> baskets_of(schema, np.array([[0, 1]])).astype(int).tolist()
    [[1, 0, 0, 1]]
    """
    starts = np.cumsum([0, *schema.shape])
    baskets = np.zeros((len(codes), int(starts[-1])), dtype=np.bool_)
    np.put_along_axis(baskets, schema.check_many(codes) + starts[:-1], values=True, axis=1)
    return baskets


def binomial(count: int, taken: int, chance: Fraction) -> Fraction:
    """Probability that `taken` of `count` independent things happen; 0 outside of 0 to `count`.

    >>> binomial(3, 1, Fraction(1, 2)), binomial(3, -1, Fraction(1, 2))
    (Fraction(3, 8), Fraction(0, 1))
    """
    if not 0 <= taken <= count:
        return Fraction(0)
    return math.comb(count, taken) * chance**taken * (1 - chance) ** (count - taken)
