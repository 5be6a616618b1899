"""Answers of attributes by name and code: which are answers, and which count as presence."""

from collections.abc import Mapping, Sequence

import numpy as np
from halftruth_shared import Attribute, ParameterError, Schema
from halftruth_shared.analyses.base import Items
from halftruth_shared.errors import listing
from numpy.typing import NDArray

from .bounds import Array


def category_code(attribute: Attribute, category: str, field: str) -> int:
    """Code of a category that an analyst names in some field.

    Raises
    ------
    ParameterError
        If the attribute has no such category.
    """
    if category not in attribute.categories:
        raise ParameterError(
            f"{field}: '{attribute.name}' has no category '{category}'; expected one of:"
            f" {listing(attribute.categories)}",
            field=field,
        )
    return attribute.categories.index(category)


def category_codes(
    attribute: Attribute, categories: str | Sequence[str], field: str
) -> tuple[int, ...]:
    """Codes of one or several categories that an analyst names in some field.

    Raises
    ------
    ParameterError
        If there is none, or one that the attribute does not have.
    """
    if not categories:
        raise ParameterError(
            f"{field}: '{attribute.name}' has no answer; expected one or more", field=field
        )
    several = [categories] if isinstance(categories, str) else categories
    return tuple(sorted({category_code(attribute, c, field) for c in several}))


def presence(schema: Schema, names: Sequence[str], present: Mapping[str, str]) -> list[int | None]:
    """Code of the category that counts as presence, None where nothing says which."""
    for name in present:
        if name not in names:
            raise ParameterError(
                f"present: '{name}' is none of the attributes; expected some of: {listing(names)}",
                field="present",
            )
    codes: list[int | None] = []
    for name in names:
        attribute = schema.attributes[schema.position(name)]
        items = np.flatnonzero(attribute.item_mask)
        if name in present:
            codes.append(category_code(attribute, present[name], "present"))
        elif len(items) == 1:
            codes.append(int(items[0]))
        else:
            codes.append(1 if len(attribute.categories) == 2 else None)
    return codes


def present_items(schema: Schema, names: Sequence[str], present: Mapping[str, str]) -> Items:
    """The category of each attribute that counts as presence, where one does."""
    return {
        name: schema.attributes[schema.position(name)].categories[code]
        for name, code in zip(names, presence(schema, names, present), strict=True)
        if code is not None
    }


def answer_codes(attribute: Attribute) -> tuple[int, ...]:
    """Codes of the categories that are answers."""
    return tuple(np.flatnonzero(~attribute.missing_mask).tolist())


def answers_of(attribute: Attribute) -> tuple[str, ...]:
    """The categories of an attribute that are answers."""
    return tuple(attribute.categories[code] for code in answer_codes(attribute))


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
    kept = np.ix_(*(answer_codes(schema.attributes[schema.position(name)]) for name in names))
    cells = np.arange(support.size).reshape(support.shape)[kept].ravel()
    return support[kept], covariance[np.ix_(cells, cells)]
