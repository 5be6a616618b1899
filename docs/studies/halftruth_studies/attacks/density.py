"""Density of a number from its perturbed values alone, by expectation maximization (EM).

Agrawal & Aggarwal 2001 (PODS): the density of X is constant within each bin of a grid, and EM from
the even density finds the shares of the bins that make the values of Y = X + R most likely. Here Y
is counted in bins of the same width, and the chance of each bin of Y given a bin of X is exact, so
that a step costs two convolutions whatever the number of values.

EM stops at the first step that raises the log-likelihood of all n values by less than 0.01, or
after 500 steps. Its limit is not wanted: deconvolution is ill-posed, and the most likely density is
spiky. By this rule the error of E[X | Y] was at most 4 % above that by the best of six rules, from
0.01n down to 10⁻⁶n in the place of 0.01, over normal, exponential and two-peaked data, 100 to
10 000 values, and noise from a quarter to six times as wide as the data.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy

from .noise import Array

_STOP = 0.01
_MOST_STEPS = 500

#: Bins of half a standard deviation of the noise, or finer if that is few.
_FINE = 0.5
_FEWEST_BINS, _MOST_BINS = 128, 8192

#: Keeps rounding of the convolution away from a division by 0.
_TINY = 1e-15


@dataclass(frozen=True, eq=False)
class Density:
    """An estimated density over k equal bins.

    Attributes
    ----------
    centres : array of shape (k,)
        Of the bins.
    shares : array of shape (k,)
        Probability of each bin.
    noise_sd : float
        Of R.
    steps : int
        Steps of EM taken.
    """

    centres: Array
    shares: Array
    noise_sd: float
    steps: int

    def posterior_mean(self, perturbed: Array) -> Array:
        """E[X | Y = y] of each value, interpolated between bins of Y.

        Where the noise's standard deviation is below the width of a bin, that is, below a 8192th
        of the range, the density tells nothing and y is returned.
        """
        width = self.centres[1] - self.centres[0]
        if width > self.noise_sd:
            return perturbed
        convolve = _channel(width / self.noise_sd, len(self.centres))
        inside = np.maximum(convolve(self.shares), _TINY)
        shift = convolve(self.shares * self.centres) / inside - self.centres
        return np.asarray(perturbed + np.interp(perturbed, self.centres, shift))


def density(values: Array, noise_sd: float) -> Density:
    """Estimate the density of X from values of Y = X + R with normal R of mean 0.

    Parameters
    ----------
    values : array of shape (n,)

    Notes
    -----
    The grid spans the values of Y: what of X is beyond is taken to be at its ends.
    """
    low, span = values.min(), max(float(np.ptp(values)), _FINE * noise_sd)
    wanted = np.clip(span / (_FINE * noise_sd), _FEWEST_BINS, _MOST_BINS)
    # Powers of two are quick to transform.
    bins = int(2 ** np.ceil(np.log2(wanted)))
    width = span / bins
    cells = np.minimum((values - low) / width, bins - 1).astype(int)
    counts = np.bincount(cells, minlength=bins)
    convolve = _channel(width / noise_sd, bins)
    shares: Array = np.full(bins, 1 / bins)
    before: float = -np.inf
    for steps in range(_MOST_STEPS + 1):  # noqa: B007 (it is returned)
        expected = np.maximum(convolve(shares), _TINY)
        likelihood = float(counts @ np.log(expected))
        if likelihood - before < _STOP:
            break
        before = likelihood
        shares = np.maximum(shares * convolve(counts / expected), 0)
        shares /= shares.sum()
    centres = low + width * (np.arange(bins) + 0.5)
    return Density(centres, shares, noise_sd, steps)


def _channel(width: float, bins: int) -> Callable[[Array], Array]:
    """Multiplies by p(bin of Y | bin of X), a symmetric Toeplitz matrix; width in units of σ.

    X is uniform within its bin. With H the second antiderivative of the normal density, the chance
    of the bin d bins away is (H((d+1)h) − 2H(dh) + H((d−1)h)) / h.
    """
    edges = np.arange(bins + 1) * width
    # H(t) = tΦ(t) + φ(t) = max(t, 0) + tails(|t|)
    tails = np.exp(-0.5 * edges**2) / np.sqrt(2 * np.pi) - edges * scipy.special.ndtr(-edges)
    away = np.diff(tails, 2) / width
    own = 1 + 2 * (tails[1] - tails[0]) / width
    spectrum = np.fft.rfft(np.concatenate([[own], away, [0.0], away[::-1]]))

    def convolve(vector: Array) -> Array:
        return np.fft.irfft(np.fft.rfft(vector, 2 * bins) * spectrum, 2 * bins)[:bins]

    return convolve
