"""Bounds on a computation: it ends after some time, and when its client has gone."""

import ctypes
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from flask import request
from halftruth_shared import DomainTooLarge
from werkzeug.exceptions import ClientDisconnected

#: Where a server that sees its clients leave puts the `Computation` of a request.
COMPUTATION = "halftruth.computation"

#: Seconds that a computation may take.
SECONDS = 30.0


class _Ended(BaseException):
    """Ends a computation; no error, so that nothing takes it for one of its own."""


class Computation:
    """A computation in the thread of its request, which other threads can end.

    It ends as if it was interrupted from a keyboard: between two steps of Python, so that what
    NumPy has begun is finished first.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._thread: int | None = None
        self._reason: Exception | None = None

    def abandon(self) -> None:
        """End it, since nobody waits for the answer."""
        self._end(ClientDisconnected())

    @contextmanager
    def running(self, seconds: float) -> Iterator[None]:
        """Run the block, as this computation, for so long at most.

        Raises
        ------
        DomainTooLarge
            If it takes longer.
        ClientDisconnected
            If it was abandoned.
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
                        # What was sent and has not arrived is taken back.
                        _interrupt(self._thread, None)
                    self._thread = None
        except _Ended:
            assert self._reason is not None  # noqa: S101  set before the thread is interrupted
            raise self._reason from None

    def _end(self, reason: Exception) -> None:
        with self._lock:
            self._reason = self._reason or reason
            _interrupt(self._thread, _Ended)


def _interrupt(thread: int | None, error: type[BaseException] | None) -> None:
    """Let a thread raise an error at its next step; None takes back one that it has not raised."""
    if thread is not None:
        what = None if error is None else ctypes.py_object(error)
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), what)


@contextmanager
def within_budget() -> Iterator[None]:
    """Bound the computation of this request; as a decorator, all of a view."""
    computation: Computation = request.environ.get(COMPUTATION) or Computation()
    with computation.running(SECONDS):
        yield
