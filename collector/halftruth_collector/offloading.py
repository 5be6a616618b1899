"""Threads for functions that would hold up every other request of a process."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

Result = TypeVar("Result")


class Offload(Protocol):
    """Run a function where it may wait, and return its result or raise its error."""

    def __call__(self, work: Callable[..., Result], *arguments: Any) -> Result:
        """Return what the function returns for these arguments."""


def run_inline(work: Callable[..., Result], *arguments: Any) -> Result:
    """Run a function in the thread that asks for it."""
    return work(*arguments)


@dataclass(frozen=True)
class Offloading:
    """Threads of a collector for each kind of work; by default, work is done where it is asked for.

    Attributes
    ----------
    transactions : Offload
        For the transactions of reports, which nothing else may be in the way of.
    brief : Offload
        For what waits for the database otherwise, or takes some milliseconds.
    long : Offload
        For computations, such as analyses, of which some may run at the same time.
    """

    transactions: Offload = run_inline
    brief: Offload = run_inline
    long: Offload = run_inline


#: Everything where it is called: what a process does that has no event loop.
INLINE = Offloading()
