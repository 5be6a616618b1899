"""Decisions on many itemsets that are all right at once, with a stated chance.

The family is every itemset that could have been examined: which of them are examined depends on
the same reports, so that a correction for these alone would promise too much. What is proved of
one itemset holds for others, since a support never exceeds that of a subset: that costs
nothing of the level.
"""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from itertools import count
from math import comb
from typing import Any

import numpy as np
import scipy
from halftruth_shared import DomainTooLarge, Schema
from numpy.typing import NDArray

from .bounds import Array, normal_quantile

#: A level shared among more itemsets than this would not be a number any more.
_MOST_CANDIDATES = 10**250

#: Draws of correlated normal variables; of very many there are fewer.
_DRAWS, _DRAWN_NUMBERS = 2048, 2**26

Mask = NDArray[np.bool_]

#: Pairs of columns: rows of itemsets, and rows of subsets that lack one of their items.
_Pairs = tuple[NDArray[np.int64], NDArray[np.int64]]

#: Combines a value into the entries at some rows, as ``numpy.maximum.at`` does.
_Combine = Callable[[NDArray[Any], NDArray[np.int64], NDArray[Any]], None]

#: Attribute subsets of one length, some seconds of work, that are examined though longer ones may
#: turn out to be too many: what these rule out is known only afterwards.
_FEW = 5_000


def count_candidates(schema: Schema, max_length: int) -> int:
    """Number of itemsets of up to so many items, before any is ruled out."""
    # Coefficient k of ∏(1 + d_j t) is the number of itemsets of k items.
    by_length = [1] + [0] * max_length
    for attribute in schema.attributes:
        items = int(attribute.item_mask.sum())
        for length in range(max_length, 0, -1):
            by_length[length] += items * by_length[length - 1]
    return sum(by_length[1:])


def check_candidates(schema: Schema, max_length: int) -> None:
    """Raise DomainTooLarge if the itemsets are too many to share a level."""
    if count_candidates(schema, max_length) > _MOST_CANDIDATES:
        raise DomainTooLarge(
            f"max_length: too many itemsets of up to {max_length} items to decide on all at once;"
            " expected a lower max_length",
            field="max_length",
        )


def one_sided_quantile(alpha: float, candidates: int) -> float:
    """Z that at most with this chance any of so many standard normal variables exceeds.

    Bonferroni's, so whatever their dependence: each has the level α over their number.
    """
    # A chance above one half would put lower bounds above the estimates.
    return -float(scipy.special.ndtri(min(alpha / max(candidates, 1), 0.5)))


def bonferroni_bounds(
    codes: NDArray[np.int64],
    support: Array,
    standard_error: Array,
    quantile: float,
    slope: Array | float = 0.0,
) -> tuple[Array, Array]:
    """Lower bounds that hold all at once, and upper bounds that do, each with the same level.

    Parameters
    ----------
    codes : ndarray of int, shape (K, M)
    support, standard_error : ndarray, shape (K,)
        The standard error is NaN where there are no bounds.
    quantile : float
        As :func:`one_sided_quantile` gives it.
    slope : ndarray, shape (K,), or float
        By how much the variance grows with the true support. Where it came out too low by chance,
        so did its variance; the upper bound is the support that it would be that far below.

    Returns
    -------
    lower, upper : ndarray, shape (K,)
        The lower bound of an itemset is the highest one of itself and all that contain it; the
        upper bound is the lowest one of itself and its subsets. NaN where one is unknown.
    """
    lattice = Lattice(codes)
    known = np.isfinite(standard_error)
    half_width, skewed = quantile * standard_error, quantile**2 * slope / 2
    highest = support + skewed + np.hypot(half_width, skewed)
    lower = lattice.down(np.where(known, support - half_width, -np.inf), np.maximum.at)
    upper = lattice.up(np.where(known, highest, np.inf), np.minimum.at)
    both = np.isfinite(lower) & np.isfinite(upper)
    return np.where(both, lower, np.nan), np.where(both, upper, np.nan)


def holm_decisions(
    codes: NDArray[np.int64],
    support: Array,
    standard_error: Array,
    min_support: float,
    alpha: float,
    candidates: int,
    slope: Array | float = 0.0,
) -> tuple[Mask, Mask]:
    """Decide which itemsets are frequent and infrequent, by Holm's step-down tests.

    Parameters
    ----------
    codes, support, standard_error, slope
        As for :func:`bonferroni_bounds`.
    alpha : float
        Greatest chance that any itemset called frequent is not; the same for those called
        infrequent.
    candidates : int
        Size of the family; those that are not among `codes` stay undecided.

    Returns
    -------
    frequent, infrequent : ndarray of bool, shape (K,)
    """
    lattice = Lattice(codes)
    with np.errstate(divide="ignore", invalid="ignore"):
        score = (support - min_support) / standard_error
        # With the error that there would be at the threshold.
        more = slope * np.maximum(min_support - support, 0.0)
        low = (min_support - support) / np.sqrt(standard_error**2 + more)
    # A support that is known exactly is decided, whatever the level.
    exact = np.where(support >= min_support, np.inf, -np.inf)
    score = np.where(standard_error == 0, exact, score)
    low = np.where(standard_error == 0, -exact, low)
    frequent = lattice.down(_step_down(score, alpha, candidates), np.logical_or.at)
    infrequent = lattice.up(_step_down(low, alpha, candidates), np.logical_or.at)
    # Reports can only prove both of one itemset where one of the two proofs is wrong.
    contradiction = frequent & infrequent
    return frequent & ~contradiction, infrequent & ~contradiction


def _step_down(score: Array, alpha: float, candidates: int) -> Mask:
    """Return which standard normal scores are too large, step by step from the largest on."""
    known = np.where(np.isnan(score), -np.inf, score)
    order = np.argsort(-known, kind="stable")
    left = candidates - np.arange(len(order), dtype=np.float64)
    passed = known[order] >= -scipy.special.ndtri(alpha / left)
    rejected = np.zeros(len(order), dtype=np.bool_)
    # The first one that fails ends the steps.
    rejected[order[: len(order) if passed.all() else int(np.argmin(passed))]] = True
    return rejected


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


def check_end(
    level: Collection[tuple[int, ...]], max_length: int, examined: int, most: int
) -> None:
    """Refuse a long level of attribute subsets after which there could be too many longer ones.

    Parameters
    ----------
    level : collection of tuple of int
        Subsets of one length.
    max_length : int
        Longest subsets to examine.
    examined : int
        How many there are so far, these included.

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
    for longer in range(length + 1, max_length + 1):
        examined += comb(attributes, longer)
        if examined > most:
            raise DomainTooLarge(
                f"max_length: there may be more than {most} combinations of attributes to examine"
                f" at length {longer}; expected max_length = {longer - 1} at most, or a higher"
                " min_support",
                field="max_length",
            )


@dataclass(frozen=True, eq=False)
class MaximumOfNormals:
    """Distribution of the largest of |Z₁|, …, |Z_K|, correlated standard normal variables.

    The chance that any of them is beyond q is K times that of one of them, times the mean of
    1/(how many are), one of them, drawn at random, being beyond (Naiman & Priebe 2001). Only this
    mean is simulated, always with the same draws: to about 2 %, however small the chance is.

    Attributes
    ----------
    correlation : ndarray, shape (K, K)
    draws : ndarray, shape (n, K)
        Of all variables.
    beyond : ndarray of int, shape (n,)
        Which of them is beyond.
    place : ndarray, shape (n,)
        From 0 to 1, how far beyond.
    """

    correlation: Array
    draws: Array
    beyond: NDArray[np.int64]
    place: Array

    @classmethod
    def of(cls, covariance: Array, which: Mask) -> "MaximumOfNormals":
        """With the correlation of some of the variables of a covariance that vary at all."""
        variance = np.diag(covariance)
        chosen = which & (np.where(which, variance, 0.0) > 0)
        error = np.sqrt(variance[chosen])
        correlation = covariance[np.ix_(chosen, chosen)] / np.outer(error, error)
        count = len(error)
        values, vectors = np.linalg.eigh(correlation)
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        draws = min(_DRAWS, _DRAWN_NUMBERS // max(count, 1) ** 2 + 100)
        rng = np.random.default_rng(0)
        return cls(
            correlation,
            rng.standard_normal((draws, count)) @ root.T,
            np.arange(draws) % max(count, 1),
            1 - rng.random(draws),
        )

    @property
    def count(self) -> int:
        """K, the number of variables."""
        return len(self.correlation)

    def exceeds(self, limits: Array) -> Array:
        """Chance that any of them is as far as each limit from 0; NaN where the limit is."""
        return np.array([self._exceeds(limit) for limit in limits.tolist()])

    def quantile(self, alpha: float) -> float:
        """Limit that all of them keep but for this chance."""
        least = normal_quantile(alpha)
        if self.count < 2:
            return least
        # Over this range the logarithm of the chance is nearly straight.
        limits = np.linspace(least, normal_quantile(alpha / self.count), 9)
        return float(np.interp(-np.log(alpha), -np.log(self.exceeds(limits)), limits))

    def _exceeds(self, limit: float) -> float:
        tail = float(scipy.special.ndtr(-limit))
        if self.count < 2 or not tail > 0:
            return 2 * tail
        drawn = self.draws[np.arange(len(self.draws)), self.beyond]
        moved = -scipy.special.ndtri(self.place * tail) - drawn
        every = self.draws + moved[:, None] * self.correlation[self.beyond]
        many = np.maximum(np.count_nonzero(np.abs(every) >= limit, axis=1), 1)
        return min(1.0, 2 * tail * self.count * float(np.mean(1 / many)))
