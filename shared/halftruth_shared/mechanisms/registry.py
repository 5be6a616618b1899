"""The kinds of mechanisms that surveys can have.

Files, messages and the planner ask here; nothing else knows which mechanisms there are.
"""

from collections.abc import Iterator
from functools import reduce
from operator import or_
from typing import Any

from .base import Mechanism, Parameters

_KINDS: dict[str, type[Mechanism]] = {}


def register(*mechanisms: type[Mechanism]) -> None:
    """Let surveys have mechanisms of these types, each known by its ``kind``."""
    _KINDS.update({mechanism.kind: mechanism for mechanism in mechanisms})


def kinds() -> Iterator[type[Mechanism]]:
    """Every type of mechanism, in the order in which they were registered."""
    return iter(tuple(_KINDS.values()))


def any_parameters() -> Any:
    """The union of all ways to write a mechanism, told apart by their ``kind``."""
    written: list[type[Parameters]] = [mechanism.written_as for mechanism in _KINDS.values()]
    return reduce(or_, written)
