"""Additive noise R on numeric records X, released as Y = X + R, and its similarity to the data."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Noise:
    """Normal noise of mean 0, whose distribution is published with the data.

    Parameters
    ----------
    covariance : array of shape (m, m)
        Σ_r over the m attributes; symmetric, positive semidefinite, no variance 0.
    """

    covariance: Array

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


def correlation(covariance: Array) -> Array:
    """Compute the correlations from a covariance matrix."""
    sd = np.sqrt(np.diag(covariance))
    return np.asarray(covariance / np.outer(sd, sd))


def correlation_dissimilarity(one: Array, other: Array) -> float:
    """Compute the dissimilarity of the correlations of two covariances of two or more attributes.

    It is √Σ_{i≠j}(C_X − C_R)² / (m² − m) (HDC Definition 8.1). Multiplied by √(m² − m), it is the
    root mean square difference of two correlations.
    """
    m = len(one)
    # The diagonal is 1 in both.
    return float(np.linalg.norm(correlation(one) - correlation(other)) / (m * m - m))
