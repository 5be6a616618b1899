"""The event loop of a worker, which receives requests and sends answers; its threads answer them.

This is the one module that knows gevent. Only the sockets of clients are gevent's: whatever runs in
a thread of `Threads` waits there, with everything as Python has it.
"""

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

from gevent import Timeout, events, get_hub, sleep, spawn
from gevent.lock import Semaphore
from gevent.socket import wait_read
from gevent.threadpool import ThreadPool

__all__ = ["Threads", "Timeout", "calling_when_closed", "quiet", "sleep", "spawn"]

Result = TypeVar("Result")


def _patch_nothing(event: Any) -> None:
    """Keep gunicorn's worker from putting gevent in the place of Python's own modules."""
    if isinstance(event, events.GeventWillPatchAllEvent):
        raise events.DoNotPatch


events.subscribers.append(_patch_nothing)


def quiet() -> None:
    """Let gevent print no errors, with what they quote: each is answered and logged by us."""
    get_hub().exception_stream = None


class Threads:
    """Native threads of a worker for one kind of requests."""

    def __init__(self, size: int) -> None:
        self._pool = ThreadPool(size)
        # The pool itself lets one more wait, and for ever.
        self._free = Semaphore(size)

    def run(
        self, function: Callable[..., Result], *arguments: Any, patience: float, late: Exception
    ) -> Result:
        """Run a function in a thread, and wait in the event loop until it returns.

        Parameters
        ----------
        function : callable
        *arguments
        patience : float
            Seconds to wait for a thread.
        late : Exception
            Raised where none is free in this time; then the function has not been called.
        """
        if not self._free.acquire(timeout=patience):
            raise late
        try:
            result: Result = self._pool.apply(function, arguments)
            return result
        finally:
            self._free.release()


@contextmanager
def calling_when_closed(sock: socket.socket, function: Callable[[], object]) -> Iterator[None]:
    """Call a function if a client closes its connection during the block."""

    def watch() -> None:
        wait_read(sock.fileno())
        with suppress(OSError):
            if sock.recv(1, socket.MSG_PEEK):
                # Its next request, which it does not keep waiting for if it has gone.
                return
        function()

    watcher = spawn(watch)
    try:
        yield
    finally:
        watcher.kill()
