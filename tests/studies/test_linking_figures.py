"""Guo's figures and parameters of linking risk, by fractions and dense matrices."""

from fractions import Fraction
from functools import reduce

import numpy as np
import pytest
from adult import adult
from halftruth_collector.disclosure.linking import linking_risk
from halftruth_shared import Attribute, Schema
from halftruth_shared.channels import Dense
from halftruth_studies.anonymization.comparison import People, randomized
from halftruth_studies.anonymization.distances import distances
from halftruth_studies.limits import best_under_limit, inverse_norm
from witnesses import witness


def matrix(size, p):
    """Return randomized response that keeps one of `size` answers with p."""
    return np.full((size, size), (1 - p) / (size - 1)) + np.eye(size) * (p - (1 - p) / (size - 1))


def dense_risks(people, keep):
    """Return the risk of each cell of a group with people (eq. 5.6), by matrices of whole groups.

    Shape (groups of equal quasi-identifiers, sensitive answers).
    """
    *sizes, last = people.shape
    quasi = reduce(np.kron, map(matrix, sizes, keep[:-1]))
    answer = matrix(last, keep[-1])
    table = people.reshape(-1, last) / people.sum()
    groups = table.sum(axis=1)
    linked = groups * ((quasi**2).T @ (1 / (quasi @ groups)))
    table, groups, linked = (each[groups > 0] for each in (table, groups, linked))
    told = table * np.einsum("gv,vs->gs", 1 / np.maximum(table @ answer.T, 1e-300), answer**2)
    return table / groups[:, None] * linked[:, None] * told


def dense_loss(people, keep):
    matrices = map(matrix, people.shape, keep)
    return np.prod([(np.linalg.inv(each) ** 2).sum() for each in matrices])


def test_the_corners_of_a_risk_are_those_of_the_figure():
    row = witness("Guo", "Figure 5.2")
    share, quasi = Fraction(12, 28), Fraction(28, 100)
    # Kept, an attribute is linked for sure; blind, with its share (Property 1).
    corners = list(map(float, [share, share * share, share * quasi, share * quasi * share]))
    row.assert_own(corners)
    table = [[0.12, 0.16], [0.40, 0.32]]
    kept, blind = Dense(np.eye(2)), Dense([[0.5, 0.5], [0.5, 0.5]])
    found = [linking_risk(table, [q, s]).risk[0, 0] for q in (kept, blind) for s in (kept, blind)]
    assert found == pytest.approx(corners)


def assert_best(table, found, limit, axes):
    """Assert that parameters meet a limit, and that none near them do so and lose less."""
    keep = np.array([float(p) for p in found.keep])
    assert dense_risks(table, keep).max() == pytest.approx(found.maximum)
    assert found.maximum <= limit
    assert found.loss == pytest.approx(dense_loss(table, keep))
    rng, tried = np.random.default_rng(1), 0
    for scale in (0.003, 0.03):
        for _ in range(10):
            near = keep.copy()
            near[axes] = np.minimum(near[axes] + rng.normal(scale=scale, size=len(axes)), 1)
            # The parameters are rounded down, which costs less than this.
            if dense_loss(table, near) < found.loss * (1 - 5e-4):
                tried += 1
                assert dense_risks(table, near).max() > limit
    assert tried > 3


@pytest.mark.parametrize(
    "ell", [3, *(pytest.param(ell, marks=pytest.mark.nightly) for ell in (2, 4, 5))]
)
def test_the_published_parameters_of_both_are_found(ell):
    row = witness("Guo", "Table 5.2 (both)")
    table = adult()
    found = best_under_limit(table, 1 / ell, perturbed=range(5))
    digits = np.round([float(p) for p in found.keep], 3)
    assert digits.tolist() == row.own_values[5 * (ell - 2) :][:5]
    if ell == 3:
        assert_best(table, found, 1 / 3, [0, 1, 2, 3, 4])


def test_parameters_of_quasi_identifiers_lose_less_than_the_published_ones():
    row = witness("Guo", "Table 5.2 (quasi-identifiers, l = 3)")
    table = adult()
    found = best_under_limit(table, 1 / 3, perturbed=[0, 1, 2, 3])
    row.assert_own(found.loss)
    assert found.loss < 0.98 * row.printed_values[0]
    assert_best(table, found, 1 / 3, [0, 1, 2, 3])


def simulated(people, keep, times, rng):
    """Return distances of the tables that are reconstructed from simulated reports."""
    names = people.schema.names
    return [
        distances(people.shares, randomized(people, keep, rng).table(names).value)
        for _ in range(times)
    ]


def test_distances_fall_with_the_root_of_the_number_of_people():
    row = witness("Guo", "Figure 5.4")
    schema = Schema([Attribute(name, ["0", "1", "2"], sensitive=name != "c") for name in "abc"])
    counts, keep = np.random.default_rng(4).integers(20, 80, (3, 3, 3)), (0.7, 0.8, 1)
    channel = reduce(np.kron, map(matrix, counts.shape, keep))
    inverse, shares = np.linalg.inv(channel), counts.ravel() / counts.sum()
    covariance = inverse @ np.diag(channel @ shares) @ inverse.T - np.diag(shares)
    of_one = inverse_norm(counts.shape)(np.array(keep)) / 27 - 1
    assert np.trace(covariance) == pytest.approx(of_one)
    rng, means = np.random.default_rng(5), []
    for factor in (1, 5):
        people = People(schema, counts * factor)
        drawn = simulated(people, {"a": "0.7", "b": "0.8"}, 60, rng)
        means.append(np.mean([each.variational for each in drawn]))
        squares = [each.l2**2 for each in drawn]
        # Means are within four standard errors but once in 16 000 times.
        expected, error = of_one / people.counts.sum(), np.std(squares) / np.sqrt(60)
        assert np.mean(squares) == pytest.approx(expected, abs=4 * error)
    # With a standard error of 0.05.
    assert means[0] / means[1] == pytest.approx(np.sqrt(5), abs=0.2)
    assert row.state == "equal"
