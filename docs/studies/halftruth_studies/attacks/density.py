"""Density of a number estimated from perturbed values, by expectation maximization (EM).

Agrawal & Aggarwal 2001 (PODS): the density of X is constant within each bin of a grid, and EM,
starting from a uniform density, maximizes the likelihood of the values of Y = X + R. Here, Y is
counted in bins of the same width, and the probabilities of the bins of Y given a bin of X are
exact, so that a step needs two convolutions for any number of values.

EM stops at the first step that raises the log-likelihood of all n values by less than 0.01, or
after 500 steps. It should not converge: deconvolution is ill-posed, and the density of maximum
likelihood has spikes. The error of E[X | Y] with this rule was at most 4 % above that of the best
of six rules, with 0.01n to 10⁻⁶n instead of 0.01, for normal, exponential and bimodal data, 100 to
10 000 values, and noise with 0.25 to 6 times the standard deviation of the data.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy

from .noise import Array

_STOP = 0.01
_MOST_STEPS = 500

#: Width of bins in standard deviations of the noise, and limits of their number.
_FINE = 0.5
_FEWEST_BINS, _MOST_BINS = 128, 8192

#: Prevents division by 0 after rounding of the convolution.
_TINY = 1e-15


@dataclass(frozen=True, eq=False)
class Density:
    """An estimated density over k equal bins.

    Attributes
    ----------
    centres : array of shape (k,)
        Centres of the bins.
    shares : array of shape (k,)
        Probability of each bin.
    noise_sd : float
        Standard deviation of R.
    steps : int
        Number of EM steps.
    """

    centres: Array
    shares: Array
    noise_sd: float
    steps: int

    def posterior_mean(self, perturbed: Array) -> Array:
        """Compute E[X | Y = y] of each value, interpolated between bins of Y.

        If the standard deviation of the noise is below the width of a bin, that is, below 1/8192 of
        the range, the density is not informative, and y is returned.
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
    The grid spans the values of Y; values of X outside are assigned to its ends.
    """
    low, span = values.min(), max(float(np.ptp(values)), _FINE * noise_sd)
    least = np.clip(span / (_FINE * noise_sd), _FEWEST_BINS, _MOST_BINS)
    # The Fourier transform is fast for powers of two.
    bins = int(2 ** np.ceil(np.log2(least)))
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
    """Return multiplication by p(bin of Y | bin of X), a symmetric Toeplitz matrix.

    The width is in units of σ, and X is uniform within its bin. With H the second antiderivative of
    the normal density, the probability of a distance of d bins is
    (H((d+1)h) − 2H(dh) + H((d−1)h)) / h.
    """
    edges = np.arange(bins + 1) * width
    # H(t) = tΦ(t) + φ(t) = max(t, 0) + tails(|t|)
    tails = np.exp(-0.5 * edges**2) / np.sqrt(2 * np.pi) - edges * scipy.special.ndtr(-edges)
    away = np.diff(tails, 2) / width
    same = 1 + 2 * (tails[1] - tails[0]) / width
    spectrum = np.fft.rfft(np.concatenate([[same], away, [0.0], away[::-1]]))

    def convolve(vector: Array) -> Array:
        return np.fft.irfft(np.fft.rfft(vector, 2 * bins) * spectrum, 2 * bins)[:bins]

    return convolve
