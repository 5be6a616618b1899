"""Ratios of estimates, with their covariance, Fieller's sets and logarithmic intervals.

A ratio a/x of two estimates has the covariance of its linear approximation (delta method).
Fieller's confidence set is valid for every x, and unbounded if x is not significantly above zero.
Ratios of shares, such as odds ratios and lift, have intervals on the logarithmic scale: the
interval begins at 0 if a numerator is not significantly above zero, and has no upper end if a
denominator is not. Refusing such ratios would select surveys in which a rare answer is frequent by
chance, and the coverage of the remaining intervals could be below one half.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import add

import numpy as np

from .bounds import Array, significantly_positive
from .gradients import Jet
from .intervals import (
    EVERYTHING,
    INTERVAL,
    OUTSIDE,
    UNDEFINED,
    ConfidenceSets,
    share_interval,
)
from .variances import ratio_covariance

#: A variance of a base below this fraction of the largest variance of a cell is rounding error.
_ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class Quotients:
    """Ratios a/x of two estimates each, such as confidences of rules (Guo Result 3)."""

    numerator: Array
    denominator: Array
    var_numerator: Array
    var_denominator: Array
    cov: Array

    @cached_property
    def value(self) -> Array:
        """a/x; NaN if x is not positive."""
        return np.asarray(self.numerator / np.where(self.denominator > 0, self.denominator, np.nan))

    @cached_property
    def variance(self) -> Array:
        """Variance by the delta method; NaN if unknown or if x is not significantly above zero."""
        left, of_left = self.denominator, self.var_denominator
        # A variance of 0 means that all reports have the same weight; the true one is unknown.
        clear = significantly_positive(left, np.sqrt(np.maximum(of_left, 0.0))) & (of_left >= 0)
        variance = self._spread(self.value) / np.where(left > 0, left, np.nan) ** 2
        return np.where(clear & (self.var_numerator > 0) & (variance >= 0), variance, np.nan)

    def _spread(self, ratio: Array) -> Array:
        cov, of_left = self.cov, self.var_denominator
        return ratio_covariance(self.var_numerator, ratio, ratio, cov, cov, of_left)

    def sets(self, quantile: float, *, logit: bool = False) -> ConfidenceSets:
        """Return confidence sets for a normal quantile, in row-major order.

        For ratios within 0 to 1 (`logit`) they are intervals on the logit scale (delta method)
        instead of Fieller's sets.
        """
        if not logit:
            return self._fieller(quantile)
        ratio = np.clip(self.value, 0.0, 1.0)
        error = np.sqrt(np.maximum(self._spread(ratio), 0.0)) / self.denominator
        kind = np.where(np.isfinite(error), INTERVAL, UNDEFINED).ravel()
        return ConfidenceSets(
            kind, *map(np.ravel, share_interval(ratio, error, quantile, logit=True))
        )

    def _fieller(self, quantile: float) -> ConfidenceSets:
        """Return Fieller's sets: all ratios c for which a − c·x is within z standard errors of 0.

        That is (a − c·x)² ≤ z²(v_a − 2c·cov + c²·v_x), a quadratic inequality in c. Where x is not
        significantly above 0 its solutions are unbounded: all but a gap, or everything.
        """
        z2, of_left = quantile * quantile, np.ravel(self.var_denominator)
        above, left, of_above, cov = map(
            np.ravel, (self.numerator, self.denominator, self.var_numerator, self.cov)
        )
        leading, middle = left**2 - z2 * of_left, above * left - z2 * cov
        discriminant = middle**2 - leading * (above**2 - z2 * of_above)
        with np.errstate(divide="ignore", invalid="ignore"):
            root = np.sqrt(np.maximum(discriminant, 0.0))
            ends = np.stack([(middle - root) / leading, (middle + root) / leading])
        # If the discriminant is not positive, the set is unbounded without a gap.
        kind = np.where(leading > 0, INTERVAL, np.where(discriminant > 0, OUTSIDE, EVERYTHING))
        kind = np.where(leading == 0, EVERYTHING, kind)
        known = np.isfinite(discriminant) & (of_above > 0) & (of_left >= 0)
        kind = np.where(known, kind, UNDEFINED)
        lower, upper = (
            np.where(kind < EVERYTHING, each, np.nan) for each in (ends.min(0), ends.max(0))
        )
        return ConfidenceSets(kind, lower, upper)


def conditional_shares(support: Array, covariance: Array, given: Sequence[int]) -> Quotients:
    """Return the distribution of the other attributes within each group, in the table's shape.

    Parameters
    ----------
    support : ndarray
        π̂, an axis for each attribute: ``Table.value``, or what was made of it linearly.
    covariance : ndarray, shape (cells, cells)
        Of the shares in row-major order: ``Table.identified_covariance``.
    given : sequence of int
        Axes of the attributes whose categories form the groups. Without any, all people are one
        group, and shares and sets are the table with its normal intervals.

    Examples
    --------
    >>> table = np.array([[0.3, 0.1], [0.2, 0.4]])
    >>> covariance = (np.diag(table.ravel()) - np.outer(table, table)) / 999
    >>> shares = conditional_shares(table, covariance, [0])
    >>> shares.value.round(2).tolist(), shares.denominator.round(2).tolist()
    ([[0.75, 0.25], [0.33, 0.67]], [[0.4, 0.4], [0.6, 0.6]])
    >>> np.sqrt(shares.variance).round(4).tolist()
    [[0.0217, 0.0217], [0.0193, 0.0193]]
    """
    base, with_base, of_bases = _bases(support, covariance, given)
    variance, of_base = np.diag(covariance), np.diag(of_bases)
    # A base without error, such as that of all people, is exact up to rounding.
    of_base = np.where(np.abs(of_base) <= _ROUNDING * variance.max(), 0.0, of_base)
    columns = (support, base, variance, of_base, np.diag(with_base))
    return Quotients(*(column.reshape(support.shape) for column in columns))


def conditional_covariance(support: Array, covariance: Array, given: Sequence[int]) -> Array:
    """Covariance of all shares within groups by the delta method, shape (cells, cells).

    Use it for contrasts of groups, such as a difference of shares. Its diagonal is the variance of
    :func:`conditional_shares`, except for bases that are not significantly above zero, where it is
    invalid; check that variance first. Parameters are the same.
    """
    base, with_base, of_bases = _bases(support, covariance, given)
    share = support.ravel() / np.where(base > 0, base, np.nan)
    spread = ratio_covariance(covariance, share[:, None], share, with_base, with_base.T, of_bases)
    return np.asarray(spread / np.outer(base, base))


def _bases(support: Array, covariance: Array, given: Sequence[int]) -> tuple[Array, Array, Array]:
    """Base of every cell; its covariances with every cell, and with the base of every cell."""
    others = tuple(axis for axis in range(support.ndim) if axis not in given)

    def in_groups(cells: Array) -> Array:
        shape = (*support.shape, *cells.shape[1:])
        summed = cells.reshape(shape).sum(axis=others, keepdims=True)
        return np.broadcast_to(summed, shape).reshape(cells.shape)

    with_base = in_groups(covariance)
    return in_groups(support.ravel()), with_base, in_groups(with_base.T)


@dataclass(frozen=True, eq=False)
class Linear:
    """K estimates with errors by the delta method, from the covariance of their variables."""

    jet: Jet
    covariance: Array

    @property
    def value(self) -> Array:
        """NaN where undefined."""
        return self.jet.value

    @cached_property
    def standard_error(self) -> Array:
        """NaN where undefined."""
        return self.jet.standard_error(self.covariance)

    def interval(self, quantile: float) -> tuple[Array, Array]:
        """Return normal intervals; NaN if undefined."""
        half_width = quantile * self.standard_error
        return self.jet.value - half_width, self.jet.value + half_width


@dataclass(frozen=True, eq=False)
class Ratios(Linear):
    """Ratios as columns, with the standard errors of their logarithms.

    The jet is the logarithm, NaN where a numerator or a denominator is not positive.
    """

    numerators: Sequence[Jet]
    denominators: Sequence[Jet]

    @classmethod
    def of(
        cls, numerators: Sequence[Jet], denominators: Sequence[Jet], covariance: Array
    ) -> "Ratios":
        """Make ratios of products of functions of tables."""
        with np.errstate(divide="ignore", invalid="ignore"):
            over, under = (
                reduce(add, [jet.positive().log() for jet in side])
                for side in (numerators, denominators)
            )
        return cls(over - under, covariance, numerators, denominators)

    @property
    def value(self) -> Array:
        with np.errstate(over="ignore"):
            return np.asarray(np.exp(self.jet.value))

    @cached_property
    def _factors(self) -> list[list[tuple[Array, Array]]]:
        """Values and errors of the numerators, and of the denominators."""
        return [
            [(jet.value, jet.standard_error(self.covariance)) for jet in side]
            for side in (self.numerators, self.denominators)
        ]

    def on_log_scale(self, quantile: float) -> tuple[Array, Array]:
        """Return normal intervals of the logarithm, back-transformed."""
        with np.errstate(over="ignore"):
            lower, upper = map(np.exp, super().interval(quantile))
        return lower, upper

    def interval(self, quantile: float) -> tuple[Array, Array]:
        """Return these intervals, unbounded if a factor is not significantly above zero."""
        lower, upper = self.on_log_scale(quantile)
        small, large = (
            np.all([significantly_positive(*factor, quantile) for factor in side], axis=0)
            for side in self._factors
        )
        known = ~np.isnan(lower)
        return np.where(known & ~small, 0.0, lower), np.where(known & ~large, np.inf, upper)
