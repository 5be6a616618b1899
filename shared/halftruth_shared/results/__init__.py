"""Results of analyses: a long table of estimates, with its layout as tables and charts."""

from ..columns import AnswerSets, Column, Texts
from .blocks import Block, Show
from .caveats import Caveat, note, warning
from .keys import Key
from .labels import NAMES, Labels
from .long_table import EstimateColumns, Row, Selection
from .quantities import QUANTITIES, Quantity, quantity
from .result import Result

__all__ = [
    "NAMES",
    "QUANTITIES",
    "AnswerSets",
    "Block",
    "Caveat",
    "Column",
    "EstimateColumns",
    "Key",
    "Labels",
    "Quantity",
    "Result",
    "Row",
    "Selection",
    "Show",
    "Texts",
    "note",
    "quantity",
    "warning",
]
