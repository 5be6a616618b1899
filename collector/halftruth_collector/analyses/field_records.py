"""Regression of an answer that was perturbed in the field, on unperturbed covariates.

For randomized response interviews without a collector: a file has the reported answer of each
person, and other columns that were asked directly and can be continuous.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np
from halftruth_shared import ParameterError, Survey
from halftruth_shared.analyses.base import Items
from halftruth_shared.analyses.regression import RegressionQuery
from halftruth_shared.errors import listing
from halftruth_shared.results import EstimateColumns, Result
from msgspec.structs import replace

from ..estimation.equation import Equation, Factor, Predictor, Predictors, indicators, outcome_of
from ..estimation.model import channel_of_outcome, perturbed_outcome_regression
from .answering import decided
from .coefficients import coefficient_rows
from .regression import ANALYSIS, Fitted, caveats_of


def regress_records(
    survey: Survey,
    records: Mapping[str, Sequence[Any]],
    outcome: str,
    predictors: Sequence[str],
    *,
    present: Items | None = None,
    reference: Items | None = None,
    confidence: float = 0.95,
) -> Result[RegressionQuery]:
    """Regress a perturbed answer on other columns of a file, by maximum likelihood.

    Parameters
    ----------
    survey : Survey
        Survey with the mechanism that perturbed the outcome. It needs no other attribute.
    records : mapping of str to sequence, such as a data frame
        Columns by name, with a row for each person. The column of the outcome has the reported
        categories. The numbers of a predictor are used unchanged; texts are categories.
    outcome : str
        A question of the survey with two answers.
    predictors : sequence of str
        Columns, at least one.
    present : mapping of str to str, optional
        The answer whose odds are modelled; by default the outcome's only item, or the second one.
    reference : mapping of str to str, optional
        The reference category of predictors; by default the first in alphabetical order.
    confidence : float

    Returns
    -------
    Result
        Result of the `regression` analysis.

    Raises
    ------
    SchemaError, ParameterError
        For an unknown column or category, a missing value, or an outcome that is not perturbed
        separately.
    """
    schema = survey.schema
    query = RegressionQuery(
        outcome=outcome,
        predictors=list(predictors),
        present=present or {},
        reference=reference or {},
        confidence=confidence,
    )
    response, chosen = outcome_of(schema, query, {})
    channel = channel_of_outcome(survey, outcome, ())
    if channel is None:
        raise ParameterError(
            "outcome: expected an answer that the survey perturbs by itself, and not whether there"
            " is one",
            field="outcome",
        )
    attribute = schema.attributes[schema.position(outcome)]
    reported = _column(records, outcome)
    if not np.isin(reported, attribute.categories).all():
        raise ParameterError(
            f"records: '{outcome}' has other values than its categories; expected"
            f" {listing(attribute.categories)}",
            field="records",
        )
    # Rows without an answer have no weight.
    answers = np.array(attribute.categories)[~np.array(attribute.is_missing)]
    numbers = (reported[:, None] == answers).astype(np.float64)
    each = Predictors(tuple(_predictor(records, name, query.reference) for name in predictors))
    first = {f.attribute: f.reference for p in each.each for f in p.factors if f.reference}
    equation = Equation((*predictors, outcome), each, response, chosen, first, {})
    fit = perturbed_outcome_regression(numbers, channel, each, response)
    named = replace(query, present=chosen)
    as_of = datetime.now(UTC)

    def at_level(confidence: float) -> Result[RegressionQuery]:
        asked = replace(named, confidence=confidence)
        keys, parts, _ = coefficient_rows(asked, equation, fit)
        return Result(
            survey=survey.id,
            digest=survey.digest,
            reports=int(numbers.sum()),
            as_of=as_of,
            query=asked,
            keys=keys,
            estimates=EstimateColumns.concatenate(parts),
            caveats=[*caveats_of(asked, equation, Fitted(fit, "outcome"))],
        )

    return ANALYSIS.described(decided(ANALYSIS, at_level(query.confidence), at_level))


def _column(records: Mapping[str, Sequence[Any]], name: str) -> np.ndarray:
    if name not in records:
        raise ParameterError(f"records: expected a column '{name}'", field="records")
    return np.asarray(records[name])


def _predictor(records: Mapping[str, Sequence[Any]], name: str, reference: Items) -> Predictor:
    values = _column(records, name)
    if np.issubdtype(values.dtype, np.number) or values.dtype == bool:
        numbers = values.astype(np.float64)
        if not np.isfinite(numbers).all():
            raise ParameterError(f"records: '{name}' has missing numbers", field="records")
        return Predictor(name, (Factor(attribute=name),), numbers[:, None])
    if not all(isinstance(value, str) for value in values):
        raise ParameterError(
            f"records: '{name}' has values of several kinds; expected numbers, or texts alone",
            field="records",
        )
    categories, codes = np.unique(values.astype(str), return_inverse=True)
    base = reference.get(name, str(categories[0]))
    if base not in categories or len(categories) < 2:
        raise ParameterError(
            f"reference: '{base}' of '{name}'; expected one of two or more categories:"
            f" {listing(categories.tolist())}",
            field="reference",
        )
    factors = [
        Factor(attribute=name, category=str(category), reference=base)
        for category in categories
        if category != base
    ]
    columns = indicators(len(categories), categories.tolist().index(base))
    return Predictor(name, tuple(factors), columns[codes.ravel()])
