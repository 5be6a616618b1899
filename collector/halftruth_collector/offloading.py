"""Threads for functions that would hold up every other request of a process."""

from dataclasses import dataclass

from .store.database import Offload, here


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

    transactions: Offload = here
    brief: Offload = here
    long: Offload = here


#: Everything where it is called: what a process does that has no event loop.
HERE = Offloading()
