"""Records as baskets of items, and the interface of schemes for baskets (FRAPP §2).

A record of M answers is a basket with M of the M_b = Σ d_j items "attribute j has category c", one
of each attribute. The schemes of the literature report another basket, with any number of items of
an attribute. They are implemented only for comparisons with halftruth's mechanisms; surveys cannot
use them.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations
from typing import ClassVar

import numpy as np
from halftruth_shared import Schema
from halftruth_shared.channels.axes import Array
from halftruth_shared.mechanisms.vectorized import check_records
from numpy.typing import NDArray

Baskets = NDArray[np.bool_]

#: Largest size of intermediate arrays, and of the table of all itemsets.
_NUMBERS, _AT_ONCE = 2**20, 2**18


class BasketScheme(ABC):
    """A perturbation of baskets that is the same for all items."""

    kind: ClassVar[str]

    @abstractmethod
    def amplification(self, schema: Schema) -> Fraction:
        """Return the largest ratio of the probabilities of a report given two records."""

    @abstractmethod
    def perturb(self, baskets: Baskets, rng: np.random.Generator) -> Baskets:
        """Simulate the reports of N baskets of M items each in floating point, shape (N, M_b)."""

    def simulate(
        self, schema: Schema, codes: NDArray[np.int64], rng: np.random.Generator
    ) -> Baskets:
        """Simulate the reports of N records in floating point, shape (N, M_b)."""
        return self.perturb(baskets_of(schema, codes), rng)

    @abstractmethod
    def held_matrix(self, attributes: int, length: int) -> list[list[Fraction]]:
        """Return P(a report has i items of an itemset | the record has l of them).

        Parameters
        ----------
        attributes : int
            M, the number of items of a record.
        length : int
            k, the number of items of the itemset, from different attributes.

        Returns
        -------
        list of list of Fraction, shape (k + 1, k + 1)
            Rows are i, columns l.
        """

    @abstractmethod
    def max_order(self, attributes: int) -> int:
        """Return the largest length of itemsets whose supports reports identify."""

    @abstractmethod
    def condition_number(self, attributes: int, length: int) -> float:
        """Return the condition number of the matrix that reconstructs supports of k items.

        Infinite for itemsets that are longer than `max_order`.
        """

    def weights(self, attributes: int, length: int) -> Array | None:
        """Return the weight in an itemset's support of a report with 0, …, k of its items.

        It is the last row of the inverse of `held_matrix`: the mean weight of the reports of a
        record is 1 if it has the itemset and 0 if not. None without an inverse.
        """
        if length > self.max_order(attributes):
            return None
        matrix = np.array(self.held_matrix(attributes, length), dtype=np.float64)
        return np.linalg.solve(matrix.T, np.eye(length + 1)[length])

    def weight_square(self, attributes: int, length: int, share: Fraction) -> float:
        """Return the mean square of these weights if people have the items independently.

        Parameters
        ----------
        attributes, length : int
            M and k; infinite for more than `max_order`.
        share : Fraction
            Share of people who have an item.
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
        Frequency of each report; 1 by default.
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
        """Estimate the support of every combination of categories, with an axis for each attribute.

        A function of the number of a report's items of an itemset is a sum over subsets of them,
        so that the shares of reports with all items of each subset are sufficient.

        Returns
        -------
        ndarray or None
            None if reports do not identify the joint distribution of this number of attributes.
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
        """Compute shares of reports by their items; the last index of an axis is all reports."""
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
        """Return 1 for reports with all items of a combination, shape (reports, combinations)."""
        ends = np.cumsum([0, *self._schema.shape])
        baskets = self._baskets[rows]
        holding = np.ones((len(baskets), 1))
        for j in positions:
            items = np.ones((len(baskets), 1, self._schema.shape[j] + 1))
            items[:, 0, :-1] = baskets[:, ends[j] : ends[j + 1]]
            holding = (holding[:, :, None] * items).reshape(len(baskets), -1)
        return holding


def baskets_of(schema: Schema, codes: NDArray[np.int64]) -> Baskets:
    """Return the items of each record, shape (N, M_b).

    >>> from halftruth_shared import Attribute
    >>> schema = Schema([Attribute("smoker", ["no", "yes"]), Attribute("coughs", ["no", "yes"])])
    >>> baskets_of(schema, np.array([[0, 1]])).astype(int).tolist()
    [[1, 0, 0, 1]]
    """
    starts = np.cumsum([0, *schema.shape])
    baskets = np.zeros((len(codes), int(starts[-1])), dtype=np.bool_)
    np.put_along_axis(baskets, check_records(schema, codes) + starts[:-1], values=True, axis=1)
    return baskets


def binomial(count: int, taken: int, chance: Fraction) -> Fraction:
    """Return the binomial probability of `taken` among `count`; 0 outside of 0 to `count`.

    >>> binomial(3, 1, Fraction(1, 2)), binomial(3, -1, Fraction(1, 2))
    (Fraction(3, 8), Fraction(0, 1))
    """
    if not 0 <= taken <= count:
        return Fraction(0)
    return math.comb(count, taken) * chance**taken * (1 - chance) ** (count - taken)
