"""Back-ups of a whole store.

A back-up is a SQLite file with the tables of a collector, whatever database it comes from or goes
to, with its rows in the order of their content.
"""

from __future__ import annotations

from pathlib import Path

from halftruth_shared import ParameterError
from sqlalchemy import Connection, func, select

from . import schema
from .database import Database
from .files import Progress, copy, existing_file, new_file
from .tables import metadata


def back_up(database: Database, file: Path, progress: Progress | None = None) -> int:
    """Write everything that a database holds into a new file.

    It shows one moment, and nobody has to wait meanwhile.

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
        If there are no tables, or those of another version.
    """
    with database.reading() as connection:
        schema.check(schema.version(connection))
    with (
        new_file(file) as target,
        database.reading_reports() as source,
        target.writing() as connection,
    ):
        return _copy_tables(source, connection, progress)


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
        If the back-up has tables of another version.
    """
    with existing_file(file) as backup, database.writing() as connection:
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


def _advance_sequences(connection: Connection) -> None:
    """Let PostgreSQL number new rows after those that were restored with their numbers."""
    for table in metadata.sorted_tables:
        if "number" in table.c:
            last = connection.execute(select(func.max(table.c.number))).scalar()
            if last is not None:
                sequence = func.pg_get_serial_sequence(table.name, "number")
                connection.execute(select(func.setval(sequence, last)))
