"""Turns of requests, of which only some are handled at the same time."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import BoundedSemaphore

from werkzeug.exceptions import ServiceUnavailable

#: Seconds for which a request waits for its turn.
PATIENCE = 30.0


class Turns:
    """Turns of the requests of one kind, which wait in their threads.

    Parameters
    ----------
    number : int
        Number of requests at the same time.
    """

    def __init__(self, number: int) -> None:
        self._free = BoundedSemaphore(number)

    def take(self) -> None:
        """Wait for a turn (ServiceUnavailable)."""
        if not self._free.acquire(timeout=PATIENCE):
            raise ServiceUnavailable("the server does not keep up; try again later", retry_after=5)

    def give_back(self) -> None:
        """End a turn."""
        self._free.release()

    @contextmanager
    def one(self) -> Iterator[None]:
        """Wait for a turn, which lasts for the block."""
        self.take()
        try:
            yield
        finally:
            self.give_back()
