"""Guo's mean and interval of a confidence, against enumeration and the collector's estimates."""

from math import lgamma

import numpy as np
import pytest
from halftruth_collector.estimation import Counts, Estimator
from halftruth_collector.estimation.contrasts import shares_within
from halftruth_collector.estimation.intervals import fieller_sets
from halftruth_shared import Attribute, RandomizedResponse, Schema, Survey
from halftruth_studies.mining.confidence import (
    Confidences,
    chebyshev_interval,
    expected_counts,
    rule_confidences,
    second_order_mean,
)
from witnesses import witness

#: True shares of items G (rows) and H of COIL, as Guo prints them.
G_H = np.array([[0.415, 0.043], [0.183, 0.359]])
CONFIDENCE = 0.359 / (0.183 + 0.359)


def enumerated(keep, reports):
    """Return the confidence of each possible survey of so many people, and its probability."""
    matrix = np.array([[keep, 1 - keep], [1 - keep, keep]])
    chances = np.log(np.kron(matrix, matrix) @ G_H.ravel())
    counts = np.array(
        [
            (a, b, c, reports - a - b - c)
            for a in range(reports + 1)
            for b in range(reports + 1 - a)
            for c in range(reports + 1 - a - b)
        ]
    )
    factorial = np.array([lgamma(n + 1) for n in range(reports + 1)])
    probability = np.exp(factorial[-1] - factorial[counts].sum(axis=1) + counts @ chances)
    inverse = np.linalg.inv(matrix)
    both = counts @ np.kron(inverse[1], inverse[1]) / reports
    left = counts @ np.kron(inverse[1], [1, 1]) / reports
    return counts.reshape(-1, 2, 2), probability, both, left


def test_confidences_and_their_errors_are_those_of_the_estimator():
    schema = Schema([Attribute(name, ["0", "1"]) for name in "GH"])
    survey = Survey("coil", "COIL", schema, RandomizedResponse({"G": "0.8", "H": "0.8"}))
    counts = np.array([[2143, 568], [1269, 1842]])
    cells = [[0, 0], [0, 1], [1, 0], [1, 1]]
    table = Estimator(survey, Counts.from_cells(survey, cells, counts.ravel())).table(["G", "H"])
    shares = shares_within(table, [0])
    found = rule_confidences(counts, 0.8)
    assert found.value == pytest.approx(shares.value[3])
    assert found.estimates.standard_error == pytest.approx(shares.standard_error[3])
    # A rule has Fieller's set with the estimated variances.
    spread, given = table.covariance()[2:, 2:], table.value[1]
    variances = np.array([spread[1, 1]]), np.array([spread.sum()])
    both, left = (np.array([share]) for share in (given[1], given.sum()))
    sets = found.estimates.sets(1.96)
    expected = fieller_sets(both, left, variances, np.array([spread[1].sum()]), 1.96)
    assert sets.lower[0] == pytest.approx(expected.lower[0])
    assert sets.upper[0] == pytest.approx(expected.upper[0])
    assert found.numerator == pytest.approx(table.value[1, 1])
    assert found.denominator == pytest.approx(table.value[1].sum())


def test_the_second_order_mean_is_guos_formula():
    row = witness("Guo", "Equation 3.4")
    rng = np.random.default_rng(3)
    for _ in range(20):
        a, b = rng.uniform(0.1, 0.5, 2)
        (var_a, cov), (_, var_b) = (root := rng.normal(size=(2, 2))) @ root.T / 1_000
        printed = (
            a / (a + b)
            + a * var_b / (a + b) ** 3
            - b * var_a / (a + b) ** 3
            + (a - b) * cov / (a + b) ** 3
        )
        var_left = var_a + var_b + 2 * cov
        confidence = Confidences(*map(np.array, (a, a + b, var_a, var_left, var_a + cov)))
        assert second_order_mean(confidence) == pytest.approx(printed, abs=1e-12)
    assert row.state == "equal"


def test_the_second_order_mean_leaves_an_error_of_the_second_order_in_the_number_of_people():
    left_over = []
    for reports in (25, 50, 100):
        _, probability, both, left = enumerated(0.9, reports)
        there = left > 1e-9
        assert probability[~there].sum() < 1e-4
        exact = probability[there] @ (both[there] / left[there]) / probability[there].sum()
        # Errors of the true supports, which the formula is about: with N instead of N − 1.
        known = rule_confidences(expected_counts(G_H, 0.9, reports + 1), 0.9)
        mean = second_order_mean(known)
        assert known.value == pytest.approx(CONFIDENCE)
        assert abs(exact - mean) < abs(exact - CONFIDENCE) / 2
        left_over.append(abs(exact - mean))
    assert left_over[0] > 3 * left_over[1] > 9 * left_over[2]


def test_chebyshevs_interval_misses_at_most_a_share_alpha_of_surveys():
    row = witness("Guo", "Result 3")
    counts, probability, both, left = enumerated(0.9, 60)
    found = rule_confidences(counts, 0.9)
    np.testing.assert_allclose(found.numerator, both, atol=1e-12)
    np.testing.assert_allclose(found.denominator, left, atol=1e-12)
    for alpha in (0.05, 0.2):
        lower, upper = chebyshev_interval(found, alpha)
        # Surveys without an interval count as missed.
        covered = probability @ ((lower <= CONFIDENCE) & (upper >= CONFIDENCE))
        assert covered >= 1 - alpha
    assert row.state == "equal"


def test_chebyshevs_interval_is_wider_than_the_normal_one():
    row = witness("Guo", "Figure 3.2")
    found = rule_confidences(expected_counts(G_H, 0.75, 5822), 0.75)
    lower, upper = chebyshev_interval(found, 0.05)
    normal = 2 * 1.959964 * found.estimates.standard_error
    assert (upper - lower) / normal == pytest.approx(2.28, abs=0.005)
    assert row.state == "equal"


def test_the_interval_of_a_support_narrows_with_p():
    row = witness("Guo", "Figure 3.1")
    errors = []
    for keep in np.linspace(0.55, 1, 10):
        inverse = np.linalg.inv(np.kron(*[np.array([[keep, 1 - keep], [1 - keep, keep]])] * 2))
        observed = np.linalg.solve(inverse, G_H.ravel())
        covariance = inverse @ np.diag(observed) @ inverse.T - np.outer(G_H, G_H)
        found = rule_confidences(expected_counts(G_H, keep, 5822), keep)
        assert found.numerator == pytest.approx(0.359)
        assert found.var_numerator == pytest.approx(covariance[3, 3] / 5821)
        errors.append(found.var_numerator)
    assert (np.diff(errors) < 0).all()
    assert row.state == "equal"


def test_the_interval_of_a_confidence_narrows_with_p():
    row = witness("Guo", "Figure 3.3")
    found = [
        rule_confidences(expected_counts(G_H, keep, 5822), keep)
        for keep in np.linspace(0.55, 1, 10)
    ]
    assert [each.value for each in found] == pytest.approx([CONFIDENCE] * 10)
    widths = [np.diff(chebyshev_interval(each, 0.05))[0] for each in found]
    assert (np.diff(widths) < 0).all()
    assert row.state == "equal"
