"""Best guess of a table: expectation maximization (EM), stopped where it foretells best.

One EM step is π ← π∘Aᵀ(λ̂ / Aπ), and raises the mean log-likelihood Σ_v λ̂_v ln (Aπ)_v. Its limit,
the most likely table, fits the noise of the perturbation as well as what people answered. So EM
starts from independence, the product of the tables of single attributes, and learns how answers
depend on each other first where reports say so most clearly. How many steps are worth it is decided
by reports that were held out: a share of them is foretold from the others, over and over, and the
number of steps is the one after which they are likeliest.
"""

import math
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import scipy
from halftruth_shared import Reconstruction
from halftruth_shared.mechanisms import Likelihood

from .bounds import Array, normal_quantile
from .constrained import project_to_simplex
from .counts import Counts

#: Parts of the reports that are foretold from the others in turn.
PARTS = 4

#: The number of steps grows by this factor from one comparison to the next.
_GROWTH = 1.25

#: The search ends after so many times the best number of steps, or the least that are always tried.
_PATIENCE, _LEAST = 2, 20

#: Log-likelihood of all held-out reports together that makes a number of steps better than another.
_WORTH = 0.01

#: Chance that held-out reports tell a guess from independence where there is nothing else.
_LEVEL = 0.05

#: Cells times steps after which the search ends; about a minute for large tables.
_MOST_WORK = 2**31


@dataclass(frozen=True, eq=False)
class BestGuess:
    """An estimate of a table by EM that was stopped early.

    Attributes
    ----------
    table : ndarray
        π, at least 0 and adding up to 1.
    steps : int
        EM steps from independence.
    path : tuple of float
        Mean log-likelihood before and after each step.
    learned : bool
        Whether held-out reports tell it from independence, at a level of 5 %.
    """

    table: Array
    steps: int
    path: tuple[float, ...]
    learned: bool


def best_guess(reconstruction: Reconstruction, counts: Counts) -> BestGuess:
    """The table of all attributes that foretells reports best.

    Parameters
    ----------
    reconstruction : Reconstruction
    counts : Counts
        With at least one report.

    Returns
    -------
    BestGuess
        Biased towards independence, the more so the less the reports tell; it has no error bounds.
    """
    start = independence(reconstruction, counts)
    likelihood = reconstruction.likelihood(counts)
    steps, learned = _steps_by_held_out_reports(likelihood, counts, start)
    observed = likelihood.observed(counts)
    table, path = start, []
    for _ in range(steps):
        image = likelihood.expected(table)
        path.append(_log_likelihood(observed, image))
        table = _step(likelihood, observed, image, table)
    path.append(_log_likelihood(observed, likelihood.expected(table)))
    return BestGuess(table, steps, tuple(path), learned)


def typical_error(squares: Array) -> tuple[float, bool] | None:
    """Root mean square error of a best guess by estimates of its square, one for each part.

    Each is the mean over cells of the squared difference of the guess from the other parts and the
    unbiased estimate from the part, less the variance of that: as they are independent, nothing but
    the error of the guess is left on average.

    Returns
    -------
    error : float
    bound : bool
        Whether it is no estimate but an upper bound (95 %), as the parts do not tell it from 0.
    """
    if len(squares) < PARTS or np.isnan(squares).any():
        return None
    mean, error = squares.mean(), squares.std(ddof=1) / math.sqrt(len(squares))
    margin = scipy.special.stdtrit(len(squares) - 1, 1 - _LEVEL) * error
    bound = bool(mean <= margin)
    return math.sqrt(max(mean, 0.0) + margin if bound else mean), bound


def independence(reconstruction: Reconstruction, counts: Counts) -> Array:
    """The product of the tables of single attributes, each inside the simplex.

    No category has less than one of N reports would be: EM never leaves a share of 0.
    """
    schema = reconstruction.schema
    table = np.ones(())
    for name in schema.names:
        estimate = project_to_simplex(reconstruction.table(counts, [name]).support)
        shares = np.maximum(estimate, 1 / counts.reports)
        table = np.multiply.outer(table, shares / shares.sum())
    return table


def held_out_guesses(
    reconstruction: Reconstruction, counts: Counts, steps: int
) -> Iterator[tuple[Counts, Array]]:
    """Parts of the reports, each with the guess of so many steps from all others alone."""
    likelihood = reconstruction.likelihood(counts)
    for rest, part in _divided(counts):
        if rest.reports and part.reports:
            observed, table = likelihood.observed(rest), independence(reconstruction, rest)
            for _ in range(steps):
                table = _step(likelihood, observed, likelihood.expected(table), table)
            yield part, table


def _steps_by_held_out_reports(
    likelihood: Likelihood, counts: Counts, start: Array
) -> tuple[int, bool]:
    """The number of EM steps after which held-out reports are likeliest, in the mean.

    With it goes whether they are clearly likelier than by independence.
    """
    divided = [(rest, part) for rest, part in _divided(counts) if rest.reports and part.reports]
    if not divided:
        return 0, False
    learned = [likelihood.observed(rest) for rest, _ in divided]
    held_out = [likelihood.observed(part) * part.reports for _, part in divided]
    before = likelihood.expected(start)
    tables, images = [start] * len(divided), [before] * len(divided)
    most = _MOST_WORK // (start.size * len(divided))
    done, best, highest, clear, steps = 0, 0, 0.0, False, 1
    while steps <= min(most, _PATIENCE * max(best, _LEAST)):
        gain = squares = 0.0
        for number, (rest, _) in enumerate(divided):
            for _ in range(steps - done):
                tables[number] = _step(likelihood, learned[number], images[number], tables[number])
                images[number] = likelihood.expected(tables[number])
            # As if one more report had spoken for independence: nothing is thought impossible.
            foretold = (rest.reports * images[number] + before) / (rest.reports + 1)
            seen = held_out[number] > 0
            gains = np.log(foretold[seen] / before[seen])
            gain += float(held_out[number][seen] @ gains)
            squares += float(held_out[number][seen] @ gains**2)
        done = steps
        if gain > highest + _WORTH:
            best, highest = steps, gain
            clear = gain > normal_quantile(2 * _LEVEL) * math.sqrt(squares)
        steps = max(steps + 1, round(steps * _GROWTH))
    return best, clear


def _divided(counts: Counts) -> list[tuple[Counts, Counts]]:
    """For each part of the reports, all others and the part; the division is by chance."""
    # The same reports always lead to the same estimate, and others to another division.
    rng = np.random.default_rng(zlib.crc32(counts.counts.tobytes()))
    left, found = counts.counts, []
    for number in range(PARTS):
        drawn = rng.binomial(left, 1 / (PARTS - number))
        left = left - drawn
        found.append((replace(counts, counts=counts.counts - drawn), replace(counts, counts=drawn)))
    return found


def _step(likelihood: Likelihood, observed: Array, image: Array, table: Array) -> Array:
    """One EM step; the image is Aπ."""
    # Where nothing was reported, the image may be 0.
    ratio = np.divide(observed, image, out=np.zeros_like(image), where=observed > 0)
    return table * likelihood.adjoint(ratio)


def _log_likelihood(observed: Array, image: Array) -> float:
    return float(scipy.special.xlogy(observed, image).sum())
