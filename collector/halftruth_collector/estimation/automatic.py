"""Default estimator of tables: unbiased (moment) or model, chosen by the design alone.

A choice that depends on the estimates would be a selection. The choice for a table compares the
expected margins of error of both estimators for evenly spread answers; that for a regression
depends on whether such reports identify it for an answer that is rare everywhere
(`regression.carries`).
"""

from collections.abc import Sequence

import numpy as np
from halftruth_shared import DomainTooLarge, EstimateError, ParameterError, Survey

from .counts import Counts, CountsKey, RecentResults, key_of
from .model.fit import at_independent_answers, schema_of
from .model.tables import shares
from .reconstruction import reconstruction

#: Largest ratio of the margin of a moment estimate to that of the model.
WIDER = 2.0

#: Largest table of all attributes for which the model includes attributes that a query does not
#: name.
_MODELLED_CELLS = 2**14

#: Recent choices.
_PREFERRED = RecentResults[tuple[CountsKey, tuple[str, ...]], bool](256)


def prefers_model(survey: Survey, counts: Counts, attributes: Sequence[str]) -> bool:
    """Return whether the model of all pairs is the default estimate of a table.

    It is the default if the reports do not identify the table of these attributes (with those of
    its domain), or if the expected margins of the moment estimate are more than `WIDER` times those
    of a model of them. Of the counts, only the number of reports of each view is used.
    """
    # The model of all pairs is saturated for a table of two attributes.
    if len(attributes) < 3:
        return False
    names = tuple(sorted(attributes))
    key = key_of(survey, counts), names
    return _PREFERRED.get(key, lambda: _prefers_model(survey, counts, names))


def _prefers_model(survey: Survey, counts: Counts, names: tuple[str, ...]) -> bool:
    try:
        model = at_independent_answers(survey, counts, names)
    except DomainTooLarge:
        return False
    if model is None:
        return False
    by_model = float(shares(model, names).variance().mean())
    unbiased = reconstruction(survey)
    try:
        unbiased.check(names)
        unit = unbiased.unit_variance(names, "population")
    except (ParameterError, EstimateError, DomainTooLarge):
        return True
    moment = float(np.mean(unit.at(1 / unit.constant.size))) / counts.reports
    return moment > WIDER**2 * by_model


def modelled(survey: Survey, attributes: Sequence[str]) -> list[str] | None:
    """Return the attributes of the model for a table; None for all of the survey."""
    cells = np.prod([float(size) for size in survey.schema.shape])
    if cells <= _MODELLED_CELLS:
        return None
    schema_of(survey.schema, attributes)
    return [*attributes]
