"""Estimates as columns of a long table, and as messages, from arrays of numbers."""

import math
from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
from halftruth_shared.results import EstimateColumns, Quantity, Texts
from halftruth_shared.results.estimate import Estimate
from numpy.typing import ArrayLike

from .bounds import Array
from .intervals import (
    EMPTY,
    EVERYTHING,
    KINDS,
    OUTSIDE,
    UNDEFINED,
    ConfidenceSets,
)
from .reliability import NOT, RELIABILITIES, grades, margin

E = TypeVar("E", bound=Estimate)


def columns(
    of: Quantity,
    value: ArrayLike,
    standard_error: ArrayLike = np.nan,
    ends: tuple[ArrayLike, ArrayLike] | ConfidenceSets | None = None,
    *,
    grade: ArrayLike | None = None,
    errors: tuple[Array, Array] | None = None,
    statistic: ArrayLike | None = None,
    p_value: ArrayLike | None = None,
    adjusted: ArrayLike | None = None,
    undefined: Sequence[str | None] | Texts | str | None = None,
) -> EstimateColumns:
    """Return K estimates of a quantity as columns.

    Parameters
    ----------
    of : Quantity
        Estimated quantity; confidence sets are truncated to its possible values.
    value, standard_error : array_like, shape (K,)
        NaN if undefined. The standard error of a ratio is that of its logarithm.
    ends : pair of array_like or ConfidenceSets, optional
        Ends of the intervals; an unbounded upper end is infinite. Without them, results have no
        precision.
    grade : array_like, optional
        Positions in `RELIABILITIES`; by default from the margins of the intervals before
        truncation, since precision does not depend on the distance from a limit. Needed without
        `ends`, if the precision is known from another source.
    errors : pair of ndarray, optional
        Perturbation and sampling error.
    undefined : Texts, sequence of str or None, or str, optional
        Reason why the value is undefined.
    """
    values = np.ravel(np.asarray(value, float))
    count = len(values)

    def numbers(column: ArrayLike | None) -> Array | None:
        if column is None:
            return None
        whole = np.broadcast_to(np.ravel(np.asarray(column, float)), count)
        return None if np.isnan(whole).all() else whole

    known: dict[str, Any] = {
        "standard_error_log" if of.logarithmic else "standard_error": numbers(standard_error),
        "statistic": numbers(statistic),
        "p_value": numbers(p_value),
        "adjusted_p_value": numbers(adjusted),
    }
    if errors is not None:
        known |= {"perturbation_error": numbers(errors[0]), "sampling_error": numbers(errors[1])}
    if undefined is not None:
        if isinstance(undefined, str):
            undefined = Texts.constant(undefined or None, count)
        elif not isinstance(undefined, Texts):
            undefined = Texts.of([reason or None for reason in undefined])
        if (undefined.codes >= 0).any():
            known["undefined"] = undefined
    if ends is not None:
        known |= _of_sets(of, ends, grade)
    elif grade is not None:
        known["reliability"] = Texts(np.broadcast_to(np.ravel(grade), count), RELIABILITIES)
    return EstimateColumns(quantity=Texts.constant(of.name, count), value=values, **known)


def _of_sets(
    of: Quantity,
    ends: tuple[ArrayLike, ArrayLike] | ConfidenceSets,
    grade: ArrayLike | None,
) -> dict[str, Any]:
    """Return the columns of the truncated confidence sets, and of the reliability."""
    whole = ends if isinstance(ends, ConfidenceSets) else ConfidenceSets.intervals(*ends)
    if grade is None:
        # Only intervals have a margin that is a factor.
        margins = margin(whole.lower, whole.upper, ratio=True) if of.ratio else whole.half_width
        grade = grades(margins / of.unit, ratio=of.ratio)
    sets = whole.within(of)
    grade = np.where(sets.kind == EMPTY, NOT, np.ravel(grade))
    outside, everything = sets.kind == OUTSIDE, sets.kind == EVERYTHING
    low, high = sets.lower, sets.upper
    with np.errstate(invalid="ignore"):
        below, above = low >= of.lower, high <= of.upper
    least = np.where(outside, np.where(below, of.lower, np.maximum(high, of.lower)), low)
    most = np.where(outside, np.where(above, of.upper, np.minimum(low, of.upper)), high)
    gap = outside & below & above
    found: dict[str, Any] = {
        "lower": np.where(everything, of.lower, least),
        "upper": np.where(everything, of.upper, most),
        "set": Texts(np.where(sets.kind == UNDEFINED, -1, sets.kind), KINDS),
        "reliability": Texts(grade, RELIABILITIES),
    }
    if gap.any():
        found |= {
            "gap_lower": np.where(gap, low, np.nan),
            "gap_upper": np.where(gap, high, np.nan),
        }
    return found


def covariance_of(*blocks: Array) -> list[list[float | None]]:
    """Return a covariance in the format of messages, with null if unknown, as between blocks."""
    size = sum(len(block) for block in blocks)
    whole, start = np.full((size, size), np.nan), 0
    for block in blocks:
        part = slice(start, start + len(block))
        whole[part, part] = block
        start += len(block)
    return [_numbers(row) for row in whole]


def _numbers(column: ArrayLike) -> list[float | None]:
    return [
        number if math.isfinite(number) else None
        for number in np.ravel(np.asarray(column, float)).tolist()
    ]
