"""Readiness of a collector, which anyone may ask for."""

import math
import threading
import time
from collections.abc import Callable

from halftruth_shared import HalftruthError

#: Seconds for which the outcome of a check is used again.
INTERVAL = 10


class Readiness:
    """Outcome of a check that writes to the database, and so runs at most once in ten seconds.

    A database that fails is noticed within this time, and so is one that works again.

    Parameters
    ----------
    check : callable
        Raises a HalftruthError if the collector is not ready.
    clock : callable
        Returns seconds since any moment.
    """

    def __init__(
        self, check: Callable[[], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._check = check
        self.clock = clock
        self._checked = -math.inf
        self._error: HalftruthError | None = None
        self._lock = threading.Lock()

    def refresh(self) -> bool:
        """Run the check if it is due.

        Returns
        -------
        bool
            Whether it ran.
        """
        # Requests that arrive during a check wait for its outcome.
        with self._lock:
            if self.clock() - self._checked < INTERVAL:
                return False
            try:
                self._check()
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
            # A new one, since raising an error changes it.
            raise type(error)(str(error), field=error.field)
