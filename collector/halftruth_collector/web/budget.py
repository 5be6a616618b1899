"""Limit what is expensive: computations by time and number, large bodies by number.

A computation ends at its first check after the time limit; see :mod:`halftruth_shared.deadlines`.
"""

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from flask import Flask, g, request
from halftruth_shared import DomainTooLarge
from halftruth_shared.deadlines import Deadline, DeadlinePassed, until

from .context import service
from .turns import Turns

#: Time limit of a computation in seconds.
SECONDS = 30.0

#: Bytes above which a body is large, and number of requests with large bodies at the same time: a
#: body and what is read from it take memory.
_LARGE, _LARGE_AT_ONCE = 65_536, 16

#: Thread switch interval in seconds while something is computed. With Python's default of 5 ms, a
#: report would wait ten times as long beside an analysis.
_SWITCH = 0.0005


class FrequentSwitches:
    """Shortens the thread switch interval of Python, as a context manager that threads share.

    A thread that waits for its turn wakes up at each interval. So a short interval would take a
    fifth of the processor from dozens of reports, for which the default one is long enough.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users = 0
        self._usual = 0.0

    def __enter__(self) -> None:
        with self._lock:
            if self._users == 0:
                self._usual = sys.getswitchinterval()
                sys.setswitchinterval(_SWITCH)
            self._users += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._users -= 1
            if self._users == 0:
                sys.setswitchinterval(self._usual)


_frequent_switches = FrequentSwitches()


@contextmanager
def within_budget() -> Iterator[None]:
    """Limit the computation of this request; can also decorate a view.

    Raises ServiceUnavailable if the others take too long to finish, and DomainTooLarge if this one
    does.
    """
    with service().computations.one(), _frequent_switches:
        try:
            with until(Deadline(SECONDS)):
                yield
        except DeadlinePassed:
            raise DomainTooLarge(
                f"the answer takes more than {SECONDS:g} seconds here; expected a question about"
                " fewer attributes, or a lower max_length"
            ) from None


def limit_large_bodies(app: Flask) -> None:
    """Limit the number of requests with large bodies that an application handles at once."""
    turns = Turns(_LARGE_AT_ONCE)

    @app.before_request
    def begin() -> None:
        if (request.content_length or 0) > _LARGE:
            turns.take()
            g.has_turn = True

    @app.teardown_request
    def end(_: BaseException | None) -> None:
        if g.pop("has_turn", False):
            turns.give_back()
