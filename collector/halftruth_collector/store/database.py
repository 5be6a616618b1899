"""One database: SQLite by default, PostgreSQL by its URL."""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from typing import Any, Protocol, TypeVar

from halftruth_shared import ParameterError
from halftruth_shared.private_files import create_private, tighten
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
from .tables import REPORT_TABLES

Result = TypeVar("Result")


class Offload(Protocol):
    """Run a function where it may wait, and return its result or raise its error."""

    def __call__(self, work: Callable[..., Result], *arguments: Any) -> Result:
        """Return what the function returns for these arguments."""


def here(work: Callable[..., Result], *arguments: Any) -> Result:
    """Do the work in the thread that asks for it."""
    return work(*arguments)


_DIALECTS = ("sqlite", "postgresql")

#: Seconds for which a writer waits for another one, and a probe.
_LOCK_TIMEOUT, _PROBE_TIMEOUT = 10, 1

#: Seconds for which a transaction waits for a connection.
_POOL_TIMEOUT = 10

#: Seconds after which a connection may have died without anybody noticing.
_IDLE = 1

#: What libpq is told: how long to wait for a connection, for a lock, for a statement, and for a
#: peer that is gone.
_POSTGRESQL = {
    "connect_timeout": 5,
    "application_name": "halftruth",
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 20_000,
    # Times are stored in UTC, and SQLite keeps them without a zone: so are they read.
    "options": f"-c timezone=UTC -c lock_timeout={_LOCK_TIMEOUT}s -c statement_timeout=60s"
    " -c idle_in_transaction_session_timeout=60s",
}

#: Any number that no other program uses for an advisory lock of this database.
_MIGRATION_LOCK = 0x68616C66

_REPORT_TABLES = ", ".join(table.name for table in REPORT_TABLES)


class Database:
    """Transactions on one database, none of which waits without a limit.

    Parameters
    ----------
    url : str or URL
        An SQLAlchemy URL of SQLite or PostgreSQL.
    offload : Offload
        Where transactions are made, so that only they wait for the database. Connections, their
        pool and its locks are used there alone.

    Raises
    ------
    ParameterError
        If it is not one.
    """

    def __init__(self, url: str | URL, offload: Offload = here) -> None:
        self.offload = offload
        try:
            parsed = make_url(url)
        except ArgumentError:
            raise _url_error() from None
        if parsed.get_backend_name() not in _DIALECTS:
            raise _url_error()
        if parsed.drivername == "postgresql":
            parsed = parsed.set(drivername="postgresql+psycopg")
        try:
            self.engine = _engine(parsed)
        except (ImportError, NoSuchModuleError):
            raise ParameterError(
                f"database: the driver {parsed.drivername} is not installed", field="database"
            ) from None
        # By default, each statement of a PostgreSQL transaction sees a state of its own.
        level = {} if self.is_sqlite else {"isolation_level": "REPEATABLE READ"}
        self._readers = self.engine.execution_options(**level)
        self._process = os.getpid()

    def read(self, work: Callable[[Connection], Result]) -> Result:
        """Run a function in a transaction that sees one state of the database.

        Raises
        ------
        StoreUnavailable
            If the database does not answer.
        """
        result: Result = self.offload(self._read, work)
        return result

    def read_reports(self, work: Callable[[Connection], Result]) -> Result:
        """Run a function that reads rows of reports, in such a transaction."""

        def kept(connection: Connection) -> Result:
            self.keep_reports(connection)
            return work(connection)

        return self.read(kept)

    def write(self, work: Callable[[Connection], Result]) -> Result:
        """Run a function in a transaction that is durable on return, or undone by an exception.

        Raises
        ------
        StoreUnavailable
            If the database does not answer; whether it was committed is then unknown.
        """
        result: Result = self.offload(self._write, work)
        return result

    def _read(self, work: Callable[[Connection], Result]) -> Result:
        with self.reading() as connection:
            return work(connection)

    def _write(self, work: Callable[[Connection], Result]) -> Result:
        with self.writing() as connection:
            return work(connection)

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A transaction that sees one state of the database, where it may wait.

        Raises
        ------
        StoreUnavailable
            If the database does not answer.
        """
        self._forget_parent()
        with _failures(), self._readers.begin() as connection:
            yield connection

    @contextmanager
    def writing(self, patience: int | None = None) -> Iterator[Connection]:
        """A transaction that is durable once the block is left, or undone by an exception.

        Parameters
        ----------
        patience : int, optional
            Seconds for which it waits for locks of others, if fewer than usual.

        Raises
        ------
        StoreUnavailable
            If the database does not answer; whether it was committed is then unknown.
        """
        self._forget_parent()
        with _failures(), self.engine.connect() as connection:
            limit = _LOCK_TIMEOUT if patience is None else patience
            connection = connection.execution_options(halftruth_patience=limit)
            with connection.begin():
                if patience is not None and not self.is_sqlite:
                    connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{patience}s'")
                yield connection

    @contextmanager
    def outside(self) -> Iterator[Any]:
        """A cursor of the driver, whose statements are in no transaction.

        Raises
        ------
        StoreUnavailable
            If the database does not answer.
        """
        self._forget_parent()
        with _failures():
            connection = self.engine.raw_connection()
            try:
                # A statement that is not over would be in the next one's way.
                with closing(connection.cursor()) as cursor:
                    yield cursor
            except self.engine.dialect.loaded_dbapi.Error as error:
                raise DBAPIError(None, None, error) from None
            finally:
                connection.close()

    def probe(self) -> None:
        """Make sure that a writer could have its turn now.

        Raises
        ------
        StoreUnavailable
        """
        with self.writing(_PROBE_TIMEOUT) as connection:
            if not self.is_sqlite:
                connection.exec_driver_sql(f"LOCK TABLE {_REPORT_TABLES} IN ROW EXCLUSIVE MODE")

    def keep_reports(self, connection: Connection) -> None:
        """Let the rows of reports be where they are until this transaction ends.

        The state that it sees is one from before they are compacted or from after that: PostgreSQL
        would show empty tables in between. So this comes before it looks at anything.
        """
        if not self.is_sqlite:
            connection.exec_driver_sql(f"LOCK TABLE {_REPORT_TABLES} IN ACCESS SHARE MODE")

    @property
    def is_sqlite(self) -> bool:
        """True if one file is the whole database, with one writing transaction at a time."""
        return self.engine.dialect.name == "sqlite"

    def exclude_others(self, connection: Connection) -> None:
        """Let no other transaction of this kind run until this writing one ends."""
        # SQLite has one writer in any case.
        if not self.is_sqlite:
            connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_MIGRATION_LOCK})")

    def close(self) -> None:
        """Close every connection that nobody uses."""
        self.offload(self.engine.dispose)

    def insert(self, table: Table) -> Any:
        """An INSERT that can say ON CONFLICT, in the dialect of this database."""
        dialect = sqlite if self.is_sqlite else postgresql
        statement: Insert = dialect.insert(table)
        return statement

    def _forget_parent(self) -> None:
        """Leave the connections alone that a process had from which this one was forked."""
        if self._process != os.getpid():
            self.engine.dispose(close=False)
            self._process = os.getpid()


def _engine(url: URL) -> Engine:
    if url.get_backend_name() == "sqlite":
        engine = create_engine(
            url, connect_args={"timeout": _LOCK_TIMEOUT}, hide_parameters=True, **_pool(url)
        )
        _prepare_sqlite(engine, url)
    else:
        engine = create_engine(
            url,
            # What stands in the URL goes before what stands here.
            connect_args={k: v for k, v in _POSTGRESQL.items() if k not in url.query},
            hide_parameters=True,
            **_pool(url),
        )
        _look_after_idle(engine)
    return engine


def _pool(url: URL) -> dict[str, Any]:
    """Limits of the pool; a database in memory has none that could be exhausted."""
    return {} if url.database in (None, "", ":memory:") else {"pool_timeout": _POOL_TIMEOUT}


@contextmanager
def _failures() -> Iterator[None]:
    """Turn a driver's failure into ours; its own message may quote the statement's values."""
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


def _prepare_sqlite(engine: Engine, url: URL) -> None:
    """Set up every connection for several writers and for commits that survive a power cut."""
    read_only = url.query.get("mode") == "ro"
    # Who can read the file, or the log beside it, knows in which order reports arrived.
    file = None if url.database == ":memory:" or "uri" in url.query else url.database

    @event.listens_for(engine, "do_connect")
    def before(*_: object) -> None:
        # Where it cannot be made, connecting says so.
        with suppress(OSError):
            if file:
                create_private(file)

    @event.listens_for(engine, "connect")
    def connect(connection: Any, _: object) -> None:
        # SQLAlchemy says when a transaction begins; the driver must not guess.
        connection.isolation_level = None
        cursor = connection.cursor()
        if not read_only:
            cursor.execute("PRAGMA journal_mode = WAL")
        if file:
            tighten(file)
        cursor.execute("PRAGMA synchronous = FULL")
        cursor.execute("PRAGMA foreign_keys = ON")
        # What is deleted, such as a spent invitation, leaves nothing on its page.
        cursor.execute("PRAGMA secure_delete = ON")
        cursor.close()

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        # A writer that starts by reading could not upgrade its lock while another one writes.
        patience = connection.get_execution_options().get("halftruth_patience")
        if patience is None:
            connection.exec_driver_sql("BEGIN")
            return
        connection.exec_driver_sql(f"PRAGMA busy_timeout = {1000 * patience}")
        connection.exec_driver_sql("BEGIN IMMEDIATE")


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
