"""Shares by a fitted model, with their errors.

Each is a smooth function of the parameters θ and has the variance ∇f' V ∇f (delta method). The
logarithm of the share of an event E among a domain W has the gradient E[D | E] − E[D | W], the
difference of two means of the design. All is said of the population that the respondents are a
sample of.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from halftruth_shared import EstimateError
from halftruth_shared.analyses.base import Answers, Missing
from halftruth_shared.analyses.wording import items as in_words

from ..bounds import Array
from ..domain import Restriction
from .fit import LoglinearModel
from .predictions import Shares


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
        weights = _within(model, restriction, [*attributes, *answering])
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


def _restriction(model: LoglinearModel, where: Answers | None, missing: Missing) -> Restriction:
    return Restriction(model.schema, where or {}, missing == "exclude")


def _within(model: LoglinearModel, restriction: Restriction, attributes: Sequence[str]) -> Array:
    """The model's table with 0 in all cells outside of a domain."""
    kept = [set(range(size)) for size in model.schema.shape]
    for axis, codes in zip(restriction.positions, restriction.codes, strict=True):
        kept[axis] &= set(codes)
    axes = model.schema.positions(attributes) if attributes else ()
    for axis, codes in zip(axes, restriction.kept(attributes), strict=True):
        kept[axis] &= set(codes)
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
