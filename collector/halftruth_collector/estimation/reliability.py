"""Reliability of an estimate: one threshold on its margin of error, for plans and results alike.

The margin is half the width of the estimate's own interval; of a ratio it is the factor from the
middle of the interval, on the logarithmic scale, to either end.

========================================================= ========== =============
margin of                                                 usable     barely usable
========================================================= ========== =============
share, difference of shares, in points                    up to 5    up to 10
measure on a scale of 1, such as a correlation            up to 0.05 up to 0.1
mean, and difference of means, in hundredths of the range up to 5    up to 10
of what answers count as
ratio, and measure that grows with N, as a factor         up to 1.5  up to 2
========================================================= ========== =============

More is not usable, nor is what has no interval. Nothing else counts: not the estimate itself (the
noisier it is, the larger it can come out), not the number of cells, no threshold of support.

An effect, such as a difference or an odds ratio, is at least barely usable where its interval has
no end at or beyond *no effect*: its direction is known.
"""

import math
from collections.abc import Iterator
from typing import get_args

import numpy as np
from halftruth_shared.analyses.base import TypicalError, Usability
from halftruth_shared.analyses.wording import half_width, number, percent, places
from numpy.typing import ArrayLike, NDArray

from .bounds import Array, normal_quantile

#: The three verdicts, best first; grades are positions in it.
USABILITY: tuple[Usability, ...] = get_args(Usability)
USABLE, BARELY, NOT = range(3)

#: Largest margin of what is usable, and of what is barely usable.
POINTS, FACTOR = (0.05, 0.1), (1.5, 2.0)

#: Effective reports for a cell below which the normal intervals are noticeably wrong.
WELL_FILLED = 20

#: A factor beyond this is just a long number.
_ANY_FACTOR = 100.0

#: A share that is known no better than this may be anything.
_ANYTHING = 0.5

Grades = NDArray[np.int64]


def margin(lower: ArrayLike, upper: ArrayLike, *, ratio: bool = False) -> Array:
    """Margin of error of each interval; infinite for a ratio that may be 0 or has no upper end.

    >>> margin([1.0, 2.0], [3.0, 8.0]).tolist()
    [1.0, 3.0]
    >>> margin([-1.0, 2.0], [3.0, 8.0], ratio=True).tolist()
    [inf, 2.0]
    """
    low, high = np.asarray(lower, float), np.asarray(upper, float)
    with np.errstate(invalid="ignore", divide="ignore"):
        if not ratio:
            return np.asarray((high - low) / 2)
        factor = np.sqrt(np.where(low > 0, high / low, low / high))
        return np.where(low * high > 0, factor, np.where(np.isnan(low * high), np.nan, np.inf))


def clear(lower: ArrayLike, upper: ArrayLike, *, ratio: bool = False) -> NDArray[np.bool_]:
    """Return which intervals of effects lie on one side of no effect, 0 or a ratio of 1."""
    return np.asarray((np.asarray(lower) > ratio) | (np.asarray(upper) < ratio))


def grades(
    margins: ArrayLike, *, ratio: bool = False, directed: NDArray[np.bool_] | bool = False
) -> Grades:
    """Grade of each estimate by its margin; `NOT` where that is NaN.

    >>> grades([0.01, 0.05, 0.07, 0.2, np.nan]).tolist()
    [0, 0, 1, 2, 2]
    >>> grades([1.2, 1.8, 5.0, np.inf], ratio=True).tolist()
    [0, 1, 2, 2]
    """
    usable, barely = FACTOR if ratio else POINTS
    values = np.asarray(margins, float)
    each = np.where(values <= usable, USABLE, np.where(values <= barely, BARELY, NOT))
    return np.where(directed, np.minimum(each, BARELY), each)


def reliability(margin_of_share: float) -> Usability:
    """Return the reliability of a share with this margin; `plan` asks the same as results do."""
    return USABILITY[int(grades(margin_of_share))]


def judge(
    margins: Array,
    *,
    ratio: bool = False,
    span: float | None = None,
    directed: NDArray[np.bool_] | bool = False,
    effective: Array | float = math.inf,
) -> Iterator[tuple[Usability, str]]:
    """Verdict on each estimate, in a word and in words.

    Parameters
    ----------
    margins : ndarray
        NaN where unknown, infinite where there is no bound.
    ratio : bool
        Whether they are factors.
    span : float, optional
        Range of the scale of numbers that are no shares.
    directed : bool or ndarray of bool
        Which are effects whose direction is known; see `clear`.
    effective : float or ndarray
        Reports behind each, as `few_reports` takes them.
    """
    each = grades(margins / (span or 1.0), ratio=ratio, directed=directed)
    at_most = FACTOR[1] if ratio else POINTS[1] * (span or 1.0)
    columns = np.broadcast_arrays(each, margins, np.asarray(effective))
    for grade, width, reports in zip(*(column.tolist() for column in columns), strict=True):
        word = USABILITY[grade]
        if math.isnan(width):
            yield word, f"{word}: its error is not known"
            continue
        only = ""
        if width > at_most:
            only = "only " if grade == NOT else "its direction is known, its size only "
        known = f"{only}known to" if grade == NOT or not only else f"{only}to"
        text = f"{known} {_written(width, ratio=ratio, share=span is None)}"
        if math.isinf(width) and grade == NOT:
            text = "it may be anything"
        yield word, f"{word}: {text}{few_reports(reports)}"


def _written(width: float, *, ratio: bool, share: bool) -> str:
    if ratio:
        if width > _ANY_FACTOR:
            return f"no factor of {number(_ANY_FACTOR)}"
        return f"a factor of {number(width, 2 if width < FACTOR[1] else 1)}"
    if share:
        return half_width(width)
    return f"±{number(width, min(places([2 * width], 2), 4))}"


def few_reports(effective: float) -> str:
    """Return the warning of intervals that rest on few reports for a cell; else nothing."""
    if effective >= WELL_FILLED:
        return ""
    return (
        f"; with about {effective:.1f} reports for each cell, intervals miss the truth"
        " more often than they say"
    )


def median(values: Array) -> float:
    """Median; NumPy's own takes as long as all the rest of mining."""
    middle = [(values.size - 1) // 2, values.size // 2]
    return float(np.partition(values, middle)[middle].mean())


def typical(margins: Array) -> float | None:
    """Median of those that are known; None where most are not."""
    known = margins[~np.isnan(margins)]
    return None if 2 * known.size <= margins.size else median(known)


def judge_table(
    margins: Array, effective: Array | float = math.inf
) -> tuple[list[Usability], Usability, str]:
    """Verdict on each share of a table, row by row, and on the median one.

    Parameters
    ----------
    margins : ndarray
        Of every cell, NaN where undefined, infinite where there is no bound.
    effective : float or ndarray
        Effective reports behind each cell.
    """
    words = [USABILITY[grade] for grade in grades(margins.ravel()).tolist()]
    width = typical(margins.ravel())
    if width is None:
        return words, USABILITY[NOT], "not usable: too few reports for an interval of most cells"
    word = reliability(width)
    if width == np.inf:
        said = "most groups cannot be told from nobody, so that shares of them may be anything"
    else:
        said = f"shares are known {'only ' * (word == USABILITY[NOT])}to {half_width(width)}"
    return words, word, f"{word}: {said}{few_reports(float(np.median(effective)))}"


def judge_guess(found: TypicalError) -> tuple[Usability, str]:
    """Verdict on the best guesses of tables, by their typical error in place of an interval."""
    questions = f"{found.length} question{'s' if found.length > 1 else ''}"
    if found.error is None:
        word, said = USABILITY[NOT], f"how far best guesses of {questions} are off is unknown"
    else:
        # A bound is large for its own uncertainty already.
        word = reliability(found.error * (1 if found.bound else normal_quantile(0.05)))
        less = "less than " * found.bound
        said = f"best guesses of {questions} are typically off by {less}{half_width(found.error)}"
    if found.length > 1 and not found.learned:
        word = USABILITY[NOT]
        said += "; nothing about associations was learned, this is as if answers were independent"
    return word, f"{word}: {said}"


def judge_supports(margins: Array, min_support: float, effective: float) -> tuple[Usability, str]:
    """Verdict on the median support of itemsets of one length, and what it cannot decide."""
    width = typical(margins)
    if width is None:
        return USABILITY[NOT], "not usable: too few reports for an interval of most itemsets"
    word = reliability(width)
    said = f"supports are known {'only ' * (word == USABILITY[NOT])}to {half_width(width)}"
    if min_support <= width < _ANYTHING:
        said += f", and those up to {percent(width, 1)} cannot be told from zero"
    return word, f"{word}: {said}{few_reports(effective)}"


def significantly_positive(support: Array, half_width: Array) -> NDArray[np.bool_]:
    """Return which supports are above 0, with an interval that is not as wide as all shares."""
    return (support - half_width > 0) & (half_width < _ANYTHING)
