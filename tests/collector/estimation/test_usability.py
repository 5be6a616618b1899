"""Verdicts: every estimate says whether it is precise enough to be used."""

import numpy as np
import pytest
from halftruth_collector.estimation import Counts, Estimator
from halftruth_collector.estimation.usability import (
    cell_reference,
    few_reports,
    grades,
    judge_measures,
    judge_table,
)
from halftruth_shared import Attribute, GammaDiagonal, RandomizedResponse, Schema, Survey

YES_NO = Schema([Attribute(name, ["no", "yes"]) for name in ("smoker", "coughs", "tired")])
LOW_NOISE = RandomizedResponse(dict.fromkeys(YES_NO.names, "0.95"))
SHARES = np.array([[[30, 10], [5, 5]], [[5, 5], [10, 30]]]) / 100


def estimator_of(mechanism, respondents, seed=1):
    survey = Survey("s", "S", YES_NO, mechanism)
    rng = np.random.default_rng(seed)
    cells = rng.choice(8, respondents, p=SHARES.ravel())
    records = np.stack(np.unravel_index(cells, (2, 2, 2)), axis=1)
    reports = mechanism.perturb_many(YES_NO, records, rng)
    return Estimator(survey, Counts.from_reports(survey, reports))


def test_half_of_the_reference_is_usable_and_more_than_all_of_it_is_not():
    assert grades(np.array([0.05, 0.0501, 0.1, 0.1001, np.inf, np.nan]), 0.1).tolist() == [
        0, 1, 1, 2, 2, 2,
    ]  # fmt: skip


def test_cells_are_held_against_an_average_one_but_never_more_than_ten_points():
    assert cell_reference(2) == cell_reference(10) == 0.1
    assert cell_reference(40) == 1 / 40


def test_a_table_says_what_its_typical_cell_is_known_to():
    widths = np.array([[0.01, 0.04], [0.04, 0.2]])
    each, whole, verdict = judge_table(widths, 10_000)
    assert each == ["usable", "usable", "usable", "not usable"]
    assert (whole, verdict) == ("usable", "usable: shares are known to ±4.0\u202f%")


def test_too_few_reports_for_each_cell_are_said_and_are_at_best_barely_usable():
    each, whole, verdict = judge_table(np.full((2, 2), 0.01), 36)
    assert {*each, whole} == {"barely usable"}
    assert "about 9.0 reports for each cell" in verdict
    assert few_reports(20) == ""


def test_a_measure_is_no_more_usable_than_the_table_behind_it():
    [(usability, verdict)] = judge_measures(
        np.array([0.01]), 0.1, np.array([0.4]), cells=4, reports=1_000
    )
    assert usability == "not usable"
    assert verdict == "not usable: the shares behind it are known to ±40\u202f%"


def test_the_same_questions_are_usable_of_many_and_not_of_few():
    for respondents, expected in ((20_000, "usable"), (40, "not usable")):
        estimator = estimator_of(LOW_NOISE, respondents)
        table = estimator.table(["smoker", "coughs"])
        lower, upper = table.interval()
        assert judge_table((upper - lower) / 2, respondents)[1] == expected
        rule = estimator.rule({"smoker": "yes"}, {"coughs": "yes"})
        assert rule.usability == expected
        found = {measure.name: measure for measure in estimator.measures(["smoker", "coughs"])}
        assert found["phi"].usability == expected
        for measure in (*found.values(), *rule.measures):
            assert measure.verdict.startswith(measure.usability)
        for association in estimator.associations():
            assert association.estimate.verdict.startswith(association.estimate.usability)
            assert association.estimate.usability == expected


def test_two_reports_say_first_that_they_are_not_usable():
    estimator = estimator_of(GammaDiagonal("2"), 2, seed=3)
    mined = estimator.itemsets(0.05)
    assert {precision.usability for precision in mined.precision} == {"not usable"}
    assert {itemset.usability for itemset in mined} == {"not usable"}
    assert {measure.usability for measure in estimator.measures(["smoker", "coughs"])} == {
        "not usable"
    }


def test_no_rule_is_listed_whose_support_cannot_be_told_from_zero_unless_asked_for():
    estimator = estimator_of(GammaDiagonal("2"), 300)
    listed = estimator.rules(0.01, 0)
    every = estimator.rules(0.01, 0, include_uncertain=True)
    assert len(every) > len(listed)
    assert len(every) == len(listed) + listed.left_out
    assert every.left_out == 0
    for rule in listed:
        lower, upper = rule.support_interval
        assert lower > 0
        assert upper - lower < 1
    uncertain = [rule for rule in every if "cannot be told from zero" in rule.verdict]
    assert len(uncertain) == listed.left_out
    assert {rule.usability for rule in uncertain} == {"not usable"}


def test_usable_rules_come_first_however_large_the_others_are():
    words = [rule.usability for rule in estimator_of(LOW_NOISE, 500).rules(0.01, 0)]
    grades = [("usable", "barely usable", "not usable").index(word) for word in words]
    assert grades == sorted(grades)
    assert len(set(grades)) > 1


def test_a_rule_whose_antecedent_is_hardly_there_says_so():
    estimator = estimator_of(GammaDiagonal("2"), 400)
    unbounded = [
        rule
        for rule in estimator.rules(0.01, 0, include_uncertain=True)
        if rule.confidence_set is not None and rule.confidence_set.kind != "interval"
    ]
    assert unbounded
    for rule in unbounded:
        assert rule.usability == "not usable"
        assert "cannot be told from zero" in rule.verdict or "may be anything" in rule.verdict


@pytest.mark.parametrize("name", ["odds_ratio", "chi_squared", "conviction"])
def test_ratios_are_held_against_their_own_size(name):
    [found] = estimator_of(LOW_NOISE, 20_000).measures(["smoker", "coughs"], measures=[name])
    lower, upper = found.interval
    assert upper - lower <= abs(found.value)
    assert found.usability == "usable"
