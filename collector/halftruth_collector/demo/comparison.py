"""Found itemsets against the truth, by length (FRAPP §7)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np
from halftruth_shared import Schema
from halftruth_shared.analyses.itemsets import ItemsetEstimate, Precision

from ..estimation import Counts
from ..rivals.errors import MiningErrors, mining_errors

#: An itemset as a key: its (attribute, category) pairs in schema order.
Itemset = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class LengthComparison:
    """How well the itemsets of one length were found.

    Attributes
    ----------
    length : int
    errors : MiningErrors
    covered : float or None
        Share of the truly frequent ones whose interval holds the true support.
    precision : Precision or None
        What the collector itself says of this length; None where it examined none.
    """

    length: int
    errors: MiningErrors
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
        keys = [key for key in truth if len(key) == length]
        true = np.array([truth[key] for key in keys])
        estimated = np.array([_support(estimates.get(key)) for key in keys])
        covered = [
            _holds(estimates.get(key), truth[key]) for key in keys if truth[key] >= min_support
        ]
        rows.append(
            LengthComparison(
                length=length,
                errors=mining_errors(true, estimated, estimated >= min_support, min_support),
                covered=sum(covered) / len(covered) if covered else None,
                precision=verdicts.get(length),
            )
        )
    return rows


def _holds(itemset: ItemsetEstimate | None, share: float) -> bool:
    if itemset is None or itemset.interval is None:
        return False
    return itemset.interval[0] <= share <= itemset.interval[1]


def _support(itemset: ItemsetEstimate | None) -> float:
    """NaN for one that was ruled out, which is below every threshold."""
    return np.nan if itemset is None else itemset.support
