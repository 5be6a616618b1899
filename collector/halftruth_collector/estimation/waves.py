"""Changes and trends over waves: contrasts of estimates of the same numbers at several times.

Given the true answers, reports of different waves are independent. So for exactly these
respondents, the variance of Σ c_w θ̂_w is Σ c_w² var(θ̂_w), whether or not the same people
answered. For the sampled population, if the same n people took part, it has the additional term 2
Σ_{v<w} c_v c_w cov(x_v, x_w)/n, where x_w indicates the answer in wave w. This covariance is not
identified by unlinked reports. It is positive if answers are stable, so the sum of the variances is
conservative for a change.

The equality of levels is tested by a score test: variances are evaluated at answers that are
pooled, within each group, over the compared waves. In a Wald test, a wave with few reports and no
report of a rare answer would have a standard error near 0.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import scipy
from halftruth_shared import Attribute, Schema
from halftruth_shared.deadlines import check_deadline
from halftruth_shared.results import QUANTITIES, Quantity

from .answers import answer_codes
from .bounds import Array
from .contrasts import compare_groups, contrast_sets
from .distribution import Scale, mean_differences, means_of, scale_of
from .estimates import Estimates, differentiate, shares_of_table
from .estimator import Estimator
from .false_reports import DECISIVE, moved_by
from .intervals import SHARE, ConfidenceSets, mean_of
from .subgroups import Groups
from .table import SOMEBODY, Table

_DIFFERENCE = QUANTITIES["share_difference"]


class Rows(NamedTuple):
    """Labels of K estimates of one question: shares, means or differences between groups.

    Answers are None for means, and groups are None unless the estimates are differences from a
    reference group.
    """

    attribute: str
    answers: tuple[str | None, ...]
    groups: tuple[str | None, ...]
    of: Quantity


def levels_of(
    estimator: Estimator,
    name: str,
    *,
    groups: str | None = None,
    reference: str | None = None,
    scores: Mapping[str, str] | None = None,
    confidence: float = 0.95,
) -> dict[Rows, Estimates]:
    """Return the levels of one question in one wave: shares, and means of ordered answers.

    Parameters
    ----------
    groups, reference : str, optional
        An attribute and one of its categories: levels are then differences of each other group
        from this one.
    scores : mapping of str to str, optional
        Scores of the answers to some questions, see `scale_of`.

    Raises
    ------
    SchemaError, ParameterError, EstimateError, DomainTooLarge
        As for `Estimator.table` and `scale_of`.
    """
    attribute = estimator.schema.attributes[estimator.schema.position(name)]
    scale = _scale(attribute, scores or {})
    if groups is None or reference is None:
        return dict(_of_everybody(estimator, attribute, scale))
    grouping = estimator.schema.attributes[estimator.schema.position(groups, "groups")]
    place = grouping.categories.index(reference)
    table = estimator.table([groups, name])
    schema = estimator.schema
    return dict(_differences(table, schema, attribute, grouping, place, scale, confidence))


def _scale(attribute: Attribute, scores: Mapping[str, str]) -> Scale | None:
    if attribute.name in scores:
        return scale_of(attribute, {attribute.name: scores[attribute.name]})
    if len(attribute.categories) - len(attribute.missing) < 2:
        return None
    scale = scale_of(attribute, {})
    return scale if attribute.ordered or scale.counted_as != "ranks" else None


def _of_everybody(
    estimator: Estimator, attribute: Attribute, scale: Scale | None
) -> Iterator[tuple[Rows, Estimates]]:
    table, answers = estimator.table([attribute.name]), attribute.categories
    rows = Rows(attribute.name, answers, (None,) * len(answers), SHARE)
    yield rows, shares_of_table(table, SHARE)
    if scale is not None:
        within = Groups.answered(estimator.schema, table)
        yield _of_mean(attribute, [None], scale), means_of(within, scale.values)


def _differences(
    table: Table,
    schema: Schema,
    attribute: Attribute,
    grouping: Attribute,
    reference: int,
    scale: Scale | None,
    confidence: float,
) -> Iterator[tuple[Rows, Estimates]]:
    names, every = grouping.categories, range(len(grouping.categories))
    groups = tuple(names[g] for g in every if g != reference)
    of_all = Groups.of_codes(table, every, names)
    for code, answer in enumerate(attribute.categories):
        rows = Rows(attribute.name, (answer,) * len(groups), groups, _DIFFERENCE)
        each = compare_groups(of_all, code, reference, confidence=confidence)
        yield rows, replace(each, of=_DIFFERENCE, p_value=None, undefined=None)
    # Groups that are no answer have no mean.
    kept = answer_codes(grouping)
    if scale is not None and reference in kept:
        within, at = Groups.answered(schema, table), kept.index(reference)
        means = mean_differences(within, scale.values, at)
        others = [names[code] for code in kept if code != reference]
        yield (
            _of_mean(attribute, others, scale),
            replace(means, statistic=None, p_value=None),
        )


def _of_mean(attribute: Attribute, groups: Sequence[str | None], scale: Scale) -> Rows:
    of = mean_of(scale.values)
    if any(groups):
        of = of.contrast("mean_difference", [1, -1])
    return Rows(attribute.name, (None,) * len(groups), tuple(groups), of)


def contrast(waves: Sequence[Estimates], weights: Array, of: Quantity) -> Estimates:
    """Return Σ_w c_w θ̂_w of independent estimates, tested against 0.

    Parameters
    ----------
    waves : sequence of Estimates
        The same K numbers in each of W waves.
    weights : ndarray, shape (W,)
        c, with the sum 0.

    Examples
    --------
    >>> from halftruth_collector.estimation.estimates import normal_sets
    >>> def level(share, error):
    ...     value, error = np.array([share]), np.array([error])
    ...     return Estimates(SHARE, value, error, normal_sets(value, error))
    >>> change = contrast([level(0.30, 0.03), level(0.34, 0.04)], np.array([-1.0, 1.0]), SHARE)
    >>> change.value.round(2), change.standard_error.round(2), change.sets(2).lower.round(2)
    (array([0.04]), array([0.05]), array([-0.06]))
    """
    value, error = (
        np.stack([getattr(each, name) for each in waves], axis=1)
        for name in ("value", "standard_error")
    )
    change, of_change = value @ weights, _root_of_squares(weights * error)
    alike = _errors_if_equal(waves, weights)
    chance = np.where(of_change > 0, _root_of_squares(weights * alike), np.nan)
    score = np.abs(change) / np.where(chance > 0, chance, np.nan)
    perturbation, sampling = (
        _root_of_squares(weights * np.stack(each, axis=1)) for each in _parts(waves)
    )

    def sets(quantile: float) -> ConfidenceSets:
        of_waves = [each.sets(quantile) for each in waves]
        lower, upper = (
            np.stack([getattr(each, name) for each in of_waves], axis=1)
            for name in ("lower", "upper")
        )
        return contrast_sets(value, lower, upper, weights=weights)

    p_value = 2 * scipy.special.ndtr(-score)
    return Estimates(
        of,
        change,
        of_change,
        sets,
        parts=(perturbation, sampling),
        p_value=p_value,
        moved=_moved(waves, weights, change, score),
    )


def _moved(waves: Sequence[Estimates], weights: Array, change: Array, score: Array) -> Array | None:
    """Return by how much one false report can move the tests, in the wave where it moves most."""
    if any(each.table is None for each in waves):
        return None
    if not (score >= DECISIVE).any():
        return np.full(len(score), np.nan)
    moved = [
        moved_by(table, weight * each.gradient, change, score)
        for each, weight in zip(waves, weights, strict=True)
        if weight and (table := each.table) is not None
    ]
    return np.asarray(np.max(moved, axis=0))


def _errors_if_equal(waves: Sequence[Estimates], weights: Array) -> Array:
    """Return the standard errors in each wave if the contrasted waves had the same answers.

    The distribution of the answers within each group is pooled over these waves; each wave keeps
    its sizes of groups. Estimates that are no functions of a table keep their errors.
    """
    if any(each.table is None for each in waves):
        return np.stack([each.standard_error for each in waves], axis=1)
    sources = [each.source for each in waves]
    compared = [table for (table, _), weight in zip(sources, weights, strict=True) if weight]
    people = np.sum([table.reports * table.value for table in compared], axis=0)
    pooled = np.maximum(people / people.sum(), SOMEBODY)
    pooled /= pooled.sum(axis=-1, keepdims=True)
    errors = []
    for table, function in sources:
        check_deadline()
        groups = np.maximum(table.value, SOMEBODY).sum(axis=-1, keepdims=True)
        null = pooled * groups / groups.sum()
        _, forms = differentiate(function, null)
        variance = np.diag(table.covariance(forms, null))
        errors.append(np.sqrt(np.maximum(variance, 0.0)))
    return np.stack(errors, axis=1)


def stacked(waves: Sequence[Estimates]) -> Estimates:
    """Return K estimates of each of W waves as one, with the waves of each number in a row."""

    def column(each: Sequence[Array]) -> Array:
        return np.stack(each, axis=1).ravel()

    perturbation, sampling = map(column, _parts(waves))

    def sets(quantile: float) -> ConfidenceSets:
        of_waves = [each.sets(quantile) for each in waves]
        kind = np.stack([each.kind for each in of_waves], axis=1).ravel()
        ends = ([getattr(each, name) for each in of_waves] for name in ("lower", "upper"))
        return ConfidenceSets(kind, *map(column, ends))

    p_values = [each.p_value for each in waves if each.p_value is not None]
    moved = [each.moved for each in waves if each.moved is not None]
    return Estimates(
        waves[0].of,
        column([each.value for each in waves]),
        column([each.standard_error for each in waves]),
        sets,
        parts=(perturbation, sampling),
        p_value=column(p_values) if p_values else None,
        moved=column(moved) if moved else None,
    )


def _parts(waves: Sequence[Estimates]) -> tuple[list[Array], list[Array]]:
    """Return the perturbation errors and the sampling errors of each wave; NaN if unknown."""
    unknown = np.full(waves[0].value.shape, np.nan)
    parts = [each.parts or (unknown, unknown) for each in waves]
    return [each[0] for each in parts], [each[1] for each in parts]


def slope_weights(waves: Sequence[Estimates], times: Sequence[float]) -> Array:
    """Return the weights of the slope of a straight line by weighted least squares, shape (W,).

    A wave has the weight 1/Σ_k var(θ̂_wk). All answers to a question have the same weights, so the
    slopes of their shares sum to 0, and weights hardly depend on the estimates.

    >>> from halftruth_collector.estimation.estimates import normal_sets
    >>> level = Estimates(SHARE, np.ones(1), np.ones(1), normal_sets(np.ones(1), np.ones(1)))
    >>> slope_weights([level] * 3, [1, 2, 4]).round(3).tolist()
    [-0.286, -0.071, 0.357]
    """
    weight = np.array([1 / np.square(one.standard_error).sum() for one in waves])
    time = np.asarray(times, float)
    from_mean = time - weight @ time / weight.sum()
    return np.asarray(weight * from_mean / (weight @ from_mean**2))


def _root_of_squares(columns: Array) -> Array:
    return np.asarray(np.sqrt(np.square(columns).sum(axis=1)))
