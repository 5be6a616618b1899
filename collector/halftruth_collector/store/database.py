"""One database: SQLite by default, PostgreSQL by its URL."""

import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from halftruth_shared import ParameterError
from sqlalchemy import URL, Connection, Engine, create_engine, event
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import make_url
from sqlalchemy.exc import (
    ArgumentError,
    DataError,
    DBAPIError,
    IntegrityError,
    InvalidatePoolError,
    NoSuchModuleError,
)
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.pool import ConnectionPoolEntry
from sqlalchemy.sql import Insert
from sqlalchemy.sql.schema import Table

from ..errors import StoreRefused, StoreUnavailable
from ..fibres import forbid
from .turns import Turns

_DIALECTS = ("sqlite", "postgresql")

#: Seconds for which a writer waits for another one.
_LOCK_TIMEOUT = 15

#: Seconds after which a connection may have died without anybody noticing.
_IDLE = 1

#: What libpq is told: how long to wait for a connection, for a lock, and for a peer that is gone.
_POSTGRESQL = {
    "connect_timeout": 5,
    "application_name": "halftruth",
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 20_000,
    # Times are stored in UTC, and SQLite keeps them without a zone: so are they read.
    "options": f"-c timezone=UTC -c lock_timeout={_LOCK_TIMEOUT}s"
    " -c idle_in_transaction_session_timeout=60s",
}

#: Any number that no other program uses for an advisory lock of this database.
_MIGRATION_LOCK = 0x68616C66


class Database:
    """Transactions on one database.

    Parameters
    ----------
    url : str or URL
        An SQLAlchemy URL of SQLite or PostgreSQL.

    Raises
    ------
    ParameterError
        If it is not one.
    """

    def __init__(self, url: str | URL) -> None:
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
                self.engine = create_engine(
                    parsed, connect_args={"timeout": _LOCK_TIMEOUT}, hide_parameters=True
                )
                _prepare_sqlite(self.engine, read_only=parsed.query.get("mode") == "ro")
            else:
                self.engine = create_engine(
                    parsed,
                    # What stands in the URL goes before what stands here.
                    connect_args={k: v for k, v in _POSTGRESQL.items() if k not in parsed.query},
                    hide_parameters=True,
                )
                _look_after_idle(self.engine)
        except (ImportError, NoSuchModuleError):
            raise ParameterError(
                f"database: the driver {parsed.drivername} is not installed", field="database"
            ) from None
        # By default, each statement of a PostgreSQL transaction sees a state of its own.
        level = {} if self.is_sqlite else {"isolation_level": "REPEATABLE READ"}
        file = self.engine.url.database if self.is_sqlite else None
        self._turns = Turns(file) if file and not file.startswith(("file:", ":memory:")) else None
        self._readers = self.engine.execution_options(**level)
        self._single = self.engine.execution_options(isolation_level="AUTOCOMMIT")

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A transaction that sees one state of the database.

        Raises
        ------
        StoreUnavailable
            If the database does not answer.
        """
        with _failures(), self._readers.begin() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction that is durable once the block is left, or undone by an exception.

        Raises
        ------
        StoreUnavailable
            If the database does not answer; whether it was committed is then unknown.
        """
        with _failures(), self._turn(), self.engine.connect() as connection:
            connection = connection.execution_options(halftruth_writes=True)
            with connection.begin():
                yield connection

    @contextmanager
    def statements(self) -> Iterator[Connection]:
        """A connection whose statements are each a transaction, durable once it returns.

        Raises
        ------
        StoreRefused
            If a statement failed, so that nothing of it was done.
        StoreUnavailable
            If the database does not answer; whether it was committed is then unknown.
        """
        with _failures(), self._single.connect() as connection:
            yield connection

    def _turn(self) -> AbstractContextManager[None]:
        """A turn of this database's writers, where it has only one at a time."""
        return nullcontext() if self._turns is None else self._turns.take()

    @property
    def is_sqlite(self) -> bool:
        """Whether one file is the whole database, with one writing transaction at a time."""
        return self.engine.dialect.name == "sqlite"

    def exclude_others(self, connection: Connection) -> None:
        """Let no other transaction of this kind run until this writing one ends."""
        # SQLite has one writer in any case.
        if not self.is_sqlite:
            connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_MIGRATION_LOCK})")

    def close(self) -> None:
        """Close every connection that nobody uses."""
        self.engine.dispose()
        if self._turns is not None:
            self._turns.close()

    def insert(self, table: Table) -> Any:
        """An INSERT that can say ON CONFLICT, in the dialect of this database."""
        dialect = sqlite if self.is_sqlite else postgresql
        statement: Insert = dialect.insert(table)
        return statement


@contextmanager
def _failures() -> Iterator[None]:
    """Turn a driver's failure into ours; its own message may quote the statement's values."""
    forbid("the database")
    try:
        yield
    except PoolTimeout:
        raise StoreUnavailable("the database does not answer (too many wait for it)") from None
    except (DataError, IntegrityError) as error:
        raise StoreRefused(
            f"the database refused what it was told ({type(error.orig).__name__})"
        ) from None
    except DBAPIError as error:
        # SQLite has one class for a full disk, a damaged file and a lock.
        reason = getattr(error.orig, "sqlite_errorname", type(error.orig).__name__)
        raise StoreUnavailable(f"the database does not answer ({reason})") from None


def _prepare_sqlite(engine: Engine, *, read_only: bool) -> None:
    """Set up every connection for several writers and for commits that survive a power cut."""

    @event.listens_for(engine, "connect")
    def connect(connection: Any, _: object) -> None:
        # SQLAlchemy says when a transaction begins; the driver must not guess.
        connection.isolation_level = None
        cursor = connection.cursor()
        if not read_only:
            cursor.execute("PRAGMA journal_mode = WAL")
        cursor.execute("PRAGMA synchronous = FULL")
        cursor.execute("PRAGMA foreign_keys = ON")
        cursor.close()

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        # A writer that starts by reading could not upgrade its lock while another one writes.
        writes = connection.get_execution_options().get("halftruth_writes", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _look_after_idle(engine: Engine) -> None:
    """Replace a connection that died while nobody used it.

    One that was used a moment ago is not looked at: that would take a tenth of a small transaction.
    """

    @event.listens_for(engine, "checkin")
    def checkin(_: object, record: ConnectionPoolEntry) -> None:
        record.info["used"] = time.monotonic()

    @event.listens_for(engine, "checkout")
    def checkout(connection: Any, record: ConnectionPoolEntry, _: object) -> None:
        used = record.info.get("used")
        if used is None or time.monotonic() - used < _IDLE:
            return
        try:
            engine.dialect.do_ping(connection)
        except engine.dialect.loaded_dbapi.Error:
            # The pool discards all that are as old, and tries with a new one.
            raise InvalidatePoolError from None


def _url_error() -> ParameterError:
    return ParameterError(
        "database: expected a URL such as sqlite:///halftruth.db or postgresql://user@host/name",
        field="database",
    )
