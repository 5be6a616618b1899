"""Loglinear models of randomized tables: published values, closed forms, an own Poisson fit."""

from functools import reduce
from itertools import combinations, product

import numpy as np
import pytest
from halftruth_studies.loglinear import fit_loglinear, highest_order, is_preserved, parameters
from scipy.stats import chi2, chi2_contingency
from scipy.stats.contingency import expected_freq

from ..collector.estimation.conftest import reference_data

__all__ = ["reference_data"]

COIL_REPORTS = 5822
#: Column and bound of the insurance attributes A, D, G; presence is a value above the bound.
COIL = {"A": (17, 4), "D": (42, 3), "G": (58, 0)}
#: No interaction of all three: the smallest model without a closed form.
PAIRS = ((0, 1), (1, 2), (0, 2))
#: A table for which the maximum of that model is at its edge: two cells are empty, no margin is.
AT_THE_EDGE = np.array([[[0.0, 20], [30, 40]], [[50, 60], [70, 0]]])


def named(model):
    """The terms of a text like 'AB,BG'."""
    return [list(term) for term in model.split(",")]


def axes_of(model):
    """The same as axes, numbered in the order of the alphabet."""
    letters = sorted(set(model) - {","})
    return [tuple(letters.index(letter) for letter in term) for term in named(model)]


def design(terms, shape):
    """Dummy-coded columns of every interaction in every term, one row for each cell."""
    subsets = {s for term in terms for k in range(len(term) + 1) for s in combinations(term, k)}
    cells = np.array(list(product(*map(range, shape))))
    columns = [
        np.prod([cells[:, axis] == code for axis, code in zip(s, codes, strict=True)], axis=0)
        for s in subsets
        for codes in product(*(range(1, shape[axis]) for axis in s))
    ]
    return np.stack(np.broadcast_arrays(*columns), axis=1).astype(float)


def poisson_fit(counts, terms):
    """Newton's method for a Poisson model with a logarithmic link."""
    matrix, seen = design(terms, counts.shape), counts.ravel()
    mean = seen + 0.5
    for _ in range(50):
        working = np.log(mean) + (seen - mean) / mean
        weighted = matrix * mean[:, None]
        slopes = np.linalg.lstsq(weighted.T @ matrix, weighted.T @ working, rcond=None)[0]
        mean = np.exp(matrix @ slopes)
    return mean.reshape(counts.shape)


def random_counts(seed, shape, mean=20):
    """Counts of every size, none of them 0."""
    rng = np.random.default_rng(seed)
    return 1.0 + rng.poisson(mean * rng.gamma(2, 0.5, size=shape))


def randomized(counts, keep):
    """Expected counts when each binary answer is kept with its own probability."""
    matrices = [np.array([[p, 1 - p], [1 - p, p]]) for p in keep]
    return (reduce(np.kron, matrices) @ counts.ravel()).reshape(counts.shape)


@pytest.fixture(scope="module")
def coil_counts(reference_data):
    columns, bounds = zip(*COIL.values(), strict=True)
    values = np.loadtxt(reference_data / "ticdata2000.txt", dtype=int, usecols=columns)
    table = np.zeros((2, 2, 2))
    np.add.at(table, tuple((values > bounds).astype(int).T), 1)
    assert table.sum() == COIL_REPORTS
    return table


# Published values


@pytest.mark.parametrize(
    ("keep", "independence", "one_alone", "p_value"),
    [
        ((1, 1, 1), 435.70, 1.60, 0.66),
        ((0.9, 0.9, 0.9), 177.16, 0.61, None),
        ((0.7, 0.7, 0.7), 10.97, 0.04, None),
        ((0.7, 0.8, 0.9), 24.82, 0.15, None),
    ],
)
def test_the_randomized_insurance_table_has_the_published_statistics(
    coil_counts, keep, independence, one_alone, p_value
):
    expected = randomized(coil_counts, keep)
    together, pair = (fit_loglinear(expected, axes_of(model)) for model in ("A,D,G", "AD,G"))
    assert (round(together.chi_squared, 2), together.degrees_of_freedom) == (independence, 4)
    assert (round(pair.chi_squared, 2), pair.degrees_of_freedom) == (one_alone, 3)
    if p_value is not None:
        assert round(pair.p_value(pair.chi_squared), 2) == p_value


# Fits


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("shape", [(2, 2, 2), (3, 4, 2)])
def test_decomposable_models_have_their_closed_form(seed, shape):
    n = random_counts(seed, shape)
    total = n.sum()
    a, b, g = (n.sum(axis=axes, keepdims=True) for axes in ((1, 2), (0, 2), (0, 1)))
    ab, bg = n.sum(axis=2, keepdims=True), n.sum(axis=0, keepdims=True)
    closed = {"A,B,G": a * b * g / total**2, "AB,G": ab * g / total, "AB,BG": ab * bg / b, "ABG": n}
    for model, expected in closed.items():
        fit = fit_loglinear(n, axes_of(model))
        np.testing.assert_allclose(fit.fitted, expected, rtol=1e-9, err_msg=model)
        assert fit.chi_squared == pytest.approx(((n - expected) ** 2 / expected).sum(), abs=1e-9)
        assert fit.g_squared == pytest.approx(2 * (n * np.log(n / expected)).sum(), abs=1e-8)


@pytest.mark.parametrize(
    ("terms", "shape"),
    [
        (PAIRS, (2, 2, 2)),
        (PAIRS, (3, 2, 4)),
        (((0, 1), (1, 2), (2, 3), (3, 0)), (2, 3, 2, 2)),
        (((0, 1, 2), (0, 3), (1, 3)), (2, 2, 3, 2)),
    ],
)
def test_models_without_a_closed_form_are_those_of_a_poisson_regression(terms, shape):
    for seed in range(5):
        n = random_counts(seed, shape)
        fit, expected = fit_loglinear(n, terms), poisson_fit(n, terms)
        np.testing.assert_allclose(fit.fitted, expected, rtol=1e-8)
        assert fit.chi_squared == pytest.approx(((n - expected) ** 2 / expected).sum(), rel=1e-7)


def test_terms_inside_others_and_terms_named_twice_change_nothing():
    n = random_counts(1, (2, 3, 2))
    plain = fit_loglinear(n, [{0, 1}, {2}])
    wordy = fit_loglinear(n, [{0}, {1, 0}, {2}, {1}, {0, 1}, {2}])
    assert set(highest_order([{0}, {1, 0}, {2}, {1}, {0, 1}, {2}])) == {
        frozenset({0, 1}),
        frozenset({2}),
    }
    assert wordy.degrees_of_freedom == plain.degrees_of_freedom
    assert wordy.chi_squared == pytest.approx(plain.chi_squared)


@pytest.mark.parametrize(
    ("terms", "shape"),
    [
        (((0,), (1,)), (3, 5)),
        (((0, 1),), (3, 5)),
        (((0,), (1,), (2,)), (2, 3, 4)),
        (((0, 1), (2,)), (2, 3, 4)),
        (((0, 1), (1, 2)), (3, 3, 2)),
        (PAIRS, (2, 3, 4)),
        (((0, 1, 2), (2, 3), (0, 3)), (2, 3, 2, 3)),
        (((0, 1, 2, 3),), (2, 3, 2, 3)),
    ],
)
def test_degrees_of_freedom_are_cells_less_the_rank_of_the_design(terms, shape):
    rank = int(np.linalg.matrix_rank(design(terms, shape)))
    assert parameters(highest_order(terms), shape) == rank
    fit = fit_loglinear(random_counts(0, shape), terms)
    assert fit.degrees_of_freedom == np.prod(shape) - rank


@pytest.mark.parametrize("shape", [(2, 2), (3, 4), (2, 3, 2)])
def test_independence_is_the_contingency_test(shape):
    n = random_counts(3, shape)
    fit = fit_loglinear(n, [{axis} for axis in range(len(shape))])
    pearson = chi2_contingency(n, correction=False)
    ratio = chi2_contingency(n, correction=False, lambda_="log-likelihood")
    np.testing.assert_allclose(fit.fitted, expected_freq(n))
    assert fit.degrees_of_freedom == pearson.dof
    for statistic, expected in ((fit.chi_squared, pearson), (fit.g_squared, ratio)):
        assert statistic == pytest.approx(expected.statistic)
        assert fit.p_value(statistic) == pytest.approx(expected.pvalue)
        assert fit.p_value(statistic) == pytest.approx(chi2.sf(statistic, expected.dof))


# Empty cells and margins


def test_a_saturated_model_fits_everything_and_has_no_p_value():
    n = random_counts(4, (2, 3, 2))
    n[0, 1, 1] = n[1, 2, 0] = 0
    fit = fit_loglinear(n, [{0, 1, 2}])
    np.testing.assert_allclose(fit.fitted, n)
    assert (fit.chi_squared, fit.g_squared) == pytest.approx((0, 0), abs=1e-12)
    assert fit.degrees_of_freedom == 0
    assert fit.p_value(fit.chi_squared) is None


def test_a_category_that_nobody_reports_is_fitted_as_empty():
    n = random_counts(5, (3, 3))
    n[1] = 0
    fit = fit_loglinear(n, [{0}, {1}])
    others = chi2_contingency(n[[0, 2]], correction=False)
    assert (fit.fitted[1] == 0).all()
    assert fit.chi_squared == pytest.approx(others.statistic)
    # Its freedom is still counted, so that the test errs towards not rejecting.
    assert fit.degrees_of_freedom == 4
    assert fit.p_value(fit.chi_squared) > others.pvalue


def test_empty_cells_count_in_pearsons_statistic_but_not_in_the_likelihood_ratio():
    n = np.array([[0.0, 30], [20, 50]])
    expected = expected_freq(n)
    there = n > 0
    fit = fit_loglinear(n, [{0}, {1}])
    assert fit.chi_squared == pytest.approx(((n - expected) ** 2 / expected).sum())
    ratios = n[there] * np.log(n[there] / expected[there])
    assert fit.g_squared == pytest.approx(2 * ratios.sum())


def test_a_model_whose_maximum_is_at_the_edge_is_fitted_as_far_as_statistics_can_tell():
    # Haberman's example: both empty cells tend to 0 in the fit, ever more slowly.
    fit = fit_loglinear(AT_THE_EDGE, PAIRS)
    np.testing.assert_allclose(fit.fitted, AT_THE_EDGE, atol=0.05)
    assert (fit.chi_squared, fit.g_squared) == pytest.approx((0, 0), abs=0.05)
    assert fit.p_value(fit.g_squared) > 0.8


# What holds of the answers


def shares_of(rng, terms, shape):
    """A table for which the model holds exactly."""
    matrix = design(terms, shape)
    weights = np.exp(matrix @ rng.normal(size=matrix.shape[1]))
    return (weights / weights.sum()).reshape(shape)


def hierarchical_models(attributes):
    """Every model that has all the attributes, by its highest-order terms."""
    larger = [s for size in range(2, attributes + 1) for s in combinations(range(attributes), size)]
    for chosen in product((False, True), repeat=len(larger)):
        model = [s for s, use in zip(larger, chosen, strict=True) if use]
        if not any(set(a) < set(b) for a in model for b in model):
            alone = set(range(attributes)).difference(*model)
            yield model + [(j,) for j in sorted(alone)]


def test_a_model_is_called_preserved_exactly_when_randomized_reports_keep_it():
    models = list(hierarchical_models(3))
    assert len(models) == 9
    rng = np.random.default_rng(14)
    two, three = [[9, 3], [1, 7]], [[7, 2, 1], [1, 6, 2], [2, 2, 7]]
    uneven = [np.array(matrix) / 10 for matrix in (two, three, two)]
    for distorted in product((False, True), repeat=3):
        matrices = [m if d else np.eye(len(m)) for m, d in zip(uneven, distorted, strict=True)]
        for model in models:
            true = shares_of(rng, model, (2, 3, 2))
            assert fit_loglinear(1e6 * true, model).chi_squared < 1e-6
            seen = (reduce(np.kron, matrices) @ true.ravel()).reshape(true.shape)
            misfit = fit_loglinear(1e6 * seen, model).chi_squared
            preserved = is_preserved(model, [j for j in range(3) if distorted[j]])
            assert preserved == (misfit < 1e-6), (model, distorted, misfit)
