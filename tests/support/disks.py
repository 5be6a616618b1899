"""What a test need not wait for."""

import sqlite3

from halftruth_collector.store import Store
from sqlalchemy import event


def without_waiting(store: Store) -> None:
    """Let commits survive everything but a power cut, which no test here has."""
    engine = store.database.engine
    if not store.database.is_sqlite:
        return

    @event.listens_for(engine, "connect")
    def connect(connection: sqlite3.Connection, _: object) -> None:
        connection.execute("PRAGMA synchronous = OFF").close()

    # Those that are open already have not been told.
    engine.dispose()
