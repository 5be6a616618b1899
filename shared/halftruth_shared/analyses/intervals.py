"""Intervals, sets of ratios, and whether an estimate is precise enough."""

from typing import Literal

from ..protocol.base import Message

#: Whether an estimate is precise enough for what it is to be compared with.
Usability = Literal["usable", "barely usable", "not usable"]


Interval = tuple[float, float]


#: A lower and an upper end; the upper one is null where nothing is too large.
OpenInterval = tuple[float, float | None]


#: Shapes of a set of ratios: between two ends, outside of two ends, or every ratio.
FiellerKind = Literal["interval", "outside", "everything"]


class FiellerSet(Message, frozen=True, kw_only=True):
    """Fieller's confidence set of a ratio.

    An *interval* from `lower` to `upper`; or everything *outside* of them, so up to `lower` and
    from `upper` on; or *everything*, without ends.
    """

    kind: FiellerKind
    lower: float | None
    upper: float | None
