"""End a computation after a time limit, or when its client disconnects.

The computation ends at its next check; see :mod:`halftruth_shared.deadlines`.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from flask import request
from halftruth_shared import DomainTooLarge
from halftruth_shared.deadlines import Deadline, DeadlinePassed, until
from werkzeug.exceptions import ClientDisconnected

#: Key of the WSGI environment for the `Computation` of a request, set by the server.
COMPUTATION = "halftruth.computation"

#: Time limit of a computation in seconds.
SECONDS = 30.0


class Computation:
    """The computation of a request, which another thread can abandon at any time."""

    def __init__(self) -> None:
        self._deadline: Deadline | None = None
        self._is_abandoned = False

    def abandon(self) -> None:
        """End the computation, because its client has disconnected."""
        self._is_abandoned = True
        if self._deadline is not None:
            self._deadline.cancel()

    @contextmanager
    def running(self, seconds: float) -> Iterator[None]:
        """Run the block as this computation, for at most some seconds.

        Raises DomainTooLarge if the block takes longer, ClientDisconnected if the computation was
        abandoned.
        """
        self._deadline = deadline = Deadline(seconds)
        if self._is_abandoned:
            deadline.cancel()
        try:
            with until(deadline):
                deadline.check()
                yield
        except DeadlinePassed:
            if self._is_abandoned:
                raise ClientDisconnected from None
            raise DomainTooLarge(
                f"the answer takes more than {seconds:g} seconds here; expected a question about"
                " fewer attributes, or a lower max_length"
            ) from None


@contextmanager
def within_budget() -> Iterator[None]:
    """Limit the computation of this request; can also decorate a view."""
    computation: Computation = request.environ.get(COMPUTATION) or Computation()
    with computation.running(SECONDS):
        yield
