"""Measures of rules against dense weights of all reports."""

import math
from itertools import combinations, product

import numpy as np
import pytest
from halftruth_collector.estimation import Counts, Estimator
from halftruth_collector.estimation.measures import ALIASES, MEASURE_NAMES
from halftruth_shared import EstimateError, RandomizedResponse
from mined import Rule, mined_rules, rule_of, rules_of
from sources import aimed, estimator_of
from witnesses import witness

from .definitions import (
    FROM_ZERO,
    KINDS,
    LOGARITHMS,
    PAIR,
    TARGETS,
    Z,
    first_order_error,
    from_zero,
    pair_factors,
    pair_measures,
    ratio_of,
    survey_of,
)

SHAPE = (2, 3, 2, 2)
#: Support of X and Y together, of X and of Y in the cells (00, 01, 10, 11) of X and Y.
SUPPORTS = np.array([[0.0, 0, 0, 1], [0, 0, 1, 1], [0, 1, 0, 1]])
#: Quantities that must be positive for a measure to exist: shares of absence (0) and presence (1)
#: of X (r) and of Y (c), and cells. Measures with logarithms also accept a cell of 0.
NEEDS = {
    "phi": "r0 r1 c0 c1",
    "odds_ratio": "p00 p01 p10 p11",
    "jaccard": "union",
    "cosine": "r1 c1",
    "interest": "p11 r1 c1",
    "piatetsky_shapiro": "r1 c1",
    "conviction": "r1 c0 p10",
    "j_measure": "r1 c0 c1 p10 p11",
    "certainty": "r1 c0 c1",
    "standardized_residual": "r1 c1",
    "added_value": "r1 c1",
    "risk_difference": "r0 r1",
    "column_risk_difference": "c0 c1",
    "laplace": "r1",
    "kappa": "r0 r1 c0 c1",
    "collective_strength": "r0 r1 c0 c1 differ",
    "chi_squared": "r0 r1 c0 c1",
    "g_squared": "p00 p01 p10 p11",
    "mutual_information": "p00 p01 p10 p11",
    "uncertainty_coefficient": "p00 p01 p10 p11",
    "concentration": "r0 r1 c0 c1",
}
NAMES = tuple(NEEDS)

RATIO = (0, math.inf)
#: Smallest and largest possible values at N = 1, unless they are 0 and 1 or −1 and 1.
LIMITS = {
    **dict.fromkeys(("odds_ratio", "interest", "conviction", "collective_strength"), RATIO),
    **dict.fromkeys(("jaccard", "cosine", "laplace", "mutual_information"), (0, 1)),
    **dict.fromkeys(("uncertainty_coefficient", "concentration"), (0, 1)),
    "certainty": (-math.inf, 1),
    "piatetsky_shapiro": (-1 / 4, 1 / 4),
    "j_measure": (0, 1 / math.e),
    "standardized_residual": (-1, 1),
    "chi_squared": (0, 1),
    "g_squared": (0, 2 * math.log(2)),
}
#: Exponents of N for the last three.
GROWTH = {"standardized_residual": 0.5, "chi_squared": 1, "g_squared": 1}


def by_hand(cells, covariance, n):
    """Return for each measure and rule: value, standard error and interval, or NaN.

    `cells` has shape (4, R), `covariance` (R, 4, 4).
    """
    # The variance due to randomization can be negative with few reports, and is zero if all
    # reports weigh the same. If a support of the rule has none, no measure has an error.
    variances = np.diagonal(SUPPORTS @ covariance @ SUPPORTS.T, axis1=1, axis2=2)
    found = {name: [] for name in NAMES}
    with np.errstate(all="ignore"):
        for table, spread, known in zip(cells.T, covariance, variances > 1e-12, strict=True):
            one = of_one_rule(table, spread if known.all() else spread * np.nan, n)
            for name, numbers in one.items():
                found[name].append(numbers)
    return found


#: Standard errors above 0 that a cell needs for its logarithm.
CLEAR_OF_LOGARITHMS = 3

NOTHING = (np.nan, np.nan, (np.nan, np.nan))


def of_one_rule(cells, covariance, n):
    """Value, standard error and interval of every measure of a rule, by its four cells."""
    p00, p01, p10, p11 = cells
    parts = {"p00": p00, "p01": p01, "p10": p10, "p11": p11}
    parts |= {"r0": p00 + p01, "r1": p10 + p11, "c0": p00 + p10, "c1": p01 + p11}
    parts |= {"union": p01 + p10 + p11, "differ": p01 + p10}
    table = cells.reshape(2, 2)
    sums = np.array([[1, 1, 0, 0], [0, 0, 1, 1], [1, 0, 1, 0], [0, 1, 0, 1]])
    clear_margins, clear_cells, clear_union, clear_antecedent = (
        bool((some @ cells > errors * np.sqrt(np.diag(some @ covariance @ some.T))).all())
        for some, errors in (
            (sums, Z),
            (np.eye(4), CLEAR_OF_LOGARITHMS),
            (np.array([[0, 1, 1, 1]]), Z),
            (sums[1:2], Z),
        )
    )
    of_its_own = {"jaccard": clear_union, "laplace": clear_antecedent}
    found = {}
    for name in NAMES:

        def formula(t, name=name):
            return pair_measures(t, n)[name]

        found[name] = NOTHING
        if not all(parts[part] > 0 for part in NEEDS[name].split()):
            continue
        clear = clear_cells if name in LOGARITHMS else of_its_own.get(name, clear_margins)
        if name in FROM_ZERO:
            if clear:
                found[name] = from_zero(formula, table, covariance)
        elif name in pair_factors(table):
            found[name] = ratio_of(lambda t, name=name: pair_factors(t)[name], table, covariance)
        else:
            value = float(formula(table))
            error = first_order_error(formula, table, covariance) if clear else np.nan
            found[name] = value, error, (value - Z * error, value + Z * error)
    return found


def words(survey, side):
    attributes = survey.schema.attributes
    return {attributes[j].name: attributes[j].categories[code] for j, code in side}


def tables_of(survey, reports, oracle, rules, target):
    """Cells of X and Y of each rule, as sums of the estimates of the whole table's cells."""
    codes = np.indices(survey.schema.shape).reshape(len(survey.schema.shape), -1)
    held = []
    for rule in rules:
        x, y = (np.all([codes[j] == code for j, code in side], axis=0) for side in rule)
        held.append([~x & ~y, ~x & y, x & ~y, x & y])
    held = np.array(held, dtype=float)
    names = survey.schema.names
    whole = oracle.covariance(survey, reports, names, target)
    cells = held @ oracle.support(survey, reports, names)
    return cells.T, held @ whole @ np.moveaxis(held, 1, 2)


def every_rule(shape):
    """Every rule of a schema, as two sides of items (position, code)."""
    for length in range(2, len(shape) + 1):
        for positions in combinations(range(len(shape)), length):
            for codes in product(*(range(shape[j]) for j in positions)):
                items = tuple(zip(positions, codes, strict=True))
                for left in range(1, length):
                    for x in combinations(items, left):
                        yield x, tuple(item for item in items if item not in x)


def key(rule):
    return frozenset(rule.antecedent.items()), frozenset(rule.consequent.items())


def key_of(survey, rule):
    return tuple(frozenset(words(survey, side).items()) for side in rule)


def number(value):
    return np.nan if value is None else value


def error_of(measure):
    """Return the error of a measure, or of the logarithm of a ratio; only one exists."""
    ratio = LIMITS.get(measure.quantity) == RATIO
    assert (measure.standard_error if ratio else measure.standard_error_log) is None
    return number(measure.standard_error_log if ratio else measure.standard_error)


def assert_measures(rules, expected, n):
    """Assert that measures of rules have the expected value, error, interval and reason."""
    for place, name in enumerate(NAMES):
        measures = [rule.measures[place] for rule in rules]
        value, error, interval = (np.array(column) for column in zip(*expected[name], strict=True))
        assert {measure.quantity for measure in measures} == {name}
        close = {"rtol": 1e-5, "atol": 1e-8, "err_msg": name}
        np.testing.assert_allclose([number(m.value) for m in measures], value, **close)
        np.testing.assert_allclose([error_of(m) for m in measures], error, **close)
        assert [m.undefined is not None for m in measures] == np.isnan(value).tolist(), name
        limits = np.array(LIMITS.get(name, (-1, 1))) * float(n) ** GROWTH.get(name, 0)
        cut = np.clip(interval, *limits)
        cut[(interval[:, 0] > limits[1]) | (interval[:, 1] < limits[0])] = np.nan
        np.testing.assert_allclose([ends_of(m.interval) for m in measures], cut, **close)


def ends_of(interval):
    """Return both ends, an open upper one as infinity; NaN without an interval."""
    lower, upper = interval or (np.nan, np.nan)
    return lower, np.inf if upper is None else upper


def test_the_measures_of_rules_are_all_of_the_literature():
    assert MEASURE_NAMES == NAMES
    assert ALIASES == {"lift": "interest", "leverage": "piatetsky_shapiro"}


@pytest.mark.parametrize("target", TARGETS)
def test_every_measure_of_every_rule_is_its_formula(
    make_survey, make_reports, oracle, kind, target
):
    witness("Guo", "Table 3.6")
    survey = make_survey(kind, SHAPE)
    reports = make_reports(survey, 2003, seed=101, concentration=0.3)
    asked = {"target": target, "measures": NAMES}
    rules = mined((survey, reports), 0.02, 0, **asked)
    assert len({key(rule) for rule in rules}) == len(rules) > 200
    known = {key_of(survey, rule): rule for rule in every_rule(SHAPE)}
    rules = rules[::24]
    sides = [known[key(rule)] for rule in rules]
    expected = by_hand(*tables_of(survey, reports, oracle, sides, target), len(reports))
    estimator = estimator_of(survey, reports)
    alone = [one_rule(aimed(estimator, target), rule.antecedent, rule.consequent) for rule in rules]
    assert_measures(alone, expected, len(reports))
    # In a list of rules only the intervals are wider.
    for rule, one in zip(rules, alone, strict=True):
        for listed, measure in zip(rule.measures, one.measures, strict=True):
            np.testing.assert_allclose(
                [number(listed.value), error_of(listed)],
                [number(measure.value), error_of(measure)],
                rtol=1e-6,
            )
            if measure.interval is not None and listed.interval is not None:
                (low, high), (least, most) = ends_of(measure.interval), ends_of(listed.interval)
                assert least <= low + 1e-9
                assert most >= high - 1e-9
    # Defined and undefined measures occur.
    undefined = np.isnan([value for column in expected.values() for value, *_ in column])
    assert 0 < undefined.sum() < undefined.size / 2


@pytest.mark.parametrize("target", TARGETS)
def test_a_single_rule_is_evaluated_at_any_support_of_a_positive_antecedent(
    make_survey, make_reports, oracle, kind, target
):
    survey = make_survey(kind, (2, 3, 2))
    reports = make_reports(survey, 61, seed=102, concentration=0.1)
    estimator = estimator_of(survey, reports)
    sides = list(every_rule((2, 3, 2)))[::3]
    cells, covariance = tables_of(survey, reports, oracle, sides, target)
    confident = cells[2] + cells[3] > 0
    assert (~confident).sum() > 3
    found = []
    for rule, has in zip(sides, confident, strict=True):
        x, y = (words(survey, side) for side in rule)
        if has:
            found.append(one_rule(aimed(estimator, target), x, y))
            assert (found[-1].antecedent, found[-1].consequent) == (x, y)
            continue
        with pytest.raises(
            EstimateError, match="antecedent: its estimated share is not above 0"
        ) as caught:
            rule_of(aimed(estimator, target), x, y)
        assert caught.value.field == "antecedent"
        assert "\n" not in str(caught.value)
    # Shares above 1 are tested below.
    within = cells[:, confident][[0, 2]].sum(axis=0) > 0
    within &= cells[:, confident][0] < 1
    found = [rule for rule, fits in zip(found, within, strict=True) if fits]
    confident[confident] = within
    cells, covariance = cells[:, confident], covariance[confident]
    support, left = cells[3], cells[2] + cells[3]
    np.testing.assert_allclose([rule.support.value for rule in found], support, atol=1e-10)
    np.testing.assert_allclose([rule.value for rule in found], support / left, rtol=1e-7)
    assert_measures(found, by_hand(cells, covariance, len(reports)), len(reports))
    # Rules with a negative estimated support occur.
    assert (support < 0).sum() > 3


GRADES = ("usable", "barely usable", "not usable")
ORDERS = ("confidence", "support", "lift", "chi_squared")


def value_of(rule, order):
    if order in ("confidence", "support"):
        return rule.value if order == "confidence" else rule.support.value
    [value] = [measure.value for measure in rule.measures if measure.quantity == order]
    return value


@pytest.fixture(scope="module")
def few(make_survey, make_reports):
    """Few reports, so that some rules have no intervals and some measures are undefined."""

    def make(kind):
        survey = make_survey(kind, SHAPE)
        return survey, make_reports(survey, 403, seed=104, concentration=0.2)

    return make


@pytest.fixture
def several(few):
    return few("distortion-matrices")


def mined(several, *least, target="population", **asked):
    """Return every rule, including those with a support not significantly above zero."""
    asked |= {"include_uncertain": True, "max_length": len(SHAPE)}
    return rules_of(mined_rules(aimed(estimator_of(*several), target), *least, **asked))


def one_rule(estimator, *sides, **asked):
    """Return the rule of two sides."""
    [rule] = rules_of(rule_of(estimator, *sides, **asked))
    return rule


@pytest.mark.parametrize("order", ORDERS)
def test_rules_are_sorted_as_requested_and_a_limit_keeps_the_first(several, order):
    asked = {"measures": ["lift", "chi_squared"]}
    rules = mined(several, 0.01, 0, sort=order, **asked)
    by_default = mined(several, 0.01, 0, **asked)
    same = {key(rule): rule for rule in by_default}
    assert_close(rules, [same[key(rule)] for rule in rules])
    assert len(rules) == len(by_default) > 100
    # Rules without intervals come last, and within each part those with an undefined measure.
    places = [
        (
            GRADES.index(rule.reliability),
            rule.standard_error is None,
            value_of(rule, order) is None,
            -(value_of(rule, order) or 0),
            -rule.support.value,
        )
        for rule in rules
    ]
    assert places == sorted(places)
    assert {unbounded for _, unbounded, *_ in places} == {False, True}
    if order != "confidence":
        assert list(map(key, rules)) != list(map(key, by_default))
    for limit in (1, 7, len(rules) - 1, 10**30):
        assert_close(mined(several, 0.01, 0, sort=order, limit=limit, **asked), rules[:limit])


def test_rules_can_be_sorted_by_a_measure_that_is_not_requested(several):
    rules = mined(several, 0.05, 0, sort="kappa")
    others = mined(several, 0.05, 0, sort="kappa", measures=["kappa"])
    assert [key(rule) for rule in rules] == [key(rule) for rule in others]
    assert all(rule.measures == [] for rule in rules)


def test_min_lift_excludes_rules_with_a_smaller_or_undefined_lift(several, oracle):
    every = {key(rule): rule for rule in mined(several, 0.05, 0.1)}
    known = {key_of(several[0], rule): rule for rule in every_rule(SHAPE)}
    cells, _ = tables_of(*several, oracle, [known[rule] for rule in every], "population")
    there = cells[1] + cells[3] > 0
    lift = cells[3] / ((cells[2] + cells[3]) * (cells[1] + cells[3]))
    for least in (0, 0.5, 1, 1.7, 1e6):
        assert np.abs(lift[there] - least).min() > 1e-9
        expected = {
            r: every[r] for r, fits in zip(every, there & (lift >= least), strict=True) if fits
        }
        found = {key(rule): rule.value for rule in mined(several, 0.05, 0.1, min_lift=least)}
        assert found == {rule: each.value for rule, each in expected.items()}
        assert bool(expected) == (least < 10)


def test_min_lift_is_inclusive(public_survey):
    # Every share is a power of two, so that nothing is rounded: lifts 2 and 0.
    survey = public_survey((2, 2))
    counts = Counts.from_cells(survey, [[0, 0], [1, 1]], [8, 8])
    assert len(mined_rules(Estimator(survey, counts), 0.25, 0, 2, 2, include_uncertain=True)) == 4
    assert len(mined_rules(Estimator(survey, counts), 0.25, 0, 2 + 1e-6, 2)) == 0


def test_measures_have_the_requested_order_and_names(several):
    names = ["leverage", "phi", "lift", "piatetsky_shapiro", "interest", "conviction"]
    for rule in mined(several, 0.05, 0, measures=names):
        assert [measure.quantity for measure in rule.measures] == names
        leverage, _, lift, other, interest, _ = rule.measures
        assert (leverage.value, leverage.standard_error) == (other.value, other.standard_error)
        logs = [each.standard_error_log for each in (lift, interest)]
        assert (lift.value, logs[0]) == (interest.value, logs[1])
        assert (lift.interval, leverage.undefined) == (interest.interval, other.undefined)


@pytest.mark.parametrize("target", TARGETS)
def test_a_single_rule_equals_the_same_rule_of_a_list(several, target):
    asked = {"measures": ["lift", "phi"]}
    estimator = aimed(estimator_of(*several), target)
    found = mined_rules(
        estimator, 0.05, 0, None, 4, confidence=0.9, include_uncertain=True, **asked
    )
    assert found.alpha == pytest.approx(0.1 * len(found) / found.candidates)
    rules = rules_of(found)
    assert len(rules) > 20
    for rule in rules[::3]:
        sides = rule.antecedent, rule.consequent
        one = one_rule(estimator, *sides, confidence=1 - found.alpha, **asked)
        assert_close(one.interval, rule.interval)
        assert_close(one.support.interval, rule.support.interval)
        assert_close([m.interval for m in one.measures], [m.interval for m in rule.measures])
        # The reliability does not depend on the number of listed rules.
        alone = one_rule(estimator, *sides, confidence=0.9, **asked)
        assert_close(alone.reliability, rule.reliability)
    sides = rules[0].antecedent, rules[0].consequent
    assert [each.quantity for each in one_rule(estimator, *sides).measures] == list(NAMES)
    assert one_rule(estimator, *sides, measures=[]).measures == []


def assert_close(found, expected):
    """Compare two structs up to rounding, which differs between processors."""
    if isinstance(expected, Rule):
        for part in ("confidence", "support", "measures"):
            assert_close(getattr(found, part), getattr(expected, part))
    elif hasattr(expected, "__struct_fields__"):
        for field in expected.__struct_fields__:
            assert_close(getattr(found, field), getattr(expected, field))
    elif isinstance(expected, list | tuple):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            assert_close(one, other)
    elif isinstance(expected, float):
        assert math.isclose(found, expected, rel_tol=1e-6, abs_tol=1e-9)
    else:
        assert found == expected


@pytest.mark.parametrize(
    ("kind", "target"), list(zip(KINDS, (*TARGETS, "population"), strict=True))
)
def test_mining_level_by_level_gives_the_same_rules(few, kind, target, monkeypatch):
    several = few(kind)
    asked = {"target": target, "min_lift": 0.5, "measures": NAMES}
    at_once = {key(rule): rule for rule in mined(several, 0.02, 0.1, **asked)}
    monkeypatch.setattr("halftruth_collector.estimation.estimator._AT_ONCE", 1)
    by_level = {key(rule): rule for rule in mined(several, 0.02, 0.1, **asked)}
    assert by_level.keys() == at_once.keys()
    assert len(by_level) > 50
    for rule, found in by_level.items():
        assert_close(found, at_once[rule])
    first = next(iter(by_level.values()))
    sides = first.antecedent, first.consequent
    one = one_rule(aimed(estimator_of(*several), target), *sides, confidence=0.95)
    assert_close([one.value, one.standard_error], [first.value, first.standard_error])


@pytest.mark.parametrize("kind", KINDS)
def test_one_report_gives_measures_without_errors(make_survey, kind):
    estimator = estimator_of(make_survey(kind, (2, 2, 2)), [[1, 1, 1]])
    rule = one_rule(estimator, {"a": "c1", "b": "c1"}, {"c": "c1"})
    assert rule.support.value > 0
    for measure in rule.measures:
        assert measure.standard_error is measure.standard_error_log is measure.interval is None
        assert (measure.value is None) == (measure.undefined is not None)
    assert rule.measures[NAMES.index("laplace")].value is not None


def of_counts(survey, counts, **asked):
    """Return the rule a=c1 ⇒ b=c1 of counts of 00, 01, 10, 11."""
    estimator = Estimator(survey, Counts.from_cells(survey, PAIR, counts))
    return one_rule(estimator, {"a": "c1"}, {"b": "c1"}, **asked)


@pytest.mark.parametrize(
    ("counts", "reasons"),
    [
        # Nobody has b, so that only measures that do not need its share exist.
        ([16, 0, 16, 0], {"phi": "no positive estimated share", "jaccard": None, "laplace": None}),
        # Nobody has a without b.
        ([16, 8, 0, 8], {"conviction": "a cell whose estimate is 0", "phi": None,
                         "odds_ratio": "a cell whose estimate is 0",
                         "g_squared": "three standard errors above",
                         "j_measure": "three standard errors above"}),
    ],
)  # fmt: skip
def test_an_undefined_measure_of_a_rule_has_a_reason(public_survey, counts, reasons):
    found = of_counts(public_survey((2, 2)), counts, measures=list(reasons)).measures
    for measure, reason in zip(found, reasons.values(), strict=True):
        assert (measure.value is None) == (reason is not None)
        assert measure.undefined is None if reason is None else reason in measure.undefined


#: p = 18/22 and uniform draws add 1/22 to each cell: an estimated cell or share is negative.
NEGATIVE = {
    # a without b: (30/1000 − 1/22)·22/18.
    "cell": ([400, 170, 30, 400], {"odds_ratio", "conviction", "j_measure", "g_squared",
                                   "mutual_information", "uncertainty_coefficient"}),
    # Not b: ((17 + 53)/1000 − 2/22)·22/18.
    "share without the consequent": ([17, 430, 53, 500], {"certainty", "phi"}),
    # a or b: (110/1000 − 3/22)·22/18, though a has a positive share.
    "share of either": ([890, 10, 40, 60], {"jaccard"}),
}  # fmt: skip


@pytest.mark.parametrize("case", NEGATIVE)
def test_measures_that_need_a_positive_estimate_are_undefined_for_a_negative_one(make_survey, case):
    counts, expected = NEGATIVE[case]
    rule = of_counts(make_survey("gamma-diagonal", (2, 2)), counts)
    reasons = {
        measure.quantity: measure.undefined for measure in rule.measures if measure.undefined
    }
    assert reasons.keys() >= expected
    assert all(m.value is None for m in rule.measures if m.undefined)
    if case == "cell":
        assert rule.value > 1
        assert reasons.keys() == expected
        assert all("negative estimate" in reason for reason in reasons.values())
    if case == "share without the consequent":
        assert {reasons[name] for name in expected} == {
            "a category has no positive estimated share"
        }


def test_a_cell_that_is_zero_up_to_rounding_counts_as_zero():
    # Expected reports of (40, 20, 40, 0) % with a and b kept with 3/4, so that one cell is exactly
    # 0; its rounding error would give an odds ratio above 10¹⁵.
    survey = survey_of(RandomizedResponse({"a": "3/4", "b": "3/4"}), (2, 2))
    estimator = Estimator(survey, Counts.from_cells(survey, PAIR, [45000, 20000, 25000, 10000]))
    for x, y in product(("c0", "c1"), repeat=2):
        [odds] = one_rule(estimator, {"a": x}, {"b": y}, measures=["odds_ratio"]).measures
        assert odds.value is None
        assert odds.undefined == "it divides by a cell whose estimate is 0"


def test_a_rule_is_evaluated_in_a_schema_with_2_to_the_70_cells(make_survey, oracle, make_reports):
    survey = make_survey("randomized-response", (2,) * 70)
    rng = np.random.default_rng(106)
    records = (rng.random((2003, 70)) < 0.5).astype(int)
    records[:, 69] = records[:, 0]
    reports = survey.perturbation.reports(records, rng)
    names = (survey.schema.names[0], survey.schema.names[69])
    cells = oracle.support(survey, reports, names)[:, None]
    covariance = oracle.covariance(survey, reports, names, "population")[None]
    rule = one_rule(estimator_of(survey, reports), {names[0]: "c1"}, {names[1]: "c1"})
    assert_measures([rule], by_hand(cells, covariance, len(reports)), len(reports))
