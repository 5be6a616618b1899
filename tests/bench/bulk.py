"""The fastest way of each database to write ids and counts in bulk, without HTTP.

Both write into the collector's tables. Rows are sorted and converted to the driver's format
beforehand, so that only the database is timed.
"""

import sqlite3
import struct
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import psycopg
from halftruth_collector.store.tables import cells, report_ids
from sqlalchemy import Table, make_url

Row = tuple[int | bytes, ...]

_SHARD = 0

#: Header and trailer of a binary COPY.
_HEADER, _TRAILER = b"PGCOPY\n\xff\r\n\0" + bytes(8), b"\xff\xff"

#: Format of an integer in COPY, by the type of its column.
_INTEGERS = {"INTEGER": ">i", "SMALLINT": ">h", "BIGINT": ">q"}


@dataclass(frozen=True)
class Rows:
    """The rows of one batch of reports."""

    ids: list[Row]
    counts: list[Row]


def rows(survey: int, batch: Sequence[tuple[bytes, bytes]]) -> Rows:
    """Return the rows of a batch of ids with packed reports, in order of their keys."""
    counted = Counter(cell for _, cell in batch)
    return Rows(
        [
            _row(report_ids, {"survey": survey, "report_id": id_, "cell": cell})
            for id_, cell in sorted(batch)
        ],
        [
            _row(cells, {"survey": survey, "cell": cell, "shard": _SHARD, "count": count})
            for cell, count in sorted(counted.items())
        ],
    )


def _row(table: Table, values: dict[str, int | bytes]) -> Row:
    return tuple(values[column.name] for column in table.columns)


class SqliteBulk:
    """``executemany``, with commits as durable as the collector's."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    @staticmethod
    def prepare(batches: Sequence[Rows]) -> Sequence[Rows]:
        """Return the rows unchanged."""
        return batches

    def write(self, batches: Sequence[Rows]) -> None:
        """Write each batch in a separate transaction."""
        for batch in batches:
            self._connection.execute("BEGIN IMMEDIATE")
            self._connection.executemany(_insert(report_ids), batch.ids)
            self._connection.executemany(f"{_insert(cells)} {_ADD}", batch.counts)
            self._connection.execute("COMMIT")


@contextmanager
def sqlite_bulk(url: str) -> Iterator[SqliteBulk]:
    """Open a database that has the tables."""
    connection = sqlite3.connect(make_url(url).database, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    yield SqliteBulk(connection)
    connection.close()


@dataclass(frozen=True)
class Copies:
    """The rows of one batch in the format of COPY."""

    ids: bytes
    counts: bytes


class PostgresBulk:
    """``COPY`` of ids into their table, and of counts by way of a temporary table."""

    def __init__(self, connection: psycopg.Connection[tuple[object, ...]]) -> None:
        self._connection = connection
        self._cursor = connection.cursor()
        self._cursor.execute("CREATE TEMPORARY TABLE added (LIKE cells) ON COMMIT DELETE ROWS")
        connection.commit()

    @staticmethod
    def prepare(batches: Sequence[Rows]) -> list[Copies]:
        """Convert the rows to the binary format of COPY."""
        return [
            Copies(_packed(report_ids, batch.ids), _packed(cells, batch.counts))
            for batch in batches
        ]

    def write(self, batches: Sequence[Copies]) -> None:
        """Write each batch in a separate transaction."""
        for batch in batches:
            self._copy("report_ids", report_ids, batch.ids)
            self._copy("added", cells, batch.counts)
            names = _names(cells)
            self._cursor.execute(f"INSERT INTO cells ({names}) SELECT {names} FROM added {_ADD}")
            self._connection.commit()

    def _copy(self, name: str, table: Table, data: bytes) -> None:
        statement = f"COPY {name} ({_names(table)}) FROM STDIN (FORMAT BINARY)"
        with self._cursor.copy(statement) as copy:
            copy.write(data)


@contextmanager
def postgres_bulk(url: str) -> Iterator[PostgresBulk]:
    """Connect to a database that has the tables."""
    with psycopg.connect(url) as connection:
        yield PostgresBulk(connection)


def _packed(table: Table, rows: Sequence[Row]) -> bytes:
    integers = [_INTEGERS.get(str(column.type)) for column in table.columns]
    parts = [_HEADER]
    for row in rows:
        parts.append(struct.pack(">h", len(row)))
        for value, integer in zip(row, integers, strict=True):
            field = value if integer is None else struct.pack(integer, value)
            parts.append(struct.pack(">i", len(field)) + field)
    return b"".join([*parts, _TRAILER])


def _names(table: Table) -> str:
    return ", ".join(column.name for column in table.columns)


def _insert(table: Table) -> str:
    places = ", ".join("?" for _ in table.columns)
    return f"INSERT INTO {table.name} ({_names(table)}) VALUES ({places})"


_ADD = (
    f"ON CONFLICT ({', '.join(column.name for column in cells.primary_key)})"
    " DO UPDATE SET count = cells.count + excluded.count"
)
