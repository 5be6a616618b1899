"""Readiness check of a collector, which anyone may request."""

import math
import threading
import time
from collections.abc import Callable
from copy import copy

from halftruth_shared import HalftruthError

#: Seconds for which the outcome of a check is cached.
INTERVAL = 10


class Readiness:
    """Cached outcome of a check that writes to the database, at most once in ten seconds.

    So a failure or a recovery of the database is noticed within ten seconds. The check raises a
    HalftruthError if the collector is not ready.
    """

    def __init__(
        self, check: Callable[[], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.check = check
        self.clock = clock
        self._checked = -math.inf
        self._error: HalftruthError | None = None
        self._lock = threading.Lock()

    def refresh(self) -> bool:
        """Run the check if it is due, and return whether it ran."""
        # Requests during a check wait for its outcome.
        with self._lock:
            if self.clock() - self._checked < INTERVAL:
                return False
            try:
                self.check()
                self._error = None
            except HalftruthError as error:
                self._error = error
            finally:
                self._checked = self.clock()
            return True

    def raise_failure(self) -> None:
        """Raise the error of the last check, if it failed."""
        error = self._error
        if error is not None:
            # Raise a copy, since raising an error modifies it.
            raise copy(error)
