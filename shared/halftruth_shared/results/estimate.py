"""An estimate with its errors and interval, with the same fields in every result."""

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import Literal

from ..protocol.base import Message

#: Grades of the precision of an estimate, relative to the scale of its quantity.
Reliability = Literal["usable", "barely usable", "not usable"]

#: Shapes of a confidence set: an interval, the complement of a gap, all values, or no value.
SetKind = Literal["interval", "outside", "everything", "empty"]

Interval = tuple[float, float]

#: Name and type of each column; a column of type `Estimate` represents five columns.
Columns = Sequence[tuple[str, type]]


class Estimate(Message, frozen=True, kw_only=True):
    """A number with its error, or the reason why it is `undefined`.

    `interval` has the smallest and the largest value of the confidence set, null if it is
    unbounded, and only possible values of the quantity; `value` is unbiased and can lie outside.
    Fieller's `set` of a ratio can be all values *outside* a `gap`, or *everything*; it is *empty*
    if no possible value explains the reports. Ratios have the standard error of the logarithm,
    `standard_error_log`, instead of `standard_error`. The variance is the sum of the squares of
    `perturbation_error`, the error for exactly these respondents, and `sampling_error`, the error
    without perturbation. `p_value` is of the test of no effect.
    """

    value: float | None = None
    standard_error: float | None = None
    standard_error_log: float | None = None
    interval: tuple[float | None, float | None] | None = None
    set: SetKind = "interval"
    gap: Interval | None = None
    perturbation_error: float | None = None
    sampling_error: float | None = None
    p_value: float | None = None
    reliability: Reliability = "not usable"
    undefined: str | None = None

    @property
    def ends(self) -> Interval | None:
        """Both ends of the interval; None if the set is unbounded or not an interval."""
        if self.set != "interval" or self.interval is None or None in self.interval:
            return None
        return self.interval  # type: ignore[return-value]

    @property
    def doubtful(self) -> bool:
        """Whether charts show it pale: it is defined, but not usable."""
        return not self.undefined and self.reliability == "not usable"

    @property
    def drawn(self) -> Interval | None:
        """The interval to draw, with an infinite end if it is unbounded above."""
        lower, upper = self.interval or (None, None)
        return (lower, math.inf) if lower is not None and upper is None else self.ends

    def without_perturbation(self, confidence: float) -> Interval | None:
        """Return the interval without perturbation, within the actual one; None if unknown."""
        if self.ends is None or self.value is None or not self.sampling_error:
            return None
        half_width = NormalDist().inv_cdf((1 + confidence) / 2) * self.sampling_error
        lower, upper = self.ends
        return max(self.value - half_width, lower), min(self.value + half_width, upper)
