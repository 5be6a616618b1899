"""Functions for executors, importable by name in other processes."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from functools import partial
from operator import truediv
from pathlib import Path
from typing import Any

import pytest
from halftruth_collector.executors import Map

PIECES = [7, 1, 4, 9, 2]


def square(number: int) -> tuple[int, int]:
    """Return the square and the id of the process that computed it."""
    return number * number, os.getpid()


def end_at(piece: int, once: Path | None) -> int:
    """End the process at piece 3; with a file, only the first time."""
    if piece == 3 and not (once and once.exists()):
        if once:
            once.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return piece


def ending(map_pieces: Map, folder: Path | None) -> Map:
    """Return a `map` whose process ends after one piece of each call.

    With a folder, which records it, this happens only the first time.
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
    """Create a file for the piece, after a short delay."""
    time.sleep(0.1)
    (folder / str(piece)).touch()
    return piece


def works_like_map(map_pieces: Map, folder: Path, *, here: bool) -> None:
    """Check that results come in order, errors are raised, and waiting pieces can be cancelled."""
    found = list(map_pieces(square, PIECES))
    assert [value for value, _ in found] == [49, 1, 16, 81, 4]
    assert ({process for _, process in found} == {os.getpid()}) == here
    with pytest.raises(ZeroDivisionError):
        list(map_pieces(truediv, [1, 1], [1, 0]))
    results = map_pieces(mark, [folder] * 100, range(100))
    assert next(iter(results)) == 0
    getattr(results, "close", lambda: None)()
    assert 1 <= len(list(folder.iterdir())) < 20
