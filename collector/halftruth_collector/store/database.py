"""Access to the database: transactions, versions and migrations of the tables, and compaction.

The database is SQLite with a write-ahead log (WAL), or PostgreSQL.
"""

import fcntl
import logging
import os
import shutil
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any
from weakref import WeakSet

from halftruth_shared import HalftruthError, ParameterError
from halftruth_shared.private_files import create_private, tighten
from sqlalchemy import (
    URL,
    Connection,
    Engine,
    String,
    column,
    create_engine,
    event,
    inspect,
    select,
    table,
)
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import ExceptionContext, make_url
from sqlalchemy.exc import (
    ArgumentError,
    DataError,
    DBAPIError,
    IntegrityError,
    NoSuchModuleError,
)
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.sql import Insert
from sqlalchemy.sql.schema import Table

from ..errors import SchemaOutdated, StoreRefused, StoreUnavailable
from .file_access import describe_access
from .tables import COMPACTED, VERSION

_log = logging.getLogger(__name__)

_DIALECTS = ("sqlite", "postgresql")

#: Seconds for which a writing transaction, and a probe, wait for locks.
_LOCK_TIMEOUT, _PROBE_TIMEOUT = 10, 1

#: Seconds for which a transaction waits for a connection.
_POOL = {"pool_timeout": 10}

#: Parameters of libpq: timeouts of connections, locks and statements, and detection of lost peers.
_POSTGRESQL = {
    "connect_timeout": 5,
    "application_name": "halftruth",
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 20_000,
    # Times are stored in UTC; return them in UTC as well.
    "options": f"-c timezone=UTC -c lock_timeout={_LOCK_TIMEOUT}s -c statement_timeout=60s"
    " -c idle_in_transaction_session_timeout=60s",
}

#: Number of the advisory lock on migrations, imports and revocations; no other program uses it.
_MIGRATION_LOCK = 0x68616C66

#: Seconds for which a compaction waits for locks; meanwhile it blocks other transactions.
_COMPACTION_TIMEOUT = 2

#: Table with the version of the tables.
_VERSION_TABLE = table("alembic_version", column("version_num", String))

_MIGRATIONS = Path(__file__).parent / "migrations"

#: SQLite's name of the error of a full disk.
_FULL = "SQLITE_FULL"

#: Bytes that have to be free after a full disk, before reports are expected to fit again.
_ROOM = 2**20

#: Beginnings of SQLite's names of errors that owners and modes of files can cause.
_OF_ACCESS = ("SQLITE_CANTOPEN", "SQLITE_READONLY", "SQLITE_PERM")

#: Attribute of an error of the driver, and option of an engine, with their database.
_DATABASE = "halftruth_database"

#: Key of the information about a connection with the seconds for which it waits for locks.
_WAITS = "halftruth_waits"

#: Statement that writes a row without changing it.
_UNCHANGED = "UPDATE alembic_version SET version_num = version_num"

_COMPACTED = ", ".join(table.name for table in COMPACTED)

#: Engines of this process. A forked process must not use the connections of its parent.
_engines: WeakSet[Engine] = WeakSet()


def _forget_connections() -> None:
    for engine in _engines:
        engine.dispose(close=False)


os.register_at_fork(after_in_child=_forget_connections)


class Database:
    """Transactions on one database, with timeouts.

    Every transaction raises StoreUnavailable if the database does not answer. Before the commit
    the transaction was rolled back (``is_undone`` is true); during the commit, the outcome is
    unknown.

    Parameters
    ----------
    url : str or URL
        An SQLAlchemy URL of SQLite or PostgreSQL; any other one is a ParameterError.
    file : Path, optional
        Name of the file, if it is a back-up or an export instead of the database of a server. Then
        ParameterError, which names the file, takes the place of StoreUnavailable.
    """

    def __init__(self, url: str | URL, file: Path | None = None) -> None:
        self._file = file
        #: Whether a writing transaction was committed here.
        self.is_written = False
        #: Whether the disk was full since the last check that found room.
        self._was_full = False
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
        event.listen(self.engine, "handle_error", self._mark)
        self.engine.update_execution_options(**{_DATABASE: self})
        # By default, each statement of a PostgreSQL transaction sees a different snapshot.
        level = {} if self.is_sqlite else {"isolation_level": "REPEATABLE READ"}
        self._readers = self.engine.execution_options(**level)

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Begin a transaction that reads one snapshot of the database."""
        with self._failures(), self._readers.begin() as connection:
            yield connection

    @contextmanager
    def reading_reports(self) -> Iterator[Connection]:
        """Begin a transaction that reads one snapshot, including the tables that are compacted.

        These tables are locked against compaction until the transaction ends. Otherwise PostgreSQL
        would show empty tables if a compaction truncates them after the snapshot was taken.
        """
        with self.reading() as connection:
            if not self.is_sqlite:
                connection.exec_driver_sql(f"LOCK TABLE {_COMPACTED} IN ACCESS SHARE MODE")
            yield connection

    @contextmanager
    def writing(self, lock_timeout: int | None = None) -> Iterator[Connection]:
        """Begin a transaction that is committed after the block, or rolled back by an exception.

        `lock_timeout` is the number of seconds for which it waits for locks, if fewer than usual.
        """
        commits = False
        try:
            with self._failures(), self.engine.connect() as connection:
                seconds = _LOCK_TIMEOUT if lock_timeout is None else lock_timeout
                connection = connection.execution_options(halftruth_lock_timeout=seconds)
                with connection.begin():
                    if lock_timeout is not None and not self.is_sqlite:
                        connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{lock_timeout}s'")
                    yield connection
                    commits = True
                self.is_written = True
        except StoreUnavailable as error:
            error.is_undone = not commits
            raise

    @contextmanager
    def in_turn(self) -> Iterator[None]:
        """Let the processes that count reports in files of this folder do so one after the other.

        SQLite's waiting writers sleep and look again, up to ten times a second, so the process that
        has just written would mostly be the next one, and the reports of others would wait. Without
        such locks in the file system, there are no turns.
        """
        folder = None
        if self.path is not None:
            with suppress(OSError):
                folder = os.open(self.path.parent, os.O_RDONLY | os.O_DIRECTORY)
                fcntl.flock(folder, fcntl.LOCK_EX)
        try:
            yield
        finally:
            if folder is not None:
                os.close(folder)

    @contextmanager
    def autocommit_cursor(self) -> Iterator[Any]:
        """Yield a cursor of the driver in autocommit mode, without a transaction."""
        with self._failures():
            connection = self.engine.raw_connection()
            # The statements may change it.
            connection.info.pop(_WAITS, None)
            try:
                # An unfinished statement would block the next one.
                with closing(connection.cursor()) as cursor:
                    yield cursor
            except self.engine.dialect.loaded_dbapi.Error as error:
                raise DBAPIError(None, None, error) from None
            finally:
                connection.close()

    def check(self) -> None:
        """Check the version of the tables, and that the database accepts writes within a second."""
        with self.reading() as connection:
            check_version(read_version(connection))
        with self.writing(_PROBE_TIMEOUT) as connection:
            connection.exec_driver_sql(_UNCHANGED)
            lock_compacted(connection)
        if self._was_full and self.path is not None:
            # A probe of one row fits where the pages of a report do not.
            if shutil.disk_usage(self.path.parent).free < _ROOM:
                raise StoreUnavailable(
                    f"the database does not answer ({_FULL})", hint="its disk is still full"
                )
            self._was_full = False

    def migrate(self) -> tuple[str | None, str]:
        """Migrate the tables to the version of this program, in one transaction.

        Return the previous version, None for a database without tables, and the new one.

        Raises
        ------
        SchemaOutdated
            If this program does not know the version of the tables.
        StoreUnavailable
            If other transactions hold locks for too long; try again.
        """
        # Imported here: only needed for a migration.
        from alembic import command
        from alembic.config import Config
        from alembic.util import CommandError

        with self.writing() as connection:
            advisory_lock(connection)
            before = read_version(connection)
            if before == VERSION:
                return before, VERSION
            config = Config()
            config.set_main_option("script_location", str(_MIGRATIONS))
            config.attributes["connection"] = connection
            try:
                command.upgrade(config, VERSION)
            except CommandError:
                check_version(before)
                raise HalftruthError(f"database: cannot be migrated from {before}") from None
        return before, VERSION

    def compact(self) -> None:
        """Rewrite the rows of reports sorted by primary key, which erases the order of arrival.

        The position of rows in the files shows the order in which they were written: SQLite fills
        each page from its end, PostgreSQL each file from its beginning, and PostgreSQL also stores
        the last transaction of each row. From the order a reader of the files could infer which id
        belongs to which cell or invitation. After a compaction the files are the same as if all
        rows had been inserted at once, sorted. Reports that arrive during a compaction wait.

        Raises StoreUnavailable if other transactions read or write for too long (try again), and
        SchemaOutdated if the tables are of another version.
        """
        if self.is_sqlite:
            with self.autocommit_cursor() as cursor:
                _compact_sqlite(cursor)
        else:
            with self.writing(_COMPACTION_TIMEOUT) as connection:
                _compact_postgresql(connection)

    def compact_or_warn(self, warning: str) -> None:
        """Compact; if that is not possible now, log a warning with the command to repeat it."""
        try:
            self.compact()
        except (SchemaOutdated, StoreUnavailable):
            _log.warning("%s: run 'halftruth admin compact'", warning)

    @contextmanager
    def _failures(self) -> Iterator[None]:
        """Convert errors of the driver, without their messages, which can quote values."""
        try:
            yield
        except PoolTimeout:
            raise StoreUnavailable("the database does not answer (too many wait for it)") from None
        except DBAPIError as error:
            # A transaction of another database may surround or contain that of this one.
            raise getattr(error, _DATABASE, self)._convert(error) from None

    def _mark(self, context: ExceptionContext) -> None:
        """Record in an error of the driver which database it is of."""
        setattr(context.sqlalchemy_exception or context.original_exception, _DATABASE, self)

    def _convert(self, error: DBAPIError) -> HalftruthError:
        if isinstance(error, (DataError, IntegrityError)):
            return StoreRefused(
                f"the database refused what it was told ({type(error.orig).__name__})"
            )
        # SQLite raises the same class for a full disk, a damaged file and a lock.
        reason = getattr(error.orig, "sqlite_errorname", type(error.orig).__name__)
        if self._file is not None:
            action = "read" if self._is_read_only else "written"
            return ParameterError(f"file: {self._file} cannot be {action} ({reason})", field="file")
        self._was_full |= reason == _FULL
        hint = ""
        if self.path is not None and reason.startswith(_OF_ACCESS):
            hint = describe_access(self.path)
        return StoreUnavailable(f"the database does not answer ({reason})", hint=hint)

    @property
    def _is_read_only(self) -> bool:
        return self.engine.url.query.get("mode") == "ro"

    @property
    def path(self) -> Path | None:
        """Path of an SQLite file; None for PostgreSQL, a URI and a database in memory."""
        url = self.engine.url
        file = url.database if self.is_sqlite and "uri" not in url.query else None
        return Path(file) if file and file != ":memory:" else None

    @property
    def name(self) -> str:
        """URL for people, with the absolute path of a file and without passwords."""
        url = self.engine.url.set(drivername=self.engine.dialect.name)
        if self.path is not None:
            url = url.set(database=str(self.path.absolute()))
        secret = [name for name in url.query if "password" in name]
        return url.difference_update_query(secret).render_as_string(hide_password=True)

    @property
    def is_sqlite(self) -> bool:
        """True for SQLite, which has one file and one writing transaction at a time."""
        return self.engine.dialect.name == "sqlite"

    def close(self) -> None:
        """Close all idle connections."""
        self.engine.dispose()


def run(connection: Connection, statement: str, parameters: Sequence[object] = ()) -> Any:
    """Run a statement of the driver, and return its cursor, from which all rows must be fetched.

    All statements that count reports are run in this way, since SQLAlchemy's context and result of
    a statement take several times as long as SQLite takes for one report. Errors are the same.
    """
    errors = connection.dialect.loaded_dbapi.Error
    try:
        return _send(connection, statement, parameters)
    except errors as error:
        failed = DBAPIError.instance(None, None, error, errors, hide_parameters=True)
        setattr(failed, _DATABASE, connection.get_execution_options()[_DATABASE])
        raise failed from None


def _send(connection: Connection, statement: str, parameters: Sequence[object]) -> Any:
    cursor = connection.connection.cursor()
    cursor.execute(statement, parameters)
    return cursor


def advisory_lock(connection: Connection) -> None:
    """Take the lock on migrations, imports and revocations until this transaction ends."""
    # SQLite has one writer anyway.
    if connection.dialect.name != "sqlite":
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_MIGRATION_LOCK})")


def lock_compacted(connection: Connection) -> None:
    """Lock the tables that are compacted against a compaction until this transaction ends.

    A compaction locks them in the same order. Otherwise it and a transaction that uses them in
    another order could wait for each other (deadlock).
    """
    # SQLite has one writer anyway.
    if connection.dialect.name != "sqlite":
        connection.exec_driver_sql(f"LOCK TABLE {_COMPACTED} IN ROW EXCLUSIVE MODE")


def insert(connection: Connection, table: Table) -> Any:
    """Return an INSERT in the dialect of a connection, which supports ON CONFLICT."""
    dialect = sqlite if connection.dialect.name == "sqlite" else postgresql
    statement: Insert = dialect.insert(table)
    return statement


def read_version(connection: Connection) -> str | None:
    """Return the version of the tables; None for a database without tables."""
    if _VERSION_TABLE.name not in inspect(connection).get_table_names():
        return None
    number: str | None = connection.execute(select(_VERSION_TABLE)).scalar()
    return number


def check_version(version: str | None) -> None:
    """Raise SchemaOutdated unless the tables are of this program's version."""
    if version == VERSION:
        return
    if version is None or version < VERSION:
        raise SchemaOutdated(
            f"database: its tables are of version {version or 'none'}, expected {VERSION}; back it"
            " up with the halftruth that wrote them, then run 'halftruth admin migrate'",
            field="database",
        )
    raise SchemaOutdated(
        f"database: its tables are of version {version}, which is newer than {VERSION}; expected a"
        " newer halftruth",
        field="database",
    )


def _compact_sqlite(cursor: Any) -> None:
    """Rewrite the file in key order with VACUUM, and truncate the write-ahead log."""
    cursor.execute(f"PRAGMA busy_timeout = {1000 * _COMPACTION_TIMEOUT}")
    cursor.execute("VACUUM")
    cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    [busy, *_] = cursor.fetchone()
    if busy:
        raise StoreUnavailable("the database is being read, so that its log cannot be emptied")


def _compact_postgresql(connection: Connection) -> None:
    """Rewrite the rows into new files in key order, in one transaction."""
    run = connection.exec_driver_sql
    run("SET LOCAL statement_timeout = 0")
    run(f"LOCK TABLE {_COMPACTED} IN ACCESS EXCLUSIVE MODE")
    # Unknown columns of another version would be lost.
    check_version(read_version(connection))
    for rows in COMPACTED:
        keys = ", ".join(key.name for key in rows.primary_key)
        columns = {each.name: each.name for each in rows.columns}
        group = ""
        if "shard" in columns:
            # The counts of all shards become one.
            columns |= {"shard": "0::smallint AS shard", "count": "sum(count)::bigint AS count"}
            group = f"GROUP BY {keys.removesuffix(', shard')}"
        run(
            f"CREATE TEMPORARY TABLE kept ON COMMIT DROP AS"
            f" SELECT {', '.join(columns.values())} FROM {rows.name} {group}"
        )
        # A new file; the old one is deleted with the commit.
        run(f"TRUNCATE {rows.name}")
        run(f"INSERT INTO {rows.name} SELECT * FROM kept ORDER BY {keys}")
        run("DROP TABLE kept")


def _engine(url: URL) -> Engine:
    # A database in memory has no pool.
    options: dict[str, Any] = {} if url.database in (None, "", ":memory:") else _POOL
    if url.get_backend_name() == "sqlite":
        arguments: dict[str, Any] = {"timeout": _LOCK_TIMEOUT}
    else:
        # Parameters in the URL override these defaults.
        arguments = {k: v for k, v in _POSTGRESQL.items() if k not in url.query}
        # Regardless of the default of the server: a statement must see data that were committed
        # while the transaction waited for a lock.
        options = options | {"pool_pre_ping": True, "isolation_level": "READ COMMITTED"}
    engine = create_engine(url, connect_args=arguments, hide_parameters=True, **options)
    _engines.add(engine)
    if url.get_backend_name() == "sqlite":
        _prepare_sqlite(engine, url)
    return engine


def _prepare_sqlite(engine: Engine, url: URL) -> None:
    """Configure connections: write-ahead log, durable commits, private files, overwritten rows."""
    read_only = url.query.get("mode") == "ro"
    # The file and its write-ahead log show the order of arrival, so only the owner may read them.
    file = None if url.database == ":memory:" or "uri" in url.query else url.database

    @event.listens_for(engine, "do_connect")
    def before(*_: object) -> None:
        # If the file cannot be created, connecting raises the error.
        with suppress(OSError):
            if file:
                create_private(file)

    @event.listens_for(engine, "connect")
    def connect(connection: Any, _: object) -> None:
        # SQLAlchemy begins transactions; turn off the implicit ones of the driver.
        connection.isolation_level = None
        cursor = connection.cursor()
        if not read_only:
            _enable_wal(cursor)
        if file:
            tighten(file)
        cursor.execute("PRAGMA synchronous = FULL")
        cursor.execute("PRAGMA foreign_keys = ON")
        # Overwrite deleted rows, such as spent invitations.
        cursor.execute("PRAGMA secure_delete = ON")
        cursor.close()

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        # Take the write lock at once: a read lock cannot be upgraded while another one writes.
        seconds = connection.get_execution_options().get("halftruth_lock_timeout")
        if seconds is None:
            run(connection, "BEGIN")
            return
        if connection.info.get(_WAITS) != seconds:
            run(connection, f"PRAGMA busy_timeout = {1000 * seconds}")
            connection.info[_WAITS] = seconds
        run(connection, "BEGIN IMMEDIATE")


def _enable_wal(cursor: Any) -> None:
    """Enable the write-ahead log, retrying while locked, since SQLite does not wait for it."""
    until = time.monotonic() + _LOCK_TIMEOUT
    while True:
        try:
            cursor.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
            time.sleep(0.01)
        else:
            return


def _url_error() -> ParameterError:
    return ParameterError(
        "database: expected a URL such as sqlite:///halftruth.db or postgresql://user@host/name",
        field="database",
    )
