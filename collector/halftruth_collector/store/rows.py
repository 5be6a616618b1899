"""The rows of reports inside a transaction: every statement that writes them or looks for them.

A statement gets its many ids, cells or hashes at once: they lie end to end in one value, which the
database takes apart.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, CursorResult
from sqlalchemy.exc import IntegrityError

#: Transactions that may count at the same time without waiting for each other.
SHARDS = 16

#: Where the values start inside of the bytes that they come in, of which there are so many.
_STARTS = {
    "postgresql": "generate_series(1, ?, {size}) AS starts (start)",
    "sqlite": """(
        WITH RECURSIVE starts (start) AS (
            SELECT 1 UNION ALL SELECT start + {size} FROM starts WHERE start + {size} <= ?
        ) SELECT start FROM starts
    )""",
}

_FIND_IDS = """
    SELECT report_id FROM report_ids WHERE survey = ? AND report_id IN (SELECT value FROM {rows})
"""

_ADD_NEW_IDS = """
    INSERT INTO report_ids (survey, report_id) SELECT ?, value FROM {rows}
"""

_ADD_IDS = f"""
    {_ADD_NEW_IDS} WHERE true ON CONFLICT DO NOTHING RETURNING report_id
"""

_ADD_COUNTS = """
    INSERT INTO cells (survey, shard, cell, count)
    SELECT ?, ?, value, count(*) FROM {rows} GROUP BY value ORDER BY value
    ON CONFLICT (survey, cell, shard) DO UPDATE SET count = cells.count + excluded.count
"""

_FIND_INVITATIONS = """
    SELECT hash FROM invitations
    WHERE survey = ? AND hash IN (SELECT value FROM {rows}) ORDER BY hash
"""

_DELETE_INVITATIONS = """
    DELETE FROM invitations WHERE survey = ? AND hash IN (SELECT value FROM {rows})
"""

_ADD_INVITATIONS = """
    INSERT INTO invitations (survey, hash) SELECT ?, value FROM {rows}
"""

_ADD_OUTCOMES = """
    INSERT INTO daily_outcomes (survey, shard, day, outcome, count) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT (survey, day, outcome, shard)
    DO UPDATE SET count = daily_outcomes.count + excluded.count
"""


def find_ids(connection: Connection, survey: int, ids: Iterable[bytes]) -> set[bytes]:
    """Return those of some ids that were counted."""
    return _returned(connection, _FIND_IDS, survey, ids)


def add_ids(connection: Connection, survey: int, ids: Iterable[bytes]) -> set[bytes]:
    """Record ids; those of them that were not known.

    They are sorted, so that two transactions with common ids cannot wait for each other, and their
    order says nothing.
    """
    in_order = sorted(ids)
    if connection.dialect.name == "sqlite":
        # Most often all are new, and SQLite takes half as long again to return them. Where one is
        # known, it undoes this statement only.
        with suppress(IntegrityError):
            _execute(connection, _ADD_NEW_IDS, (survey,), in_order)
            return set(in_order)
    return _returned(connection, _ADD_IDS, survey, in_order)


def add_counts(connection: Connection, survey: int, shard: int, cells: Sequence[bytes]) -> None:
    """Count reports in their cells, of which all have one size."""
    _execute(connection, _ADD_COUNTS, (survey, shard), cells)


def lock_unused(connection: Connection, survey: int, hashes: Iterable[bytes]) -> set[bytes]:
    """Lock the unused ones of some invitations until this transaction ends, and return them."""
    statement = _FIND_INVITATIONS
    if connection.dialect.name != "sqlite":
        # SQLite has one writer, so that nothing needs to be locked there.
        statement += "FOR UPDATE"
    return _returned(connection, statement, survey, hashes)


def add_invitations(connection: Connection, survey: int, hashes: Iterable[bytes]) -> None:
    """Record new invitations, so that nothing tells which was made first."""
    _execute(connection, _ADD_INVITATIONS, (survey,), sorted(hashes))


def delete_invitations(connection: Connection, survey: int, hashes: Iterable[bytes]) -> int:
    """Delete invitations that let a report in or were withdrawn; how many there were."""
    result = _execute(connection, _DELETE_INVITATIONS, (survey,), sorted(hashes))
    return 0 if result is None else result.rowcount


def add_outcomes(
    connection: Connection, survey: int, shard: int, outcomes: Mapping[str, int]
) -> None:
    """Add to what became of the reports of this day."""
    today = datetime.now(UTC).date()
    # SQLite keeps days as text.
    day = today.isoformat() if connection.dialect.name == "sqlite" else today
    for name, count in sorted(outcomes.items()):
        if count:
            parameters = (survey, shard, day, name, count)
            connection.exec_driver_sql(_in_dialect(connection, _ADD_OUTCOMES), parameters)


def _returned(
    connection: Connection, statement: str, survey: int, values: Iterable[bytes]
) -> set[bytes]:
    result = _execute(connection, statement, (survey,), sorted(values))
    return set() if result is None else set(result.scalars().all())


def _execute(
    connection: Connection, statement: str, parameters: tuple[Any, ...], values: Sequence[bytes]
) -> CursorResult[Any] | None:
    """Run a statement over values of one size, unless there are none."""
    if not values:
        return None
    size = len(values[0])
    starts = _STARTS[connection.dialect.name].format(size=size)
    rows = f"(SELECT substr(?, start, {size}) AS value FROM {starts}) AS given"
    text = _in_dialect(connection, statement.format(rows=rows))
    packed = b"".join(values)
    return connection.exec_driver_sql(text, (*parameters, packed, len(packed)))


def _in_dialect(connection: Connection, statement: str) -> str:
    """A statement with the placeholders of the driver."""
    return statement if connection.dialect.name == "sqlite" else statement.replace("?", "%b")
