"""Association measures against their definitions."""

import math
from itertools import combinations

import numpy as np
import pytest
from halftruth_collector.estimation import Counts, Estimator
from halftruth_collector.estimation.association import Batch, evaluate, graded
from halftruth_collector.estimation.measures import (
    CRAMERS_V,
    MEASURES,
    OF_MANY,
    ORDERED,
    Cells,
    find_measure,
)
from halftruth_shared import DomainTooLarge, GammaDiagonal, RandomizedResponse
from mined import associations_of, measures_of, rows_of
from scipy.stats import chi2_contingency, norm
from sources import aim, aimed
from witnesses import witness

from . import definitions
from .definitions import (
    FROM_ZERO,
    Z,
    category_measures,
    first_order_error,
    from_zero,
    pair_factors,
    pair_measures,
    ratio_of,
)

N = 5_000


def survey_of(*sizes, keep="0.9"):
    names = [chr(ord("a") + j) for j in range(len(sizes))]
    return definitions.survey_of(RandomizedResponse(dict.fromkeys(names, keep)), sizes)


def estimator_of(survey, shares):
    """Estimator of counts whose reconstruction is near these shares."""
    channel = survey.perturbation.channel(survey.schema.names)
    counts = np.rint(channel.forward(shares) * N).astype(int)
    counts.flat[0] += N - counts.sum()
    cells = np.stack(np.indices(shares.shape), axis=-1).reshape(-1, shares.ndim)
    return Estimator(survey, Counts.from_cells(survey, cells, counts.ravel()))


def ends_of(interval):
    """Return both ends, an open upper one as infinity."""
    return [interval[0], math.inf if interval[1] is None else interval[1]]


def assert_formulas(measures, formulas, table, target="population", factors=None):
    """Assert that every measure has its formula's value and an error of first or second order."""
    expected, covariance = formulas(table.value), aim(table, target).covariance()
    ratios = set() if factors is None else set(factors(table.value))
    assert set(measures) - {"cramers_v"} == set(expected)
    for name, measure in measures.items():
        if name == "cramers_v":
            assert_cramers_v(measure, formulas, table, covariance)
            continue
        if name in FROM_ZERO:
            found = from_zero(lambda t, name=name: formulas(t)[name], table.value, covariance)
        elif name in ratios:
            found = ratio_of(lambda t, name=name: factors(t)[name], table.value, covariance)
        else:
            error = first_order_error(
                lambda t, name=name: formulas(t)[name], table.value, covariance
            )
            value = expected[name]
            found = value, error, (value - Z * error, value + Z * error)
        value, error, interval = found
        assert measure.value == pytest.approx(value, rel=1e-6, abs=1e-9), name
        errors = measure.standard_error, measure.standard_error_log
        assert errors[name in ratios] == pytest.approx(error, rel=1e-6), name
        assert errors[name not in ratios] is None
        assert ends_of(measure.interval) == pytest.approx(interval, rel=1e-6, abs=1e-8), name


def assert_cramers_v(measure, formulas, table, covariance):
    """Assert that V is the root of χ²/N over its largest value, corrected before."""
    most = N * (min(table.value.shape) - 1)
    square, error, ends = from_zero(
        lambda t: formulas(t)["chi_squared"] / most, table.value, covariance
    )
    assert measure.value == pytest.approx(math.sqrt(square), rel=1e-6, abs=1e-9)
    lower, upper = np.sqrt(ends)
    assert measure.interval == pytest.approx((lower, min(upper, 1.0)), rel=1e-6, abs=1e-8)
    if square > 0:
        assert measure.standard_error == pytest.approx(error / 2 / math.sqrt(square), rel=1e-6)
    else:
        assert measure.standard_error is None


def of_pair(t):
    return pair_measures(t, N)


def of_categories(t):
    return category_measures(t, N)


def of_three(t):
    """Measures defined for more than two attributes, of tables (…, 2, 2, 2)."""
    margins = [t.sum(axes, keepdims=True) for axes in ((-1, -2), (-1, -3), (-2, -3))]
    chance = margins[0] * margins[1] * margins[2]
    whole = (-1, -2, -3)
    every, expected = t[..., 1, 1, 1], chance[..., 1, 1, 1]
    return {
        "jaccard": every / (t.sum(whole) - t[..., 0, 0, 0]),
        "cosine": every / np.sqrt(expected),
        "interest": every / expected,
        "piatetsky_shapiro": every - expected,
        "chi_squared": N * ((t - chance) ** 2 / chance).sum(whole),
        "g_squared": 2 * N * (t * np.log(t / chance)).sum(whole),
    }


def factors_of_three(t):
    margins = [t.sum(axes)[..., 1] for axes in ((-1, -2), (-1, -3), (-2, -3))]
    return {"interest": ([t[..., 1, 1, 1]], margins)}


def by_name(measures):
    return {row.quantity: row for row in rows_of(measures)}


@pytest.mark.parametrize("target", ["population", "respondents"])
@pytest.mark.parametrize(
    ("shape", "formulas", "factors"),
    [
        ((2, 2), of_pair, pair_factors),
        ((3, 4), of_categories, None),
        ((2, 2, 2), of_three, factors_of_three),
    ],
)
def test_every_measure_is_its_formula(shape, formulas, factors, target):
    witness("Guo", "Equation 3.6 and Section 3.3.1")
    for seed in range(5):
        shares = np.random.default_rng(seed).dirichlet(np.full(math.prod(shape), 9.0))
        estimator = estimator_of(survey_of(*shape), shares.reshape(shape))
        names = "abc"[: len(shape)]
        measures = by_name(measures_of(aimed(estimator, target), list(names)))
        assert_formulas(measures, formulas, estimator.table(list(names)), target, factors)


def test_one_category_is_compared_with_all_others():
    shares = np.random.default_rng(2).dirichlet(np.full(12, 9.0)).reshape(3, 4)
    estimator = estimator_of(survey_of(3, 4), shares)

    def pair(t):
        cell, row, column = t[..., 2, 1], t[..., 2, :].sum(-1), t[..., 1].sum(-1)
        cells = [t.sum((-1, -2)) - row - column + cell, column - cell, row - cell, cell]
        return np.stack(cells, -1).reshape(*t.shape[:-2], 2, 2)

    def collapsed(t):
        # These measures use all categories, not one against the rest.
        return pair_measures(pair(t), N) | of_categories(t)

    measures = by_name(measures_of(estimator, ["a", "b"], {"a": "c2", "b": "c1"}))
    table = estimator.table(["a", "b"])
    assert_formulas(measures, collapsed, table, factors=lambda t: pair_factors(pair(t)))


def test_the_only_item_of_an_attribute_counts_as_presence(make_survey):
    shares = np.random.default_rng(4).dirichlet(np.full(9, 9.0)).reshape(3, 3)
    estimator = estimator_of(make_survey("randomized-response", (3, 3), {0: [0], 1: [0]}), shares)
    named = by_name(measures_of(estimator, ["a", "b"], {"a": "c0", "b": "c0"}))
    assert by_name(measures_of(estimator, ["a", "b"]))["phi"] == named["phi"]


def test_statistics_with_hardly_any_perturbation_are_those_of_the_plain_table():
    survey = survey_of(2, 3, keep="0.999999999999")
    shares = np.array([[0.2, 0.1, 0.15], [0.1, 0.25, 0.2]])
    # For the respondents themselves, without sampling error.
    estimator = estimator_of(survey, shares)
    measures = by_name(measures_of(aimed(estimator, "respondents"), ["a", "b"]))
    plain = chi2_contingency(shares * N, correction=False)
    g = chi2_contingency(shares * N, correction=False, lambda_="log-likelihood")
    assert measures["chi_squared"].value == pytest.approx(plain.statistic, rel=1e-6)
    assert measures["g_squared"].value == pytest.approx(g.statistic, rel=1e-6)


def test_a_table_too_large_for_its_covariance_is_refused():
    survey = definitions.survey_of(GammaDiagonal("19"), (80, 80))
    estimator = Estimator(survey, Counts.from_reports(survey, [[0, 0], [1, 1]]))
    with pytest.raises(DomainTooLarge, match="covariance of 6400 cells"):
        measures_of(estimator, ["a", "b"])


def test_associations_are_cramers_v_of_every_pair():
    shares = np.random.default_rng(5).dirichlet(np.full(12, 6.0)).reshape(2, 3, 2)
    estimator = estimator_of(survey_of(2, 3, 2), shares)
    found = rows_of(associations_of(estimator))
    assert len(found) == 3
    for pair, estimate in zip(combinations("abc", 2), found, strict=True):
        table = estimator.table(list(pair))
        assert estimate.quantity == "cramers_v"
        assert_cramers_v(estimate, of_categories, table, table.covariance())


@pytest.mark.parametrize("strength", [0.0, 0.2])
def test_cramers_v_without_noise_has_the_correction_of_bergsma(strength):
    """And the intervals hold V of the population at their level."""
    rng = np.random.default_rng(6)
    rows, columns = np.array([0.5, 0.3, 0.2]), np.array([0.25, 0.35, 0.2, 0.2])
    true = (1 - strength) * np.outer(rows, columns)
    true[:, :3] += strength * np.diag(rows)
    expected = np.outer(true.sum(1), true.sum(0))
    of_population = math.sqrt(((true - expected) ** 2 / expected).sum() / 2)
    survey = survey_of(3, 4, keep="0.999999999999")
    covered = 0
    for _ in range(60):
        sample = rng.multinomial(N, true.ravel()).reshape(true.shape)
        table = estimator_of(survey, sample / N).table(["a", "b"])
        batch = Batch.of_tables(table.value[..., None], table.covariance()[None], N)
        found = evaluate(find_measure("cramers_v"), batch)
        plain = chi2_contingency(sample, correction=False).statistic / N
        bergsma = max(0.0, plain - 2 * 3 / (N - 1)) / 2
        assert found.value[0] ** 2 == pytest.approx(bergsma, abs=4 / N)
        sets = found.interval(0.95)
        covered += bool(sets.lower[0] <= of_population <= sets.upper[0])
    assert covered >= 60 * 0.95 - 3 * math.sqrt(60 * 0.95 * 0.05)


def mean_error_of_directions(table, covariance):
    """Root mean square error of V along all directions of dependence, by dense linear algebra."""
    of_rows, of_columns = table.sum(axis=1), table.sum(axis=0)
    contrasts = []
    for shares in (of_rows, of_columns):
        basis, _ = np.linalg.qr(np.column_stack([np.sqrt(shares), np.eye(len(shares))[:, 1:]]))
        contrasts.append(basis[:, 1:] / np.sqrt(shares)[:, None])
    # Of these components of a table, V² is the sum of squares over its largest value.
    components = np.kron(*contrasts)
    squares = np.diag(components.T @ covariance @ components)
    return math.sqrt(squares.mean() / (min(table.shape) - 1))


@pytest.mark.parametrize("shape", [(2, 2), (2, 5), (4, 3), (6, 6)])
def test_the_grade_of_cramers_v_is_by_the_error_in_an_average_direction(shape):
    """It is that of φ where both have two answers, and no estimate changes it."""
    rng, errors = np.random.default_rng(9), []
    rows, columns = (rng.dirichlet(np.full(size, 20.0)) for size in shape)
    independent = np.outer(rows, columns)
    for strength in (0.0, 0.1, 0.4):
        true = independent.copy()
        change = strength * min(independent[0, 0], independent[-1, -1])
        true[[0, -1], [0, -1]] += change
        true[[0, -1], [-1, 0]] -= change
        table = estimator_of(survey_of(*shape), true).table(["a", "b"])
        batch = Batch.of_tables(table.value[..., None], table.covariance()[None], N)
        found = evaluate(CRAMERS_V, batch)
        [error] = found.even_error
        assert error == pytest.approx(
            mean_error_of_directions(table.value, table.covariance()), rel=1e-6
        )
        errors.append(error)
        half_width = norm.ppf(0.975) * error
        expected = ["usable", "barely usable", "not usable"][
            int(half_width > 0.05) + int(half_width > 0.1)
        ]
        columns_of_v = graded(CRAMERS_V, found, 0.95)
        assert columns_of_v.texts("reliability").equals(expected).all()
        if shape == (2, 2) and not strength:
            phi = evaluate(find_measure("phi"), batch)
            assert error == pytest.approx(phi.standard_error[0], rel=1e-6)
    # Only the covariance of the reports changes with the true table, and little.
    assert max(errors) == pytest.approx(min(errors), rel=0.03)


def test_associations_of_too_many_attributes_are_refused(make_survey):
    survey = make_survey("randomized-response", (2,) * 33)
    estimator = Estimator(survey, Counts.from_cells(survey, [[0] * 33, [1] * 33], [5, 5]))
    with pytest.raises(DomainTooLarge, match="33 of them; expected at most 32"):
        associations_of(estimator)


@pytest.mark.parametrize("shape", [(2, 2), (2, 2, 2), (3, 4)])
def test_measures_of_any_table_lie_within_their_limits(shape):
    """Tables with small or nearly degenerate shares come close to the limits."""
    witness("Guo", "Section 3.3.2")
    rng = np.random.default_rng(8)
    near = dict.fromkeys(
        (measure.name for measure in (*MEASURES, *ORDERED)), np.array([np.inf, -np.inf])
    )
    for spread in (0.02, 0.1, 0.5, 2.0) * 150:
        table = rng.dirichlet(np.full(shape, spread).ravel()).reshape(shape)
        cells = Cells(table, len(shape))
        for measure in (*MEASURES, *ORDERED) if len(shape) == 2 else MEASURES:
            if len(shape) > 2 and measure.scope != "itemset" and measure.name not in OF_MANY:
                continue
            if shape == (3, 4) and measure.scope not in ("categories", "ordered"):
                continue
            with np.errstate(all="ignore"):
                value = float(np.ravel(measure.of(cells, N))[0])
            quantity = measure.quantity(cells, N)
            if np.isfinite(value):
                assert quantity.lower - 1e-4 <= value <= quantity.upper + 1e-4, measure.name
                near[measure.name] = np.array([min(near[measure.name][0], value),
                                               max(near[measure.name][1], value)])  # fmt: skip
    if shape == (2, 2):
        assert near["phi"] == pytest.approx([-1, 1], abs=0.05)
        assert near["certainty"][0] < -2
        assert near["piatetsky_shapiro"] == pytest.approx([-0.25, 0.25], abs=0.05)
