"""Mining against brute force: every itemset enumerated, bounded and selected one by one."""

from itertools import combinations

import numpy as np
import pytest
from halftruth_collector.estimate import Counts, Estimator
from halftruth_shared import Attribute, DomainTooLarge, NoReports, ParameterError, Schema, Survey
from halftruth_shared import RandomizedResponse as Response
from scipy.stats import norm

SHAPE = (2, 3, 2, 4)
TARGETS = ("population", "respondents")
SELECTIONS = ("estimate", "lower", "upper")


def brute_force(bounds, min_support, max_length, confidence, select):
    """What mining should give, and which itemsets it should examine.

    `bounds` has the support and variance of every itemset. An itemset is examined if no proper
    subset of it has an upper bound below the threshold that holds for all subsets of the longest
    itemset at once: the error is shared by as many.
    """
    longest = max(len(itemset) for itemset in bounds)
    longest = min(longest, max_length or longest)
    z = norm.isf((1 - confidence) / 2)
    wider = norm.isf((1 - confidence) / 2 / 2**longest)
    ends, ruled_out = {}, set()
    for itemset, (support, variance) in bounds.items():
        half = z * np.sqrt(variance)
        ends[itemset] = (support - half, support, support + half)
        if support + wider * np.sqrt(variance) < min_support:
            ruled_out.add(itemset)
    selected, examined = {}, {}
    for itemset, (lower, support, upper) in ends.items():
        if max_length is not None and len(itemset) > max_length:
            continue
        subsets = [s for k in range(1, len(itemset)) for s in combinations(itemset, k)]
        if not ruled_out.isdisjoint(subsets):
            continue
        examined.setdefault(len(itemset), []).append((upper - lower) / 2)
        reached = {
            "estimate": support >= min_support,
            "lower": lower >= min_support,
            "upper": not upper < min_support,
        }[select]
        if reached:
            decision = "undecided"
            if upper < min_support:
                decision = "infrequent"
            elif lower >= min_support:
                decision = "frequent"
            selected[itemset] = (support, lower, upper, decision)
    return selected, examined


def as_itemsets(schema, itemsets):
    """Mined itemsets by their items, from what iterating gives."""
    found = {}
    for itemset in itemsets:
        key = tuple(
            (schema.position(name), schema.attributes[schema.position(name)].categories.index(item))
            for name, item in itemset.items.items()
        )
        assert key not in found
        found[key] = itemset
    return found


def check_against_brute_force(survey, reports, oracle, **asked):
    target = asked.get("target", "population")
    confidence = asked.get("confidence", 0.95)
    z = norm.isf((1 - confidence) / 2)
    expected, examined = brute_force(
        oracle.itemsets(survey, reports, target),
        asked["min_support"],
        asked.get("max_length"),
        confidence,
        asked.get("select", "estimate"),
    )
    mined = Estimator(survey, Counts.from_reports(survey.schema, reports)).itemsets(**asked)
    found = as_itemsets(survey.schema, mined)
    assert found.keys() == expected.keys()
    for itemset, (support, lower, upper, decision) in expected.items():
        estimate = found[itemset]
        assert estimate.support == pytest.approx(support, abs=1e-10)
        assert estimate.decision == decision
        if np.isnan(lower):
            assert (estimate.standard_error, estimate.interval) == (None, None)
        else:
            assert estimate.interval == pytest.approx((lower, upper), abs=1e-9)
            assert estimate.standard_error == pytest.approx((upper - lower) / 2 / z, abs=1e-9)
    precision = {entry.length: entry for entry in mined.precision}
    assert {length: entry.examined for length, entry in precision.items()} == {
        length: len(halves) for length, halves in examined.items()
    }
    for length, halves in examined.items():
        known = [half for half in halves if not np.isnan(half)]
        if 2 * len(known) > len(halves):
            assert precision[length].half_width == pytest.approx(np.median(known))
        else:
            assert precision[length].half_width is None
    return mined


@pytest.fixture(params=[2**17, 0], ids=["margins together", "level by level"])
def both_ways(request, monkeypatch):
    """Mine as small domains are mined, and as large ones are."""
    monkeypatch.setattr("halftruth_collector.estimate.estimator._MARGIN_CELLS", request.param)


@pytest.mark.usefixtures("both_ways")
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("select", SELECTIONS)
def test_mining_equals_brute_force(make_survey, make_reports, oracle, kind, select, target):
    survey = make_survey(kind, SHAPE)
    reports = make_reports(survey, 3000, seed=21, concentration=0.2)
    mined = check_against_brute_force(
        survey, reports, oracle, min_support=0.15, select=select, target=target
    )
    assert len(mined) > 0


@pytest.mark.usefixtures("both_ways")
@pytest.mark.parametrize("max_length", [None, 1, 3, 9])
def test_max_length_ends_mining(make_survey, make_reports, oracle, kind, max_length):
    survey = make_survey(kind, SHAPE)
    reports = make_reports(survey, 3000, seed=22, concentration=0.2)
    mined = check_against_brute_force(
        survey, reports, oracle, min_support=0.05, max_length=max_length
    )
    assert mined.lengths.max() == min(max_length or 4, 4)


@pytest.mark.usefixtures("both_ways")
@pytest.mark.parametrize(
    "items", [{1: [2]}, {0: [1], 2: [1]}, {0: [0], 1: [0, 2], 2: [1], 3: [3, 1]}, {3: []}]
)
@pytest.mark.parametrize("select", ["estimate", "upper"])
def test_only_items_count(make_survey, make_reports, oracle, kind, items, select):
    survey = make_survey(kind, SHAPE, items)
    reports = make_reports(survey, 3000, seed=23, concentration=0.3)
    mined = check_against_brute_force(survey, reports, oracle, min_support=0.1, select=select)
    for position, codes in items.items():
        assert set(mined.codes[:, position].tolist()) <= {-1, *codes}


@pytest.mark.usefixtures("both_ways")
@pytest.mark.parametrize("min_support", [0.001, 0.02, 0.3, 0.9, 1])
@pytest.mark.parametrize("select", SELECTIONS)
def test_every_threshold_is_served(make_survey, make_reports, oracle, min_support, select):
    survey = make_survey("distortion-matrices", SHAPE)
    reports = make_reports(survey, 2000, seed=24, concentration=0.2)
    check_against_brute_force(survey, reports, oracle, min_support=min_support, select=select)


@pytest.mark.usefixtures("both_ways")
@pytest.mark.parametrize("confidence", [0.01, 0.9999])
@pytest.mark.parametrize("target", TARGETS)
def test_every_confidence_is_served(make_survey, make_reports, oracle, kind, confidence, target):
    survey = make_survey(kind, (2, 3, 2))
    reports = make_reports(survey, 1000, seed=25)
    check_against_brute_force(
        survey, reports, oracle, min_support=0.2, confidence=confidence, target=target
    )


@pytest.mark.usefixtures("both_ways")
@pytest.mark.parametrize("count", [1, 2, 5, 12])
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("select", ["estimate", "upper"])
def test_a_handful_of_reports_is_mined_with_what_they_determine(
    make_survey, make_reports, oracle, kind, count, target, select
):
    survey = make_survey(kind, (2, 3, 2))
    reports = make_reports(survey, count, seed=26)
    check_against_brute_force(
        survey, reports, oracle, min_support=0.3, target=target, select=select
    )


@pytest.fixture
def basket(oracle):
    """Shoppers of eight products, most of whom who buy bread also buy butter and jam."""
    products = ("bread", "butter", "jam", "milk", "tea", "soap", "pens", "figs")
    schema = Schema([Attribute(name, ["no", "yes"], items=["yes"]) for name in products])
    survey = Survey("basket", "Basket", schema, Response(dict.fromkeys(products, "0.95")))
    rng = np.random.default_rng(27)
    records = (rng.random((4000, 8)) < [0.5, 0.2, 0.1, 0.4, 0.3, 0.1, 0.05, 0.02]).astype(int)
    bread = records[:, 0] == 1
    records[bread, 1] |= rng.random(bread.sum()) < 0.8
    records[bread, 2] |= rng.random(bread.sum()) < 0.7
    return survey, survey.mechanism.perturb_many(schema, records, rng)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("select", ["lower", "upper"])
def test_a_market_basket_is_mined_for_what_was_bought(basket, oracle, select, target):
    survey, reports = basket
    mined = check_against_brute_force(
        survey, reports, oracle, min_support=0.05, select=select, target=target
    )
    assert all(set(itemset.items.values()) == {"yes"} for itemset in mined)
    # True support 0.31, standard error below 0.01.
    [together] = [
        itemset for itemset in mined if tuple(itemset.items) == ("bread", "butter", "jam")
    ]
    assert together.support == pytest.approx(0.5 * 0.84 * 0.73, abs=0.045)
    assert together.decision == "frequent"


@pytest.mark.usefixtures("both_ways")
def test_itemsets_come_shortest_first_then_most_frequent_first(make_survey, make_reports, kind):
    survey = make_survey(kind, SHAPE)
    reports = make_reports(survey, 3000, seed=28)
    mined = Estimator(survey, Counts.from_reports(survey.schema, reports)).itemsets(0.01)
    listed = list(mined)
    keys = [(len(itemset.items), -itemset.support) for itemset in listed]
    assert keys == sorted(keys)
    assert len(mined) == len(listed) > 20
    assert [len(itemset.items) for itemset in listed] == mined.lengths.tolist()


def test_items_are_named_in_the_order_of_the_survey(make_survey, make_reports):
    survey = make_survey("randomized-response", SHAPE)
    reports = make_reports(survey, 3000, seed=28)
    for itemset in Estimator(survey, Counts.from_reports(survey.schema, reports)).itemsets(0.01):
        assert list(itemset.items) == sorted(itemset.items)


def test_columns_and_iteration_tell_the_same(make_survey, make_reports):
    survey = make_survey("randomized-response", SHAPE)
    reports = make_reports(survey, 3000, seed=29)
    mined = Estimator(survey, Counts.from_reports(survey.schema, reports)).itemsets(0.05)
    for row, itemset in enumerate(mined):
        fixed = {
            survey.schema.names[j]: f"c{code}"
            for j, code in enumerate(mined.codes[row].tolist())
            if code >= 0
        }
        assert itemset.items == fixed
        assert itemset.support == mined.support[row]
        assert itemset.standard_error == mined.standard_error[row]
        assert itemset.interval == (mined.lower[row], mined.upper[row])


def test_nothing_is_ruled_out_by_the_itemset_without_items(make_survey, oracle):
    survey = make_survey("randomized-response", (2, 3, 2))
    rng = np.random.default_rng(39)
    for count in range(3, 60):
        reports = np.stack([rng.integers(0, size, count) for size in (2, 3, 2)], axis=1)
        check_against_brute_force(
            survey, reports, oracle, min_support=1, target="respondents", select="upper"
        )


def test_selecting_by_bounds_nests(make_survey, make_reports, kind):
    survey = make_survey(kind, SHAPE)
    reports = make_reports(survey, 2000, seed=30)
    estimator = Estimator(survey, Counts.from_reports(survey.schema, reports))
    lower, middle, upper = (
        as_itemsets(survey.schema, estimator.itemsets(0.1, select=select)).keys()
        for select in ("lower", "estimate", "upper")
    )
    assert lower < middle < upper


def test_decisions_follow_the_interval(make_survey, make_reports, kind):
    survey = make_survey(kind, SHAPE)
    reports = make_reports(survey, 2000, seed=31, concentration=0.2)
    estimator = Estimator(survey, Counts.from_reports(survey.schema, reports))
    chosen = estimator.itemsets(0.1, select="lower")
    assert {itemset.decision for itemset in chosen} == {"frequent"}
    possible = estimator.itemsets(0.1, select="upper")
    assert {itemset.decision for itemset in possible} == {"frequent", "undecided"}


def test_an_infrequent_itemset_is_never_selected(make_survey, make_reports, kind):
    # Its upper bound is below the threshold, and so is its estimate.
    survey = make_survey(kind, SHAPE)
    reports = make_reports(survey, 2000, seed=32)
    estimator = Estimator(survey, Counts.from_reports(survey.schema, reports))
    for select in SELECTIONS:
        for itemset in estimator.itemsets(0.1, select=select):
            assert itemset.decision != "infrequent"


def test_a_support_exactly_at_the_threshold_is_reached(public_survey):
    survey = public_survey((2, 2))
    counts = Counts.from_cells(survey.schema, [[0, 0], [1, 1]], [1, 3])
    mined = Estimator(survey, counts).itemsets(0.25, max_length=1, target="respondents")
    assert sorted(mined.support.tolist()) == [0.25, 0.25, 0.75, 0.75]
    assert {itemset.decision for itemset in mined} == {"frequent"}


@pytest.mark.usefixtures("both_ways")
def test_no_itemset_at_all_is_a_result(make_survey, make_reports, kind):
    survey = make_survey(kind, SHAPE)
    reports = make_reports(survey, 5000, seed=33)
    mined = Estimator(survey, Counts.from_reports(survey.schema, reports)).itemsets(1)
    assert len(mined) == 0
    assert list(mined) == []
    assert mined.codes.shape == (0, 4)
    assert mined.lower.shape == mined.upper.shape == mined.lengths.shape == (0,)
    assert [entry.length for entry in mined.precision] == [1]


@pytest.mark.usefixtures("both_ways")
def test_a_survey_without_items_has_no_itemsets(make_survey):
    survey = make_survey("gamma-diagonal", (2, 3), {0: [], 1: []})
    counts = Counts.from_cells(survey.schema, [[0, 1], [1, 2]], [50, 60])
    assert len(Estimator(survey, counts).itemsets(0.1)) == 0


def test_a_high_confidence_is_served_for_many_attributes(make_survey):
    survey = make_survey("randomized-response", (2,) * 32, {j: [1] for j in range(32)})
    reports = np.eye(32, dtype=int)
    mined = Estimator(survey, Counts.from_reports(survey.schema, reports)).itemsets(
        0.9, confidence=0.9999999, select="upper"
    )
    assert len(mined) == 0


@pytest.fixture
def estimator(make_survey, make_reports):
    survey = make_survey("randomized-response", SHAPE)
    return Estimator(survey, Counts.from_reports(survey.schema, make_reports(survey, 300, seed=34)))


@pytest.mark.parametrize(
    ("field", "bad"),
    [
        *(("min_support", value) for value in (0, -0.1, 1.01, np.nan, np.inf, -np.inf, "0.1")),
        *(("max_length", value) for value in (0, -1, 1.5, "2")),
        *(("confidence", value) for value in (0, 1, -1, 2, np.nan)),
        *(("select", value) for value in ("", "mean", "Lower", None)),
        *(("target", value) for value in ("", "sample", None)),
    ],
)
def test_a_parameter_outside_its_range_is_named(estimator, field, bad):
    asked = {"min_support": 0.1, field: bad}
    with pytest.raises(ParameterError, match=field) as error:
        estimator.itemsets(**asked)
    assert error.value.field == field


def test_nothing_is_mined_from_no_reports(make_survey):
    survey = make_survey("gamma-diagonal", SHAPE)
    with pytest.raises(NoReports):
        Estimator(survey, Counts.from_reports(survey.schema, []))


def test_too_many_itemsets_are_refused(estimator, monkeypatch):
    # Lengths 1 and 2 of shape (2, 3, 2, 4) have 11 and 44 itemsets; near 0 none is ruled out.
    monkeypatch.setattr("halftruth_collector.estimate.itemsets.MAX_ITEMSETS", 54)
    monkeypatch.setattr("halftruth_collector.estimate.estimator._MARGIN_CELLS", 0)
    with pytest.raises(DomainTooLarge, match=r"more than 54 itemsets .* length 2") as caught:
        estimator.itemsets(1e-6)
    assert caught.value.field == "max_length"
    assert len(estimator.itemsets(1e-6, max_length=1, select="upper")) == 11


@pytest.mark.parametrize("kind", ["gamma-diagonal", "randomized-response"])
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("max_length", [None, 1, 3])
@pytest.mark.parametrize("items", [{}, {0: [1], 2: []}])
def test_going_level_by_level_gives_the_same_as_all_margins_together(
    make_survey, make_reports, monkeypatch, kind, target, max_length, items
):
    survey = make_survey(kind, SHAPE, items)
    counts = Counts.from_reports(survey.schema, make_reports(survey, 900, seed=35))
    both = []
    for cells in (2**17, 0):
        monkeypatch.setattr("halftruth_collector.estimate.estimator._MARGIN_CELLS", cells)
        mined = Estimator(survey, counts).itemsets(0.1, max_length, select="upper", target=target)
        both.append(mined)
    together, by_level = both
    assert len(together) == len(by_level) > 0
    order = [np.lexsort(mined.codes.T) for mined in both]
    assert np.array_equal(together.codes[order[0]], by_level.codes[order[1]])
    assert np.array_equal(together.decision[order[0]], by_level.decision[order[1]])
    for name in ("support", "standard_error"):
        columns = [getattr(mined, name)[rows] for mined, rows in zip(both, order, strict=True)]
        assert np.allclose(*columns, rtol=1e-9, atol=1e-12, equal_nan=True)
    assert [entry.examined for entry in together.precision] == [
        entry.examined for entry in by_level.precision
    ]


@pytest.mark.parametrize(("limit", "length"), [(3, 1), (4, 2), (9, 2), (10, 3), (13, 3), (14, 4)])
def test_too_many_attribute_subsets_are_refused(estimator, monkeypatch, limit, length):
    # Four attributes have 4, 6, 4 and 1 subsets; a threshold near 0 rules none out.
    monkeypatch.setattr("halftruth_collector.estimate.itemsets.MAX_SUBSETS", limit)
    monkeypatch.setattr("halftruth_collector.estimate.estimator._MARGIN_CELLS", 0)
    with pytest.raises(DomainTooLarge, match=f"more than {limit} .* length {length}") as error:
        estimator.itemsets(1e-6)
    assert error.value.field == "max_length"
    assert estimator.itemsets(1e-6, max_length=length - 1) if length > 1 else True


def test_as_many_attribute_subsets_as_the_limit_are_examined(estimator, monkeypatch):
    monkeypatch.setattr("halftruth_collector.estimate.itemsets.MAX_SUBSETS", 15)
    assert estimator.itemsets(1e-6).lengths.max() == 4


def test_precision_is_usable_where_half_widths_are_below_the_threshold(make_survey, make_reports):
    survey = make_survey("gamma-diagonal", (2, 3, 2))
    reports = make_reports(survey, 50_000, seed=35)
    mined = Estimator(survey, Counts.from_reports(survey.schema, reports)).itemsets(0.05)
    assert [entry.length for entry in mined.precision] == [1, 2, 3]
    for entry in mined.precision:
        assert 0 < entry.half_width <= 0.05
        assert entry.usable
        assert entry.verdict.startswith("usable")
        assert f"±{entry.half_width:.2%}" in entry.verdict


def test_precision_is_not_usable_where_half_widths_are_above_the_threshold(
    make_survey, make_reports
):
    survey = make_survey("gamma-diagonal", (2, 3, 2))
    reports = make_reports(survey, 300, seed=36)
    mined = Estimator(survey, Counts.from_reports(survey.schema, reports)).itemsets(0.02)
    for entry in mined.precision:
        assert 0.02 < entry.half_width < 0.5
        assert not entry.usable
        assert "not usable at 2.00%" in entry.verdict
        assert f"above {entry.half_width:.1%}" in entry.verdict


def test_precision_says_when_supports_are_hardly_known_at_all(make_survey, make_reports):
    survey = make_survey("gamma-diagonal", (5, 5, 5))
    reports = make_reports(survey, 20, seed=37)
    first = (
        Estimator(survey, Counts.from_reports(survey.schema, reports)).itemsets(0.02).precision[0]
    )
    assert first.half_width > 0.5
    assert not first.usable
    known, _, filled = first.verdict.partition("; ")
    assert known == f"not usable: supports are known only to ±{first.half_width:.0%}"
    # 20 reports, five cells.
    assert filled.startswith("with about 4.0 reports for each cell, intervals miss the truth")


def test_precision_that_hardly_tells_the_threshold_from_zero_is_barely_usable(
    make_survey, make_reports
):
    survey = make_survey("gamma-diagonal", (2, 3, 2))
    reports = make_reports(survey, 5_000, seed=40)
    first = (
        Estimator(survey, Counts.from_reports(survey.schema, reports)).itemsets(0.03).precision[0]
    )
    assert 0.015 < first.half_width <= 0.03
    assert not first.usable
    assert first.verdict.startswith("barely usable")


@pytest.mark.usefixtures("both_ways")
def test_precision_of_one_report_is_unknown(make_survey):
    survey = make_survey("randomized-response", (2, 3, 2))
    counts = Counts.from_reports(survey.schema, [[0, 0, 0]])
    for entry in Estimator(survey, counts).itemsets(0.02).precision:
        assert entry.half_width is None
        assert not entry.usable
        assert "too few reports" in entry.verdict


@pytest.mark.parametrize("target", TARGETS)
def test_four_times_the_reports_halve_the_half_widths(make_survey, make_reports, kind, target):
    survey = make_survey(kind, SHAPE)
    once = Counts.from_reports(survey.schema, make_reports(survey, 3000, seed=38))
    fourfold = Counts.from_cells(survey.schema, once.cells, 4 * once.counts)
    wide, narrow = (
        Estimator(survey, counts).itemsets(1e-6, target=target).precision
        for counts in (once, fourfold)
    )
    assert len(wide) == 4
    for before, after in zip(wide[:3], narrow[:3], strict=True):
        assert after.half_width == pytest.approx(before.half_width / 2, rel=0.02)
