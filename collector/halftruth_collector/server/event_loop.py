"""The event loop of a worker, and its pools of native threads.

This is the only module that imports gevent. Only the sockets of clients are gevent's. Code in a
thread of `Threads` runs with the unpatched modules of Python, and blocks only that thread.
"""

import socket
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

from gevent import Timeout, events, get_hub, sleep, spawn
from gevent.event import Event
from gevent.lock import Semaphore
from gevent.socket import wait_read
from gevent.threadpool import ThreadPool

__all__ = [
    "Threads",
    "Timeout",
    "call_when_closed",
    "call_when_idle",
    "silence_errors",
    "sleep",
    "spawn",
    "wait_in_loop",
]

Result = TypeVar("Result")

#: Seconds after which a function is called, even if the event loop never is idle.
_MOST_BUSY = 0.02

#: Functions that are called when the event loop is idle.
_calls: set[Callable[[], object]] = set()


def _patch_nothing(event: Any) -> None:
    """Keep gunicorn's worker from monkey-patching the modules of Python."""
    if isinstance(event, events.GeventWillPatchAllEvent):
        raise events.DoNotPatch


events.subscribers.append(_patch_nothing)


def silence_errors() -> None:
    """Keep gevent from printing errors, since they can quote requests; we log them ourselves."""
    get_hub().exception_stream = None


class Threads:
    """Pool of native threads of a worker for one kind of requests."""

    def __init__(self, size: int) -> None:
        self._pool = ThreadPool(size)
        # Without a semaphore, the pool would let requests wait indefinitely.
        self._free = Semaphore(size)

    def run(
        self, function: Callable[..., Result], *arguments: Any, patience: float, late: Exception
    ) -> Result:
        """Run a function in a thread, while the event loop serves other requests.

        Parameters
        ----------
        function : callable
        *arguments
        patience : float
            Seconds to wait for a free thread.
        late : Exception
            Raised if no thread becomes free in this time; then the function is not called.
        """
        if not self._free.acquire(timeout=patience):
            raise late
        try:
            result: Result = self._pool.apply(function, arguments)
            return result
        finally:
            self._free.release()


def call_when_idle(function: Callable[[], object]) -> None:
    """Call a function once the event loop has nothing else to do, or after some milliseconds.

    A function that is to be called already is called only once.
    """
    if function in _calls:
        return
    _calls.add(function)
    loop = get_hub().loop
    watchers = loop.idle(), loop.timer(_MOST_BUSY)

    def call() -> None:
        for watcher in watchers:
            watcher.stop()
            watcher.close()
        _calls.discard(function)
        function()

    for watcher in watchers:
        watcher.start(call)


def wait_in_loop(start: Callable[[], object], future: Future[Result], seconds: float) -> Result:
    """Start when idle, and wait for a future of another thread, while others are served.

    Raises
    ------
    TimeoutError
        If the future has no result in this time.
    """
    call_when_idle(start)
    done, loop = Event(), get_hub().loop
    future.add_done_callback(lambda _: loop.run_callback_threadsafe(done.set))
    if not done.wait(seconds):
        raise TimeoutError
    return future.result()


@contextmanager
def call_when_closed(sock: socket.socket, function: Callable[[], object]) -> Iterator[None]:
    """Call a function if the client closes its connection during the block."""

    def watch() -> None:
        wait_read(sock.fileno())
        with suppress(OSError):
            if sock.recv(1, socket.MSG_PEEK):
                # The client has sent its next request, so the connection is open.
                return
        function()

    watcher = spawn(watch)
    try:
        yield
    finally:
        watcher.kill()
