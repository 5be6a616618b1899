"""Baskets of the IBM Quest generator: sizes, common items, corruption, and rules among them."""

from collections import Counter
from itertools import islice, pairwise

import numpy as np
import pytest
from halftruth_studies.mining.quest import Quest
from halftruth_studies.mining.rules import Thresholds, mine_rules, perturb, rule_errors
from witnesses import witness

SMALL = Quest(baskets=10_000, items=100, itemsets=150)


@pytest.fixture(scope="module")
def baskets():
    return SMALL.simulate(np.random.default_rng(7))


def test_baskets_have_the_mean_size_asked_for(baskets):
    assert baskets.shape == (10_000, 100)
    sizes = baskets.sum(axis=1)
    assert sizes.min() >= 1
    # What does not fit is added in half of the cases, and else leaves a basket short.
    assert sizes.mean() == pytest.approx(10, abs=0.5)


def test_itemsets_have_poisson_sizes_and_share_items_with_the_one_before():
    itemsets = Quest(itemsets=20_000).large_itemsets(np.random.default_rng(8))
    sizes = np.array([len(itemset) for itemset in itemsets])
    chances = np.exp(-4) * 4.0 ** np.arange(9) / np.cumprod([1, *range(1, 9)])
    chances[1] += chances[0]
    for size in range(1, 9):
        # Each is within four standard errors but once in 16 000 times.
        error = np.sqrt(chances[size] / len(sizes))
        assert (sizes == size).mean() == pytest.approx(chances[size], abs=4 * error)
    assert all(len(set(itemset)) == len(itemset) for itemset in itemsets)
    common = [len(set(x) & set(y)) / len(y) for x, y in pairwise(itemsets) if len(x) >= len(y) > 3]
    # The mean of an exponential variable of mean 1/2, cut at 1, is (1 − e⁻²)/2.
    assert np.mean(common) == pytest.approx((1 - np.exp(-2)) / 2, abs=0.02)


def test_itemsets_lose_items_by_their_corruption_level():
    # With one itemset there is one level c, and k items are lost with probability c^k (1 − c).
    for seed in range(5):
        itemset, rng = tuple(range(40)), np.random.default_rng(seed)
        sizes = Counter(len(part) for part in islice(SMALL.parts([itemset], rng), 5_000))
        lost = np.array([sizes[40 - k] for k in range(40)]) / 5_000
        level = 1 - lost[0]
        np.testing.assert_allclose(lost[:5], level ** np.arange(5) * (1 - level), atol=0.03)
        assert 0 <= level < 1


def test_corruption_levels_are_normal():
    itemsets = [tuple(range(40 * k, 40 * k + 40)) for k in range(900)]
    parts = islice(SMALL.parts(itemsets, np.random.default_rng(12)), 50_000)
    whole, drawn = np.zeros((2, 900))
    for part in parts:
        drawn[part[0] // 40] += 1
        whole[part[0] // 40] += len(part) == 40
    levels = 1 - whole[drawn >= 10] / drawn[drawn >= 10]
    # Of a level of 1 or more nothing is left, so that such itemsets are never drawn.
    expected = np.random.default_rng(13).normal(0.5, np.sqrt(0.1), 100_000)
    expected = np.maximum(expected[expected < 1], 0)
    # Four standard errors.
    assert levels.mean() == pytest.approx(expected.mean(), abs=4 * 0.28 / np.sqrt(len(levels)))
    assert levels.std() == pytest.approx(expected.std(), abs=0.04)


def test_items_that_remain_are_drawn_evenly():
    parts = islice(SMALL.parts([tuple(range(4))], np.random.default_rng(9)), 20_000)
    counts = Counter(item for part in parts for item in part)
    shares = np.array([counts[item] for item in range(4)]) / counts.total()
    np.testing.assert_allclose(shares, 0.25, atol=0.01)


def test_bounds_decide_among_rules_of_t10_i4_as_among_those_of_coil(baskets):
    row = witness("Guo", "Tables 3.4–3.5 (T10.I4)")
    thresholds = Thresholds(0.02, 0.5, 2)
    true = mine_rules(baskets, 1.0, thresholds)
    assert len(true) > 20
    support_errors = []
    for keep in (0.8, 0.95):
        reports = perturb(baskets, keep, np.random.default_rng(10))
        lower, estimate, upper = (
            rule_errors(true, mine_rules(reports, keep, thresholds, decision))
            for decision in ("lower", "estimate", "upper")
        )
        assert lower.false_positives == 0
        assert upper.false_negatives < estimate.false_negatives < lower.false_negatives
        support_errors.append(estimate.support_error)
    assert support_errors == sorted(support_errors, reverse=True)
    assert row.state == "differs"
