"""Layouts: arrangement of the rows of a long table in tables and charts."""

from dataclasses import replace
from typing import Literal

from msgspec import field

from ..protocol.base import Message
from .quantities import Quantity, quantity

Picture = Literal["bars", "dots", "heat map", "curves"]


class Show(Message, frozen=True, kw_only=True):
    """A quantity in a table, with the parts to show.

    `parts` are *value*, *interval*, *estimate* (both in one cell, with a mark if it is
    significant), *standard_error*, *statistic*, *p_value*, *adjusted_p_value*, *decision*, or names
    of keys. `drawn` is whether charts show it, and `names` are texts for some values, such as the
    answer of each rank.
    """

    quantity: str
    parts: list[str] = field(default_factory=lambda: ["value", "interval"])
    label: str = ""
    drawn: bool = True
    names: dict[str, str] = field(default_factory=dict)

    @property
    def of(self) -> Quantity:
        """The quantity, with the label of this table."""
        of = quantity(self.quantity)
        return replace(of, label=self.label) if self.label else of


class Block(Message, frozen=True, kw_only=True):
    """Part of a layout: one table, perhaps with a chart.

    Attributes
    ----------
    shows : list of Show
        Quantities of the table.
    lines : list of str
        Keys that identify a line of the table.
    across : str or None
        Key that is spread over the columns. A heat map without it uses the last key of `lines`.
    panels : int
        Number of leading keys of `lines` that define the panels of a chart; curves use the first.
    picture : str or None
        Type of the chart. In a heat map of adjusted p-values, insignificant cells are pale.
    along : str or None
        Key of the x axis of curves.
    reference : float or None
        Position of a reference line.
    stacked : bool
        Whether each quantity has its own lines, with the parts of the first of `shows`, and with
        its name unless the last key has a text for missing values.
    most : int or None
        Largest number of lines in a chart. Of more lines, the usable ones that are most clearly
        above the reference are drawn; of panels, the first ones.
    symmetric : bool
        Whether the cells of a heat map are also those of the exchanged keys.
    folded : bool
        Whether each panel of a chart on a page is one line that unfolds.
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
    symmetric: bool = False
    folded: bool = False
