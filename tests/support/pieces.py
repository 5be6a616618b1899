"""Pieces of work for executors, which processes elsewhere have to find by name."""

import os
import signal
import time
from pathlib import Path


def square(number: int) -> tuple[int, int]:
    """The square, and who worked it out."""
    return number * number, os.getpid()


def end_at(piece: int, once: Path | None) -> int:
    """End the process that works out piece 3; only the first time if there is a file for it."""
    if piece == 3 and not (once and once.exists()):
        if once:
            once.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return piece


def mark(folder: Path, piece: int) -> int:
    """Leave a file for the piece, a little later."""
    time.sleep(0.1)
    (folder / str(piece)).touch()
    return piece
