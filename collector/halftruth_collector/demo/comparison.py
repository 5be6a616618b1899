"""Found itemsets against the truth, by length (FRAPP §7)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np
from halftruth_shared import Schema
from halftruth_shared.analyses.base import Method
from halftruth_shared.analyses.itemsets import ItemsetEstimate, Precision

from ..estimation import Counts, Estimator

#: An itemset as a key: its (attribute, category) pairs in schema order.
Itemset = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class LengthComparison:
    """How well the itemsets of one length were found.

    Attributes
    ----------
    length, frequent, found : int
        Number of items, of truly frequent itemsets F and of found ones R.
    support_error : float or None
        ρ, mean of |ŝ − s|/s over F∩R; None where that is empty.
    false_negatives, false_positives : float or None
        σ⁻ = |F−R|/|F| and σ⁺ = |R−F|/|F|; None where nothing is frequent.
    covered : float or None
        Share of F whose interval holds the true support.
    precision : Precision or None
        What the collector itself says of this length; None where it examined none.
    """

    length: int
    frequent: int
    found: int
    support_error: float | None
    false_negatives: float | None
    false_positives: float | None
    covered: float | None
    precision: Precision | None


def true_supports(schema: Schema, counts: Counts) -> dict[Itemset, float]:
    """Support of every itemset, from counts of true records."""
    supports: dict[Itemset, float] = {}
    for length in range(1, len(schema.attributes) + 1):
        for positions in combinations(range(len(schema.attributes)), length):
            shares = counts.marginal(positions) / counts.reports
            attributes = [schema.attributes[j] for j in positions]
            cells = product(*(attribute.categories for attribute in attributes))
            for cell, share in zip(cells, shares.ravel().tolist(), strict=True):
                key = tuple(
                    (attribute.name, category)
                    for attribute, category in zip(attributes, cell, strict=True)
                )
                supports[key] = share
    return supports


def compare(
    truth: Mapping[Itemset, float],
    examined: Iterable[ItemsetEstimate],
    precision: Iterable[Precision],
    min_support: float,
) -> list[LengthComparison]:
    """Compare by length.

    Parameters
    ----------
    truth : mapping
        True support of every itemset.
    examined : iterable of ItemsetEstimate
        Every itemset that was not ruled out. Those whose estimate reaches the threshold count as
        found; one that is missing counts as not covered.
    precision : iterable of Precision
    min_support : float
    """
    estimates = {tuple(itemset.items.items()): itemset for itemset in examined}
    verdicts = {entry.length: entry for entry in precision}
    rows = []
    for length in sorted({len(key) for key in truth}):
        frequent = {key for key, s in truth.items() if len(key) == length and s >= min_support}
        found = {
            key
            for key, itemset in estimates.items()
            if len(key) == length and itemset.support >= min_support
        }
        errors = [abs(estimates[key].support - truth[key]) / truth[key] for key in frequent & found]
        covered = [_holds(estimates.get(key), truth[key]) for key in frequent]
        rows.append(
            LengthComparison(
                length=length,
                frequent=len(frequent),
                found=len(found),
                support_error=_ratio(sum(errors), len(errors)),
                false_negatives=_ratio(len(frequent - found), len(frequent)),
                false_positives=_ratio(len(found - frequent), len(frequent)),
                covered=_ratio(sum(covered), len(covered)),
                precision=verdicts.get(length),
            )
        )
    return rows


def errors_by_length(
    estimator: Estimator, truth: Counts, estimate: Method = "moment"
) -> list[float]:
    """Root-mean-square error of the supports of all itemsets of each length.

    Parameters
    ----------
    estimator : Estimator
    truth : Counts
        Of true records.
    estimate : {"moment", "projected", "likelihood"}
    """
    names = estimator.survey.schema.names
    found = []
    for length in range(1, len(names) + 1):
        squares = []
        for positions in combinations(range(len(names)), length):
            shares = truth.marginal(positions) / truth.reports
            estimated = estimator.support([names[j] for j in positions], estimate)
            squares.append(((estimated - shares) ** 2).ravel())
        found.append(float(np.sqrt(np.concatenate(squares).mean())))
    return found


def _holds(itemset: ItemsetEstimate | None, share: float) -> bool:
    if itemset is None or itemset.interval is None:
        return False
    return itemset.interval[0] <= share <= itemset.interval[1]


def _ratio(numerator: float, denominator: int) -> float | None:
    return numerator / denominator if denominator else None
