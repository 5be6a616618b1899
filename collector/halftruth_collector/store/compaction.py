"""Rewriting the rows of reports in the order of their content, so that nothing else is left.

Rows lie in a database's files much as they came: SQLite fills each page from its end, PostgreSQL
each file from its beginning, and PostgreSQL also writes down which transaction made a row last.
Whoever reads the files could tell in which order reports arrived, and so which id came with which
cell or invitation. After a compaction the files are those of a database that was told everything at
once, in order.
"""

import logging

from sqlalchemy import Connection

from ..errors import SchemaOutdated, StoreUnavailable
from .database import Database
from .schema import check, version
from .tables import REPORT_TABLES

_log = logging.getLogger(__name__)

#: Seconds for which others are held up before those who hold up a compaction are let finish.
_PATIENCE = 2


def compact(database: Database) -> None:
    """Destroy the order in which reports arrived, as far as the database's files have it.

    Reports that arrive meanwhile wait for it.

    Raises
    ------
    StoreUnavailable
        If somebody reads or writes for too long meanwhile; then try again.
    SchemaOutdated
        If the tables are of another version; then let its program do it.
    """
    if database.is_sqlite:
        _compact_sqlite(database)
    else:
        with database.writing(_PATIENCE) as connection:
            _compact_postgresql(connection)


def compact_or_warn(database: Database, left: str) -> None:
    """Compact a database; where it is too busy, say in the log what is left to do."""
    try:
        compact(database)
    except (SchemaOutdated, StoreUnavailable):
        _log.warning("%s: run 'halftruth admin compact'", left)


def _compact_sqlite(database: Database) -> None:
    """VACUUM writes a new file in order; then nothing must be left of the old one's log."""
    with database.autocommit_cursor() as cursor:
        cursor.execute(f"PRAGMA busy_timeout = {1000 * _PATIENCE}")
        cursor.execute("VACUUM")
        cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        [busy, *_] = cursor.fetchone()
    if busy:
        raise StoreUnavailable("the database is being read, so that its log cannot be emptied")


def _compact_postgresql(connection: Connection) -> None:
    """Move the rows into new files, all of them by one transaction."""
    run = connection.exec_driver_sql
    names = ", ".join(table.name for table in REPORT_TABLES)
    run("SET LOCAL statement_timeout = 0")
    run(f"LOCK TABLE {names} IN ACCESS EXCLUSIVE MODE")
    # What this program does not know of other tables would be left behind.
    check(version(connection))
    for table in REPORT_TABLES:
        keys = ", ".join(column.name for column in table.primary_key)
        columns = {column.name: column.name for column in table.columns}
        group = ""
        if "shard" in columns:
            # The counts of all shards become one.
            columns |= {"shard": "0::smallint AS shard", "count": "sum(count)::bigint AS count"}
            group = f"GROUP BY {keys.removesuffix(', shard')}"
        run(
            f"CREATE TEMPORARY TABLE kept ON COMMIT DROP AS"
            f" SELECT {', '.join(columns.values())} FROM {table.name} {group}"
        )
        # A new file; the old one is deleted with the commit.
        run(f"TRUNCATE {table.name}")
        run(f"INSERT INTO {table.name} SELECT * FROM kept ORDER BY {keys}")
        run("DROP TABLE kept")
