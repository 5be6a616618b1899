"""All estimators against closed forms on normal data, and against each other.

With 20 000 records a mean square error has a standard error of 1 %, so "to 5 %" is five standard
errors, and each test has false alarms in less than one of 100 000 runs.
"""

import numpy as np
import pytest
from halftruth_studies.attacks.estimators import (
    ESTIMATORS,
    attack,
    bayes_reconstruction,
    data_covariance,
    error,
    principal_component_reconstruction,
    spectral_filtering,
)
from halftruth_studies.attacks.noise import Noise
from witnesses import witness

RECORDS = 20_000
COVARIANCE = np.array([[9.0, 6.0, 0.0], [6.0, 16.0, 2.0], [0.0, 2.0, 1.0]])
CORRELATED = np.array([[4.0, -1.0, 0.5], [-1.0, 9.0, 0.0], [0.5, 0.0, 1.0]])
MEAN = np.array([10.0, -5.0, 3.0])


def normal(covariance, mean=None, records=RECORDS, seed=1):
    rng = np.random.default_rng(seed)
    mean = np.zeros(len(covariance)) if mean is None else mean
    return rng.multivariate_normal(mean, covariance, records, method="eigh")


def independent(*deviations):
    return Noise(np.diag(np.square(deviations)))


def attacked(truth, noise, seed=100):
    """Return the mean square errors of all attacks by attribute."""
    perturbed = truth + noise.simulate(len(truth), np.random.default_rng(seed))
    guesses = attack(perturbed, noise)
    assert list(guesses) == list(ESTIMATORS)
    return {name: error(guess, truth) ** 2 for name, guess in guesses.items()}


def posterior_variances(covariance, noise):
    """Return the posterior variance of each attribute: the diagonal of (Σ_x⁻¹ + Σ_r⁻¹)⁻¹."""
    return np.diag(np.linalg.inv(np.linalg.inv(covariance) + np.linalg.inv(noise)))


@pytest.mark.parametrize("noise", [np.diag([4.0, 9.0, 1.0]), CORRELATED])
def test_errors_on_normal_data_match_the_closed_forms(noise):
    witness("HDC", "Schemes NDR, UDR and BE-DR")
    mse = attacked(normal(COVARIANCE, MEAN), Noise(noise))
    x, r = np.diag(COVARIANCE), np.diag(noise)
    np.testing.assert_allclose(mse["NDR"], r, rtol=0.05)
    np.testing.assert_allclose(mse["UDR"], x * r / (x + r), rtol=0.05)
    posterior = posterior_variances(COVARIANCE, noise)
    np.testing.assert_allclose(mse["BE-DR"], posterior, rtol=0.05)


def test_bayes_matches_the_posterior_mean_of_the_source():
    witness("HDC", "Theorem 8.1, Equations 11 and 13")
    rng = np.random.default_rng(3)
    y = rng.normal(size=(5, 3))
    precision_x, precision_r = np.linalg.inv(COVARIANCE), np.linalg.inv(CORRELATED)
    right = precision_x @ MEAN + y @ precision_r
    expected = right @ np.linalg.inv(precision_x + precision_r)
    found = bayes_reconstruction(y, Noise(CORRELATED), covariance=COVARIANCE, mean=MEAN)
    np.testing.assert_allclose(found, expected, rtol=1e-10)


def test_bayes_handles_singular_covariances():
    """All three attributes are equal: the average is used, with a noise variance of 9/3."""
    ones, y = np.ones((3, 3)), np.random.default_rng(4).normal(size=(5, 3))
    average = np.broadcast_to(y.mean(axis=1, keepdims=True), y.shape)
    for noise, variance in ((9 * np.eye(3), 3), (9 * ones, 9)):
        found = bayes_reconstruction(y, Noise(noise), covariance=100 * ones, mean=np.zeros(3))
        np.testing.assert_allclose(found, average * 100 / (100 + variance))


@pytest.mark.parametrize("kept", [1, 3, 7])
def test_principal_components_leave_a_share_p_of_m_of_the_noise(kept):
    """With zero variance of the other components."""
    witness("HDC", "Theorem 5.2")
    vectors = np.linalg.qr(np.random.default_rng(5).standard_normal((10, 10)))[0][:, :kept]
    mse = attacked(normal(400 * vectors @ vectors.T), independent(*[5.0] * 10))
    assert mse["PCA-DR"].mean() == pytest.approx(25 * kept / 10, rel=0.05)


def test_all_components_are_kept_if_their_variances_are_equal():
    truth = normal(400 * np.eye(10), records=500)
    noise = independent(*[5.0] * 10)
    perturbed = truth + noise.simulate(500, np.random.default_rng(6))
    np.testing.assert_allclose(
        principal_component_reconstruction(perturbed, noise), perturbed, atol=1e-9
    )


def test_spectral_filtering_keeps_components_above_the_noise():
    """Two strong components and 48 empty ones: eigenvalues of the noise end near (1 + √(m/n))².

    For one seed in six the largest exceeds that bound; then 3 components are kept.
    """
    witness("HDC", "Scheme SF")
    vectors = np.linalg.qr(np.random.default_rng(7).standard_normal((50, 50)))[0][:, :2]
    mse = attacked(normal(400 * vectors @ vectors.T, records=3_000), independent(*[5.0] * 50))
    assert mse["SF"].mean() == pytest.approx(mse["PCA-DR"].mean(), rel=1e-6)


def test_spectral_filtering_of_many_records_keeps_all_nonempty_components():
    """Its bound approaches the noise's variance, so it returns the noisy values."""
    truth = normal(np.diag([100.0, 2.0, 2.0, 2.0]))
    noise = independent(*[1.0] * 4)
    perturbed = truth + noise.simulate(len(truth), np.random.default_rng(8))
    np.testing.assert_allclose(spectral_filtering(perturbed, noise), perturbed, atol=1e-9)


def test_small_noise_is_kept_and_large_noise_replaced_by_the_mean():
    truth = normal(COVARIANCE, MEAN, records=5_000)
    narrow = attacked(truth, independent(*[1e-6] * 3))
    for name in ("NDR", "UDR", "SF", "BE-DR"):
        np.testing.assert_allclose(np.sqrt(narrow[name]), 1e-6, rtol=0.05)
    wide = attacked(truth, independent(*[200.0] * 3))
    for name in ("UDR", "BE-DR"):
        # The mean has a standard error of 200/√5 000 = 2.8, and the density's width of about 10.
        assert (np.sqrt(wide[name]) < 20).all(), name
    assert (np.sqrt(wide["NDR"]) > 190).all()


@pytest.mark.parametrize("name", ESTIMATORS)
def test_estimates_do_not_depend_on_units(name):
    truth = normal(COVARIANCE, MEAN, records=300)
    noise = Noise(CORRELATED)
    perturbed = truth + noise.simulate(300, np.random.default_rng(9))
    units = np.array([1_000.0, 0.01, 7.0])
    found = ESTIMATORS[name](perturbed, noise)
    other = Noise(CORRELATED * np.outer(units, units))
    # A grid with another number of bins would change UDR slightly.
    np.testing.assert_allclose(
        ESTIMATORS[name](perturbed * units, other) / units, found, rtol=1e-4, atol=1e-4
    )


def test_the_estimated_covariance_of_the_data_is_positive_semidefinite_and_consistent():
    witness("HDC", "Theorems 5.1 and 8.2")
    noise = Noise(CORRELATED)
    truth = normal(COVARIANCE)
    perturbed = truth + noise.simulate(RECORDS, np.random.default_rng(10))
    sd = np.sqrt(np.diag(COVARIANCE + CORRELATED))
    # Five standard errors of a covariance, each at most √2·sd·sd/√n.
    np.testing.assert_allclose(
        data_covariance(perturbed, noise) / np.outer(sd, sd),
        COVARIANCE / np.outer(sd, sd),
        atol=0.05,
    )
    few = data_covariance(noise.simulate(10, np.random.default_rng(11)), noise)
    assert np.linalg.eigvalsh(few).min() > -1e-12
