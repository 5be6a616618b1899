"""Limits and ticks of the axes of charts, which files and pages have in common."""

import math
from collections.abc import Iterable, Sequence

import numpy as np

from ..long_table import Row
from . import Axis, EstimateChart, Panel

#: Limits of the axis of shares in all charts, slightly wider than 0 to 1.
SHARES = (-0.04, 1.04)

#: Steps between ticks, as multiples of a power of ten, and the largest number of steps.
_STEPS, _MOST_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0), 4

#: Multiples of powers of ten with ticks on a logarithmic axis of less than two powers.
_WITHIN_POWERS = (1, 2, 5)

Limits = tuple[float, float]


def fits(value: float, axis: Axis) -> bool:
    """Return whether an axis can show a value."""
    return bool(np.isfinite(value)) and (value > 0 or axis.scale == "linear")


def limits(axis: Axis, values: Iterable[float], intervals: Iterable[Limits | None]) -> Limits:
    """Return the limits of an axis for all values, and for intervals without very far ends."""
    log = axis.scale == "log"

    def places(numbers: Iterable[float]) -> list[float]:
        fit = [number for number in numbers if fits(number, axis)]
        return [float(np.log10(number)) for number in fit] if log else fit

    pairs = [places(interval) for interval in intervals if interval]
    widths = [pair[1] - pair[0] for pair in pairs if len(pair) == 2]
    within = places(values) or [0.0]
    far = 2 * max(max(within) - min(within), float(np.median(widths)) if widths else 0.0)
    far = far or math.inf
    reached = within + [end for pair in pairs for end in pair]
    low, high = max(min(reached), min(within) - far), min(max(reached), max(within) + far)
    room = 0.04 * (high - low or abs(high) or 1.0)
    return (10 ** (low - room), 10 ** (high + room)) if log else (low - room, high + room)


def limits_of_rows(chart: EstimateChart, rows: Sequence[Row], panel: Panel) -> Limits:
    """Return the limits of the axis of rows; for shares, they are the same in all charts."""
    axis, values = panel.axis, [row.possible for row in rows if row.possible is not None]
    values += [panel.reference.value] if panel.reference else []
    intervals = [row.drawn for row in rows]
    if not axis.shares or axis.scale == "log":
        return limits(axis, values + ([0.0] if chart.bars else []), intervals)
    return SHARES


def ticks(axis: Axis, ends: Limits) -> list[float]:
    """Return round numbers within the limits of an axis, five at most, or powers of ten.

    >>> ticks(Axis(""), (-0.04, 1.04)), ticks(Axis("", counted=True), (0.9, 3.1))
    ([0.0, 0.25, 0.5, 0.75, 1.0], [1.0, 2.0, 3.0])
    >>> ticks(Axis("", scale="log"), (0.4, 11))
    [0.5, 1.0, 2.0, 5.0, 10.0]
    """
    low, high = ends
    if axis.scale == "log" and high / low > 10:
        return _powers(low, high)
    if not high > low:
        return [low]
    power = 10.0 ** math.floor(math.log10((high - low) / _MOST_STEPS))
    least = (high - low) / _MOST_STEPS
    step = next((power * each for each in _STEPS if power * each >= least * 0.9), 10 * power)
    if axis.counted:
        step = float(math.ceil(step))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(place * step, 12) + 0.0 for place in range(first, last + 1)]


def _powers(low: float, high: float) -> list[float]:
    """Return ticks of a logarithmic axis; a short one contains few powers of ten."""
    within = _WITHIN_POWERS if high / low < 100 else (1,)
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    every = max(1, -(-(last - first) // 5))
    found = [n * 10.0**power for power in range(first, last + 1, every) for n in within]
    return [tick for tick in found if low <= tick <= high]


def place(value: float, axis: Axis, ends: Limits) -> float:
    """Return the position of a value on an axis, from 0 at its beginning to 1 at its end.

    Values beyond the limits, and those that the axis cannot show, are at the nearest end.

    >>> place(0.5, Axis(""), (0, 2)), place(10, Axis("", scale="log"), (1, 100))
    (0.25, 0.5)
    """
    low, high = ends
    if axis.scale == "log":
        low, high = math.log10(low), math.log10(high)
        value = math.log10(value) if value > 0 else -math.inf
    return min(max((value - low) / (high - low), 0.0), 1.0)
