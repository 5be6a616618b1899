"""Databases of tests without syncing: commits survive everything but a power cut."""

from sqlalchemy import Connection, Engine, event


def wait_for_no_disk() -> None:
    """Let no SQLite database of this process wait for its disk, from the next transaction on."""

    @event.listens_for(Engine, "begin")
    def begin(connection: Connection) -> None:
        if connection.dialect.name == "sqlite":
            connection.exec_driver_sql("PRAGMA synchronous = OFF")
