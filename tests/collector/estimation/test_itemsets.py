"""Mining against brute force: every itemset enumerated, bounded and selected separately."""

from functools import cache
from itertools import combinations

import numpy as np
import pytest
from halftruth_collector.analyses.itemsets import precision_of
from halftruth_collector.estimation import Counts, Estimator
from halftruth_collector.estimation.itemsets import Unexamined, count_candidates
from halftruth_collector.estimation.reconstruction import reconstruction
from halftruth_shared import Attribute, DomainTooLarge, GammaDiagonal, Schema, Survey
from halftruth_shared import RandomizedResponse as Response
from halftruth_shared.results.wording import half_width, percent
from mined import itemsets_of, mined_rules
from scipy.stats import norm
from sources import aimed, estimator_of
from witnesses import witness

from .definitions import TARGETS, schema_of
from .mining import as_itemset, brute_force

SHAPE = (2, 3, 2, 4)


def candidates_of(survey, longest):
    return count_candidates(survey.schema, reconstruction(survey).identified_sets, longest)


AT_ONCE = "halftruth_collector.estimation.estimator._AT_ONCE"


@pytest.fixture(scope="module")
def known(oracle):
    """Support and variance of every itemset of some reports, computed once."""
    return cache(lambda survey, rows, target: oracle.itemsets(survey, np.array(rows), target))


@pytest.fixture
def check(known, monkeypatch):
    """Compare mining with brute force, both with the whole table at once and level by level."""

    def against_brute_force(survey, reports, min_support, **asked):
        target, confidence = asked.pop("target", "population"), asked.get("confidence", 0.95)
        asked = {"max_length": len(survey.schema.shape)} | asked
        longest = asked["max_length"]
        bounds = known(survey, tuple(map(tuple, reports.tolist())), target)
        candidates = count_candidates(
            survey.schema, reconstruction(survey).identified_sets, longest
        )
        expected = brute_force(bounds, candidates, min_support, longest, confidence)
        for cells in (2**17, 0):
            monkeypatch.setattr(AT_ONCE, cells)
            mined = itemsets_of(aimed(estimator_of(survey, reports), target), min_support, **asked)
            assert mined.candidates == candidates
            assert_mined(mined, *expected)
        return mined

    return against_brute_force


def assert_mined(mined, expected, examined):
    found = {as_itemset(codes): row for row, codes in enumerate(mined.codes.tolist())}
    assert len(found) == len(mined)
    assert found.keys() == expected.keys()
    columns = ("value", "standard_error", "lower", "upper")
    numbers = np.stack([mined.estimates.numbers(name) for name in columns], axis=1)
    for itemset, (support, error, lower, upper, decision) in expected.items():
        row = found[itemset]
        beyond = np.nan if lower > 1 else 0
        possible = support, error, max(lower, 0) + beyond, min(upper, 1) + beyond
        assert numbers[row] == pytest.approx(possible, abs=1e-9, nan_ok=True)
        assert mined.frequent[row] == (decision == "frequent")
    for entry in mined.precision:
        halves = [half for x, half in examined.items() if len(x) == entry.length]
        assert entry.examined == len(halves)
        halves = [half for half in halves if not np.isnan(half)]
        if 2 * len(halves) > entry.examined:
            assert entry.half_width == pytest.approx(np.median(halves))
        else:
            assert entry.half_width is None
    assert [entry.length for entry in mined.precision] == sorted({*map(len, examined)})


@pytest.mark.parametrize("target", TARGETS)
def test_mining_equals_brute_force(make_survey, make_reports, check, kind, target):
    witness("FRAPP", "Section 6 (mining)")
    survey = make_survey(kind, SHAPE)
    reports = make_reports(survey, 3000, seed=21, concentration=0.2)
    assert len(check(survey, reports, 0.15, target=target)) > 0


def test_mining_stops_at_max_length(make_survey, make_reports, check):
    survey = make_survey("gamma-diagonal", SHAPE)
    reports = make_reports(survey, 3000, seed=22, concentration=0.2)
    for max_length in (1, 3, 9):
        mined = check(survey, reports, 0.05, max_length=max_length)
        assert mined.lengths.max() == min(max_length, 4)


@pytest.mark.parametrize(
    "items", [{1: [2]}, {0: [1], 2: [1]}, {0: [0], 1: [0, 2], 2: [1], 3: [3, 1]}, {3: []}]
)
def test_only_items_are_mined(make_survey, make_reports, check, items):
    survey = make_survey("distortion-matrices", SHAPE, items)
    reports = make_reports(survey, 3000, seed=23, concentration=0.3)
    mined = check(survey, reports, 0.1)
    for position, codes in items.items():
        assert set(mined.codes[:, position].tolist()) <= {-1, *codes}


def test_mining_equals_brute_force_at_every_threshold(make_survey, make_reports, check):
    survey = make_survey("distortion-matrices", SHAPE)
    reports = make_reports(survey, 2000, seed=24, concentration=0.2)
    for min_support in (0.001, 0.02, 0.3, 0.9, 1):
        check(survey, reports, min_support)


@pytest.mark.parametrize("target", TARGETS)
def test_mining_equals_brute_force_at_every_confidence(make_survey, make_reports, check, target):
    survey = make_survey("distortion-matrices", (2, 3, 2))
    reports = make_reports(survey, 1000, seed=25)
    for confidence in (0.01, 0.6, 0.9999):
        check(survey, reports, 0.2, confidence=confidence, target=target)


@pytest.mark.parametrize("count", [1, 2, 5])
@pytest.mark.parametrize("target", TARGETS)
def test_mining_a_few_reports_equals_brute_force(
    make_survey, make_reports, check, kind, count, target
):
    survey = make_survey(kind, (2, 3, 2))
    reports = make_reports(survey, count, seed=26)
    check(survey, reports, 0.3, target=target)


@pytest.mark.parametrize("cells", [2**17, 0])
@pytest.mark.parametrize(
    ("people", "threshold"), [((300, 5700), 0.05), ((600, 5400), 0.1), ((7, 43), 0.14)]
)
def test_an_itemset_exactly_at_the_threshold_is_listed_despite_rounding(
    monkeypatch, people, threshold, cells
):
    """300 of 6 000 people are 5 %, hardly perturbed, with all tables at once and one by one."""
    monkeypatch.setattr(AT_ONCE, cells)
    survey = Survey("s", "S", schema_of((2, 2, 3)), GammaDiagonal(10**15))
    few, rest = people
    counts = Counts.from_cells(survey, [[1, 1, 2], [0, 0, 0]], [few, rest])
    for target in TARGETS:
        estimator = aimed(Estimator(survey, counts), target)
        found = itemsets_of(estimator, threshold, max_length=3)
        # Seven itemsets of those people, and seven of all others.
        assert len(found.keys[0].values) == 14
        # The confidence and the support of every rule about them are at the thresholds, too.
        rules = mined_rules(estimator, min_support=threshold, min_confidence=1, max_length=2)
        pairs = zip(*(map(str, key.values) for key in rules.keys[:2]), strict=True)
        assert len(set(pairs)) == 2 * 6


@pytest.mark.parametrize("cells", [2**17, 0])
def test_itemsets_are_sorted_by_length_and_support(
    make_survey, make_reports, kind, cells, monkeypatch
):
    monkeypatch.setattr(AT_ONCE, cells)
    survey = make_survey(kind, SHAPE)
    reports = make_reports(survey, 3000, seed=28)
    mined = itemsets_of(estimator_of(survey, reports), 0.01, max_length=4)
    # Supports that differ by rounding alone are in the order of their answers.
    keys = [(len(row["itemset"]), -round(row.value, 12)) for row in mined.rows]
    assert keys == sorted(keys)
    assert len(mined) == len(keys) > 20
    # Columns and rows agree, with items in the order of the survey.
    for row, itemset in enumerate(mined.rows):
        codes = zip(survey.schema.names, mined.codes[row].tolist(), strict=True)
        expected = [(name, f"c{code}") for name, code in codes if code >= 0]
        assert list(itemset["itemset"].items()) == expected
        assert mined.lengths[row] == len(expected)


def test_the_empty_itemset_prunes_nothing(make_survey, check):
    survey = make_survey("randomized-response", (2, 3, 2))
    rng = np.random.default_rng(39)
    for count in range(3, 60):
        reports = rng.integers(0, (2, 3, 2), (count, 3))
        check(survey, reports, 1, target="respondents")


def test_the_threshold_is_inclusive(public_survey):
    survey = public_survey((2, 2))
    counts = Counts.from_cells(survey, [[0, 0], [1, 1]], [1, 3])
    mined = itemsets_of(aimed(Estimator(survey, counts), "respondents"), 0.25, max_length=1)
    assert sorted(mined.estimates.value.tolist()) == [0.25, 0.25, 0.75, 0.75]
    assert mined.frequent.all()


@pytest.mark.parametrize("cells", [2**17, 0])
def test_a_list_of_itemsets_can_be_empty(make_survey, make_reports, kind, cells, monkeypatch):
    monkeypatch.setattr(AT_ONCE, cells)
    survey = make_survey(kind, SHAPE)
    reports = make_reports(survey, 5000, seed=33)
    mined = itemsets_of(estimator_of(survey, reports), 1)
    assert len(mined) == 0
    assert list(mined.rows) == []
    assert mined.codes.shape == (0, 4)
    assert [entry.length for entry in mined.precision] == [1]


def test_mining_accepts_a_high_confidence_with_many_attributes(make_survey):
    survey = make_survey("randomized-response", (2,) * 32, {j: [1] for j in range(32)})
    reports = np.eye(32, dtype=int)
    mined = itemsets_of(estimator_of(survey, reports), 0.9, 32, confidence=0.9999999)
    assert len(mined) == 0


@pytest.fixture
def estimator(make_survey, make_reports):
    survey = make_survey("randomized-response", SHAPE)
    return Estimator(survey, Counts.from_reports(survey, make_reports(survey, 300, seed=34)))


def test_too_many_itemsets_are_refused(estimator, monkeypatch):
    # Shape (2, 3, 2, 4) has 11 and 44 itemsets of lengths 1 and 2; near 0 none is pruned.
    monkeypatch.setattr("halftruth_collector.estimation.itemsets.MAX_ITEMSETS", 54)
    monkeypatch.setattr(AT_ONCE, 0)
    with pytest.raises(DomainTooLarge, match=r"more than 54 itemsets .* length 2") as caught:
        itemsets_of(estimator, 1e-6, max_length=4)
    assert caught.value.field == "max_length"
    assert len(itemsets_of(estimator, 1e-6, max_length=1)) <= 11


@pytest.mark.parametrize(("limit", "length"), [(3, 1), (9, 2), (10, 3), (14, 4)])
def test_too_many_attribute_subsets_are_refused(estimator, monkeypatch, limit, length):
    # Four attributes have 4, 6, 4 and 1 subsets; a threshold near 0 prunes none.
    monkeypatch.setattr("halftruth_collector.estimation.itemsets.MAX_SUBSETS", limit)
    monkeypatch.setattr(AT_ONCE, 0)
    with pytest.raises(DomainTooLarge, match=f"more than {limit} .* length {length}") as error:
        itemsets_of(estimator, 1e-6, max_length=4)
    assert error.value.field == "max_length"
    assert itemsets_of(estimator, 1e-6, max_length=length - 1) if length > 1 else True


def test_too_many_subsets_are_refused_before_the_previous_level_is_computed(monkeypatch):
    """Sixty questions have 34 220 triples, whose tables need not be computed for the refusal."""
    names = [f"q{j}" for j in range(60)]
    schema = Schema([Attribute(name, ("no", "yes")) for name in names])
    survey = Survey("long", "Long", schema, Response(dict.fromkeys(names, "0.8")))
    cells = np.random.default_rng(7).integers(0, 2, (500, 60))
    estimator = Estimator(survey, Counts.from_cells(survey, cells, np.ones(500, dtype=np.int64)))
    asked, tables = [], Estimator.subsets

    def count(self, level):
        asked.extend(level)
        return tables(self, level)

    monkeypatch.setattr(Estimator, "subsets", count)
    with pytest.raises(DomainTooLarge) as caught:
        itemsets_of(estimator, 0.01, max_length=60)
    assert str(caught.value) == (
        "max_length: there may be more than 100000 combinations of attributes to examine at length"
        " 4; expected max_length = 3 at most, or a higher min_support"
    )
    assert len(asked) == 60 + 1_770


#: Shape, reports, threshold, range of the half-widths, and the beginning of the sentence.
VERDICTS = {
    "usable": ((2, 3, 2), 50_000, 0.05, (0, 0.05), "usable: "),
    "usable below the threshold": ((2, 3, 2), 7_000, 0.01, (0.015, 0.05), "usable: "),
    "barely": ((2, 3, 2), 300, 0.02, (0.05, 0.1), "barely usable: "),
    "not": ((2, 3, 2), 100, 0.02, (0.1, 0.5), "not usable: "),
    # 20 reports, five cells.
    "hardly known": ((5, 5, 5), 20, 0.02, (0.5, 99), "not usable: supports are known only to "),
}


@pytest.mark.parametrize("case", VERDICTS)
def test_the_grade_follows_the_margin_and_not_the_threshold(make_survey, make_reports, case):
    shape, count, threshold, (least, most), words = VERDICTS[case]
    survey = make_survey("gamma-diagonal", shape)
    reports = make_reports(survey, count, seed=36)
    mined = itemsets_of(estimator_of(survey, reports), threshold)
    width = mined.precision[0].half_width
    first = precision_of(mined.precision[0], threshold)
    assert least < width <= most
    assert first.sentence.startswith(f"Length 1 is {words}")
    assert first.values["reliability"] == words.partition(":")[0]
    assert first.weight == ("note" if words.startswith("usable") else "warning")
    assert half_width(width) in first.sentence
    above = f"those up to {percent(width, 1)} are not significantly above zero"
    assert (above in first.sentence) == (threshold <= width < 0.5)
    if case == "hardly known":
        assert "with about 4.0 reports for each cell" in first.sentence


@pytest.mark.parametrize("cells", [2**17, 0])
def test_precision_of_one_report_is_unknown(make_survey, cells, monkeypatch):
    monkeypatch.setattr(AT_ONCE, cells)
    survey = make_survey("randomized-response", (2, 3, 2))
    for entry in itemsets_of(estimator_of(survey, [[0, 0, 0]]), 0.02).precision:
        assert (entry.half_width, entry.reliability) == (None, "not usable")
        assert "too few reports" in precision_of(entry, 0.02).sentence


def least_margin(oracle, survey, reports, length, share):
    """Return the smallest margin of all itemsets of a length at a share, the rest uniform."""
    smallest = np.inf
    for names in combinations(survey.schema.names, length):
        matrix = oracle.matrix(survey, names)
        weights = np.linalg.inv(matrix)
        for cell in range(len(matrix)):
            truth = np.full(len(matrix), (1 - share) / (len(matrix) - 1))
            truth[cell] = share
            variance = weights[cell] ** 2 @ (matrix @ truth) - share**2
            smallest = min(smallest, variance)
    return norm.isf(0.025) * np.sqrt(smallest / reports)


@pytest.mark.parametrize("cells", [2**17, 0])
def test_mining_stops_at_the_length_whose_least_margin_exceeds_the_threshold(
    make_schema, oracle, cells, monkeypatch
):
    monkeypatch.setattr(AT_ONCE, cells)
    mechanism = Response(dict(zip("abcd", ("0.6", "0.65", "0.7", "0.62"), strict=True)))
    survey = Survey("s", "S", make_schema((2, 2, 2, 2)), mechanism)
    # Independent of the estimates: with equal answers, and with uniform ones.
    every = np.indices((2,) * 4).reshape(4, -1).T
    for records in (np.zeros((4_000, 4), int), every.repeat(250, axis=0)):
        reports = survey.perturbation.reports(records, np.random.default_rng(1))
        estimator = estimator_of(survey, reports)
        for threshold in (0.001, 0.05, 0.1, 0.2, 0.9):
            margins = [least_margin(oracle, survey, 4_000, k, threshold) for k in (1, 2, 3, 4)]
            too_wide = [k for k, margin in enumerate(margins, 1) if k > 1 and margin > threshold]
            longest = min(too_wide, default=5) - 1
            for found in (itemsets_of(estimator, threshold), mined_rules(estimator, threshold, 0)):
                if longest == 4:
                    assert found.unexamined is None
                else:
                    assert found.unexamined.length == longest + 1
                    assert found.unexamined.margin == pytest.approx(margins[longest])
            mined = itemsets_of(estimator, threshold)
            named = itemsets_of(estimator, threshold, max_length=longest)
            assert mined.candidates == named.candidates == candidates_of(survey, longest)
            assert mined.codes.tolist() == named.codes.tolist()
            assert named.unexamined is None
    # Single answers are always examined.
    assert itemsets_of(estimator, 0.001).unexamined.length == 2


def test_without_max_length_mining_stops_before_too_many_combinations():
    names = [f"q{j}" for j in range(60)]
    schema = Schema([Attribute(name, ("left", "right")) for name in names])
    survey = Survey("long", "Long", schema, Response(dict.fromkeys(names, "0.99")))
    cells = np.random.default_rng(7).integers(0, 2, (5_000, 60))
    estimator = Estimator(survey, Counts.from_cells(survey, cells, np.ones(5_000, dtype=np.int64)))
    for found in (itemsets_of(estimator, 0.3), mined_rules(estimator, 0.3, 0)):
        assert found.unexamined == Unexamined(3)
        assert found.codes.shape[1] == 60
    assert itemsets_of(estimator, 0.3).candidates == 120 + 4 * 1_770
