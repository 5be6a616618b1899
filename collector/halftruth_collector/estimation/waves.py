"""Changes and trends over waves: contrasts of estimates of the same numbers at several times.

Reports of different waves are drawn independently, given what people would answer. So for exactly
these respondents the variance of Σ c_w θ̂_w is Σ c_w² var(θ̂_w), whether or not the same people
answered. For a population that they are a sample of it has 2 Σ_{v<w} c_v c_w cov(x_v, x_w)/n
besides, x_w being 1 for whoever gives the answer in wave w, as far as the same n people took part.
Unlinked reports do not tell this covariance. It is positive where answers last, so that the sum of
the variances is too large for a change, and intervals are wider than they need to be.

Whether shares of some waves are equal is tested with the errors that they have if they are: those
of people of whom the pooled share of these waves gives each answer. With the errors behind the
intervals a wave of few reports, in which a rare answer did not come out at all, would seem to know
it exactly.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import scipy
from halftruth_shared import Attribute
from halftruth_shared.results import QUANTITIES, Quantity

from .answers import answer_codes, answered
from .bounds import Array, normal_quantile
from .contrasts import Groups, compare_groups
from .distribution import Scale, distributions, mean_differences, scale_of
from .estimator import Estimator
from .intervals import SHARE, mean_of, table_intervals
from .table import SOMEBODY, Table


@dataclass(frozen=True, eq=False)
class Levels:
    """Estimates of K numbers in each of W waves, NaN where undefined.

    Attributes
    ----------
    value, standard_error, lower, upper : ndarray, shape (W, K)
        With the ends of their intervals.
    perturbation, sampling : ndarray, shape (W, K)
        Parts of the standard error; NaN where unknown.
    tables : tuple of Table
        Of each wave, where these are all of its shares; of none otherwise.
    """

    value: Array
    standard_error: Array
    lower: Array
    upper: Array
    perturbation: Array
    sampling: Array
    tables: tuple[Table, ...] = field(default=(), kw_only=True)

    @classmethod
    def stacked(cls, waves: Sequence["Levels"]) -> "Levels":
        """Stack the levels of several waves, each of shape (K,)."""
        names = ("value", "standard_error", "lower", "upper", "perturbation", "sampling")
        columns = (np.stack([getattr(one, name) for one in waves]) for name in names)
        tables = tuple(table for one in waves for table in one.tables)
        return cls(*columns, tables=tables)


class Rows(NamedTuple):
    """Labels of K estimates of one question: shares, means or differences between groups.

    Attributes
    ----------
    attribute : str
    answers : tuple of str or None
        Whose shares they are; None for means.
    groups : tuple of str or None
        Whose difference from a reference; None for everybody's own.
    of : Quantity
        What they are estimates of.
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
) -> dict[Rows, Levels]:
    """Levels of one question in one wave.

    Parameters
    ----------
    name : str
        The question.
    groups, reference : str, optional
        An attribute and one of its categories: levels are then differences of each other group
        from that one.
    scores : mapping of str to str, optional
        What the answers to some questions count as, see `scale_of`. There are means of these, and
        of numbers and answers in an order.

    Raises
    ------
    SchemaError, ParameterError, EstimateError, DomainTooLarge
        As of `Estimator.table` and `scale_of`.
    """
    attribute = estimator.schema.attributes[estimator.schema.position(name)]
    scale = _scale(attribute, scores or {})
    if groups is None or reference is None:
        return dict(_of_everybody(estimator, attribute, scale, confidence))
    grouping = estimator.schema.attributes[estimator.schema.position(groups, "groups")]
    place = grouping.categories.index(reference)
    table = estimator.table([groups, name])
    return dict(_differences(estimator, table, attribute, grouping, place, scale, confidence))


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
) -> Iterator[tuple[Rows, Levels]]:
    table = estimator.table([attribute.name])
    error = np.sqrt(table.variance())
    ends = table_intervals(table, confidence)
    answers = attribute.categories
    rows = Rows(attribute.name, answers, (None,) * len(answers), SHARE)
    # Of a model's shares the error behind the interval is that of the test, too (Wald).
    tables = () if table.logit else (table,)
    parts = table.error_parts()
    yield rows, Levels(table.support, error, *ends, *parts, tables=tables)
    if scale is not None:
        covariance = table.known_covariance()
        cells = answered(estimator.schema, table.support, covariance, [attribute.name])
        [within] = distributions(cells[0][None], cells[1])
        mean = within.mean(scale.values, normal_quantile(1 - confidence))
        columns = [np.array([each]) for each in vars(mean).values()]
        yield _of_mean(attribute, [None], scale), _without_parts(*columns)


def _differences(
    estimator: Estimator,
    table: Table,
    attribute: Attribute,
    grouping: Attribute,
    reference: int,
    scale: Scale | None,
    confidence: float,
) -> Iterator[tuple[Rows, Levels]]:
    names, every = grouping.categories, range(len(grouping.categories))
    compared = [g for g in every if g != reference]
    groups = tuple(names[g] for g in compared)
    for code, answer in enumerate(attribute.categories):
        of_answer = Groups.of_table(table, names, every, code)
        each = compare_groups(of_answer, reference, confidence=confidence)
        levels = _without_parts(each.value, each.standard_error, each.lower, each.upper)
        yield (
            Rows(attribute.name, (answer,) * len(groups), groups, QUANTITIES["share_difference"]),
            levels,
        )
    # Groups that are no answer have no mean.
    kept = answer_codes(grouping)
    if scale is not None and reference in kept:
        covariance, pair = table.known_covariance(), [grouping.name, attribute.name]
        support, covariance = answered(estimator.schema, table.support, covariance, pair)
        at = kept.index(reference)
        chosen = [place for place in range(len(kept)) if place != at]
        means = mean_differences(support, covariance, scale.values, at)
        values, errors = (column[chosen] for column in means)
        half_width = normal_quantile(1 - confidence) * errors
        rows = _of_mean(attribute, [names[kept[place]] for place in chosen], scale)
        yield rows, _without_parts(values, errors, values - half_width, values + half_width)


def _of_mean(attribute: Attribute, groups: Sequence[str | None], scale: Scale) -> Rows:
    of = mean_of(scale.values)
    if any(groups):
        of = of.contrast("mean_difference", [1, -1])
    return Rows(attribute.name, (None,) * len(groups), tuple(groups), of)


def _without_parts(value: Array, error: Array, lower: Array, upper: Array) -> Levels:
    unknown = np.full(value.shape, np.nan)
    return Levels(value, error, lower, upper, unknown, unknown)


@dataclass(frozen=True, eq=False)
class Contrasts(Levels):
    """Weighted sums of levels, of shape (K,), each with the p-value of the test that it is 0."""

    p_value: Array = field(kw_only=True)


def contrast(levels: Levels, weights: Array) -> Contrasts:
    """Σ_w c_w θ̂_w of independent estimates.

    Each end of its interval is as far away as those of the levels that it depends on (Zou & Donner
    2008), so that an interval that is not symmetric keeps its shape.

    Parameters
    ----------
    weights : ndarray, shape (W,) or (W, K)
        c.

    Examples
    --------
    >>> zero = np.zeros((2, 1))
    >>> value, error = np.array([[0.30], [0.34]]), np.array([[0.03], [0.04]])
    >>> levels = Levels(value, error, value - 2 * error, value + 2 * error, error, zero)
    >>> change = contrast(levels, np.array([-1.0, 1.0]))
    >>> [round(float(n[0]), 2) for n in (change.value, change.standard_error, change.lower)]
    [0.04, 0.05, -0.06]
    """
    c = np.broadcast_to(weights.reshape(len(weights), -1), levels.value.shape)
    value, error = (c * levels.value).sum(axis=0), _root_of_squares(c * levels.standard_error)
    below, above = levels.value - levels.lower, levels.upper - levels.value
    down = _root_of_squares(c * np.where(c > 0, below, above))
    up = _root_of_squares(c * np.where(c > 0, above, below))
    alike = _errors_if_equal(levels, c) if levels.tables else levels.standard_error
    chance = np.where(error > 0, _root_of_squares(c * alike), np.nan)
    score = np.abs(value) / np.where(chance > 0, chance, np.nan)
    return Contrasts(
        value,
        error,
        value - down,
        value + up,
        _root_of_squares(c * levels.perturbation),
        _root_of_squares(c * levels.sampling),
        p_value=2 * scipy.special.ndtr(-score),
    )


def _errors_if_equal(levels: Levels, weights: Array) -> Array:
    """Standard errors of all shares of each wave, if those in a contrast are equal."""
    tables = levels.tables
    reports = np.array([table.reports for table in tables], float)
    pooled = np.average(levels.value, axis=0, weights=reports * weights.any(axis=1))
    shares = np.maximum(pooled, SOMEBODY)
    shares /= shares.sum()
    forms = np.eye(len(shares))
    variance = np.stack([np.diag(table.null_covariance(shares, forms)) for table in tables])
    if not tables[0].is_sample:
        variance -= shares * (1 - shares) / (reports - 1)[:, None]
    return np.asarray(np.sqrt(np.maximum(variance, 0.0)))


def slope_weights(levels: Levels, times: Sequence[float]) -> Array:
    """c_w of the slope of a straight line through levels, by weighted least squares.

    A wave weighs as much as its estimates are precise: by 1/Σ_k var(θ̂_wk). All answers to a
    question have the same weights, so that slopes of their shares add up to 0, and hardly any
    weight depends on how large a share came out.

    Returns
    -------
    ndarray, shape (W,)
        NaN where a wave has no error.

    Examples
    --------
    >>> error = np.ones((3, 1))
    >>> slope_weights(Levels(*[error] * 6), [1, 2, 4]).round(3).tolist()
    [-0.286, -0.071, 0.357]
    """
    weight = 1 / np.square(levels.standard_error).sum(axis=1)
    time = np.asarray(times, float)
    from_mean = time - weight @ time / weight.sum()
    return np.asarray(weight * from_mean / (weight @ from_mean**2))


def _root_of_squares(columns: Array) -> Array:
    return np.asarray(np.sqrt(np.square(columns).sum(axis=0)))
