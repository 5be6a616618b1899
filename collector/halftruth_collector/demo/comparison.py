"""Errors of mined itemsets and reconstructed supports, by length of itemsets (FRAPP §7)."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any, NamedTuple

import numpy as np
from halftruth_shared import Schema
from halftruth_shared.results import Caveat, Result
from numpy.typing import NDArray

from ..estimation import Counts
from ..estimation.bounds import Array, reaches

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


class LengthComparison(NamedTuple):
    """Errors of the itemsets of one length.

    `covered` is the share of the frequent itemsets whose interval covers the true support, and
    `precision` the caveat of the result about this length; None if it was not examined.
    """

    length: int
    errors: MiningErrors
    covered: float | None
    precision: Caveat | None


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


def compare(
    truth: Mapping[Itemset, float], result: Result[Any], min_support: float
) -> list[LengthComparison]:
    """Compare estimated and true supports, by length of itemsets.

    An itemset counts as found if its estimate reaches the threshold, and as not covered if it is
    missing.
    """
    found = {tuple(row["itemset"].items()): row for row in result.rows}
    caveats = {c.values["length"]: c for c in result.caveats if c.code == "precision"}
    compared = []
    for length in sorted({len(key) for key in truth}):
        keys = [key for key in truth if len(key) == length]
        true = np.array([truth[key] for key in keys])
        rows = [found.get(key) for key in keys]
        estimated = np.array([None if row is None else row.value for row in rows], dtype=float)
        covered = [
            row is not None and row.ends is not None and row.ends[0] <= share <= row.ends[1]
            for row, share in zip(rows, true, strict=True)
            if reaches(np.asarray(share), min_support)
        ]
        errors = mining_errors(true, estimated, reaches(estimated, min_support), min_support)
        share = sum(covered) / len(covered) if covered else None
        compared.append(LengthComparison(length, errors, share, caveats.get(length)))
    return compared
