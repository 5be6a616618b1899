"""Layouts: how the rows of a long table are arranged for people."""

from dataclasses import replace
from typing import Literal

from msgspec import field

from ..protocol.base import Message
from .quantities import Quantity, quantity

Picture = Literal["bars", "dots", "heat map", "curves"]


class Show(Message, frozen=True, kw_only=True):
    """A quantity in a table, and what is shown of it.

    `parts` are *value*, *interval*, *estimate* (both in one cell, with a mark where it is
    significant), *standard_error*, *statistic*, *p_value*, *adjusted_p_value*, *decision*, or names
    of keys. `drawn` is whether a chart shows it, too, and `names` what people call some values, as
    the answer of each rank.
    """

    quantity: str
    parts: list[str] = field(default_factory=lambda: ["value", "interval"])
    label: str = ""
    drawn: bool = True
    names: dict[str, str] = field(default_factory=dict)

    @property
    def of(self) -> Quantity:
        """The quantity, with its label here."""
        known = quantity(self.quantity)
        return replace(known, label=self.label) if self.label else known


class Block(Message, frozen=True, kw_only=True):
    """Part of a layout: one table, perhaps with a chart.

    `lines` are the keys that identify a line of the table, `across` the key that is spread over its
    columns, and `panels` says how many of the first keys of lines head parts of a chart, of which
    curves have the first. `along` is the key of the x axis of curves. `reference` is a value that a
    chart has a line at. Where it is `stacked` each quantity has lines of its own, with what the
    first of `shows` shows, and with its name, unless the last key has a text for lines without it.
    Of more than `most` lines a chart draws those usable ones that are most clearly above the
    reference; of panels the first ones. A heat map that has no key `across` has the last one of
    its lines there; where it shows adjusted p-values, what is not significant is pale.
    """

    shows: list[Show]
    lines: list[str] = field(default_factory=list)
    across: str | None = None
    panels: int = 0
    title: str = ""
    picture: Picture | None = None
    along: str | None = None
    reference: float | None = None
    stacked: bool = False
    reference_label: str = ""
    most: int | None = None
