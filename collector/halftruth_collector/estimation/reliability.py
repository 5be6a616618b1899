"""Reliability of an estimate: one threshold on its margin of error.

The margin is half the width of the interval of the estimate. For a ratio, it is the factor from the
middle of the interval, on the logarithmic scale, to either end.

========================================================= ========== =============
margin of                                                 usable     barely usable
========================================================= ========== =============
share, difference of shares, in points                    up to 5    up to 10
measure on a scale of 1, such as a correlation            up to 0.05 up to 0.1
mean, and difference of means, in hundredths of the range up to 5    up to 10
of the scores
ratio, and measure that grows with N, as a factor         up to 1.5  up to 2
========================================================= ========== =============

The margin of a lift is that of the joint share, against the share of independent answers. That of
Cramér's V is of an association in one direction, on average over all of them, at independence.

Wider intervals, and estimates without an interval, are not usable. The grade depends on nothing
else: not on the estimate (noisy estimates can be large), not on significance (effects that are
shown only if they are significant are too large on average, and often have the wrong sign), not on
the number of cells or a threshold of support.
"""

import math
from dataclasses import dataclass
from typing import get_args

import numpy as np
from halftruth_shared.analyses.base import TypicalError
from halftruth_shared.results.estimate import Reliability
from numpy.typing import ArrayLike, NDArray

from .bounds import Array, normal_quantile

#: The three grades, best first; a grade is represented by its position.
RELIABILITIES: tuple[Reliability, ...] = get_args(Reliability)
USABLE, BARELY, NOT = range(3)

#: Largest margin of usable estimates, and of barely usable ones.
POINTS, FACTOR = (0.05, 0.1), (1.5, 2.0)

#: Effective reports for a cell below which normal intervals are inaccurate.
WELL_FILLED = 20

#: A margin of a share from which the share can have any value.
UNDETERMINED = 0.5

Grades = NDArray[np.int64]


def margin(lower: ArrayLike, upper: ArrayLike, *, ratio: bool = False) -> Array:
    """Return the margin of error of each interval; infinite for a ratio that can be 0 or unbounded.

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


def grades(margins: ArrayLike, *, ratio: bool = False) -> Grades:
    """Return the grade of each estimate by its margin; `NOT` if the margin is NaN.

    >>> grades([0.01, 0.05, 0.07, 0.2, np.nan]).tolist()
    [0, 0, 1, 2, 2]
    >>> grades([1.2, 1.8, 5.0, np.inf], ratio=True).tolist()
    [0, 1, 2, 2]
    """
    usable, barely = FACTOR if ratio else POINTS
    values = np.asarray(margins, float)
    return np.where(values <= usable, USABLE, np.where(values <= barely, BARELY, NOT))


def reliability(margin_of_share: float | None) -> Reliability:
    """Return the reliability of a share with this margin."""
    return RELIABILITIES[int(grades(np.nan if margin_of_share is None else margin_of_share))]


def rounded_up(reports: float) -> int:
    """Round a number of reports up to two digits.

    >>> rounded_up(12_345.0), rounded_up(7.2)
    (13000, 8)
    """
    step = 10 ** max(0, math.ceil(math.log10(reports)) - 2)
    return int(step * math.ceil(reports / step))


@dataclass(frozen=True)
class LengthPrecision:
    """Precision of the itemsets of one length.

    Attributes
    ----------
    half_width : float or None
        Typical half-width of an interval; None if unknown, and for best guesses.
    filled : float
        Approximate number of reports that inform about a support.
    guess : TypicalError or None
        Typical error of best guesses.
    """

    length: int
    examined: int
    half_width: float | None
    filled: float
    guess: TypicalError | None = None

    @property
    def reliability(self) -> Reliability:
        """Reliability of the median support."""
        return guess_reliability(self.guess) if self.guess else reliability(self.half_width)


def median(values: Array) -> float:
    """Return the median; that of NumPy would dominate the time of mining."""
    middle = [(values.size - 1) // 2, values.size // 2]
    return float(np.partition(values, middle)[middle].mean())


def typical(margins: Array) -> float | None:
    """Return the median of the known margins; None unless more than half are known."""
    known = margins[~np.isnan(margins)]
    return None if 2 * known.size <= margins.size else median(known)


def guess_reliability(guess: TypicalError) -> Reliability:
    """Return the reliability of best guesses of tables, by their typical error."""
    if guess.error is None or (guess.length > 1 and not guess.learned):
        return RELIABILITIES[NOT]
    # An upper bound already includes its uncertainty.
    return reliability(guess.error * (1 if guess.bound else normal_quantile(0.05)))
