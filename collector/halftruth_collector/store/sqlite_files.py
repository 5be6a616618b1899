"""SQLite files with the tables of a collector, and copying of rows between databases.

A new file gets its name only when it is complete (atomic rename), and only its owner can read it.
"""

from __future__ import annotations

import glob
import os
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from halftruth_shared import ParameterError
from halftruth_shared.private_files import create_private
from sqlalchemy import URL, Connection, Select, Table, insert

from ..errors import SchemaOutdated, StoreUnavailable
from .database import Database, read_version
from .tables import VERSION

#: Number of rows that are copied at a time.
PAGE = 10_000

Progress = Callable[[int], object]


def copy(
    source: Connection,
    rows: Select[*tuple[Any, ...]],
    target: Connection,
    table: Table,
    progress: Progress | None = None,
) -> int:
    """Copy rows of a table, and return their number."""
    copied = 0
    for page in pages(source, rows, table):
        target.execute(insert(table), [dict(row._mapping) for row in page])
        copied += len(page)
        if progress is not None:
            progress(len(page))
    return copied


def pages(
    source: Connection, rows: Select[*tuple[Any, ...]], table: Table
) -> Iterator[Sequence[Any]]:
    """Yield rows of a table in pages, sorted by primary key, to limit the use of memory."""
    chosen = rows.selected_columns
    ordered = rows.order_by(*(chosen[key.name] for key in table.primary_key if key.name in chosen))
    with source.execution_options(yield_per=PAGE).execute(ordered) as result:
        yield from result.partitions()


@contextmanager
def new_file(file: Path) -> Iterator[Database]:
    """Create a database in a file, which gets its name if the block ends without an error."""
    if file.exists():
        raise ParameterError(f"file: {file} exists; expected a new name", field="file")
    unfinished = file.with_name(f".{file.name}.{secrets.token_hex(4)}")
    try:
        create_private(unfinished)
        database = Database(URL.create("sqlite", database=str(unfinished)))
        try:
            database.migrate()
            yield database
            # Merge the write-ahead log into the file.
            with database.autocommit_cursor() as cursor:
                cursor.execute("PRAGMA journal_mode = DELETE")
        finally:
            database.close()
        os.replace(unfinished, file)
    except OSError as error:
        raise ParameterError(
            f"file: {file} cannot be written: {error.strerror}", field="file"
        ) from None
    finally:
        for leftover in unfinished.parent.glob(f"{glob.escape(unfinished.name)}*"):
            leftover.unlink()


@contextmanager
def existing_file(file: Path) -> Iterator[Database]:
    """Open the database in a file read-only."""
    if not file.is_file():
        raise ParameterError(f"file: {file} is not there; expected a back-up", field="file")
    name, query = f"file:{quote(str(file.absolute()))}", {"mode": "ro", "uri": "true"}
    with closing(Database(URL.create("sqlite", database=name, query=query))) as database:
        try:
            with database.reading() as connection:
                version = read_version(connection)
        except StoreUnavailable:
            version = None
        if version is None:
            raise ParameterError(
                f"file: {file} is no back-up or export of a collector", field="file"
            )
        if version != VERSION:
            raise SchemaOutdated(
                f"file: the tables of {file} are of version {version}; expected {VERSION}, the"
                " version of this halftruth",
                field="file",
            )
        yield database
