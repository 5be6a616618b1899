"""The four experiments of Huang, Du & Chen 2005 (HDC) on correlated data and additive noise.

Data are normal with covariance QΛQᵀ, with a random orthogonal matrix Q; the noise has the standard
deviation `SIGMA` in every attribute, in the last experiment as a root mean square over them. Each
point is the root mean square error over all attributes of one simulated file.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from .estimators import attack, error
from .noise import Array, Noise, correlation_dissimilarity

SIGMA = 5.0
LARGE, SMALL = 400.0, 1.0


@dataclass(frozen=True, eq=False)
class Point:
    """One simulated file.

    Attributes
    ----------
    x : float
        Varied parameter of the experiment.
    errors : mapping of str to float
        Root mean square error by estimator.
    limit : float
        Error of BE-DR with the true covariance: the root of the mean posterior variance.
    """

    x: float
    errors: Mapping[str, float]
    limit: float


def more_attributes(
    attributes: Sequence[int] = (5, 10, 20, 40, 60, 80, 100), *, records: int, seed: int
) -> Iterator[Point]:
    """Simulate experiment 1: five large eigenvalues, 5 to 100 attributes of variance 400."""
    for m in attributes:
        yield _point(m, _spectrum(m, 5, LARGE), records, seed)


def more_components(
    components: Sequence[int] = (2, 5, 10, 20, 40, 60, 80, 100), *, records: int, seed: int
) -> Iterator[Point]:
    """Simulate experiment 2: 2 to 100 large eigenvalues, 100 attributes of variance 400."""
    for p in components:
        yield _point(p, _spectrum(100, p, LARGE), records, seed)


def larger_remainder(
    remainders: Sequence[float] = (1, 5, 10, 15, 20, 30, 40, 50), *, records: int, seed: int
) -> Iterator[Point]:
    """Simulate experiment 3: 20 eigenvalues of 400 and 80 increasing ones."""
    for small in remainders:
        yield _point(small, np.repeat([LARGE, small], [20, 80]), records, seed)


def noise_like_the_data(
    steps: Sequence[float] = (-1, -0.75, -0.5, -0.25, 0, 0.25, 0.5, 0.75, 1),
    *,
    records: int,
    seed: int,
) -> Iterator[Point]:
    """Simulate experiment 4: noise with the data's eigenvectors, by correlation dissimilarity.

    Half of 100 eigenvalues of the data are large. Those of the noise are proportional to them at
    step −1, equal to each other at 0 (independent noise), and proportional in reverse order at 1,
    with linear interpolation between and a constant sum.
    """
    data = np.repeat([LARGE, SMALL], [50, 50])
    for step in steps:
        other = data if step < 0 else data[::-1]
        eigenvalues = (1 - abs(step)) + abs(step) * other / other.mean()
        yield _point(None, data, records, seed, SIGMA**2 * eigenvalues)


def _spectrum(m: int, p: int, variance: float) -> Array:
    """Return p large and m − p small eigenvalues with a mean of `variance`."""
    large = (variance * m - SMALL * (m - p)) / p
    return np.repeat([large, SMALL], [p, m - p])


def _point(
    x: float | None, data: Array, records: int, seed: int, noise: Array | None = None
) -> Point:
    """Simulate a file with these eigenvalues of data and noise, and attack it."""
    m, rng = len(data), np.random.default_rng(seed)
    # The orthogonal factor of a normal matrix, as by Gram-Schmidt except for signs.
    vectors = np.linalg.qr(rng.standard_normal((m, m)))[0]
    added = np.full(m, SIGMA**2) if noise is None else noise
    covariance = (vectors * data) @ vectors.T
    law = Noise((vectors * added) @ vectors.T)
    truth = rng.standard_normal((records, m)) * np.sqrt(data) @ vectors.T
    guesses = attack(truth + law.simulate(records, rng), law)
    errors = {
        name: float(np.sqrt(np.mean(error(guess, truth) ** 2))) for name, guess in guesses.items()
    }
    if x is None:
        x = correlation_dissimilarity(covariance, law.covariance)
    return Point(x, errors, float(np.sqrt(np.mean(data * added / (data + added)))))
