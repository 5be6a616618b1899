"""Limit what is expensive: computations by time and number, large bodies by number.

A computation ends at its first check after the time limit; see :mod:`halftruth_shared.deadlines`.
"""

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


@contextmanager
def within_budget() -> Iterator[None]:
    """Limit the computation of this request; can also decorate a view.

    Raises ServiceUnavailable if the others take too long to finish, and DomainTooLarge if this one
    does.
    """
    with service().computations.one():
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
