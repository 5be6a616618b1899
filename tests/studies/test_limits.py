"""Optimal parameters under a risk limit: published values, fine grids, and the limit."""

from itertools import product
from math import prod

import numpy as np
import pytest
from adult import adult
from halftruth_collector.disclosure.linking import linking_risk
from halftruth_shared import ParameterError
from halftruth_studies.limits import (
    best_under_limit,
    factors_of,
    inverse_norm,
    single_valued,
)
from witnesses import witness

#: Counts by two quasi-identifiers and an answer, with empty cells.
PEOPLE = np.array([[[6, 1, 2], [3, 4, 0]], [[3, 3, 0], [2, 1, 0]], [[1, 0, 2], [5, 2, 1]]])


def risk(table, keep, *, whole_reports=False):
    found = linking_risk(table, factors_of(keep, np.shape(table)))
    return (found.of_whole_reports if whole_reports else found).maximum


def dense_norms(keep, sizes):
    """Yield ‖P⁻¹‖_F² of each matrix by inversion."""
    for p, d in zip(keep, sizes, strict=True):
        matrix = np.full((d, d), (1 - p) / (d - 1)) + np.eye(d) * (p - (1 - p) / (d - 1))
        yield np.square(np.linalg.inv(matrix)).sum()


def test_the_published_parameters_are_found():
    witness("GYW", "Tables 3–5 (parameters of l = 2)")
    table = adult()
    found = best_under_limit(table, 1 / 2, perturbed=[0, 1, 2, 3])
    witness("Guo", "Result 16").assert_own(found.keep[:4])
    assert found.keep[-1] == 1
    assert 2 * found.maximum == pytest.approx(1, abs=5e-4)
    assert found.maximum <= 1 / 2
    # The source's 3018 and 21129 are for its rounded parameters.
    assert found.loss == pytest.approx(21_129, rel=1e-3)
    assert found.loss / 7 == pytest.approx(3_018, rel=1e-3)


def test_the_loss_matches_the_source():
    published = np.array([0.824, 0.872, 0.920, 0.941])
    of_quasi = inverse_norm([16, 7, 2, 5])(published)
    of_all = inverse_norm([16, 7, 2, 5, 7])(np.append(published, 1))
    witness("Guo", "Result 16 (loss)").assert_own(of_quasi, of_all)
    keep, sizes = [0.6, 0.9, 1.0], [3, 2, 7]
    assert inverse_norm(sizes)(np.array(keep)) == pytest.approx(prod(dense_norms(keep, sizes)))


@pytest.mark.parametrize(
    ("limit", "perturbed", "whole_reports"),
    [
        (0.3, (0, 1), True),
        (0.45, (0, 1), False),
        (0.3, (0, 2), False),
        (0.45, (0, 2), True),
        (0.3, (0, 1, 2), False),
        (0.45, (0, 1, 2), True),
    ],
)
def test_no_point_of_a_fine_grid_is_better(limit, perturbed, whole_reports):
    found = best_under_limit(PEOPLE, limit, perturbed, whole_reports=whole_reports)
    keep = np.array([float(p) for p in found.keep])
    assert found.maximum == risk(PEOPLE, keep, whole_reports=whole_reports) <= limit
    loss, best = inverse_norm(PEOPLE.shape), np.inf
    steps = 40 if len(perturbed) == 2 else 12
    for point in product(np.linspace(0, 1, steps + 1)[1:], repeat=len(perturbed)):
        p = np.ones(3)
        least = 1 / np.array(PEOPLE.shape)[list(perturbed)]
        p[list(perturbed)] = least + point * (1 - least)
        # The risk is computed only for points with a smaller loss.
        if loss(p) < best and risk(PEOPLE, p, whole_reports=whole_reports) <= limit:
            best = loss(p)
    assert found.loss <= best < np.inf


def test_a_single_parameter_meets_the_limit_exactly():
    """With one parameter, the optimum is where the risk equals the limit."""
    table = [[30, 20, 10], [10, 20, 30]]
    found = best_under_limit(table, 0.3, perturbed=[1])
    low, high = 1 / 3, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if risk(table, [1, middle]) <= 0.3 else (low, middle)
    assert float(found.keep[1]) == pytest.approx(low, abs=1e-4)
    assert found.keep[0] == 1


def test_nothing_is_perturbed_if_the_limit_is_already_met():
    assert best_under_limit(PEOPLE, 0.9, [0, 1, 2]).keep == (1, 1, 1)


def test_perturbing_the_only_answer_of_a_group_is_refused():
    table = np.array([[5, 0], [3, 4]])
    with pytest.raises(
        ParameterError, match=r"in 1 group .*\(41\.67% of the people\) all give one"
    ):
        best_under_limit(table, 0.5, perturbed=[1])
    best_under_limit(table, 0.5, perturbed=[0])
    assert single_valued(table) == (1, pytest.approx(5 / 12))


def test_a_limit_below_the_risk_of_uniform_reports_is_refused():
    blind = risk(PEOPLE, 1 / np.array(PEOPLE.shape) + 1e-9)
    with pytest.raises(ParameterError, match="leave a risk of"):
        best_under_limit(PEOPLE, 0.99 * blind, [0, 1, 2])
    found = best_under_limit(PEOPLE, 1.05 * blind, [0, 1, 2])
    assert found.maximum <= 1.05 * blind


@pytest.mark.parametrize(
    ("limit", "perturbed"), [(0, [0]), (1, [0]), (np.nan, [0]), (0.5, []), (0.5, [3]), (0.5, [-1])]
)
def test_invalid_input_is_refused(limit, perturbed):
    with pytest.raises(ParameterError, match="expected"):
        best_under_limit(PEOPLE, limit, perturbed)
