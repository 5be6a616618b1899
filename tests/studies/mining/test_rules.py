"""Rules mined from randomized baskets, against dense matrices, the collector and all subsets."""

from itertools import chain, combinations

import numpy as np
import pytest
from halftruth_collector.estimation import Counts, Estimator
from halftruth_shared import Attribute, RandomizedResponse, Schema, Survey
from halftruth_studies.mining.coil import COUNTS, ITEMS, coil_items
from halftruth_studies.mining.rules import (
    Rule,
    Thresholds,
    mine_rules,
    perturb,
    rule_errors,
)
from reference import reference_file
from witnesses import witness

#: Standard errors of normal and Chebyshev's intervals of 95 %.
NORMAL, CHEBYSHEV = 1.959964, 0.05**-0.5


def baskets(people=4_000, items=6, seed=1):
    """Return associated items: the share of each item depends on a common factor."""
    rng = np.random.default_rng(seed)
    factor = rng.normal(size=(people, 1))
    return factor + rng.normal(size=(people, items)) > np.linspace(-1, 0.5, items)


def dense_estimates(reports, keep, items):
    """Return the estimated support of some items and its weight of each report, by inversion."""
    inverse = np.ones((1, 1))
    for _ in items:
        inverse = np.kron(inverse, np.linalg.inv([[keep, 1 - keep], [1 - keep, keep]]))
    cells = reports[:, items] @ (2 ** np.arange(len(items))[::-1])
    weights = inverse[-1][cells]
    return weights.mean(), weights


def all_rules(reports, keep, thresholds, side):
    """Find rules by looking at each of them."""
    frequent, n = {}, len(reports)
    for length in range(1, thresholds.max_length + 1):
        for itemset in combinations(range(reports.shape[1]), length):
            support, weights = dense_estimates(reports, keep, itemset)
            error = weights.std(ddof=1) / np.sqrt(n)
            subsets = combinations(itemset, length - 1) if length > 1 else ()
            if support + side * NORMAL * error >= thresholds.support and set(subsets) <= set(
                frequent
            ):
                frequent[itemset] = support, weights
    found = {}
    for itemset, (both, of_both) in frequent.items():
        for x in chain.from_iterable(combinations(itemset, k) for k in range(1, len(itemset))):
            left, of_left = frequent[x]
            c, cov = both / left, np.cov(of_both, of_left) / n
            mean = c + (c * cov[1, 1] - cov[0, 1]) / left**2 if side else c
            error = np.sqrt(cov[0, 0] - 2 * c * cov[0, 1] + c**2 * cov[1, 1]) / left
            if mean + side * CHEBYSHEV * error >= thresholds.confidence:
                found[x, tuple(sorted(set(itemset) - set(x)))] = both, c
    return found


@pytest.mark.parametrize(
    ("decision", "side"), [("lower", -1), ("estimate", 0), ("upper", 1), ("true", 0)]
)
def test_rules_are_those_found_by_looking_at_each(decision, side):
    keep = 1.0 if decision == "true" else 0.85
    reports = perturb(baskets(), keep, np.random.default_rng(2))
    thresholds = Thresholds(0.25, 0.6, 4)
    found = mine_rules(reports, keep, thresholds, "estimate" if side == 0 else decision)
    expected = all_rules(reports, keep, thresholds, side)
    assert found.keys() == expected.keys()
    assert len(found) > 10
    for rule, (support, confidence) in found.items():
        assert (support, confidence) == pytest.approx(expected[rule])


def test_supports_and_confidences_are_those_of_the_collector():
    reports = perturb(baskets(items=3), 0.8, np.random.default_rng(3))
    schema = Schema([Attribute(name, ["no", "yes"]) for name in "abc"])
    survey = Survey("b", "B", schema, RandomizedResponse(dict.fromkeys("abc", "0.8")))
    estimator = Estimator(survey, Counts.from_reports(survey, reports.astype(np.int64)))
    support, confidence = mine_rules(reports, 0.8, Thresholds(0.05, 0.1, 3))[Rule((0, 2), (1,))]
    assert support == pytest.approx(estimator.table(["a", "b", "c"]).value[1, 1, 1])
    assert confidence == pytest.approx(support / estimator.table(["a", "c"]).value[1, 1])


def test_each_bit_is_flipped_with_the_same_probability():
    true = baskets(people=20_000)
    flipped = (perturb(true, 0.7, np.random.default_rng(4)) ^ true).mean(axis=0)
    # Each of the six shares is outside of four standard errors once in 16 000 times.
    assert np.abs(flipped - 0.3).max() < 4 * np.sqrt(0.21 / 20_000)


def test_errors_are_those_of_the_sets_of_rules():
    rng = np.random.default_rng(5)
    rules = [Rule((x,), (y,)) for x in range(5) for y in range(5) if x != y]
    for _ in range(20):
        true, found = (
            {rule: tuple(rng.uniform(0.1, 0.9, 2)) for rule in rules if rng.random() < 0.6}
            for _ in range(2)
        )
        errors = rule_errors(true, found)
        F, R = set(true), set(found)
        assert errors[:2] == (len(F), len(R))
        assert errors.false_positives == pytest.approx(len(R - F) / len(F))
        assert errors.false_negatives == pytest.approx(len(F - R) / len(F))
        for k, error, conflicts in ((0, *errors[2::4]), (1, *errors[3::4])):
            relative = [abs(found[r][k] - true[r][k]) / true[r][k] for r in F & R]
            assert error == pytest.approx(np.mean(relative))
            assert conflicts == sum(
                (true[r][k] - true[s][k]) * (found[r][k] - found[s][k]) < 0
                for r, s in combinations(F & R, 2)
            )


def test_conflicts_are_not_counted_between_equal_supports():
    x, y = Rule((0,), (1,)), Rule((1,), (0,))
    errors = rule_errors({x: (0.3, 0.5), y: (0.3, 0.6)}, {x: (0.31, 0.7), y: (0.29, 0.6)})
    assert (errors.support_conflicts, errors.confidence_conflicts) == (0, 1)


def test_nothing_is_found_where_nothing_is_frequent():
    assert mine_rules(baskets(), 1.0, Thresholds(1.0, 0.5, 3)) == {}
    errors = rule_errors({Rule((0,), (1,)): (0.3, 0.5)}, {})
    assert (errors.found, errors.false_negatives) == (0, 1)
    assert np.isnan(errors.support_error)


# COIL


def test_items_of_coil_have_the_printed_shares():
    row = witness("Guo", "Table 3.1")
    items = coil_items(reference_file("data/ticdata2000.txt"))
    assert items.shape == (5822, 86)
    shares = [
        (items[:, ITEMS[x][0] - 1] == i) & (items[:, ITEMS[y][0] - 1] == j)
        for x, y in ("AD", "GH")
        for i in (0, 1)
        for j in (0, 1)
    ]
    row.assert_own(np.mean(shares, axis=1))
    for rule, counts in COUNTS.items():
        x, y = (items[:, ITEMS[name][0] - 1] for name in rule.split(" ⇒ "))
        assert [
            [(~x & ~y).sum(), (~x & y).sum()],
            [(x & ~y).sum(), (x & y).sum()],
        ] == counts.tolist()


def test_intervals_of_the_seven_most_supported_rules_cover_the_truth():
    row = witness("Guo", "Table 3.2")
    items = coil_items(reference_file("data/ticdata2000.txt"))
    ten = items[:, [column - 1 for column, _ in ITEMS.values()]]
    pairs = sorted(combinations(range(10), 2), key=lambda pair: -ten[:, pair].all(axis=1).sum())
    true = ten[:, pairs[:7]].all(axis=2).mean(axis=0)
    row.assert_own(true)
    rng, missed = np.random.default_rng(11), 0
    for _ in range(30):
        reports = perturb(ten, 0.65, rng)
        for pair, share in zip(pairs, true, strict=False):
            support, weights = dense_estimates(reports, 0.65, pair)
            missed += abs(support - share) > NORMAL * weights.std(ddof=1) / np.sqrt(len(ten))
    # About one in 20 of these 210 is expected to miss; 26 or more would once in 50 000 times.
    assert 1 <= missed <= 25


def errors_of_coil(keep, *decisions):
    """Return the errors of rules of COIL in one draw, for each thing that decides."""
    items = coil_items(reference_file("data/ticdata2000.txt"))
    reports = perturb(items, keep, np.random.default_rng(6))
    thresholds = Thresholds(0.25, 0.8, 3)
    true = mine_rules(items, 1.0, thresholds)
    assert len(true) == 548
    return [
        rule_errors(true, mine_rules(reports, keep, thresholds, decision)) for decision in decisions
    ]


def test_lower_bounds_suppress_false_positives_and_upper_bounds_false_negatives():
    row = witness("Guo", "Table 3.3 (order)")
    for keep in (0.75, 0.85):
        lower, estimate, upper = errors_of_coil(keep, "lower", "estimate", "upper")
        assert lower.false_positives == 0 < estimate.false_positives
        assert upper.false_negatives <= 0.005 < estimate.false_negatives
        assert lower.false_negatives > 0.1
        assert upper.false_positives > 0.1
    assert row.state == "equal"


def test_errors_of_rules_of_coil_fall_with_p():
    row = witness("Guo", "Table 3.3")
    errors = [errors_of_coil(keep, "estimate")[0] for keep in (0.65, 0.75, 0.85, 0.95)]
    for name in errors[0]._fields[2:]:
        measured = [getattr(each, name) for each in errors]
        if name != "false_negatives":
            assert measured == sorted(measured, reverse=True), name
    row.assert_own([100 * each.support_error for each in errors])
