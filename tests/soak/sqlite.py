"""SQLite: a file, and another writer that gets in the way."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TypeVar

from reading import Query, read

T = TypeVar("T")


class SqliteFile:
    """A database in one file, which need not exist yet."""

    name = "SQLite"

    def __init__(self, path: Path) -> None:
        self._path = path
        self.url = f"sqlite:///{path}"

    def read(self, of: Callable[[Query], T] = read) -> T:
        """What it holds: of a collector, unless something else is asked for."""
        with closing(sqlite3.connect(self._path, isolation_level=None)) as connection:
            connection.execute("BEGIN")
            return of(connection.execute)

    def settle(self) -> None:
        """Wait until nothing is being committed: whoever was, ended with its process."""

    @contextmanager
    def held(self) -> Iterator[None]:
        """Be another program that writes until the block is left."""
        with closing(sqlite3.connect(self._path, isolation_level=None, timeout=60)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield
            finally:
                connection.execute("ROLLBACK")
