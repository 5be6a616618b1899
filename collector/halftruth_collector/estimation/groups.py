"""Surveys with collapsed answers, read in detail or in groups.

A view of one question asks for the answer in detail, one of several questions for the group of the
answer (`Attribute.collapsed`). So there are two readings of the same reports: *in detail* every
question by itself, and *in groups* all questions together. In each reading, an attribute that a
view has in the other form has a position beyond the schema, which no table contains.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import reduce
from math import comb
from typing import Any

import numpy as np
from halftruth_shared import Attribute, Perturbation, Schema, Survey
from halftruth_shared.attribute import NOT_ASKED
from halftruth_shared.mechanisms import View
from numpy.typing import NDArray

from .answers import with_condition
from .bounds import Array


@dataclass(frozen=True, repr=False)
class GroupedSchema(Schema):
    """Schema whose answers are groups of the answers in another one, `detail`.

    A condition (`ask_if`) names each group with an answer that `detail` names. So of the people
    in such a group some can be asked and others not: `records_of_cells`.
    """

    detail: Schema

    __hash__ = Schema.__hash__

    def __reduce__(self) -> tuple[type[Schema], tuple[Any, ...]]:
        return GroupedSchema, (self.attributes, self.detail)


class GroupedPerturbation(Perturbation):
    """Perturbation whose attributes have groups for answers; `detail` is the one it is of."""

    detail: Perturbation


def with_attributes(schema: Schema, attributes: Sequence[Attribute]) -> Schema:
    """Return a schema of some attributes of another one, perhaps with other properties.

    Their answers are unchanged, so it has groups of answers if the other schema has.
    """
    if not isinstance(schema, GroupedSchema):
        return Schema(tuple(attributes))
    detail = schema.detail
    own = tuple(detail.attributes[detail.position(each.name)] for each in attributes)
    return GroupedSchema(tuple(attributes), Schema(own))


def in_detail(schema: Schema) -> Schema:
    """Return the schema with answers in detail; one without groups is returned itself."""
    return schema.detail if isinstance(schema, GroupedSchema) else schema


def group_codes(attribute: Attribute) -> NDArray[np.int64]:
    """Return the code of the group of each answer, shape (d,)."""
    return np.array(attribute.groups.codes, dtype=np.int64)


def group_sums(codes: NDArray[np.int64]) -> Array:
    """Return the matrix that sums answers over their groups, shape (g, d).

    >>> group_sums(np.array([0, 0, 1])).tolist()
    [[1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    return np.asarray(np.eye(codes.max() + 1)[:, codes])


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


def combines(perturbation: Perturbation, names: Collection[str]) -> bool:
    """Return whether a table of some attributes combines perturbed ones, and so is of groups.

    An attribute that is sent unperturbed with every report can be combined with one in detail.
    """
    return len({*names} - perturbation.unperturbed) > 1


def reading_of(survey: Survey, names: Collection[str]) -> Survey:
    """Return the survey, in groups if a table of some attributes is read so."""
    return survey_in_groups(survey) if combines(survey.perturbation, names) else survey


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
    grouped = GroupedPerturbation(
        perturbation.mechanism,
        _grouped(perturbation.schema),
        views,
        perturbation.unperturbed_columns,
        by_ticket=perturbation.by_ticket,
    )
    grouped.detail = perturbation
    return grouped


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


def records_of_cells(schema: Schema, among: Schema | None = None) -> Array:
    """Return the number of records that are consistent with all conditions, by cell of a table.

    With `among`, the schema is a part of it, and all answers to the other options of a set in the
    part are counted as well.

    Records have answers in detail, so a cell of groups has one for each combination of answers in
    these groups. Conditions (`ask_if`) on attributes outside the schema are ignored. Of a set, no
    more options are chosen than can be, and either all of them have a missing category or none.
    """
    detail = in_detail(schema)
    conditions = {
        j: attribute.ask_if
        for j, attribute in enumerate(detail.attributes)
        if attribute.ask_if and set(attribute.ask_if) <= set(detail.names)
    }
    # Answers of one group that satisfy the same conditions are equivalent, so the table has an
    # entry for each kind of answers: their group, and whether they satisfy each condition.
    kinds: list[list[tuple[int, ...]]] = []
    for attribute in detail.attributes:
        named = [each[attribute.name] for each in conditions.values() if attribute.name in each]
        codes = attribute.groups.codes if detail is not schema else range(len(attribute.categories))
        kinds.append(
            [
                (code, *(answer in answers for answers in named))
                for code, answer in zip(codes, attribute.categories, strict=True)
            ]
        )
    numbers = [Counter(each) for each in kinds]
    order = [sorted(each) for each in numbers]
    shape = tuple(map(len, order))
    places = np.indices(shape, sparse=True)
    records = np.ones(shape)
    for axis, (number, kept) in enumerate(zip(numbers, order, strict=True)):
        records = records * np.array([number[kind] for kind in kept])[places[axis]]

    def holds(axis: int, answers: Collection[str]) -> NDArray[np.bool_]:
        """Return whether the answers to a question are among some, for each kind of them."""
        names = detail.attributes[axis].categories
        true = {kind for kind, name in zip(kinds[axis], names, strict=True) if name in answers}
        return np.array([kind in true for kind in order[axis]])[places[axis]]

    for j, condition in conditions.items():
        asked = np.array(True)
        for name, answers in condition.items():
            asked = asked & holds(detail.position(name), answers)
        records = records * (asked ^ holds(j, (NOT_ASKED,)))
    for name, options in detail.sets.items():
        others = 0 if among is None else len(among.sets[name]) - len(options)
        records = records * _answers_to_sets(detail, options, others, order, places)
    for axis, kept in enumerate(order):
        first = np.unique([kind[0] for kind in kept], return_index=True)[1]
        records = np.add.reduceat(records, first, axis=axis)
    return records


def _answers_to_sets(
    detail: Schema,
    options: Sequence[int],
    others: int,
    order: Sequence[Sequence[tuple[int, ...]]],
    places: Sequence[NDArray[np.int64]],
) -> Array:
    """Return the number of answers to a set, by kinds of answers to some of its options.

    Parameters
    ----------
    others : int
        Number of other options that are counted.
    """
    codes = [np.array([kind[0] for kind in order[j]])[places[j]] for j in options]
    chosen = sum((each == 1).astype(np.int64) for each in codes)
    largest, smallest = reduce(np.maximum, codes), reduce(np.minimum, codes)
    most = detail.at_most(detail.set_of[options[0]])
    # More options can be chosen among the others.
    ways = np.cumsum([comb(others, more) for more in range(most + 1)], dtype=np.float64)
    answers = np.where(chosen <= most, ways[np.maximum(most - chosen, 0)], 0.0)
    return np.where(largest < 2, answers, largest == smallest)


def _grouped(schema: Schema) -> GroupedSchema:
    """Return the attributes with groups for answers."""
    names = {
        attribute.name: {
            # A missing category keeps its name, which has a meaning.
            answer: answer if answer in attribute.missing else attribute.groups.names[code]
            for answer, code in zip(attribute.categories, attribute.groups.codes, strict=True)
        }
        for attribute in schema.attributes
        if attribute.collapsed
    }
    return GroupedSchema(
        tuple(_grouped_attribute(each, names) for each in schema.attributes), schema
    )


def _grouped_attribute(attribute: Attribute, names: Mapping[str, Mapping[str, str]]) -> Attribute:
    attribute = with_condition(attribute, names)
    if attribute.name not in names:
        return attribute
    own = names[attribute.name]
    categories = tuple(dict.fromkeys(own.values()))
    items = attribute.items
    return replace(
        attribute,
        categories=categories,
        collapsed=None,
        # A group counts if each of its answers does.
        items=items and tuple(c for c in categories if {a for a in own if own[a] == c} <= {*items}),
        kind="choice",
        number=None,
        answers={c: text for c, text in attribute.answers.items() if c in categories},
        short_answers={c: text for c, text in attribute.short_answers.items() if c in categories},
    )
