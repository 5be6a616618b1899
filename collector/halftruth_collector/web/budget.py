"""End a computation after a time limit, or when its client disconnects."""

import ctypes
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from flask import request
from halftruth_shared import DomainTooLarge
from werkzeug.exceptions import ClientDisconnected

#: Key of the WSGI environment for the `Computation` of a request, set by the server.
COMPUTATION = "halftruth.computation"

#: Time limit of a computation in seconds.
SECONDS = 30.0


class _Ended(BaseException):
    """Raised to end a computation; not an Exception, so that no handler catches it."""


class Computation:
    """A computation in the thread of its request, which other threads can end.

    It ends like a keyboard interrupt, between two Python instructions, so that a running NumPy
    function finishes first.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._thread: int | None = None
        self._reason: Exception | None = None

    def abandon(self) -> None:
        """End the computation, because its client has disconnected."""
        self._end(ClientDisconnected())

    @contextmanager
    def running(self, seconds: float) -> Iterator[None]:
        """Run the block as this computation, for at most some seconds.

        Raises DomainTooLarge if the block takes longer, ClientDisconnected if the computation was
        abandoned.
        """
        late = DomainTooLarge(
            f"the answer takes more than {seconds:g} seconds here; expected a question about fewer"
            " attributes, or a lower max_length"
        )
        timer = threading.Timer(seconds, self._end, [late])
        timer.daemon = True
        try:
            with self._lock:
                self._thread = threading.get_ident()
            timer.start()
            try:
                if self._reason is not None:
                    raise _Ended
                yield
            finally:
                timer.cancel()
                with self._lock:
                    if self._reason is not None:
                        # Cancel an interrupt that has not been raised yet.
                        _interrupt(self._thread, None)
                    self._thread = None
        except _Ended:
            assert self._reason is not None  # noqa: S101  (set before the interrupt)
            raise self._reason from None

    def _end(self, reason: Exception) -> None:
        with self._lock:
            self._reason = self._reason or reason
            _interrupt(self._thread, _Ended)


def _interrupt(thread: int | None, error: type[BaseException] | None) -> None:
    """Make a thread raise an error at its next instruction; None cancels a pending error."""
    if thread is not None:
        what = None if error is None else ctypes.py_object(error)
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), what)


@contextmanager
def within_budget() -> Iterator[None]:
    """Limit the computation of this request; can also decorate a view."""
    computation: Computation = request.environ.get(COMPUTATION) or Computation()
    with computation.running(SECONDS):
        yield
