"""From a survey and its counts to the likelihood of a model of its answers."""

import math
from collections.abc import Collection, Sequence
from itertools import combinations

import numpy as np
from halftruth_shared import DomainTooLarge, EstimateError, Schema, Survey
from halftruth_shared.attribute import NOT_ASKED
from halftruth_shared.mechanisms.parts import ReportPart
from numpy.typing import NDArray

from ..bounds import Array
from ..counts import Counts
from ..likelihood import project_to_simplex
from .design import Design

#: Largest table that is modelled.
MODEL_CELLS = 2**18


def check_told(schema: Schema, design: Design, parts: Sequence[ReportPart]) -> None:
    """Refuse an interaction of attributes that no report tells of together.

    Raises
    ------
    EstimateError
    """
    for term in design.terms:
        if not is_told(term, parts):
            raise EstimateError(
                f"terms: no report tells of {_listing(schema, term)}{' together' * (len(term) > 1)}"
                "; expected terms of attributes that are reported together",
                field="terms",
            )


def is_told(term: Collection[int], parts: Sequence[ReportPart]) -> bool:
    """Return whether some reports tell of all attributes of an interaction together."""
    return any({*part.known, *part.positions}.issuperset(term) for part in parts)


def _listing(schema: Schema, term: Sequence[int]) -> str:
    names = [f"'{schema.names[axis]}'" for axis in term]
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def schema_of(whole: Schema, attributes: Sequence[str] | None) -> Schema:
    """Return the attributes that the model is about, in their order in the survey."""
    if attributes is None:
        positions: Sequence[int] = range(len(whole.names))
    else:
        positions = sorted(whole.positions(attributes))
    cells = math.prod(whole.shape[j] for j in positions)
    if cells > MODEL_CELLS:
        raise DomainTooLarge(
            f"attributes: a model of {cells} cells; expected at most {MODEL_CELLS}, so fewer"
            " attributes",
            field="attributes",
        )
    return Schema(tuple(whole.attributes[j] for j in positions))


def axes_of(schema: Schema, terms: Sequence[Collection[str]] | None) -> list[tuple[int, ...]]:
    """Axes of the highest-order interactions, all pairs by default."""
    if terms is None:
        return list(combinations(range(len(schema.names)), 2))
    return [schema.positions(list(term), "terms") for term in terms]


def parts_of(survey: Survey, counts: Counts, schema: Schema) -> list[ReportPart]:
    """Return the parts of the reports, with axes of the table of `schema` as their positions."""
    axes = {j: axis for axis, j in enumerate(survey.schema.positions(schema.names))}
    return [
        ReportPart(
            tuple(axes[j] for j in part.known),
            tuple(axes[j] for j in part.positions),
            part.operator,
            part.counts,
        )
        for part in survey.mechanism.reconstruction(survey.schema).parts(counts, schema.names)
        if part.counts.any()
    ]


def independence(survey: Survey, counts: Counts, schema: Schema, design: Design) -> Array:
    """Return parameters in corner coding of independent answers, from the single tables."""
    reconstruction = survey.mechanism.reconstruction(survey.schema)
    corner = np.zeros(design.parameters)
    for axis, name in enumerate(schema.names):
        table = reconstruction.table(counts, [name])
        shares = project_to_simplex(table.support)
        # Far from an edge: what is estimated to be 0 is seldom that.
        shares = np.maximum(shares, np.sqrt(1 / counts.reports) / shares.size)
        effects = np.log(shares[1:] / shares[0])
        corner[design.term_of == design.terms.index((axis,))] = effects
    return corner


def feasible(schema: Schema) -> NDArray[np.bool_] | None:
    """Return the records that can be: who is asked a question answers it, others do not.

    Conditions on attributes that are not in the schema say nothing. None where all can be.
    """
    if not schema.conditional:
        return None
    every, codes = np.ones(schema.shape, dtype=bool), np.indices(schema.shape, sparse=True)
    for j, attribute in enumerate(schema.attributes):
        if not attribute.ask_if or not set(attribute.ask_if) <= set(schema.names):
            continue
        asked = np.array(True)
        for name, answers in attribute.ask_if.items():
            i = schema.position(name)
            wanted = [schema.attributes[i].categories.index(answer) for answer in answers]
            asked = asked & np.isin(codes[i], wanted)
        every &= asked ^ (codes[j] == attribute.code(NOT_ASKED))
    return every
