"""How a request waits: by blocking its thread, or in the event loop of a server.

The server runs short requests in its event loop, which must not be blocked. Whatever would block
there, such as a query, raises `WouldBlock` instead, and the server runs the request again in a
thread.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

__all__ = ["WAIT", "Wait", "WouldBlock", "check_may_block", "forbid_blocking", "wait_in_thread"]

#: Calls a function that starts something, now or soon, and waits for its future for some seconds.
#: Returns the result or raises the exception; raises TimeoutError if there is none by then.
Wait = Callable[[Callable[[], object], Future[Any], float], Any]

#: Key of the environment of a request for its `Wait`; `wait_in_thread` without one.
WAIT = "halftruth.wait"

_is_forbidden: ContextVar[bool] = ContextVar("blocking_is_forbidden", default=False)


class WouldBlock(BaseException):
    """Raised instead of blocking the event loop. No handler of errors catches it."""


@contextmanager
def forbid_blocking() -> Iterator[None]:
    """Raise WouldBlock where the block would wait for a database, or parse a survey."""
    token = _is_forbidden.set(True)
    try:
        yield
    finally:
        _is_forbidden.reset(token)


def check_may_block() -> None:
    """Raise WouldBlock if blocking is forbidden here; call it before what can block."""
    if _is_forbidden.get():
        raise WouldBlock


def wait_in_thread(start: Callable[[], object], future: Future[Any], seconds: float) -> Any:
    """Start at once, and wait by blocking this thread."""
    start()
    return future.result(seconds)
