"""The planner against simulated surveys, dense inverses and random search."""

import csv
import io
import json
import math
import re
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, product
from statistics import NormalDist

import msgspec
import numpy as np
import pytest
from halftruth_client import Analyst
from halftruth_collector import operations
from halftruth_collector.demo.census import census_survey
from halftruth_collector.estimation.planning.margins import Expectation
from halftruth_collector.estimation.planning.planner import plan
from halftruth_collector.estimation.planning.sets import unit_variances
from halftruth_collector.estimation.planning.summaries import MAX_PAIRS, Chosen
from halftruth_collector.estimation.planning.wording import (
    footnotes,
    headline,
    mechanism_table,
    planned_table,
)
from halftruth_collector.estimation.reconstruction import reconstruction
from halftruth_collector.estimation.variances import UnitVariance
from halftruth_shared import (
    Attribute,
    DistortionMatrices,
    DomainTooLarge,
    GammaDiagonal,
    ParameterError,
    RandomizedGammaDiagonal,
    RandomizedResponse,
    Relay,
    Schema,
    SchemaError,
    SplitQuestionnaire,
    Survey,
)
from halftruth_shared.analyses.plan import PlanQuery
from halftruth_shared.mechanisms.split_questionnaire import WantedTables
from halftruth_shared.number import NumberRange
from halftruth_shared.relayed import largest_gamma
from halftruth_shared.results.wording import half_width, number

from .definitions import TARGETS, Oracle, Z, mechanism_of, schema_of, survey_of

KINDS = (
    "gamma-diagonal",
    "randomized-gamma-diagonal",
    "randomized-response",
    "distortion-matrices",
)
SPLIT = "split-questionnaire"
#: Matrices with which people without a category weigh more in its estimate than those with it.
LOPSIDED = "lopsided-matrices"


#: Number of simulated surveys: a simulated standard deviation has an error of 1/√(2·20000) = 0.5 %.
SURVEYS = 20_000


def make_survey(kind, shape, items=None, public=()):
    schema = schema_of(shape, items, public)
    uneven = {"matrix": lopsided_matrix} if kind == LOPSIDED else {}
    return Survey("test", "Test", schema, mechanism_of(kind, schema, **uneven))


def lopsided_matrix(size):
    """Mostly keep the first answer, and mostly report every other one as the first."""
    first = [Fraction(19, 20)] + [Fraction(1, 20) / (size - 1)] * (size - 1)
    columns = [first]
    for u in range(1, size):
        column = [Fraction(3, 5)] + [Fraction(1, 10) / max(size - 2, 1)] * (size - 1)
        column[u] = 1 - sum(column[:u] + column[u + 1 :])
        columns.append(column)
    return [list(row) for row in zip(*columns, strict=True)]


class Margin:
    """Dense algebra over whole records for the table of some attributes.

    Attributes: `names` the cell of this table of each whole record; `weights` the weight of each
    whole report in the estimate of each cell, shape (cells, n); `second` the expected squared
    weight for cell u of a report from true cell u'.
    """

    def __init__(self, survey, positions):
        schema = survey.schema
        shape = [schema.shape[j] for j in positions]
        self.cells = math.prod(shape)
        records = np.indices(schema.shape).reshape(len(schema.shape), -1)
        self.names = np.ravel_multi_index(records[list(positions)], shape)
        self.matrix = Oracle().matrix(survey, schema.names)
        members = self.names == np.arange(self.cells)[:, None]
        self.weights = members @ np.linalg.inv(self.matrix)
        by_record = self.weights**2 @ self.matrix
        self.second = np.stack(
            [by_record[:, members[cell]].mean(axis=1) for cell in range(self.cells)], axis=1
        )
        # Independent of the other answers of the record.
        np.testing.assert_allclose(self.second[:, self.names], by_record, rtol=1e-9, atol=1e-9)
        allowed = [set(np.flatnonzero(schema.attributes[j].is_item)) for j in positions]
        self.items = [
            cell
            for cell, codes in enumerate(product(*map(range, shape)))
            if all(code in codes_of for code, codes_of in zip(codes, allowed, strict=True))
        ]

    def unit(self, shares, target):
        """N times the variance of every cell's estimate among people with these shares."""
        shares = np.asarray(shares)
        taken = shares**2 if target == "population" else shares
        return shares @ self.second.T - taken

    def even(self, cell, support, target):
        """The same for one cell of this support, and the others with equal shares."""
        others = np.delete(self.second[cell], cell).mean()
        taken = support**2 if target == "population" else support
        return support * self.second[cell, cell] + (1 - support) * others - taken

    def worst(self, cell, target):
        """The same for the worst support in a thousand, with the others all in the worst cell."""
        support = np.linspace(0, 1, 1_001)[:, None]
        taken = support**2 if target == "population" else support
        others = np.delete(self.second[cell], cell)
        return (support * self.second[cell, cell] + (1 - support) * others - taken).max()


def margins(survey, length):
    return [Margin(survey, s) for s in combinations(range(len(survey.schema.shape)), length)]


def even_error(found, respondents, target="population"):
    """Root mean square error of all cells of some margins, under uniform answers."""
    units = [m.unit(np.full(m.cells, 1 / m.cells), target) for m in found]
    return math.sqrt(max(np.concatenate(units).mean(), 0) / respondents)


def of_itemsets(schema, tables):
    """Variances of the cells that are itemsets, of all tables."""
    masks = {p: [np.array(schema.attributes[j].is_item) for j in p] for p in tables}
    return UnitVariance.concatenate([tables[p].take(np.ix_(*masks[p])) for p in tables])


def one_itemset(kind):
    """A survey with a single itemset of length 2, and the dense margin that contains it.

    The third attribute has no items, but its answers affect the reports.
    """
    survey = make_survey(kind, (2, 3, 2), items={0: [1], 1: [2], 2: []})
    margin = Margin(survey, (0, 1))
    [cell] = margin.items
    return survey, margin, cell


def simulate(margin, cell, people, target, rng):
    """Estimates of one cell's support in many surveys of the people, counted by whole record."""
    people = np.asarray(people)
    respondents = people.sum()
    if target == "population":
        reported = margin.matrix @ (people / respondents)
        counts = rng.multinomial(respondents, reported / reported.sum(), SURVEYS)
    else:
        counts = sum(
            rng.multinomial(count, margin.matrix[:, u] / margin.matrix[:, u].sum(), SURVEYS)
            for u, count in enumerate(people)
            if count
        )
    return counts @ margin.weights[cell] / respondents


def spread(margin, by_cell):
    """Whole records with these counts by cell of the margin, spread unevenly within each."""
    people = np.zeros(len(margin.names), dtype=int)
    for cell, count in enumerate(by_cell):
        first, second = np.flatnonzero(margin.names == cell)
        people[first], people[second] = count // 3, count - count // 3
    return people


# Forecasts against simulation


@pytest.mark.nightly
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("kind", KINDS)
def test_simulated_surveys_scatter_as_forecast(kind, target):
    survey, margin, cell = one_itemset(kind)
    by_cell = np.full(6, 880)
    by_cell[cell] = 600
    unbiased = reconstruction(survey)
    tables = unit_variances(unbiased, [(0, 1)], target)
    [unit] = of_itemsets(survey.schema, tables).at(0.12)
    error = math.sqrt(unit / 5000)
    estimates = simulate(
        margin, cell, spread(margin, by_cell), target, np.random.default_rng(20_240_1)
    )
    # Each tolerance is five standard errors: a false alarm below 1e-6 each.
    assert estimates.mean() == pytest.approx(0.12, abs=5 * error / SURVEYS**0.5)
    assert estimates.std(ddof=1) == pytest.approx(error, rel=0.025)
    inside = np.abs(estimates - 0.12) <= Z * error
    assert inside.mean() == pytest.approx(0.95, abs=0.008)


# Unit variances


@pytest.mark.parametrize(
    ("shape", "items"),
    [((2,), None), ((5,), {0: [0, 3]}), ((2, 3), None), ((3, 2, 2), {0: [2, 1], 2: [1]})],
)
@pytest.mark.parametrize("kind", [*KINDS, LOPSIDED])
def test_unit_variances_are_those_of_dense_algebra(kind, shape, items):
    survey = make_survey(kind, shape, items)
    for length in range(1, len(shape) + 1):
        sets = list(combinations(range(len(shape)), length))
        for target in TARGETS:
            unbiased = reconstruction(survey)
            found = of_itemsets(survey.schema, unit_variances(unbiased, sets, target))
            row = 0
            for margin in margins(survey, length):
                for cell in margin.items:
                    for support in (0.0, 1e-6, 0.05, 0.5, 1.0):
                        assert found.at(support)[row] == pytest.approx(
                            margin.even(cell, support, target), rel=1e-9, abs=1e-9
                        )
                    row += 1
            assert row == len(found.constant)


# Shares of answers to several questions


@pytest.mark.parametrize("kind", KINDS)
def test_margins_of_shares_by_length_are_those_of_dense_algebra(kind):
    survey, respondents = make_survey(kind, (3, 2, 4)), 10**7
    chosen = Chosen(survey, PlanQuery(respondents=respondents))
    found = chosen.shares_of_lengths(chosen.expectation(survey.perturbation))
    assert [len(each.worst_of) for each in found] == [1, 2, 3]
    for length, here in enumerate(found, 1):
        of_tables = sorted(
            Z * np.median(np.sqrt(m.unit(np.full(m.cells, 1 / m.cells), "population")))
            for m in margins(survey, length)
        )
        typical = of_tables[len(of_tables) // 2] / math.sqrt(respondents)
        assert here.median == pytest.approx(typical, rel=1e-4)
        assert here.worst == pytest.approx(of_tables[-1] / math.sqrt(respondents), rel=1e-4)


def test_shares_of_more_questions_than_reports_identify_are_not_planned():
    schema = schema_of((4, 3, 4, 3))
    for longest in (1, 2):
        mechanism = SplitQuestionnaire.for_amplification(schema, 19, (), longest)
        survey = Survey("test", "Test", schema, mechanism)
        chosen = Chosen(survey, PlanQuery(respondents=1_000))
        found = chosen.shares_of_lengths(chosen.expectation(survey.perturbation))
        assert len(found) == reconstruction(survey).identified_sets.any_of == longest


# Margins of each quantity, by closed forms of randomized response


def of(result, quantity):
    [found] = [each for each in result.margins if each.quantity == quantity]
    return found


def two_by_two(keep_group, keep_answer, respondents):
    """Standard errors of a share, a share in a group, and a difference of two equal groups.

    An answer kept with probability p has the weight (y − 1/2)/(2p − 1), which is ±1/(2(2p − 1)).
    """
    a, b = (1 / (2 * float(p) - 1) for p in (keep_group, keep_answer))
    # For uniform g, y: the share of one cell is Σ over 1, g, y, g·y of a fourth each.
    share = b / 2
    # P(y | g) is 1/2 + (E y + E gy)/(1 + E g) with signs; its gradient at uniform shares is 1/2.
    within = math.sqrt(b**2 + a**2 * b**2) / 2
    return [each / math.sqrt(respondents) for each in (share, within, a * b)]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("first", "second"), [("3/4", "9/10"), ("1", "4/5")])
def test_margins_are_those_of_closed_forms(first, second, target):
    schema = schema_of((2, 2), public=(0,) if first == "1" else ())
    survey = Survey("s", "S", schema, RandomizedResponse({"a": first, "b": second}))
    respondents = 10**6
    query = PlanQuery(
        respondents=respondents, groups=["a"], questions=["b"], alone=True, target=target
    )
    result = plan(survey, query)
    errors = two_by_two(Fraction(first), Fraction(second), respondents)
    if target == "respondents":
        # The error without perturbation is excluded.
        plain = two_by_two(1, 1, respondents)
        errors = [math.sqrt(e**2 - p**2) for e, p in zip(errors, plain, strict=True)]
    for quantity, error in zip(("share", "share_within", "difference"), errors, strict=True):
        found = of(result, quantity)
        assert found.median == found.worst == pytest.approx(Z * error, rel=1e-3)
        assert found.worst_of == (["b"] if quantity == "share" else ["a", "b"])
    if target == "population":
        power = Z + NormalDist().inv_cdf(0.8)
        # φ is the difference of two equal groups, half of it in each direction.
        assert of(result, "detectable_association").median == pytest.approx(
            power * errors[2], rel=1e-3
        )
        assert of(result, "detectable_difference").median == pytest.approx(
            power * errors[2], rel=0.01
        )
        # s = (z + z₈₀)·√(λ(1 − λ)/N)/(2p − 1), with λ for a share of nearly 0.
        keep = float(Fraction(second))
        smallest = of(result, "detectable_share").median
        reported = keep * smallest + (1 - keep) * (1 - smallest)
        error = math.sqrt(reported * (1 - reported) / respondents) / (2 * keep - 1)
        assert smallest == pytest.approx(power * error, rel=1e-6)
        # The logit's slope at one half is 4.
        ratio = of(result, "odds_ratio").median
        assert math.log(ratio) == pytest.approx(4 * Z * errors[2], rel=1e-3)


def test_margins_at_20_percent_are_those_of_closed_forms():
    """Delta method of the inverse of the matrix, for 20 % in a group or with an answer."""
    schema, respondents = schema_of((2, 2)), 10**6
    survey = Survey("s", "S", schema, RandomizedResponse({"a": "3/4", "b": "9/10"}))
    result = plan(survey, PlanQuery(respondents=respondents, groups=["a"], questions=["b"]))
    matrix = np.kron(*([[keep, 1 - keep], [1 - keep, keep]] for keep in (0.75, 0.9)))

    def error(table, gradient):
        reported = matrix @ table
        spread = np.diag(reported) - np.outer(reported, reported)
        influence = np.linalg.solve(matrix.T, gradient)
        return math.sqrt(influence @ spread @ influence / respondents)

    # Cells are (group, answer), with the 20 % first; shares within groups are one half.
    group = np.array([0.1, 0.1, 0.4, 0.4])
    within = np.array([1, -1, 0, 0]) / 0.4
    between = within - np.array([0, 0, 1, -1]) / 1.6
    answer = np.array([0.1, 0.4, 0.1, 0.4])
    odds = np.array([1, -1, -1, 1]) / answer
    assert of(result, "share_within").rare == pytest.approx(Z * error(group, within), rel=1e-3)
    assert of(result, "difference").rare == pytest.approx(Z * error(group, between), rel=1e-3)
    found = math.log(of(result, "odds_ratio").rare)
    assert found == pytest.approx(Z * error(answer, odds), rel=1e-3)
    assert of(result, "share").rare is None


def test_answers_that_are_rare_already_do_not_become_more_frequent():
    expected = Expectation(make_survey("gamma-diagonal", (8, 2)).perturbation, 10_000)
    for quantity in ("difference", "share_within"):
        few = expected.with_rare(quantity, ("a", "b"))
        margin = getattr(expected, quantity)("a", "b")
        assert getattr(few, quantity)("a", "b") == pytest.approx(margin, rel=1e-12)


def test_the_margin_of_a_mean_is_a_fraction_of_its_range():
    age = Attribute("age", NumberRange(20, 69, 10).categories, number=NumberRange(20, 69, 10))
    schema = Schema([age, Attribute("b", ["x", "y"])])
    survey = Survey("s", "S", schema, RandomizedResponse({"age": "3/5", "b": "3/4"}))
    found = of(plan(survey, PlanQuery(respondents=10_000, alone=True)), "mean")
    # Weights of five answers kept with 3/5 are (δ − 1/10)/(1/2), for uniform reports.
    scores = np.arange(5) * 10 + 24.5
    weights = (np.eye(5) - 1 / 10) / (1 / 2) @ scores
    error = np.std(weights) / math.sqrt(10_000)
    assert found.unit == 40
    assert found.worst_of == ["age"]
    assert found.median == pytest.approx(Z * error / 40, rel=1e-3)


@pytest.mark.parametrize(
    ("kind", "half_width"),
    [("gamma-diagonal", 0.3), ("randomized-response", 0.001234), ("distortion-matrices", 1e-5)],
)
def test_the_respondents_needed_reach_the_half_width(kind, half_width):
    survey = make_survey(kind, (2, 3))

    def planned(respondents):
        query = PlanQuery(respondents=respondents, half_width=half_width, alone=True)
        return plan(survey, query)

    for quantity in ("share", "share_within", "difference"):
        # Independent of the planned number of respondents, even if it is too small for an estimate.
        needed = of(planned(1_000), quantity).respondents_needed
        assert of(planned(20), quantity).respondents_needed == needed
        if needed > 1_000:
            there = of(planned(needed), quantity).median
            assert there == pytest.approx(half_width, rel=0.02)


def test_groups_with_too_few_respondents_have_no_margin():
    survey = make_survey("randomized-response", (2, 3))
    result = plan(survey, PlanQuery(respondents=20, alone=True))
    assert of(result, "share_within").median is None
    assert of(result, "detectable_difference").worst is None
    assert headline(result).endswith("too few respondents for shares within groups.")


# A pilot


def test_a_pilot_provides_the_assumed_shares():
    survey = make_survey("randomized-response", (2, 3))
    people = np.array([[900, 50, 50], [500, 300, 200]])

    def counted(names):
        order = ["ab".index(name) for name in names]
        others = tuple(axis for axis in (0, 1) if axis not in order)
        return people.sum(axis=others).transpose(np.argsort(np.argsort(order)))

    result = plan(survey, PlanQuery(respondents=10**6, questions=["a"]), people=counted)
    keep = float(survey.mechanism.keep["a"])
    share = people.sum(axis=1)[0] / people.sum()
    reported = keep * share + (1 - keep) * (1 - share)
    error = math.sqrt(reported * (1 - reported) / 10**6) / (2 * keep - 1)
    assert of(result, "share").median == pytest.approx(Z * error, rel=1e-3)


# Behind a relay

B = [["3/4", "1/4"], ["1/4", "3/4"]]


@pytest.mark.parametrize("kind", [GammaDiagonal, RandomizedResponse, SplitQuestionnaire])
def test_margins_behind_a_relay_are_those_with_the_largest_amplification(kind):
    schema = make_survey("gamma-diagonal", (2, 3)).schema
    survey = Survey("s", "S", schema, kind.for_amplification(schema, 19, (), 2))
    query = PlanQuery(respondents=10_000, relay=9, alone=True)
    found = plan(survey, query).relayed
    assert (found.batch, found.apart) == (10_000, 9)
    assert found.gamma == largest_gamma(9, 10_000) > 30
    assert found.together == math.ceil(500 * found.gamma / (5 * found.gamma + 95))
    other = kind.for_amplification(schema, found.gamma, (), 2)
    alone = plan(replace(survey, mechanism=other), PlanQuery(respondents=10_000, alone=True))
    assert found.margins == alone.margins
    named = Relay(url="https://relay", key="1" * 64, sealing_key="2" * 64, batch=5_000)
    behind = replace(survey, relay=named)
    assert plan(behind, query).relayed.gamma == largest_gamma(9, 5_000)
    assert plan(survey, PlanQuery(respondents=10_000, alone=True)).relayed is None


def test_the_wanted_tables_of_a_survey_are_planned_behind_a_relay():
    schema = Schema([Attribute(name, ["a", "b", "c"]) for name in ("sex", "age", "drugs")])
    tables = [WantedTables(of=("drugs",), by=("sex",))]
    survey = Survey("s", "S", schema, SplitQuestionnaire.designed(schema, 19, (), tables))
    found = plan(survey, PlanQuery(respondents=10_000, relay=9, alone=True)).relayed
    wanted = SplitQuestionnaire.designed(schema, found.gamma, (), tables)
    alone = plan(replace(survey, mechanism=wanted), PlanQuery(respondents=10_000, alone=True))
    assert found.margins == alone.margins


@pytest.mark.parametrize(
    ("mechanism", "expected"),
    [
        (RandomizedResponse({"a": "1", "b": "2/3"}), "every question perturbed"),
        (DistortionMatrices({"a": [["2/3", "1/3"], ["1/3", "2/3"]]} | {"b": B}), "another mech"),
    ],
)
def test_a_relay_is_refused_with_public_questions_or_unsupported_mechanisms(mechanism, expected):
    schema = Schema([Attribute("a", ["x", "y"], sensitive=False), Attribute("b", ["x", "y"])])
    survey = Survey("s", "S", schema, mechanism)
    with pytest.raises(ParameterError, match=f"relay: .*expected .*{expected}"):
        plan(survey, PlanQuery(relay=9))


# Which mechanisms are compared


@pytest.mark.parametrize("kind", KINDS)
def test_the_surveys_own_mechanism_comes_first_and_others_keep_its_amplification(kind):
    survey, respondents = make_survey(kind, (3, 2, 4)), 10**7
    result = plan(survey, PlanQuery(respondents=respondents))
    others = [other for other in (*KINDS[:3], SPLIT) if other != kind]
    mechanisms = [found for found in result.mechanisms if found.collected]
    assert [found.kind for found in mechanisms] == [kind, *others]
    assert [found.own for found in mechanisms] == [True] + [False] * len(others)
    # γ from the definition: within a row of A the largest ratio (FRAPP eq. 2).
    dense = Oracle().matrix(survey, survey.schema.names)
    assert result.gamma == pytest.approx((dense.max(axis=1) / dense.min(axis=1)).max())
    gamma = survey.perturbation.amplification()
    rivals = {
        "gamma-diagonal": GammaDiagonal(gamma),
        "randomized-gamma-diagonal": RandomizedGammaDiagonal(gamma, 0),
        "randomized-response": RandomizedResponse.for_amplification(survey.schema, gamma),
    }
    for found in mechanisms[1:-1]:
        rival = Survey("rival", "Rival", survey.schema, rivals[found.kind])
        dense = Oracle().matrix(rival, survey.schema.names)
        assert (dense.max(axis=1) / dense.min(axis=1)).max() <= float(gamma) * (1 + 1e-12)
        widths = [
            Z * np.median(np.sqrt(m.unit(np.full(m.cells, 1 / m.cells), "population")))
            for m in margins(rival, 1)
        ]
        [share] = [each for each in found.margins if each.quantity == "share"]
        scale = math.sqrt(respondents)
        assert share.median * scale == pytest.approx(np.median(widths), rel=1e-3)
        assert share.worst * scale == pytest.approx(max(widths), rel=1e-3)


def test_no_mechanisms_are_compared_if_a_report_can_exclude_a_record():
    half = Fraction(1, 2)
    matrix = [[half, half, 0], [0, half, half], [half, 0, half]]
    survey = survey_of(DistortionMatrices({"a": matrix}), (3,))
    result = plan(survey, PlanQuery(respondents=100))
    assert result.gamma is None
    assert [found.kind for found in result.mechanisms] == ["distortion-matrices"]
    assert result.recommended == "distortion-matrices"
    assert result.advice == []


def test_the_amplification_covers_only_perturbed_attributes():
    # Two answers kept with 3/4: odds 3 to 1.
    survey = make_survey("randomized-response", (3, 2, 2), public=(0, 2))
    result = plan(survey, PlanQuery(respondents=400))
    assert result.gamma == 3
    assert [found.kind for found in result.mechanisms if found.collected] == [
        "randomized-response",
        "gamma-diagonal",
        "randomized-gamma-diagonal",
        SPLIT,
    ]
    # Public attributes are groups, and have no margins.
    assert of(result, "share").worst_of == ["b"]
    assert of(result, "share_within").possible == 2


def test_only_mechanisms_that_the_survey_could_use_are_compared():
    # 2^25 cells are too many for a gamma-diagonal mechanism with this γ.
    schema = schema_of((2,) * 25)
    survey = Survey("x", "X", schema, RandomizedResponse.for_amplification(schema, 19))
    with pytest.raises(DomainTooLarge):
        Survey("x", "X", schema, GammaDiagonal(19))
    result = plan(survey, PlanQuery(respondents=1000))
    kinds = [found.kind for found in result.mechanisms if found.collected]
    assert kinds == ["randomized-response", SPLIT]
    # By formula, protocols of the literature can have as many cells.
    assert any(
        found.name == "k-ary randomized response (whole record)" for found in result.mechanisms
    )
    assert result.recommended == SPLIT


def test_on_census_a_split_questionnaire_is_best():
    survey = census_survey("census", GammaDiagonal(19))
    result = plan(survey, PlanQuery(respondents=48_842))
    assert result.recommended == SPLIT
    widths = {
        found.kind: {each.quantity: each.median for each in found.margins}["share_within"]
        for found in result.mechanisms
    }
    assert widths[SPLIT] == min(width for width in widths.values() if width is not None)
    # The sentence and the table of mechanisms have the same numbers.
    rows = {row[0].removesuffix(" (the survey's)"): row for row in mechanism_table(result)[1]}
    said = result.reason
    assert said.startswith(f"{SPLIT}: shares within groups {rows[SPLIT][2]}")
    assert f"its error is {rows[SPLIT][3]} times the least of an unbiased estimate" in said


@pytest.mark.parametrize("size", [2, 5, 9])
@pytest.mark.parametrize("gamma", ["5/2", 19])
def test_for_one_attribute_all_mechanisms_but_geometries_are_equal(size, gamma):
    # With one attribute the gamma-diagonal matrix is that of randomized response.
    for own in (
        GammaDiagonal(gamma),
        RandomizedResponse.for_amplification(schema_of((size,)), gamma),
    ):
        result = plan(survey_of(own, (size,)), PlanQuery(respondents=1000))
        *widths, split = [found.margins[0].median for found in result.mechanisms if found.collected]
        assert widths == pytest.approx([widths[0]] * len(widths))
        if split < widths[0] / 1.01:
            assert size > 6
            assert result.recommended == SPLIT
            continue
        assert result.recommended == own.kind
        assert "the same with" in result.reason


# Advice


def advice_of(shape, respondents, public="", **asked):
    schema = schema_of(shape, public=["abcdefgh".index(name) for name in public])
    mechanism = SplitQuestionnaire.for_amplification(schema, 19, list(public), 2)
    survey = Survey("s", "S", schema, mechanism)
    return plan(survey, PlanQuery(respondents=respondents, **asked))


def test_advice_covers_lengths_public_questions_merged_answers_and_question_count():
    result = advice_of((2, 3, 2, 4, 3, 8), 5_000)
    lengths, public, merged, many = result.advice
    assert lengths.startswith("Shares of answers by max_length, with pairs = true: 1 (±")
    assert public.startswith("A question that needs no protection can be public. ")
    assert " by f" in public
    assert "sent unchanged, and the collector can read them" in public
    assert merged.startswith("Merging the 8 answers to f in pairs would make shares within its")
    assert many.startswith("For ±10 points of shares within groups, ask only the first ")
    # The survey with that question public has the advised margin.
    narrow, wide = re.search(r"±([\d.]+) points instead of ±([\d.]+) points by f", public).groups()
    before = of(
        advice_of((2, 3, 2, 4, 3, 8), 5_000, groups=["f"], alone=True), "share_within"
    ).median
    after = of(
        advice_of((2, 3, 2, 4, 3, 8), 5_000, "f", groups=["f"], alone=True), "share_within"
    ).median
    assert 100 * before == pytest.approx(float(wide), rel=0.05)
    assert 100 * after == pytest.approx(float(narrow), rel=0.05)
    halved = of(
        advice_of((2, 3, 2, 4, 3, 4), 5_000, groups=["f"], alone=True), "share_within"
    ).median
    merging = re.search(r"groups ±([\d.]+) points instead", merged)[1]
    assert 100 * halved == pytest.approx(float(merging), rel=0.05)
    count, then = re.search(r"first (\d) of the 6 .*: ±([\d.]+)", many).groups()
    fewer = of(
        advice_of((2, 3, 2, 4, 3, 8)[: int(count)], 5_000, alone=True), "share_within"
    ).median
    assert 100 * fewer == pytest.approx(float(then), rel=0.05)
    assert float(then) <= 10


def test_impossible_cells_due_to_conditions_count_in_no_margin():
    smoker = Attribute("smoker", ("no", "yes"))
    daily = Attribute("daily", ("1 to 20", "more"), ask_if={"smoker": ["yes"]})
    schema = Schema((smoker, daily))
    margins = [
        Expectation(RandomizedResponse.for_amplification(schema, gamma).bind(schema), 5_000)
        for gamma in (10, Fraction("9.99999999020194"))
    ]
    exact, rounded = (each.share_within("smoker", "daily") for each in margins)
    assert rounded == pytest.approx(exact, rel=1e-6)


def test_fewer_questions_are_not_advised_if_the_margin_is_reached():
    result = advice_of((2, 2, 3), 200_000)
    assert not any("ask only" in sentence for sentence in result.advice)
    result = advice_of((2, 2, 3), 1_000, half_width=0.001)
    assert result.advice[-1].endswith("It takes more respondents.")


def test_a_question_declared_not_sensitive_is_advised_to_be_public():
    schema = schema_of((2, 5, 3), public=(2,))
    survey = Survey("s", "S", schema, SplitQuestionnaire.for_amplification(schema, 19, (), 2))
    [public] = [
        each for each in plan(survey, PlanQuery(respondents=5_000)).advice if "public" in each
    ]
    assert " by c" in public
    assert " by b" not in public


def test_the_best_max_length_has_the_narrowest_margins():
    schema = schema_of((2, 3, 2, 4))

    def planned(length):
        mechanism = SplitQuestionnaire.for_amplification(schema, 19, (), length)
        # Of the other lengths, only the margins are compared.
        query = PlanQuery(respondents=20_000, alone=length != 2)
        return plan(Survey("s", "S", schema, mechanism), query)

    results = {length: planned(length) for length in (1, 2, 3)}
    said = results[2].advice[0]
    assert said.startswith("Shares of answers by max_length: 1 (±")
    for length, result in results.items():
        assert f"{length} ({half_width(of(result, 'share').median)}" in said
        if length > 1:
            assert f"within groups {half_width(of(result, 'share_within').median)})" in said
    widths = {n: of(results[n], "share_within").median for n in (2, 3)}
    best = min(widths, key=widths.get)
    assert said.endswith(
        f", {best} for groups, differences and regression"
        f"{'; tables of three questions need 3' * (best == 2)}."
    )
    # The margins of whole-record mechanisms do not depend on the length.
    assert plan(make_survey("gamma-diagonal", (2,)), PlanQuery()).advice == []


# Many attributes, large tables, extremes


def test_pairs_above_the_limit_are_sampled_reproducibly():
    many, three = (
        survey_of(RandomizedResponse(dict.fromkeys(schema_of((2,) * n).names, "3/4")), (2,) * n)
        for n in (30, 3)
    )
    query = PlanQuery(respondents=1000, alone=True)
    result = plan(many, query)
    pairs = of(result, "share_within")
    assert (pairs.examined, pairs.possible) == (MAX_PAIRS, 30 * 29)
    assert plan(many, query) == result
    # All attributes are alike, so that three of them have the same margin.
    assert pairs.median == pytest.approx(of(plan(three, query), "share_within").median)
    assert any(f"Pairs: {MAX_PAIRS} of 870 are" in line for line in footnotes(result))


def test_the_largest_number_of_attributes_can_be_planned():
    schema = schema_of((2,) * 1024)
    # The amplification of 1024 attributes, each kept with 3/4, is 3^1024.
    survey = Survey("x", "X", schema, RandomizedResponse(dict.fromkeys(schema.names, "3/4")))
    result = plan(survey, PlanQuery(respondents=10_000, alone=True))
    variance = 0.75 * 0.25 / (2 * 0.75 - 1) ** 2 + 0.5 * 0.5
    assert of(result, "share").median == pytest.approx(Z * math.sqrt(variance / 10_000), rel=1e-3)


def test_too_large_tables_are_omitted():
    schema = schema_of((600, 600))
    survey = Survey("x", "X", schema, RandomizedResponse.for_amplification(schema, 10**6))
    result = plan(survey, PlanQuery(respondents=10**6))
    assert {each.quantity for each in result.margins} == {"share", "detectable_share"}


@pytest.mark.parametrize("gamma", ["1.001", 10**6, 10**15])
def test_margins_at_extreme_amplifications_are_exact(gamma):
    survey = survey_of(GammaDiagonal(gamma), (2, 3))
    respondents = 10**14
    g, n, s = Fraction(gamma), 6, Fraction(1, 2)
    x = 1 / (g + n - 1)
    # One of the two answers has three cells.
    keep, spread_to = (g - 1) * x, 3 * x
    hit = keep * s + spread_to
    second = (hit * (1 - spread_to) ** 2 + (1 - hit) * spread_to**2) / keep**2
    found = of(plan(survey, PlanQuery(respondents=respondents, questions=["a"])), "share")
    exact = Z * math.sqrt((second - s**2) / respondents)
    assert found.median == pytest.approx(exact, rel=1e-5)


# Refused input


@pytest.mark.parametrize(
    ("asked", "field"),
    [
        *(({"respondents": bad}, "respondents") for bad in (0, 1, -5, 10.5, "many")),
        *(({"half_width": bad}, "half_width") for bad in (0, 1, -0.01, "1%", math.nan)),
        *(({"confidence": bad}, "confidence") for bad in (0, 1, "95%", math.nan)),
        ({"target": "everyone"}, "target"),
        *(({"relay": bad}, "relay") for bad in (5, 100, "ten")),
        ({"groups": ["none"]}, "groups"),
        ({"questions": []}, "questions"),
        ({"outcome": "a"}, "predictors"),
        ({"predictors": ["a"]}, "outcome"),
        ({"outcome": "none", "predictors": ["a"]}, "outcome"),
        ({"outcome": "a", "predictors": ["a", "b"]}, "predictors"),
    ],
)
def test_an_invalid_query_is_refused_in_one_line_that_names_the_field(asked, field):
    with pytest.raises((ParameterError, SchemaError), match=f"^{field}: ") as caught:
        plan(make_survey("gamma-diagonal", (2, 3)), PlanQuery(**asked))
    assert caught.value.field == field
    assert "\n" not in str(caught.value)


def test_the_margin_of_a_named_regression_is_planned_or_refused():
    schema = schema_of((4, 3, 4, 3))
    single = SplitQuestionnaire.for_amplification(schema, 19, (), 1)
    survey = Survey("s", "S", schema, single)
    query = PlanQuery(respondents=10**6, outcome="a", predictors=["b", "c"], alone=True)
    assert of(plan(survey, query), "odds_ratio").median is None
    whole = make_survey("gamma-diagonal", (2, 3, 2))
    query = PlanQuery(respondents=10**6, outcome="a", predictors=["b", "c"], alone=True)
    found = of(plan(whole, query), "odds_ratio")
    assert (found.worst_of, found.examined, found.possible) == (["b", "c", "a"], 1, 1)
    assert 1 < found.median < 1.1
    huge = schema_of((600, 600))
    survey = Survey("x", "X", huge, RandomizedResponse.for_amplification(huge, 10**6))
    with pytest.raises(DomainTooLarge):
        plan(survey, PlanQuery(outcome="a", predictors=["b"], alone=True))


@pytest.fixture
def survey_file(tmp_path, survey):
    """The small survey under an unpublished id."""
    path = tmp_path / "unpublished.toml"
    path.write_text(
        "\n".join(
            [
                'id = "never-published"',
                f'title = "{survey.title}"',
                'mechanism = {kind = "gamma-diagonal", gamma = "19"}',
                *(
                    f'[[attributes]]\nname = "{a.name}"\ncategories = {json.dumps(a.categories)}'
                    for a in survey.schema.attributes
                ),
            ]
        )
    )
    return path


@pytest.fixture
def ask(http, analyst, survey):
    """Return a function that posts a plan for the small survey under an unpublished id."""
    unpublished = json.loads(survey.canonical_json) | {"id": "never-published"}

    def post(**asked):
        body = {"survey": unpublished, "respondents": 100, **asked}
        return http.post("/v1/plan", json=body, headers=analyst)

    return post


def options(asked):
    """Return the query as options of the command."""
    words = []
    for name, value in ({"respondents": 100} | asked).items():
        for each in value if isinstance(value, list) else [value]:
            words += [f"--{name.replace('_', '-')}={each}"]
    return words


# Printed tables, and equal numbers in every interface


def test_the_printed_table_has_the_figures_of_the_result(command, survey_file, survey):
    asked = {"respondents": 7_000, "half_width": 0.02, "relay": 20}
    status, said, _ = command("plan", survey_file, *options(asked))
    assert status == 0
    result = plan(survey, PlanQuery(**asked))
    title, sentence = said.partition("\n\n")[0].splitlines()
    assert title.startswith("Plan · 7\N{NARROW NO-BREAK SPACE}000 respondents · gamma-diagonal, γ")
    assert sentence == headline(result)
    assert "respondents for ±2.0 points" in said
    assert f"γ = {number(result.relayed.gamma)}, the largest that the bound allows" in said
    assert said.rstrip().endswith("\n".join(result.protection))
    assert f"Most precise is {result.reason}." in said
    assert " ".join(result.advice) in said
    lines = [" ".join(line.split()) for line in said.splitlines()]
    for row in [*planned_table(result)[1], *mechanism_table(result)[1]]:
        assert " ".join(" ".join(row).split()) in lines
    of_share = next(row for row in planned_table(result)[1] if row[0] == "share of an answer")
    assert of_share[1] == half_width(of(result, "share").median)


ASKED = (
    {"respondents": 700},
    {
        "respondents": 5000,
        "groups": ["sex"],
        "half_width": 0.03,
        "relay": 20,
        "confidence": 0.9,
        "target": "respondents",
    },
)


@pytest.mark.parametrize("asked", ASKED)
def test_all_interfaces_give_the_same_numbers(live, ask, survey, command, survey_file, asked):
    asked = asked | ({"groups": [survey.schema.names[0]]} if "groups" in asked else {})
    expected = plan(survey, PlanQuery(**asked))
    there = Analyst(live.url, operations.create_token(live.store, "analyst"))
    respondents = asked["respondents"]
    others = {name: value for name, value in asked.items() if name != "respondents"}
    answered = there.plan(survey, respondents, **others)
    assert answered == expected
    posted = ask(**asked)
    printed = json.loads(command("plan", survey_file, *options(asked), "--json")[1])
    assert posted.get_json() == printed == msgspec.to_builtins(expected)
    rows = list(
        csv.DictReader(io.StringIO(command("plan", survey_file, *options(asked), "--csv")[1]))
    )
    frame = answered.to_pandas()
    assert list(frame.index.names) == ["mechanism", "quantity"]
    assert [float(row["median"] or "nan") for row in rows] == pytest.approx(
        frame["median"].to_list(), nan_ok=True
    )
    assert [row["mechanism"] for row in rows] == frame.index.get_level_values(0).to_list()


def test_the_command_plans_with_a_pilot_named_groups_and_a_regression(
    command, survey_file, survey, tmp_path
):
    names = survey.schema.names
    answers = [
        [a.categories[code % len(a.categories)] for a in survey.schema.attributes]
        for code in (0, 0, 1, 2)
    ]
    pilot = tmp_path / "pilot.csv"
    pilot.write_text("\n".join([",".join(names), *map(",".join, answers)]), encoding="utf-8")
    words = [f"--groups={names[0]}", f"--questions={names[1]}", f"--pilot={pilot}"]
    words += [f"--outcome={names[1]}", f"--predictors={names[0]}", "--alone", "--json"]
    _, printed, _ = command("plan", survey_file, "--respondents=100000", *words)
    by_name = {each["quantity"]: each for each in json.loads(printed)["margins"]}
    assert by_name["share_within"]["worst_of"] == list(names[:2])
    assert by_name["odds_ratio"]["worst_of"] == list(names[:2])
    even = json.loads(command("plan", survey_file, "--respondents=100000", *words[:2], "--json")[1])
    assert by_name["share"]["median"] != even["margins"][0]["median"]
    said = command("plan", survey_file, "--respondents=100000", *words[:3])[1]
    assert "intervals for the answers of the pilot" in said
