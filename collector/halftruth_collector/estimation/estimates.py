"""Estimates as messages, from columns of numbers."""

import math
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

import numpy as np
from halftruth_shared.analyses.estimate import Estimate
from numpy.typing import ArrayLike

from .bounds import Array, optional
from .ratios import FiellerSets
from .reliability import RELIABILITIES, grades, margin

E = TypeVar("E", bound=Estimate)


def estimates(
    kind: type[E],
    value: ArrayLike,
    standard_error: ArrayLike,
    ends: tuple[ArrayLike, ArrayLike] | FiellerSets,
    *,
    grade: ArrayLike | None = None,
    ratio: bool = False,
    span: float = 1.0,
    errors: tuple[Array, Array] | None = None,
    p_value: ArrayLike | None = None,
    undefined: Sequence[str | None] | None = None,
    **fields: Sequence[Any],
) -> Iterator[E]:
    """Make a message of each of K estimates, with nulls for what is not finite.

    Parameters
    ----------
    kind : type
        Which message.
    value, standard_error : array_like, shape (K,)
        Of a ratio, the standard error is that of its logarithm.
    ends : pair of array_like or FiellerSets
        Of the intervals; the upper one infinite where there is none.
    grade : array_like, optional
        Positions in `RELIABILITIES`; by default by the margins of the intervals.
    ratio : bool
        Whether these are ratios.
    span : float
        Range of the scale of numbers that are no shares.
    errors : pair of ndarray, optional
        Perturbation and sampling error.
    p_value, undefined : optional
    fields
        Columns of the message's own fields.
    """
    if isinstance(ends, FiellerSets):
        lower, upper, sets = ends.lower, ends.upper, ends.kinds
        margins = ends.half_width
    else:
        lower, upper = (np.ravel(np.asarray(end, float)) for end in ends)
        sets = ["interval"] * lower.size
        margins = margin(lower, upper, ratio=ratio)
    if grade is None:
        grade = grades(margins / span, ratio=ratio)
    columns: dict[str, Sequence[Any]] = {
        "value": _numbers(value),
        "standard_error": _numbers(standard_error),
        "interval": [
            None
            if set is None or (set != "everything" and (low != low or high != high))
            else (optional(low), optional(high))
            for set, low, high in zip(sets, lower.tolist(), upper.tolist(), strict=True)
        ],
        "set": [set or "interval" for set in sets],
        "reliability": [RELIABILITIES[place] for place in np.ravel(grade).tolist()],
        **fields,
    }
    if errors is not None:
        columns |= {
            "perturbation_error": _numbers(errors[0]),
            "sampling_error": _numbers(errors[1]),
        }
    if p_value is not None:
        columns["p_value"] = _numbers(p_value)
    if undefined is not None:
        columns["undefined"] = [reason or None for reason in undefined]
    for row in zip(*columns.values(), strict=True):
        yield kind(**dict(zip(columns, row, strict=True)))


def covariance_of(*blocks: Array) -> list[list[float | None]]:
    """Return a covariance as messages have it, null where unknown, as it is between blocks."""
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
