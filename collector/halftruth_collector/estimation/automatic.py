"""Which estimate is taken by default, decided by the design of the reports alone.

Deciding by the estimates would select those that came out small or clear. So a table is compared
with the model by the margins that both would have of even answers, and a regression by whether
reports like these determine it from independent answers (`regression.carries`).
"""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from halftruth_shared import DomainTooLarge, EstimateError, ParameterError, Survey

from .counts import Counts, Snapshot
from .model.fit import at_independent_answers, schema_of
from .model.tables import shares
from .reconstruction import reconstruction

#: How many times wider than that of the model the margin of a moment estimate may be.
WIDER = 2.0

#: Largest table that all answers may have for a model of all; else it is of those named alone.
_MODELLED_CELLS = 2**14


def prefers_model(survey: Survey, counts: Counts, attributes: Sequence[str]) -> bool:
    """Return whether the model of all pairs is the default estimate of a table.

    It is where the reports do not tell of the table, or where the expected margins of the moment
    estimate are more than `WIDER` times those of a model of these attributes alone.

    Parameters
    ----------
    survey : Survey
    counts : Counts
        With at least one report; only how many there are of each view counts.
    attributes : sequence of str
        Of the table, and those that its people are selected by.
    """
    # A model of pairs has all that a table of two consists of.
    if len(attributes) < 3:
        return False
    return _prefers_model(Snapshot.of(survey, counts), tuple(sorted(attributes)))


@lru_cache(maxsize=256)
def _prefers_model(source: Snapshot, names: tuple[str, ...]) -> bool:
    try:
        model = at_independent_answers(source.survey, source.counts, names)
    except DomainTooLarge:
        return False
    if model is None:
        return False
    by_model = float(shares(model, names).variance().mean())
    unbiased = reconstruction(source.survey)
    try:
        unbiased.check(names)
        unit = unbiased.unit_variance(names, "population")
    except (ParameterError, EstimateError, DomainTooLarge):
        return True
    moment = float(np.mean(unit.at(1 / unit.constant.size))) / source.counts.reports
    return moment > WIDER**2 * by_model


def modelled(survey: Survey, attributes: Sequence[str]) -> list[str] | None:
    """Return the attributes that a model of a table is about; None for all of the survey."""
    cells = np.prod([float(size) for size in survey.schema.shape])
    if cells <= _MODELLED_CELLS:
        return None
    schema_of(survey.schema, attributes)
    return [*attributes]
