"""Decisions on many hypotheses, intervals of lists, and the best of several designs.

By loops, under the null hypothesis, and for numbers of which the choice is known.
"""

import math
from itertools import product

import numpy as np
import pytest
from halftruth_collector.estimation import Counts, Estimator
from halftruth_collector.estimation.identified import IdentifiedSets
from halftruth_collector.estimation.itemsets import count_candidates
from halftruth_collector.estimation.planning.proposals import best_design
from halftruth_collector.estimation.rules import count_rules
from halftruth_collector.estimation.selection import (
    adjusted_p_values,
    discoveries,
    listed_alpha,
)
from halftruth_shared import Attribute, RandomizedResponse, Schema, SplitQuestionnaire, Survey
from halftruth_shared.analyses.plan import DesignPlan, Goal
from mined import itemsets_of, mined_rules
from scipy.stats import false_discovery_control, norm
from sources import aimed

from .definitions import TARGETS
from .mining import as_itemset, benjamini_hochberg

SHAPE = (2, 3, 2, 4)


@pytest.mark.parametrize("seed", range(20))
def test_discoveries_are_those_of_the_step_up_procedure(seed):
    rng = np.random.default_rng(seed)
    p_values = rng.random(rng.integers(1, 40)) ** rng.choice([1, 3, 9])
    # With ties, and with hypotheses that are not tested.
    p_values = np.round(p_values, 2) if seed % 2 else p_values
    p_values[rng.random(len(p_values)) < 0.2] = np.nan
    for rate, more in product((0.01, 0.05, 0.3), (0, 1, 100)):
        candidates = len(p_values) + more
        expected = benjamini_hochberg(dict(enumerate(p_values.tolist())), rate, candidates)
        assert set(np.flatnonzero(discoveries(p_values, rate, candidates)).tolist()) == expected


def test_adjusted_p_values_are_those_of_scipy():
    p_values = np.random.default_rng(3).random(200) ** 4
    np.testing.assert_allclose(adjusted_p_values(p_values), false_discovery_control(p_values))
    assert adjusted_p_values(np.zeros(0)).shape == (0,)


def test_the_level_of_a_list_is_proportional_to_its_length():
    assert listed_alpha(0.95, 820, 820) == pytest.approx(0.05)
    assert listed_alpha(0.95, 0, 820) == listed_alpha(0.95, 1, 820) == pytest.approx(0.05 / 820)
    # Check value for about 50.5 listed of 820.
    assert norm.isf(listed_alpha(0.95, 51, 820) / 2) == pytest.approx(2.95, abs=0.01)


@pytest.mark.parametrize(
    ("shape", "items"),
    [
        ((2,), {}),
        ((2, 2), {}),
        (SHAPE, {}),
        (SHAPE, {0: [1], 2: [0], 3: [1, 3]}),
        (SHAPE, {1: []}),
        ((2, 3), {0: [], 1: []}),
        ((5, 2, 2, 3, 2), {4: [1]}),
    ],
)
def test_candidates_are_all_itemsets_and_rules_up_to_a_length(make_schema, shape, items):
    allowed = [[None, *items.get(j, range(size))] for j, size in enumerate(shape)]
    lengths = [sum(code is not None for code in cell) for cell in product(*allowed)]
    for longest in range(1, len(shape) + 3):
        inside = [length for length in lengths if 1 <= length <= longest]
        schema, every = make_schema(shape, items), IdentifiedSets.everything(len(shape))
        assert count_candidates(schema, every, longest) == len(inside)
        assert count_rules(schema, every, longest) == sum(2**k - 2 for k in inside)


def test_the_number_of_candidates_is_an_exact_integer(make_schema):
    # (1 + 9)^k − 1 itemsets of k attributes of nine categories.
    schema = make_schema((9,) * 250)
    every = IdentifiedSets.everything(250)
    assert count_candidates(schema, every, 250) == 10**250 - 1
    assert count_candidates(schema, every, 2) == 250 * 9 + 250 * 249 // 2 * 81


@pytest.mark.parametrize(
    ("detectable", "best"),
    [
        # The farthest goal counts: 2, 1.5 and 3 times what is wanted.
        ([(0.2, 0.1), (0.1, 0.3), (0.05, 0.6)], 1),
        # No difference of the second goal is detectable by any of them.
        ([(0.2, None), (0.1, None), (0.15, None)], 1),
        # Fewer goals out of reach count more than nearer other ones.
        ([(0.01, None), (0.9, 0.9), (None, None)], 1),
        ([(None, None), (None, 0.9), (0.3, None)], 2),
        # Of equal ones, the first.
        ([(0.1, 0.4), (0.2, 0.2), (0.2, 0.1)], 0),
        ([(None, None), (None, None)], 0),
    ],
)
def test_the_best_design_has_the_fewest_goals_out_of_reach_and_the_farthest_nearest(
    detectable, best
):
    goals = [
        Goal(outcome="drugs", group="sex", difference=0.1),
        Goal(outcome="drugs", group="age", difference=0.2),
    ]
    plans = [
        DesignPlan(
            design="tables",
            lines="",
            detectable=list(each),
            rare=None,
            share=0.01,
            worst_share=0.02,
            worst_of="drugs",
            undone_by=[None] * len(each),
        )
        for each in detectable
    ]
    assert best_design(goals, plans) is plans[best]


def test_mining_accepts_10_to_the_250_candidates(make_survey):
    # Nine of ten categories are items; the tenth is the only answer, so that one level is examined.
    for attributes in (250, 251):
        items = {j: range(9) for j in range(attributes)}
        survey = make_survey("randomized-response", (10,) * attributes, items)
        counts = Counts.from_cells(survey, np.full((1, attributes), 9), [10**6])
        mined = itemsets_of(aimed(Estimator(survey, counts), "respondents"), 0.5, attributes)
        assert (len(mined), math.log10(mined.candidates)) == (0, pytest.approx(250, abs=1))


# --- Through the estimator.


@pytest.mark.parametrize("target", TARGETS)
def test_supports_of_public_answers_are_decided(public_survey, target):
    # For the respondents themselves, public answers have no error.
    survey = public_survey((2, 2))
    cells = [[0, 0], [0, 1], [1, 0], [1, 1]]
    estimator = Estimator(survey, Counts.from_cells(survey, cells, [100, 200, 300, 9400]))
    mined = itemsets_of(aimed(estimator, target), 0.5)
    assert sorted(map(as_itemset, mined.codes.tolist())) == [
        ((0, 1),),
        ((0, 1), (1, 1)),
        ((1, 1),),
    ]
    assert mined.frequent.all()


@pytest.mark.parametrize("confidence", [0.01, 0.4, 0.5])
def test_intervals_with_a_low_confidence_contain_the_estimate(make_survey, confidence):
    survey = make_survey("gamma-diagonal", (2,), {0: [1]})
    counts = Counts.from_cells(survey, [[0], [1]], [680, 320])
    for min_support in (0.29, 0.3, 0.31):
        for itemset in itemsets_of(
            Estimator(survey, counts), min_support, confidence=confidence
        ).rows:
            assert itemset.interval[0] <= itemset.value <= itemset.interval[1]


def test_a_survey_without_items_has_no_candidates(make_survey):
    survey = make_survey("gamma-diagonal", (2, 3), {0: [], 1: []})
    counts = Counts.from_cells(survey, [[0, 1], [1, 2]], [50, 60])
    mined = itemsets_of(Estimator(survey, counts), 0.1)
    assert (len(mined), mined.candidates, mined.precision) == (0, 0, ())


def test_one_report_makes_no_itemset_frequent(make_survey, kind):
    survey = make_survey(kind, SHAPE)
    counts = Counts.from_cells(survey, [np.array(survey.report_space.shape) - 1], [1])
    for target in TARGETS:
        mined = itemsets_of(aimed(Estimator(survey, counts), target), 0.01)
        assert not mined.frequent.any()


def test_a_frequent_itemset_has_an_interval_above_the_threshold(make_survey, make_reports, kind):
    survey = make_survey(kind, SHAPE)
    counts = Counts.from_reports(survey, make_reports(survey, 4_000, seed=5, concentration=0.2))
    decided = 0
    for threshold in (0.02, 0.05, 0.1, 0.2):
        mined = itemsets_of(Estimator(survey, counts), threshold, max_length=4)
        decided += mined.frequent.sum()
        assert (mined.estimates.numbers("lower")[mined.frequent] >= threshold).all()
    assert decided > 5


EVEN = Schema([Attribute(f"q{j}", [f"a{k}" for k in range(5)]) for j in range(8)])
MECHANISMS = {
    "split questionnaire": SplitQuestionnaire.designed(EVEN, 19, (), {1: 1.0, 2: 1.0}),
    "randomized response": RandomizedResponse(dict.fromkeys(EVEN.names, "4/5")),
}


def rates(mechanism, surveys, seed):
    """Rates of surveys with a false discovery, and mean rates of false discoveries, under the null.

    Eight independent questions with five uniform answers, 5 000 respondents: single answers have a
    support of 20 %, pairs one of 4 %, below the threshold of 5 %; confidences are 20 %.
    """
    survey, rng = Survey("s", "S", EVEN, mechanism), np.random.default_rng(seed)
    false = {"any frequent": [], "frequent": [], "itemsets": [], "rules": [], "surest": []}
    for _ in range(surveys):
        reports = mechanism.bind(EVEN).reports(rng.integers(0, 5, (5_000, 8)), rng)
        estimator = Estimator(survey, Counts.from_reports(survey, reports))
        mined = itemsets_of(estimator, 0.05, max_length=2)
        truth = np.where(mined.lengths == 1, 0.2, 0.04)
        wrong = mined.frequent & (truth < 0.05)
        false["any frequent"].append(wrong.any())
        false["frequent"].append(wrong.sum() / max(mined.frequent.sum(), 1))
        lower, upper = (mined.estimates.numbers(name) for name in ("lower", "upper"))
        false["itemsets"].append(((lower > truth) | (upper < truth)).mean())
        rules = mined_rules(estimator, 0.02, 0.22, max_length=2)
        confidences = rules.estimates.take(slice(len(rules)))
        lower, upper = (confidences.numbers(name) for name in ("lower", "upper"))
        is_empty = np.array([each == "empty" for each in confidences.texts("set")])
        false["rules"].append((is_empty | (lower > 0.2) | (upper < 0.2)).mean())
        false["surest"].append((rules.at_least or 0.0) > 0.2)
    return {name: np.mean(values) for name, values in false.items()}


@pytest.mark.parametrize("name", MECHANISMS)
def test_false_discoveries_under_the_null_are_rare(name):
    found = rates(MECHANISMS[name], 6, seed=1)
    assert max(found["frequent"], found["itemsets"], found["rules"]) <= 0.05
    assert found["any frequent"] <= 1 / 6
    assert found["surest"] == 0


@pytest.mark.nightly
@pytest.mark.parametrize("name", MECHANISMS)
def test_false_discoveries_in_many_surveys_under_the_null_are_rare(name):
    surveys = 150
    found = rates(MECHANISMS[name], surveys, seed=2)
    print(name, found)
    error = 2 * math.sqrt(0.05 * 0.95 / surveys)
    assert max(found["frequent"], found["itemsets"], found["rules"]) <= 0.05
    assert max(found["any frequent"], found["surest"]) <= 0.05 + error
