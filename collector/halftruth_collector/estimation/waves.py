"""Changes and trends over waves: contrasts of estimates of the same numbers at several times.

Given the true answers, reports of different waves are independent. So for exactly these
respondents, the variance of Σ c_w θ̂_w is Σ c_w² var(θ̂_w), whether or not the same people
answered. For the sampled population, if the same n people took part, it has the additional term 2
Σ_{v<w} c_v c_w cov(x_v, x_w)/n, where x_w indicates the answer in wave w. This covariance is not
identified by unlinked reports. It is positive if answers are stable, so the sum of the variances is
conservative for a change.

The equality of shares is tested by a score test, with variances evaluated at the pooled shares of
these waves. In a Wald test, a wave with few reports and no report of a rare answer would have a
standard error near 0.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import scipy
from halftruth_shared import Attribute, Schema
from halftruth_shared.results import QUANTITIES, Quantity

from .answers import answer_codes
from .bounds import Array, normal_quantile
from .contrasts import Contrasts, Groups, compare_groups, ends_of_contrast
from .distribution import Distributions, Scale, scale_of
from .estimator import Estimator
from .intervals import SHARE, mean_of, table_intervals
from .table import SOMEBODY, Table


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
) -> dict[Rows, Contrasts]:
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
        return dict(_of_everybody(estimator, attribute, scale, confidence))
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
    estimator: Estimator,
    attribute: Attribute,
    scale: Scale | None,
    confidence: float,
) -> Iterator[tuple[Rows, Contrasts]]:
    table, answers = estimator.table([attribute.name]), attribute.categories
    rows = Rows(attribute.name, answers, (None,) * len(answers), SHARE)
    yield (
        rows,
        Contrasts(
            table.value,
            np.sqrt(table.variance()),
            *table_intervals(table, confidence),
            parts=table.error_parts(),
            # Shares of a model are tested by their own errors (Wald).
            table=None if table.logit else table,
        ),
    )
    if scale is not None:
        within = Distributions.of_table(estimator.schema, table)
        means = within.means(scale.values, normal_quantile(1 - confidence))
        yield _of_mean(attribute, [None], scale), means


def _differences(
    table: Table,
    schema: Schema,
    attribute: Attribute,
    grouping: Attribute,
    reference: int,
    scale: Scale | None,
    confidence: float,
) -> Iterator[tuple[Rows, Contrasts]]:
    names, every = grouping.categories, range(len(grouping.categories))
    groups = tuple(names[g] for g in every if g != reference)
    for code, answer in enumerate(attribute.categories):
        of_answer = Groups.of_table(table, names, every, code)
        of = QUANTITIES["share_difference"]
        rows = Rows(attribute.name, (answer,) * len(groups), groups, of)
        each = compare_groups(of_answer, reference, confidence=confidence)
        yield rows, Contrasts(each.value, each.standard_error, each.lower, each.upper)
    # Groups that are no answer have no mean.
    kept = answer_codes(grouping)
    if scale is not None and reference in kept:
        within, at = Distributions.of_table(schema, table), kept.index(reference)
        means = within.mean_differences(scale.values, at, normal_quantile(1 - confidence))
        others = [names[code] for code in kept if code != reference]
        yield _of_mean(attribute, others, scale), means


def _of_mean(attribute: Attribute, groups: Sequence[str | None], scale: Scale) -> Rows:
    of = mean_of(scale.values)
    if any(groups):
        of = of.contrast("mean_difference", [1, -1])
    return Rows(attribute.name, (None,) * len(groups), tuple(groups), of)


def stacked(waves: Sequence[Contrasts]) -> Contrasts:
    """Return K estimates of each of W waves, as columns of shape (K, W)."""

    def column(name: str) -> Array:
        return np.stack([getattr(one, name) for one in waves], axis=1)

    unknown = np.full(waves[0].value.shape, np.nan)
    perturbation, sampling = zip(*(one.parts or (unknown, unknown) for one in waves), strict=True)
    return Contrasts(
        column("value"),
        column("standard_error"),
        column("lower"),
        column("upper"),
        column("p_value") if waves[0].p_value.size else waves[0].p_value,
        (np.stack(perturbation, axis=1), np.stack(sampling, axis=1)),
    )


def contrast(waves: Sequence[Contrasts], weights: Array) -> Contrasts:
    """Return Σ_w c_w θ̂_w of independent estimates, with p-values of the hypothesis that it is 0.

    >>> levels = [
    ...     Contrasts.normal(np.array([share]), np.array([error]), 2)
    ...     for share, error in [(0.30, 0.03), (0.34, 0.04)]
    ... ]
    >>> change = contrast(levels, np.array([-1.0, 1.0]))
    >>> [round(float(n[0]), 2) for n in (change.value, change.standard_error, change.lower)]
    [0.04, 0.05, -0.06]
    """
    every = stacked(waves)
    value, error = every.value @ weights, _root_of_squares(weights * every.standard_error)
    tables = [one.table for one in waves if one.table is not None]
    alike = _errors_if_equal(every, tables, weights) if tables else every.standard_error
    chance = np.where(error > 0, _root_of_squares(weights * alike), np.nan)
    score = np.abs(value) / np.where(chance > 0, chance, np.nan)
    perturbation, sampling = every.parts or (every.value, every.value)
    return Contrasts(
        value,
        error,
        *ends_of_contrast(every, weights),
        p_value=2 * scipy.special.ndtr(-score),
        parts=(_root_of_squares(weights * perturbation), _root_of_squares(weights * sampling)),
    )


def _errors_if_equal(every: Contrasts, tables: Sequence[Table], weights: Array) -> Array:
    """Return the standard errors of the shares of each wave if the contrasted shares are equal."""
    reports = np.array([table.reports for table in tables], float)
    pooled = np.average(every.value, axis=1, weights=reports * (weights != 0))
    shares = np.maximum(pooled, SOMEBODY)
    shares /= shares.sum()
    forms = np.eye(len(shares))
    variance = [np.diag(table.null_covariance(shares, forms)) for table in tables]
    return np.asarray(np.sqrt(np.maximum(np.stack(variance, axis=1), 0.0)))


def slope_weights(waves: Sequence[Contrasts], times: Sequence[float]) -> Array:
    """Return the weights of the slope of a straight line by weighted least squares, shape (W,).

    A wave has the weight 1/Σ_k var(θ̂_wk). All answers to a question have the same weights, so the
    slopes of their shares sum to 0, and weights hardly depend on the estimates.

    >>> level = Contrasts.normal(np.ones(1), np.ones(1), 2)
    >>> slope_weights([level] * 3, [1, 2, 4]).round(3).tolist()
    [-0.286, -0.071, 0.357]
    """
    weight = np.array([1 / np.square(one.standard_error).sum() for one in waves])
    time = np.asarray(times, float)
    from_mean = time - weight @ time / weight.sum()
    return np.asarray(weight * from_mean / (weight @ from_mean**2))


def _root_of_squares(columns: Array) -> Array:
    return np.asarray(np.sqrt(np.square(columns).sum(axis=1)))
