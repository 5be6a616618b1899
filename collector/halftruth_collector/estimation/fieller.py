"""Fieller's confidence set of a ratio, exact where both estimates are normal."""

from dataclasses import dataclass
from typing import get_args

import numpy as np
from halftruth_shared.analyses.base import FiellerKind, FiellerSet
from numpy.typing import NDArray

from .bounds import Array, optional

_KINDS: tuple[FiellerKind, ...] = get_args(FiellerKind)
_INTERVAL, _OUTSIDE, _EVERYTHING, _UNDEFINED = range(4)


@dataclass(frozen=True, eq=False)
class FiellerSets:
    """Sets of ratios as columns.

    Attributes
    ----------
    kind : ndarray of int, shape (R,)
        0: from `lower` to `upper`; 1: everything up to `lower` and from `upper` on; 2:
        everything; 3: undefined.
    lower, upper : ndarray, shape (R,)
        NaN where the set has no ends.
    """

    kind: NDArray[np.int64]
    lower: Array
    upper: Array

    @property
    def half_width(self) -> Array:
        """Half of each interval; infinite where the set is none, NaN where it is undefined."""
        half = np.where(self.kind == _INTERVAL, (self.upper - self.lower) / 2, np.inf)
        return np.where(self.kind == _UNDEFINED, np.nan, half)

    def __getitem__(self, row: int) -> FiellerSet | None:
        """One of them as a message, None where it is undefined."""
        kind = int(self.kind[row])
        if kind == _UNDEFINED:
            return None
        return FiellerSet(
            kind=_KINDS[kind],
            lower=optional(float(self.lower[row])),
            upper=optional(float(self.upper[row])),
        )


def fieller_sets(
    numerator: Array,
    denominator: Array,
    var_numerator: Array,
    var_denominator: Array,
    cov: Array,
    *,
    quantile: float,
) -> FiellerSets:
    """Every ratio c for which numerator − c · denominator is within z standard errors of 0.

    That is (a − c·x)² ≤ z²(v_a − 2c·cov + c²·v_x), a quadratic inequality in c. Where x is not
    clearly above 0 its solutions are unbounded: all but a gap, or everything.

    Parameters
    ----------
    numerator, denominator : ndarray, shape (R,)
        Estimates a and x.
    var_numerator, var_denominator, cov : ndarray, shape (R,)
        Their variances and covariance.
    quantile : float
        z.
    """
    z2 = quantile * quantile
    leading = denominator**2 - z2 * var_denominator
    middle = numerator * denominator - z2 * cov
    constant = numerator**2 - z2 * var_numerator
    discriminant = middle**2 - leading * constant
    with np.errstate(divide="ignore", invalid="ignore"):
        root = np.sqrt(np.maximum(discriminant, 0.0))
        ends = np.stack([(middle - root) / leading, (middle + root) / leading])
    # Where the discriminant is not positive, no c is left out (or, at a/x, rounding says so).
    kind = np.where(leading > 0, _INTERVAL, np.where(discriminant > 0, _OUTSIDE, _EVERYTHING))
    kind = np.where(leading == 0, _EVERYTHING, kind)
    known = np.isfinite(discriminant) & (var_numerator > 0) & (var_denominator >= 0)
    kind = np.where(known, kind, _UNDEFINED)
    bounded = kind < _EVERYTHING
    return FiellerSets(
        kind,
        np.where(bounded, ends.min(axis=0), np.nan),
        np.where(bounded, ends.max(axis=0), np.nan),
    )
