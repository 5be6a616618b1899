"""Errors of mined itemsets (FRAPP §7) and of reconstructed tables."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np
from halftruth_shared import Schema
from numpy.typing import NDArray

from ..estimation import Counts
from ..estimation.bounds import Array, reaches
from ..estimation.groups import group_codes, group_sums

#: An itemset as a key: its (attribute, category) pairs in schema order.
Itemset = tuple[tuple[str, str], ...]

#: Supports of every combination of categories of some attributes, one axis for each.
Support = Callable[[Sequence[str]], Array]


@dataclass(frozen=True)
class MiningErrors:
    """Errors of mined itemsets; F is the set of frequent itemsets, R the set of found ones.

    Attributes
    ----------
    frequent, found : int
        |F| and |R|.
    support_error : float or None
        ρ, mean of |ŝ − s|/s over F∩R; None if F∩R is empty.
    false_negatives, false_positives : float or None
        σ⁻ = |F−R|/|F| and σ⁺ = |R−F|/|F|; None if F is empty.
    """

    frequent: int
    found: int
    support_error: float | None
    false_negatives: float | None
    false_positives: float | None


def mining_errors(
    true: Array, estimated: Array, found: NDArray[np.bool_], min_support: float
) -> MiningErrors:
    """Compute the errors of mined itemsets, such as all itemsets of one length.

    Parameters
    ----------
    true, estimated : ndarray, shape (itemsets,)
        Supports; estimates of itemsets that were not found are not used.
    found : ndarray of bool, shape (itemsets,)
    min_support : float
        Smallest support of a frequent itemset.

    Examples
    --------
    >>> true, estimated = np.array([0.5, 0.4, 0.1]), np.array([0.4, 0.1, 0.3])
    >>> errors = mining_errors(true, estimated, estimated >= 0.2, min_support=0.2)
    >>> errors.frequent, round(errors.support_error, 2), errors.false_negatives
    (2, 0.2, 0.5)
    """
    frequent = reaches(true, min_support)
    both = frequent & found
    number = int(frequent.sum())
    error = np.abs(estimated[both] - true[both]) / true[both]
    return MiningErrors(
        frequent=number,
        found=int(found.sum()),
        support_error=float(error.mean()) if error.size else None,
        false_negatives=float((frequent & ~found).sum() / number) if number else None,
        false_positives=float((found & ~frequent).sum() / number) if number else None,
    )


def root_mean_square_errors(support: Support, truth: Counts, lengths: Iterable[int]) -> list[float]:
    """Compute the root-mean-square error of the supports of all itemsets of each length.

    `support` returns the estimated table of some attributes, and `truth` counts true records.
    """
    errors = []
    for length in lengths:
        squares = []
        for positions in combinations(range(len(truth.names)), length):
            shares = truth.marginal(positions) / truth.reports
            estimated = support([truth.names[j] for j in positions])
            squares.append(((estimated - shares) ** 2).ravel())
        errors.append(float(np.sqrt(np.concatenate(squares).mean())))
    return errors


def error_in_groups(
    support: Support, truth: Counts, schema: Schema, tables: Iterable[Sequence[str]]
) -> float:
    """Compute the root-mean-square error of some tables of groups of answers.

    Each table counts equally, whatever its number of cells.

    Parameters
    ----------
    support : callable
        Returns the estimated table of some attributes, in groups or in detail.
    truth : Counts
        Counts of true records, with answers in detail.
    schema : Schema
        Attributes with their groups of answers.
    tables : iterable of sequence of str
        Attributes of each table.
    """
    errors = []
    for names in tables:
        shares = truth.marginal(schema.positions(names)) / truth.reports
        estimated = _sum_groups(support(names), schema, names)
        errors.append(np.mean((estimated - _sum_groups(shares, schema, names)) ** 2))
    return float(np.sqrt(np.mean(errors)))


def _sum_groups(table: Array, schema: Schema, names: Sequence[str]) -> Array:
    """Sum a table over the groups of answers, unless it is of groups."""
    for axis, position in enumerate(schema.positions(names)):
        attribute = schema.attributes[position]
        if attribute.collapsed and table.shape[axis] == len(attribute.categories):
            sums = np.tensordot(group_sums(group_codes(attribute)), table, axes=(1, axis))
            table = np.moveaxis(sums, 0, axis)
    return table


def true_supports(schema: Schema, counts: Counts) -> dict[Itemset, float]:
    """Compute the support of every itemset from counts of true records."""
    supports: dict[Itemset, float] = {}
    for length in range(1, len(schema.attributes) + 1):
        for attributes in combinations(schema.attributes, length):
            positions = schema.positions([attribute.name for attribute in attributes])
            shares = counts.marginal(positions) / counts.reports
            pairs = ([(each.name, category) for category in each.categories] for each in attributes)
            supports |= zip(product(*pairs), shares.ravel().tolist(), strict=True)
    return supports
