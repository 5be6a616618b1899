"""Means, standard deviations and quantiles of ordered answers, such as the bins of numbers.

With the shares p of the answers within a group, their covariance C, and scores m of the answers:

- The mean is m·p, with variance mᵀCm.
- The variance of the answers is Σ m²p − (m·p)² + mᵀCm. The last term corrects the bias due to the
  error of the mean.
- The quantile of q is the point where the cumulative share F reaches q. Its interval contains all
  points where q is inside the interval F̂ ± z·se (Woodruff 1952; the test is inverted at each point
  instead of at the estimate alone, as in Francisco & Fuller 1991). It needs neither a density nor a
  monotone F̂: negative shares only widen it. If F̂ decreases, it is replaced for the estimate by
  the mean of its running maximum from below and its running minimum from above, which is monotone.

F̂ is interpolated linearly within a bin; the bins that contain the ends of an interval are valid
for any distribution within them. The discretization error of a mean is at most the largest distance
of an answer from the midpoint of its bin; the same bound holds for a standard deviation, by the
triangle inequality.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy
from halftruth_shared import Attribute, ParameterError
from halftruth_shared.analyses.distribution import CountedAs
from halftruth_shared.number import parse_number
from halftruth_shared.results import QUANTITIES, Quantity

from .answers import answer_codes, answers_of
from .bounds import Array
from .equation import score_values
from .estimates import Estimates, Function
from .independence import unskewed
from .intervals import SHARE, ConfidenceSets, deviation_of, mean_of
from .subgroups import Groups


def means_of(groups: Groups, values: Array) -> Estimates:
    """Return the mean score of each group."""
    found = Estimates.contrast(groups.table, _means(groups, values), mean_of(values))
    return found.where(groups.defined)


def _means(groups: Groups, values: Array) -> Function:
    return lambda people: np.einsum("gk...,k->g...", groups.shares(people), values)


def mean_differences(groups: Groups, values: Array, reference: int) -> Estimates:
    """Return the difference of each mean from that of the reference group, with its test.

    See `_scores` for the test.
    """
    others = np.delete(np.arange(len(groups)), reference)
    means = _means(groups, values)

    def differences(people: Any) -> Any:
        each = means(people)
        return each[others] - each[[reference] * len(others)]

    of = mean_of(values).contrast("mean_difference", [1, -1])
    found = Estimates.contrast(groups.table, differences, of)
    if not groups.table.logit:
        z, forms, nulls = _scores(groups, values, reference)
        p_value = 2 * scipy.special.ndtr(-np.abs(z))
        found = replace(found, statistic=z, p_value=p_value, forms=forms, nulls=nulls)
    return found.where(groups.defined[others] & groups.defined[reference])


def _scores(groups: Groups, values: Array, reference: int) -> tuple[Array, Array, list[Array]]:
    """Return score statistics of the differences of means, corrected for skewness.

    They are followed by the tested linear forms of the table, and by its shares under each null
    hypothesis.

    The variance is that of the reports if both groups gave the same answers. An estimated variance
    is too small where a small group has a small share by chance: such tests reject up to 12 % of
    true hypotheses. NaN if a group has no people.
    """
    table, found = groups.table, np.full(len(groups) - 1, np.nan)
    every = np.full((len(found), table.value.size), np.nan)
    nulls = [table.value] * len(found)
    codes, answers = groups.kept
    base = groups.base
    for place, number in enumerate(np.delete(np.arange(len(groups)), reference).tolist()):
        if table.reports < 2 or not (base[number] > 0 and base[reference] > 0):
            continue
        pooled = groups.pooled([number, reference])
        null = nulls[place] = groups.alike([number, reference], pooled)
        centred, form = values - pooled @ values, np.zeros(table.value.shape)
        form[codes[number], answers] = centred / base[number]
        form[codes[reference], answers] = -centred / base[reference]
        forms = every[place : place + 1] = form.reshape(1, -1)
        [[variance]] = table.covariance(forms, null)
        if not variance > 0:
            continue
        score = (form * table.value).sum() / np.sqrt(variance)
        skewness = table.third_moment(forms, null)[0] / variance**1.5
        found[place] = unskewed(score, np.asarray(skewness))
    return found, every, nulls


def deviations_of(groups: Groups, scores: Array) -> Estimates:
    """Return the standard deviations; their intervals are those of the variances.

    NaN if the estimated variance is not positive.
    """
    mean = means_of(groups, scores)
    # Without a known covariance, the bias is not corrected.
    of_mean = np.square(mean.standard_error) if groups.known else np.zeros(len(groups))
    # Centre at the mean to avoid cancellation of large values.
    centred = (scores - mean.value[:, None]) ** 2

    def squared(people: Any) -> Any:
        return np.einsum("gk...,gk->g...", groups.shares(people), centred)

    squares = Estimates.contrast(groups.table, squared, deviation_of(scores))
    variance = np.where(squares.value + of_mean > 0, squares.value + of_mean, np.nan)
    # To second order: between two answers given equally often, the first one is 0.
    error = np.sqrt(squares.standard_error**2 + 2 * of_mean**2)
    deviation = np.sqrt(variance)

    def sets(quantile: float) -> ConfidenceSets:
        ends = (variance - quantile * error, variance + quantile * error)
        return ConfidenceSets.intervals(*(np.sqrt(np.maximum(end, 0.0)) for end in ends))

    return Estimates(squares.of, deviation, error / (2 * deviation), sets)


def shares_of_answers(groups: Groups) -> Estimates:
    """Return the shares of all answers within each group, in row-major order."""
    return _curve(groups, groups.shares, SHARE)


def cumulative_shares(groups: Groups) -> Estimates:
    """Return F̂, the cumulative share of each answer; exactly 1 for the last one."""

    def curve(people: Any) -> Any:
        whole = groups.shares(people).cumsum(axis=1)
        whole[:, -1] = 1.0
        return whole

    return _curve(groups, curve, QUANTITIES["cumulative_share"])


def _curve(groups: Groups, function: Function, of: Quantity) -> Estimates:
    def each(people: Any) -> Any:
        found = function(people)
        return found.reshape(-1, *found.shape[2:])

    found = Estimates.contrast(groups.table, each, of)
    return found.where(np.repeat(groups.defined, len(groups.kept[-1])))


def quantiles_of(
    groups: Groups, share: float, values: Array, edges: Array | None = None
) -> Estimates:
    """Return a quantile of each group, with its interval (Woodruff).

    Parameters
    ----------
    groups : Groups
    share : float
    values : ndarray, shape (k,)
        Scores of the answers.
    edges : ndarray, shape (k + 1,), optional
        Ends of the bins; the quantile is interpolated within a bin. Without them, it is the score
        of an answer.
    """
    curves = cumulative_shares(groups)
    shape = (len(groups), len(values))
    covariance = curves.covariance.reshape(*shape, *shape)
    every = [
        (curve, covariance[g, :, g])
        for g, curve in enumerate(curves.value.reshape(shape))
        if groups.defined[g]
    ]
    value = np.full(len(groups), np.nan)
    value[groups.defined] = [_reached(curve, share, values, edges) for curve, _ in every]

    def sets(quantile: float) -> ConfidenceSets:
        ends = np.full((2, len(groups)), np.nan)
        if groups.known:
            of_curves = [_around(*each, share, quantile, values, edges) for each in every]
            ends[:, groups.defined] = np.reshape(of_curves, (-1, 2)).T
        return ConfidenceSets.intervals(*ends)

    of = mean_of(values, edges, "percentile")
    return Estimates(of, value, np.full(len(groups), np.nan), sets)


def _reached(curve: Array, share: float, values: Array, edges: Array | None) -> float:
    """Return where a cumulative share is reached by a curve that does not fall."""
    up, down = np.maximum.accumulate(curve), np.minimum.accumulate(curve[::-1])[::-1]
    growing = np.clip((up + down) / 2, 0.0, 1.0)
    answer = int(np.argmax(growing >= share))
    if edges is None:
        return float(values[answer])
    return _inside(growing, np.zeros((curve.size,) * 2), answer, share, 0.0, edges)


def _around(
    curve: Array, spread: Array, share: float, z: float, values: Array, edges: Array | None
) -> tuple[float, float]:
    """Return the first and the last score at which a share is within z standard errors of F̂.

    `spread` is the covariance of the cumulative shares, shape (k, k).
    """
    error = np.sqrt(np.maximum(np.diag(spread), 0.0))
    first = int(np.argmax(curve + z * error >= share))
    below = np.flatnonzero(curve - z * error < share)
    last = int(below[-1]) + 1 if below.size else 0
    if edges is None:
        return float(values[first]), float(values[last])
    lower = _inside(curve, spread, first, share, z, edges)
    return lower, _inside(curve, spread, last, share, -z, edges)


def _inside(curve: Array, spread: Array, place: int, share: float, z: float, edges: Array) -> float:
    """Return the point in a bin where F̂ ± z standard errors reaches a share."""
    before, after = (curve[place - 1] if place else 0.0), curve[place]
    covariance = np.zeros((2, 2))
    near = slice(max(place - 1, 0), place + 1)
    size = place + 1 - near.start
    covariance[-size:, -size:] = spread[near, near]

    def lacking(part: float) -> float:
        weights = np.array([1 - part, part])
        error = np.sqrt(max(weights @ covariance @ weights, 0.0))
        return float(weights @ (before, after) + z * error - share)

    part = scipy.optimize.brentq(lacking, 0.0, 1.0) if lacking(1.0) > 0 else 1.0
    return float(edges[place] + part * (edges[place + 1] - edges[place]))


@dataclass(frozen=True, eq=False)
class Scale:
    """Scores of the answers to a question.

    Attributes
    ----------
    edges : ndarray or None
        Ends of the bins of a number.
    bin_error : float or None
        Largest discretization error of means.
    """

    answers: tuple[str, ...]
    values: Array
    counted_as: CountedAs
    edges: Array | None = None
    bin_error: float | None = None


def scale_of(attribute: Attribute, scores: Mapping[str, str]) -> Scale:
    """Return the scores of the answers to a question.

    Parameters
    ----------
    scores : mapping of str to str
        For this attribute "ranks", or increasing numbers such as "20,45,70".

    Raises
    ------
    ParameterError
    """
    answers = answers_of(attribute)
    if len(answers) < 2:
        raise ParameterError(
            f"attribute: '{attribute.name}' has one answer besides those missing; expected an"
            " attribute with two or more",
            field="attribute",
        )
    for name, text in scores.items():
        if name != attribute.name:
            raise ParameterError(
                f"scores: '{name}' is not the attribute that is described; expected"
                f" {attribute.name}=ranks, or numbers",
                field="scores",
            )
        values = np.array(score_values(name, len(answers), text))
        if not (np.diff(values) > 0).all():
            raise ParameterError(
                "scores: expected numbers that grow, as the answers are in an order", field="scores"
            )
        return Scale(answers, values, "ranks" if text.strip() == "ranks" else "scores")
    if attribute.number is not None:
        edges = [float(edge) for edge in attribute.number.edges]
        middles = np.array([float(middle) for middle in attribute.number.midpoints])
        # The largest distance of an answer from the midpoint of its bin.
        error = (float(np.diff(edges).max()) - attribute.number.whole) / 2
        return Scale(answers, middles, "middles", np.array(edges), error)
    read = [parse_number(answer) for answer in answers]
    values = np.array([np.nan if one is None else float(one) for one in read])
    if (np.diff(values) > 0).all():
        return Scale(answers, values, "numbers")
    return Scale(answers, np.arange(1.0, len(answers) + 1), "ranks")


def scale_of_groups(groups: Attribute, detail: Attribute) -> Scale:
    """Return the scores of groups of answers: the middles of the scores in each.

    A group is like a bin of a number: the distance of its answers from the middle bounds the error
    of means. Answers without numbers have groups with ranks.

    Parameters
    ----------
    groups, detail : Attribute
        The question with the groups, and with the answers in detail.

    Examples
    --------
    >>> scores = [str(number) for number in range(6)]
    >>> few = {"low": scores[:2], "middle": scores[2:4], "high": scores[4:]}
    >>> scale = scale_of_groups(Attribute("a", [*few]), Attribute("a", scores, collapsed=few))
    >>> scale.values.tolist(), scale.bin_error
    ([0.5, 2.5, 4.5], 0.5)
    """
    scale = scale_of(detail, {})
    if scale.counted_as == "ranks":
        return scale_of(groups, {})
    group_of = np.array(detail.groups.codes)[list(answer_codes(detail))]
    firsts, lasts = (
        np.array([each(np.flatnonzero(group_of == code)) for code in dict.fromkeys(group_of)])
        for each in (np.min, np.max)
    )
    answers, own = answers_of(groups), scale.bin_error or 0.0
    if scale.edges is not None:
        edges = np.append(scale.edges[firsts], scale.edges[-1])
        values = (edges[:-1] + edges[1:]) / 2
        apart = np.maximum(values - scale.values[firsts], scale.values[lasts] - values)
        return Scale(answers, values, "middles", edges, float(apart.max()) + own)
    low, high = scale.values[firsts], scale.values[lasts]
    return Scale(answers, (low + high) / 2, "scores", None, float((high - low).max()) / 2)
