"""Where things go: wrapped lines, ends and ticks of axes, labels that do not overlap."""

import math
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise

from ..specification import Scale

#: Lines beyond which a text is cut; the longest category of a survey has fewer.
MAX_LINES = 16

_ROOM = 0.04

#: On a logarithmic axis, intervals go on beyond the edge rather than this far below all values.
_FAR = 20.0


def wrapped(words: Sequence[str], width: float, measured: Callable[[str], float]) -> list[str]:
    """Words in lines that are no wider than told, at most `MAX_LINES`.

    Parameters
    ----------
    words : sequence of str
    width : float
    measured : callable
        Width of a text.
    """
    lines = [""]
    for word in words:
        longer = f"{lines[-1]} {word}" if lines[-1] else word
        if measured(longer) <= width:
            lines[-1] = longer
            continue
        if lines[-1]:
            lines.append("")
        for character in word:
            if lines[-1] and measured(lines[-1] + character) > width:
                lines.append("")
            lines[-1] += character
    if len(lines) > MAX_LINES:
        lines = [*lines[: MAX_LINES - 1], lines[MAX_LINES - 1] + "…"]
    return lines


def limits(
    values: Sequence[float], intervals: Iterable[float], scale: Scale
) -> tuple[float, float]:
    """Ends of an axis with some room around everything.

    Parameters
    ----------
    values : sequence of float
        What must be seen; not empty.
    intervals : iterable of float
        Ends of intervals, which may be outside a logarithmic axis.
    scale : {"linear", "log"}
    """
    if scale == "log":
        positive = [value for value in values if value > 0] or [1.0]
        ends = [end for end in intervals if end * _FAR > min(positive)]
        low, high = min(positive + ends), max(positive + ends)
        factor = max((high / low) ** _ROOM, 1.05)
        return low / factor, high * factor
    low, high = min([*values, *intervals]), max([*values, *intervals])
    room = _ROOM * ((high - low) or abs(high) or 1.0)
    return low - room, high + room


def log_ticks(low: float, high: float, most: int) -> list[float]:
    """Ticks on a logarithmic axis: 1, 2 and 5 of each power of ten, or as few as told.

    >>> log_ticks(0.8, 12.0, 5), log_ticks(0.8, 120.0, 5)
    ([1.0, 2.0, 5.0, 10.0], [1.0, 3.0, 10.0, 30.0, 100.0])
    """
    exponents = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    ticks: list[float] = []
    for multiples in ((1, 2, 5), (1, 3), (1,)):
        ticks = [m * 10.0**e for e in exponents for m in multiples if low <= m * 10.0**e <= high]
        if len(ticks) <= most:
            return ticks
    return ticks[:: math.ceil(len(ticks) / most)]


def spread(places: Sequence[float], distance: float, highest: float) -> list[float]:
    """Places moved up until all are so far from each other, and down from the highest allowed.

    >>> spread([1.0, 0.0, 1.5], 1.0, 2.0), spread([2.0, 1.5], 1.0, 2.0)
    ([1.0, 0.0, 2.0], [2.0, 1.0])
    """
    moved = list(places)
    order = sorted(range(len(places)), key=lambda i: places[i])
    for below, i in pairwise(order):
        moved[i] = max(moved[i], moved[below] + distance)
    for i in reversed(order):
        moved[i] = min(moved[i], highest)
        highest = moved[i] - distance
    return moved
