"""The four experiments of Huang, Du & Chen 2005 (HDC): when correlations undo additive noise.

Data are normal with covariance QΛQᵀ, Q a random orthogonal matrix; the noise has the standard
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
        What the experiment varies.
    errors : mapping of str to float
        Root mean square error by estimator.
    limit : float
        BE-DR's with the true covariance: the root of the mean posterior variance.
    """

    x: float
    errors: Mapping[str, float]
    limit: float


def more_attributes(
    attributes: Sequence[int] = (5, 10, 20, 40, 60, 80, 100), *, records: int, seed: int
) -> Iterator[Point]:
    """Experiment 1: five large eigenvalues, ever more attributes of the same variance (400)."""
    for m in attributes:
        yield _point(m, _spectrum(m, 5, LARGE), records, seed)


def more_components(
    components: Sequence[int] = (2, 5, 10, 20, 40, 60, 80, 100), *, records: int, seed: int
) -> Iterator[Point]:
    """Experiment 2: ever more large eigenvalues among 100 attributes of the same variance (400)."""
    for p in components:
        yield _point(p, _spectrum(100, p, LARGE), records, seed)


def larger_remainder(
    remainders: Sequence[float] = (1, 5, 10, 15, 20, 30, 40, 50), *, records: int, seed: int
) -> Iterator[Point]:
    """Experiment 3: 20 eigenvalues of 400 and 80 others that grow."""
    for small in remainders:
        yield _point(small, np.repeat([LARGE, small], [20, 80]), records, seed)


def noise_like_the_data(
    steps: Sequence[float] = (-1, -0.75, -0.5, -0.25, 0, 0.25, 0.5, 0.75, 1),
    *,
    records: int,
    seed: int,
) -> Iterator[Point]:
    """Experiment 4: noise with the data's eigenvectors, against the correlation dissimilarity.

    Half of 100 eigenvalues are large. The noise's are proportional to the data's at step −1, equal
    at 0 (independent noise), and the data's in reverse order at 1; in between they are mixed
    linearly. Their sum stays.
    """
    data = np.repeat([LARGE, SMALL], [50, 50])
    for step in steps:
        other = data if step < 0 else data[::-1]
        eigenvalues = (1 - abs(step)) + abs(step) * other / other.mean()
        yield _point(None, data, records, seed, SIGMA**2 * eigenvalues)


def _spectrum(m: int, p: int, variance: float) -> Array:
    """Eigenvalues of which p are large and m − p small, with a mean of `variance`."""
    large = (variance * m - SMALL * (m - p)) / p
    return np.repeat([large, SMALL], [p, m - p])


def _point(
    x: float | None, data: Array, records: int, seed: int, noise: Array | None = None
) -> Point:
    """Simulate a file with these eigenvalues of data and noise, and attack it."""
    m, rng = len(data), np.random.default_rng(seed)
    # The orthogonal factor of a normal matrix: Gram & Schmidt's, but for signs.
    vectors = np.linalg.qr(rng.standard_normal((m, m)))[0]
    added = np.full(m, SIGMA**2) if noise is None else noise
    covariance = (vectors * data) @ vectors.T
    law = Noise((vectors * added) @ vectors.T)
    truth = rng.standard_normal((records, m)) * np.sqrt(data) @ vectors.T
    guesses = attack(truth + law.simulate(records, rng), law)
    errors = {
        name: float(np.sqrt(np.mean(error(guess, truth).value ** 2)))
        for name, guess in guesses.items()
    }
    if x is None:
        x = correlation_dissimilarity(covariance, law.covariance)
    return Point(x, errors, float(np.sqrt(np.mean(data * added / (data + added)))))
