"""Intervals of linking risks that are computed from an estimated table.

A risk is a function of the table, and neither smooth (the largest risk, the people above a limit)
nor unbiased: the largest of noisy risks is too large. So the risks of the cells get simultaneous
bands, and everything about all people follows from these bands:

- Tables are drawn around the fitted one with the covariance of its reports, and made possible as
  the fitted one was (parametric bootstrap; an estimated table is linear in the counts of reports,
  whose sum is nearly normal).
- The band of a cell is its risk ± a multiple, the same for all cells, of a high quantile of the
  deviations of its replicates, so that all cells of a replicate are in their bands with the wanted
  probability. Bands are symmetric, and deviations are from the fitted table's risk and not from
  their mean, since the estimate is biased as its replicates are.
- The largest risk is between the largest lower end and the largest upper end. People above a limit
  are at least those in cells with a lower end above it, and at most those with an upper end above
  it, with an allowance for the estimated numbers of people in the cells: the quantile of the
  largest deviation over all such sets of cells (Kolmogorov's). Quantiles likewise.

Bands and allowances have half the error rate each, so their intervals are conservative.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from halftruth_shared.deadlines import check_deadline

from ..estimation.bounds import Array

#: Number of replicates, and the seed of their generator: the same reports give the same intervals.
REPLICATES, SEED = 200, 20_250_101

#: Probability that the intervals of a quantity hold for all cells, and of each of its parts.
LEVEL = 0.95
_PART = (1 + LEVEL) / 2

#: Quantile of the deviations of a cell in whose units its band is.
_SCALE = 0.98

#: Largest number of probabilities of reports in all replicates together.
MOST_PROBABILITIES = 2**30

#: Values of some quantities in each cell, by name, for a table of all people.
OfCells = Callable[[Array], Mapping[str, Array]]


@dataclass(frozen=True, eq=False)
class Bands:
    """Simultaneous bands of a quantity in some cells, and the people in these cells.

    Attributes
    ----------
    lower, upper : ndarray, shape (cells,)
    share : ndarray, shape (cells,)
        Estimated shares of the people.
    drawn : ndarray, shape (replicates, cells)
        Shares in each replicate.
    """

    lower: Array
    upper: Array
    share: Array
    drawn: Array

    @property
    def largest(self) -> tuple[float, float]:
        """Interval of the largest value."""
        return float(self.lower.max()), float(self.upper.max())

    def above(self, limit: float) -> tuple[float, float]:
        """Return the interval of the share of people whose value is above a limit."""
        surely, possibly = (float(self.share[e > limit].sum()) for e in (self.lower, self.upper))
        low, high = surely - self._allowance(self.lower), possibly + self._allowance(self.upper)
        # Nobody, or everybody, is no estimated number.
        return (max(0.0, low) if surely else 0.0), (min(1.0, high) if possibly else 0.0)

    def quantile(self, share: float) -> tuple[float, float]:
        """Return the interval of a quantile over the people."""
        low = _quantile(self.lower, self.share, share - self._allowance(self.lower))
        return low, _quantile(self.upper, self.share, share + self._allowance(self.upper))

    def _allowance(self, values: Array) -> float:
        """Return the largest deviation of the share of the people with less than any value."""
        order = np.argsort(values, kind="stable")
        deviations = np.cumsum((self.drawn - self.share)[:, order], axis=1)
        return float(np.quantile(np.abs(deviations).max(axis=1), _PART))


def _quantile(values: Array, shares: Array, share: float) -> float:
    order = np.argsort(values, kind="stable")
    place = np.searchsorted(np.cumsum(shares[order]), share * shares.sum())
    return float(values[order][min(int(place), len(order) - 1)])


def bands_of(
    of_cells: OfCells,
    fitted: Array,
    covariance: Array,
    possible: Callable[[Array], Array],
    together: Sequence[Sequence[str]],
) -> dict[str, Bands]:
    """Return the bands of quantities in the cells that are not empty.

    Parameters
    ----------
    of_cells : callable
        Quantities of every cell, NaN if empty.
    fitted : ndarray
        Shares of all people.
    covariance : ndarray, shape (cells, cells)
        Covariance of the estimate.
    possible : callable
        Makes an estimated table possible.
    together : sequence of sequences of str
        Quantities whose bands hold together, with probability `LEVEL` for each of these sequences.
    """
    there = fitted > 0
    estimated = {name: values[there] for name, values in of_cells(fitted).items()}
    drawn = {name: np.empty((REPLICATES, int(there.sum()))) for name in [*estimated, ""]}
    scales, ways = np.linalg.eigh(covariance)
    root = ways * np.sqrt(np.maximum(scales, 0.0))
    rng = np.random.default_rng(SEED)
    for replicate in range(REPLICATES):
        check_deadline()
        noise = (root @ rng.standard_normal(len(root))).reshape(fitted.shape)
        table = possible(fitted + noise)
        table = table / table.sum() if table.any() else fitted
        drawn[""][replicate] = table[there]
        for name, values in of_cells(table).items():
            # Nobody in a cell has no risk.
            drawn[name][replicate] = np.nan_to_num(values[there])
    bands = {}
    for names in together:
        centre = np.concatenate([estimated[name] for name in names])
        widths = _widths(np.concatenate([drawn[name] for name in names], axis=1) - centre)
        for name, width in zip(names, np.split(widths, len(names)), strict=True):
            low, high = estimated[name] - width, estimated[name] + width
            ends = np.maximum(low, 0.0), np.minimum(high, 1.0)
            bands[name] = Bands(*ends, fitted[there], drawn[""])
    return bands


def _widths(deviations: Array) -> Array:
    """Return half-widths of symmetric bands that contain `_PART` of the rows entirely."""
    sizes = np.abs(deviations)
    # A high quantile is a scale also for cells that are empty in most replicates.
    scale = np.quantile(sizes, _SCALE, axis=0)
    relative = np.divide(sizes, scale, out=np.zeros_like(sizes), where=scale > 0)
    return np.asarray(scale * np.quantile(relative.max(axis=1), _PART))
