"""Rules against every split of every itemset, with Guo's Result 3."""

from itertools import combinations

import numpy as np
import pytest
from halftruth_collector.estimation import Counts, Estimator
from halftruth_shared import DomainTooLarge
from mined import itemsets_of, mined_rules, rules_of
from scipy.stats import norm
from witnesses import witness

from .definitions import TARGETS

SHAPE = (2, 3, 2)


def moments_by_hand(supports, covariance, both, left):
    """Result 3 for two indicator vectors over the cells of one table."""
    rest = left - both
    a, b = both @ supports, rest @ supports
    var_a, var_b = both @ covariance @ both, rest @ covariance @ rest
    cov = both @ covariance @ rest
    whole = a + b
    variance = (b**2 * var_a + a**2 * var_b - 2 * a * b * cov) / whole**4
    return a / whole, variance


def every_split(survey, reports, oracle, target):
    """Return {(antecedent, consequent): (support, variance, confidence, variance)}."""
    rules = {}
    for itemset, (support, variance) in oracle.itemsets(survey, reports, target).items():
        positions = [j for j, _ in itemset]
        names = [survey.schema.names[j] for j in positions]
        shape = [survey.schema.shape[j] for j in positions]
        supports = oracle.support(survey, reports, names)
        covariance = oracle.covariance(survey, reports, names, target)
        cells = np.indices(shape).reshape(len(shape), -1)
        fits = [cells[axis] == code for axis, (_, code) in enumerate(itemset)]
        for length in range(1, len(itemset)):
            for axes in combinations(range(len(itemset)), length):
                left = np.all([fits[axis] for axis in axes], axis=0).astype(float)
                if not left @ supports > 0:
                    continue
                both = np.all(fits, axis=0).astype(float)
                antecedent = tuple(itemset[axis] for axis in axes)
                consequent = tuple(item for item in itemset if item not in antecedent)
                rules[antecedent, consequent] = (
                    support,
                    variance,
                    *moments_by_hand(supports, covariance, both, left),
                )
    return rules


def side(schema, items):
    return tuple(
        (schema.position(name), schema.attributes[schema.position(name)].categories.index(item))
        for name, item in items.items()
    )


def mine(survey, reports, *args, target="population", **asked):
    """Return every rule, including those with a support not significantly above zero."""
    asked = {"include_uncertain": True, "max_length": 3} | asked
    counts = Counts.from_reports(survey, reports)
    return mined_rules(Estimator(survey, counts, target=target), *args, **asked)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("min_confidence", "confidence"), [(0, 0.95), (0.5, 0.99), (0, 0.5)])
def test_rules_are_the_confident_splits_of_the_itemsets(
    make_survey, make_reports, oracle, kind, target, min_confidence, confidence
):
    witness("Guo", "Result 2 and Equation 3.5")
    survey = make_survey(kind, SHAPE)
    reports = make_reports(survey, 3000, seed=41, concentration=0.5)
    estimator = Estimator(survey, Counts.from_reports(survey, reports), target=target)
    itemsets = itemsets_of(estimator, 0.1, 3, confidence)
    chosen = {side(survey.schema, row["itemset"]) for row in itemsets.rows}
    expected = {
        rule: numbers
        for rule, numbers in every_split(survey, reports, oracle, target).items()
        if tuple(sorted(rule[0] + rule[1])) in chosen and numbers[2] >= min_confidence
    }
    asked = {"target": target, "confidence": confidence}
    mined = mine(survey, reports, 0.1, min_confidence, **asked)
    found = {
        (side(survey.schema, rule.antecedent), side(survey.schema, rule.consequent)): rule
        for rule in rules_of(mined)
    }
    assert len(found) == len(mined) > 0
    assert found.keys() == expected.keys()
    # All rules of two or three answers.
    assert mined.candidates == 2 * (6 + 4 + 6) + 6 * 12
    assert mined.listed == len(expected)
    alpha = (1 - confidence) * len(expected) / mined.candidates
    for key, (support, variance, ratio, spread) in expected.items():
        rule = found[key]
        half = norm.isf(alpha / 2) * np.sqrt(variance)
        assert rule.support.value == pytest.approx(support, abs=1e-10)
        assert rule.support.standard_error == pytest.approx(np.sqrt(variance), rel=1e-8)
        assert rule.support.interval == pytest.approx((support - half, support + half), abs=1e-9)
        assert rule.value == pytest.approx(ratio, rel=1e-9)
        assert rule.standard_error == pytest.approx(np.sqrt(spread), rel=1e-7)


def test_categories_that_are_no_items_form_no_rules_but_count_in_antecedents(
    make_survey, make_reports
):
    # Respondents without an item of the consequent still belong to the antecedent.
    reports = make_reports(make_survey("randomized-response", SHAPE), 3000, seed=45)
    every = mine(make_survey("randomized-response", SHAPE), reports, 0.01, 0)
    some = mine(make_survey("randomized-response", SHAPE, {1: [2]}), reports, 0.01, 0)
    known = {(str(rule.antecedent), str(rule.consequent)): rule.value for rule in rules_of(every)}
    assert 0 < len(some) < len(every)
    for rule in rules_of(some):
        assert {**rule.antecedent, **rule.consequent}.get("b", "c2") == "c2"
        assert rule.value == pytest.approx(known[str(rule.antecedent), str(rule.consequent)])


def test_a_rule_without_a_positive_antecedent_is_omitted(make_survey):
    # p = 18/22, and uniform draws add 1/22 to each of four cells: the estimate of (0, 0) is
    # (0.10 − 1/22)·22/18 and that of (0, 1) is (0 − 1/22)·22/18; for a = 0 alone it is 0.0111.
    survey = make_survey("gamma-diagonal", (2, 2))
    cells = [[0, 0], [1, 0], [1, 1]]
    positive = Estimator(survey, Counts.from_cells(survey, cells, [20, 90, 90]))
    negative = Estimator(survey, Counts.from_cells(survey, cells, [17, 91, 92]))
    assert positive.table(["a"]).value[0] == pytest.approx(1 / 90)
    assert negative.table(["a"]).value[0] < 0 < negative.table(["a", "b"]).value[0, 0]

    def antecedents(estimator):
        rules = mined_rules(estimator, 0.02, 0, max_length=2, include_uncertain=True)
        return [
            (rule.antecedent, rule.consequent)
            for rule in rules_of(rules)
            if {**rule.antecedent, **rule.consequent} == {"a": "c0", "b": "c0"}
        ]

    other = ({"b": "c0"}, {"a": "c0"})
    # The small antecedent leaves the rule without an interval, and therefore last.
    assert antecedents(positive) == [other, ({"a": "c0"}, {"b": "c0"})]
    assert antecedents(negative) == [other]


def test_one_report_gives_rules_without_bounds(make_survey):
    survey = make_survey("gamma-diagonal", SHAPE)
    rules = rules_of(mine(survey, np.array([[1, 2, 0]]), 0.5, 0))
    assert rules
    for rule in rules:
        assert np.isfinite(rule.value)
        assert rule.support.standard_error is None
        assert rule.support.interval is None
        assert rule.standard_error is None


@pytest.mark.parametrize("asked", [{"min_support": 1}, {"min_support": 0.05, "max_length": 1}])
def test_a_list_of_rules_can_be_empty(make_survey, make_reports, asked):
    survey = make_survey("gamma-diagonal", SHAPE)
    rules = mine(survey, make_reports(survey, 3000, seed=46), min_confidence=0, **asked)
    assert list(rules.rows) == []
    assert rules.codes.shape == (0, 3)
    asked |= {"measures": ["lift", "conviction"], "min_confidence": 0}
    assert list(mine(survey, make_reports(survey, 3000, seed=46), **asked).rows) == []


def test_a_certain_consequent_of_public_answers_has_confidence_one(public_survey):
    survey = public_survey((2, 2))
    counts = Counts.from_cells(survey, [[0, 0], [1, 0], [1, 1]], [30, 50, 20])
    rules = mined_rules(Estimator(survey, counts), 0.1, 0.9, max_length=2)
    sides = [(rule.antecedent, rule.consequent) for rule in rules_of(rules)]
    assert sides == [({"a": "c0"}, {"b": "c0"}), ({"b": "c1"}, {"a": "c1"})]
    np.testing.assert_allclose([rule.value for rule in rules_of(rules)], 1)


def test_too_many_rules_are_refused_before_estimation(make_survey, make_reports, monkeypatch):
    survey = make_survey("gamma-diagonal", SHAPE)
    reports = make_reports(survey, 300, seed=61)
    monkeypatch.setattr("halftruth_collector.estimation.rules.MAX_RULES", 3)
    with pytest.raises(DomainTooLarge, match="rules to examine; expected at most 3") as caught:
        mine(survey, reports, 0.01, 0)
    assert caught.value.field == "max_length"
