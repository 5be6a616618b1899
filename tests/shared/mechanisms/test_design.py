"""The views of split questionnaires against errors computed per component, and against bounds.

Weak duality shows that a design is optimal. With J_U(v) the information of a view about component
U and any prices b_U > 0, (Σ b_U/J_U)² ≤ Σ b_U/J'_U · Σ b_U·J'_U/J_U² for every other design J', by
Cauchy and Schwarz, and the last sum is at most its largest value over single views.
"""

import math
from collections import defaultdict
from fractions import Fraction
from itertools import combinations

import msgspec
import numpy as np
import pytest
from halftruth_collector.demo.census import SCHEMA as CENSUS
from halftruth_collector.estimation.planning.bound import information_bound
from halftruth_shared import Attribute, ParameterError, Schema, SplitQuestionnaire
from halftruth_shared.mechanisms import WantedTables
from halftruth_shared.mechanisms.split_questionnaire.design import EXPONENT, choose_views
from halftruth_shared.mechanisms.split_questionnaire.views import check_views, enumerate_views
from halftruth_shared.subset_responses import (
    choose_direct,
    choose_prime,
    coordinates,
    count_points,
    response,
)

NINETEEN = Fraction(19)


def schema_of(*shape):
    return Schema(
        [Attribute(f"question-{j}", [str(k) for k in range(d)]) for j, d in enumerate(shape)]
    )


TEN = schema_of(*[2] * 10)
MIXED = schema_of(2, 7, 3, 2, 4, 3, 2)


def response_parameters(gamma):
    prime = choose_prime(gamma)
    return prime, choose_direct(gamma, prime)


def design(schema, lengths, gamma=NINETEEN, public=()):
    """Return classes and views for lengths, of equal importance by default."""
    importance = lengths if isinstance(lengths, dict) else dict.fromkeys(lengths, 1.0)
    parameters = response_parameters(gamma)
    weights = tuple(importance.items())
    classes = choose_views(schema, gamma, frozenset(public), weights, *parameters).classes
    check_views(schema, classes, public)
    return classes, enumerate_views(schema, classes, gamma, *parameters)


@pytest.mark.parametrize(
    ("gamma", "shape", "prime"),
    [
        ("19", (100, 100, 2), 19),
        ("19", (400, 400, 2), 23),  # 19⁶ > 2²⁴, and 17⁵ − 1 < 16·160 000
        ("99", (150, 150, 2), 151),
        ("999", (500, 4), 997),  # answered directly
        ("999", (5_000, 4), 251),
    ],
)
def test_a_prime_whose_largest_geometry_can_be_decoded_is_taken(gamma, shape, prime):
    schema = schema_of(*shape)
    found = SplitQuestionnaire.for_amplification(schema, gamma, (), 2)
    assert found.prime == prime
    largest = max((view.channel for view in found.bind(schema).views), key=lambda r: r.cells)
    assert largest.prime**largest.dimension <= 2**24


def subsets(positions, longest):
    for length in range(1, min(longest, len(positions)) + 1):
        yield from combinations(positions, length)


def told(views, gamma, longest):
    """Return J_U of one report for each component."""
    information = defaultdict(float)
    total = sum(view.weight for view in views)
    for view in views:
        share = view.weight / total * float(view.channel.information) / view.channel.cells
        for component in subsets(view.positions, longest):
            information[component] += share
    return information


def demands(schema, lengths):
    """Return by length and component the coefficient of 1/J_U in the mean squared error."""
    found = {length: defaultdict(float) for length in lengths}
    for length in lengths:
        tables = list(combinations(range(len(schema.names)), length))
        cells = {table: math.prod(schema.shape[j] for j in table) for table in tables}
        for table in tables:
            for component in subsets(table, length):
                dimensions = math.prod(schema.shape[j] - 1 for j in component)
                found[length][component] += dimensions / cells[table] / sum(cells.values())
    return found


def errors(schema, information, lengths):
    """Return the root mean squared errors of one report, by length."""
    return np.array(
        [
            math.sqrt(math.fsum(demand[u] / information[u] for u in demand))
            for demand in demands(schema, lengths).values()
        ]
    )


def largest(errors):
    return float((errors**EXPONENT).sum() ** (1 / EXPONENT))


# Computed by formulas before this program existed; each to half its last place.
BOUNDS = [
    (CENSUS, 6, 48_842, [0.74, 0.77, 0.76, 0.73, 0.69, 0.63]),
    (schema_of(*[10] * 8), 3, 50_000, [1.53, 1.61, 1.65]),
    (TEN, 1, 5_000, [1.08]),
    (TEN, 2, 5_000, [1.67, 1.92]),
    (TEN, 3, 5_000, [2.13, 2.32, 2.44]),
]


@pytest.mark.parametrize(("schema", "longest", "respondents", "expected"), BOUNDS)
def test_the_information_bound_has_the_published_values(schema, longest, respondents, expected):
    found = information_bound(schema, NINETEEN, respondents, (), range(1, longest + 1))
    assert list(found) == list(range(1, longest + 1))
    assert 100 * np.array(list(found.values())) == pytest.approx(expected, abs=0.0055)


@pytest.mark.parametrize(
    ("schema", "lengths"), [(MIXED, [1, 2, 3]), (MIXED, [2]), (CENSUS, [1, 4]), (TEN, [3, 1])]
)
def test_the_information_bound_is_optimal(schema, lengths):
    gamma = Fraction(7, 2)
    found = information_bound(schema, gamma, 1_000, (), lengths)
    demand = demands(schema, sorted(lengths))
    # For any prices Σ b_U/J_U is at least (Σ √(b_U·D_U))² divided by the available information.
    prices = np.array([found[length] for length in demand]) ** (EXPONENT - 2)
    norm = (prices ** (EXPONENT / (EXPONENT - 2))).sum() ** (1 - 2 / EXPONENT)
    components = {u for by_component in demand.values() for u in by_component}
    least = 0.0
    for u in components:
        price = sum(p * demand[length][u] for p, length in zip(prices, demand, strict=True))
        least += math.sqrt(price * math.prod(schema.shape[j] - 1 for j in u))
    information = 1_000 * float((gamma - 1) ** 2 / (4 * gamma))
    assert largest(np.array(list(found.values()))) == pytest.approx(
        math.sqrt(least**2 / information / norm), rel=1e-5
    )


def test_the_information_bound_excludes_public_attributes():
    schema = schema_of(4, 3, 2, 5)
    without = information_bound(schema_of(4, 2, 5), NINETEEN, 700, (), [1, 2])
    found = information_bound(schema, NINETEEN, 700, ["question-1"], [1, 2])
    assert found == pytest.approx(without)


@pytest.mark.parametrize(
    ("schema", "importance", "gamma"),
    [
        (CENSUS, dict.fromkeys(range(1, 7), 1.0), NINETEEN),
        (MIXED, {1: 1.0, 2: 1.0, 3: 1.0}, Fraction(3)),
        (MIXED, {1: 3.0, 2: 1.0}, Fraction(99)),
        (MIXED, {3: 1.0}, Fraction(11, 10)),
        (TEN, {1: 1.0, 2: 1.5, 4: 1.0}, NINETEEN),
    ],
)
def test_weights_of_views_are_optimal_within_half_a_percent(schema, importance, gamma):
    longest = max(importance)
    _, views = design(schema, importance, gamma)
    weighted = errors(schema, told(views, gamma, longest), importance) * list(importance.values())
    assert largest(weighted) <= 1.005 * proved_error(schema, importance, gamma)


def proved_error(schema, importance, gamma):
    """Return a lower bound of the error of any weights of views, found by multiplicative steps.

    A step scales each view's probability by its marginal benefit (Silvey, Titterington & Torsney
    1978).
    """
    names, longest = range(len(schema.names)), max(importance)
    components = {u: row for row, u in enumerate(subsets(names, longest))}
    every = list(subsets(names, len(names)))
    adds = np.zeros((len(components), len(every)))
    for column, view in enumerate(every):
        cells = math.prod(schema.shape[j] for j in view)
        each = float(response(gamma, cells, *response_parameters(gamma)).information) / cells
        adds[[components[u] for u in subsets(view, longest)], column] = each
    wanted = np.zeros((len(importance), len(components)))
    for row, (length, by_component) in enumerate(demands(schema, importance).items()):
        for u, amount in by_component.items():
            wanted[row, components[u]] = amount * importance[length] ** 2
    chances = np.full(len(every), 1 / len(every))
    best = 0.0
    for _ in range(3_000):
        information = adds @ chances
        weighted = np.sqrt(wanted @ (1 / information))
        prices = (weighted / largest(weighted)) ** (EXPONENT - 2)
        saved = (prices @ wanted / information**2) @ adds
        here = float(prices @ weighted**2)
        assert here == pytest.approx(largest(weighted) ** 2)
        best = max(best, here**2 / saved.max())
        chances *= (saved / here) ** 0.2
        chances /= chances.sum()
    return math.sqrt(best)


def test_ten_questions_get_views_of_three_for_single_answers():
    _, views = design(TEN, [1])
    assert [view.positions for view in views] == list(combinations(range(10), 3))


LARGE = [
    (schema_of(*[2] * 40), 2),
    (schema_of(*range(2, 42)), 2),
    (schema_of(*[2, 5] * 20), 3),
    (schema_of(*range(2, 13)), 4),
]


@pytest.mark.parametrize(("schema", "longest"), LARGE)
def test_large_surveys_have_few_views_that_identify_all_tables(schema, longest):
    classes, views = design(schema, range(1, longest + 1))
    assert len(msgspec.json.encode(classes)) < 50_000
    assert len(views) <= 2**17
    assert views[-1].first + views[-1].channel.symbols < 2**32
    assert max(view.channel.cells for view in views) <= 2**20
    assert all(view.channel.prime**view.channel.dimension <= 2**24 for view in views)
    reached = {table for view in views for table in combinations(view.positions, longest)}
    assert len(reached) == math.comb(len(schema.names), longest)


def test_grouping_attributes_costs_little_precision():
    # More than the number of sizes that the design distinguishes.
    schema = schema_of(*range(2, 18))
    classes, views = design(schema, [1, 2])
    assert any(len(group) > 1 for views in classes if views.choose for group in views.attributes)
    bound = information_bound(schema, NINETEEN, 1, (), [1, 2])
    found = errors(schema, told(views, NINETEEN, 2), [1, 2])
    assert largest(found) < 1.05 * largest(np.array(list(bound.values())))


@pytest.mark.parametrize(
    ("shape", "gain"),
    [
        ((6, 6, 6, 6), 0.03),  # views of 36 cells, between 28 and 73
        ((3, 3, 3), 0.0),  # at most 27 cells
        ((10, 10, 9), 0.0),  # at least 90 cells for pairs of questions
    ],
)
def test_proposed_views_are_answered_by_pairs_of_cells_where_that_is_more_precise(shape, gain):
    schema, lengths = schema_of(*shape), (1, 2)
    importance = dict.fromkeys(lengths, 1.0)
    tables = [WantedTables(of=schema.names[:1], by=schema.names[1:])]
    for found, without in (
        (
            SplitQuestionnaire.for_amplification(schema, 19, (), 2),
            SplitQuestionnaire.designed(schema, 19, (), importance),
        ),
        (
            SplitQuestionnaire.for_tables(schema, 19, (), tables),
            SplitQuestionnaire.designed(schema, 19, (), tables),
        ),
    ):
        by_pairs, usual = (
            errors(schema, told(each.bind(schema).views, Fraction(19), 2), lengths).max()
            if found.tables == ()
            else errors_of_tables(schema, each)
            for each in (found, without)
        )
        assert (found.pairs is not None) == (gain > 0)
        if found.pairs is None:
            assert found.parameters() == without.parameters()
        assert by_pairs <= (1 - gain) * usual * (1 + 1e-9)


def errors_of_tables(schema, mechanism):
    """Return the largest error of the first question by each other one, within its groups."""
    information = told(mechanism.bind(schema).views, mechanism.gamma, 2)
    squares = []
    for other in range(1, len(schema.names)):
        sizes = schema.shape[0], schema.shape[other]
        each = {(0,): sizes[0] - 1, (other,): sizes[1] - 1}
        each[0, other] = math.prod(each.values())
        variance = sum(d / information[u] for u, d in each.items()) / math.prod(sizes) ** 2
        squares.append(sizes[1] ** 2 * variance)
    return math.sqrt(max(squares))


def test_public_attributes_are_in_no_view():
    classes, _ = design(CENSUS, [1, 2], public=("age", "sex"))
    names = {name for views in classes for group in views.attributes for name in group}
    assert names == set(CENSUS.names) - {"age", "sex"}


@pytest.mark.parametrize(
    ("schema", "longest", "gamma"),
    [
        (schema_of(2_000, 2_000, 2), 2, NINETEEN),  # too many cells
        (schema_of(*[2] * 600), 2, NINETEEN),  # too many views
        (schema_of(*[300] * 3), 2, Fraction(499)),  # a geometry of 499⁴ vectors
    ],
)
def test_lengths_that_no_views_can_identify_are_refused(schema, longest, gamma):
    with pytest.raises(ParameterError, match=f"^max_length: tables of {longest} attributes"):
        design(schema, range(1, longest + 1), gamma)


@pytest.mark.parametrize(("prime", "dimension", "cells"), [(3, 3, 13), (2, 4, 15), (5, 3, 9)])
def test_information_is_that_of_the_dense_covariance(prime, dimension, cells):
    """With more points than cells, the information is the mean over random placements."""
    gamma = Fraction(5, 2)
    answered = response(gamma, cells, prime, direct=1)
    assert answered.symbols == count_points(prime, dimension)
    vectors = np.array([coordinates(point, prime, dimension) for point in range(answered.symbols)])
    orthogonal = (vectors @ vectors.T) % prime == 0
    rng = np.random.default_rng(11)
    contrasts = np.eye(cells) - 1 / cells
    variances = []
    for _ in range(300 if cells < answered.symbols else 1):
        sets = orthogonal[rng.permutation(answered.symbols)[:cells]]
        channel = np.where(sets, float(gamma), 1.0)
        channel /= channel.sum(axis=1, keepdims=True)
        weights = sets / (
            channel.min() * float(gamma - 1) * (answered.subset_size - answered.common)
        )
        even = channel.mean(axis=0)
        means = weights @ even
        covariance = weights * even @ weights.T - np.outer(means, means)
        variances.append(np.trace(contrasts @ covariance @ contrasts) / (cells - 1))
    assert 1 / np.mean(variances) == pytest.approx(float(answered.information), rel=2e-3)
