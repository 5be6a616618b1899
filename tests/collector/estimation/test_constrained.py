"""Estimates inside the simplex: projection, and likelihood estimates."""

from itertools import combinations, product

import numpy as np
import pytest
from halftruth_collector.estimation import Counts, Estimator
from halftruth_collector.estimation.bounds import project_to_simplex
from halftruth_shared import DomainTooLarge
from mined import itemsets_of

# --- The projection.


def by_all_faces(values):
    """The nearest point of the simplex, by projection onto the hyperplanes of all faces."""
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
    # Moment estimates add up to 1, but the projection does not require it.
    rng = np.random.default_rng(89)
    for _ in range(5):
        values = rng.normal(1 / size, scale, size)
        before = values.copy()
        np.testing.assert_allclose(project_to_simplex(values), by_all_faces(values), atol=1e-12)
        np.testing.assert_array_equal(values, before)


# --- Through the estimator.


SHAPE = (2, 3, 4)


@pytest.fixture(params=[1, 3, 40, 3000])
def estimator(request, make_survey, make_reports, kind):
    survey = make_survey(kind, SHAPE)
    reports = make_reports(survey, request.param, seed=104, concentration=0.3)
    return Estimator(survey, Counts.from_reports(survey, reports))


@pytest.fixture
def survey_of_thousands(make_survey, make_reports, kind):
    survey = make_survey(kind, SHAPE)
    return survey, make_reports(survey, 3000, seed=105, concentration=0.3)


def mined(estimator):
    """Mine all itemsets except those with a negligible share."""
    found = itemsets_of(estimator, 1e-9, 3, estimate="likelihood")
    assert len(found) > 30
    return found


@pytest.mark.parametrize("at_once", [2**17, 0])
def test_supports_of_itemsets_are_margins_of_tables(estimator, at_once, monkeypatch):
    monkeypatch.setattr("halftruth_collector.estimation.estimator._AT_ONCE", at_once)
    found = mined(estimator)
    supports = dict(zip(map(tuple, found.codes.tolist()), found.estimates.value, strict=True))
    whole = estimator.best_guess.table(["a", "b", "c"])
    # Supports are shares, and never increase with the length of an itemset.
    assert whole.min() >= 0
    assert whole.sum() == pytest.approx(1)
    for length in (1, 2, 3):
        for positions in combinations(range(3), length):
            names = ["abc"[j] for j in positions]
            table = estimator.best_guess.table(names)
            turned = estimator.best_guess.table(names[::-1])
            np.testing.assert_allclose(turned, table.transpose(), atol=1e-14)
            others = tuple({0, 1, 2} - set(positions))
            np.testing.assert_allclose(table, whole.sum(axis=others), atol=1e-14)
    for codes, support in supports.items():
        index = tuple(slice(None) if code < 0 else code for code in codes)
        assert support == pytest.approx(whole[index].sum(), abs=1e-14)


def test_min_support_selects_by_the_requested_estimate(survey_of_thousands):
    survey, reports = survey_of_thousands
    estimator = Estimator(survey, Counts.from_reports(survey, reports))
    every = mined(estimator)
    found = itemsets_of(estimator, 0.05, 3, estimate="likelihood")
    assert found.estimates.value.min() >= 0.05
    chosen = {tuple(codes) for codes in found.codes.tolist()}
    reached = {tuple(c) for c in every.codes[every.estimates.value >= 0.05].tolist()}
    assert chosen == reached != set()
    keys = list(zip(found.lengths, -found.estimates.value, strict=True))
    assert keys == sorted(keys)
    assert [itemset.value for itemset in found.rows] == found.estimates.value.tolist()


def test_likelihood_estimates_of_public_answers_are_their_shares(public_survey):
    survey = public_survey((2, 3))
    counts = Counts.from_cells(survey, [[0, 0], [0, 1], [1, 1]], [20, 30, 50])
    table = Estimator(survey, counts).best_guess.table(["a", "b"])
    np.testing.assert_allclose(table, [[0.2, 0.3, 0], [0, 0.5, 0]], atol=1e-9)


def test_a_whole_table_of_too_many_cells_is_refused_in_one_line(make_survey):
    survey = make_survey("randomized-response", (2,) * 21)
    counts = Counts.from_cells(survey, np.eye(21, dtype=int), [100] * 21)
    estimator = Estimator(survey, counts)
    message = r"^estimate: a whole table of 2097152 cells; expected at most \d+, or .* = moment$"
    with pytest.raises(DomainTooLarge, match=message) as caught:
        itemsets_of(estimator, 0.9, 1, estimate="likelihood")
    assert caught.value.field == "estimate"
    # A table needs the best guess of its own questions alone.
    assert estimator.best_guess.table(["a"]).sum() == pytest.approx(1)
    assert estimator.table(["a"]).value.shape == (2,)
    assert len(itemsets_of(estimator, 0.5, 1)) > 0
