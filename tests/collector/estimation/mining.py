"""Brute-force mining by loops over all subsets; an itemset is a tuple of (position, code)."""

import math
from itertools import combinations

from scipy.stats import norm


def subsets(itemset):
    """Return all non-empty subsets of an itemset."""
    return [part for k in range(1, len(itemset) + 1) for part in combinations(itemset, k)]


def benjamini_hochberg(p_values, rate, candidates):
    """Keys of the k smallest p-values, for the largest k that fits."""
    ordered = sorted((p, key) for key, p in p_values.items() if not math.isnan(p))
    most = max((k for k, (p, _) in enumerate(ordered, 1) if p <= k * rate / candidates), default=0)
    return {key for _, key in ordered[:most]}


def as_itemset(codes):
    return tuple((j, code) for j, code in enumerate(codes) if code >= 0)


def nearly(threshold):
    """The threshold but for rounding of supports that equal it."""
    return threshold - 1e-9 * threshold


def p_value(support, error, threshold):
    """P-value of a support that is at most the threshold under the null hypothesis."""
    if error == 0:
        return 0.0 if support >= nearly(threshold) else 1.0
    return norm.sf((support - threshold) / error)


def brute_force(bounds, candidates, min_support, max_length, confidence):
    """Mine by brute force, from the support and variance of every itemset.

    An itemset is examined unless a proper subset has an upper bound below the threshold; these
    bounds hold simultaneously for all subsets of the longest itemset. Returns
    {itemset: (support, error, lower, upper, decision)} and {itemset: half-width}.
    """
    longest = max(len(itemset) for itemset in bounds)
    longest = min(longest, max_length or longest)
    alpha = 1 - confidence
    z, wider = norm.isf(alpha / 2), norm.isf(alpha / 2 / 2**longest)
    family = {x: (support, math.sqrt(variance)) for x, (support, variance) in bounds.items()}
    ruled_out = {x for x, (s, e) in family.items() if s + wider * e < nearly(min_support)}
    examined = {
        x: values
        for x, values in family.items()
        if len(x) <= longest and ruled_out.isdisjoint(set(subsets(x)) - {x})
    }
    p_values = {x: p_value(s, e, min_support) for x, (s, e) in examined.items()}
    frequent = benjamini_hochberg(p_values, alpha / 2, candidates)
    chosen = [x for x, (s, _) in examined.items() if s >= nearly(min_support)]
    widened = norm.isf(alpha / 2 * len(chosen) / candidates) if chosen else z
    selected = {
        x: (
            s,
            e,
            s - widened * e,
            s + widened * e,
            "frequent" if x in frequent else "undecided",
        )
        for x in chosen
        for s, e in [examined[x]]
    }
    return selected, {x: z * error for x, (_, error) in examined.items()}
