"""Additive noise R on numeric records X, released as Y = X + R, and its similarity to the data."""

from dataclasses import dataclass

import numpy as np
from halftruth_shared import ParameterError
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

#: Tolerance for negative eigenvalues of a correlation matrix, relative to its size.
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Noise:
    """Normal noise of mean 0, whose distribution is published with the data.

    Parameters
    ----------
    covariance : array of shape (m, m)
        Σ_r over the m attributes.

    Raises
    ------
    ParameterError
        If a variance is not above 0 or the matrix is no covariance matrix.
    """

    covariance: Array

    def __post_init__(self) -> None:
        covariance = self.covariance
        if not (np.isfinite(covariance).all() and (np.diag(covariance) > 0).all()):
            raise ParameterError("noise: expected finite variances above 0", field="noise")
        correlations = correlation(covariance)
        eigenvalues = np.linalg.eigvalsh(correlations)
        if not (
            np.allclose(correlations, correlations.T)
            and eigenvalues[0] >= -_ROUNDING * len(covariance)
        ):
            raise ParameterError(
                "noise: expected a covariance that is symmetric and positive semidefinite",
                field="noise",
            )

    @property
    def standard_deviation(self) -> Array:
        """Standard deviation of the noise of each attribute."""
        return np.sqrt(np.diag(self.covariance))

    def simulate(self, records: int, rng: np.random.Generator) -> Array:
        """Simulate noise of shape (records, m); not for the protection of actual records."""
        correlations = correlation(self.covariance)
        none = np.zeros(len(correlations))
        draws = rng.multivariate_normal(none, correlations, records, method="eigh")
        return np.asarray(draws * self.standard_deviation)


def independent_noise(standard_deviation: ArrayLike) -> Noise:
    """Make noise that is independent between attributes.

    Parameters
    ----------
    standard_deviation : array of shape (m,)
        σ of each attribute.
    """
    sd = np.asarray(standard_deviation, dtype=float)
    return Noise(np.diag(sd**2))


def correlated_noise(standard_deviation: ArrayLike, covariance: ArrayLike) -> Noise:
    """Make noise with the correlations of the data, the defence of HDC §8.

    If σ is proportional to the data's standard deviations, Σ_r is proportional to Σ_x.

    Parameters
    ----------
    standard_deviation : array of shape (m,)
        σ of each attribute's noise.
    covariance : array of shape (m, m)
        Covariance Σ_x of the data, of any scale.
    """
    sd = np.asarray(standard_deviation, dtype=float)
    return Noise(correlation(np.asarray(covariance)) * np.outer(sd, sd))


def correlation(covariance: Array) -> Array:
    """Compute the correlations from a covariance matrix."""
    sd = np.sqrt(np.diag(covariance))
    return np.asarray(covariance / np.outer(sd, sd))


def correlation_dissimilarity(one: Array, other: Array) -> float:
    """Compute the dissimilarity of two matrices' correlations, √Σ_{i≠j}(C_X − C_R)² / (m² − m).

    Source: HDC Definition 8.1. Multiplied by √(m² − m), it is the root mean square difference of
    two correlations.

    Parameters
    ----------
    one, other : array of shape (m, m)
        Covariances, m ≥ 2.

    Raises
    ------
    ParameterError
        If there is a single attribute.
    """
    m = len(one)
    if m < 2:
        raise ParameterError("covariance: expected two or more attributes", field="covariance")
    # The diagonal is 1 in both.
    return float(np.linalg.norm(correlation(one) - correlation(other)) / (m * m - m))
