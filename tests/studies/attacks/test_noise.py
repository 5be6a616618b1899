"""The law of additive noise, its simulation, and how like the data's its correlations are."""

import numpy as np
import pytest
from halftruth_shared import ParameterError
from halftruth_studies.attacks.noise import (
    Noise,
    correlated_noise,
    correlation_dissimilarity,
    independent_noise,
)

DATA = np.array([[4.0, 3.0], [3.0, 9.0]])  # a correlation of 1/2


def test_correlated_noise_has_the_sizes_asked_for_and_the_datas_correlations():
    noise = correlated_noise([1.0, 10.0], DATA)
    np.testing.assert_allclose(noise.covariance, [[1, 5], [5, 100]])
    proportional = correlated_noise([0.5 * 2, 0.5 * 3], DATA)
    np.testing.assert_allclose(proportional.covariance, DATA / 4)


def test_draws_have_the_covariance_of_the_law():
    noise = Noise(np.array([[1.0, 5.0], [5.0, 100.0]]))
    draws = noise.simulate(40_000, np.random.default_rng(1))
    # Five standard errors each, false alarm below 1 in 100 000; of a variance v: v·√(2/n).
    np.testing.assert_allclose(draws.mean(axis=0), 0, atol=5 * 10 / 200)
    np.testing.assert_allclose(np.cov(draws.T), noise.covariance, rtol=0.08)


def test_dissimilarity_is_0_for_equal_correlations_and_grows_with_their_difference():
    assert correlation_dissimilarity(DATA, 3 * DATA) == pytest.approx(0, abs=1e-12)
    # Two entries differ by 1/2: √(2·1/4) / 2.
    assert correlation_dissimilarity(DATA, np.diag([1.0, 5.0])) == pytest.approx(0.5**0.5 / 2)
    opposite = DATA * [[1, -1], [-1, 1]]
    assert correlation_dissimilarity(DATA, opposite) == pytest.approx(2**0.5 / 2)
    with pytest.raises(ParameterError, match="two or more attributes"):
        correlation_dissimilarity(np.eye(1), np.eye(1))


@pytest.mark.parametrize(
    ("covariance", "said"),
    [
        (np.diag([1.0, 0.0]), "variances above 0"),
        (np.diag([1.0, np.inf]), "finite"),
        (np.array([[1.0, 0.5], [0.2, 1.0]]), "symmetric"),
        (np.array([[1.0, 2.0], [2.0, 1.0]]), "positive semidefinite"),
    ],
)
def test_what_is_no_covariance_is_refused(covariance, said):
    with pytest.raises(ParameterError, match=said):
        Noise(covariance)


def test_attributes_that_are_copies_of_each_other_have_correlated_noise_too():
    noise = correlated_noise([1.0, 2.0], np.ones((2, 2)))
    draws = noise.simulate(10, np.random.default_rng(1))
    np.testing.assert_allclose(draws[:, 1], 2 * draws[:, 0])
    assert independent_noise([3.0]).simulate(4, np.random.default_rng(1)).shape == (4, 1)
