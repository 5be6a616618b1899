"""Makes `time.sleep` work under libfaketime; imported by Python if this folder is on its path.

With an unmodified monotonic clock, libfaketime 0.9 breaks sleeps until a moment of that clock,
which Python's `sleep` uses. Waiting for no file with a timeout is equivalent.
"""

import select
import time


def _sleep(seconds: float) -> None:
    select.select([], [], [], seconds)


time.sleep = _sleep
