"""Estimates inside the simplex: against dense matrices written out here, general optimizers and
plain expectation maximization.
"""

from functools import cache, reduce
from itertools import combinations, product

import numpy as np
import pytest
from halftruth_collector.demo.census import SCHEMA, census_codes, census_counts, census_survey
from halftruth_collector.estimate import Counts, Estimator
from halftruth_collector.estimate.constrained import constrain, project_to_simplex
from halftruth_collector.estimate.likelihood import maximum_likelihood, water_filling
from halftruth_shared import (
    Dense,
    DomainTooLarge,
    GammaDiagonal,
    Kronecker,
    RandomizedResponse,
    UniformMixture,
)
from scipy.optimize import minimize

INSIDE = ("projected", "likelihood")


# --- Channels, each with its matrix written out.


def mixture(cells, keep):
    return keep * np.eye(cells) + np.full((cells, cells), (1 - keep) / cells)


def uneven(size, seed, stay=0.5):
    """Column-stochastic, mostly keeping, without any symmetry."""
    noise = np.random.default_rng(seed).dirichlet(np.ones(size), size).T
    return stay * np.eye(size) + (1 - stay) * noise


WITH_ZERO = np.array([[0.7, 0.2, 0.0], [0.2, 0.6, 0.25], [0.1, 0.2, 0.75]])
REVERSING = np.array([[0.2, 0.9], [0.8, 0.1]])
IDENTITY = np.eye(3)


def side_by_side(*factors):
    channel = Kronecker([Dense(factor, (len(factor),)) for factor in factors])
    return channel, reduce(np.kron, factors)


CHANNELS = {
    "mixture 2": (UniformMixture((2,), 0.3), mixture(2, 0.3)),
    "mixture 3x4": (UniformMixture((3, 4), 0.2), mixture(12, 0.2)),
    "mixture of little": (UniformMixture((4, 5, 5), 0.01), mixture(100, 0.01)),
    "mixture of all": (UniformMixture((3, 2), 1), np.eye(6)),
    "symmetric": side_by_side(mixture(2, 0.5), mixture(3, 0.4), mixture(4, 0.6)),
    "binary": side_by_side(*[mixture(2, 0.3)] * 6),
    "uneven": side_by_side(uneven(3, 1), uneven(4, 2, 0.3), uneven(2, 3)),
    "with zeros": side_by_side(WITH_ZERO, uneven(2, 4), WITH_ZERO),
    "reversing": side_by_side(REVERSING, REVERSING, uneven(3, 5)),
    "partly public": side_by_side(IDENTITY, uneven(3, 6, 0.3), mixture(2, 0.4)),
    "forty": side_by_side(mixture(40, 0.5), uneven(3, 7)),
    "forty by mixtures": (
        Kronecker([UniformMixture((40,), 0.3), UniformMixture((4,), 0.5)]),
        np.kron(mixture(40, 0.3), mixture(4, 0.5)),
    ),
    "forty, uneven": side_by_side(uneven(40, 8, 0.4)),
    "one axis": (Dense(uneven(6, 9, 0.3), (6,)), uneven(6, 9, 0.3)),
    "one table": (Dense(uneven(6, 10, 0.3), (2, 3)), uneven(6, 10, 0.3)),
}
TINY = ("mixture 2", "mixture 3x4", "one axis", "one table", "partly public")


@pytest.fixture(params=CHANNELS)
def case(request):
    return CHANNELS[request.param]


def drawn(matrix, reports, seed, concentration=0.1):
    """Shares of reports, flat, of records of an uneven population."""
    rng = np.random.default_rng(seed)
    truth = rng.dirichlet(np.full(len(matrix), concentration))
    return rng.multinomial(reports, matrix @ truth) / reports


def fit(case, observed, **options):
    """Estimate of a flat table, of which the result is flat too."""
    channel, _ = case
    found = maximum_likelihood(channel, observed.reshape(channel.output_shape), **options)
    assert found.table.shape == channel.input_shape
    return found


def log_likelihood(matrix, observed, table):
    image = matrix @ table
    return sum(share * np.log(value) for share, value in zip(observed, image, strict=True) if share)


def slopes(matrix, observed, table):
    """g = Aᵀ(λ̂ / Aπ), where nothing was reported 0."""
    image = matrix @ table
    ratio = [s / v if s else 0.0 for s, v in zip(observed, image, strict=True)]
    return matrix.T @ np.array(ratio)


def plain_em(matrix, observed, steps):
    table = np.full(len(matrix), 1 / len(matrix))
    for _ in range(steps):
        table = table * slopes(matrix, observed, table)
    return table


def check_optimal(case, observed, found):
    """The Karush-Kuhn-Tucker conditions, and what the result says of itself."""
    _, matrix = case
    table = found.table.ravel()
    assert table.min() >= 0
    assert table.sum() == pytest.approx(1, abs=1e-12)
    g = slopes(matrix, observed, table)
    assert g.max() <= 1 + 1e-8
    # The mean of g by π is 1 and its maximum hardly above, so that a large cell has almost 1, and
    # one of 10⁻⁶ at least nearly.
    assert table @ g == pytest.approx(1, abs=1e-12)
    assert table @ np.abs(1 - g) <= 4e-9
    np.testing.assert_allclose(g[table > 1e-6], 1, atol=1e-3)
    np.testing.assert_allclose(g[table > 1e-2], 1, atol=2e-7)
    assert found.bound == pytest.approx(max(g.max() - 1, 0), abs=1e-11)
    assert found.bound >= 0
    assert found.path[-1] == pytest.approx(log_likelihood(matrix, observed, table), abs=1e-12)
    assert np.diff(found.path).min(initial=0) >= -1e-14


# --- The projection.


def by_quadratic_program(values):
    found = minimize(
        lambda x: ((x - values) ** 2).sum(),
        np.full(values.size, 1 / values.size),
        jac=lambda x: 2 * (x - values),
        bounds=[(0, None)] * values.size,
        constraints={"type": "eq", "fun": lambda x: x.sum() - 1, "jac": np.ones_like},
        options={"ftol": 1e-15, "maxiter": 500},
    )
    assert found.success
    return found.x


def by_all_faces(values):
    """The nearest of the nearest points of the hyperplanes of all faces that lie in these."""
    best, least = None, np.inf
    for face in product((False, True), repeat=values.size):
        inside = np.array(face)
        if inside.any():
            point = np.zeros(values.size)
            point[inside] = values[inside] - (values[inside].sum() - 1) / inside.sum()
            distance = ((point - values) ** 2).sum()
            if point.min() >= 0 and distance < least:
                best, least = point, distance
    return best


@pytest.mark.parametrize("size", [1, 2, 3, 7])
@pytest.mark.parametrize("scale", [0.01, 0.3, 50])
def test_the_projection_is_the_nearest_point(size, scale):
    # Moment estimates add up to 1, which the projection does not count on.
    rng = np.random.default_rng(89)
    for _ in range(5):
        values = rng.normal(1 / size, scale, size)
        found = project_to_simplex(values)
        np.testing.assert_allclose(found, by_all_faces(values), atol=1e-12)
        if scale < 1:
            np.testing.assert_allclose(found, by_quadratic_program(values), atol=1e-6)


@pytest.mark.parametrize("shape", [(1,), (2,), (2, 3), (5, 4, 5), (40, 50)])
@pytest.mark.parametrize("scale", [1e-4, 0.1, 100])
def test_the_projection_takes_the_same_from_all_that_it_leaves_above_zero(shape, scale):
    values = np.random.default_rng(90).normal(1 / np.prod(shape), scale, shape)
    found = project_to_simplex(values)
    assert found.shape == shape
    assert found.min() >= 0
    assert found.sum() == pytest.approx(1, abs=1e-9)
    above = found > 0
    shifts = values[above] - found[above]
    np.testing.assert_allclose(shifts, shifts[0], atol=1e-12 * max(scale, 1))
    assert (values[~above] <= shifts[0] + 1e-12 * max(scale, 1)).all()


def test_the_projection_of_a_point_of_the_simplex_is_the_point():
    rng = np.random.default_rng(91)
    for concentration in (0.05, 1, 100):
        inside = rng.dirichlet(np.full(30, concentration)).reshape(5, 6)
        np.testing.assert_allclose(project_to_simplex(inside), inside, atol=1e-15)
    for corner in np.eye(4):
        np.testing.assert_array_equal(project_to_simplex(corner), corner)


def test_projecting_twice_changes_nothing():
    rng = np.random.default_rng(92)
    for scale in (0.1, 1, 1000):
        once = project_to_simplex(rng.normal(0, scale, (4, 5)))
        np.testing.assert_allclose(project_to_simplex(once), once, atol=1e-15)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([0.5, 0.7], [0.4, 0.6]),
        ([1.5, -0.5], [1, 0]),
        ([3, 3, -5], [0.5, 0.5, 0]),
        ([-2, -2, -2, -2], [0.25] * 4),
        ([0.6, 0.6, 0.1, -0.3], [0.5, 0.5, 0, 0]),
        ([7], [1]),
    ],
)
def test_projections_worked_out_by_hand(values, expected):
    found = project_to_simplex(np.array(values, dtype=float))
    np.testing.assert_allclose(found, expected, atol=1e-15)


def test_the_projection_leaves_its_input_as_it_is():
    values = np.array([1.5, -0.5])
    project_to_simplex(values)
    assert values.tolist() == [1.5, -0.5]


# --- Maximum likelihood.


@pytest.mark.parametrize("reports", [1, 2, 10, 300, 10_000, 10**7])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_estimate_meets_the_conditions_of_a_maximum(case, reports, seed):
    observed = drawn(case[1], reports, seed)
    found = fit(case, observed)
    check_optimal(case, observed, found)
    assert found.bound <= 1e-9


def test_reports_all_in_one_cell_are_served(case):
    # All people are of the kinds that give that report most often.
    _, matrix = case
    for reported in (0, len(matrix) // 2, len(matrix) - 1):
        observed = np.eye(len(matrix))[reported]
        found = fit(case, observed)
        check_optimal(case, observed, found)
        likely = matrix[reported] > matrix[reported].max() * (1 - 1e-9)
        assert found.table.ravel()[likely].sum() == pytest.approx(1, abs=1e-6)
        assert found.path[-1] == pytest.approx(np.log(matrix[reported].max()), abs=1e-8)


def test_equally_many_reports_of_each_kind_are_served(case):
    _, matrix = case
    observed = np.full(len(matrix), 1 / len(matrix))
    check_optimal(case, observed, fit(case, observed))


def test_the_moment_estimate_inside_the_simplex_is_the_most_likely_one(case):
    channel, matrix = case
    truth = np.random.default_rng(93).dirichlet(np.full(len(matrix), 2.0))
    observed = matrix @ truth
    found = fit(case, observed)
    np.testing.assert_allclose(found.table.ravel(), truth, atol=1e-10)
    check_optimal(case, observed, found)
    moment = constrain(channel, observed.reshape(channel.output_shape), "moment")
    np.testing.assert_allclose(moment, found.table, atol=1e-10)


def test_a_moment_estimate_on_the_edge_of_the_simplex_is_found_to_its_rounding(case):
    # Some cells are 0 in truth: rounding makes the moment estimate negative there.
    _, matrix = case
    rng = np.random.default_rng(94)
    truth = rng.dirichlet(np.full(len(matrix), 2.0)) * (rng.random(len(matrix)) < 0.6)
    truth[0] += 1 - truth.sum()
    observed = matrix @ truth
    found = fit(case, observed)
    check_optimal(case, observed, found)
    # A likelihood within 1e-9 of the largest knows a table to the root of that, times as much as
    # A is ill-conditioned.
    distance = np.abs(found.table.ravel() - truth).max()
    assert distance <= 1e-4 * np.linalg.cond(matrix)


@pytest.mark.parametrize("name", TINY)
@pytest.mark.parametrize("reports", [5, 50, 5000])
def test_a_general_optimizer_finds_nothing_better(name, reports):
    case = CHANNELS[name]
    _, matrix = case
    observed = drawn(matrix, reports, seed=95)
    found = fit(case, observed)
    cells = len(matrix)
    other = minimize(
        lambda x: -log_likelihood(matrix, observed, np.maximum(x, 1e-12)),
        np.full(cells, 1 / cells),
        jac=lambda x: -slopes(matrix, observed, np.maximum(x, 1e-12)),
        bounds=[(0, 1)] * cells,
        constraints={"type": "eq", "fun": lambda x: x.sum() - 1, "jac": np.ones_like},
        options={"ftol": 1e-13, "maxiter": 1000},
    )
    best = np.maximum(other.x, 0) / np.maximum(other.x, 0).sum()
    # It does not get quite as far, and nowhere else.
    assert found.path[-1] >= log_likelihood(matrix, observed, best) - 1e-9
    np.testing.assert_allclose(found.table.ravel(), best, atol=2e-3)


@pytest.mark.parametrize("name", [*TINY, "uneven", "with zeros", "reversing"])
@pytest.mark.parametrize("reports", [20, 2000])
def test_twenty_thousand_steps_of_plain_em_lead_to_the_same(name, reports):
    case = CHANNELS[name]
    _, matrix = case
    observed = drawn(matrix, reports, seed=96)
    found = fit(case, observed)
    by_em = plain_em(matrix, observed, 20_000)
    missing = log_likelihood(matrix, observed, by_em) - found.path[-1]
    # EM is an ascent as well, so that it ends below the maximum, and by 1/steps near to it.
    assert -1e-4 <= missing <= found.bound + 1e-12
    np.testing.assert_allclose(found.table.ravel(), by_em, atol=5e-3)


def test_a_few_steps_of_newton_are_as_good_as_many_of_em(case):
    _, matrix = case
    observed = drawn(matrix, 500, seed=97)
    found = fit(case, observed)
    assert len(found.path) <= 60
    assert found.path[-1] >= log_likelihood(matrix, observed, plain_em(matrix, observed, 300))


@pytest.mark.parametrize(
    "name", ["symmetric", "binary", "uneven", "with zeros", "forty", "one axis"]
)
def test_the_bound_is_never_below_what_is_missing(name):
    case = CHANNELS[name]
    _, matrix = case
    observed = drawn(matrix, 200, seed=98)
    best = fit(case, observed, tolerance=1e-10)
    bounds = []
    for steps in range(12):
        found = fit(case, observed, max_steps=steps)
        missing = best.path[-1] - found.path[-1]
        assert -1e-10 <= missing <= found.bound + 1e-12
        assert len(found.path) <= steps + 1
        g = slopes(matrix, observed, found.table.ravel())
        assert found.bound == pytest.approx(g.max() - 1, abs=1e-11)
        np.testing.assert_allclose(
            found.path[-1], log_likelihood(matrix, observed, found.table.ravel()), atol=1e-12
        )
        bounds.append(found.bound)
    # Without any step it is a wide bound.
    assert bounds[0] > 1e-3


@pytest.mark.parametrize("tolerance", [0.1, 1e-3, 1e-6, 1e-9, 1e-10])
def test_a_tolerance_is_met_and_a_looser_one_sooner(case, tolerance):
    observed = drawn(case[1], 400, seed=99)
    found = fit(case, observed, tolerance=tolerance)
    assert found.bound <= tolerance
    assert len(found.path) <= len(fit(case, observed, tolerance=1e-10).path)


def test_a_tolerance_beyond_rounding_ends_all_the_same(case):
    observed = drawn(case[1], 400, seed=99)
    found = fit(case, observed, tolerance=0.0)
    assert len(found.path) <= 201
    assert 0 <= found.bound <= 1e-9


def test_the_path_of_the_likelihood_only_rises_to_that_of_the_table(case):
    # Of the steps only the last is returned, so that each is asked for by itself.
    _, matrix = case
    observed = drawn(matrix, 50, seed=100)
    path = fit(case, observed).path
    assert np.diff(path).min(initial=0) >= -1e-14
    for steps, value in enumerate(path):
        table = fit(case, observed, max_steps=steps).table.ravel()
        if len(path) > 1 and steps < len(path) - 1:
            # A last step is solved to another accuracy only where the tolerance is near.
            assert log_likelihood(matrix, observed, table) == pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize("counts", [[9, 0, 10, 0], [2, 0, 8, 7], [0, 0, 1, 0], [5, 5, 5, 5]])
def test_nothing_negative_is_missing_even_by_rounding(counts):
    case = side_by_side(mixture(2, 0.24), mixture(2, 0.24))
    observed = np.array(counts) / sum(counts)
    assert 0 <= fit(case, observed).bound <= 1e-9


@pytest.mark.parametrize("shape", [(2,), (7,), (3, 4), (5, 5, 4)])
@pytest.mark.parametrize("keep", [1e-6, 0.01, 0.3, 0.9, 1])
@pytest.mark.parametrize("reports", [1, 7, 200])
def test_the_closed_form_of_a_mixture_is_what_the_iteration_finds(shape, keep, reports):
    # The same matrix, once as a mixture and once as one that knows nothing of it.
    cells = int(np.prod(shape))
    matrix = mixture(cells, keep)
    observed = drawn(matrix, reports, seed=101)
    closed = fit((UniformMixture(shape, keep), matrix), observed)
    check_optimal((None, matrix), observed, closed)
    iterated = fit((Dense(matrix, shape), matrix), observed)
    assert closed.path[-1] >= iterated.path[-1] - 1e-13
    if keep >= 0.01:
        np.testing.assert_allclose(closed.table, iterated.table, atol=1e-4 / keep)


def test_a_mixture_fills_the_most_frequent_cells_only():
    # n = 4, c = 0.15: levels λ̂_m of 1, 2 and 3 cells; with two cells μ = 0.8/0.7.
    channel = UniformMixture((4,), 0.4)
    observed = np.array([0.5, 0.3, 0.12, 0.08])
    found = maximum_likelihood(channel, observed).table
    expected = (observed * 0.7 / 0.8 - 0.15) / 0.4
    np.testing.assert_allclose(found, [expected[0], expected[1], 0, 0], atol=1e-15)
    np.testing.assert_array_equal(water_filling(observed, 0.4), found)


def test_equally_frequent_reports_are_filled_alike():
    observed = np.array([0.3, 0.3, 0.3, 0.1])
    found = water_filling(observed, 0.2)
    np.testing.assert_allclose(found, [1 / 3] * 3 + [0], atol=1e-15)
    np.testing.assert_allclose(water_filling(np.full(5, 0.2), 0.1), 0.2, atol=1e-15)


def test_a_two_by_two_table_by_hand():
    # Half keep both answers for sure, reports 00 and 11 only: all mass on the diagonal.
    channel, matrix = side_by_side(mixture(2, 0.5), mixture(2, 0.5))
    observed = np.array([0.5, 0, 0, 0.5])
    found = fit((channel, matrix), observed)
    np.testing.assert_allclose(found.table, [[0.5, 0], [0, 0.5]], atol=1e-6)
    assert found.path[-1] == pytest.approx(np.log(0.5 * (0.75**2 + 0.25**2)), abs=1e-9)
    # One report: that very record.
    found = fit((channel, matrix), np.array([0, 1.0, 0, 0]))
    np.testing.assert_allclose(found.table, [[0, 1], [0, 0]], atol=1e-6)
    assert found.path[-1] == pytest.approx(2 * np.log(0.75), abs=1e-9)


@pytest.mark.parametrize(
    ("attributes", "keep", "reports"), [(8, 0.1, 10_000), (10, 0.1, 300), (12, 0.8, 1000)]
)
def test_many_ill_conditioned_attributes_are_estimated(attributes, keep, reports):
    # Condition numbers of 10^8 and 10^10. Without a dense matrix: optimality by the channel's own
    # products, which the tests above compare with dense ones.
    channel, _ = side_by_side(mixture(2, keep))
    channel = Kronecker(channel.factors * attributes)
    rng = np.random.default_rng(102)
    truth = rng.dirichlet(np.full(2**attributes, 0.01)).reshape((2,) * attributes)
    reported = channel.forward(truth).ravel()
    observed = rng.multinomial(reports, reported / reported.sum()).reshape(truth.shape) / reports
    found = maximum_likelihood(channel, observed)
    assert found.bound <= 1e-9
    assert found.table.sum() == pytest.approx(1, abs=1e-12)
    assert found.table.min() >= 0
    assert np.diff(found.path).min() >= -1e-14
    # The truth is one of those that it is more likely than.
    assert found.path[-1] >= (observed * np.log(channel.forward(truth))).sum()


def test_the_estimate_is_the_same_however_often_all_reports_are_repeated(make_survey, kind):
    survey = make_survey(kind, (2, 3, 2))
    rng = np.random.default_rng(103)
    counts = rng.multinomial(60, np.full(12, 1 / 12))
    cells = np.stack(np.unravel_index(np.arange(12), (2, 3, 2)), axis=1)
    tables = [
        Estimator(survey, Counts.from_cells(survey.schema, cells, times * counts)).support(
            ["a", "b", "c"], "likelihood"
        )
        for times in (1, 10**6)
    ]
    np.testing.assert_allclose(*tables, atol=1e-9)


# --- Through the estimator.


SHAPE = (2, 3, 4)


@pytest.fixture(params=[1, 3, 40, 3000])
def estimator(request, make_survey, make_reports, kind):
    survey = make_survey(kind, SHAPE)
    reports = make_reports(survey, request.param, seed=104, concentration=0.3)
    return Estimator(survey, Counts.from_reports(survey.schema, reports))


@pytest.fixture
def survey_of_thousands(make_survey, make_reports, kind):
    survey = make_survey(kind, SHAPE)
    return survey, make_reports(survey, 3000, seed=105, concentration=0.3)


def test_estimates_of_the_whole_table_are_those_of_dense_algebra(survey_of_thousands, oracle):
    survey, reports = survey_of_thousands
    estimator = Estimator(survey, Counts.from_reports(survey.schema, reports))
    matrix = oracle.matrix(survey, "abc")
    observed = np.bincount(oracle.cells(survey, reports, "abc"), minlength=24) / len(reports)
    moment = np.linalg.solve(matrix, observed)
    assert moment.min() < 0
    support = estimator.support(["a", "b", "c"]).ravel()
    np.testing.assert_allclose(support, moment, atol=1e-12)
    projected = estimator.support(["a", "b", "c"], "projected").ravel()
    np.testing.assert_allclose(projected, by_quadratic_program(moment), atol=1e-6)
    likely = estimator.support(["a", "b", "c"], "likelihood").ravel()
    g = slopes(matrix, observed, likely)
    assert g.max() <= 1 + 1e-8
    assert abs(likely @ (1 - g)) < 1e-12


def mined(estimator, estimate):
    """All but what is certainly no share above 0 by the moment estimate: most of 59 itemsets."""
    found = estimator.itemsets(1e-9, select="upper", estimate=estimate)
    assert len(found) > 30
    return found


@pytest.mark.parametrize("estimate", INSIDE)
def test_supports_are_shares_and_never_grow_with_an_itemset(estimator, estimate):
    found = mined(estimator, estimate)
    assert found.support.min() >= 0
    assert found.support.max() <= 1 + 1e-12
    supports = dict(zip(map(tuple, found.codes.tolist()), found.support, strict=True))
    for small, large in product(supports, repeat=2):
        if all(code in (-1, other) for code, other in zip(small, large, strict=True)):
            assert supports[small] >= supports[large] - 1e-12


@pytest.mark.parametrize("estimate", INSIDE)
def test_supports_of_itemsets_are_margins_of_tables(estimator, estimate):
    found = mined(estimator, estimate)
    supports = dict(zip(map(tuple, found.codes.tolist()), found.support, strict=True))
    whole = estimator.support(["a", "b", "c"], estimate)
    assert whole.sum() == pytest.approx(1)
    for length in (1, 2, 3):
        for positions in combinations(range(3), length):
            names = ["abc"[j] for j in positions]
            table = estimator.support(names, estimate)
            turned = estimator.support(names[::-1], estimate)
            np.testing.assert_allclose(turned, table.transpose(), atol=1e-14)
            others = tuple({0, 1, 2} - set(positions))
            np.testing.assert_allclose(table, whole.sum(axis=others), atol=1e-14)
            for cell in np.ndindex(table.shape):
                codes = [-1, -1, -1]
                for j, code in zip(positions, cell, strict=True):
                    codes[j] = code
                if tuple(codes) in supports:
                    assert supports[tuple(codes)] == pytest.approx(table[cell], abs=1e-14)


@pytest.mark.parametrize("estimate", INSIDE)
@pytest.mark.parametrize("target", ["population", "respondents"])
def test_errors_and_decisions_stay_those_of_the_moment_estimate(estimator, estimate, target):
    asked = {"target": target, "confidence": 0.9}
    rows = {}
    for method in ("moment", estimate):
        found = estimator.itemsets(0.2, select="upper", estimate=method, **asked)
        order = np.lexsort(found.codes.T)
        rows[method] = [
            getattr(found, name)[order]
            for name in ("codes", "standard_error", "lower", "upper", "decision")
        ]
        assert found.precision == estimator.itemsets(0.2, **asked).precision
    for moment, other in zip(*rows.values(), strict=True):
        np.testing.assert_array_equal(moment, other)


@pytest.mark.parametrize("estimate", INSIDE)
@pytest.mark.parametrize("select", ["lower", "bonferroni", "holm"])
def test_selecting_by_a_decision_does_not_depend_on_the_estimate(
    survey_of_thousands, estimate, select
):
    survey, reports = survey_of_thousands
    estimator = Estimator(survey, Counts.from_reports(survey.schema, reports))
    plain, other = (
        {tuple(codes) for codes in estimator.itemsets(0.1, select=select, estimate=method).codes}
        for method in ("moment", estimate)
    )
    assert plain == other != set()


@pytest.mark.parametrize("estimate", INSIDE)
def test_selecting_by_an_estimate_goes_by_the_one_asked_for(survey_of_thousands, estimate):
    survey, reports = survey_of_thousands
    estimator = Estimator(survey, Counts.from_reports(survey.schema, reports))
    every = mined(estimator, estimate)
    found = estimator.itemsets(0.05, estimate=estimate)
    assert found.support.min() >= 0.05
    chosen = {tuple(codes) for codes in found.codes.tolist()}
    reached = {tuple(c) for c in every.codes[every.support >= 0.05].tolist()}
    assert chosen == reached != set()
    keys = list(zip(found.lengths, -found.support, strict=True))
    assert keys == sorted(keys)
    listed = list(found)
    assert [itemset.support for itemset in listed] == found.support.tolist()


@pytest.mark.parametrize("estimate", INSIDE)
@pytest.mark.parametrize("cells", [2**17, 0])
def test_large_domains_are_mined_alike(survey_of_thousands, monkeypatch, estimate, cells):
    monkeypatch.setattr("halftruth_collector.estimate.estimator._MARGIN_CELLS", cells)
    survey, reports = survey_of_thousands
    estimator = Estimator(survey, Counts.from_reports(survey.schema, reports))
    whole = estimator.support(["a", "b", "c"], estimate)
    for codes, support in zip(*_columns(mined(estimator, estimate)), strict=True):
        index = tuple(slice(None) if code < 0 else code for code in codes)
        assert support == pytest.approx(whole[index].sum(), abs=1e-14)


def _columns(found):
    return found.codes.tolist(), found.support.tolist()


@pytest.mark.parametrize("estimate", INSIDE)
def test_public_answers_are_their_own_estimate(public_survey, estimate):
    survey = public_survey((2, 3))
    counts = Counts.from_cells(survey.schema, [[0, 0], [0, 1], [1, 1]], [20, 30, 50])
    table = Estimator(survey, counts).support(["a", "b"], estimate)
    np.testing.assert_allclose(table, [[0.2, 0.3, 0], [0, 0.5, 0]], atol=1e-9)


@pytest.mark.parametrize("estimate", INSIDE)
def test_a_whole_table_of_too_many_cells_is_refused_in_one_line(make_survey, estimate):
    survey = make_survey("randomized-response", (2,) * 21)
    counts = Counts.from_cells(survey.schema, np.eye(21, dtype=int), [100] * 21)
    estimator = Estimator(survey, counts)
    message = r"^estimate: a whole table of 2097152 cells; expected at most \d+, or .* = moment$"
    for ask in (
        lambda: estimator.support(["a"], estimate),
        lambda: estimator.itemsets(0.9, 1, estimate=estimate),
    ):
        with pytest.raises(DomainTooLarge, match=message) as caught:
            ask()
        assert caught.value.field == "estimate"
    assert estimator.support(["a"]).shape == (2,)
    assert len(estimator.itemsets(0.5, 1)) > 0


@pytest.mark.parametrize("estimate", INSIDE)
def test_the_limit_is_a_number_of_cells(make_survey, make_reports, monkeypatch, estimate):
    survey = make_survey("gamma-diagonal", SHAPE)
    reports = make_reports(survey, 100, seed=106)
    for cells, allowed in ((24, True), (23, False)):
        monkeypatch.setattr("halftruth_collector.estimate.estimator.CONSTRAINED_CELLS", cells)
        estimator = Estimator(survey, Counts.from_reports(survey.schema, reports))
        if allowed:
            assert estimator.support(["b"], estimate).sum() == pytest.approx(1)
        else:
            with pytest.raises(DomainTooLarge):
                estimator.support(["b"], estimate)


def test_methods_do_not_share_their_tables(make_survey, make_reports):
    survey = make_survey("randomized-response", SHAPE)
    reports = make_reports(survey, 50, seed=107, concentration=0.1)
    counts = Counts.from_reports(survey.schema, reports)
    together = Estimator(survey, counts)
    for estimate in (*INSIDE, "moment", *INSIDE):
        np.testing.assert_array_equal(
            together.support(["c", "a"], estimate),
            Estimator(survey, counts).support(["c", "a"], estimate),
        )
    first, second = (together.support(["a", "b", "c"], estimate) for estimate in INSIDE)
    assert np.abs(first - second).max() > 1e-3


# --- CENSUS at γ = 19.


@pytest.fixture(scope="module")
def census_errors():
    """Root-mean-square error over all itemsets of a length, 1 to 6, averaged over three surveys."""
    counts = census_counts()
    truth = np.zeros(SCHEMA.shape)
    truth[tuple(counts.cells.T)] = counts.counts / counts.reports
    codes = census_codes()
    mechanisms = {
        "gamma-diagonal": GammaDiagonal(19),
        "randomized-response": RandomizedResponse.for_amplification(SCHEMA, 19),
    }

    def error(table, length):
        squares = []
        for positions in combinations(range(6), length):
            others = tuple(set(range(6)) - set(positions))
            squares.append(((table - truth).sum(axis=others) ** 2).ravel())
        return np.sqrt(np.concatenate(squares).mean())

    @cache
    def errors(kind):
        mechanism = mechanisms[kind]
        found = {estimate: [] for estimate in ("moment", *INSIDE)}
        for seed in (110, 111, 112):
            reports = mechanism.perturb_many(SCHEMA, codes, np.random.default_rng(seed))
            survey = census_survey("census", mechanism)
            estimator = Estimator(survey, Counts.from_reports(SCHEMA, reports))
            for estimate, values in found.items():
                table = estimator.support(SCHEMA.names, estimate)
                values.append([error(table, length) for length in range(1, 7)])
        return {estimate: np.mean(values, axis=0) for estimate, values in found.items()}

    return errors


def test_the_likelihood_is_much_nearer_to_the_census_than_the_moment_estimate(census_errors):
    # Ratios from length 1 on; over ten other surveys they were 0.84, 0.65, 0.50, 0.38, 0.29, 0.24
    # and 0.96, 0.43, 0.105, 0.023, 0.0054, 0.0013: nothing is gained for single answers alone.
    for kind, at_most in {
        "gamma-diagonal": (1, 0.8, 0.7, 0.6, 0.5, 0.4),
        "randomized-response": (1.5, 0.6, 0.15, 0.03, 0.008, 0.002),
    }.items():
        errors = census_errors(kind)
        assert (errors["likelihood"] < at_most * errors["moment"]).all(), (kind, errors)


def test_the_projection_is_worse_than_the_moment_estimate_for_short_itemsets(census_errors):
    # Noise of the whole table is spread unevenly by randomized response, and a Euclidean distance
    # knows nothing of that: what is known well of single answers is lost.
    errors = census_errors("randomized-response")
    assert errors["projected"][0] > 10 * errors["moment"][0]
    assert errors["projected"][1] > 2 * errors["moment"][1]
    assert (errors["projected"][3:] < 0.3 * errors["moment"][3:]).all()
    assert (errors["projected"] > 3 * errors["likelihood"]).all()


def test_for_the_gamma_diagonal_both_are_nearer_than_the_moment_estimate(census_errors):
    errors = census_errors("gamma-diagonal")
    assert (errors["projected"] < errors["moment"]).all()
    assert (errors["projected"][2:] < 0.7 * errors["moment"][2:]).all()
