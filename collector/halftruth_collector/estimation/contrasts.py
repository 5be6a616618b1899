"""Comparison of groups: differences and ratios of the shares of one answer, and their trend.

All are functions of a table of groups by answer, with errors by the delta method from the whole
covariance V of the table, those of ratios on the logarithmic scale. With a group that is not
significantly above zero, so that Fieller's set of its share is unbounded, nothing is compared.

Whether two shares a₁/x₁ and a₂/x₂ are equal is tested by their difference, with the error that it
has if they are: that of reports of people of whom one pooled share p̄ of both groups gives the
answer, whose part from sampling is p̄(1−p̄)(1/x₁ + 1/x₂)/(N−1). Where nothing is perturbed this is
the test of two proportions. With the error behind the interval, true equality would be rejected too
often in small groups (in 0.32 instead of 0.05 of surveys with 5 of 100 people in a group, and a
tenth of them giving the answer).
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import scipy
from halftruth_shared.analyses.comparison import Effect
from numpy.typing import NDArray

from .bounds import Array, normal_quantile
from .gradients import Jet
from .intervals import share_interval
from .ratios import Linear, Ratios, conditional_shares
from .table import SOMEBODY, Table

#: A variance is nothing but rounding if it is so small against that without any perturbation.
_ROUNDING = 1e-12

Mask = NDArray[np.bool_]

_NO_RATIO = {
    "risk_ratio": "a share is estimated to be 0 or less",
    "odds_ratio": "a share is estimated to be 0 or less, or 1 or more",
}


@dataclass(frozen=True, eq=False)
class Groups:
    """Estimates of one answer in G groups.

    Attributes
    ----------
    support : ndarray, shape (G, 2)
        Shares of all people who are in a group and do not or do give the answer.
    covariance : ndarray, shape (2G, 2G)
        Of these, in row-major order; NaN where the reports determine none.
    perturbation : ndarray, shape (2G, 2G)
        Its part that is perturbation alone.
    null_covariance : callable, optional
        Covariance of `support` where some groups have one share of the answer.
    logit : bool
        Whether shares never leave 0 to 1, so that their intervals are on the logit scale.
    """

    names: tuple[str, ...]
    support: Array
    covariance: Array
    perturbation: Array
    reports: int
    is_sample: bool
    null_covariance: Callable[[Mask, float], Array] | None = None
    logit: bool = False

    @classmethod
    def of_table(
        cls,
        table: Table,
        names: Sequence[str],
        chosen: Sequence[int],
        answer: int,
    ) -> "Groups":
        """Some groups, by their names and rows, and one answer, a column, of a table.

        Raises
        ------
        DomainTooLarge
            If the table is too large for its covariance.
        """
        rows, columns = table.support.shape
        is_answer = np.arange(columns) == answer
        merge = np.kron(np.eye(rows)[list(chosen)], np.stack([~is_answer, is_answer]))

        def null_covariance(alike: Mask, share: float) -> Array:
            shares, own = np.maximum(table.support, SOMEBODY), np.asarray(chosen)[alike]
            others = np.where(is_answer, 0.0, shares[own].sum(axis=0))
            answers = np.where(is_answer, share, (1 - share) * others / others.sum())
            shares[own] = shares[own].sum(axis=1, keepdims=True) * answers
            return table.null_covariance(shares / shares.sum(), merge)

        support = (merge @ table.support.ravel()).reshape(-1, 2)
        covariance = merge @ table.known_covariance() @ merge.T
        if table.logit:
            # The covariance behind the interval is that of the test, too (Wald).
            both = covariance, covariance
            return cls(tuple(names), support, *both, table.reports, is_sample=False, logit=True)
        return cls(
            tuple(names),
            support,
            covariance,
            merge @ table.alone.covariance() @ merge.T,
            table.reports,
            table.is_sample,
            null_covariance,
        )

    @property
    def base(self) -> Array:
        """Share of all people who are in each group, shape (G,)."""
        return np.asarray(self.support.sum(axis=1))


@dataclass(frozen=True, eq=False)
class Contrasts:
    """K shares, differences, ratios or slopes as columns.

    Attributes
    ----------
    value, standard_error : ndarray, shape (K,)
        NaN where undefined. The standard error of a ratio is that of its logarithm.
    lower, upper : ndarray, shape (K,)
        Ends of the intervals, the upper one infinite where nothing is too large.
    p_value : ndarray, shape (K,)
        Of the test that shares are equal; NaN where there is none.
    undefined : tuple of str
        Why there is no value; empty where there is one.
    gradient : ndarray, shape (K, 2G)
        Derivatives of each, of the logarithm of a ratio, by `Groups.support`; NaN where undefined.
    """

    value: Array
    standard_error: Array
    lower: Array
    upper: Array
    p_value: Array
    undefined: tuple[str, ...]
    gradient: Array


def shares_of(groups: Groups, confidence: float = 0.95) -> Contrasts:
    """Share of the answer in each group, with Fieller's intervals."""
    cells = Jet.variables(groups.support)
    undefined = tuple(_lacking(groups, cells, groups.names, normal_quantile(1 - confidence)))
    shares = conditional_shares(groups.support, groups.covariance, [0])
    sets = shares.sets(normal_quantile(1 - confidence), logit=groups.logit)
    bounded = np.where([not reason for reason in undefined], 0.0, np.nan)
    return Contrasts(
        shares.value[:, 1] + bounded,
        np.sqrt(shares.variance[:, 1]) + bounded,
        sets.lower[1::2] + bounded,
        sets.upper[1::2] + bounded,
        np.full(len(undefined), np.nan),
        undefined,
        _share(cells).gradient + bounded[:, None],
    )


def compare_groups(
    groups: Groups,
    reference: int | None = None,
    effect: Effect = "difference",
    confidence: float = 0.95,
) -> Contrasts:
    """Compare each group with a reference, or with all the others together.

    Parameters
    ----------
    groups : Groups
        Two or more.
    reference : int or None
        Position of the group that all others are compared with; None for each with the others.

    Returns
    -------
    Contrasts
        Of all groups but the reference, in their order.
    """
    base, others = groups.base, ["all others"] * len(groups.names)
    compared = [g for g in range(len(base)) if g != reference]
    cells = Jet.variables(groups.support)
    first = Jet(cells.value[compared], cells.gradient[compared])
    if reference is None:
        second = first.sum(0) - first
    else:
        here = [reference] * len(compared)
        second = Jet(cells.value[here], cells.gradient[here])
        others = [groups.names[reference]] * len(compared)
    quantile = normal_quantile(1 - confidence)
    names = [groups.names[g] for g in compared]
    undefined = [
        one or other
        for one, other in zip(
            _lacking(groups, first, names, quantile),
            _lacking(groups, second, others, quantile),
            strict=True,
        )
    ]
    there = np.array([not reason for reason in undefined])
    with np.errstate(divide="ignore", invalid="ignore"):
        effects = _effect(first, second, effect, groups.covariance)
        gradient = effects.jet.gradient
        scores = _equality(groups, _slopes(first, second))
        known = there & np.isfinite(effects.jet.value)
        p_value = np.where(there, 2 * scipy.special.ndtr(-np.abs(scores)), np.nan)
    ends = effects.interval(quantile)
    if groups.logit and isinstance(effects, Ratios):
        ends = effects.on_log_scale(quantile)
    elif groups.logit:
        sides = [_share(side) for side in (first, second)]
        both = Jet(
            np.stack([side.value for side in sides], axis=1),
            np.stack([side.gradient for side in sides], axis=1),
        )
        ends = _from_shares(both, np.array([1.0, -1.0]), groups.covariance, quantile)
    columns = (effects.value, effects.standard_error, *ends)
    value, error, lower, upper = (np.where(known, column, np.nan) for column in columns)
    for k in np.flatnonzero(there & ~known):
        undefined[k] = _NO_RATIO[effect]
    gradient = np.where(known[:, None], gradient, np.nan)
    return Contrasts(value, error, lower, upper, p_value, tuple(undefined), gradient)


def trend_weights(groups: int) -> Array:
    """Weights of the least-squares slope over so many groups, one after the other."""
    ranks = np.arange(groups) - (groups - 1) / 2
    return np.asarray(ranks / (ranks @ ranks))


def trend_of(groups: Groups, confidence: float = 0.95) -> Contrasts:
    """Average change of the share from one group to the next, as one effect.

    It is the contrast Σ c_g p̂_g with c_g = (g − ḡ)/Σ(g − ḡ)², the slope of the least-squares line
    through the shares of the groups, each of which weighs the same.
    """
    weights = trend_weights(len(groups.names))[None]
    quantile = normal_quantile(1 - confidence)
    cells = Jet.variables(groups.support)
    undefined = next(filter(None, _lacking(groups, cells, groups.names, quantile)), "")
    if undefined:
        nothing, unknown = np.full((1, groups.support.size), np.nan), np.full(1, np.nan)
        return Contrasts(unknown, unknown, unknown, unknown, unknown, (undefined,), nothing)
    share = _share(cells)
    slope = Linear(Jet(weights @ share.value, weights @ share.gradient), groups.covariance)
    ends = slope.interval(quantile)
    if groups.logit:
        every = Jet(share.value[None], share.gradient[None])
        ends = _from_shares(every, weights[0], groups.covariance, quantile)
    scores = _equality(groups, weights / groups.base, np.ones(weights.shape))
    p_value = 2 * scipy.special.ndtr(-np.abs(scores))
    value, error, gradient = slope.value, slope.standard_error, slope.jet.gradient
    return Contrasts(value, error, *ends, p_value, ("",), gradient)


def _lacking(groups: Groups, cells: Jet, names: Sequence[str], quantile: float) -> Iterator[str]:
    """For each row of cells why nothing can be divided by its base; empty where that can be."""
    bases = cells.sum(1)[:, 0]
    present = bases.clear(groups.covariance, quantile)
    errors_known = bool(np.isfinite(groups.covariance).all())
    for name, is_present in zip(names, present.tolist(), strict=True):
        if not errors_known:
            yield "the reports show no error"
        elif is_present:
            yield ""
        else:
            yield f"{name} is not significantly above zero"


def _share(cells: Jet) -> Jet:
    """Share of the answer in each row of cells."""
    return cells[:, 1] / cells.sum(1)[:, 0]


def _from_shares(
    shares: Jet, weights: Array, covariance: Array, quantile: float
) -> tuple[Array, Array]:
    """Intervals of contrasts of shares that never leave 0 to 1, from the intervals of these.

    Each end is as far away as the ends of the shares that it depends on (Zou & Donner 2008), so
    that it says more than a normal interval where a share is near 0 or 1.

    Parameters
    ----------
    shares : Jet, shape (K, S)
    weights : ndarray, shape (S,)
    covariance : ndarray, shape (V, V)
    """
    error = shares.standard_error(covariance)
    lower, upper = share_interval(shares.value, error, quantile, logit=True)
    below, above = shares.value - lower, upper - shares.value
    spread = shares.gradient @ covariance @ np.swapaxes(shares.gradient, -1, -2)
    error = np.where(error > 0, error, np.inf)
    correlation = spread / (error[:, :, None] * error[:, None, :])
    value = shares.value @ weights
    down, up = (
        np.sqrt(np.einsum("ks,kst,kt->k", reach, correlation, reach))
        for reach in (
            weights * np.where(weights > 0, below, above),
            weights * np.where(weights > 0, above, below),
        )
    )
    return value - down, value + up


def _effect(first: Jet, second: Jet, effect: Effect, covariance: Array) -> Linear:
    """Differences or ratios of shares, or ratios of odds."""
    if effect == "difference":
        return Linear(_share(first) - _share(second), covariance)
    beside = [
        side.sum(1)[:, 0] if effect == "risk_ratio" else side[:, 0] for side in (first, second)
    ]
    return Ratios.of([first[:, 1], beside[1]], [second[:, 1], beside[0]], covariance)


def _slopes(first: Jet, second: Jet) -> Array:
    """Derivative of each difference of shares in the number who give the answer, by group."""
    sides = [side[:, 1].gradient[:, 1::2] / side.sum(1).value for side in (first, second)]
    return np.asarray(sides[0] - sides[1])


def _equality(groups: Groups, slopes: Array, pooled: Array | None = None) -> Array:
    """Return scores of tests that all shares in a contrast are equal.

    Parameters
    ----------
    slopes : ndarray, shape (K, G)
        Of each contrast in the number who give the answer, by group; its weights are slopes ·
        base, which add up to 0.
    pooled : ndarray, shape (K, G), optional
        Which groups are pooled; by default those that are in the contrast.

    Returns
    -------
    ndarray, shape (K,)
        About standard normal if the shares are equal; NaN where nothing is left to chance.
    """
    base, giving = groups.base, groups.support[:, 1]
    members = slopes != 0 if pooled is None else pooled
    share = np.clip((members @ giving) / (members @ base), 0.0, 1.0)
    gradient = np.stack([-share[:, None] * slopes, (1 - share)[:, None] * slopes], axis=-1)
    gradient = gradient.reshape(len(slopes), -1)
    alone = np.einsum("kg,kg->k", slopes * base, slopes) / (groups.reports - 1)
    variance = np.einsum("kv,vw,kw->k", gradient, groups.perturbation, gradient)
    if groups.is_sample:
        variance = variance + share * (1 - share) * alone
    if groups.null_covariance is not None and groups.reports > 1:
        # Not by the reports of these very cells, which are fewer where an answer came out rare.
        patterns, pattern = np.unique(members.astype(bool), axis=0, return_inverse=True)
        variance = np.zeros(len(slopes))
        for number, alike in enumerate(patterns):
            rows = np.flatnonzero(pattern.ravel() == number)
            covariance = groups.null_covariance(alike, float(share[rows[0]]))
            variance[rows] = np.einsum("kv,vw,kw->k", gradient[rows], covariance, gradient[rows])
        if not groups.is_sample:
            variance -= share * (1 - share) * alone
    by_chance = variance > _ROUNDING * alone
    error = np.sqrt(np.where(by_chance, variance, np.nan))
    return np.asarray(slopes @ giving / error)
