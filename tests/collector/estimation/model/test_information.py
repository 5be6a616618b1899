"""Score and information of reports, against dense matrices and fractions."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from halftruth_collector.estimation import Counts
from halftruth_collector.estimation.model import information
from halftruth_collector.estimation.model.design import Design
from halftruth_collector.estimation.model.information import Fitted, derivatives, log_likelihood
from halftruth_collector.estimation.report_model import PairsOperator, report_parts
from sources import counts_of
from weights_of_views import DESIGNS
from weights_of_views import survey_of as split_survey

from ..definitions import KINDS
from .dense import DenseModel, blocks_of


@pytest.fixture(scope="module", params=[*KINDS, *DESIGNS, "public-response"])
def case(request, make_survey, make_schema):
    """Parts of the reports, a model at some parameters, its dense reference, and parameters."""
    if request.param in DESIGNS:
        survey = split_survey(DESIGNS[request.param])
    else:
        survey = make_survey(request.param.replace("public", "randomized"), (3, 2, 4))
    shape, rng = survey.schema.shape, np.random.default_rng(3)
    records = np.stack([rng.integers(0, size, 300) for size in shape], axis=1)
    counts = counts_of(survey, records, rng)
    terms = list(combinations(range(len(shape)), 2))
    design = Design(shape, terms)
    theta = rng.normal(size=design.parameters) / 2
    parts = report_parts(survey.perturbation, counts, survey.schema.names)
    return parts, Fitted(design, theta), DenseModel(shape, terms, blocks_of(survey, counts)), theta


def test_the_likelihood_is_that_of_the_channel(case):
    parts, fitted, dense, theta = case
    np.testing.assert_allclose(fitted.table.ravel(), dense.table(theta), rtol=1e-12)
    assert log_likelihood(parts, fitted) == pytest.approx(dense.level(theta), rel=1e-12)
    assert sum(part.counts.sum() for part in parts) == 300


@pytest.mark.parametrize("at_once", [2**22, 200])
def test_score_and_information_are_those_of_dense_matrices(case, monkeypatch, at_once):
    """All at once, or a few reports at a time."""
    parts, fitted, dense, theta = case
    monkeypatch.setattr(information, "_AT_ONCE", at_once)
    found = derivatives(parts, fitted)
    np.testing.assert_allclose(found.score, dense.score(theta), atol=1e-10)
    np.testing.assert_allclose(found.expected, dense.expected(theta), atol=1e-10)
    for way in np.random.default_rng(4).normal(size=(3, len(theta))):
        there, before = theta + 1e-5 * way, theta - 1e-5 * way
        slope = (dense.level(there) - dense.level(before)) / 2e-5
        assert found.score @ way == pytest.approx(slope, abs=1e-5)
        change = (dense.score(before) - dense.score(there)) / 2e-5
        np.testing.assert_allclose(found.observed @ way, change, atol=1e-5)
    again = derivatives(parts, fitted, expected=False)
    np.testing.assert_allclose(again.observed, found.observed)
    assert not again.expected.any()


def test_transforms_over_large_geometries_equal_sums_over_pairs():
    survey = split_survey(DESIGNS["mixed"])
    views = survey.perturbation.views
    rng = np.random.default_rng(0)
    geometries = {view.channel for view in views if view.channel.prime}
    assert geometries
    for response in geometries:
        pairs = PairsOperator([response], [np.arange(response.symbols)])
        cells, symbols = rng.random((3, response.cells)), rng.random((3, response.symbols))
        np.testing.assert_allclose(pairs.forward(cells).sum(axis=1), cells.sum(axis=1))
        np.testing.assert_allclose(response.forward(cells), pairs.forward(cells))
        np.testing.assert_allclose(response.adjoint(symbols), pairs.adjoint(symbols))


def test_score_and_information_are_exactly_those_of_fractions(make_survey):
    """Two questions kept with 4/5 and 3/4, with rational true shares."""
    survey = make_survey("randomized-response", (2, 2))
    numbers = [7, 1, 2, 5]
    counts = Counts.from_cells(survey, [[0, 0], [0, 1], [1, 0], [1, 1]], numbers)
    table = [Fraction(k, 12) for k in (6, 2, 1, 3)]
    keep = (Fraction(4, 5), Fraction(3, 4))
    cells = [(0, 0), (0, 1), (1, 0), (1, 1)]
    channel = [
        [
            (keep[0] if u[0] == v[0] else 1 - keep[0]) * (keep[1] if u[1] == v[1] else 1 - keep[1])
            for u in cells
        ]
        for v in cells
    ]
    columns = [[Fraction(u[0]), Fraction(u[1]), Fraction(u[0] * u[1])] for u in cells]
    means = [sum(p * row[k] for p, row in zip(table, columns, strict=True)) for k in range(3)]
    reports = [sum(a * p for a, p in zip(row, table, strict=True)) for row in channel]
    slopes = [
        [
            sum(a * p * (d[k] - means[k]) for a, p, d in zip(row, table, columns, strict=True))
            for k in range(3)
        ]
        for row in channel
    ]
    score = [
        sum(n * s[k] / r for n, s, r in zip(numbers, slopes, reports, strict=True))
        for k in range(3)
    ]
    expected = [
        [15 * sum(s[j] * s[k] / r for s, r in zip(slopes, reports, strict=True)) for k in range(3)]
        for j in range(3)
    ]
    # Odds of the second categories, and the odds ratio (6·3)/(2·1).
    theta = np.log([1 / 6, 2 / 6, 9.0])
    parts = report_parts(survey.perturbation, counts, survey.schema.names)
    found = derivatives(parts, Fitted(Design((2, 2), [(0, 1)]), theta))
    np.testing.assert_allclose(found.score, np.array(score, dtype=float), rtol=1e-12)
    np.testing.assert_allclose(found.expected, np.array(expected, dtype=float), atol=1e-13)
