"""Lets Python sleep under libfaketime; imported by every Python that has this folder on its path.

Where the monotonic clock is left alone, libfaketime 0.9 fails every sleep until a moment of that
clock, and so does Python's. Waiting as long for no file at all is the same.
"""

import select
import time


def _sleep(seconds: float) -> None:
    select.select([], [], [], seconds)


time.sleep = _sleep
