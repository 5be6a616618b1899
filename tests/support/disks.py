"""SQLite without syncing, for tests: commits survive everything except a power failure."""

from sqlalchemy import Connection, Engine, event


def wait_for_no_disk() -> None:
    """Disable syncing for all SQLite databases of this process, from the next transaction on."""

    @event.listens_for(Engine, "begin")
    def begin(connection: Connection) -> None:
        if connection.dialect.name == "sqlite":
            connection.exec_driver_sql("PRAGMA synchronous = OFF")
