"""Contrasts of estimates: differences, ratios and trends, of groups in one table or of waves.

All are functions of a table, with errors by the delta method from its covariance V; ratios are on
the logarithmic scale. A group whose size is not significantly above zero is not compared, because
Fieller's set of its share is unbounded.

The equality of two shares a₁/x₁ and a₂/x₂ is tested by a score test: the variance of their
difference is evaluated under the null hypothesis, with one pooled share p̄ in both groups. Without
perturbation this is the test of two proportions. A Wald test, with the standard error of the
interval, rejects true equality too often in small groups (in 0.32 instead of 0.05 of surveys with 5
of 100 people in a group and an answer of 10 %). Estimates by a model use Wald tests.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy
from halftruth_shared.analyses.comparison import Effect
from halftruth_shared.deadlines import check_deadline
from halftruth_shared.results import EstimateColumns, Quantity
from numpy.typing import NDArray

from .bounds import Array, normal_quantile
from .columns import columns
from .gradients import Jet
from .intervals import share_interval
from .ratios import Linear, Ratios, conditional_shares
from .table import SOMEBODY, Table

#: A variance below this fraction of the variance without perturbation is rounding error.
_ROUNDING = 1e-12

Mask = NDArray[np.bool_]

_NO_RATIO = {
    "risk_ratio": "a share is estimated to be 0 or less",
    "odds_ratio": "a share is estimated to be 0 or less, or 1 or more",
}


@dataclass(frozen=True, eq=False)
class Contrasts:
    """K estimates as columns, with intervals before truncation to the possible range.

    Attributes
    ----------
    value, standard_error : ndarray, shape (K,)
        NaN where undefined. The standard error of a ratio is that of its logarithm.
    lower, upper : ndarray, shape (K,)
        An infinite upper end if an interval is unbounded.
    p_value : ndarray, shape (K,)
        Of the test of no effect; NaN if undefined. Empty without tests.
    parts : pair of ndarray, optional
        Perturbation errors and sampling errors.
    undefined : sequence of str or None
        Reason why the value is undefined.
    gradient : ndarray, shape (K, V)
        Of each estimate, or of the logarithm of a ratio, in V variables; empty if not needed.
    table : Table, optional
        Table whose shares these are, if they are all of its shares.
    """

    value: Array
    standard_error: Array
    lower: Array
    upper: Array
    p_value: Array = field(default_factory=lambda: np.zeros(0))
    parts: tuple[Array, Array] | None = None
    undefined: Sequence[str | None] | None = None
    gradient: Array = field(default_factory=lambda: np.zeros(0))
    table: Table | None = None

    @classmethod
    def normal(cls, value: Array, error: Array, quantile: float, **more: Any) -> "Contrasts":
        """Make estimates with symmetric normal intervals."""
        return cls(value, error, value - quantile * error, value + quantile * error, **more)

    def columns(self, of: Quantity, **more: Any) -> EstimateColumns:
        """Return the estimates as columns of a result; see `columns.columns`."""
        return columns(
            of,
            self.value,
            self.standard_error,
            (self.lower, self.upper),
            errors=self.parts,
            p_value=self.p_value if self.p_value.size else None,
            undefined=self.undefined,
            **more,
        )


def ends_of_contrast(
    estimates: Contrasts, weights: Array, correlation: Array | None = None
) -> tuple[Array, Array]:
    """Return interval ends of weighted sums from the intervals of their terms (MOVER).

    The distance of each end follows from the ends of the terms (Zou & Donner 2008), which preserves
    asymmetry. The estimates have the shape (K, S), and their correlation within each row
    (K, S, S); they are independent by default.
    """
    below, above = estimates.value - estimates.lower, estimates.upper - estimates.value

    def reach(at: Array) -> Array:
        if correlation is None:
            return np.asarray(np.sqrt(np.square(at).sum(axis=1)))
        return np.asarray(np.sqrt(np.einsum("ks,kst,kt->k", at, correlation, at)))

    value = (estimates.value * weights).sum(axis=1)
    down = reach(weights * np.where(weights > 0, below, above))
    return value - down, value + reach(weights * np.where(weights > 0, above, below))


@dataclass(frozen=True, eq=False)
class Groups:
    """Estimates of one answer in G groups.

    Attributes
    ----------
    value : ndarray, shape (G, 2)
        Shares, among all people, of the members of each group without and with the answer.
    covariance : ndarray, shape (2G, 2G)
        Covariance of these shares, in row-major order; NaN if not identified.
    null_covariance : callable, optional
        Covariance of `value` under the null hypothesis that some groups have the same share; by
        default `covariance`.
    logit : bool
        Whether estimated shares are always within 0 to 1; intervals then use the logit scale.
    """

    names: tuple[str, ...]
    value: Array
    covariance: Array
    reports: int
    null_covariance: Callable[[Mask, float], Array] | None = None
    logit: bool = False

    @classmethod
    def of_table(
        cls, table: Table, names: Sequence[str], chosen: Sequence[int], answer: int
    ) -> "Groups":
        """Select groups (rows) and one answer (a column) of a table."""
        rows, columns = table.value.shape
        is_answer = np.arange(columns) == answer
        merge = np.kron(np.eye(rows)[list(chosen)], np.stack([~is_answer, is_answer]))

        def null_covariance(alike: Mask, share: float) -> Array:
            shares, own = np.maximum(table.value, SOMEBODY), np.asarray(chosen)[alike]
            others = np.where(is_answer, 0.0, shares[own].sum(axis=0))
            answers = np.where(is_answer, share, (1 - share) * others / others.sum())
            shares[own] = shares[own].sum(axis=1, keepdims=True) * answers
            return table.null_covariance(shares / shares.sum(), merge)

        return cls(
            tuple(names),
            (merge @ table.value.ravel()).reshape(-1, 2),
            merge @ table.identified_covariance() @ merge.T,
            table.reports,
            None if table.logit else null_covariance,
            table.logit,
        )

    @property
    def base(self) -> Array:
        """Share of each group among all people, shape (G,)."""
        return np.asarray(self.value.sum(axis=1))

    @property
    def cells(self) -> Jet:
        """The shares with their gradients."""
        return Jet.variables(self.value)

    def undefined(self, cells: Jet, names: Sequence[str], quantile: float) -> list[str]:
        """Return for each row of cells why its share is undefined; empty if it is defined."""
        if not np.isfinite(self.covariance).all():
            return ["the reports show no error"] * len(names)
        present = cells.sum(1)[:, 0].clear(self.covariance, quantile).tolist()
        pairs = zip(names, present, strict=True)
        return ["" if there else f"{name} is not significantly above zero" for name, there in pairs]

    def ends_from_shares(self, shares: Jet, weights: Array, quantile: float) -> tuple[Array, Array]:
        """Return interval ends of contrasts of logit shares, from the intervals of the shares."""
        error = shares.standard_error(self.covariance)
        ends = share_interval(shares.value, error, quantile, logit=True)
        spread = shares.gradient @ self.covariance @ np.swapaxes(shares.gradient, -1, -2)
        known = np.where(error > 0, error, np.inf)
        correlation = spread / (known[:, :, None] * known[:, None, :])
        return ends_of_contrast(Contrasts(shares.value, error, *ends), weights, correlation)

    def p_values(self, slopes: Array, pooled: Array | None = None) -> Array:
        """Return p-values of tests that all shares in a contrast are equal, shape (K,).

        They are NaN if the variance under the null hypothesis is 0.

        Parameters
        ----------
        slopes : ndarray, shape (K, G)
            Gradient of each contrast in the share of people with the answer, by group. The weights
            of the contrast are slopes · base, which add up to 0.
        pooled : ndarray, shape (K, G), optional
            Groups that are pooled under the null hypothesis; by default those in the contrast.
        """
        base, giving = self.base, self.value[:, 1]
        members = slopes != 0 if pooled is None else pooled
        share = np.clip((members @ giving) / (members @ base), 0.0, 1.0)
        gradient = np.stack([-share[:, None] * slopes, (1 - share)[:, None] * slopes], axis=-1)
        gradient = gradient.reshape(len(slopes), -1)
        # The null variance does not use the tested cells: they have fewer reports if rare by
        # chance.
        patterns, pattern = np.unique(members.astype(bool), axis=0, return_inverse=True)
        variance = np.zeros(len(slopes))
        for number, alike in enumerate(patterns):
            check_deadline()
            rows, covariance = np.flatnonzero(pattern.ravel() == number), self.covariance
            if self.null_covariance is not None:
                covariance = self.null_covariance(alike, float(share[rows[0]]))
            variance[rows] = np.einsum("kv,vw,kw->k", gradient[rows], covariance, gradient[rows])
        alone = np.einsum("kg,kg->k", slopes * base, slopes) / max(self.reports - 1, 1)
        error = np.sqrt(np.where(variance > _ROUNDING * alone, variance, np.nan))
        return np.asarray(2 * scipy.special.ndtr(-np.abs(slopes @ giving / error)))


def shares_of(groups: Groups, confidence: float = 0.95) -> Contrasts:
    """Estimate the share of the answer in each group, with Fieller's intervals."""
    cells, quantile = groups.cells, normal_quantile(1 - confidence)
    undefined = groups.undefined(cells, groups.names, quantile)
    shares = conditional_shares(groups.value, groups.covariance, [0])
    sets = shares.sets(quantile, logit=groups.logit)
    bounded = np.where([not reason for reason in undefined], 0.0, np.nan)
    return Contrasts(
        shares.value[:, 1] + bounded,
        np.sqrt(shares.variance[:, 1]) + bounded,
        sets.lower[1::2] + bounded,
        sets.upper[1::2] + bounded,
        undefined=undefined,
        gradient=_share(cells).gradient + bounded[:, None],
    )


def compare_groups(
    groups: Groups,
    reference: int | None = None,
    effect: Effect = "difference",
    confidence: float = 0.95,
) -> Contrasts:
    """Estimate and test the effect of each group against a reference or all other groups.

    There are two groups or more. The contrasts are of all groups but the reference, in their
    order; without a reference, each group is compared with all others together.
    """
    cells, quantile = groups.cells, normal_quantile(1 - confidence)
    compared = [g for g in range(len(groups.names)) if g != reference]
    first, others = cells[compared, :], ["all others"] * len(compared)
    second = first.sum(0) - first
    if reference is not None:
        second = cells[[reference] * len(compared), :]
        others = [groups.names[reference]] * len(compared)
    names = [groups.names[g] for g in compared]
    sides = zip(
        groups.undefined(first, names, quantile),
        groups.undefined(second, others, quantile),
        strict=True,
    )
    undefined = [one or other for one, other in sides]
    there = np.array([not reason for reason in undefined])
    with np.errstate(divide="ignore", invalid="ignore"):
        effects = _effect(first, second, effect, groups.covariance)
        slopes = (side[:, 1].gradient[:, 1::2] / side.sum(1).value for side in (first, second))
        p_value = np.where(there, groups.p_values(np.subtract(*slopes)), np.nan)
    known = there & np.isfinite(effects.value)
    ends = effects.interval(quantile)
    if groups.logit and isinstance(effects, Ratios):
        ends = effects.on_log_scale(quantile)
    elif groups.logit:
        both = Jet.stack([_share(first), _share(second)])
        ends = groups.ends_from_shares(both, np.array([1.0, -1.0]), quantile)
    value, error, lower, upper = (
        np.where(known, column, np.nan) for column in (effects.value, effects.standard_error, *ends)
    )
    undefined = [
        _NO_RATIO[effect] if yes and not finite else reason
        for reason, yes, finite in zip(undefined, there, known, strict=True)
    ]
    gradient = np.where(known[:, None], effects.jet.gradient, np.nan)
    return Contrasts(value, error, lower, upper, p_value, undefined=undefined, gradient=gradient)


def trend_weights(groups: int) -> Array:
    """Return the weights of the least-squares slope over equidistant groups."""
    ranks = np.arange(groups) - (groups - 1) / 2
    return np.asarray(ranks / (ranks @ ranks))


def trend_of(groups: Groups, confidence: float = 0.95) -> Contrasts:
    """Estimate the linear trend: the average change of the share from one group to the next.

    It is the contrast Σ c_g p̂_g with c_g = (g − ḡ)/Σ(g − ḡ)², the slope of the least-squares line
    through the shares of the groups, with equal weights.
    """
    weights, quantile = trend_weights(len(groups.names))[None], normal_quantile(1 - confidence)
    undefined = next(filter(None, groups.undefined(groups.cells, groups.names, quantile)), "")
    if undefined:
        nothing, none = np.full((1, groups.value.size), np.nan), np.full(1, np.nan)
        return Contrasts(none, none, none, none, none, None, [undefined], nothing)
    share = _share(groups.cells)
    slope = Linear(Jet(weights @ share.value, weights @ share.gradient), groups.covariance)
    ends = slope.interval(quantile)
    if groups.logit:
        every = Jet(share.value[None], share.gradient[None])
        ends = groups.ends_from_shares(every, weights[0], quantile)
    p_value = groups.p_values(weights / groups.base, np.ones(weights.shape))
    value, error, gradient = slope.value, slope.standard_error, slope.jet.gradient
    return Contrasts(value, error, *ends, p_value, undefined=[""], gradient=gradient)


def _share(cells: Jet) -> Jet:
    """Share of the answer in each row of cells."""
    return cells[:, 1] / cells.sum(1)[:, 0]


def _effect(first: Jet, second: Jet, effect: Effect, covariance: Array) -> Linear:
    """Differences or ratios of shares, or ratios of odds."""
    if effect == "difference":
        return Linear(_share(first) - _share(second), covariance)
    beside = [
        side.sum(1)[:, 0] if effect == "risk_ratio" else side[:, 0] for side in (first, second)
    ]
    return Ratios.of([first[:, 1], beside[1]], [second[:, 1], beside[0]], covariance)
