"""Brute force of mining, by plain loops over all subset relations.

An itemset is a tuple of (position, code), a family a dict of these.
"""

import math
from itertools import combinations

import numpy as np
from scipy.stats import norm

#: Selections that decide on every itemset alone, and those that decide on all at once.
ALONE = ("estimate", "lower", "upper")
TOGETHER = ("bonferroni", "holm")


def is_subset(small, large):
    return set(small) <= set(large)


def subsets(itemset):
    """All of an itemset but the empty one."""
    return [part for k in range(1, len(itemset) + 1) for part in combinations(itemset, k)]


def highest(support, error, quantile, slope):
    """The share that the estimate would be so many standard errors below, by bisection."""
    if math.isnan(error):
        return math.nan
    near, far = 0.0, 1.0 + 10 * quantile * error + 10 * quantile**2 * slope
    for _ in range(100):
        middle = (near + far) / 2
        below = middle <= quantile * math.sqrt(error**2 + slope * middle)
        near, far = (middle, far) if below else (near, middle)
    return support + near


def all_bounds(family, quantile, slopes=None):
    """Lower and upper bound of each itemset of {itemset: (support, error)}, NaN if one is unknown.

    Directly from the subset relation: the highest lower bound of all that contain it, the lowest
    upper bound of all that it contains.
    """
    known = {x: values for x, values in family.items() if not math.isnan(values[1])}
    result = {}
    for itemset in family:
        lower = [s - quantile * e for x, (s, e) in known.items() if is_subset(itemset, x)]
        upper = [
            highest(s, e, quantile, (slopes or {}).get(x, 0.0))
            for x, (s, e) in known.items()
            if is_subset(x, itemset)
        ]
        result[itemset] = (max(lower), min(upper)) if lower and upper else (math.nan, math.nan)
    return result


def step_down(p_values, alpha, candidates):
    """Holm's procedure, one p-value after the other."""
    rejected = set()
    for itemset, p in sorted(p_values.items(), key=lambda pair: pair[1]):
        if p > alpha / (candidates - len(rejected)):
            break
        rejected.add(itemset)
    return rejected


def proved(family, min_support, alpha, candidates, slopes=None):
    """Itemsets of {itemset: (support, error)} proved frequent, and those proved infrequent."""
    known = [x for x, (_, error) in family.items() if not math.isnan(error)]
    above = np.array([(family[x][0] - min_support) / family[x][1] for x in known])
    more = [(slopes or {}).get(x, 0.0) * max(min_support - family[x][0], 0.0) for x in known]
    below = [
        (min_support - family[x][0]) / math.sqrt(family[x][1] ** 2 + grown)
        for x, grown in zip(known, more, strict=True)
    ]
    large, small = (
        step_down(dict(zip(known, norm.sf(scores).tolist(), strict=True)), alpha, candidates)
        for scores in (above, below)
    )
    frequent = {x for x in family if any(is_subset(x, other) for other in large)}
    infrequent = {x for x in family if any(is_subset(other, x) for other in small)}
    return frequent, infrequent


def holm(family, min_support, alpha, candidates, slopes=None):
    """The same without those proved both ways."""
    frequent, infrequent = proved(family, min_support, alpha, candidates, slopes)
    return frequent - infrequent, infrequent - frequent


def closed_family(rng, shape, seeds):
    """Some random itemsets and all of their subsets, in random order."""
    found = set()
    for _ in range(seeds):
        length = rng.integers(1, len(shape) + 1)
        positions = sorted(rng.choice(len(shape), length, replace=False).tolist())
        found.update(subsets(tuple((j, int(rng.integers(shape[j]))) for j in positions)))
    return [sorted(found)[k] for k in rng.permutation(len(found))]


def as_codes(itemsets, attributes):
    codes = np.full((len(itemsets), attributes), -1, dtype=np.int64)
    for row, itemset in enumerate(itemsets):
        for position, code in itemset:
            codes[row, position] = code
    return codes


def as_itemset(codes):
    return tuple((j, code) for j, code in enumerate(codes) if code >= 0)


def slopes_of(survey, itemsets, min_support, target, reports):
    """By how much each variance grows up to the threshold, by the variances of both shares."""
    reconstruction, names = survey.mechanism.reconstruction(survey.schema), survey.schema.names
    found = {}
    for itemset, (support, _) in itemsets.items():
        unit = reconstruction.unit_variance([names[j] for j, _ in itemset], target)
        slope = unit.linear.max() + unit.quadratic.max() * (support + min_support)
        found[itemset] = max(slope, 0.0) / reports
    return found


def brute_force(bounds, slopes, candidates, min_support, max_length, confidence, select):
    """Brute force of mining, from the support and variance of every itemset, and what it examines.

    An itemset is examined if no proper subset of it has an upper bound below the threshold that
    holds for all subsets of the longest itemset at once: the error is shared by as many. The
    answers are {itemset: (support, error, lower, upper, decision)} and {itemset: half-width}.
    """
    longest = max(len(itemset) for itemset in bounds)
    longest = min(longest, max_length or longest)
    alpha = 1 - confidence
    z, wider = norm.isf(alpha / 2), norm.isf(alpha / 2 / 2**longest)
    family = {x: (support, math.sqrt(variance)) for x, (support, variance) in bounds.items()}
    ruled_out = {x for x, (s, e) in family.items() if s + wider * e < min_support}
    examined = {
        x: values
        for x, values in family.items()
        if len(x) <= longest and ruled_out.isdisjoint(set(subsets(x)) - {x})
    }
    ends = {x: (s - z * e, s + z * e) for x, (s, e) in examined.items()}
    if select == "bonferroni":
        ends = all_bounds(examined, norm.isf(alpha / candidates), slopes)
    if select == "holm":
        chosen = holm(examined, min_support, alpha, candidates, slopes)[0]
    else:
        reached = {
            "estimate": lambda support, lower, upper: support >= min_support,
            "upper": lambda support, lower, upper: not upper < min_support,
        }.get(select, lambda support, lower, upper: lower >= min_support)
        chosen = {x for x, (s, _) in examined.items() if reached(s, *ends[x])}
    selected = {}
    for x in chosen:
        lower, upper = ends[x]
        decision = "infrequent" if upper < min_support else "undecided"
        if lower >= min_support or select in TOGETHER:
            decision = "frequent"
        selected[x] = (*examined[x], lower, upper, decision)
    half = norm.isf(alpha / candidates) if select == "bonferroni" else z
    return selected, {x: half * error for x, (_, error) in examined.items()}
