"""Mining against brute force: every itemset enumerated, bounded and selected one by one."""

from functools import cache

import numpy as np
import pytest
from halftruth_collector.analyses.verdicts import on_length
from halftruth_collector.estimation import Counts, Estimator
from halftruth_collector.estimation.itemsets import count_candidates
from halftruth_collector.estimation.tables import Tables
from halftruth_shared import Attribute, DomainTooLarge, Schema, Survey
from halftruth_shared import RandomizedResponse as Response
from halftruth_shared.results.wording import half_width, percent
from sources import estimator_of

from .definitions import TARGETS
from .mining import as_itemset, brute_force

SHAPE = (2, 3, 2, 4)


AT_ONCE = "halftruth_collector.estimation.tables._AT_ONCE"


@pytest.fixture(scope="module")
def known(oracle):
    """Support and variance of every itemset of some reports, each worked out once."""
    return cache(lambda survey, rows, target: oracle.itemsets(survey, np.array(rows), target))


@pytest.fixture
def check(known, monkeypatch):
    """Compare mining with brute force, as small domains are mined and as large ones are."""

    def against_brute_force(survey, reports, min_support, **asked):
        target, confidence = asked.get("target", "population"), asked.get("confidence", 0.95)
        longest = asked.get("max_length")
        bounds = known(survey, tuple(map(tuple, reports.tolist())), target)
        candidates = count_candidates(survey.schema, longest or len(survey.schema.shape))
        expected = brute_force(bounds, candidates, min_support, longest, confidence)
        for cells in (2**17, 0):
            monkeypatch.setattr(AT_ONCE, cells)
            mined = estimator_of(survey, reports).itemsets(min_support, **asked)
            assert mined.candidates == candidates
            assert_mined(mined, *expected)
        return mined

    return against_brute_force


def assert_mined(mined, expected, examined):
    found = {as_itemset(codes): row for row, codes in enumerate(mined.codes.tolist())}
    assert len(found) == len(mined)
    assert found.keys() == expected.keys()
    listed = list(mined)
    for itemset, (support, error, lower, upper, decision) in expected.items():
        row = found[itemset]
        assert mined.support[row] == pytest.approx(support, abs=1e-10)
        assert listed[row].decision == decision
        numbers = mined.standard_error[row], mined.lower[row], mined.upper[row]
        assert numbers == pytest.approx((error, lower, upper), abs=1e-9, nan_ok=True)
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
    survey = make_survey(kind, SHAPE)
    reports = make_reports(survey, 3000, seed=21, concentration=0.2)
    assert len(check(survey, reports, 0.15, target=target)) > 0


def test_max_length_ends_mining(make_survey, make_reports, check):
    survey = make_survey("gamma-diagonal", SHAPE)
    reports = make_reports(survey, 3000, seed=22, concentration=0.2)
    for max_length in (None, 1, 3, 9):
        mined = check(survey, reports, 0.05, max_length=max_length)
        assert mined.lengths.max() == min(max_length or 4, 4)


@pytest.mark.parametrize(
    "items", [{1: [2]}, {0: [1], 2: [1]}, {0: [0], 1: [0, 2], 2: [1], 3: [3, 1]}, {3: []}]
)
def test_only_items_count(make_survey, make_reports, check, items):
    survey = make_survey("distortion-matrices", SHAPE, items)
    reports = make_reports(survey, 3000, seed=23, concentration=0.3)
    mined = check(survey, reports, 0.1)
    for position, codes in items.items():
        assert set(mined.codes[:, position].tolist()) <= {-1, *codes}


def test_every_threshold_is_served(make_survey, make_reports, check):
    survey = make_survey("distortion-matrices", SHAPE)
    reports = make_reports(survey, 2000, seed=24, concentration=0.2)
    for min_support in (0.001, 0.02, 0.3, 0.9, 1):
        check(survey, reports, min_support)


@pytest.mark.parametrize("target", TARGETS)
def test_every_confidence_is_served(make_survey, make_reports, check, target):
    survey = make_survey("distortion-matrices", (2, 3, 2))
    reports = make_reports(survey, 1000, seed=25)
    for confidence in (0.01, 0.6, 0.9999):
        check(survey, reports, 0.2, confidence=confidence, target=target)


@pytest.mark.parametrize("count", [1, 2, 5])
@pytest.mark.parametrize("target", TARGETS)
def test_a_handful_of_reports_is_mined_with_what_they_determine(
    make_survey, make_reports, check, kind, count, target
):
    survey = make_survey(kind, (2, 3, 2))
    reports = make_reports(survey, count, seed=26)
    check(survey, reports, 0.3, target=target)


@pytest.mark.parametrize("cells", [2**17, 0])
def test_itemsets_come_shortest_first_then_most_frequent_first(
    make_survey, make_reports, kind, cells, monkeypatch
):
    monkeypatch.setattr(AT_ONCE, cells)
    survey = make_survey(kind, SHAPE)
    reports = make_reports(survey, 3000, seed=28)
    mined = estimator_of(survey, reports).itemsets(0.01)
    keys = [(len(itemset.items), -itemset.value) for itemset in mined]
    assert keys == sorted(keys)
    assert len(mined) == len(keys) > 20
    # Columns and iteration tell the same, items in the order of the survey.
    for row, itemset in enumerate(mined):
        codes = zip(survey.schema.names, mined.codes[row].tolist(), strict=True)
        expected = [(name, f"c{code}") for name, code in codes if code >= 0]
        assert list(itemset.items.items()) == expected
        assert mined.lengths[row] == len(expected)
        assert itemset.value == mined.support[row]
        assert itemset.standard_error == mined.standard_error[row]
        assert itemset.interval == (max(mined.lower[row], 0), min(mined.upper[row], 1))


def test_nothing_is_ruled_out_by_the_itemset_without_items(make_survey, check):
    survey = make_survey("randomized-response", (2, 3, 2))
    rng = np.random.default_rng(39)
    for count in range(3, 60):
        reports = rng.integers(0, (2, 3, 2), (count, 3))
        check(survey, reports, 1, target="respondents")


def test_a_support_exactly_at_the_threshold_is_reached(public_survey):
    survey = public_survey((2, 2))
    counts = Counts.from_cells(survey, [[0, 0], [1, 1]], [1, 3])
    mined = Estimator(survey, counts).itemsets(0.25, max_length=1, target="respondents")
    assert sorted(mined.support.tolist()) == [0.25, 0.25, 0.75, 0.75]
    assert {itemset.decision for itemset in mined} == {"frequent"}


@pytest.mark.parametrize("cells", [2**17, 0])
def test_no_itemset_at_all_is_a_result(make_survey, make_reports, kind, cells, monkeypatch):
    monkeypatch.setattr(AT_ONCE, cells)
    survey = make_survey(kind, SHAPE)
    reports = make_reports(survey, 5000, seed=33)
    mined = estimator_of(survey, reports).itemsets(1)
    assert len(mined) == 0
    assert list(mined) == []
    assert mined.codes.shape == (0, 4)
    assert mined.lower.shape == mined.upper.shape == mined.lengths.shape == (0,)
    assert [entry.length for entry in mined.precision] == [1]


def test_a_high_confidence_is_served_for_many_attributes(make_survey):
    survey = make_survey("randomized-response", (2,) * 32, {j: [1] for j in range(32)})
    reports = np.eye(32, dtype=int)
    mined = estimator_of(survey, reports).itemsets(0.9, confidence=0.9999999)
    assert len(mined) == 0


@pytest.fixture
def estimator(make_survey, make_reports):
    survey = make_survey("randomized-response", SHAPE)
    return Estimator(survey, Counts.from_reports(survey, make_reports(survey, 300, seed=34)))


def test_too_many_itemsets_are_refused(estimator, monkeypatch):
    # Lengths 1 and 2 of shape (2, 3, 2, 4) have 11 and 44 itemsets; near 0 none is ruled out.
    monkeypatch.setattr("halftruth_collector.estimation.itemsets.MAX_ITEMSETS", 54)
    monkeypatch.setattr(AT_ONCE, 0)
    with pytest.raises(DomainTooLarge, match=r"more than 54 itemsets .* length 2") as caught:
        estimator.itemsets(1e-6)
    assert caught.value.field == "max_length"
    assert len(estimator.itemsets(1e-6, max_length=1)) <= 11


@pytest.mark.parametrize(("limit", "length"), [(3, 1), (9, 2), (10, 3), (14, 4)])
def test_too_many_attribute_subsets_are_refused(estimator, monkeypatch, limit, length):
    # Four attributes have 4, 6, 4 and 1 subsets; a threshold near 0 rules none out.
    monkeypatch.setattr("halftruth_collector.estimation.itemsets.MAX_SUBSETS", limit)
    monkeypatch.setattr(AT_ONCE, 0)
    with pytest.raises(DomainTooLarge, match=f"more than {limit} .* length {length}") as error:
        estimator.itemsets(1e-6)
    assert error.value.field == "max_length"
    assert estimator.itemsets(1e-6, max_length=length - 1) if length > 1 else True


def test_sets_without_end_are_refused_before_a_long_level(monkeypatch):
    """Sixty questions have 34 220 triples, whose tables say nothing but that there are too many."""
    names = [f"q{j}" for j in range(60)]
    schema = Schema([Attribute(name, ("no", "yes")) for name in names])
    survey = Survey("long", "Long", schema, Response(dict.fromkeys(names, "0.8")))
    cells = np.random.default_rng(7).integers(0, 2, (500, 60))
    estimator = Estimator(survey, Counts.from_cells(survey, cells, np.ones(500, dtype=np.int64)))
    asked, tables = [], Tables.subsets

    def count(self, level):
        asked.extend(level)
        return tables(self, level)

    monkeypatch.setattr(Tables, "subsets", count)
    with pytest.raises(DomainTooLarge) as caught:
        estimator.itemsets(0.01)
    assert str(caught.value) == (
        "max_length: there may be more than 100000 combinations of attributes to examine at length"
        " 4; expected max_length = 3 at most, or a higher min_support"
    )
    assert len(asked) == 60 + 1_770


#: Shape, reports, threshold, range of the half-widths, and how the verdict begins.
VERDICTS = {
    "usable": ((2, 3, 2), 50_000, 0.05, (0, 0.05), "usable: "),
    "usable below the threshold": ((2, 3, 2), 7_000, 0.01, (0.015, 0.05), "usable: "),
    "barely": ((2, 3, 2), 300, 0.02, (0.05, 0.1), "barely usable: "),
    "not": ((2, 3, 2), 100, 0.02, (0.1, 0.5), "not usable: "),
    # 20 reports, five cells.
    "hardly known": ((5, 5, 5), 20, 0.02, (0.5, 99), "not usable: supports are known only to "),
}


@pytest.mark.parametrize("case", VERDICTS)
def test_precision_is_its_margin_whatever_the_threshold_which_is_another_sentence(
    make_survey, make_reports, case
):
    shape, count, threshold, (least, most), words = VERDICTS[case]
    survey = make_survey("gamma-diagonal", shape)
    reports = make_reports(survey, count, seed=36)
    mined = estimator_of(survey, reports).itemsets(threshold)
    first = on_length(mined.precision[0], threshold)
    assert least < first.half_width <= most
    assert first.verdict.startswith(words)
    assert first.reliability == words.partition(":")[0]
    assert half_width(first.half_width) in first.verdict
    above = f"those up to {percent(first.half_width, 1)} are not significantly above zero"
    assert (above in first.verdict) == (threshold <= first.half_width < 0.5)
    if case == "hardly known":
        assert "with about 4.0 reports for each cell" in first.verdict


@pytest.mark.parametrize("cells", [2**17, 0])
def test_precision_of_one_report_is_unknown(make_survey, cells, monkeypatch):
    monkeypatch.setattr(AT_ONCE, cells)
    survey = make_survey("randomized-response", (2, 3, 2))
    for entry in estimator_of(survey, [[0, 0, 0]]).itemsets(0.02).precision:
        assert (entry.half_width, entry.reliability) == (None, "not usable")
        assert "too few reports" in on_length(entry, 0.02).verdict
