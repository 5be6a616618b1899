"""Reliability grades of estimates."""

import math

import numpy as np
import pytest
from halftruth_collector.analyses.itemsets import precision_of
from halftruth_collector.analyses.rules import precision_of_rule
from halftruth_collector.analyses.shares import precision
from halftruth_collector.estimation import Estimator
from halftruth_collector.estimation.reliability import (
    LengthPrecision,
    grades,
    margin,
    reliability,
)
from halftruth_shared import Attribute, GammaDiagonal, Schema, Survey
from halftruth_shared.results.wording import GAP
from mined import mined_rules, rules_of
from sources import counts_of

YES_NO = Schema([Attribute(name, ["no", "yes"]) for name in ("smoker", "coughs", "tired")])
SHARES = np.array([[[30, 10], [5, 5]], [[5, 5], [10, 30]]]) / 100


def estimator_of(mechanism, respondents, seed=1):
    survey = Survey("s", "S", YES_NO, mechanism)
    rng = np.random.default_rng(seed)
    cells = rng.choice(8, respondents, p=SHARES.ravel())
    records = np.stack(np.unravel_index(cells, (2, 2, 2)), axis=1)
    return Estimator(survey, counts_of(survey, records, rng))


def test_shares_are_graded_by_their_margin_in_points():
    assert grades([0.05, 0.0501, 0.1, 0.1001, np.inf, np.nan]).tolist() == [0, 1, 1, 2, 2, 2]
    assert [reliability(points) for points in (0.05, 0.074, 0.11, math.nan)] == [
        "usable", "barely usable", "not usable", "not usable",
    ]  # fmt: skip


def test_ratios_are_graded_by_the_factor_to_either_end():
    # An interval from 1 to 4 is a factor of 2 to either side of 2, on any scale.
    lower, upper = np.array([1.0, 10.0, 0.1, 1.0, 0.0]), np.array([2.25, 40.0, 0.9, np.inf, 3.0])
    margins = margin(lower, upper, ratio=True)
    assert margins == pytest.approx([1.5, 2.0, 3.0, np.inf, np.inf])
    assert grades(margins, ratio=True).tolist() == [0, 1, 2, 2, 2]


def test_the_precision_of_a_table_is_its_median_margin():
    widths = np.array([[0.01, 0.04], [0.04, 0.2]])
    assert precision(widths).sentence == (
        f"Usable: shares are known to ±4.0 points, and those up to 4.0{GAP}% are not significantly"
        " above zero."
    )


def test_few_reports_for_each_cell_are_mentioned_without_changing_the_grade():
    few, enough = (precision(np.full((2, 2), 0.01), reports) for reports in (9.0, 20.0))
    assert few.values["reliability"] == "usable"
    assert "about 9.0 reports for each cell" in few.sentence
    assert "few_reports" not in enough.values


def test_the_precision_of_itemsets_mentions_supports_not_above_zero():
    fine, coarse = (precision_of(LengthPrecision(1, 3, w, 100), 0.02) for w in (0.01, 0.03))
    assert fine.sentence == "Length 1 is usable: supports are known to ±1.0 points."
    assert coarse.values["reliability"] == "usable"
    assert coarse.sentence.endswith("those up to 3.0\u202f% are not significantly above zero.")


def test_rules_with_uncertain_support_are_omitted_by_default():
    estimator = estimator_of(GammaDiagonal("2"), 300)
    listed = mined_rules(estimator, 0.01, 0, max_length=3)
    every = mined_rules(estimator, 0.01, 0, max_length=3, include_uncertain=True)
    assert len(every) > len(listed)
    assert len(every) == len(listed) + listed.left_out
    assert every.left_out == 0

    def is_positive(rule):
        half_width = 1.959964 * rule.support.standard_error
        return rule.support.value > half_width and half_width < 0.5

    assert all(map(is_positive, rules_of(listed)))
    assert sum(not is_positive(rule) for rule in rules_of(every)) == listed.left_out


def test_a_rule_with_an_uncertain_antecedent_is_not_usable_and_says_so():
    estimator = estimator_of(GammaDiagonal("2"), 400)
    every = rules_of(mined_rules(estimator, 0.01, 0, max_length=3, include_uncertain=True))
    unbounded = [rule for rule in every if rule.set != "interval"]
    assert unbounded
    for rule in unbounded:
        assert rule.reliability == "not usable"
        [said, *_] = precision_of_rule(rule.confidence, rule.support)
        assert "can have any value" in said.sentence
