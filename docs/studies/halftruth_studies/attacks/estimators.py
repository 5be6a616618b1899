"""Five estimators of X from Y = X + R, as attacks on additive noise.

Each receives the perturbed records and the distribution of the noise, but no true values, and
estimates every value. Source: Huang, Du & Chen 2005 (HDC). Attributes are in units of the standard
deviation of their noise, which does not affect the source's case of equal noise and makes the
estimates independent of the attributes' units.
"""

from collections.abc import Callable, Mapping

import numpy as np

from .density import density
from .noise import Array, Noise


def noise_distribution_reconstruction(perturbed: Array, noise: Noise) -> Array:
    """Estimate by NDR: the perturbed value, x̂ = y, whose mean square error is the variance of R."""
    return perturbed


def univariate_reconstruction(perturbed: Array, noise: Noise) -> Array:
    """Estimate by UDR: x̂ = E[x | y] for each attribute, with its density estimated from y."""
    attributes = zip(perturbed.T, noise.standard_deviation, strict=True)
    return np.transpose([density(y, sd).posterior_mean(y) for y, sd in attributes])


def principal_component_reconstruction(perturbed: Array, noise: Noise) -> Array:
    """Estimate by PCA-DR: the projection on the leading eigenvectors of Σ̂_x.

    These are the p eigenvectors before the largest gap between consecutive eigenvalues, with a 0
    after the last, so that all are used if all eigenvalues are similar. A share p/m of the variance
    of independent noise remains (HDC Theorem 5.2); the other components of the data are lost.
    """
    sd = noise.standard_deviation
    eigenvalues, vectors = np.linalg.eigh(data_covariance(perturbed, noise) / np.outer(sd, sd))
    gaps = -np.diff(eigenvalues[::-1], append=0.0)
    return _projected(perturbed, noise, vectors[:, ::-1][:, : int(gaps.argmax()) + 1])


def spectral_filtering(perturbed: Array, noise: Noise) -> Array:
    """Estimate by SF: the projection on the eigenvectors of Σ̂_y that noise does not explain.

    By random matrix theory (Marčenko & Pastur), the sample covariance of n records of independent
    noise of variance 1 has eigenvalues between (1 − √(m/n))² and (1 + √(m/n))². Eigenvectors above
    the upper bound are used. The method treats any noise as independent. Source: Kargupta, Datta,
    Wang & Sivakumar 2003 (ICDM).
    """
    records, attributes = perturbed.shape
    sd = noise.standard_deviation
    eigenvalues, vectors = np.linalg.eigh(_covariance(perturbed) / np.outer(sd, sd))
    return _projected(
        perturbed, noise, vectors[:, eigenvalues > (1 + np.sqrt(attributes / records)) ** 2]
    )


def bayes_reconstruction(
    perturbed: Array, noise: Noise, covariance: Array | None = None, mean: Array | None = None
) -> Array:
    """Estimate by BE-DR: the posterior mean of normal data.

    Computed as μ_x + Σ_x (Σ_x + Σ_r)⁻¹ (y − μ_x), which equals
    (Σ_x⁻¹ + Σ_r⁻¹)⁻¹ (Σ_x⁻¹μ_x + Σ_r⁻¹y) (HDC eq. 11, 13) and does not invert singular matrices.
    With known Σ_x and μ_x, it has the smallest mean square error of all linear estimators for any
    distribution of the data; with estimates of them, other estimators can be better.

    Parameters
    ----------
    perturbed : array of shape (n, m)
    covariance : array of shape (m, m), optional
        Σ_x; by default `data_covariance`.
    mean : array of shape (m,), optional
        μ_x; by default the mean of the perturbed records.
    """
    if covariance is None:
        covariance = data_covariance(perturbed, noise)
    if mean is None:
        mean = perturbed.mean(axis=0)
    sd = noise.standard_deviation
    signal = covariance / np.outer(sd, sd)
    both = signal + noise.covariance / np.outer(sd, sd)
    weights = np.linalg.pinv(both, hermitian=True) @ signal
    return np.asarray(mean + ((perturbed - mean) / sd) @ weights * sd)


#: Every estimator by the source's name.
ESTIMATORS: Mapping[str, Callable[[Array, Noise], Array]] = {
    "NDR": noise_distribution_reconstruction,
    "UDR": univariate_reconstruction,
    "SF": spectral_filtering,
    "PCA-DR": principal_component_reconstruction,
    "BE-DR": bayes_reconstruction,
}


def attack(perturbed: Array, noise: Noise) -> dict[str, Array]:
    """Estimate true values from perturbed records, shape (n, m), by every estimator."""
    return {name: estimate(perturbed, noise) for name, estimate in ESTIMATORS.items()}


def error(estimate: Array, truth: Array) -> Array:
    """Return the root mean square error of each attribute, given values of shape (n, m)."""
    return np.asarray(np.sqrt(((estimate - truth) ** 2).mean(axis=0)))


def data_covariance(perturbed: Array, noise: Noise) -> Array:
    """Estimate the covariance of the data as Σ̂_x = Σ̂_y − Σ_r (HDC Theorems 5.1, 8.2).

    Negative eigenvalues, in units of the noise's standard deviations, are set to 0, which gives the
    nearest positive semidefinite matrix in these units.
    """
    sd = noise.standard_deviation
    units = np.outer(sd, sd)
    eigenvalues, vectors = np.linalg.eigh((_covariance(perturbed) - noise.covariance) / units)
    return np.asarray((vectors * np.maximum(eigenvalues, 0)) @ vectors.T * units)


def _covariance(records: Array) -> Array:
    return np.atleast_2d(np.cov(records, rowvar=False))


def _projected(perturbed: Array, noise: Noise, vectors: Array) -> Array:
    """Project on orthonormal vectors, around the mean and in units of the noise."""
    mean, sd = perturbed.mean(axis=0), noise.standard_deviation
    return np.asarray(mean + ((perturbed - mean) / sd) @ vectors @ vectors.T * sd)
