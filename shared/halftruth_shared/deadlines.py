"""Deadlines of computations, which long loops check themselves (cooperative cancellation).

A loop whose length depends on the input calls `check_deadline` once for each step, which takes a
fraction of a microsecond. A NumPy function that runs finishes first.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

__all__ = ["Deadline", "DeadlinePassed", "check_deadline", "checked", "until"]

Step = TypeVar("Step")


class DeadlinePassed(BaseException):
    """Ends a computation; not an Exception, so that no handler of errors catches it."""


class Deadline:
    """The end of a computation, after some seconds or when another thread cancels it.

    Parameters
    ----------
    seconds : float
    clock : callable
        Returns monotonic seconds.
    """

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._end = clock() + seconds
        self.is_cancelled = False

    def cancel(self) -> None:
        """Let the computation end at its next check; any thread may call it."""
        self.is_cancelled = True

    def check(self) -> None:
        """Raise DeadlinePassed if the computation is cancelled or the time is over."""
        if self.is_cancelled or self._clock() >= self._end:
            raise DeadlinePassed


_current: ContextVar[Deadline | None] = ContextVar("deadline", default=None)


def check_deadline() -> None:
    """Raise DeadlinePassed if the current computation has a deadline that has passed."""
    deadline = _current.get()
    if deadline is not None:
        deadline.check()


def checked(steps: Iterable[Step]) -> Iterator[Step]:
    """Iterate over the steps of a loop, and check the deadline before each."""
    for step in steps:
        check_deadline()
        yield step


@contextmanager
def until(deadline: Deadline) -> Iterator[None]:
    """Apply a deadline to the computations of the block, in this thread."""
    token = _current.set(deadline)
    try:
        yield
    finally:
        _current.reset(token)
