"""Itemsets and their subsets: what is known of one says something of the other."""

from collections.abc import Callable, Collection, Iterator
from itertools import count
from math import comb
from typing import Any

import numpy as np
from halftruth_shared import DomainTooLarge
from numpy.typing import NDArray

#: Pairs of columns: rows of itemsets, and rows of subsets that lack one of their items.
_Pairs = tuple[NDArray[np.int64], NDArray[np.int64]]

#: Combines a value into the entries at some rows, as ``numpy.maximum.at`` does.
_Combine = Callable[[NDArray[Any], NDArray[np.int64], NDArray[Any]], None]

#: Attribute subsets of one length, some seconds of work, that are examined though longer ones may
#: turn out to be too many: what these rule out is known only afterwards.
_FEW = 5_000


class Lattice:
    """The subset relation among itemsets.

    Parameters
    ----------
    codes : ndarray of int, shape (K, M)
        Different itemsets, −1 where an attribute is left open; with each of them every subset
        but the empty one.
    """

    def __init__(self, codes: NDArray[np.int64]) -> None:
        self._levels = list(_levels(codes))

    def down(self, values: NDArray[Any], combine: _Combine) -> NDArray[Any]:
        """Let every itemset pass its value on to all of its subsets."""
        passed = values.copy()
        for itemsets, subsets in reversed(self._levels):
            combine(passed, subsets, passed[itemsets])
        return passed

    def up(self, values: NDArray[Any], combine: _Combine) -> NDArray[Any]:
        """Let every itemset pass its value on to all itemsets that it is a subset of."""
        passed = values.copy()
        for itemsets, subsets in self._levels:
            combine(passed, itemsets, passed[subsets])
        return passed


def _levels(codes: NDArray[np.int64]) -> Iterator[_Pairs]:
    """Itemsets of two items, of three and so on, each beside its subsets one shorter."""
    marks = _marks(codes)
    keys = marks.sum(axis=1, dtype=np.uint64)
    order = np.argsort(keys)
    lengths = (codes >= 0).sum(axis=1)
    for length in range(2, lengths.max(initial=0) + 1):
        rows = np.flatnonzero(lengths == length)
        positions = np.nonzero(codes[rows] >= 0)[1].reshape(-1, length)
        # Without an item, an itemset's key lacks that item's mark.
        wanted = keys[rows, None] - np.take_along_axis(marks[rows], positions, axis=1)
        subsets = order[np.searchsorted(keys, wanted.ravel(), sorter=order)]
        yield np.repeat(rows, length), subsets


def _marks(codes: NDArray[np.int64]) -> NDArray[np.uint64]:
    """A random number for each item, 0 where an attribute is open, such that sums differ.

    The sum of its marks is an itemset's key. Sums modulo 2⁶⁴ of different itemsets are equal so
    rarely that the first numbers do; that they differ is made sure of.
    """
    sizes = codes.max(axis=0, initial=0) + 1
    first = np.cumsum(sizes) - sizes
    for seed in range(64):
        by_item = np.random.default_rng(seed).integers(0, 2**64, sizes.sum(), dtype=np.uint64)
        marks = np.where(codes < 0, np.uint64(0), by_item[first + np.maximum(codes, 0)])
        keys = marks.sum(axis=1, dtype=np.uint64)
        if len(np.unique(keys)) == len(keys):
            return marks
    raise AssertionError("itemsets: expected different ones")


def check_end(level: Collection[tuple[int, ...]], longest: int, examined: int, most: int) -> None:
    """Refuse a long level of attribute subsets after which there could be too many longer ones.

    Parameters
    ----------
    level : collection of tuple of int
        Subsets of one length.
    longest : int
        Longest subsets to examine.
    examined : int
        How many there are so far, these included.
    most : int

    Raises
    ------
    DomainTooLarge
    """
    if len(level) <= _FEW:
        return
    length = len(next(iter(level)))
    # By Kruskal and Katona: so many subsets allow no more longer ones than so few attributes do of
    # which they could be all subsets of this length.
    attributes = next(n for n in count(length) if comb(n, length) >= len(level))
    for longer in range(length + 1, longest + 1):
        examined += comb(attributes, longer)
        if examined > most:
            raise DomainTooLarge(
                f"max_length: there may be more than {most} combinations of attributes to examine"
                f" at length {longer}; expected max_length = {longer - 1} at most, or a higher"
                " min_support",
                field="max_length",
            )
