"""Decisions on all itemsets at once, against plain loops over all subset relations."""

import math
from itertools import product

import numpy as np
import pytest
from halftruth_collector.estimation import Counts, Estimator
from halftruth_collector.estimation.multiplicity import (
    Lattice,
    bonferroni_bounds,
    count_candidates,
    holm_decisions,
    one_sided_quantile,
)
from halftruth_shared import DomainTooLarge
from scipy.stats import norm

from .definitions import TARGETS
from .mining import (
    ALONE,
    TOGETHER,
    all_bounds,
    as_codes,
    as_itemset,
    closed_family,
    is_subset,
    proved,
)

SHAPE = (2, 3, 2, 4)
SELECTIONS = (*ALONE, *TOGETHER)


def random_family(seed, spread, unknown=0.0, ties=False):
    """A closed family with supports around 0.5 and errors around 0.1 times `spread`."""
    rng = np.random.default_rng(seed)
    itemsets = closed_family(rng, (3, 2, 4, 2, 3), rng.integers(1, 12))
    support = rng.normal(0.5, 0.1, len(itemsets))
    error = 0.1 * spread * rng.uniform(0.5, 2, len(itemsets))
    if ties:
        # Exact in binary, so that equal scores are equal numbers.
        support = 0.5 + np.round(8 * rng.normal(0, 1, len(itemsets))) / 64
        error = np.full(len(itemsets), 1 / 64)
    error[rng.random(len(itemsets)) < unknown] = np.nan
    return dict(zip(itemsets, zip(support.tolist(), error.tolist(), strict=True), strict=True))


def as_columns(family):
    codes = as_codes(list(family), 5)
    support, error = np.array(list(family.values())).reshape(-1, 2).T
    return codes, support, error


# --- The family.


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
def test_candidates_are_all_itemsets_up_to_a_length(make_schema, shape, items):
    allowed = [[None, *items.get(j, range(size))] for j, size in enumerate(shape)]
    lengths = [sum(code is not None for code in cell) for cell in product(*allowed)]
    for longest in range(1, len(shape) + 3):
        assert count_candidates(make_schema(shape, items), longest) == sum(
            1 <= length <= longest for length in lengths
        )


def test_candidates_are_counted_exactly_however_many(make_schema):
    # (1 + 9)^k − 1 itemsets of k attributes of nine categories.
    schema = make_schema((9,) * 250)
    assert count_candidates(schema, 250) == 10**250 - 1
    assert count_candidates(schema, 2) == 250 * 9 + 250 * 249 // 2 * 81


@pytest.mark.parametrize("candidates", [1, 2, 143, 10**9, 10**100, 10**250])
@pytest.mark.parametrize("alpha", [0.5, 0.05, 1e-9, 2.0**-53])
def test_the_quantile_leaves_each_candidate_its_share_of_the_doubt(candidates, alpha):
    # In logarithms, since the shares are tiny.
    shared = math.log(alpha) - math.log(candidates)
    assert norm.logsf(one_sided_quantile(alpha, candidates)) == pytest.approx(shared, rel=1e-9)


@pytest.fixture(scope="module")
def silent(make_survey):
    """Nine of ten categories of so many attributes are items; everybody answers the tenth.

    Nothing is found frequent, and a single level is all there is to examine.
    """

    def make(attributes):
        items = {j: range(9) for j in range(attributes)}
        survey = make_survey("randomized-response", (10,) * attributes, items)
        everybody = np.full((1, attributes), 9)
        return Estimator(survey, Counts.from_cells(survey, everybody, [10**6]))

    return make


def test_a_family_too_large_to_share_a_doubt_is_refused_in_one_line(silent):
    asked = {"select": "bonferroni", "target": "respondents"}
    mined = silent(250).itemsets(0.5, **asked)
    assert (len(mined), mined.candidates) == (0, 10**250 - 1)
    estimator = silent(251)
    for asked["select"] in TOGETHER:
        with pytest.raises(DomainTooLarge, match=r"^max_length: .*251.*lower max_len.*$") as caught:
            estimator.itemsets(0.5, **asked)
        assert caught.value.field == "max_length"
        assert len(estimator.itemsets(0.5, 1, **asked)) == 0


def test_deciding_on_each_itemset_alone_needs_no_limit_of_the_family(silent):
    mined = silent(251).itemsets(0.5, select="lower", target="respondents")
    assert (len(mined), mined.candidates) == (0, 10**251 - 1)


# --- The subset relation.


def brute_force_passing(itemsets, values, combine, downwards):
    return [
        combine(
            value
            for other, value in zip(itemsets, values, strict=True)
            if (is_subset(own, other) if downwards else is_subset(other, own))
        )
        for own in itemsets
    ]


@pytest.mark.parametrize("seed", range(10))
def test_values_are_passed_to_all_subsets_and_to_all_supersets(seed):
    rng = np.random.default_rng(seed)
    shape = tuple(rng.integers(2, 6, rng.integers(1, 7)).tolist())
    itemsets = closed_family(rng, shape, rng.integers(1, 9))
    lattice = Lattice(as_codes(itemsets, len(shape)))
    numbers = rng.normal(size=len(itemsets))
    marks = rng.random(len(itemsets)) < 0.2
    for values, at, combine in (
        (numbers, np.maximum.at, max),
        (numbers, np.minimum.at, min),
        (marks, np.logical_or.at, any),
        (~marks, np.logical_and.at, all),
    ):
        before = values.copy()
        assert lattice.down(values, at).tolist() == brute_force_passing(
            itemsets, values, combine, downwards=True
        )
        assert lattice.up(values, at).tolist() == brute_force_passing(
            itemsets, values, combine, downwards=False
        )
        np.testing.assert_array_equal(values, before)


class _EqualMarks:
    """A random generator that gives every item the same mark."""

    def integers(self, low, high, size, **_):
        return np.ones(size, dtype=np.uint64)


def test_marks_whose_sums_are_equal_are_drawn_again(monkeypatch):
    genuine = np.random.default_rng
    rng = genuine(71)
    itemsets = closed_family(rng, (3, 3, 3), 6)
    values = rng.normal(size=len(itemsets))
    drawn = []

    def equal_at_first(seed):
        drawn.append(seed)
        return _EqualMarks() if len(drawn) < 3 else genuine(seed)

    monkeypatch.setattr(np.random, "default_rng", equal_at_first)
    found = Lattice(as_codes(itemsets, 3)).down(values, np.maximum.at)
    assert len(set(drawn)) == len(drawn) == 3
    assert found.tolist() == brute_force_passing(itemsets, values, max, downwards=True)


# --- Bonferroni.


@pytest.mark.parametrize("unknown", [0, 0.3, 1])
@pytest.mark.parametrize("seed", range(6))
def test_bounds_are_the_tightest_of_all_sub_and_supersets(seed, unknown):
    family = random_family(seed, spread=1, unknown=unknown)
    quantile = 1.7
    lower, upper = bonferroni_bounds(*as_columns(family), quantile)
    expected = np.array(list(all_bounds(family, quantile).values()))
    np.testing.assert_allclose(np.stack([lower, upper], axis=1), expected, rtol=1e-12)
    assert np.isnan(lower).tolist() == np.isnan(upper).tolist()


# --- Holm.


@pytest.mark.parametrize("unexamined", [0, 10**249], ids=["0", "huge"])
@pytest.mark.parametrize("unknown", [0.3, 1])
@pytest.mark.parametrize("ties", [False, True])
def test_decisions_are_those_of_one_test_after_the_other(ties, unknown, unexamined):
    # Errors from three times the spread of supports to a hundredth: nothing decided to everything,
    # and with small errors supersets far more frequent than their subsets, which contradicts.
    decided, contradicted = 0, 0
    for seed, spread in product(range(5), (3, 1, 0.3, 0.1, 0.01)):
        family = random_family(seed, spread, unknown, ties)
        candidates = len(family) + unexamined
        frequent, infrequent = holm_decisions(*as_columns(family), 0.5, 0.05, candidates)
        large, small = proved(family, 0.5, 0.05, candidates)
        assert {x for x, hit in zip(family, frequent, strict=True) if hit} == large - small
        assert {x for x, hit in zip(family, infrequent, strict=True) if hit} == small - large
        decided += int(frequent.sum() + infrequent.sum())
        contradicted += len(large & small)
    # 10^249 leaves nothing to scores below 34, which those of ties are.
    reachable = unknown < 1 and not (ties and unexamined == 10**249)
    assert (decided > 0) == (contradicted > 0) == reachable


#: Support and error of a, b and their pair, and which are then frequent and infrequent at 0.5.
BY_HAND = {
    "a pair proves its items frequent": ([0.5, 0.5, 0.6], [0.01] * 3, "ab+", ""),
    "an item proves its pair infrequent": ([0.4, 0.5, 0.5], [0.01] * 3, "", "a+"),
    "nothing is learnt where nothing is proved": ([9, 0.5, 0.5], [np.nan, 0.01, 0.01], "", ""),
    "without an error from others": ([0.1, 0.5, 0.6], [np.nan, 0.01, 0.01], "ab+", ""),
    "proved both ways is undecided": ([0.3, 0.6, 0.6], [0.01] * 3, "b", ""),
    # As of public answers of exactly these respondents.
    "exactly known": ([0.6, 0.5, 0.4], [0.0] * 3, "ab", "+"),
}


@pytest.mark.parametrize("case", BY_HAND)
def test_what_is_proved_of_an_itemset_is_proved_of_its_subsets_or_supersets(case):
    support, error, *expected = BY_HAND[case]
    codes = np.array([[0, -1], [-1, 0], [0, 0]])
    found = holm_decisions(codes, np.array(support), np.array(error), 0.5, 0.05, 3)
    assert ["".join(np.array([*"ab+"])[mask]) for mask in found] == expected


def test_no_itemset_is_no_decision():
    codes, nothing = np.zeros((0, 2), dtype=np.int64), np.zeros(0)
    for found in (
        *bonferroni_bounds(codes, nothing, nothing, 2.0),
        *holm_decisions(codes, nothing, nothing, 0.5, 0.05, 0),
    ):
        assert found.shape == (0,)


# --- Through the estimator.


@pytest.mark.parametrize("target", TARGETS)
def test_public_answers_are_selected_all_at_once_too(public_survey, target):
    # For exactly these respondents public answers have no error at all.
    survey = public_survey((2, 2))
    cells = [[0, 0], [0, 1], [1, 0], [1, 1]]
    estimator = Estimator(survey, Counts.from_cells(survey, cells, [100, 200, 300, 9400]))
    for select in TOGETHER:
        mined = estimator.itemsets(0.5, select=select, target=target)
        assert sorted(map(as_itemset, mined.codes.tolist())) == [
            ((0, 1),),
            ((0, 1), (1, 1)),
            ((1, 1),),
        ]


@pytest.mark.parametrize("select", SELECTIONS)
def test_reports_that_contradict_the_mechanism_give_no_decision_against_the_selection(
    make_survey, select
):
    # Half of the reports are 00 and half 11, which no population can give after so much noise:
    # the pair is estimated at more than its items, who are just below the threshold.
    survey = make_survey("distortion-matrices", (2, 2), {0: [1], 1: [1]})
    counts = Counts.from_cells(survey, [[0, 0], [1, 1]], [10**5, 10**5])
    estimator = Estimator(survey, counts)
    table = estimator.table(["a"])
    assert estimator.table(["a", "b"]).support[1, 1] > table.support[1]
    # Above the item's upper bound for three candidates, below that which would rule it out.
    between = (norm.isf(0.05 / 3) + norm.isf(0.025 / 4)) / 2
    threshold = float(table.support[1] + between * table.standard_error()[1])
    for itemset in estimator.itemsets(threshold, select=select):
        if select not in ("estimate", "upper"):
            assert itemset.decision == "frequent"
        if itemset.interval is not None:
            assert itemset.interval[0] <= itemset.interval[1]


@pytest.mark.parametrize("confidence", [0.01, 0.4, 0.5])
@pytest.mark.parametrize("select", SELECTIONS)
def test_a_low_confidence_gives_no_interval_upside_down(make_survey, select, confidence):
    survey = make_survey("gamma-diagonal", (2,), {0: [1]})
    counts = Counts.from_cells(survey, [[0], [1]], [680, 320])
    for min_support in (0.29, 0.3, 0.31):
        for itemset in Estimator(survey, counts).itemsets(
            min_support, confidence=confidence, select=select
        ):
            assert itemset.interval[0] <= itemset.value <= itemset.interval[1]
            if select in TOGETHER:
                assert itemset.decision == "frequent"


@pytest.mark.parametrize("select", SELECTIONS)
@pytest.mark.parametrize("estimate", ["moment", "projected"])
def test_a_survey_without_items_has_no_itemsets_to_decide_on(make_survey, select, estimate):
    survey = make_survey("gamma-diagonal", (2, 3), {0: [], 1: []})
    counts = Counts.from_cells(survey, [[0, 1], [1, 2]], [50, 60])
    mined = Estimator(survey, counts).itemsets(0.1, select=select, estimate=estimate)
    assert (len(mined), mined.candidates, mined.precision) == (0, 0, ())


@pytest.mark.parametrize("select", TOGETHER)
def test_one_report_decides_nothing(make_survey, kind, select):
    survey = make_survey(kind, SHAPE)
    counts = Counts.from_cells(survey, [np.array(survey.report_space.shape) - 1], [1])
    for target in TARGETS:
        assert len(Estimator(survey, counts).itemsets(0.01, select=select, target=target)) == 0


def test_an_interval_is_none_where_it_is_unknown(make_survey):
    # Everybody reports a = c1, so that nothing is known of the error of that; but the pair with
    # b = c1 is known to be frequent.
    survey = make_survey("randomized-response", (2, 2))
    counts = Counts.from_cells(survey, [[1, 0], [1, 1]], [30, 70])
    estimator = Estimator(survey, counts)
    for select in ("estimate", "holm"):
        found = {tuple(i.items.items()): i for i in estimator.itemsets(0.5, select=select)}
        alone = found[(("a", "c1"),)]
        assert (alone.standard_error, alone.interval) == (None, None)
        assert alone.decision == ("frequent" if select == "holm" else "undecided")
        pair = found[(("a", "c1"), ("b", "c1"))]
        assert pair.interval[0] > 0.5
        assert pair.decision == "frequent"
    # Bonferroni has a lower bound for it, but no upper one.
    chosen = [tuple(i.items) for i in estimator.itemsets(0.5, select="bonferroni")]
    assert sorted(chosen) == [("a", "b"), ("b",)]
