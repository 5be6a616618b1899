"""Pieces of work for executors, which processes elsewhere have to find by name."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from functools import partial
from pathlib import Path
from typing import Any


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


class Ending(Executor):
    """Another executor, a process of which ends after one of the pieces of each `map` is done.

    Only the first time where there is a folder to remember it in.
    """

    def __init__(self, executor: Executor, folder: Path | None) -> None:
        self._executor = executor
        self._folder = folder

    def map(self, fn: Callable[..., Any], *iterables: Any, **options: Any) -> Iterator[Any]:
        """What the other one finds."""
        once = self._folder and self._folder / fn.__name__
        return self._executor.map(partial(_end_after, fn, once), *iterables, **options)


def _end_after(function: Callable[..., Any], once: Path | None, piece: Any) -> Any:
    result = function(piece)
    if not (once and once.exists()):
        if once:
            once.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return result


def mark(folder: Path, piece: int) -> int:
    """Leave a file for the piece, a little later."""
    time.sleep(0.1)
    (folder / str(piece)).touch()
    return piece
