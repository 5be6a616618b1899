"""Back-ups of a whole store.

A back-up is a SQLite file with the tables of a collector, whatever database it comes from or goes
to, with its rows in the order of their content.
"""

from __future__ import annotations

from pathlib import Path

from halftruth_shared import ParameterError
from sqlalchemy import Connection, MetaData, func, select

from . import schema
from .database import Database
from .files import Progress, copy, existing_file, new_file
from .tables import metadata


def back_up(database: Database, file: Path, progress: Progress | None = None) -> int:
    """Write everything that a database holds into a new file.

    It shows one moment, and nobody has to wait meanwhile. Tables of an earlier version are written
    as they are, so that they can be backed up before they are migrated.

    Parameters
    ----------
    database : Database
    file : Path
    progress : callable, optional
        Told of so many more rows.

    Returns
    -------
    int
        Rows written.

    Raises
    ------
    ParameterError
        If the file exists or cannot be written.
    SchemaOutdated
        If there are no tables, or those of a version that this program does not know.
    """
    with database.reading() as connection:
        version = schema.known(connection)
    with (
        new_file(file, version) as target,
        database.reading_reports() as source,
        target.writing() as connection,
    ):
        if version == schema.HEAD:
            return _copy_tables(source, connection, progress)
        return _copy_earlier_tables(source, connection, progress)


def restore(database: Database, file: Path, progress: Progress | None = None) -> int:
    """Read a back-up into an empty database, all of it or nothing.

    Returns
    -------
    int
        Rows read.

    Raises
    ------
    ParameterError
        If the file is no back-up, or the database is not empty.
    SchemaOutdated
        If the back-up is of a version that this program does not know.
    """
    with existing_file(file, migrated=True) as backup, database.writing() as connection:
        database.advisory_lock(connection)
        for table in metadata.sorted_tables:
            if connection.execute(select(table).limit(1)).first() is not None:
                raise ParameterError(
                    "database: it is not empty; expected an empty one, such as a new file",
                    field="database",
                )
        with backup.reading() as source:
            rows = _copy_tables(source, connection, progress)
        if not database.is_sqlite:
            _advance_sequences(connection)
    return rows


def _copy_tables(source: Connection, target: Connection, progress: Progress | None) -> int:
    """Copy the rows of every table, and return how many there were."""
    return sum(
        copy(source, select(table), target, table, progress) for table in metadata.sorted_tables
    )


def _copy_earlier_tables(source: Connection, target: Connection, progress: Progress | None) -> int:
    """Copy the rows of tables of an earlier version, which both databases are asked for."""
    earlier, same = MetaData(), MetaData()
    earlier.reflect(source)
    same.reflect(target)
    return sum(
        copy(source, select(earlier.tables[table.name]), target, table, progress)
        for table in same.sorted_tables
        if table.name != schema.VERSION_TABLE
    )


def _advance_sequences(connection: Connection) -> None:
    """Let PostgreSQL number new rows after those that were restored with their numbers."""
    for table in metadata.sorted_tables:
        if "number" in table.c:
            last = connection.execute(select(func.max(table.c.number))).scalar()
            if last is not None:
                sequence = func.pg_get_serial_sequence(table.name, "number")
                connection.execute(select(func.setval(sequence, last)))
