"""Estimates of one quantity: functions of a table, with one delta method, one interval, one test.

An estimate g(π̂) is a function of the estimated shares π̂ of a table. Its gradient is exact: it is
computed by a complex step, Im g(π̂ + i·h·e)/h with a tiny h, so that a function of a table is
written once, in plain arithmetic (formulas.md §27). Its variance is ∇gᵀ V ∇g, with the covariance V
of the table. As `svystat` in R's package survey, the estimates carry what further contrasts need.

A function of a table takes shares whose first axes are those of the table; it has to accept any
further axes, and complex numbers. So it may use +, −, ×, ÷, powers, exp, log, sums and products,
and `numpy.where` with conditions on the real part, but not abs, max or norms.

An interval is a function of the level and is not truncated to the possible range. A row, a headline
and a chart ask the same function; `Estimates.columns` truncates it, where numbers become a result.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from halftruth_shared.results import EstimateColumns, Quantity, Texts
from numpy.typing import ArrayLike, NDArray

from .bounds import Array, normal_quantile, significantly_positive
from .false_reports import DECISIVE, moved_by, statistics
from .intervals import (
    EMPTY,
    EVERYTHING,
    KINDS,
    OUTSIDE,
    UNDEFINED,
    ConfidenceSets,
    fieller_sets,
    intervals_at,
    score_sets,
    share_interval,
)
from .reliability import NOT, RELIABILITIES, grades, margin
from .table import Table
from .variances import RatioVariance, ratio_covariance

#: Step along the imaginary axis; its square is lost in rounding, so the gradient is exact.
_STEP = 1e-30

#: Negative variances down to minus this value are rounding errors of 0.
_ROUNDING = 1e-15

#: A function of the shares of a table, see above; it returns K values, or several rows of K.
Function = Callable[[Any], Any]

#: Confidence sets before truncation, as a function of the normal quantile.
Sets = Callable[[float], ConfidenceSets]


def differentiate(
    function: Function, cells: Array, directions: Array | None = None
) -> tuple[Array, Array]:
    """Return the values of a function of tables, with their derivatives, by a complex step.

    A derivative is NaN where the value is not finite.

    Parameters
    ----------
    function : callable
    cells : ndarray
        Shares; the first axes are those of the table.
    directions : ndarray, shape (*cells, V), optional
        Directions of the derivatives; by default each cell alone, in row-major order.

    Returns
    -------
    value : ndarray
    gradient : ndarray, shape (*value, V)

    Examples
    --------
    >>> value, gradient = differentiate(lambda p: p[:1] / p[1:], np.array([0.2, 0.8]))
    >>> value.tolist(), gradient.round(4).tolist()
    ([0.25], [[1.25, -0.3125]])
    """
    if directions is None:
        directions = np.eye(cells.size).reshape(*cells.shape, cells.size)
    return derivatives(function, cells, complex_steps(cells, directions))


def complex_steps(cells: Array, directions: Array) -> Any:
    """Return tables after a step in each of some directions, for `derivatives`."""
    return cells[..., None] + 1j * _STEP * directions


def derivatives(function: Function, here: Any, stepped: Any) -> tuple[Array, Array]:
    """Return what `differentiate` does, from the arguments of a function: as they are and stepped.

    Several functions of the same tables can share these arguments, and what they compute of them.
    """
    with np.errstate(all="ignore"):
        value = np.asarray(function(here))
        gradient = np.asarray(function(stepped)).imag / _STEP
    return value, np.where(np.isfinite(value)[..., None], gradient, np.nan)


def positive(shares: Any) -> Any:
    """Replace shares that are not positive, which cannot be divisors, by NaN."""
    return np.where(np.real(shares) > 0, shares, np.nan)


def delta_error(gradient: Array, covariance: Array) -> Array:
    """Return the standard errors of functions with this gradient; NaN where unknown.

    The covariance of the V variables has the shape (V, V), or such a matrix for each value.
    """
    with np.errstate(invalid="ignore", over="ignore"):
        if covariance.ndim == 2:
            through = gradient @ covariance
        else:
            through = (gradient[..., None, :] @ covariance)[..., 0, :]
        variance = (through * gradient).sum(axis=-1)
        error = np.sqrt(np.where(variance >= -_ROUNDING, np.maximum(variance, 0.0), np.nan))
    return np.where(np.isfinite(error), error, np.nan)


def normal_sets(value: Array, error: Array) -> Sets:
    """Return symmetric normal intervals; undefined where the error is NaN."""
    return lambda quantile: ConfidenceSets.intervals(
        value - quantile * error, value + quantile * error
    )


def fixed_sets(lower: ArrayLike, upper: ArrayLike) -> Sets:
    """Return intervals of one level, whatever the quantile."""
    return lambda _: ConfidenceSets.intervals(lower, upper)


def no_sets(_: float) -> ConfidenceSets:
    """Raise TypeError: these numbers have no errors."""
    raise TypeError("these numbers have no errors")


@dataclass(frozen=True, eq=False)
class Estimates:
    """K estimates of one quantity, with their errors.

    Attributes
    ----------
    of : Quantity
        Scale, possible values and format.
    value : ndarray, shape (K,)
        NaN where undefined.
    standard_error : ndarray, shape (K,)
        NaN where undefined or unknown. That of a ratio is the error of its logarithm.
    sets : callable
        Confidence sets before truncation, as a function of the normal quantile.
    table : Table, optional
        The table whose functions these are.
    function : callable, optional
        This function of the shares of the table; for ratios, its logarithm.
    joint : ndarray, shape (K, K), optional
        Joint covariance of estimates that are no functions of one table.
    parts : pair of ndarray, optional
        Perturbation errors and sampling errors.
    statistic, p_value : ndarray, optional
        Of the test of no effect; NaN where there is none.
    forms : ndarray, shape (K, cells), optional
        Linear forms of the table that the test is about; by default the gradient.
    nulls : sequence of ndarray, optional
        The table under each null hypothesis of these forms.
    moved : ndarray, optional
        By how much one false report can move the test statistic, see `false_reports`; by default
        this follows from these forms.
    undefined : str, or sequence of str or None, optional
        Reason why a value is undefined.
    even_error : ndarray, shape (K,), optional
        Standard error by which estimates are graded, if their own depends on their distance from 0.
    """

    of: Quantity
    value: Array
    standard_error: Array
    sets: Sets
    table: Table | None = None
    function: Function | None = None
    joint: Array | None = None
    parts: tuple[Array, Array] | None = None
    statistic: Array | None = None
    p_value: Array | None = None
    forms: Array | None = None
    nulls: Sequence[Array] | None = None
    moved: Array | None = None
    undefined: "Sequence[str | None] | Texts | str | None" = None
    even_error: Array | None = None

    @classmethod
    def numbers(cls, of: Quantity, value: ArrayLike, undefined: str | None = None) -> "Estimates":
        """Return numbers without errors."""
        values = np.ravel(np.asarray(value, float))
        return cls(of, values, np.full(len(values), np.nan), no_sets, undefined=undefined)

    @classmethod
    def normal(cls, of: Quantity, value: ArrayLike, error: ArrayLike) -> "Estimates":
        """Return estimates with symmetric normal intervals."""
        values, errors = np.asarray(value, float), np.asarray(error, float)
        return cls(of, values, errors, normal_sets(values, errors))

    @classmethod
    def contrast(cls, table: Table, function: Function, of: Quantity) -> "Estimates":
        """Return functions of a table, with normal intervals by the delta method."""
        value, gradient = differentiate(function, table.value)
        error = delta_error(gradient, table.identified_covariance())
        return cls(of, value, error, normal_sets(value, error), table, function)

    @classmethod
    def shares(
        cls, of: Quantity, value: Array, error: Array, *, logit: bool, **more: Any
    ) -> "Estimates":
        """Return shares with normal intervals, or those of shares by a model (`logit`)."""

        def sets(quantile: float) -> ConfidenceSets:
            return ConfidenceSets.intervals(*share_interval(value, error, quantile, logit=logit))

        return cls(of, value, error, sets, **more)

    @classmethod
    def ratio(
        cls,
        of: Quantity,
        factors: Array,
        slopes: Array,
        signs: Sequence[int],
        covariance: Array,
        *,
        bounded: bool = False,
        **more: Any,
    ) -> "Estimates":
        """Return products and quotients of F factors, with intervals on the logarithmic scale.

        An interval begins at 0 if a numerator is not significantly above zero, and has no upper end
        if a denominator is not. Refusing such ratios would select surveys in which a rare answer is
        frequent by chance, and the coverage of the others could be below one half.

        Parameters
        ----------
        factors : ndarray, shape (F, …)
        slopes : ndarray, shape (F, …, V)
            Gradient of each factor.
        signs : sequence of int
            1 for a numerator, −1 for a denominator.
        covariance : ndarray
            As in `delta_error`.
        bounded : bool
            Whether all factors are surely positive, as those of a model.
        """
        above = positive(factors)
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            logarithm = np.tensordot(signs, np.log(above), axes=1)
            gradient = np.tensordot(signs, slopes / above[..., None], axes=1)
            value = np.exp(logarithm)
        error = np.where(np.isnan(logarithm), np.nan, delta_error(gradient, covariance))
        errors = np.where(np.isnan(above), np.nan, delta_error(slopes, covariance))
        upper = np.asarray(signs) > 0

        def sets(quantile: float) -> ConfidenceSets:
            with np.errstate(over="ignore", invalid="ignore"):
                low, high = (
                    np.exp(logarithm - quantile * error),
                    np.exp(logarithm + quantile * error),
                )
            if not bounded:
                clear = significantly_positive(factors, errors, quantile)
                known = ~np.isnan(low)
                low = np.where(known & ~clear[upper].all(axis=0), 0.0, low)
                high = np.where(known & ~clear[~upper].all(axis=0), np.inf, high)
            return ConfidenceSets.intervals(low, high)

        return cls(of, value, error, sets, **more)

    @classmethod
    def quotient(
        cls,
        of: Quantity,
        numerator: Array,
        denominator: Array,
        variances: tuple[Array, Array],
        covariance: Array,
        *,
        logit: bool = False,
        tested: RatioVariance | None = None,
        **more: Any,
    ) -> "Estimates":
        """Return ratios a/x of two estimates each, with Fieller's sets (Guo Result 3).

        A ratio is NaN if x is not positive, and its error (delta method) if it is unknown or if x
        is not significantly above zero.

        Parameters
        ----------
        numerator, denominator : ndarray, shape (K,)
            a and x.
        variances : pair of ndarray
            Of a and of x.
        covariance : ndarray
            Of a and x.
        logit : bool
            Whether the ratios are surely within 0 to 1; they have intervals on the logit scale
            instead of Fieller's sets.
        tested : RatioVariance, optional
            Variances at each true ratio, for score sets instead of Fieller's.
        """
        of_numerator, of_denominator = variances
        left = positive(denominator)
        ratio = np.asarray(numerator / left)

        def spread(ratio: Array) -> Array:
            return ratio_covariance(
                of_numerator, ratio, ratio, covariance, covariance, of_denominator
            )

        # A variance of 0 means that all reports have the same weight; the true one is unknown.
        error = np.sqrt(np.maximum(of_denominator, 0.0))
        clear = significantly_positive(denominator, error) & (of_denominator >= 0)
        variance = spread(ratio) / left**2
        known = clear & (of_numerator > 0) & (variance >= 0)

        def sets(quantile: float) -> ConfidenceSets:
            if not logit:
                found = fieller_sets(numerator, denominator, variances, covariance, quantile)
                if tested is None:
                    return found
                return score_sets(numerator, denominator, tested, quantile, found)
            inside = np.clip(ratio, 0.0, 1.0)
            around = np.sqrt(np.maximum(spread(inside), 0.0)) / denominator
            return ConfidenceSets.intervals(*share_interval(inside, around, quantile, logit=True))

        return cls(of, ratio, np.sqrt(np.where(known, variance, np.nan)), sets, **more)

    @property
    def source(self) -> tuple[Table, Function]:
        """The table and the function of its shares; TypeError for other estimates."""
        if self.table is None or self.function is None:
            raise TypeError("these estimates are no functions of one table")
        return self.table, self.function

    @cached_property
    def gradient(self) -> Array:
        """Gradient by the cells of the table, shape (K, cells); NaN where undefined."""
        table, function = self.source
        _, gradient = differentiate(function, table.value)
        return np.where(np.isnan(self.value)[:, None], np.nan, gradient)

    @property
    def covariance(self) -> Array:
        """Joint covariance of the estimates, shape (K, K); of logarithms for ratios."""
        return joint_covariance([self]) if self.joint is None else self.joint

    def interval(self, confidence: float) -> ConfidenceSets:
        """Return the confidence sets of a level, before truncation to the possible range."""
        return self.sets(normal_quantile(1 - confidence))

    def where(
        self, known: NDArray[np.bool_], undefined: "Sequence[str | None] | Texts | None" = None
    ) -> "Estimates":
        """Return the estimates with all others than the known ones undefined, for some reasons."""
        gone, sets = np.where(known, 0.0, np.nan), self.sets
        columns = ("value", "standard_error", "statistic", "p_value", "moved")
        found = {name: getattr(self, name) for name in columns}
        return replace(
            self,
            **{name: each + gone for name, each in found.items() if each is not None},
            sets=lambda quantile: sets(quantile).where(known),
            parts=self.parts and (self.parts[0] + gone, self.parts[1] + gone),
            undefined=undefined,
        )

    def take(self, rows: NDArray[np.int64]) -> "Estimates":
        """Return some of the estimates; they are then no functions of a table."""
        sets = self.sets

        def column(numbers: Array | None) -> Array | None:
            return None if numbers is None else numbers[rows]

        return Estimates(
            self.of,
            self.value[rows],
            self.standard_error[rows],
            lambda quantile: sets(quantile)[rows],
            statistic=column(self.statistic),
            p_value=column(self.p_value),
            moved=column(self.moved),
        )

    def columns(
        self,
        confidence: float = 0.95,
        *,
        quantile: float | None = None,
        grade: ArrayLike | None = None,
        adjusted: ArrayLike | None = None,
    ) -> EstimateColumns:
        """Return the estimates as columns of a result, with intervals of a level.

        Intervals are truncated to the possible range. The reliability follows from their margins
        before that, since precision does not depend on the distance from a limit.

        Parameters
        ----------
        confidence : float
        quantile : float, optional
            The normal quantile of a level so close to 1 that it would be lost to rounding.
        grade : array_like, optional
            Positions in `RELIABILITIES`, if the precision is known from another source.
        adjusted : array_like, optional
            P-values adjusted for other tests.
        """
        count, of = self.value.size, self.of

        def numbers(column: ArrayLike | None) -> Array | None:
            if column is None:
                return None
            whole = np.broadcast_to(np.ravel(np.asarray(column, float)), count)
            return None if np.isnan(whole).all() else whole

        perturbation, sampling = self.parts or (None, None)
        found: dict[str, Any] = {
            "standard_error_log" if of.logarithmic else "standard_error": self.standard_error,
            "statistic": self.statistic,
            "p_value": self.p_value,
            "adjusted_p_value": adjusted,
            "moved_by": self.moved_by(),
            "perturbation_error": perturbation,
            "sampling_error": sampling,
        }
        found = {name: numbers(column) for name, column in found.items()}
        reasons = self.undefined
        if isinstance(reasons, str):
            reasons = Texts.constant(reasons, count)
        elif reasons is not None and not isinstance(reasons, Texts):
            reasons = Texts.of([reason or None for reason in reasons])
        if reasons is not None and (reasons.codes >= 0).any():
            found["undefined"] = reasons
        if self.sets is not no_sets:
            if quantile is None:
                quantile = normal_quantile(1 - confidence)
            found |= _columns_of_sets(of, self.sets(quantile), grade)
        elif grade is not None:
            found["reliability"] = Texts(np.broadcast_to(np.ravel(grade), count), RELIABILITIES)
        return EstimateColumns(
            quantity=Texts.constant(of.name, count), value=np.ravel(self.value), **found
        )

    def moved_by(self) -> Array | None:
        """Return by how much one false report can move the test statistics."""
        if self.moved is not None or self.p_value is None or self.function is None:
            return self.moved
        moved = np.full(self.value.size, np.nan)
        z = statistics(self.p_value)
        decisive = np.flatnonzero(np.isfinite(self.value) & (z >= DECISIVE))
        if not len(decisive):
            return moved
        table, _ = self.source
        nulls = self.nulls and [self.nulls[row] for row in decisive.tolist()]
        if self.forms is not None:
            forms = self.forms[decisive]
            effect = forms @ table.value.ravel()
        else:
            forms, value = self.gradient[decisive], self.value[decisive]
            effect = np.log(value) if self.of.logarithmic else value - (self.of.no_effect or 0.0)
        moved[decisive] = moved_by(table, forms, effect, z[decisive], nulls)
        return moved


def _columns_of_sets(
    of: Quantity, whole: ConfidenceSets, grade: ArrayLike | None
) -> dict[str, Any]:
    """Return the columns of the truncated confidence sets, and of the reliability."""
    if grade is None:
        # Only intervals have a margin that is a factor.
        margins = margin(whole.lower, whole.upper, ratio=True) if of.ratio else whole.half_width
        grade = grades(margins / of.unit, ratio=of.ratio)
    sets = whole.within(of)
    grade = np.where(sets.kind == EMPTY, NOT, np.ravel(grade))
    outside, everything = sets.kind == OUTSIDE, sets.kind == EVERYTHING
    low, high = sets.lower, sets.upper
    with np.errstate(invalid="ignore"):
        below, above = low >= of.lower, high <= of.upper
    least = np.where(outside, np.where(below, of.lower, np.maximum(high, of.lower)), low)
    most = np.where(outside, np.where(above, of.upper, np.minimum(low, of.upper)), high)
    gap = outside & below & above
    found: dict[str, Any] = {
        "lower": np.where(everything, of.lower, least),
        "upper": np.where(everything, of.upper, most),
        "set": Texts(np.where(sets.kind == UNDEFINED, -1, sets.kind), KINDS),
        "reliability": Texts(grade, RELIABILITIES),
    }
    if gap.any():
        found |= {
            "gap_lower": np.where(gap, low, np.nan),
            "gap_upper": np.where(gap, high, np.nan),
        }
    return found


def shares_of_table(table: Table, of: Quantity) -> Estimates:
    """Return the shares of the cells of a table, in row-major order, with both parts of errors."""

    def cells(people: Any) -> Any:
        return people.reshape(-1, *people.shape[table.value.ndim :])

    parts = tuple(each.ravel() for each in table.error_parts())
    return Estimates(
        of,
        table.value.ravel(),
        np.sqrt(table.variance()).ravel(),
        lambda quantile: ConfidenceSets.intervals(*intervals_at(table, quantile)),
        table,
        cells,
        parts=(parts[0], parts[1]),
    )


def joint_covariance(estimates: Sequence[Estimates]) -> Array:
    """Return the joint covariance of functions of one table, in the order given."""
    gradient = np.vstack([each.gradient for each in estimates])
    table, _ = estimates[0].source
    return np.asarray(gradient @ table.identified_covariance() @ gradient.T)


def covariance_of(*blocks: Array) -> list[list[float | None]]:
    """Return a covariance in the format of messages, with null if unknown, as between blocks."""
    size = sum(len(block) for block in blocks)
    whole, start = np.full((size, size), np.nan), 0
    for block in blocks:
        part = slice(start, start + len(block))
        whole[part, part] = block
        start += len(block)
    return [_numbers(row) for row in whole]


def _numbers(column: ArrayLike) -> list[float | None]:
    return [
        number if math.isfinite(number) else None
        for number in np.ravel(np.asarray(column, float)).tolist()
    ]
