"""Tables of those who answered: without the categories that are no answer."""

from collections.abc import Sequence

import numpy as np
from halftruth_shared import Attribute, Schema
from halftruth_shared.mechanisms import Target
from numpy.typing import NDArray

from .bounds import Array
from .delta_method import known_covariance
from .table import Table


def answers_of(attribute: Attribute) -> tuple[str, ...]:
    """The categories of an attribute that are answers."""
    return tuple(c for c in attribute.categories if c not in attribute.missing)


def answered(schema: Schema, table: Table, target: Target) -> tuple[Array, Array]:
    """The cells of a table in which nothing is missing, with their covariance.

    Returns
    -------
    support : ndarray
        An axis for each attribute; what is missing is how much the sum is below 1.
    covariance : ndarray, shape (cells, cells)
        NaN where the reports determine none.
    """
    support = table.support
    kept = present([schema.attributes[schema.position(name)] for name in table.attributes])
    covariance = known_covariance(table, target)
    if kept.all():
        return support, covariance
    cells = np.flatnonzero(kept)
    shape = [(~schema.attributes[schema.position(n)].missing_mask).sum() for n in table.attributes]
    return support[kept].reshape(shape), covariance[np.ix_(cells, cells)]


def present(attributes: Sequence[Attribute]) -> NDArray[np.bool_]:
    """In which cells of their table nothing is missing."""
    kept = np.array(True)
    for attribute in attributes:
        kept = np.logical_and.outer(kept, ~attribute.missing_mask)
    return kept
