"""Shares of one answer in groups, compared: differences, ratios and trends.

All are functions of the table of the groups and the answer, with errors by the delta method; ratios
have intervals on the logarithmic scale. A group whose size is not significantly above zero is not
compared, because the score set of its share is unbounded.

The equality of two shares a₁/x₁ and a₂/x₂ is tested by a score test: the variance of their
difference is evaluated under the null hypothesis, with one pooled share p̄ in both groups. Without
perturbation this is the test of two proportions. A Wald test, with the standard error of the
interval, rejects true equality too often in small groups (in 0.32 instead of 0.05 of surveys with 5
of 100 people in a group and an answer of 10 %). Estimates by a model use Wald tests.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy
from halftruth_shared.analyses.comparison import Effect
from halftruth_shared.deadlines import check_deadline
from halftruth_shared.results import QUANTITIES
from numpy.typing import NDArray

from .bounds import Array, normal_quantile
from .estimates import Estimates, Function, Sets, differentiate, positive
from .intervals import SHARE, ConfidenceSets, share_interval
from .subgroups import Groups
from .table import SOMEBODY, Table
from .variances import RatioVariance, error_parts, ratio_covariance

#: A variance of a base below this fraction of the largest variance of a cell, or one of a contrast
#: below this fraction of the variance without perturbation, is rounding error.
_ROUNDING = 1e-12

#: Largest number of elements of arrays of reports by cells.
_AT_ONCE = 2**18

#: Sums of cells, see `ratio_variance`.
Sums = Callable[[Array], Array]

_NO_RATIO = {
    "risk_ratio": "a share is estimated to be 0 or less",
    "odds_ratio": "a share is estimated to be 0 or less, or 1 or more",
}


def shares_within(table: Table, given: Sequence[int]) -> Estimates:
    """Estimate the distribution of the other attributes within each group, with score sets.

    Parameters
    ----------
    table : Table
    given : sequence of int
        Axes of the attributes whose categories form the groups. Without any, all people are one
        group, and shares are those of the table.

    Returns
    -------
    Estimates
        Of all cells in row-major order. The gradient is NaN where the share of a group is not
        positive.
    """
    others = tuple(axis for axis in range(table.value.ndim) if axis not in given)

    def shares(people: Any) -> Any:
        cells = people / positive(people.sum(axis=others, keepdims=True))
        return cells.reshape(-1, *people.shape[table.value.ndim :])

    def in_groups(cells: Array) -> Array:
        shape = (*table.value.shape, *cells.shape[1:])
        summed = cells.reshape(shape).sum(axis=others, keepdims=True)
        return np.broadcast_to(summed, shape).reshape(cells.shape)

    def moments(covariance: Array) -> tuple[Array, Array, Array]:
        """Variances of each cell and of its base, and their covariance."""
        with_base = in_groups(covariance)
        return np.diag(covariance), np.diag(in_groups(with_base.T)), np.diag(with_base)

    support = table.value.ravel()
    base = in_groups(support)
    variance, of_base, with_base = moments(table.identified_covariance())
    # A base without error, such as that of all people, is exact up to rounding.
    of_base = np.where(np.abs(of_base) <= _ROUNDING * variance.max(), 0.0, of_base)
    found = Estimates.quotient(
        SHARE,
        support,
        base,
        (variance, of_base),
        with_base,
        logit=table.logit,
        tested=ratio_variance(table, lambda cells: cells, in_groups),
        table=table,
        function=shares,
    )
    of_cell, of_base, with_base = moments(table.alone.covariance())
    alone = ratio_covariance(of_cell, found.value, found.value, with_base, with_base, of_base)
    known = np.where(np.isnan(found.standard_error), np.nan, alone / base**2)
    return replace(found, parts=error_parts(found.standard_error**2, known))


def ratio_variance(table: Table, part: Sums, whole: Sums) -> RatioVariance | None:
    """Return the variances of K shares of a part of the people in a whole, by the tested share.

    The people of the part, the others of the whole, and all people outside of it are each in
    proportion to their estimates, cut at 0.

    Parameters
    ----------
    table : Table
    part, whole : callable
        Sums of cells: arrays (cells, …) in row-major order become arrays (K, …).

    Returns
    -------
    RatioVariance or None
        None if the table does not know the probabilities of reports, or for fewer than two reports.
    """
    distributions = table.reports_of_cells()
    if distributions is None or table.reports < 2:
        return None
    people = np.maximum(table.value, SOMEBODY).ravel()
    people /= people.sum()
    inside, size = part(people), whole(people)
    others = size - inside
    alone = others <= _ROUNDING * size
    nobody, everybody, between = np.zeros((3, 3, len(size)))
    for each in distributions:
        # Means and moments of nobody and everybody, of the part and the whole.
        means, seconds = np.zeros((2, 2, len(size))), np.zeros((2, 3, len(size)))
        step = max(1, _AT_ONCE // len(people))
        for start in range(0, len(each.weights), step):
            check_deadline()
            some = slice(start, start + step)
            reports = each.chances[:, some] * people[:, None]
            of_part, of_whole = part(reports), whole(reports)
            outside = reports.sum(axis=0) - of_whole
            weights = part(each.weights[some].T), whole(each.weights[some].T)
            products = _products(*weights)
            for end, of_all in enumerate(
                (
                    (of_whole - of_part) * (size / np.where(alone, 1.0, others))[:, None],
                    of_part * (size / inside)[:, None],
                )
            ):
                chances = outside + of_all
                means[end] += [np.einsum("ky,ky->k", chances, weight) for weight in weights]
                seconds[end] += [np.einsum("ky,ky->k", chances, square) for square in products]
        for end, moments in enumerate((nobody, everybody)):
            moments += each.reports * (seconds[end] - _products(*means[end]))
        between += each.reports * _products(*(means[1] - means[0]))
    factor = table.reports / (table.reports - 1)
    nobody, everybody, between = (factor * each for each in (nobody, everybody, between))
    sampled = table.fraction * size / (table.reports - 1)
    return RatioVariance(np.where(alone, everybody, nobody), everybody, between, sampled)


def _products(of_part: Array, of_whole: Array) -> Array:
    return np.array([of_part**2, of_part * of_whole, of_whole**2])


def with_answer(groups: Groups, answer: int) -> Function:
    """Return the function of the shares of members without and with an answer, (G, 2, …)."""
    others = [code for code in range(len(groups.kept[-1])) if code != answer]

    def cells(people: Any) -> Any:
        members = groups.cells(people)
        return np.stack([members[:, others].sum(axis=1), members[:, answer]], axis=1)

    return cells


def with_tests(
    found: Estimates,
    groups: Groups,
    answer: int,
    slopes: Array,
    pooled: Array | None = None,
) -> Estimates:
    """Return contrasts of shares with tests that all shares in each are equal.

    The p-value is NaN if the variance under the null hypothesis is 0.

    Parameters
    ----------
    slopes : ndarray, shape (K, G)
        Gradient of each contrast in the share of people with the answer, by group. The weights of
        the contrast are slopes · base, which add up to 0.
    pooled : ndarray, shape (K, G), optional
        Groups that are pooled under the null hypothesis; by default those in the contrast.
    """
    table, base = groups.table, groups.base
    giving = groups.cells(table.value)[:, answer]
    members = slopes != 0 if pooled is None else pooled
    share = np.clip((members @ giving) / (members @ base), 0.0, 1.0)
    is_answer = np.arange(table.value.shape[1]) == answer
    forms = np.zeros((len(slopes), *table.value.shape))
    forms[:, list(groups.kept[0])] = slopes[:, :, None] * (is_answer - share[:, None])[:, None, :]
    forms = forms.reshape(len(slopes), -1)
    # The null variance does not use the tested cells: they have fewer reports if rare by chance.
    patterns, pattern = np.unique(members.astype(bool), axis=0, return_inverse=True)
    variance, nulls = np.zeros(len(slopes)), [table.value] * len(slopes)
    for number, alike in enumerate(patterns):
        check_deadline()
        chosen = np.flatnonzero(pattern.ravel() == number)
        null = None
        if not table.logit:
            inside = np.flatnonzero(alike).tolist()
            others = np.where(is_answer, 0.0, groups.pooled(inside))
            known = float(share[chosen[0]])
            answers = np.where(is_answer, known, (1 - known) * others / others.sum())
            null = groups.alike(inside, answers)
            for row in chosen.tolist():
                nulls[row] = null
        variance[chosen] = np.diag(table.covariance(forms[chosen], null))
    alone = np.einsum("kg,kg->k", slopes * base, slopes) / max(table.reports - 1, 1)
    error = np.sqrt(np.where(variance > _ROUNDING * alone, variance, np.nan))
    p_values = 2 * scipy.special.ndtr(-np.abs(slopes @ giving / error))
    if table.logit:
        return replace(found, p_value=p_values)
    return replace(found, p_value=p_values, forms=forms, nulls=nulls)


def shares_of(groups: Groups, answer: int, confidence: float = 0.95) -> Estimates:
    """Estimate the share of the answer in each group, with score intervals.

    A share is undefined if its group is not significantly above zero at the level.
    """
    table, cells = groups.table, with_answer(groups, answer)
    undefined = groups.undefined(cells, groups.names, normal_quantile(1 - confidence))
    pairs, slopes = differentiate(cells, table.value)
    slopes[:, 0] += slopes[:, 1]
    known = groups.covariance
    within = slopes @ known @ np.swapaxes(slopes, 1, 2)

    def in_table(rows: Array) -> Array:
        return np.asarray(cells(rows.reshape(*table.value.shape, *rows.shape[1:])))

    def whole(rows: Array) -> Array:
        return np.asarray(in_table(rows).sum(axis=1))

    found = Estimates.quotient(
        SHARE,
        pairs[:, 1],
        pairs.sum(axis=1),
        (within[:, 1, 1], within[:, 0, 0]),
        within[:, 0, 1],
        logit=table.logit,
        tested=ratio_variance(table, lambda rows: in_table(rows)[:, 1], whole),
        table=table,
        function=lambda people: _share(cells(people)),
    )
    return found.where(np.array([not reason for reason in undefined]), undefined)


def compare_groups(
    groups: Groups,
    answer: int,
    reference: int | None = None,
    effect: Effect = "difference",
    confidence: float = 0.95,
) -> Estimates:
    """Estimate and test the effect of each group against a reference or all other groups.

    There are two groups or more. The contrasts are of all groups but the reference, in their
    order; without a reference, each group is compared with all others together. A group that is not
    significantly above zero at the level is not compared.
    """
    table, quantile = groups.table, normal_quantile(1 - confidence)
    cells_of = with_answer(groups, answer)
    compared = [g for g in range(len(groups.names)) if g != reference]
    names, others = [groups.names[g] for g in compared], ["all others"] * len(compared)
    if reference is not None:
        others = [groups.names[reference]] * len(compared)

    def first(people: Any) -> Any:
        return cells_of(people)[compared]

    def second(people: Any) -> Any:
        cells = cells_of(people)
        if reference is None:
            return cells.sum(axis=0, keepdims=True) - cells
        return cells[[reference] * len(compared)]

    sides = [groups.undefined(*side, quantile) for side in ((first, names), (second, others))]
    undefined = [one or other for one, other in zip(*sides, strict=True)]
    there = np.array([not reason for reason in undefined])
    effects = _effect(table, first, second, effect)
    own = np.eye(len(groups.names))[compared]
    others_of = 1 - own if reference is None else np.eye(len(own) + 1)[[reference] * len(own)]
    with np.errstate(divide="ignore", invalid="ignore"):
        slopes = [side / (side @ groups.base)[:, None] for side in (own, others_of)]
        effects = with_tests(effects, groups, answer, np.subtract(*slopes))
    known = there & np.isfinite(effects.value)
    undefined = [
        _NO_RATIO[effect] if yes and not finite else reason
        for reason, yes, finite in zip(undefined, there, known, strict=True)
    ]
    found = effects.where(known, undefined)
    return replace(found, p_value=np.where(there, np.asarray(effects.p_value), np.nan))


def trend_weights(groups: int) -> Array:
    """Return the weights of the least-squares slope over equidistant groups."""
    ranks = np.arange(groups) - (groups - 1) / 2
    return np.asarray(ranks / (ranks @ ranks))


def trend_of(groups: Groups, answer: int, confidence: float = 0.95) -> Estimates:
    """Estimate the linear trend: the average change of the share from one group to the next.

    It is the contrast Σ c_g p̂_g with c_g = (g − ḡ)/Σ(g − ḡ)², the slope of the least-squares line
    through the shares of the groups, with equal weights. It is undefined if a group is not
    significantly above zero at the level.
    """
    table, weights = groups.table, trend_weights(len(groups.names))[None]
    of = SHARE.contrast("trend", weights[0].tolist())
    undefined = next(
        filter(None, groups.undefined(groups.cells, groups.names, normal_quantile(1 - confidence))),
        "",
    )

    def shares(people: Any) -> Any:
        return groups.shares(people)[:, answer]

    trend = Estimates.contrast(table, lambda p: np.tensordot(weights, shares(p), axes=1), of)
    if table.logit:
        every = Estimates.contrast(table, shares, SHARE)
        terms = np.arange(len(groups.names))[None]
        trend = replace(trend, sets=sets_from_shares(every, terms, weights))
    with np.errstate(divide="ignore", invalid="ignore"):
        slopes, everybody = weights / groups.base, np.ones(weights.shape)
        trend = with_tests(trend, groups, answer, slopes, everybody)
    return trend.where(np.array([not undefined]), [undefined])


def _share(cells: Any) -> Any:
    """Share of the answer in each row of cells."""
    return cells[:, 1] / positive(cells.sum(axis=1))


def _effect(table: Table, first: Function, second: Function, effect: Effect) -> Estimates:
    """Return differences or ratios of shares, or ratios of odds."""
    of = QUANTITIES[effect]
    if effect == "difference":
        found = Estimates.contrast(table, lambda p: _share(first(p)) - _share(second(p)), of)
        if not table.logit:
            return found
        both = Estimates.contrast(
            table, lambda p: np.concatenate([_share(first(p)), _share(second(p))]), SHARE
        )
        terms = np.arange(len(both.value)).reshape(2, -1).T
        return replace(found, sets=sets_from_shares(both, terms, np.array([1.0, -1.0])))

    def beside(cells: Any) -> Any:
        return cells.sum(axis=1) if effect == "risk_ratio" else cells[:, 0]

    def factors(people: Any) -> Any:
        one, other = first(people), second(people)
        return np.stack([one[:, 1], beside(other), other[:, 1], beside(one)])

    signs = [1, 1, -1, -1]
    known = table.identified_covariance()
    return Estimates.ratio(
        of,
        *differentiate(factors, table.value),
        signs,
        known,
        bounded=table.logit,
        table=table,
        function=lambda p: np.tensordot(signs, np.log(positive(factors(p))), axes=1),
    )


def sets_from_shares(shares: Estimates, terms: NDArray[np.int64], weights: Array) -> Sets:
    """Return intervals of contrasts of shares by a model, from the intervals of the shares.

    Parameters
    ----------
    shares : Estimates
        Of one table.
    terms : ndarray of int, shape (K, S)
        The shares of each contrast.
    weights : ndarray, shape (S,)
    """
    error = shares.standard_error
    known = np.where(error > 0, error, np.inf)
    correlation = (shares.covariance / np.outer(known, known))[terms[:, :, None], terms[:, None]]

    def sets(quantile: float) -> ConfidenceSets:
        ends = share_interval(shares.value, error, quantile, logit=True)
        columns = (each[terms] for each in (shares.value, *ends))
        return contrast_sets(*columns, weights=weights, correlation=correlation)

    return sets


def contrast_sets(
    value: Array,
    lower: Array,
    upper: Array,
    *,
    weights: Array,
    correlation: Array | None = None,
) -> ConfidenceSets:
    """Return intervals of weighted sums from the intervals of their terms (MOVER).

    The distance of each end follows from the ends of the terms (Zou & Donner 2008), which preserves
    asymmetry.

    Parameters
    ----------
    value, lower, upper : ndarray, shape (K, S)
        S terms of each of K sums, with the ends of their intervals.
    weights : ndarray, shape (S,)
    correlation : ndarray, shape (K, S, S), optional
        Of the terms of each sum; they are independent by default.
    """
    below, above = value - lower, upper - value

    def reach(at: Array) -> Array:
        if correlation is None:
            return np.asarray(np.sqrt(np.square(at).sum(axis=1)))
        return np.asarray(np.sqrt(np.einsum("ks,kst,kt->k", at, correlation, at)))

    middle = (value * weights).sum(axis=1)
    down = reach(weights * np.where(weights > 0, below, above))
    up = reach(weights * np.where(weights > 0, above, below))
    return ConfidenceSets.intervals(middle - down, middle + up)
