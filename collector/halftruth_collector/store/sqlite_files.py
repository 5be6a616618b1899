"""SQLite files with the tables of a collector, and copying of rows between databases.

A new file gets its name only when it is complete (atomic rename), and only its owner can read it.
It ends with a line that has the SHA-256 of everything before, which is verified when it is opened.
SQLite ignores what follows its pages, so the file is still one that its tools can read.
"""

from __future__ import annotations

import glob
import hashlib
import os
import re
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import IO, Any
from urllib.parse import quote

from halftruth_shared import ParameterError
from halftruth_shared.private_files import create_private, write_durably
from sqlalchemy import URL, Connection, Select, Table, insert

from ..errors import SchemaOutdated
from .database import Database, read_version
from .tables import VERSION

#: Number of rows that are copied at a time.
PAGE = 10_000

Progress = Callable[[int], object]

#: Last line of a file, and its length; before it are whole pages of SQLite.
_LAST_LINE = "\nhalftruth sha256 {}\n"
_LAST_LINE_SIZE = len(_LAST_LINE.format("0" * 64))

#: Beginning of every SQLite file.
_MAGIC = b"SQLite format 3\0"

#: Number of bytes that are hashed at a time.
_CHUNK = 1 << 20


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
        database = Database(URL.create("sqlite", database=str(unfinished)), file)
        try:
            database.migrate()
            yield database
            # Merge the write-ahead log into the file.
            with database.autocommit_cursor() as cursor:
                cursor.execute("PRAGMA journal_mode = DELETE")
        finally:
            database.close()
        _append_checksum(unfinished)
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
    """Verify the checksum of a file, and open its database read-only."""
    if not file.is_file():
        raise ParameterError(f"file: {file} is not there; expected a back-up", field="file")
    _verify_checksum(file)
    name, query = f"file:{quote(str(file.absolute()))}", {"mode": "ro", "uri": "true"}
    with closing(Database(URL.create("sqlite", database=name, query=query), file)) as database:
        with database.reading() as connection:
            version = read_version(connection)
        if version is None:
            raise _foreign(file)
        if version != VERSION:
            raise SchemaOutdated(
                f"file: the tables of {file} are of version {version}; expected {VERSION}, the"
                " version of this halftruth",
                field="file",
            )
        yield database


def _append_checksum(file: Path) -> None:
    with open(file, "r+b") as opened:
        line = _LAST_LINE.format(_hash(opened, os.fstat(opened.fileno()).st_size))
        write_durably(opened, line.encode())


def _verify_checksum(file: Path) -> None:
    """Raise ParameterError unless every byte of a file is as it was written."""
    try:
        with open(file, "rb") as opened:
            size = os.fstat(opened.fileno()).st_size - _LAST_LINE_SIZE
            begin = opened.read(len(_MAGIC))
            opened.seek(max(size, 0))
            line = opened.read().decode("ascii", "replace")
            opened.seek(0)
            found = _LAST_LINE.format(_hash(opened, size)) if size >= 0 else ""
    except OSError as error:
        raise ParameterError(
            f"file: {file} cannot be read: {error.strerror}", field="file"
        ) from None
    if line == found:
        return
    if re.fullmatch(_LAST_LINE.format(".{64}"), line, re.S):
        raise ParameterError(
            f"file: {file} is damaged: its content does not have the checksum in its last line",
            field="file",
        )
    if begin == _MAGIC:
        raise ParameterError(
            f"file: {file} does not end with a checksum, so it is damaged or not whole; expected a"
            " back-up or export as it was written",
            field="file",
        )
    raise _foreign(file)


def _hash(opened: IO[bytes], size: int) -> str:
    """Return the SHA-256 of the next bytes of a file."""
    digest = hashlib.sha256()
    while size > 0 and (chunk := opened.read(min(size, _CHUNK))):
        digest.update(chunk)
        size -= len(chunk)
    return digest.hexdigest()


def _foreign(file: Path) -> ParameterError:
    return ParameterError(f"file: {file} is no back-up or export of a collector", field="file")
