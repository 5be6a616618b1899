"""Shares, ratios and odds ratios by a fitted model, with their errors.

Everything is a smooth function of the parameters θ and has the variance ∇f' V ∇f (delta method).
The logarithm of the share of an event E among a domain W has the gradient E[D | E] − E[D | W], the
difference of two means of the design. Shares get their intervals on the logit scale, ratios on the
log scale, so that none leaves its range. All is said of the population that the respondents are a
sample of.
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np
from halftruth_shared import EstimateError
from halftruth_shared.analyses.base import Answers, Missing
from halftruth_shared.analyses.wording import items as in_words
from numpy.typing import NDArray

from ..answers import category_codes
from ..bounds import Array
from ..domain import Restriction
from .fit import LoglinearModel
from .predictions import Prediction, Shares


def shares(
    model: LoglinearModel,
    attributes: Sequence[str],
    where: Answers | None = None,
    missing: Missing = "keep",
    answering: Sequence[str] = (),
) -> Shares:
    """Return the table of some attributes by a model, of any length.

    Parameters
    ----------
    model : LoglinearModel
    attributes : sequence of str
        An axis for each, in this order.
    where : mapping of str to str or sequence of str, optional
        Answers of those whom the shares are among.
    missing : {"keep", "exclude"}
        Whether the table is of those alone who answered all of `attributes` and `answering`, with
        answers alone on its axes.
    answering : sequence of str

    Raises
    ------
    SchemaError, ParameterError
        For an unknown attribute or answer.
    DomainTooLarge
        If the table has too many cells.
    EstimateError
        If nobody can give the answers of `where`.
    """
    restriction = _restriction(model, where, missing)
    restriction.schema.positions([*attributes, *answering])
    axes = model.schema.positions(attributes)
    if not where and not restriction.leaves_out([*attributes, *answering]):
        cube, mass, mean = model.fitted.cube, 1.0, model.fitted.means
    else:
        weights = _within(model, restriction, [*attributes, *answering], {})
        cube, (mass, mean) = model.design.cube(weights), _moments(model, weights, where)
    columns = model.design.margin(cube, axes)
    kept = np.ix_(*restriction.kept(attributes))
    table = columns.reshape(*(model.schema.shape[axis] for axis in axes), -1)[kept]
    sizes, table = table.shape[:-1], table.reshape(-1, table.shape[-1])
    own = table[:, :1]
    means = np.divide(table[:, 1:], own, out=np.tile(mean, (len(own), 1)), where=own > 0)
    gradient = (means - mean) @ model.design.corner
    support = np.clip(own[:, 0] / mass, 0.0, 1.0).reshape(sizes)
    return Shares(tuple(attributes), support, gradient, model.covariance, model.reports)


def itemsets(
    model: LoglinearModel, codes: NDArray[np.integer], confidence: float = 0.95
) -> tuple[Array, Array, Array, Array]:
    """Return the supports of itemsets of any lengths, with standard errors and intervals.

    Parameters
    ----------
    model : LoglinearModel
    codes : ndarray of int, shape (K, M)
        A category of one attribute of the model or more, −1 where an attribute is left open.
    confidence : float

    Returns
    -------
    support, standard_error, lower, upper : ndarray, shape (K,)

    Raises
    ------
    DomainTooLarge
        If the table of the attributes of one has too many cells.
    """
    result = np.empty((4, len(codes)))
    patterns, kind = np.unique(codes >= 0, axis=0, return_inverse=True)
    for number, pattern in enumerate(patterns):
        rows, axes = np.flatnonzero(kind.ravel() == number), np.flatnonzero(pattern)
        table = shares(model, [model.schema.names[axis] for axis in axes])
        cells = tuple(codes[rows][:, axes].T)
        numbers = (table.support, table.standard_error(), *table.interval(confidence))
        for place, values in enumerate(numbers):
            result[place, rows] = values[cells]
    support, error, lower, upper = result
    return support, error, lower, upper


def share(
    model: LoglinearModel, items: Answers, where: Answers | None = None, missing: Missing = "keep"
) -> Prediction:
    """Return the share of those who give some answers, among everybody or a domain.

    Parameters
    ----------
    model : LoglinearModel
    items : mapping of str to str or sequence of str
        For each attribute an answer, or several of which any counts.
    where, missing
        As of `shares`.
    """
    level, gradient = _log_share(model, items, where, missing)
    value = math.exp(level)
    error = _error(model, gradient)
    return Prediction(value, value * error, "logit", error / (1 - value) if value < 1 else 0.0)


def risk_ratio(
    model: LoglinearModel,
    items: Answers,
    group: Answers,
    against: Answers,
    missing: Missing = "keep",
) -> Prediction:
    """Return the quotient of the shares of some answers in two groups.

    Parameters
    ----------
    model : LoglinearModel
    items : mapping of str to str or sequence of str
    group, against : mapping of str to str or sequence of str
        Answers of those who are compared with those of `against`.
    missing : {"keep", "exclude"}
    """
    first, second = (_log_share(model, items, where, missing) for where in (group, against))
    return _ratio(model, first[0] - second[0], first[1] - second[1])


def odds_ratio(
    model: LoglinearModel,
    items: Answers,
    group: Answers,
    against: Answers,
    missing: Missing = "keep",
) -> Prediction:
    """Return the quotient of the odds of some answers in two groups; arguments as `risk_ratio`.

    Raises
    ------
    EstimateError
        If everybody in a group can only give these answers.
    """
    level, gradient = 0.0, np.zeros(model.design.parameters)
    for sign, where in ((1, group), (-1, against)):
        of_group, change = _log_share(model, items, where, missing)
        rest = -math.expm1(of_group)
        if not rest > 0:
            raise EstimateError("items: nobody can give another answer", field="items")
        level += sign * (of_group - math.log(rest))
        gradient += sign * change / rest
    return _ratio(model, level, gradient)


def _ratio(model: LoglinearModel, level: float, gradient: Array) -> Prediction:
    value, error = math.exp(level), _error(model, gradient)
    return Prediction(value, value * error, "log", error)


def _error(model: LoglinearModel, gradient: Array) -> float:
    return math.sqrt(max(float(gradient @ model.covariance @ gradient), 0.0))


def _log_share(
    model: LoglinearModel, items: Answers, where: Answers | None, missing: Missing
) -> tuple[float, Array]:
    """Logarithm of a share, and its gradient by θ."""
    restriction = _restriction(model, where, missing)
    asked = list(items)
    restriction.schema.positions(asked, "items")
    domain = _within(model, restriction, asked, {})
    event = _within(model, restriction, asked, items)
    mass, mean = _moments(model, domain, where)
    inside, conditional = _moments(model, event, items)
    return math.log(min(inside / mass, 1.0)), (conditional - mean) @ model.design.corner


def _restriction(model: LoglinearModel, where: Answers | None, missing: Missing) -> Restriction:
    return Restriction(model.schema, where or {}, missing == "exclude")


def _within(
    model: LoglinearModel, restriction: Restriction, attributes: Sequence[str], items: Answers
) -> Array:
    """The model's table with 0 in all cells outside of a domain, or without some answers."""
    kept = [set(range(size)) for size in model.schema.shape]
    for axis, codes in zip(restriction.positions, restriction.codes, strict=True):
        kept[axis] &= set(codes)
    axes = model.schema.positions(attributes) if attributes else ()
    for axis, codes in zip(axes, restriction.kept(attributes), strict=True):
        kept[axis] &= set(codes)
    for name, answers in items.items():
        axis = model.schema.position(name, "items")
        kept[axis] &= set(category_codes(model.schema.attributes[axis], answers, "items"))
    cells = np.ix_(*map(sorted, kept))
    inside = np.zeros_like(model.table)
    inside[cells] = model.table[cells]
    return inside


def _moments(
    model: LoglinearModel, weights: Array, answers: Mapping[str, str | Sequence[str]] | None
) -> tuple[float, Array]:
    """Sum of weights, and mean of the design by these."""
    mass = float(weights.sum())
    if not mass > 0:
        raise EstimateError(
            f"where: nobody can give {in_words(answers or {})}; expected other answers",
            field="where",
        )
    return mass, model.design.cube(weights)[model.design.place] / mass
