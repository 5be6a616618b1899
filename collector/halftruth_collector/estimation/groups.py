"""Surveys with collapsed answers, read in detail or in groups.

A view of one question asks for the answer in detail, one of several questions for the group of the
answer (`Attribute.collapsed`). So there are two readings of the same reports: *in detail* every
question by itself, and *in groups* all questions together. In each reading, an attribute that a
view has in the other form has a position beyond the schema, which no table contains.
"""

from collections.abc import Mapping
from copy import copy
from dataclasses import replace

import numpy as np
from halftruth_shared import Attribute, Perturbation, Schema, Survey
from halftruth_shared.mechanisms import View
from numpy.typing import NDArray


def group_codes(attribute: Attribute) -> NDArray[np.int64]:
    """Return the code of the group of each answer, shape (d,)."""
    return np.array(attribute.groups.codes, dtype=np.int64)


def places_beyond(schema: Schema) -> dict[int, int]:
    """Return the position beyond the schema of the other form of each collapsed attribute."""
    collapsed = [j for j, each in enumerate(schema.attributes) if each.collapsed]
    return {j: len(schema.names) + place for place, j in enumerate(collapsed)}


def views_in_detail(perturbation: Perturbation) -> tuple[View, ...]:
    """Return the views of a perturbation; groups of answers have positions beyond the schema."""
    beyond = places_beyond(perturbation.schema)
    if not beyond:
        return perturbation.views
    return perturbation.derive(_views_in_detail)


def _views_in_detail(perturbation: Perturbation) -> tuple[View, ...]:
    beyond = places_beyond(perturbation.schema)
    return tuple(
        replace(
            view,
            positions=tuple(beyond[j] if j in view.collapsed else j for j in view.positions),
            collapsed=frozenset(),
        )
        for view in perturbation.views
    )


def in_groups(perturbation: Perturbation) -> Perturbation:
    """Return a perturbation whose attributes have the groups as answers, with the same reports.

    One without collapsed answers is returned itself. Reports about a collapsed question alone do
    not count in tables of groups.
    """
    if not any(each.collapsed for each in perturbation.schema.attributes):
        return perturbation
    return perturbation.derive(_in_groups)


def _in_groups(perturbation: Perturbation) -> Perturbation:
    beyond = places_beyond(perturbation.schema)
    views = tuple(
        replace(
            view,
            positions=tuple(
                beyond[j] if j in beyond and j not in view.collapsed else j for j in view.positions
            ),
            collapsed=frozenset(),
        )
        for view in perturbation.views
    )
    schema = _grouped(perturbation.schema)
    return Perturbation(perturbation.mechanism, schema, views, perturbation.unperturbed_columns)


def survey_in_groups(survey: Survey) -> Survey:
    """Return a survey whose questions have the groups as answers, with the same reports.

    It has the digest of the survey. One without collapsed answers is returned itself.
    """
    grouped = in_groups(survey.perturbation)
    if grouped is survey.perturbation:
        return survey
    read = copy(survey)
    read.__dict__.update(
        schema=grouped.schema,
        perturbation=grouped,
        digest=survey.digest,
        canonical_json=survey.canonical_json,
    )
    return read


def _grouped(schema: Schema) -> Schema:
    """Return the attributes with groups for answers."""
    names = {
        attribute.name: {
            answer: attribute.groups.names[code]
            for answer, code in zip(attribute.categories, attribute.groups.codes, strict=True)
        }
        for attribute in schema.attributes
        if attribute.collapsed
    }
    return Schema(tuple(_grouped_attribute(each, names) for each in schema.attributes))


def _grouped_attribute(attribute: Attribute, names: Mapping[str, Mapping[str, str]]) -> Attribute:
    conditions = {
        name: tuple(dict.fromkeys(names.get(name, {}).get(each, each) for each in answers))
        for name, answers in attribute.ask_if.items()
    }
    if attribute.name not in names:
        return replace(attribute, ask_if=conditions) if attribute.ask_if else attribute
    own = names[attribute.name]
    categories = tuple(dict.fromkeys(own.values()))
    items = attribute.items
    return replace(
        attribute,
        categories=categories,
        collapsed=None,
        # A group counts if each of its answers does.
        items=items and tuple(c for c in categories if {a for a in own if own[a] == c} <= {*items}),
        missing=tuple(own[each] for each in attribute.missing),
        kind="choice",
        number=None,
        ask_if=conditions,
        answers={c: text for c, text in attribute.answers.items() if c in categories},
        short_answers={c: text for c, text in attribute.short_answers.items() if c in categories},
    )
