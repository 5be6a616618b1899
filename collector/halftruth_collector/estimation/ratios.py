"""Ratios of estimates, with their covariance, Fieller's sets and logarithmic intervals.

A ratio a/x of two estimates has the covariance of its linear approximation (delta method).
Fieller's set is right wherever x is, and unbounded where x is not significantly above zero. Ratios
of shares, such as odds ratios and lift, have intervals on the logarithmic scale: where a numerator
is not significantly above zero the interval begins at 0; where a denominator is not, it has no
upper end. To refuse these ratios instead would leave those surveys in which a rare answer came out
frequent, and fewer than half of their intervals may hold the truth.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import add

import numpy as np

from .bounds import Array, normal_quantile, significantly_positive
from .gradients import Jet
from .intervals import INTERVAL, UNDEFINED, ConfidenceSets, fieller_sets, share_interval
from .variances import ratio_covariance

#: Against the largest variance of a cell, one of a base that is nothing but rounding.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class ConfidenceMoments:
    """Estimated confidence and its variance, elementwise."""

    estimate: Array
    variance: Array


def confidence_moments(
    both: Array, left: Array, var_both: Array, var_left: Array, cov: Array
) -> ConfidenceMoments:
    """Estimate and variance of ĉ = a/(a+b), the confidence of X ⇒ Y (Guo Result 3).

    Parameters
    ----------
    both : ndarray
        a, the estimated support of X and Y together.
    left : ndarray
        a + b, the estimated support of X.
    var_both, var_left, cov : ndarray
        Variances of these two estimates and their covariance.

    Returns
    -------
    ConfidenceMoments
        The estimate is NaN where the support of X is not above 0, so that no confidence is
        defined. The variance is NaN where it is not significantly above zero.
    """
    left = np.where(left > 0, left, np.nan)
    # A variance of 0 says that all reports weigh the same, and nothing of its true size.
    clear = significantly_positive(left, np.sqrt(np.maximum(var_left, 0.0))) & (var_left >= 0)
    ratio = both / left
    variance = ratio_covariance(var_both, ratio, ratio, cov, cov, var_left) / left**2
    return ConfidenceMoments(
        ratio,
        np.where(clear & (var_both > 0) & (variance >= 0), variance, np.nan),
    )


def logit_sets(
    numerator: Array,
    denominator: Array,
    var_numerator: Array,
    var_denominator: Array,
    cov: Array,
    *,
    quantile: float,
) -> ConfidenceSets:
    """Intervals of ratios that never leave 0 to 1, normal on the logit scale (delta method).

    Parameters are as of `fieller_sets`.
    """
    share = np.clip(numerator / np.where(denominator > 0, denominator, np.nan), 0.0, 1.0)
    spread = ratio_covariance(var_numerator, share, share, cov, cov, var_denominator)
    error = np.sqrt(np.maximum(spread, 0.0)) / denominator
    kind = np.where(np.isfinite(error), INTERVAL, UNDEFINED)
    return ConfidenceSets(kind, *share_interval(share, error, quantile, logit=True))


@dataclass(frozen=True, eq=False)
class ConditionalShares:
    """Share of every cell of a table among those in its group; arrays have the table's shape.

    Attributes
    ----------
    share : ndarray
        a/x; NaN where the base is not above 0.
    variance : ndarray
        Of the share, by the delta method; NaN where the base is not significantly above zero, and
        where the reports determine none.
    sets : ConfidenceSets
        Of the cells in row-major order.
    base, base_variance : ndarray
        x, with its variance, the same for all cells of a group.
    """

    share: Array
    variance: Array
    sets: ConfidenceSets
    base: Array
    base_variance: Array


def conditional_shares(
    support: Array,
    covariance: Array,
    given: Sequence[int],
    confidence: float = 0.95,
    *,
    logit: bool = False,
) -> ConditionalShares:
    """Distribution of the other attributes within each group.

    Parameters
    ----------
    support : ndarray
        π̂, an axis for each attribute: ``Table.support``, or what was made of it linearly.
    covariance : ndarray, shape (cells, cells)
        Of the supports in row-major order, as ``association.known_covariance`` gives it for
        either target: NaN where the reports determine none.
    given : sequence of int
        Axes of the attributes whose categories make the groups. Without any everybody is one
        group, and shares and sets are the supports with their normal intervals.
    confidence : float
        Level of each single set.
    logit : bool
        Whether sets are intervals on the logit scale, of estimates that never leave 0 to 1.

    Examples
    --------
    >>> table = np.array([[0.3, 0.1], [0.2, 0.4]])
    >>> covariance = (np.diag(table.ravel()) - np.outer(table, table)) / 999
    >>> shares = conditional_shares(table, covariance, [0])
    >>> shares.share.round(2).tolist(), shares.base.round(2).tolist()
    ([[0.75, 0.25], [0.33, 0.67]], [[0.4, 0.4], [0.6, 0.6]])
    >>> np.sqrt(shares.variance).round(4).tolist()
    [[0.0217, 0.0217], [0.0193, 0.0193]]
    """
    base, with_base, of_bases = _bases(support, covariance, given)
    variance, var_base = np.diag(covariance), np.diag(of_bases)
    # A base that is known exactly, such as that of everybody, is so but for rounding.
    var_base = np.where(np.abs(var_base) <= _ROUNDING * variance.max(), 0.0, var_base)
    columns = (support.ravel(), base, variance, var_base, np.diag(with_base))
    moments = confidence_moments(*columns)
    return ConditionalShares(
        moments.estimate.reshape(support.shape),
        moments.variance.reshape(support.shape),
        (logit_sets if logit else fieller_sets)(*columns, quantile=normal_quantile(1 - confidence)),
        base.reshape(support.shape),
        var_base.reshape(support.shape),
    )


def conditional_covariance(support: Array, covariance: Array, given: Sequence[int]) -> Array:
    """Covariance of all shares within groups by the delta method, shape (cells, cells).

    What compares groups, such as a difference of shares, has its error from it. Its diagonal is
    the variance of :func:`conditional_shares`, but for bases that are not significantly above zero:
    there it is no error, so look at that variance first. Parameters are as there.
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
    """Estimates that are nearly linear over the error of their table, as columns.

    Attributes
    ----------
    jet : Jet, shape (K,)
    covariance : ndarray, shape (V, V) or (K, V, V)
    """

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
        """So many standard errors in both directions; NaN where undefined."""
        half_width = quantile * self.standard_error
        return self.jet.value - half_width, self.jet.value + half_width


@dataclass(frozen=True, eq=False)
class Ratios(Linear):
    """Ratios as columns, with the standard errors of their logarithms.

    Attributes
    ----------
    jet : Jet, shape (K,)
        The logarithm, NaN where a numerator or a denominator is not positive.
    covariance : ndarray, shape (V, V) or (K, V, V)
    numerators, denominators : sequence of Jet
    """

    numerators: Sequence[Jet]
    denominators: Sequence[Jet]

    @classmethod
    def of(
        cls, numerators: Sequence[Jet], denominators: Sequence[Jet], covariance: Array
    ) -> "Ratios":
        """Products of some functions of tables, divided by products of others."""
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

    def on_log_scale(self, quantile: float) -> tuple[Array, Array]:
        """So many standard errors of the logarithm around it."""
        with np.errstate(over="ignore"):
            lower, upper = map(np.exp, super().interval(quantile))
        return lower, upper

    def interval(self, quantile: float) -> tuple[Array, Array]:
        """The same, open where a factor may be 0."""
        lower, upper = self.on_log_scale(quantile)
        small, large = (
            np.all([jet.clear(self.covariance, quantile) for jet in side], axis=0)
            for side in (self.numerators, self.denominators)
        )
        known = ~np.isnan(lower)
        return np.where(known & ~small, 0.0, lower), np.where(known & ~large, np.inf, upper)
