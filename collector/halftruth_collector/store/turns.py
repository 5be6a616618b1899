"""Turns of the writers of one SQLite file, so that none polls for its lock."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from ..errors import StoreUnavailable

try:
    import fcntl
except ImportError:  # pragma: no cover
    # Elsewhere writers wait as SQLite lets them: asleep, and looking again now and then.
    fcntl = None  # type: ignore[assignment]


class Turns:
    """Lets one writer after the other, of all threads and processes, have its turn.

    SQLite excludes two writers by itself, but one that finds another sleeps for up to a tenth of a
    second before it looks again, while writers that come later get ahead. Here the system wakes the
    one that waits. The lock is that of a file beside the database, which the system frees if its
    holder dies; nothing but waiting times depends on it.

    Parameters
    ----------
    database : str
        Path of the file.
    """

    def __init__(self, database: str) -> None:
        self._path = f"{database}-turn"
        self._threads = threading.Lock()
        self._file = -1
        self._process = 0

    @contextmanager
    def take(self) -> Iterator[None]:
        """Wait for a turn, and have it until the block ends.

        Raises
        ------
        StoreUnavailable
            If there can be no file beside the database.
        """
        with self._threads:
            if fcntl is None:
                yield
                return
            file = self._opened()
            fcntl.flock(file, fcntl.LOCK_EX)
            try:
                yield
            finally:
                fcntl.flock(file, fcntl.LOCK_UN)

    def close(self) -> None:
        """Close the file; another turn opens it again."""
        with self._threads:
            if self._file >= 0 and self._process == os.getpid():
                os.close(self._file)
            self._file = -1

    def _opened(self) -> int:
        # A process that was forked has a file of its own, or it would share its parent's turns.
        if self._file < 0 or self._process != os.getpid():
            try:
                self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            except OSError as error:
                raise StoreUnavailable(
                    f"the database's folder cannot be written to ({error.strerror})"
                ) from None
            self._process = os.getpid()
        return self._file
