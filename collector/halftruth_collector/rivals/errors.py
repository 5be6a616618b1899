"""Errors of reconstructed supports against the truth, by length of itemsets (FRAPP §7)."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from ..estimation import Counts
from ..estimation.bounds import Array

#: Supports of every combination of categories of some attributes, one axis for each.
Support = Callable[[Sequence[str]], Array]


@dataclass(frozen=True)
class MiningErrors:
    """How well frequent itemsets were found: F are those truly frequent, R those found.

    Attributes
    ----------
    frequent, found : int
        |F| and |R|.
    support_error : float or None
        ρ, mean of |ŝ − s|/s over F∩R; None where that is empty.
    false_negatives, false_positives : float or None
        σ⁻ = |F−R|/|F| and σ⁺ = |R−F|/|F|; None where nothing is frequent.
    """

    frequent: int
    found: int
    support_error: float | None
    false_negatives: float | None
    false_positives: float | None


def mining_errors(
    true: Array, estimated: Array, found: NDArray[np.bool_], min_support: float
) -> MiningErrors:
    """Errors of mining itemsets, such as all those of one length.

    Parameters
    ----------
    true, estimated : ndarray, shape (itemsets,)
        Supports; what is estimated of those not found does not matter.
    found : ndarray of bool, shape (itemsets,)
    min_support : float
        Least support of a frequent itemset.

    Examples
    --------
    >>> true, estimated = np.array([0.5, 0.4, 0.1]), np.array([0.4, 0.1, 0.3])
    >>> errors = mining_errors(true, estimated, estimated >= 0.2, min_support=0.2)
    >>> errors.frequent, round(errors.support_error, 2), errors.false_negatives
    (2, 0.2, 0.5)
    """
    frequent = true >= min_support
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
    """Root-mean-square error of the supports of all itemsets of each length.

    Parameters
    ----------
    support : callable
        Estimated supports of the tables of some attributes.
    truth : Counts
        Of true records.
    lengths : iterable of int
    """
    found = []
    for length in lengths:
        squares = []
        for positions in combinations(range(len(truth.names)), length):
            shares = truth.marginal(positions) / truth.reports
            estimated = support([truth.names[j] for j in positions])
            squares.append(((estimated - shares) ** 2).ravel())
        found.append(float(np.sqrt(np.concatenate(squares).mean())))
    return found
