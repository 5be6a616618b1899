"""Pieces of work for executors, which processes elsewhere have to find by name."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from halftruth_collector.executors import Map


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


def ending(map_pieces: Map, folder: Path | None) -> Map:
    """Another `map`, a process of which ends after one of the pieces of each call is done.

    Only the first time where there is a folder to remember it in.
    """

    def map_and_end(function: Callable[..., Any], *iterables: Any) -> Iterator[Any]:
        once = folder and folder / function.__name__
        return map_pieces(partial(_end_after, function, once), *iterables)

    return map_and_end


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
