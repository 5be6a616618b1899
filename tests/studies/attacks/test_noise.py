"""The distribution of additive noise, its simulation, and the dissimilarity of correlations."""

import numpy as np
import pytest
from halftruth_studies.attacks.noise import Noise, correlation_dissimilarity
from witnesses import witness

DATA = np.array([[4.0, 3.0], [3.0, 9.0]])  # a correlation of 1/2


def test_draws_have_the_covariance_of_the_distribution():
    noise = Noise(np.array([[1.0, 5.0], [5.0, 100.0]]))
    draws = noise.simulate(40_000, np.random.default_rng(1))
    # Five standard errors each, v·√(2/n) for a variance v; false alarms below 1 in 100 000.
    np.testing.assert_allclose(draws.mean(axis=0), 0, atol=5 * 10 / 200)
    np.testing.assert_allclose(np.cov(draws.T), noise.covariance, rtol=0.08)
    copies = Noise(np.outer([1.0, 2.0], [1.0, 2.0])).simulate(10, np.random.default_rng(1))
    np.testing.assert_allclose(copies[:, 1], 2 * copies[:, 0])


def test_the_dissimilarity_is_0_for_equal_correlations_and_grows():
    assert correlation_dissimilarity(DATA, 3 * DATA) == pytest.approx(0, abs=1e-12)
    # Two entries differ by 1/2: √(2·1/4) / 2.
    independent = correlation_dissimilarity(DATA, np.diag([1.0, 5.0]))
    assert independent == pytest.approx(0.5**0.5 / 2)
    witness("HDC", "Definition 8.1").assert_own(independent)
    opposite = DATA * [[1, -1], [-1, 1]]
    assert correlation_dissimilarity(DATA, opposite) == pytest.approx(2**0.5 / 2)
