"""Comparisons of groups: formulas and undefined estimates."""

import math
from itertools import product

import numpy as np
import pytest
from halftruth_collector.estimation import Counts, Estimator
from halftruth_collector.estimation.contrasts import (
    compare_groups,
    shares_of,
    trend_of,
)
from halftruth_collector.estimation.subgroups import Groups
from halftruth_shared import RandomizedResponse
from scipy.stats import norm

from .definitions import GivenTable, Z, differences, survey_of

EFFECTS = ("difference", "risk_ratio", "odds_ratio")


def effects_of(table, effect, reference):
    """Return each effect by its definition, on the scale of its error; cells by group, answer."""
    found = []
    for g in range(len(table)):
        if g == reference:
            continue
        other = table.sum(axis=0) - table[g] if reference is None else table[reference]
        share, versus = table[g, 1] / table[g].sum(), other[1] / other.sum()
        if effect == "difference":
            found.append(share - versus)
        elif effect == "risk_ratio":
            found.append(math.log(share / versus))
        else:
            found.append(math.log(share / (1 - share) / (versus / (1 - versus))))
    return np.array(found)


def some_groups(count=4, error=0.003, seed=6):
    """Groups with a random table, which need not add up to 1, and a random covariance."""
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.full(2 * count, 6.0)).reshape(count, 2)
    root = rng.normal(scale=error, size=(2 * count, 2 * count))
    return with_shares(shares, root @ root.T)


def with_shares(shares, covariance):
    """Groups a, b, … with given shares of people without and with the answer."""
    table = GivenTable(shares, covariance)
    return Groups.of_codes(table, range(len(shares)), "abcdefgh"[: len(shares)])


def table_of(survey, cells):
    every = np.stack(np.indices(cells.shape), axis=-1).reshape(-1, 2)
    return Estimator(survey, Counts.from_cells(survey, every, cells.ravel())).table(["a", "b"])


def unperturbed(cells):
    """Groups of people whose answers are unperturbed, from their counts."""
    survey = survey_of(RandomizedResponse({"a": 1, "b": 1}), cells.shape, public="ab")
    names = survey.schema.attributes[0].categories
    return Groups.of_codes(table_of(survey, cells), range(len(names)), names)


@pytest.mark.parametrize(("effect", "reference"), list(product(EFFECTS, (None, 0, 2))))
def test_values_and_errors_are_those_of_the_dense_gradient(effect, reference):
    groups = some_groups()
    gradient = differences(lambda table: effects_of(table, effect, reference), groups.table.value)
    expected = effects_of(groups.table.value, effect, reference)
    errors = np.sqrt(np.diag(gradient @ groups.table.spread @ gradient.T))
    found = compare_groups(groups, 1, reference, effect, confidence=0.9)
    back = np.exp if effect != "difference" else np.asarray
    assert found.standard_error == pytest.approx(errors, rel=1e-5)
    assert found.value == pytest.approx(back(expected))
    sets = found.interval(0.9)
    assert sets.lower == pytest.approx(back(expected - norm.ppf(0.95) * errors), rel=1e-5)
    assert sets.upper == pytest.approx(back(expected + norm.ppf(0.95) * errors), rel=1e-5)
    known = differences(lambda table: effects_of(table, effect, reference), groups.table.value)
    assert found.covariance == pytest.approx(known @ groups.table.spread @ known.T, rel=1e-5)
    assert set(found.undefined) == {""}


def test_intervals_and_tests_without_perturbation_are_those_of_textbooks():
    cells = np.array([[40, 25], [61, 20], [33, 45]])
    groups, n = unperturbed(cells), cells.sum()
    # Variances are divided by N − 1.
    fewer = math.sqrt(n / (n - 1))
    (no, yes), (no_0, yes_0) = cells[1], cells[0]
    people_1, people_0 = no + yes, no_0 + yes_0
    katz = math.sqrt(1 / yes - 1 / people_1 + 1 / yes_0 - 1 / people_0)
    woolf = math.sqrt(1 / yes + 1 / no + 1 / yes_0 + 1 / no_0)
    for effect, error in (("risk_ratio", katz), ("odds_ratio", woolf)):
        found = compare_groups(groups, 1, 0, effect)
        assert found.standard_error[0] == pytest.approx(fewer * error, rel=1e-9)
    pooled = (yes + yes_0) / (people_1 + people_0)
    error = math.sqrt(pooled * (1 - pooled) * (1 / people_1 + 1 / people_0))
    score = (yes / people_1 - yes_0 / people_0) / (fewer * error)
    for effect in EFFECTS:
        found = compare_groups(groups, 1, 0, effect)
        assert found.p_value[0] == pytest.approx(2 * norm.sf(abs(score)), rel=1e-9)
    shares = cells[:, 1] / cells.sum(axis=1)
    assert trend_of(groups, 1).value == pytest.approx(np.polyfit(range(3), shares, 1)[0])
    assert shares_of(groups, 1).value == pytest.approx(shares)


def test_unperturbed_answers_have_no_error_for_the_respondents_themselves():
    cells = np.array([[40, 25], [61, 20]])
    survey = survey_of(RandomizedResponse({"a": 1, "b": 1}), cells.shape, public="ab")
    table = table_of(survey, cells).alone
    # Reports that all weigh the same have an undefined error; here the error is zero.
    exact = GivenTable(table.value, table.covariance())
    found = compare_groups(Groups.of_codes(exact, [0, 1], ["x", "y"]), 1, 0)
    sets = found.sets(Z)
    assert sets.lower == pytest.approx(sets.upper)
    assert np.isnan(found.p_value).all()


def test_a_group_that_may_be_empty_has_no_comparison():
    table = some_groups().table
    shares = table.value.copy()
    shares[1] *= 0.02
    groups = with_shares(shares, table.spread)
    found = [compare_groups(groups, 1, reference) for reference in (None, 0, 1)]
    reason = "b is not significantly above zero"
    assert found[0].undefined == ["", reason, "", ""]
    assert found[1].undefined == [reason, "", ""]
    assert found[2].undefined == [reason, reason, reason]
    sets = found[0].sets(Z)
    for column in (found[0].value, sets.lower, sets.upper, found[0].p_value):
        assert np.isnan(column).tolist() == [False, True, False, False]
    shares, trend = shares_of(groups, 1), trend_of(groups, 1)
    assert shares.undefined == ["", reason, "", ""]
    assert np.isnan(shares.value).tolist() == [False, True, False, False]
    assert (trend.undefined, np.isnan(trend.value[0])) == ([reason], True)


def test_the_interval_of_a_ratio_is_open_if_a_share_may_be_zero():
    table = some_groups().table
    shares = table.value.copy()
    error = math.sqrt(table.spread[3, 3])
    shares[1] = [shares[1].sum() - error, error]
    rare = with_shares(shares, table.spread)
    to, of = compare_groups(rare, 1, 0, "risk_ratio"), compare_groups(rare, 1, 1, "risk_ratio")
    above, below = to.sets(Z), of.sets(Z)
    assert above.lower[0] == 0 < to.value[0] < above.upper[0] < np.inf
    assert 0 < below.lower[0] < of.value[0] < below.upper[0] == np.inf
    # The same comparison with exchanged groups.
    assert above.upper[0] == pytest.approx(1 / below.lower[0])
    assert to.p_value[0] == pytest.approx(of.p_value[0])
    shares[1] = [shares[1].sum() + error, -error]
    found = compare_groups(with_shares(shares, table.spread), 1, 0, "odds_ratio")
    assert found.undefined[0] == "a share is estimated to be 0 or less, or 1 or more"
    # Equality of the shares can still be tested.
    assert np.isnan(found.value[0])
    assert 0 < found.p_value[0] < 1


def test_one_report_gives_no_comparison():
    one = np.array([[0, 1], [0, 0]])
    table = table_of(survey_of(RandomizedResponse({"a": "0.9", "b": "0.9"}), (2, 2)), one)
    groups = Groups.of_codes(table, [0, 1], ["a", "b"])
    for found in (shares_of(groups, 1), compare_groups(groups, 1, 0), trend_of(groups, 1)):
        assert set(found.undefined) == {"the reports show no error"}
        assert np.isnan(found.value).all()


def test_a_comparison_of_some_groups_ignores_the_others():
    cells = np.array([[40, 25], [61, 20], [33, 45]])
    table = table_of(survey_of(RandomizedResponse({"a": "0.9", "b": "0.9"}), (3, 2)), cells)
    both = Groups.of_codes(table, [0, 2], ["x", "z"])
    all_three = Groups.of_codes(table, [0, 1, 2], ["x", "y", "z"])
    pair, among = compare_groups(both, 1, 0), compare_groups(all_three, 1, 0)
    others = compare_groups(both, 1, None)
    assert pair.value[0] == pytest.approx(among.value[1])
    assert pair.p_value[0] == pytest.approx(among.p_value[1])
    # With two groups, "all others" is the other group.
    assert others.value == pytest.approx([-pair.value[0], pair.value[0]])
    assert others.p_value == pytest.approx([pair.p_value[0]] * 2)
