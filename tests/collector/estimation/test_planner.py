"""The planner, held against simulated surveys, dense inverses and random search."""

import csv
import io
import json
import math
import re
from fractions import Fraction
from itertools import combinations, product
from statistics import NormalDist

import msgspec
import numpy as np
import pytest
from halftruth_client import Analyst
from halftruth_collector import operations
from halftruth_collector.demo.census import census_survey
from halftruth_collector.estimation.planning.planner import of_itemsets, plan
from halftruth_collector.estimation.planning.recommendation import expected_precision
from halftruth_collector.estimation.planning.sets import SAMPLED, unit_variances
from halftruth_collector.estimation.reconstruction import reconstruction
from halftruth_shared import (
    DistortionMatrices,
    DomainTooLarge,
    GammaDiagonal,
    HalftruthError,
    ParameterError,
    RandomizedGammaDiagonal,
    RandomizedResponse,
    Survey,
)
from halftruth_shared.analyses.plan import PlanQuery
from halftruth_shared.results.wording import half_width

from .definitions import TARGETS, Oracle, Z, mechanism_of, schema_of, survey_of

KINDS = (
    "gamma-diagonal",
    "randomized-gamma-diagonal",
    "randomized-response",
    "distortion-matrices",
)
SPLIT = "split-questionnaire"
#: Matrices of which those who lack a category weigh more in its estimate than those who have it.
LOPSIDED = "lopsided-matrices"

#: Surveys that are simulated: a simulated standard deviation is then off by 1/√(2·20000) = 0.5 %.
SURVEYS = 20_000


def make_survey(kind, shape, items=None, public=()):
    schema = schema_of(shape, items, public)
    uneven = {"matrix": lopsided_matrix} if kind == LOPSIDED else {}
    return Survey("test", "Test", schema, mechanism_of(kind, schema, **uneven))


def lopsided_matrix(size):
    """The first answer is mostly kept, every other one mostly reported as the first."""
    first = [Fraction(19, 20)] + [Fraction(1, 20) / (size - 1)] * (size - 1)
    columns = [first]
    for u in range(1, size):
        column = [Fraction(3, 5)] + [Fraction(1, 10) / max(size - 2, 1)] * (size - 1)
        column[u] = 1 - sum(column[:u] + column[u + 1 :])
        columns.append(column)
    return [list(row) for row in zip(*columns, strict=True)]


class Margin:
    """What dense algebra over whole records says of the table of some attributes.

    Attributes: `names` the cell of this table that each whole record is in; `weights` what each
    whole report adds to the estimate of each cell, shape (cells, n); `second` the expected
    squared weight for cell u of a report from true cell u'.
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
        # Only the cell of this table matters, not what else the record says.
        np.testing.assert_allclose(self.second[:, self.names], by_record, rtol=1e-9, atol=1e-9)
        allowed = [set(np.flatnonzero(schema.attributes[j].item_mask)) for j in positions]
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
        """The same for one cell of this support, the others spread evenly."""
        others = np.delete(self.second[cell], cell).mean()
        taken = support**2 if target == "population" else support
        return support * self.second[cell, cell] + (1 - support) * others - taken

    def worst(self, cell, target):
        """The same for the worst support in a thousand, the others all in the worst cell."""
        support = np.linspace(0, 1, 1_001)[:, None]
        taken = support**2 if target == "population" else support
        others = np.delete(self.second[cell], cell)
        return (support * self.second[cell, cell] + (1 - support) * others - taken).max()

    def smallest(self, cell, respondents, target, z=Z):
        """Least s with s ≥ z·se(s), by bisection; infinite if there is none."""

        def told(s):
            return s >= z * math.sqrt(max(self.even(cell, s, target), 0.0) / respondents)

        if not told(1.0):
            return math.inf
        low, high = 0.0, 1.0
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (low, middle) if told(middle) else (middle, high)
        return high


def margins(survey, length):
    return [Margin(survey, s) for s in combinations(range(len(survey.schema.shape)), length)]


def even_error(found, respondents, target="population"):
    """Root mean square error of all cells of some margins, under uniform answers."""
    units = [m.unit(np.full(m.cells, 1 / m.cells), target) for m in found]
    return math.sqrt(max(np.concatenate(units).mean(), 0) / respondents)


def own_lengths(survey, **asked):
    """The plan for the survey's own mechanism, by length."""
    [own] = [
        found for found in plan(survey, PlanQuery(alone=True, **asked)).mechanisms if found.own
    ]
    return {length.length: length for length in own.lengths}


def one_itemset(kind):
    """A survey with a single itemset of length 2, and the dense margin it is a cell of.

    The third attribute has no items; its answers change the reports nevertheless.
    """
    survey = make_survey(kind, (2, 3, 2), items={0: [1], 1: [2], 2: []})
    margin = Margin(survey, (0, 1))
    [cell] = margin.items
    return survey, margin, cell


def simulate(margin, cell, people, target, rng):
    """Estimates of one cell's support in many surveys of these people, counts by whole record."""
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
    """Whole records with these counts by cell of the margin, unevenly within each."""
    people = np.zeros(len(margin.names), dtype=int)
    for cell, count in enumerate(by_cell):
        first, second = np.flatnonzero(margin.names == cell)
        people[first], people[second] = count // 3, count - count // 3
    return people


# What is foretold happens


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
    # Each limit is five of its own standard errors: false alarm below 1e-6 each.
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
            assert row == len(found.constant) == len(found.worst)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("kind", [*KINDS, LOPSIDED])
def test_no_population_is_worse_than_the_worst_and_one_is_as_bad(kind, target):
    shape = (3, 2)
    survey = make_survey(kind, shape)
    margin = Margin(survey, range(len(shape)))
    unbiased = reconstruction(survey)
    tables = unit_variances(unbiased, [range(len(shape))], target)
    found = of_itemsets(unbiased.schema, tables).worst
    rng = np.random.default_rng(5)
    people = np.concatenate(
        [rng.dirichlet(np.full(margin.cells, c), 1_000) for c in (0.02, 0.1, 1.0, 10.0)]
    )
    two_cells = [
        s * np.eye(margin.cells)[u] + (1 - s) * np.eye(margin.cells)[v]
        for u, v in product(range(margin.cells), repeat=2)
        for s in np.linspace(0, 1, 1_001)
    ]
    searched = margin.unit(np.concatenate([people, two_cells]), target).max(axis=0)
    assert (searched <= found * (1 + 1e-9)).all()
    # The grid of supports is off by at most 1/2000, its variance by the square of that.
    assert (searched >= found * (1 - 1e-5)).all()


# Summaries over itemsets


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("items", [{0: [1], 2: [0, 3]}, {0: [], 1: [1]}])
def test_the_worst_and_the_smallest_are_over_the_itemsets_alone_and_margins_over_all_cells(
    kind, target, items
):
    survey = make_survey(kind, (3, 2, 4), items)
    with_items = 2 if items and not items[0] else 3
    found = own_lengths(survey, respondents=900, target=target)
    # The default lengths are those that itemsets have, up to three.
    assert list(found) == list(range(1, with_items + 1))
    for length, here in found.items():
        cells = [(margin, cell) for margin in margins(survey, length) for cell in margin.items]
        worst = max(margin.worst(cell, target) for margin, cell in cells)
        smallest = np.median([margin.smallest(cell, 900, target) for margin, cell in cells])
        expected = even_error(margins(survey, length), 900, target)
        assert here.standard_error == pytest.approx(expected)
        assert here.half_width == pytest.approx(Z * here.standard_error)
        assert here.worst_standard_error == pytest.approx(math.sqrt(worst / 900), rel=1e-5)
        if smallest < math.inf:
            assert here.smallest_support == pytest.approx(smallest, rel=1e-6)
        else:
            assert here.smallest_support is None
        assert here.examined == here.possible
        # A set with an attribute that has no items holds no itemset, so it may be left out.
        assert math.comb(with_items, length) <= here.possible <= math.comb(3, length)


def test_lengths_come_sorted_and_once_and_up_to_three_by_default():
    survey = make_survey("randomized-response", (2, 2, 2, 2, 2))
    assert list(own_lengths(survey, respondents=50, lengths=[4, 1, 4])) == [1, 4]
    assert list(own_lengths(survey, respondents=50)) == [1, 2, 3]


@pytest.mark.parametrize("confidence", [0.5, 1 - 1e-12])
def test_wider_intervals_are_more_certain(confidence):
    survey, margin, cell = one_itemset("distortion-matrices")
    found = own_lengths(survey, respondents=10**5, lengths=[2], confidence=confidence)[2]
    z = -NormalDist().inv_cdf((1 - confidence) / 2)
    assert found.half_width == pytest.approx(z * found.standard_error)
    assert found.smallest_support == pytest.approx(
        margin.smallest(cell, 10**5, "population", z), rel=1e-6
    )


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("respondents", [2, 10, 10**9])
def test_the_smallest_support_is_z_standard_errors_above_zero(kind, target, respondents):
    survey, margin, cell = one_itemset(kind)
    asked = PlanQuery(respondents=respondents, lengths=[2], target=target, alone=True)
    smallest = plan(survey, asked).mechanisms[0].lengths[0].smallest_support
    expected = margin.smallest(cell, respondents, target)
    # Both cases occur: two respondents tell nothing from zero, ten do.
    assert (expected == math.inf) == (respondents == 2)
    if expected == math.inf:
        assert smallest is None
    else:
        assert smallest == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("half_width", [0.3, 0.001234, 1e-7])
def test_the_respondents_needed_are_enough_and_no_more(kind, target, half_width):
    survey = make_survey(kind, (2, 3))

    def planned(respondents):
        asked = {"half_width": half_width, "target": target}
        return own_lengths(survey, respondents=respondents, lengths=[2], **asked)[2]

    needed = planned(100).respondents_needed
    exact = (Z * even_error(margins(survey, 2), 1, target) / half_width) ** 2
    assert needed == pytest.approx(math.ceil(exact), rel=1e-9)
    # The margin is for rounding where the number needed has many digits.
    assert planned(needed).half_width <= half_width * (1 + 1e-12)
    assert planned(needed - 1).half_width > half_width * (1 - 1e-12)
    assert planned(needed - 1).respondents_needed == needed


# Which mechanisms are compared


@pytest.mark.parametrize("kind", KINDS)
def test_the_surveys_own_mechanism_comes_first_and_others_keep_its_amplification(kind):
    survey = make_survey(kind, (3, 2, 4))
    result = plan(survey, PlanQuery(respondents=1000))
    others = [other for other in (*KINDS[:3], SPLIT) if other != kind]
    assert [found.kind for found in result.mechanisms] == [kind, *others]
    assert [found.own for found in result.mechanisms] == [True] + [False] * len(others)
    # γ from the definition: within a row of A the largest ratio (FRAPP eq. 2).
    dense = Oracle().matrix(survey, survey.schema.names)
    assert result.gamma == pytest.approx((dense.max(axis=1) / dense.min(axis=1)).max())
    gamma = survey.perturbation.amplification()
    rivals = {
        "gamma-diagonal": GammaDiagonal(gamma),
        "randomized-gamma-diagonal": RandomizedGammaDiagonal(gamma, 0),
        "randomized-response": RandomizedResponse.for_amplification(survey.schema, gamma),
    }
    for found in result.mechanisms[1:-1]:
        rival = Survey("rival", "Rival", survey.schema, rivals[found.kind])
        dense = Oracle().matrix(rival, survey.schema.names)
        assert (dense.max(axis=1) / dense.min(axis=1)).max() <= float(gamma) * (1 + 1e-12)
        for length in found.lengths:
            expected = even_error(margins(rival, length.length), 1000)
            assert length.standard_error == pytest.approx(expected)


def test_nothing_is_compared_where_a_report_can_rule_a_record_out():
    half = Fraction(1, 2)
    matrix = [[half, half, 0], [0, half, half], [half, 0, half]]
    survey = survey_of(DistortionMatrices({"a": matrix}), (3,))
    result = plan(survey, PlanQuery(respondents=100))
    assert result.gamma is None
    assert [found.kind for found in result.mechanisms] == ["distortion-matrices"]
    assert result.recommended == "distortion-matrices"


@pytest.mark.parametrize("target", TARGETS)
def test_answers_sent_as_they_are_have_no_error_but_the_samples(target):
    survey = make_survey("randomized-response", (2, 3), public=(0, 1))
    result = plan(survey, PlanQuery(respondents=400, half_width=0.01, target=target))
    assert result.gamma is None
    [only] = result.mechanisms
    assert only.own
    for length in only.lengths:
        if target == "respondents":
            assert length.half_width == length.worst_half_width == length.smallest_support == 0
            assert length.respondents_needed == 2
        else:
            cells = {1: [2, 2, 3, 3, 3], 2: [6]}[length.length]
            unit = np.mean([(1 - 1 / n) / n for n in cells])
            assert length.standard_error == pytest.approx(math.sqrt(unit / 400))
            assert length.worst_standard_error == pytest.approx(math.sqrt(0.25 / 400))
            # s² = z²·s·(1 − s)/N
            assert length.smallest_support == pytest.approx(Z**2 / (400 + Z**2))
            assert length.respondents_needed == math.ceil(Z**2 * unit / 0.01**2)


@pytest.mark.parametrize("target", TARGETS)
def test_the_amplification_is_over_the_attributes_that_are_perturbed(target):
    # Kept with 3/4 of two answers: odds 3 to 1.
    survey = make_survey("randomized-response", (3, 2, 2), public=(0, 2))
    result = plan(survey, PlanQuery(respondents=400, lengths=[1, 2, 3], target=target))
    assert result.gamma == 3
    assert [found.kind for found in result.mechanisms] == [
        "randomized-response",
        "gamma-diagonal",
        "randomized-gamma-diagonal",
        SPLIT,
    ]
    for length in result.mechanisms[0].lengths:
        # Alone, the margin is that of what is perturbed; together, of all tables there are.
        sets = [(1,)] if length.length == 1 else combinations(range(3), length.length)
        expected = even_error([Margin(survey, s) for s in sets], 400, target)
        assert length.standard_error == pytest.approx(expected, abs=1e-9)


def test_only_mechanisms_that_the_survey_could_use_are_compared():
    # 2^25 cells are too many for gamma-diagonal with this γ, which no survey can then have.
    schema = schema_of((2,) * 25)
    survey = Survey("x", "X", schema, RandomizedResponse.for_amplification(schema, 19))
    with pytest.raises(DomainTooLarge):
        Survey("x", "X", schema, GammaDiagonal(19))
    result = plan(survey, PlanQuery(respondents=1000, lengths=[7]))
    # Nor could any 2^17 groups of questions hold every seven of them.
    assert [found.kind for found in result.mechanisms] == ["randomized-response"]
    assert result.recommended == "randomized-response"


# The recommendation


@pytest.mark.parametrize("lengths", [[3, 4], [6], None])
def test_on_census_a_split_questionnaire_is_best_at_every_length(lengths):
    survey = census_survey("census", GammaDiagonal(19))
    result = plan(survey, PlanQuery(respondents=48_842, lengths=lengths))
    widest = {}
    for found in result.mechanisms:
        widest[found.kind] = max(length.half_width for length in found.lengths)
    assert result.recommended == min(widest, key=widest.get) == SPLIT
    # The sentence names the lengths and figures that stand in the result.
    assert result.reason.startswith(SPLIT)
    where = re.search(r"lengths? ([\d, and]+)", result.reason)[1]
    assert sorted(map(int, re.findall(r"\d+", where))) == sorted(lengths or [1, 2, 3])
    said = set(re.findall(r"±[\d.]+ points", result.reason))
    assert half_width(widest[SPLIT]) in said
    assert said == set(map(half_width, widest.values()))
    assert all(kind in result.reason for kind in widest)
    assert (
        f"{result.mechanisms[-1].times_bound:.3g} times the least of an unbiased" in result.reason
    )


@pytest.mark.parametrize("size", [2, 5, 9])
@pytest.mark.parametrize("gamma", ["5/2", 19])
def test_for_one_attribute_all_mechanisms_are_called_the_same_but_geometries(size, gamma):
    # With one attribute the gamma-diagonal matrix is that of randomized response.
    for own in (
        GammaDiagonal(gamma),
        RandomizedResponse.for_amplification(schema_of((size,)), gamma),
    ):
        result = plan(survey_of(own, (size,)), PlanQuery(respondents=100))
        *widths, split = [found.lengths[0].half_width for found in result.mechanisms]
        assert widths == pytest.approx([widths[0]] * len(widths))
        if split < widths[0] / 1.01:
            assert size > 6
            assert result.recommended == SPLIT
            continue
        assert result.recommended == own.kind
        # Figures that agree are not played off against each other.
        assert "against" not in result.reason


def test_one_that_is_hardly_narrower_does_not_displace_the_surveys_own():
    matrix = [["0.75", "0.252"], ["0.25", "0.748"]]
    survey = survey_of(DistortionMatrices({"a": matrix}), (2,))
    result = plan(survey, PlanQuery(respondents=1000))
    own, *others = [found.lengths[0].half_width for found in result.mechanisms]
    assert min(others) < own < 1.01 * min(others)
    assert result.recommended == "distortion-matrices"


# Many attributes, large tables, extremes


def test_more_sets_than_are_looked_at_are_sampled_the_same_way_every_time():
    many, three = (
        survey_of(RandomizedResponse(dict.fromkeys(schema_of((2,) * n).names, "3/4")), (2,) * n)
        for n in (30, 3)
    )
    query = PlanQuery(respondents=1000, lengths=[3], alone=True)
    result = plan(many, query)
    [length] = result.mechanisms[0].lengths
    assert length.possible == math.comb(30, 3)
    assert 270 <= length.examined <= SAMPLED
    assert plan(many, query) == result
    # All attributes are alike, so three of them say the same.
    [expected] = plan(three, query).mechanisms[0].lengths
    assert length.half_width == pytest.approx(expected.half_width)
    assert length.worst_half_width == pytest.approx(expected.worst_half_width)


def test_as_many_attributes_as_a_survey_may_have_are_planned():
    schema = schema_of((2,) * 1024)
    # The amplification of 1024 attributes that are each kept with 3/4 is 3^1024.
    survey = Survey("x", "X", schema, RandomizedResponse(dict.fromkeys(schema.names, "3/4")))
    result = plan(survey, PlanQuery(respondents=1000, lengths=[1]))
    variance = 0.75 * 0.25 / (2 * 0.75 - 1) ** 2 + 0.5 * 0.5
    found = result.mechanisms[0].lengths[0].standard_error
    assert found == pytest.approx(math.sqrt(variance / 1000), rel=1e-6)


def test_each_question_and_some_sets_are_told_of_by_dense_algebra():
    survey = make_survey("randomized-response", (2, 3, 2))
    query = PlanQuery(respondents=500, lengths=[1, 2], alone=True, sets=2)
    result = plan(survey, query)
    assert [found.kind for found in result.mechanisms] == ["randomized-response"]
    assert [length.examined for length in result.mechanisms[0].lengths] == [3, 3]
    listed = [tuple(map(survey.schema.names.index, found.attributes)) for found in result.sets]
    assert [len(positions) for positions in listed] == [1, 1, 1, 2, 2]
    for positions, found in zip(listed, result.sets, strict=True):
        margin = Margin(survey, positions)
        shares = np.full(margin.cells, 1 / margin.cells)
        error = math.sqrt(margin.unit(shares, "population").mean() / 500)
        assert found.standard_error == pytest.approx(error, rel=1e-9)
        assert found.half_width == pytest.approx(Z * error, rel=1e-9)
    widths = [found.half_width for found in result.sets]
    assert widths[:3] == sorted(widths[:3], reverse=True)


def test_words_state_margins_and_judge_no_tables_by_them():
    survey = make_survey("gamma-diagonal", (2, 2, 2))
    few = PlanQuery(respondents=40, lengths=[1], half_width=0.1)
    [said] = expected_precision(plan(survey, few))
    [needed] = [length.respondents_needed for length in plan(survey, few).mechanisms[0].lengths]
    assert said.startswith("One question: margin ±")
    assert said.endswith(f" points. ±10 points takes {needed} respondents.")
    [said] = expected_precision(plan(survey, PlanQuery(respondents=10**6, lengths=[2])))
    assert said.startswith("Two questions together: margin ±")
    assert said.endswith("of the share of a combination; shares within groups have wider ones.")


def test_a_table_too_large_to_look_at_is_one_line_that_names_the_lengths():
    schema = schema_of((600, 600))
    survey = Survey("x", "X", schema, RandomizedResponse.for_amplification(schema, 10**6))
    assert plan(survey, PlanQuery(respondents=1000, lengths=[1])).mechanisms
    with pytest.raises(DomainTooLarge, match=r"^lengths: .*360000 cells at length 2") as caught:
        plan(survey, PlanQuery(respondents=1000, lengths=[1, 2]))
    assert caught.value.field == "lengths"
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("kind", KINDS[1:3])
@pytest.mark.parametrize("respondents", [2, 10**15])
def test_extremes_are_finite(kind, target, respondents):
    asked = PlanQuery(respondents=respondents, half_width=0.999, target=target)
    result = plan(make_survey(kind, (2, 3, 4)), asked)
    for found in result.mechanisms:
        for length in found.lengths:
            assert 0 <= length.standard_error <= length.worst_standard_error < math.inf
            assert length.smallest_support is None or 0 <= length.smallest_support <= 1
            assert length.respondents_needed >= 2


@pytest.mark.parametrize("gamma", ["1.001", 10**6, 10**15])
@pytest.mark.parametrize("target", TARGETS)
def test_hardly_any_and_hardly_no_privacy_are_planned(gamma, target):
    survey = survey_of(GammaDiagonal(gamma), (2, 3))
    length = (
        plan(survey, PlanQuery(respondents=100, lengths=[2], target=target))
        .mechanisms[0]
        .lengths[0]
    )
    g, n, s = Fraction(gamma), 6, Fraction(1, 6)
    x = 1 / (g + n - 1)
    keep, spread_to = (g - 1) * x, x
    # Σ_v W² λ − s² with λ_u = keep·s + x and W = (δ − x)/keep, in exact fractions.
    hit = keep * s + spread_to
    second = (hit * (1 - x) ** 2 + (1 - hit) * x**2) / keep**2
    exact = second - (s**2 if target == "population" else s)
    assert length.standard_error == pytest.approx(math.sqrt(exact / 100), rel=1e-6, abs=1e-9)


@pytest.mark.parametrize(
    ("items", "lengths"),
    [({0: [], 1: [], 2: []}, None), ({0: [], 1: [], 2: []}, [1]), ({0: [], 1: [1]}, [3])],
)
def test_a_length_that_no_itemset_has_is_one_clear_line(items, lengths):
    survey = make_survey("gamma-diagonal", (3, 2, 4), items)
    with pytest.raises(HalftruthError, match="item"):
        plan(survey, PlanQuery(respondents=100, lengths=lengths))


# Bad input, the same on every surface

BAD = [
    *(({"respondents": bad}, "respondents") for bad in (0, 1, -5, 10.5, "many")),
    *(({"half_width": bad}, "half_width") for bad in (0, 1, -0.01, "1%")),
    *(({"lengths": bad}, "lengths") for bad in ([0], [1, 3], [-1], [1.5])),
    *(({"confidence": bad}, "confidence") for bad in (0, 1, "95%")),
    ({"target": "everyone"}, "target"),
]
#: The first bad value of each field, which the command is given, too.
ONE_OF_EACH = {field: asked for asked, field in BAD[::-1]}
#: What an option cannot say, or JSON.
NO_OPTION = [({"lengths": bad}, "lengths") for bad in ([], 1)]
NAN = [({name: math.nan}, name) for name in ("half_width", "confidence")]


@pytest.fixture
def survey_file(tmp_path, survey):
    """The small survey under another id, which nobody has published."""
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
    """Post a plan for the small survey under another id, which nobody has published."""
    unpublished = json.loads(survey.canonical_json) | {"id": "never-published"}

    def post(**asked):
        body = {"survey": unpublished, "respondents": 100, **asked}
        return http.post("/v1/plan", json=body, headers=analyst)

    return post


def options(asked):
    """The same as options of the command."""
    words = []
    for name, value in ({"respondents": 100} | asked).items():
        option = "--length" if name == "lengths" else f"--{name.replace('_', '-')}"
        for each in value if isinstance(value, list) else [value]:
            words += [f"{option}={each}"]
    return words


@pytest.mark.parametrize(("asked", "field"), BAD + NO_OPTION + NAN)
def test_a_query_outside_its_range_is_one_line_that_names_the_field(
    ask, survey, survey_file, command, asked, field
):
    with pytest.raises(ParameterError) as caught:
        plan(survey, PlanQuery(**{"respondents": 100, **asked}))
    assert caught.value.field == field
    lines = [str(caught.value)]
    assert lines[0].startswith(f"{field}: expected ")
    if (asked, field) not in NAN:
        response = ask(**asked)
        assert response.status_code == 422
        document = response.get_json()
        # What is not even of the right kind is a complaint about the body, which names the place.
        assert document["field"] == field or f"$.{field}" in document["detail"]
        lines.append(document["detail"])
    if ONE_OF_EACH.get(field) == asked:
        status, said, complaint = command("plan", survey_file, *options(asked))
        assert (status, said) == (2, "")
        assert complaint.startswith("halftruth: ")
        lines.append(complaint.removesuffix("\n"))
    for line in lines:
        assert field.removesuffix("s").replace("_", "-") in line.replace("_", "-")
        assert "\n" not in line


# What people read, and the same numbers everywhere


def test_the_table_for_people_holds_the_figures_of_the_result(command, survey_file, survey):
    asked = {"respondents": 700, "half_width": 0.02, "lengths": [1, 2]}
    status, said, _ = command("plan", survey_file, *options(asked))
    assert status == 0
    result = plan(survey, PlanQuery(**asked))
    title, *words = said.partition("\n\n")[0].splitlines()
    assert title.startswith("Plan · 700 respondents")
    starts = ["One question", "Two questions together", f"Narrowest is {result.recommended}"]
    assert [line.split(":")[0] for line in words] == starts
    assert words[-1] == f"Narrowest is {result.reason}."
    assert "respondents for ±2.0 points" in said
    assert said.rstrip().endswith("\n".join(result.protection))
    rows = [
        line for line in said.partition("\n---")[2].splitlines() if "±" in line and "  " in line
    ]
    expected = [(found, length) for found in result.mechanisms for length in found.lengths]
    for row, (found, length) in zip(rows, expected, strict=False):
        assert row.startswith(found.kind)
        assert half_width(length.half_width) in row
        assert half_width(length.worst_half_width) in row
        assert f" {found.times_bound:.4g} " in row
        assert row.endswith(str(length.respondents_needed))
    for row, bound in zip(rows[len(expected) :], result.bound, strict=True):
        assert row.startswith("information bound")
        assert half_width(bound.half_width) in row
        assert row.endswith(str(bound.respondents_needed))
    assert "no unbiased estimate at this amplification is more accurate" in said
    assert "uneven answers may be known better" in said


ASKED = (
    {"respondents": 700},
    {
        "respondents": 5000,
        "lengths": [2, 1],
        "half_width": 0.03,
        "confidence": 0.9,
        "target": "respondents",
    },
)


@pytest.mark.parametrize("asked", ASKED)
def test_every_way_to_ask_gives_the_same_numbers(live, ask, survey, command, survey_file, asked):
    expected = plan(survey, PlanQuery(**asked))
    there = Analyst(live.url, operations.create_token(live.store, "analyst"))
    respondents = asked["respondents"]
    others = {name: value for name, value in asked.items() if name != "respondents"}
    answered = there.plan(survey, respondents, **others)
    for field in ("query", "gamma", "mechanisms", "recommended", "reason"):
        assert getattr(answered, field) == getattr(expected, field)
    posted = ask(**asked)
    printed = json.loads(command("plan", survey_file, *options(asked), "--json")[1])
    assert posted.get_json() == printed
    for found, other in zip(printed["mechanisms"], expected.mechanisms, strict=True):
        assert (found["kind"], found["own"]) == (other.kind, other.own)
        for length, same in zip(found["lengths"], other.lengths, strict=True):
            assert length == msgspec.to_builtins(same)
    assert printed["bound"] == msgspec.to_builtins(expected.bound)
    rows = list(
        csv.DictReader(io.StringIO(command("plan", survey_file, *options(asked), "--csv")[1]))
    )
    frame = answered.to_pandas()
    assert list(frame.index.names) == ["mechanism", "length"]
    assert [float(row["half_width"]) for row in rows] == frame.half_width.to_list()
    assert frame.bound_standard_error.to_list() == [
        {bound.length: bound.standard_error for bound in expected.bound}[length]
        for length in frame.index.get_level_values(1)
    ]
    assert [row["mechanism"] for row in rows] == frame.index.get_level_values(0).to_list()
