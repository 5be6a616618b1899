"""SQLite for tests: it does not sync, and leaves deleted rows in files unless told otherwise."""

import sqlite3
from typing import Any

from sqlalchemy import Connection, Engine, event


def wait_for_no_disk() -> None:
    """Disable syncing for all SQLite databases of this process, from the next transaction on.

    Commits survive everything except a power failure.
    """

    @event.listens_for(Engine, "begin")
    def begin(connection: Connection) -> None:
        if connection.dialect.name == "sqlite":
            connection.exec_driver_sql("PRAGMA synchronous = OFF")


def keep_deleted_rows() -> None:
    """Let new connections of this process leave deleted rows in files, as SQLite does by default.

    Some builds, such as Debian's, overwrite them unless told otherwise. On these a program that
    forgets to request it would pass all tests.
    """
    connect = sqlite3.connect

    def without_overwriting(*arguments: Any, **named: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = connect(*arguments, **named)
        connection.execute("PRAGMA secure_delete = OFF")
        return connection

    # The database driver of SQLAlchemy has its own name for the same function.
    sqlite3.connect = sqlite3.dbapi2.connect = without_overwriting
