"""Default estimator of tables: unbiased (moment) or model, chosen by the design alone.

A choice that depends on the estimates would be a selection. The choice for a table compares the
expected margins of error of both estimators for evenly spread answers; that for a regression
depends on whether such reports identify it for an answer that is rare everywhere
(`determines_regression`), and on the number of its predictors (`FEW_PREDICTORS`).
"""

from collections.abc import Sequence

import numpy as np
from halftruth_shared import DomainTooLarge, EstimateError, ParameterError, Schema, Survey

from ..counts import Counts, CountsKey, RecentResults, key_of
from .answers import nothing_missing
from .equation import Equation
from .model.fit import at_even_answers, schema_of
from .model.tables import shares
from .reconstruction import reconstruction
from .regression import carries
from .report_model import with_reported
from .table import Table

#: Largest ratio of the margin of a moment estimate to that of the model.
WIDER = 2.0

#: Largest table of all attributes for which the model includes attributes that a query does not
#: name.
MODELLED_CELLS = 2**14

#: Share of the answer in every category for which a design has to determine a regression.
_RARE = 0.02

#: Largest number of predictors for which the model of a regression has all interactions by default.
FEW_PREDICTORS = 2

#: Recent choices.
_PREFERRED = RecentResults[tuple[CountsKey, tuple[str, ...]], bool](256)


def prefers_model(survey: Survey, counts: Counts, attributes: Sequence[str]) -> bool:
    """Return whether the model of asked pairs is the default estimate of a table.

    It is the default if the reports do not identify the table of these attributes (with those of
    its domain), or if the expected margins of the moment estimate are more than `WIDER` times those
    of a model of them. Of the counts, only the number of reports of each view is used.
    """
    # The model of all pairs is saturated for a table of two attributes, unless these are scales: of
    # two questions, the default assumes nothing about their association.
    if len(attributes) < 3:
        return False
    names = tuple(sorted(attributes))
    key = key_of(survey, counts), names
    return _PREFERRED.get(key, lambda: _prefers_model(survey, counts, names))


def _prefers_model(survey: Survey, counts: Counts, names: tuple[str, ...]) -> bool:
    try:
        model = at_even_answers(survey, counts, with_reported(survey.perturbation, names))
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


def modelled(
    survey: Survey, attributes: Sequence[str], most: int = MODELLED_CELLS
) -> list[str] | None:
    """Return the attributes of the model for a table; None for all of the survey.

    It includes attributes that are not named if the table of all has at most `most` cells, or if
    reports about named ones are about these, too.
    """
    cells = np.prod([float(size) for size in survey.schema.shape])
    if cells <= most:
        return None
    named = {*attributes}
    further = [n for n in with_reported(survey.perturbation, attributes) if n not in named]
    schema_of(survey.schema, [*attributes, *further])
    return [*attributes, *further]


def determines_regression(schema: Schema, table: Table, model: Equation) -> bool:
    """Return whether a design determines a logistic regression, even of a rare answer.

    Of the table, only the number of reports of each view is used, so the choice is known before the
    field work. Predictors are even, and the answer has a share of 2 or 98 % in every category: a
    rule about the share among all people would keep the surveys in which the answer is frequent by
    chance in its rarest category.

    Parameters
    ----------
    schema : Schema
    table : Table
        Table of the predictors and then the outcome.
    model : Equation
    """
    kept = nothing_missing(schema, model.names)
    *predictors, answers = table.value.shape
    even = [np.full(size, 1 / size) for size in predictors]
    attribute = schema.attributes[schema.position(model.names[-1])]
    present = [attribute.categories.index(answer) for answer in model.present.values()]
    for rare in (_RARE, 1 - _RARE):
        shares = np.full(answers, (1 - rare) / (answers - len(present)))
        shares[present] = rare / len(present)
        if not carries(table, model, [*even, shares], kept):
            return False
    return True
