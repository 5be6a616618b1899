"""Mining of rules from randomized baskets, and its errors (Guo §3.2).

A basket holds some of the items, and a report says of each item with probability p whether it is in
the basket, and otherwise the opposite (MASK). The value (y − 1 + p)/(2p − 1) of a reported bit y is
an unbiased estimate of the true bit, and so is the product of these values for an itemset. Supports
are means of such products, with covariances as in Guo's Result 1.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import combinations, compress
from typing import Literal, NamedTuple

import numpy as np
from halftruth_collector.demo.comparison import mining_errors
from halftruth_collector.estimation.bounds import normal_quantile
from halftruth_shared.channels.axes import Array
from numpy.typing import NDArray

from .confidence import Confidences, chebyshev_interval

Baskets = NDArray[np.bool_]
Itemset = tuple[int, ...]

#: What is held against a threshold: the estimate, or an end of its interval.
Decision = Literal["lower", "estimate", "upper"]

#: Largest number of products that are computed at once.
_AT_ONCE = 2**22


class Rule(NamedTuple):
    """A rule X ⇒ Y, by the positions of its items."""

    antecedent: Itemset
    consequent: Itemset


@dataclass(frozen=True)
class Thresholds:
    """Which rules are found.

    Attributes
    ----------
    support, confidence : float
        Smallest support of X and Y together, and smallest confidence.
    max_length : int
        Largest number of items of X and Y together.
    alpha : float
        Level α of intervals: normal ones of supports, Chebyshev's of confidences.
    """

    support: float
    confidence: float
    max_length: int
    alpha: float = 0.05


#: Support and confidence of the rules found.
Found = dict[Rule, tuple[float, float]]


class RuleErrors(NamedTuple):
    """Errors of the rules found, R, if F are the true ones.

    Attributes
    ----------
    rules, found : float
        |F| and |R|.
    support_error, confidence_error : float
        ρ and γ, means of |ŝ − s|/s and |ĉ − c|/c over F∩R; NaN if it is empty.
    false_positives, false_negatives : float
        σ⁺ = |R−F|/|F| and σ⁻ = |F−R|/|F|.
    support_conflicts, confidence_conflicts : float
        Number of pairs of rules in F∩R whose supports, or confidences, are estimated in the reverse
        order (s-p and c-p).
    """

    rules: float
    found: float
    support_error: float
    confidence_error: float
    false_positives: float
    false_negatives: float
    support_conflicts: float
    confidence_conflicts: float


def perturb(baskets: Baskets, keep: float, rng: np.random.Generator) -> Baskets:
    """Simulate reports in which each bit is kept with a probability, and else flipped."""
    flipped = np.empty_like(baskets)
    for row in range(len(baskets)):
        flipped[row] = rng.random(baskets.shape[1], dtype=np.float32) >= keep
    return baskets ^ flipped


def mine_rules(
    reports: Baskets, keep: float, thresholds: Thresholds, decision: Decision = "estimate"
) -> Found:
    """Find the rules whose support and confidence reach the thresholds, by Apriori.

    Parameters
    ----------
    keep : float
        p, above ½; 1 for true baskets.
    decision : {"lower", "estimate", "upper"}
        What has to reach the thresholds, of itemsets as well as of rules.
    """
    supports = _frequent(reports, keep, thresholds, decision)
    rules = [
        Rule(antecedent, tuple(item for item in itemset if item not in antecedent))
        for itemset in supports
        for size in range(1, len(itemset))
        for antecedent in combinations(itemset, size)
    ]
    if not rules:
        return {}
    confidences = _confidences(reports, keep, rules, supports)
    reached = confidences.value
    if decision != "estimate":
        reached = chebyshev_interval(confidences, thresholds.alpha)[decision == "upper"]
    values = zip(confidences.numerator.tolist(), confidences.value.tolist(), strict=True)
    kept = (reached >= thresholds.confidence).tolist()
    return dict(compress(zip(rules, values, strict=True), kept))


def rule_errors(true: Found, found: Found) -> RuleErrors:
    """Compare the rules found with the true ones."""
    rules = sorted(true.keys() | found.keys())
    missing = (np.nan, np.nan)
    actual, estimated = (
        np.array([of.get(rule, missing) for rule in rules]).reshape(-1, 2) for of in (true, found)
    )
    there = ~np.isnan(estimated[:, 0])
    # A rule that is not true is below its threshold.
    of_support, of_confidence = (
        mining_errors(np.nan_to_num(actual[:, k], nan=-1.0), estimated[:, k], there, 0.0)
        for k in (0, 1)
    )
    both = there & ~np.isnan(actual[:, 0])
    conflicts = [_conflicts(actual[both, k], estimated[both, k]) for k in (0, 1)]
    numbers = (
        of_support.support_error,
        of_confidence.support_error,
        of_support.false_positives,
        of_support.false_negatives,
    )
    return RuleErrors(
        of_support.frequent,
        of_support.found,
        *(np.nan if number is None else number for number in numbers),
        *conflicts,
    )


def _conflicts(actual: Array, estimated: Array) -> int:
    """Count the pairs in reverse order."""
    order = [np.sign(values[:, None] - values) for values in (actual, estimated)]
    return int((order[0] * order[1] < 0).sum()) // 2


def _frequent(
    reports: Baskets, keep: float, thresholds: Thresholds, decision: Decision
) -> dict[Itemset, tuple[float, float]]:
    """Return support and variance of the frequent itemsets, level by level."""
    side = {"lower": -1, "estimate": 0, "upper": 1}[decision]
    reach = side * normal_quantile(thresholds.alpha)
    supports: dict[Itemset, tuple[float, float]] = {}
    items: list[Itemset] = [(j,) for j in range(reports.shape[1])]
    level: list[Itemset] = [()]
    for length in range(1, thresholds.max_length + 1):
        mean, _, square = _means(reports, keep, level, items)
        variance = np.maximum(square - mean**2, 0) / (len(reports) - 1)
        reached = mean + reach * np.sqrt(variance) >= thresholds.support
        found: dict[Itemset, tuple[float, float]] = {}
        for row, column in np.argwhere(reached).tolist():
            itemset = level[row] + items[column]
            shorter = list(combinations(itemset, length - 1)) if length > 1 else []
            if list(itemset[-2:]) == sorted(set(itemset[-2:])) and supports.keys() >= set(shorter):
                found[itemset] = (float(mean[row, column]), float(variance[row, column]))
        supports |= found
        level = list(found)
        items = items if length > 1 else level
        if not level:
            break
    return supports


def _confidences(
    reports: Baskets,
    keep: float,
    rules: Sequence[Rule],
    supports: Mapping[Itemset, tuple[float, float]],
) -> Confidences:
    """Return the confidences of rules, with the covariance of the two supports."""
    sides = sorted({side for rule in rules for side in rule})
    places = {side: place for place, side in enumerate(sides)}
    first, second = np.array([[places[x], places[y]] for x, y in rules]).T
    both, var_both = np.array([supports[tuple(sorted(x + y))] for x, y in rules]).T
    left, var_left = np.array([supports[x] for x, _ in rules]).T
    # The product of the estimates of X and Y together and of X is that of X², and Y.
    product = _means(reports, keep, sides, sides)[1][first, second]
    cov = (product - both * left) / (len(reports) - 1)
    return Confidences(both, left, var_both, var_left, cov)


def _means(
    reports: Baskets,
    keep: float,
    first: Sequence[Itemset],
    second: Sequence[Itemset],
) -> tuple[Array, Array, Array]:
    """Return means of the products of the estimates x and y of two lists of itemsets.

    Returns
    -------
    tuple of ndarray, shape (len(first), len(second))
        The means of x·y, of x²·y and of x²·y².
    """
    places = [_places(itemsets, reports.shape[1]) for itemsets in (first, second)]
    total = np.zeros((3, len(first), len(second)))
    step = max(1, _AT_ONCE // max(len(first), len(second), reports.shape[1]))
    for start in range(0, len(reports), step):
        values = (reports[start : start + step] - (1 - keep)) / (2 * keep - 1)
        values = np.column_stack([values, np.ones(len(values))])
        x, y = (
            reduce(np.multiply, [values[:, column] for column in columns]) for columns in places
        )
        squares = x**2
        total += [x.T @ y, squares.T @ y, squares.T @ y**2]
    return tuple(total / len(reports))


def _places(itemsets: Sequence[Itemset], nothing: int) -> NDArray[np.int64]:
    """Return the items of each itemset as columns, padded with the place of a column of ones."""
    longest = max(1, *map(len, itemsets))
    padded = [itemset + (nothing,) * (longest - len(itemset)) for itemset in itemsets]
    return np.array(padded).T
