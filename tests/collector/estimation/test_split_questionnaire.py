"""Estimates from reports about views, against matrices built from their definition."""

import math
from itertools import combinations

import numpy as np
import pytest
from halftruth_collector.estimation import Estimator, report_model
from halftruth_collector.estimation.pooled import decoding
from halftruth_collector.estimation.reconstruction import reconstruction
from halftruth_collector.estimation.report_model import likelihood, report_probabilities
from halftruth_shared import EstimateError, ParameterError
from sources import aim, counts_of, estimator_of
from weights_of_views import (
    DESIGNS,
    DIRECT,
    PAIRS,
    Definition,
    expected_counts,
    margin,
    names_of,
    population,
    some_reports,
    survey_of,
    tables,
)

from .definitions import TARGETS


@pytest.fixture(scope="module", params=DESIGNS)
def case(request):
    """A survey, its definition, the answers, and exactly the expected counts."""
    survey = survey_of(DESIGNS[request.param])
    definition = Definition(survey)
    whole = population(survey.schema.shape)
    return survey, definition, whole / 997, expected_counts(survey, definition, whole)


def by_view(definition, counts):
    return [
        counts.counts[(counts.cells[:, -1] >= part.start) & (counts.cells[:, -1] < part.stop)].sum()
        for part in definition.columns
    ]


def test_tables_of_expected_counts_equal_the_truth(case):
    survey, _, truth, counts = case
    estimator = Estimator(survey, counts)
    found = list(tables(survey))
    assert len(found) > 5
    for positions in found:
        table = estimator.table(names_of(survey, positions))
        np.testing.assert_allclose(table.value, margin(truth, positions), atol=1e-12)


def test_estimates_are_weighted_sums_of_the_reports(case):
    survey, definition, _, _ = case
    rng = np.random.default_rng(3)
    records = np.stack([rng.integers(0, size, 400) for size in survey.schema.shape], axis=1)
    counts = counts_of(survey, records, rng)
    estimator, numbers = Estimator(survey, counts), by_view(definition, counts)
    of_each = np.repeat(1 / np.maximum(numbers, 1), [v.channel.symbols for v in definition.views])
    observed = np.zeros(definition.channel.shape[:2])
    sizes = [survey.schema.shape[j] for j in definition.public]
    rows = np.ravel_multi_index(tuple(counts.cells[:, :-1].T), sizes) if sizes else 0
    observed[rows, counts.cells[:, -1]] = counts.counts
    for positions in tables(survey):
        weights = definition.weights(positions, numbers)
        expected = (weights * observed * of_each).sum(axis=(-2, -1))
        table = estimator.table(names_of(survey, positions))
        np.testing.assert_allclose(table.value, expected, atol=1e-10)
        assert table.value.sum() == pytest.approx(1)


def test_variances_are_those_of_the_weights(case):
    """Exact for k-ary responses; approximate for geometries, where three cells can be collinear.

    With so many reports that the bias of a product of two estimates is negligible.
    """
    survey, definition, truth, counts = case
    estimator, numbers = Estimator(survey, counts), by_view(definition, counts)
    expected = definition.channel @ truth.ravel()
    exact = all(not view.channel.prime for view in definition.views)
    ratios = []
    for positions in tables(survey):
        table = estimator.table(names_of(survey, positions))
        covariance = definition.covariance(positions, numbers, expected)
        support = margin(truth, positions).ravel()
        sampling = (np.diag(support) - np.outer(support, support)) / counts.reports
        for target, oracle in zip(TARGETS, (covariance, covariance - sampling), strict=True):
            found = aim(table, target).covariance()
            scale = np.sqrt(np.outer(np.diag(covariance), np.diag(covariance)))
            errors = np.abs(found - oracle)[scale > 0] / scale[scale > 0]
            # Few pairs of cells lie on a line with a frequent third one.
            assert errors.max() <= (1e-4 if exact else 0.25)
            assert np.sqrt((errors**2).mean()) <= (1e-4 if exact else 0.05)
            variance = aim(table, target).variance()
            kept = ~np.isnan(variance)
            np.testing.assert_allclose(
                variance[kept], np.diag(found).reshape(variance.shape)[kept], atol=1e-15
            )
        kept = np.diag(covariance) > 1e-12 / counts.reports
        assert np.isnan(table.variance().ravel()[~kept]).all()
        ratios.append(table.variance().ravel()[kept] / np.diag(covariance)[kept])
    ratios = np.concatenate(ratios)
    if exact:
        np.testing.assert_allclose(ratios, 1, rtol=1e-4)
    assert np.median(ratios) == pytest.approx(1, abs=0.005)
    assert np.quantile(np.abs(ratios - 1), 0.9) < 0.05


@pytest.fixture(scope="module", params=DESIGNS)
def few(request):
    """The estimator of 700 reports."""
    survey = survey_of(DESIGNS[request.param])
    rng = np.random.default_rng(5)
    records = np.stack([rng.integers(0, size, 700) for size in survey.schema.shape], axis=1)
    return estimator_of(survey, records, rng)


@pytest.mark.parametrize("target", TARGETS)
def test_margins_of_a_table_equal_the_smaller_tables(few, target):
    survey, counts = few.survey, few.counts
    unbiased = reconstruction(survey)
    positions = max(tables(survey), key=len)
    names = names_of(survey, positions)
    whole = unbiased.table(counts, names)
    shape = tuple(survey.schema.shape[j] for j in positions)
    assert whole.margins.shape == tuple(size + 1 for size in shape)
    variance = aim(whole, target).margin_variance()
    for length in range(1, len(positions) + 1):
        for axes in combinations(range(len(positions)), length):
            place = tuple(slice(-1) if axis in axes else -1 for axis in range(len(positions)))
            table = few.table([names[axis] for axis in axes])
            np.testing.assert_allclose(whole.margins[place], table.value, atol=1e-12)
            np.testing.assert_allclose(variance[place], aim(table, target).variance(), atol=1e-12)


@pytest.mark.parametrize("target", TARGETS)
def test_covariances_of_margins_are_sums_of_those_of_the_table(few, target):
    survey = few.survey
    positions = max(tables(survey), key=len)
    names = names_of(survey, positions)
    unbiased = reconstruction(survey)
    whole = unbiased.table(few.counts, names)
    shape = np.array([survey.schema.shape[j] for j in positions])
    covariance = aim(few.table(names), target).covariance().reshape(*shape, *shape)
    rng = np.random.default_rng(7)
    cells = rng.integers(0, shape, (60, len(shape)))
    first, second = (np.where(rng.random(cells.shape) < 0.4, shape, cells) for _ in range(2))
    found = aim(whole, target).margin_covariance(first, second)
    for one, other, value in zip(first, second, found, strict=True):
        place = [
            slice(None) if p == d else p
            for p, d in zip((*one, *other), (*shape, *shape), strict=True)
        ]
        assert value == pytest.approx(covariance[tuple(place)].sum(), abs=1e-12)
    assert aim(whole, target).margin_covariance(first[:0], second[:0]).shape == (0,)


def test_tables_are_the_same_with_little_memory(few, monkeypatch):
    """Symbols are compared with single cells, and public cells decoded a few at a time."""
    survey = few.survey
    sets = [names_of(survey, positions) for positions in tables(survey)]
    expected = [few.table(names).value for names in sets]
    monkeypatch.setattr(decoding, "_MOST_NUMBERS", 30)
    again = Estimator(survey, few.counts)
    for names, support in zip(sets, expected, strict=True):
        np.testing.assert_allclose(again.table(names).value, support, atol=1e-12)


def test_probabilities_of_reports_are_those_of_the_definition(case):
    survey, definition, truth, _ = case
    expected = definition.channel @ truth.ravel()
    np.testing.assert_allclose(
        report_probabilities(survey.perturbation, truth), expected, rtol=1e-10
    )


@pytest.mark.parametrize("most", [0, math.inf])
def test_the_likelihood_of_few_reports_is_that_of_the_definition(case, monkeypatch, most):
    """For the symbols that occur, or for all symbols."""
    survey, definition, truth, _ = case
    rng = np.random.default_rng(6)
    records = np.stack([rng.integers(0, size, 30) for size in survey.schema.shape], axis=1)
    counts = counts_of(survey, records, rng)
    monkeypatch.setattr(report_model, "_FEW", most)
    model = likelihood(survey.perturbation, counts)
    symbols = np.unique(counts.cells[:, -1]) if most else np.arange(definition.channel.shape[1])
    channel = definition.channel[:, symbols]
    expected = channel @ truth.ravel()
    np.testing.assert_allclose(model.expected(truth), expected, rtol=1e-10)
    weights = rng.normal(size=expected.shape)
    adjoint = np.einsum("pys,py->s", channel, weights)
    np.testing.assert_allclose(model.adjoint(weights).ravel(), adjoint, atol=1e-12)
    observed = np.zeros(definition.channel.shape[:2])
    public = [survey.schema.shape[j] for j in definition.public]
    for cell, count in zip(counts.cells, counts.counts, strict=True):
        row = np.ravel_multi_index(tuple(cell[:-1]), public) if public else 0
        observed[row, cell[-1]] += count / 30
    np.testing.assert_allclose(model.observed(counts), observed[:, symbols], atol=1e-15)


def test_report_probabilities_of_some_attributes_take_the_others_as_uniform(case):
    survey, definition, truth, _ = case
    shape = survey.schema.shape
    for positions in tables(survey):
        table = margin(truth, positions)
        others = [j for j in range(len(shape)) if j not in positions]
        even = np.multiply.outer(table, np.full([shape[j] for j in others], 1.0))
        even /= math.prod(shape[j] for j in others)
        spread = even.transpose(np.argsort([*positions, *others]))
        expected = (definition.channel @ spread.ravel()).reshape(
            *(shape[j] for j in definition.public), -1
        )
        # Public answers outside the table are summed over.
        unknown = [axis for axis, j in enumerate(definition.public) if j not in positions]
        expected = expected.sum(axis=tuple(unknown)).reshape(-1, expected.shape[-1])
        found = report_probabilities(survey.perturbation, table, names_of(survey, positions))
        np.testing.assert_allclose(found, expected, rtol=1e-10)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("design", ["direct", "public", "pairs"])
def test_forecast_variances_are_those_of_the_weights(design, target):
    survey = survey_of(DESIGNS[design])
    definition = Definition(survey)
    shape = survey.schema.shape
    unbiased = reconstruction(survey)
    shares = np.array([view.weight for view in definition.views], dtype=float)
    shares /= shares.sum()
    rng = np.random.default_rng(1)
    for positions in tables(survey):
        foretold = unbiased.unit_variance(names_of(survey, positions), target)
        sizes = [shape[j] for j in positions]
        assert foretold.constant.shape == tuple(sizes)
        cell = tuple(rng.integers(0, sizes))
        for share in (0.0, 0.1, 0.8, 1.0):
            table = np.full(sizes, (1 - share) / (math.prod(sizes) - 1))
            table[cell] = share
            rest = math.prod(shape) / math.prod(sizes)
            kept = [shape[j] if j in positions else 1 for j in range(len(shape))]
            ordered = table.transpose(np.argsort(positions)).reshape(kept)
            whole = np.broadcast_to(ordered / rest, shape)
            expected = definition.channel @ whole.ravel()
            covariance = definition.covariance(positions, shares, expected)
            number = np.ravel_multi_index(cell, sizes)
            variance = covariance[number, number]
            variance -= share * (1 - share) * (target == "respondents")
            assert foretold.at(share)[cell] == pytest.approx(variance, abs=1e-10)


def test_attributes_without_reports_yet_are_named():
    survey = survey_of(PAIRS)
    [first] = [v.first for v in survey.perturbation.views if v.positions == (0, 1)]
    estimator = Estimator(survey, some_reports(survey, [first, first]))
    assert estimator.table(["a", "b"]).value.sum() == pytest.approx(1)
    with pytest.raises(EstimateError, match=r"^attributes: no report is about 'c' yet; expected"):
        estimator.table(["c", "b"])
    [other] = [v.first for v in survey.perturbation.views if v.positions == (2, 3)]
    estimator = Estimator(survey, some_reports(survey, [first, other]))
    with pytest.raises(EstimateError, match=r"no report is about 'b' and 'c' together yet; exp"):
        estimator.table(["c", "b"])


def test_attributes_that_no_view_combines_are_named():
    estimator = Estimator(survey_of(PAIRS), some_reports(survey_of(PAIRS), range(8)))
    with pytest.raises(ParameterError, match=r"no report is about 'c', 'b' and 'a' together; exp"):
        estimator.table(["c", "b", "a"])
    assert reconstruction(survey_of(PAIRS)).identified_sets.any_of == 2


def test_public_attributes_add_to_the_order_of_tables():
    survey = survey_of(((2, 3, 2, 2), "d", (("abc", 2, 1),), 3, 40, "3"))
    rng = np.random.default_rng(0)
    records = np.stack([rng.integers(0, size, 500) for size in survey.schema.shape], axis=1)
    estimator = estimator_of(survey, records, rng)
    family = reconstruction(survey).identified_sets
    assert (family.any_of, family.longest) == (2, 3)
    table = estimator.table(["a", "d", "b"])
    shares = np.bincount(records[:, 3]) / 500
    np.testing.assert_allclose(table.value.sum(axis=(0, 2)), shares)
    known = estimator.table(["d"])
    np.testing.assert_allclose(known.variance(), shares * (1 - shares) / 499)
    np.testing.assert_allclose(known.alone.variance(), 0, atol=1e-18)
    with pytest.raises(ParameterError, match=r"'a', 'b' and 'c' together; expected"):
        estimator.table(["a", "d", "b", "c"])


def test_one_report_gives_no_variance():
    table = Estimator(survey_of(DIRECT), some_reports(survey_of(DIRECT), [20])).table(["a", "b"])
    assert np.isnan(table.variance()).all()
    assert np.isnan(table.covariance()).all()
