"""An estimate with what is known of its error: the same fields in every result."""

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import Literal

from ..protocol.base import Message

#: Whether an estimate is precise enough for what it is to be compared with.
Reliability = Literal["usable", "barely usable", "not usable"]

#: Shapes of a confidence set: between two ends, all but a gap, everything, or nothing at all.
SetKind = Literal["interval", "outside", "everything", "empty"]

Interval = tuple[float, float]

#: Name and type of each column; that of an `Estimate` stands for five.
Columns = Sequence[tuple[str, type]]


class Estimate(Message, frozen=True, kw_only=True):
    """A number with its error, or the reason why it is `undefined`.

    `interval` has the smallest and the largest value of the confidence set, each null where there
    is none, and never a value that the quantity cannot have; `value` itself is unbiased and may be
    outside. Fieller's `set` of a ratio may be all *outside* of a `gap`, or *everything*, and is
    *empty* where no possible value explains the reports. Of a ratio there is the standard error of
    the logarithm, `standard_error_log`, in place of `standard_error`. The squares of
    `perturbation_error`, for exactly these respondents, and of `sampling_error`, without
    perturbation, add up to its square. `p_value` is of the test that there is no effect.
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
        """The interval if it has both ends, and is one."""
        if self.set != "interval" or self.interval is None or None in self.interval:
            return None
        return self.interval  # type: ignore[return-value]

    @property
    def drawn(self) -> Interval | None:
        """The interval to draw, infinite without an upper end."""
        lower, upper = self.interval or (None, None)
        return (lower, math.inf) if lower is not None and upper is None else self.ends

    def without_perturbation(self, confidence: float) -> Interval | None:
        """The interval without perturbation, inside of its own; None if unknown."""
        if self.ends is None or self.value is None or not self.sampling_error:
            return None
        half_width = NormalDist().inv_cdf((1 + confidence) / 2) * self.sampling_error
        lower, upper = self.ends
        return max(self.value - half_width, lower), min(self.value + half_width, upper)
