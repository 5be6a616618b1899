"""One database: SQLite by default, PostgreSQL by its URL."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from halftruth_shared import ParameterError
from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError
from sqlalchemy.sql import Insert
from sqlalchemy.sql.schema import Table

from ..errors import StoreUnavailable

_DIALECTS = ("sqlite", "postgresql")

#: Seconds for which a writer waits for another one.
_LOCK_TIMEOUT = 15


class Database:
    """Transactions on one database.

    Parameters
    ----------
    url : str
        An SQLAlchemy URL of SQLite or PostgreSQL.

    Raises
    ------
    ParameterError
        If it is not one.
    """

    def __init__(self, url: str) -> None:
        try:
            parsed = make_url(url)
        except ArgumentError:
            raise _url_error() from None
        if parsed.get_backend_name() not in _DIALECTS:
            raise _url_error()
        if parsed.drivername == "postgresql":
            parsed = parsed.set(drivername="postgresql+psycopg")
        try:
            if parsed.get_backend_name() == "sqlite":
                self.engine = create_engine(parsed, connect_args={"timeout": _LOCK_TIMEOUT})
                _prepare_sqlite(self.engine)
            else:
                self.engine = create_engine(parsed, pool_pre_ping=True)
        except (ImportError, NoSuchModuleError):
            raise ParameterError(
                f"database: the driver {parsed.drivername} is not installed", field="database"
            ) from None

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A transaction that sees one state of the database.

        Raises
        ------
        StoreUnavailable
            If the database does not answer.
        """
        with _failures(), self.engine.begin() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction that is durable once the block is left, or undone by an exception.

        Raises
        ------
        StoreUnavailable
            If the database does not answer; whether it was committed is then unknown.
        """
        with _failures(), self.engine.connect() as connection:
            connection = connection.execution_options(halftruth_writes=True)
            with connection.begin():
                yield connection

    def insert(self, table: Table) -> Any:
        """An INSERT that can say ON CONFLICT, in the dialect of this database."""
        dialect = sqlite if self.engine.dialect.name == "sqlite" else postgresql
        statement: Insert = dialect.insert(table)
        return statement


@contextmanager
def _failures() -> Iterator[None]:
    """Turn a driver's failure into ours; its own message may quote the statement's values."""
    try:
        yield
    except DBAPIError as error:
        raise StoreUnavailable(
            f"the database does not answer ({type(error.orig).__name__})"
        ) from None


def _prepare_sqlite(engine: Engine) -> None:
    """Set up every connection for several writers and for commits that survive a power cut."""

    @event.listens_for(engine, "connect")
    def connect(connection: Any, _: object) -> None:
        # SQLAlchemy says when a transaction begins; the driver must not guess.
        connection.isolation_level = None
        cursor = connection.cursor()
        cursor.execute("PRAGMA journal_mode = WAL")
        cursor.execute("PRAGMA synchronous = FULL")
        cursor.execute("PRAGMA foreign_keys = ON")
        cursor.close()

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        # A writer that starts by reading could not upgrade its lock while another one writes.
        writes = connection.get_execution_options().get("halftruth_writes", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _url_error() -> ParameterError:
    return ParameterError(
        "database: expected a URL such as sqlite:///halftruth.db or postgresql://user@host/name",
        field="database",
    )
