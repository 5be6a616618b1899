"""Variances of estimated shares, from the weights of reports.

Every estimated share is the mean of a weight of each report, so it is unbiased for any population,
and the weights determine its variance (Guo Result 1). With m the mean of the squared weights,
N − 1 times the variance is m − ŝ² if the respondents are a sample of a population (Σ1 + Σ2), and
m − ŝ if the target is exactly these respondents (Σ2 alone; FRAPP eq. 10).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, get_args

import numpy as np
from halftruth_shared import ParameterError
from halftruth_shared.analyses.base import Target
from halftruth_shared.channels.axes import Array


def check_target(target: str) -> None:
    """Raise ParameterError unless the target is one of the two."""
    if target not in get_args(Target):
        raise ParameterError("target: expected population or respondents", field="target")


def error_parts(variance: Array, alone: Array) -> tuple[Array, Array]:
    """Split standard errors into perturbation error and sampling error, whose squares add up.

    This applies to linear and linearized functions of a table. `alone` is the variance for exactly
    these respondents.

    Returns
    -------
    perturbation : ndarray
        The standard error for exactly these respondents (Guo's Σ2).
    sampling : ndarray
        The standard error without perturbation (Σ1), 0 for the target *respondents*; NaN if the
        estimate is outside 0 to 1.
    """
    alone, rest = np.maximum(alone, 0.0), variance - alone
    rest = np.where(np.abs(rest) <= _ROUNDING * variance, 0.0, rest)
    return np.sqrt(alone), np.sqrt(np.where(rest >= 0, rest, np.nan))


#: A variance below this fraction of the second moment is rounding error.
_ROUNDING = 1e-12


class UnitVariance(NamedTuple):
    """Expected N times the variance of every cell of a table.

    As a function of the true share s of the cell, it is ``constant + linear·s + quadratic·s²``. The
    other people are in fixed proportions on the other cells: uniform before there are reports, and
    as estimated afterwards.
    """

    constant: Array
    linear: Array
    quadratic: Array

    @classmethod
    def of_weights(cls, own: Array, others: Array, target: Target) -> "UnitVariance":
        """Make the variance of an estimate that is a mean of one weight for each report.

        `own` and `others` are the expected squared weights of the reports of people in a cell, and
        of other people.
        """
        if target == "respondents":
            return cls(others, own - others - 1, np.zeros_like(own))
        return cls(others, own - others, np.full_like(own, -1.0))

    @classmethod
    def through(cls, nobody: Array, half: Array, everybody: Array) -> "UnitVariance":
        """Make the variance from its values at shares of 0, 1/2 and 1."""
        quadratic = 2 * nobody - 4 * half + 2 * everybody
        return cls(nobody, everybody - nobody - quadratic, quadratic)

    def at(self, share: float | Array) -> Array:
        """Return the variance at a share, with the other people in their proportions."""
        return self.constant + self.linear * share + self.quadratic * share**2

    def smallest_share(self, z_squared_per_report: float) -> Array:
        """Return the smallest share z standard errors above 0; more than 1 if no share is."""
        # s² = q·(constant + linear·s + quadratic·s²), with q = z²/N.
        q = z_squared_per_report
        leading, middle = 1 - q * self.quadratic, q * self.linear
        return (middle + np.sqrt(middle**2 + 4 * leading * q * self.constant)) / (2 * leading)

    def transpose(self, order: Sequence[int]) -> "UnitVariance":
        """Return the same for a table with its axes in another order."""
        return UnitVariance(*(column.transpose(order) for column in self))

    def scaled(self, factor: Array) -> "UnitVariance":
        """Return the variances times a factor of each cell."""
        return UnitVariance(*(column * factor for column in self))

    def mixed(self, other: "UnitVariance", weight: float) -> "UnitVariance":
        """Return the weighted mean of two variances of the same cells."""
        if weight in (0.0, 1.0):
            return other if weight else self
        columns = zip(self, other, strict=True)
        return UnitVariance(*((1 - weight) * one + weight * two for one, two in columns))

    def take(self, cells: Any) -> "UnitVariance":
        """Return some of the cells."""
        return UnitVariance(*(column[cells] for column in self))

    @classmethod
    def concatenate(cls, tables: Sequence["UnitVariance"]) -> "UnitVariance":
        """Concatenate the cells of several tables."""
        columns = zip(*tables, strict=True)
        return cls(*(np.concatenate([cells.ravel() for cells in column]) for column in columns))


@dataclass(frozen=True, eq=False)
class RatioVariance:
    """Variances of a − c·x for K ratios a/x of shares, if the true ratio is c.

    Given c, the moments of the weights of reports are those of c times the people of `everybody`,
    of whom all of x are in a, plus 1 − c times those of `nobody`, of whom none is. Other people, in
    x and outside, are in fixed proportions.

    Attributes
    ----------
    nobody, everybody : ndarray, shape (3, K)
        Moments of second order, for each view centred: of a, of both, and of x.
    between : ndarray, shape (3, K)
        What centring adds at c = 1/2, times 4.
    sampled : ndarray, shape (K,)
        The part of the variance at c that is c·(1 − c) times this number is subtracted, as these
        people are no sample.
    """

    nobody: Array
    everybody: Array
    between: Array
    sampled: Array

    def moments(self, ratio: Array) -> Array:
        """Return the moments of a, of both, and of x at some ratios within 0 to 1, shape (3, K)."""
        mixed = (1 - ratio) * self.nobody + ratio * self.everybody
        return np.asarray(mixed + ratio * (1 - ratio) * self.between)

    def at(self, ratio: Array) -> Array:
        """Return the variance of a − c·x at some ratios c within 0 to 1, shape (K,)."""
        return np.maximum(evaluated(self.polynomial(), ratio), 0.0)

    def polynomial(self) -> Array:
        """Return the coefficients of the variance, the constant one first, shape (5, K)."""
        # Moments at c are n + c·(e − n + b) − c²·b.
        constants, linear, quadratic = (
            self.nobody,
            self.everybody - self.nobody + self.between,
            -self.between,
        )
        return np.stack(
            [
                constants[0],
                linear[0] - 2 * constants[1] - self.sampled,
                quadratic[0] - 2 * linear[1] + constants[2] + self.sampled,
                linear[2] - 2 * quadratic[1],
                quadratic[2],
            ]
        )


def evaluated(polynomial: Array, places: Array) -> Array:
    """Return the values of K polynomials, whose constant coefficients come first, at some places.

    Parameters
    ----------
    polynomial : ndarray, shape (degree + 1, K)
    places : ndarray, shape (K,) or (…, K)
    """
    values = np.asarray(polynomial[-1])
    for coefficient in polynomial[-2::-1]:
        values = values * places + coefficient
    return np.asarray(values)


def effective_reports(reports: float, share: Array, among: int = 1) -> Array:
    """N·(E φ²)²/E φ⁴, where φ is the number of `among` independent marks that a report has.

    Parameters
    ----------
    reports : float
        N, or the expected number of reports.
    share : ndarray
        Probability of each mark.

    Examples
    --------
    >>> effective_reports(1000, np.array([0.5, 0.01])).round(1).tolist()
    [1000.0, 10.2]
    """
    variance = share * (1 - share)
    return np.asarray(reports * among * variance / (1 + 3 * (among - 2) * variance))


def ratio_covariance(
    product: Array,
    first: Array,
    second: Array,
    first_base: Array,
    second_base: Array,
    bases: Array | float,
) -> Array:
    """Covariance of ratios r = a/x and q = c/y, times xy (delta method); elementwise.

    The arguments are cov(a, c), r and q, cov(x, c) and cov(a, y), and cov(x, y).
    """
    return np.asarray(product - first * first_base - second * second_base + first * second * bases)


def covariance(
    product: Array, first: Array, second: Array, common: Array, reports: int, target: Target
) -> Array:
    """Covariance of two estimated shares; NaN where N < 2.

    Parameters
    ----------
    product : ndarray
        Mean over the reports of the product of their two weights.
    common : ndarray
        Estimated share of the records that are in both cells.
    """
    if reports < 2:
        return np.full(np.shape(product), np.nan)
    subtracted = first * second if target == "population" else common
    return np.asarray((product - subtracted) / (reports - 1))


def variance(second_moment: Array, estimate: Array, reports: int, target: Target) -> Array:
    """Return the variance of estimates, NaN where the reports do not identify one.

    It is not identified with fewer than two reports; if the variance for *population* is 0, because
    all reports have the same weight; or if the variance for *respondents* is negative, which can
    happen with few reports.
    """
    result = covariance(second_moment, estimate, estimate, estimate, reports, target)
    rounding = _ROUNDING * second_moment / max(reports - 1, 1)
    if target == "population":
        return np.where(result > rounding, result, np.nan)
    return np.where(result < -rounding, np.nan, np.maximum(result, 0.0))
