"""Categories of attributes by name and code: valid answers, missing ones, and presence."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from halftruth_shared import Attribute, ParameterError, Schema
from halftruth_shared.analyses.base import Items
from halftruth_shared.errors import listing
from numpy.typing import NDArray

from .bounds import Array


def category_code(attribute: Attribute, category: str, field: str) -> int:
    """Return the code of a category that a field of a query names."""
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
    """Return the codes of one or several categories that a field of a query names."""
    if not categories:
        raise ParameterError(
            f"{field}: '{attribute.name}' has no answer; expected one or more", field=field
        )
    several = [categories] if isinstance(categories, str) else categories
    return tuple(sorted({category_code(attribute, c, field) for c in several}))


def presence(schema: Schema, names: Sequence[str], present: Mapping[str, str]) -> list[int | None]:
    """Return the code of the category that counts as presence of each attribute, or None."""
    for name in present:
        if name not in names:
            raise ParameterError(
                f"present: '{name}' is none of the attributes; expected some of: {listing(names)}",
                field="present",
            )
    codes: list[int | None] = []
    for name in names:
        attribute = schema.attributes[schema.position(name)]
        items = np.flatnonzero(attribute.is_item)
        if name in present:
            codes.append(category_code(attribute, present[name], "present"))
        elif len(items) == 1:
            codes.append(int(items[0]))
        else:
            codes.append(1 if len(attribute.categories) == 2 else None)
    return codes


def present_items(schema: Schema, names: Sequence[str], present: Mapping[str, str]) -> Items:
    """Return the category that counts as presence, for each attribute that has one."""
    return {
        name: schema.attributes[schema.position(name)].categories[code]
        for name, code in zip(names, presence(schema, names, present), strict=True)
        if code is not None
    }


def answer_codes(attribute: Attribute) -> tuple[int, ...]:
    """Return the codes of the categories that are not missing values."""
    return tuple(np.flatnonzero(np.logical_not(attribute.is_missing)).tolist())


def answers_of(attribute: Attribute) -> tuple[str, ...]:
    """Return the categories of an attribute that are not missing values."""
    return tuple(attribute.categories[code] for code in answer_codes(attribute))


def nothing_missing(schema: Schema, names: Sequence[str]) -> NDArray[np.bool_]:
    """Return a mask of the cells of a table without missing values."""
    kept = np.array(True)
    for name in names:
        kept = np.logical_and.outer(
            kept, np.logical_not(schema.attributes[schema.position(name)].is_missing)
        )
    return kept


def answered(
    schema: Schema, support: Array, covariance: Array, names: Sequence[str]
) -> tuple[Array, Array]:
    """Return the cells of a table without missing values, with their covariance.

    Their sum is 1 minus the share of missing values.
    """
    kept = np.ix_(*(answer_codes(schema.attributes[schema.position(name)]) for name in names))
    cells = np.arange(support.size).reshape(support.shape)[kept].ravel()
    return support[kept], covariance[np.ix_(cells, cells)]


def with_condition(attribute: Attribute, names: Mapping[str, Mapping[str, str]]) -> Attribute:
    """Return an attribute whose condition (`ask_if`) has other names of answers.

    `names` are by attribute and answer; several answers can get the same name.
    """
    if not attribute.ask_if:
        return attribute
    conditions = {
        name: tuple(dict.fromkeys(names.get(name, {}).get(each, each) for each in answers))
        for name, answers in attribute.ask_if.items()
    }
    return replace(attribute, ask_if=conditions)
