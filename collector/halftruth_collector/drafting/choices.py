"""Choices that drafts of surveys make: names of questions, and widths of bins."""

import math
import re
from collections.abc import Collection, Iterable
from fractions import Fraction
from itertools import count

#: Largest length of the name of a question.
LONGEST_NAME = 64

#: Default number of bins of a number, and the largest number if thresholds are edges of bins.
_BINS, _MAX_BINS = 5, 21


def make_name(wanted: str, taken: Collection[str], most: int = LONGEST_NAME) -> str:
    """Return an unused valid name of at most `most` characters, similar to a preferred one.

    >>> make_name("sore throat", {"sore-throat"})
    'sore-throat-2'
    """
    name = wanted
    if len(wanted) > most or re.fullmatch(r"[A-Za-z][A-Za-z0-9_.-]*", wanted, re.ASCII) is None:
        plain = re.sub(r"[^A-Za-z0-9_.-]+", "-", wanted).strip("-.")
        name = (plain if plain[:1].isalpha() else f"q-{plain}".rstrip("-"))[:most]
    ends = (f"-{number}" for number in count(2))
    numbered = (name[: most - len(end)] + end for end in ends)
    return name if name not in taken else next(n for n in numbered if n not in taken)


def fit_bin_width(
    low: Fraction, high: Fraction, whole: bool, edges: Iterable[Fraction]
) -> Fraction:
    """Return a width that gives about five bins and has these thresholds among their edges.

    If no width fits all of them, only the first thresholds are used.

    >>> for edges in ([], [18], [21, 66], [18, 65]):
    ...     print(fit_bin_width(Fraction(16), Fraction(99), True, map(Fraction, edges)))
    17
    17
    5
    17
    """
    inside = sorted([edge for edge in edges if low < edge <= high])
    size = high - low + (1 if whole else 0)
    for kept in range(len(inside), 0, -1):
        steps = [edge - low for edge in inside[:kept]]
        unit = math.lcm(*[step.denominator for step in steps])
        common = Fraction(math.gcd(*[int(step * unit) for step in steps]), unit)
        widths = [common / k for k in range(1, _MAX_BINS) if not whole or common % k == 0]
        counts = {math.ceil(size / width): width for width in widths}
        fitting = [bins for bins in counts if 2 <= bins <= _MAX_BINS]
        if fitting:
            return counts[min(fitting, key=lambda bins: abs(bins - _BINS))]
    usual = size / _BINS
    return Fraction(max(1, math.ceil(usual))) if whole else usual
