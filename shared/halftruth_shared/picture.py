"""Estimates with their intervals, as they are drawn."""

from collections.abc import Sequence

import msgspec


class Mark(msgspec.Struct, frozen=True):
    """A number of a picture with its interval, and how long that would be without perturbation."""

    label: str
    value: float | None
    interval: tuple[float, float] | None
    sampling: tuple[float, float] | None
    usable: bool


class Panel(msgspec.Struct, frozen=True):
    """Marks on one axis, which measures `quantity`."""

    heading: str
    quantity: str
    marks: Sequence[Mark]


class Picture(msgspec.Struct, frozen=True):
    """The picture of a result."""

    title: str
    notes: Sequence[str]
    panels: Sequence[Panel]
