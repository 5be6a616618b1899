"""Executors of independent tasks: this process, or several.

A computation with such tasks takes a function like `map`, its default. That of an executor returns
the results in the order of the tasks, so they are the same everywhere; closing its result cancels
the tasks that wait.
"""

import multiprocessing
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Any

from .errors import WorkersLost

#: Like `map`: from a function and its arguments for each piece to the results.
Map = Callable[..., Iterator[Any]]


@contextmanager
def open_executor(processes: int = 1) -> Iterator[Map]:
    """Open an executor and yield its `map`.

    Parameters
    ----------
    processes : int
        Number of processes on this machine; 1 is this process itself.

    Raises
    ------
    WorkersLost
        If a process ended before its tasks were done.
    """
    if processes == 1:
        yield map
    else:
        # A server's threads and sockets are not to be inherited.
        context = multiprocessing.get_context("spawn")
        pool = ProcessPoolExecutor(processes, context)
        try:
            yield pool.map
        except BrokenProcessPool:
            raise WorkersLost(
                "processes: one of them ended before its piece was done; expected enough memory"
                " for all of them, or fewer processes"
            ) from None
        finally:
            pool.shutdown(cancel_futures=True)
