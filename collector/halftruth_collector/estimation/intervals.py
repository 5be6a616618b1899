"""Confidence intervals, by the kind of quantity that is estimated.

Estimates are (nearly) unbiased and can lie outside the possible range of their quantity; intervals
cannot. The range is a property of the quantity (`Quantity`). `ConfidenceSets` are truncated to it
in one place, where estimates become columns of results (`Estimates.columns`).

A share of a table has a score interval: all π with (π̂ − π)² ≤ z²·v(π), where v(π) is the variance
if the share is π and other people are in proportion to the estimates of their cells, cut at 0. It
is quadratic in π, so the ends solve a quadratic equation. For yes/no questions and gamma-diagonal
matrices v(π) does not depend on the others, and the interval is the Wilson interval of the share of
reports, with transformed ends. It keeps its level with few reports, unlike the Wald interval
π̂ ± z·sd. In a domain, the sample size is reduced to match the estimated variance. Supports of
itemsets and rules have normal intervals, because they are selected by a threshold.
A share within a group has a score set, too: Fieller's set with the variance at the share that is
tested. The shares of a model have the intervals of `share_interval`, and a cell at most the upper
ends of its margins.
"""

from dataclasses import dataclass
from itertools import combinations
from typing import get_args

import numpy as np
from halftruth_shared.results import QUANTITIES, Quantity, quantity
from halftruth_shared.results.estimate import SetKind
from numpy.typing import ArrayLike, NDArray

from .bounds import Array, check_confidence, normal_quantile
from .table import Table
from .variances import RatioVariance, UnitVariance, evaluated

#: Upper ends of the shares of a model are at most those on the scale of this root. For cells below
#: 0.5 % in a table of 240 cells, with 5 000 reports about pairs, the coverage was 88, 94, 97 and
#: 99 % with the roots 2, 3, 4 and 6, and 100 % by the logit alone; half-widths were 1.0, 1.6, 2.3,
#: 3.8 and 69 times 1.96 root mean square errors.
_ROOT = 4

KINDS: tuple[SetKind, ...] = get_args(SetKind)
#: Halvings of the distance between an estimate and an end of its interval; the rest is rounding.
_HALVINGS = 60

INTERVAL, OUTSIDE, EVERYTHING, EMPTY, UNDEFINED = range(5)


SHARE = QUANTITIES["share"]


def mean_of(scores: ArrayLike, edges: ArrayLike | None = None, name: str = "mean") -> Quantity:
    """Return the quantity of a mean or quantile of scores, with its range."""
    possible = scores if edges is None else edges
    span = float(np.ptp(np.asarray(scores)))
    return quantity(name).within(float(np.min(possible)), float(np.max(possible)), span)


def deviation_of(scores: ArrayLike) -> Quantity:
    """Return the quantity of a standard deviation of scores, with its range."""
    span = float(np.ptp(np.asarray(scores)))
    return quantity("deviation").within(0.0, span / 2, span)


@dataclass(frozen=True, eq=False)
class ConfidenceSets:
    """Confidence sets as columns: intervals, or solutions of Fieller's inequality.

    Attributes
    ----------
    kind : ndarray of int, shape (K,)
        0: from `lower` to `upper`; 1: everything up to `lower` and from `upper` on; 2:
        everything; 3: nothing; 4: undefined.
    lower, upper : ndarray, shape (K,)
        NaN where the set has no ends.
    """

    kind: NDArray[np.int64]
    lower: Array
    upper: Array

    @classmethod
    def intervals(cls, lower: ArrayLike, upper: ArrayLike) -> "ConfidenceSets":
        """Make sets that are intervals, undefined where an end is NaN."""
        low, high = (np.ravel(np.asarray(end, float)) for end in (lower, upper))
        kind = np.where(np.isnan(low) | np.isnan(high), UNDEFINED, INTERVAL)
        return cls(kind, low, high)

    @property
    def half_width(self) -> Array:
        """Half-width of each interval; infinite for unbounded sets, NaN if undefined."""
        half = np.where(self.kind == INTERVAL, (self.upper - self.lower) / 2, np.inf)
        return np.where(self.kind == UNDEFINED, np.nan, half)

    def __getitem__(self, rows: slice | NDArray[np.int64]) -> "ConfidenceSets":
        """Some of the sets."""
        return ConfidenceSets(self.kind[rows], self.lower[rows], self.upper[rows])

    def where(self, known: NDArray[np.bool_]) -> "ConfidenceSets":
        """Return the sets with all others than the known ones undefined."""
        lower, upper = (np.where(known, end, np.nan) for end in (self.lower, self.upper))
        return ConfidenceSets(np.where(known, self.kind, UNDEFINED), lower, upper)

    def within(self, quantity: Quantity) -> "ConfidenceSets":
        """Truncate the sets to the possible range of a quantity; gaps are unchanged.

        >>> sets = ConfidenceSets(
        ...     np.array([0, 0, 1, 1]),
        ...     np.array([-0.2, 1.1, -0.3, -0.2]),
        ...     np.array([0.4, 1.3, 0.1, 1.2]),
        ... ).within(SHARE)
        >>> [KINDS[kind] for kind in sets.kind], sets.lower.tolist(), sets.upper.tolist()
        (['interval', 'empty', 'outside', 'empty'], [0.0, nan, -0.3, nan], [0.4, nan, 0.1, nan])
        """
        least, most, kind = quantity.lower, quantity.upper, self.kind
        with np.errstate(invalid="ignore"):
            beyond = (self.lower > most) | (self.upper < least)
            covered = (self.lower < least) & (self.upper > most)
        nothing = ((kind == INTERVAL) & beyond) | ((kind == OUTSIDE) & covered)
        lower = np.where(kind == INTERVAL, np.clip(self.lower, least, most), self.lower)
        upper = np.where(kind == INTERVAL, np.clip(self.upper, least, most), self.upper)
        return ConfidenceSets(
            np.where(nothing, EMPTY, kind),
            np.where(nothing, np.nan, lower),
            np.where(nothing, np.nan, upper),
        )


def share_interval(
    share: Array, error: Array, quantile: float, *, logit: bool
) -> tuple[Array, Array]:
    """Return the ends of normal intervals of shares, or of their union with logit intervals.

    For estimates within 0 to 1 (`logit`), a logit interval has a realistic upper end but always
    excludes 0. The result is then the smallest interval that contains the logit interval and the
    normal interval, truncated to 0 to 1; that of an estimate of exactly 0 or 1 has width 0.

    Where the error is a multiple of the share, the delta method for the logit does not hold, and
    the end would be near 1. So the upper end of the logit interval is at most that of an interval
    for the fourth root, and equally the lower end of a share near 1.
    """
    lowest, highest = share - quantile * error, share + quantile * error
    if not logit:
        return lowest, highest
    inside = (share > 0) & (share < 1)
    middle = np.where(inside, share, 0.5)
    odds = middle / (1 - middle)
    with np.errstate(over="ignore"):
        factor = np.exp(quantile * error / (middle * (1 - middle)))
        lower, upper = 1 / (1 + factor / odds), 1 / (1 + 1 / (odds * factor))
        upper = np.minimum(upper, _by_root(middle, error, quantile))
        lower = np.maximum(lower, 1 - _by_root(1 - middle, error, quantile))
    lower = np.where(inside, np.minimum(lower, lowest), share)
    upper = np.where(inside, np.maximum(upper, highest), share)
    return np.clip(lower, 0.0, 1.0), np.clip(upper, 0.0, 1.0)


def _by_root(share: Array, error: Array, quantile: float) -> Array:
    """Return the upper ends of shares by the delta method for a root of them."""
    return np.asarray(share * (1 + quantile * error / (_ROOT * share)) ** _ROOT)


def margin_caps(table: Table, quantile: float) -> Array:
    """Return for each cell of a model's table the smallest upper end of its margins of one or two.

    A cell is at most each margin that contains it, and margins are more precise.
    """
    axes, caps = range(table.value.ndim), np.ones(table.value.shape)
    longest = min(2, table.value.ndim - 1)
    for kept in (kept for length in range(1, longest + 1) for kept in combinations(axes, length)):
        share, error = table.margin(kept)
        _, upper = share_interval(share, error, quantile, logit=True)
        caps = np.minimum(caps, np.expand_dims(upper, [axis for axis in axes if axis not in kept]))
    return caps


def score_interval(
    share: Array, design: UnitVariance, reports: float, quantile: float
) -> tuple[Array, Array]:
    """Return the score interval: all π with (π̂ − π)² ≤ z²·v(π), and π̂ itself.

    Where v(π̂) < 0, far outside of 0 to 1, π̂ is added, which does not change the possible part. If
    no π fulfils the inequality, the interval is from π̂ to the π that comes closest.

    Parameters
    ----------
    share : ndarray
        π̂.
    design : UnitVariance
        N·v(π).
    reports : float
        N.
    quantile : float
        z.

    Examples
    --------
    Wilson's interval of 3 among 20 is 0.0524 to 0.3604 (Wilson 1927).

    >>> binomial = UnitVariance(*(np.array([each]) for each in (0.0, 1.0, -1.0)))
    >>> ends = score_interval(np.array([0.15]), binomial, 20, 1.959964)
    >>> [round(float(end[0]), 4) for end in ends]
    [0.0524, 0.3604]
    """
    unit = quantile * quantile / reports
    # The equation for the distance π − π̂ has no cancellation.
    leading = 1 - unit * design.quadratic
    middle = unit * (design.linear + 2 * design.quadratic * share) / 2
    root = np.sqrt(np.maximum(middle**2 + leading * unit * design.at(share), 0.0))
    lower, upper = (middle - root) / leading, (middle + root) / leading
    return share + np.minimum(lower, 0.0), share + np.maximum(upper, 0.0)


def fieller_sets(
    numerator: Array,
    denominator: Array,
    variances: tuple[Array, Array],
    covariance: Array,
    quantile: float,
) -> ConfidenceSets:
    """Return Fieller's sets: all ratios c for which a − c·x is within z standard errors of 0.

    That is (a − c·x)² ≤ z²(v_a − 2c·cov + c²·v_x), a quadratic inequality in c. Where x is not
    significantly above 0 its solutions are unbounded: all but a gap, or everything. The sets are in
    row-major order.
    """
    above, left, of_above, of_left, cov = map(
        np.ravel, (numerator, denominator, *variances, covariance)
    )
    leading, discriminant, ends = _solutions(above, left, of_above, cov, of_left, quantile)
    # If the discriminant is not positive, the set is unbounded without a gap.
    kind = np.where(leading > 0, INTERVAL, np.where(discriminant > 0, OUTSIDE, EVERYTHING))
    kind = np.where(leading == 0, EVERYTHING, kind)
    known = np.isfinite(discriminant) & (of_above > 0) & (of_left >= 0)
    kind = np.where(known, kind, UNDEFINED)
    lower, upper = (
        np.where(kind < EVERYTHING, each, np.nan) for each in (ends.min(0), ends.max(0))
    )
    return ConfidenceSets(kind, lower, upper)


def _solutions(
    above: Array, left: Array, of_above: Array, both: Array, of_left: Array, quantile: float
) -> tuple[Array, Array, Array]:
    """Return leading coefficient, discriminant and solutions of Fieller's equation."""
    z2 = quantile * quantile
    leading, middle = left**2 - z2 * of_left, above * left - z2 * both
    discriminant = middle**2 - leading * (above**2 - z2 * of_above)
    with np.errstate(divide="ignore", invalid="ignore"):
        root = np.sqrt(np.maximum(discriminant, 0.0))
        ends = np.stack([(middle - root) / leading, (middle + root) / leading])
    return leading, discriminant, ends


def score_sets(
    numerator: Array,
    denominator: Array,
    tested: RatioVariance,
    quantile: float,
    fieller: ConfidenceSets,
) -> ConfidenceSets:
    """Return the score sets of shares within groups: all c with (a − c·x)² ≤ z²·v(c).

    They are Fieller's sets with the variance at the share c that is tested, instead of the
    estimated one, which is too small where the share is too small by chance. Outside of 0 to 1,
    v(c) has the moments at 0 or at 1. Unbounded sets are those of `fieller`, by the estimated
    variances; a bounded one of these becomes everything.
    """
    above, left = np.ravel(numerator), np.ravel(denominator)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = above / left
    inside = np.clip(np.nan_to_num(share, nan=0.5), 0.0, 1.0)
    ends = np.zeros_like(inside), np.ones_like(inside)

    polynomial = tested.polynomial()

    def excess(ratio: Array) -> Array:
        variance = np.maximum(evaluated(polynomial, ratio), 0.0)
        return np.asarray((above - ratio * left) ** 2 - quantile**2 * variance)

    def beyond(end: Array) -> tuple[Array, Array]:
        of_part, both, of_whole = tested.moments(end)
        leading, _, solutions = _solutions(above, left, of_part, both, of_whole, quantile)
        return leading, solutions

    def crossings() -> Array:
        """Return the ends of the set between the estimate and 0, and 1, by bisection."""
        outer = np.stack(ends)
        inner = np.stack([inside, inside])
        for _ in range(_HALVINGS):
            middle = (inner + outer) / 2
            is_in = excess(middle) <= 0
            inner, outer = np.where(is_in, middle, inner), np.where(is_in, outer, middle)
        return outer

    (of_low, low), (of_high, high) = map(beyond, ends)
    below, over = excess(ends[0]) <= 0, excess(ends[1]) <= 0
    left_of, right_of = crossings()
    # If the estimate is below 0, and 0 is not in the set, the whole set is below 0.
    lower = np.where(below | (share < 0), low.min(0), left_of)
    lower = np.where((share > 1) & ~over, high.min(0), lower)
    upper = np.where(over | (share > 1), high.max(0), right_of)
    upper = np.where((share < 0) & ~below, low.max(0), upper)
    bounded = (of_low > 0) & (of_high > 0) & (left > 0)
    kind = np.where(fieller.kind == INTERVAL, EVERYTHING, fieller.kind)
    kind = np.where(bounded & (fieller.kind != UNDEFINED), INTERVAL, kind)
    return ConfidenceSets(
        kind,
        np.where(kind == INTERVAL, lower, np.where(kind == OUTSIDE, fieller.lower, np.nan)),
        np.where(kind == INTERVAL, upper, np.where(kind == OUTSIDE, fieller.upper, np.nan)),
    )


def table_intervals(table: Table, confidence: float = 0.95) -> tuple[Array, Array]:
    """Return the interval ends of each share of a table, not truncated to 0 to 1.

    NaN if the reports do not identify the variance.
    """
    check_confidence(confidence)
    return intervals_at(table, normal_quantile(1 - confidence))


def intervals_at(table: Table, quantile: float) -> tuple[Array, Array]:
    """Return the interval ends for a given normal quantile."""
    share, design = table.value, table.unit_variance()
    if design is None or table.reports < 2:
        error = np.sqrt(table.variance())
        lower, upper = share_interval(share, error, quantile, logit=table.logit)
        if table.logit and share.ndim > 1:
            upper = np.minimum(upper, margin_caps(table, quantile))
        return lower, upper
    return score_interval(share, design, table.reports, quantile)
