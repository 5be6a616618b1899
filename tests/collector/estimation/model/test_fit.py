"""Fitted loglinear models, against closed forms, proportional fitting and dense matrices."""

import tracemalloc
from itertools import combinations

import numpy as np
import pytest
from halftruth_collector.estimation import Counts, Estimator
from halftruth_collector.estimation.intervals import table_intervals
from halftruth_collector.estimation.model import cached_model, fit_model, shares
from halftruth_collector.estimation.report_model import with_reported
from halftruth_shared import (
    Attribute,
    DomainTooLarge,
    EstimateError,
    GammaDiagonal,
    RandomizedResponse,
    Schema,
    SchemaError,
    SplitQuestionnaire,
    Survey,
)
from sources import counts_of
from weights_of_views import DESIGNS
from weights_of_views import survey_of as split_survey
from witnesses import witness

from ..definitions import KINDS, schema_of
from .dense import DenseModel, blocks_of, columns_of, components

#: Counts of three answers; all combinations occur.
TABLE = np.random.default_rng(11).integers(20, 200, (3, 2, 4))


UNPENALIZED = (np.inf, np.inf)


def covariance_of_table(model, terms):
    """Covariance of all cells by the delta method, with a dense design matrix."""
    flat, columns = model.table.ravel(), columns_of(model.design.shape, terms)
    slopes = flat[:, None] * (columns - flat @ columns) @ model.design.corner
    return slopes @ model.covariance @ slopes.T


def counted(survey, table):
    cells = np.stack(np.indices(table.shape), axis=-1).reshape(-1, table.ndim)
    return Counts.from_cells(survey, cells, table.ravel())


def simulated(survey, reports, seed=0):
    """Reports of people whose answers are dependent."""
    rng, shape = np.random.default_rng(seed), survey.schema.shape
    common = rng.random(reports)
    records = [
        np.minimum((size * (0.6 * common + 0.4 * rng.random(reports))).astype(int), size - 1)
        for size in shape
    ]
    return counts_of(survey, np.stack(records, axis=1), rng)


def test_a_saturated_model_of_unperturbed_answers_is_their_table(public_survey):
    survey = public_survey(TABLE.shape)
    model = fit_model(survey, counted(survey, TABLE), [["a", "b", "c"]], variances=UNPENALIZED)
    shares = TABLE / TABLE.sum()
    np.testing.assert_allclose(model.table, shares, rtol=1e-5)
    assert model.converged
    flat = shares.ravel()
    sampling = (np.diag(flat) - np.outer(flat, flat)) / TABLE.sum()
    found = covariance_of_table(model, [(0, 1, 2)])
    np.testing.assert_allclose(found, sampling, rtol=1e-4, atol=1e-11)


@pytest.mark.parametrize("terms", [["ab", "bc", "ac"], ["ab", "c"], ["ac", "bc"], ["a"]])
def test_fits_of_unperturbed_answers_are_those_of_proportional_fitting(public_survey, terms):
    survey = public_survey(TABLE.shape)
    found = fit_model(
        survey, counted(survey, TABLE), [list(term) for term in terms], variances=UNPENALIZED
    )
    axes = [tuple("abc".index(name) for name in term) for term in [*terms, "a", "b", "c"]]
    fitted = np.full(TABLE.shape, 1 / TABLE.size)
    for _ in range(500):
        for term in axes:
            others = tuple(axis for axis in range(3) if axis not in term)
            wanted = TABLE.sum(axis=others, keepdims=True) / TABLE.sum()
            fitted = fitted * wanted / fitted.sum(axis=others, keepdims=True)
    np.testing.assert_allclose(found.table, fitted, rtol=1e-6)
    columns = columns_of(TABLE.shape, [tuple("abc".index(n) for n in term) for term in terms])
    centred = columns - fitted.ravel() @ columns
    information = TABLE.sum() * centred.T @ (fitted.reshape(-1, 1) * centred)
    corner = found.design.corner @ found.covariance @ found.design.corner.T
    np.testing.assert_allclose(corner, np.linalg.inv(information), rtol=1e-4, atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_a_saturated_model_of_perturbed_answers_is_the_moment_estimate(make_survey, kind):
    """For a moment estimate between 0 and 1, with its covariance (Guo Result 1)."""
    witness("Guo", "Section 2.2 (maximum likelihood)")
    survey = make_survey(kind, (2, 3))
    matrix = blocks_of(survey, counted(survey, np.ones((2, 3), dtype=int)))[0][0]
    truth = np.array([0.3, 0.1, 0.15, 0.1, 0.2, 0.15])
    counts = counted(survey, np.rint(1e6 * matrix @ truth).astype(int).reshape(2, 3))
    model = fit_model(survey, counts, [["a", "b"]], variances=UNPENALIZED)
    moment = Estimator(survey, counts).table(["a", "b"])
    np.testing.assert_allclose(model.table, moment.value, rtol=1e-7)
    found = covariance_of_table(model, [(0, 1)])
    np.testing.assert_allclose(found, moment.covariance(), rtol=1e-4, atol=1e-14)


def test_the_covariance_of_two_perturbed_answers_is_the_published_one():
    """COIL data, items G and H, as printed by Guo 2010 from unrounded shares."""
    schema = schema_of((2, 2))
    survey = Survey("coil", "COIL", schema, RandomizedResponse(dict.fromkeys("ab", "0.9")))
    reports = np.rint(5822 * np.array([[0.368, 0.097], [0.218, 0.316]])).astype(int)
    model = fit_model(survey, counted(survey, reports), variances=UNPENALIZED)
    np.testing.assert_allclose(model.table.ravel(), [0.427, 0.031, 0.181, 0.362], atol=1.5e-3)
    printed = [
        [7.113, -1.668, -3.134, -2.311],
        [-1.668, 2.902, 0.244, -1.478],
        [-3.134, 0.244, 5.667, -2.777],
        [-2.311, -1.478, -2.777, 6.566],
    ]
    found = covariance_of_table(model, [(0, 1)])
    np.testing.assert_allclose(1e5 * found, printed, rtol=0.02)


@pytest.mark.parametrize("name", [*KINDS, "direct", "public", "pairs", "mixed"])
def test_a_fit_maximizes_the_penalized_likelihood(make_survey, name):
    """The penalty is the mean square of each component of the logarithm of the table."""
    survey = split_survey(DESIGNS[name]) if name in DESIGNS else make_survey(name, (3, 2, 4))
    counts, shape = simulated(survey, 2_000), survey.schema.shape
    model = fit_model(survey, counts, variances=(50, 2))
    assert model.converged
    assert model.reports == 2_000
    dense = DenseModel(shape, list(combinations(range(len(shape)), 2)), blocks_of(survey, counts))

    def level(theta):
        penalty = sum(
            square / (100 if len(axes) == 1 else 4)
            for axes, square in components((dense.columns @ theta).reshape(shape)).items()
        )
        return dense.level(theta) - penalty

    theta = model.design.corner @ model.coefficients
    np.testing.assert_allclose(model.table.ravel(), dense.table(theta), rtol=1e-9)
    assert model.log_likelihood == pytest.approx(dense.level(theta), rel=1e-10)
    best = level(theta)
    for way in np.random.default_rng(1).normal(size=(5, len(theta))):
        assert (level(theta + 1e-4 * way) - level(theta - 1e-4 * way)) / 2e-4 == pytest.approx(
            0, abs=2e-3
        )
        assert level(theta + 0.05 * way) < best
        curvature = (2 * best - level(theta + 1e-2 * way) - level(theta - 1e-2 * way)) / 1e-4
        contrast = model.design.contrast @ way
        assert contrast @ np.linalg.solve(model.covariance, contrast) == pytest.approx(
            curvature, rel=0.02
        )


def test_the_fit_does_not_depend_on_order_and_reference_of_categories(make_survey):
    survey = make_survey("randomized-response", (3, 2, 4))
    counts = simulated(survey, 500)
    turned = Counts.from_cells(
        survey, np.array(survey.schema.shape) - 1 - counts.cells, counts.counts
    )
    table = fit_model(survey, counts).table
    np.testing.assert_allclose(fit_model(survey, turned).table, table[::-1, ::-1, ::-1], rtol=1e-6)


def test_impossible_records_have_no_share():
    smoker = Attribute("smoker", ["no", "yes"])
    pipe = Attribute("pipe", ["no", "yes"], ask_if={"smoker": ["yes"]})
    age = Attribute("age", ["young", "old"])
    schema = Schema([smoker, pipe, age])
    survey = Survey("s", "S", schema, RandomizedResponse(dict.fromkeys(schema.names, "0.8")))
    rng = np.random.default_rng(0)
    records = [
        (s, p if s else 2, a)
        for s, p, a in zip(*(rng.integers(0, 2, 4_000) for _ in range(3)), strict=True)
    ]
    reports = survey.perturbation.reports(np.array(records), rng)
    model = fit_model(survey, Counts.from_reports(survey, reports))
    assert model.converged
    assert not model.table[0, :2].any()
    assert not model.table[1, 2].any()
    np.testing.assert_allclose(
        model.table.sum(axis=2)[[0, 1, 1], [2, 0, 1]], [0.5, 0.25, 0.25], atol=0.05
    )
    alone = fit_model(survey, Counts.from_reports(survey, reports), attributes=["pipe", "age"])
    assert (alone.table > 0).all()


def test_a_model_of_some_attributes_is_fitted_to_the_reports_about_them(make_survey):
    for survey in (make_survey("gamma-diagonal", (3, 2, 4)), split_survey(DESIGNS["direct"])):
        counts = simulated(survey, 3_000)
        model = fit_model(survey, counts, attributes=["c", "a"])
        assert model.schema.names == ("a", "c")
        table = model.table.ravel()
        columns = columns_of(model.schema.shape, [(0, 1)])
        score = 0.0
        for channel, numbers in blocks_of(survey, counts):
            # Marginalized over the other question, in true answers and in reports.
            marginal, reports = _merged(channel, numbers, survey.schema.shape)
            slopes = marginal @ (table[:, None] * (columns - table @ columns))
            score = score + slopes.T @ (reports / (marginal @ table))
        prior = model.design.contrast.T @ (model.penalty * model.coefficients)
        np.testing.assert_allclose(score, prior, atol=1e-2)


def _merged(channel, numbers, shape):
    """Merge the reports that have the same likelihood for all a and c."""
    by_other = channel.reshape(-1, *shape)
    a, _, c = shape
    if len(numbers) == np.prod(shape):
        merged = by_other.mean(axis=2).reshape(*shape, a * c).sum(axis=1)
        return merged.reshape(a * c, a * c), numbers.reshape(shape).sum(axis=1).ravel()
    rows = by_other.mean(axis=2).reshape(len(by_other), -1)
    kinds, kind = np.unique(rows.round(12), axis=0, return_inverse=True)
    kind = kind.ravel()
    merged = np.zeros((len(kinds), a * c))
    np.add.at(merged, kind, rows)
    return merged, np.bincount(kind, numbers, len(kinds))


def test_attributes_that_are_never_reported_together_are_independent_given_the_others():
    design = ((2, 3, 2, 2), "", (("ab", None, 1), ("cd", None, 1)), 3, 40, "3")
    survey = split_survey(design)
    counts = simulated(survey, 500)
    with pytest.raises(EstimateError, match=r"^terms: no report is about 'a' and 'c' together; "):
        fit_model(survey, counts, [*combinations("abcd", 2)])
    model = fit_model(survey, counts)
    assert model.terms == [("a",), ("b",), ("c",), ("d",), ("a", "b"), ("c", "d")]
    assert model.converged
    products = np.multiply.outer(model.table.sum(axis=(2, 3)), model.table.sum(axis=(0, 1)))
    np.testing.assert_allclose(model.table, products, atol=1e-12)


@pytest.mark.nightly
def test_fitting_does_not_allocate_a_matrix_of_cells_by_parameters():
    """Such a matrix would have 65 536 × 276 numbers, 145 megabytes."""
    schema = Schema([Attribute(f"q{j}", ["a", "b", "c", "d"]) for j in range(8)])
    mechanism = SplitQuestionnaire.designed(schema, 19, (), {1: 1.0, 2: 1.0})
    survey = Survey("s", "S", schema, mechanism)
    counts = simulated(survey, 3_000)
    tracemalloc.start()
    model = fit_model(survey, counts)
    lower, upper = table_intervals(shares(model, schema.names[:5]))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert model.converged
    assert model.design.parameters == 276
    assert model.table.size == 65_536
    assert ((lower >= 0) & (lower < upper) & (upper < 1)).all()
    assert peak < 60e6


def test_invalid_models_are_refused():
    names = [f"q{j}" for j in range(19)]
    schema = Schema([Attribute(name, ["no", "yes"]) for name in names])
    survey = Survey("s", "S", schema, GammaDiagonal(19))
    counts = Counts.from_cells(survey, [[0] * 19, [1] * 19], [500, 500])
    message = r"^attributes: a model of 524288 cells; expected at most 262144, so fewer attributes$"
    with pytest.raises(DomainTooLarge, match=message):
        fit_model(survey, counts)
    assert fit_model(survey, counts, attributes=names[:3]).table.shape == (2, 2, 2)
    with pytest.raises(SchemaError, match=r"'x'"):
        fit_model(survey, counts, [["q0", "x"]], attributes=names[:3])


def test_equal_counts_share_a_cached_model(make_survey):
    survey = make_survey("gamma-diagonal", (2, 3, 2))
    counts = simulated(survey, 400)
    again = Counts.from_cells(survey, counts.cells, counts.counts)
    model = cached_model(survey, counts, [["a", "b", "c"]])
    assert cached_model(survey, again, [["a", "b", "c"]]) is model
    assert ("a", "b", "c") in model.terms
    assert cached_model(survey, again) is not model
    more = Counts.from_cells(survey, counts.cells, counts.counts + 1)
    assert cached_model(survey, more, [["a", "b", "c"]]) is not model


def test_a_model_includes_the_further_attributes_that_reports_by_a_geometry_are_about():
    classes = (("abc", None, 3), ("cd", None, 1), ("d", None, 1))
    survey = split_survey(((2, 3, 2, 2), "", classes, 3, 4, "3"))
    counts = simulated(survey, 500)
    assert with_reported(survey.perturbation, ["b", "a"]) == ["a", "b", "c"]
    # The view of c and d has few cells, so that each cell has a symbol.
    assert with_reported(survey.perturbation, ["d", "c"]) == ["c", "d"]
    with pytest.raises(EstimateError, match=r"^attributes: the reports about 'a' are about c as"):
        fit_model(survey, counts, attributes=["a", "b"])
    model = fit_model(survey, counts, attributes=["a", "b", "c"])
    assert shares(model, ["a", "b"]).value.sum() == pytest.approx(1)
