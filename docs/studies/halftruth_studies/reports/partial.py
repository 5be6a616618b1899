"""Partial correlation of two binary attributes given others (Guo Results 10, 11)."""

from collections.abc import Mapping, Sequence

from halftruth_collector.estimation.answers import presence
from halftruth_collector.estimation.association import (
    Batch,
    collapse,
    evaluate,
    known_covariance,
)
from halftruth_collector.estimation.bounds import check_confidence
from halftruth_collector.estimation.gradients import Jet
from halftruth_collector.estimation.measures import Cells, Measure
from halftruth_shared import ParameterError, Schema
from halftruth_shared.analyses.base import MeasureEstimate, Target
from halftruth_shared.mechanisms import TableEstimate
from msgspec.structs import replace

_UNDEFINED = "a share is not between 0 and 1, or the conditions determine an attribute"

#: What is left below this is nothing: the conditions determine the attribute.
_ROUNDING = 1e-12


def names_of_partial(schema: Schema, attributes: Sequence[str], given: Sequence[str]) -> list[str]:
    """Two attributes and those that are held fixed, checked."""
    if len(attributes) != 2:
        raise ParameterError("attributes: expected two attributes", field="attributes")
    schema.positions(attributes)
    if given:
        schema.positions(given, "given")
    return [*attributes, *given]


def partial_correlation(
    schema: Schema,
    table: TableEstimate,
    present: Mapping[str, str],
    confidence: float,
    target: Target,
) -> MeasureEstimate:
    """Correlation of the first two attributes of a table, given all others.

    It is what is left of the correlation of their presence when a linear prediction of each from
    the presence of the others is taken away.

    Parameters
    ----------
    table : TableEstimate
        Of three attributes or more.
    present : mapping of str to str
        The category that counts as presence, by attribute; by default the only item, or the
        second of two categories.

    Raises
    ------
    ParameterError
        If there are fewer than three attributes, or nothing says what presence is.
    DomainTooLarge
        If the table is too large for its covariance.
    """
    check_confidence(confidence)
    if len(table.attributes) < 3:
        raise ParameterError("given: expected one attribute or more", field="given")
    codes = presence(schema, table.attributes, present)
    for name, code in zip(table.attributes, codes, strict=True):
        if code is None:
            raise ParameterError(
                f"present: expected the category of '{name}' that counts as presence",
                field="present",
            )
    binary = collapse(table.support, known_covariance(table, target), codes)
    measure = Measure("partial_correlation", "itemset", _partial)
    [estimate] = evaluate(measure, Batch.single(*binary, table.reports)).estimates(confidence)
    return replace(estimate, undefined=estimate.undefined and _UNDEFINED)


def _partial(t: Cells, n: float) -> Jet:
    """One condition after the other is taken away, by the recursion for partial correlations."""
    count = len(t.margins)
    correlations = {
        (i, j): _correlation(t, i, j) for i in range(count) for j in range(i + 1, count)
    }
    for given in range(count - 1, 1, -1):
        correlations = {
            (i, j): _less(correlations[i, j], correlations[i, given], correlations[j, given])
            for i, j in correlations
            if j < given
        }
    return correlations[0, 1]


def _correlation(t: Cells, i: int, j: int) -> Jet:
    """φ of the presence of two attributes."""
    axes = range(len(t.margins))
    place = tuple(slice(1, None) if axis in (i, j) else slice(None) for axis in axes)
    left, right = t.present[i], t.present[j]
    variances = (left * (1 - left)).positive() * (right * (1 - right)).positive()
    return (t.total(t.table[place]) - left * right) / variances**0.5


def _less(r_ij: Jet, r_ig: Jet, r_jg: Jet) -> Jet:
    """Correlation of i and j given g and what was taken away before."""
    left = (1 - r_ig**2).above(_ROUNDING) * (1 - r_jg**2).above(_ROUNDING)
    return (r_ij - r_ig * r_jg) / left**0.5
