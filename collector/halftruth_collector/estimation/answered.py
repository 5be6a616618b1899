"""Tables of those who answered: without the categories that are no answer."""

from collections.abc import Sequence

import numpy as np
from halftruth_shared import Attribute, Schema
from numpy.typing import NDArray

from .bounds import Array


def answers_of(attribute: Attribute) -> tuple[str, ...]:
    """The categories of an attribute that are answers."""
    return tuple(c for c in attribute.categories if c not in attribute.missing)


def nothing_missing(schema: Schema, names: Sequence[str]) -> NDArray[np.bool_]:
    """In which cells of the table of some attributes nothing is missing."""
    kept = np.array(True)
    for name in names:
        kept = np.logical_and.outer(kept, ~schema.attributes[schema.position(name)].missing_mask)
    return kept


def answered(
    schema: Schema, support: Array, covariance: Array, names: Sequence[str]
) -> tuple[Array, Array]:
    """The cells of a table in which nothing is missing, with their covariance.

    Parameters
    ----------
    schema : Schema
    support : ndarray
        An axis for each attribute.
    covariance : ndarray, shape (cells, cells)
    names : sequence of str
        The attributes.

    Returns
    -------
    support, covariance : ndarray
        Of fewer cells; what is missing is how much their sum is below 1.
    """
    kept = nothing_missing(schema, names)
    if kept.all():
        return support, covariance
    cells = np.flatnonzero(kept)
    # A table without some categories of each axis is one of fewer rows, columns, and so on.
    shape = [len(set(axis.tolist())) for axis in np.nonzero(kept)]
    return support[kept].reshape(shape), covariance[np.ix_(cells, cells)]
