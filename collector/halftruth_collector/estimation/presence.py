"""Categories by name: which one counts as presence of an attribute."""

from collections.abc import Mapping, Sequence

import numpy as np
from halftruth_shared import Attribute, ParameterError, Schema
from halftruth_shared.analyses.base import Items
from halftruth_shared.errors import listing


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
