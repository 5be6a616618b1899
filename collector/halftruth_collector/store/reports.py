"""Reports: the statements that write their rows, and the store that reads the counts.

Ids, cells and hashes are passed to a statement as one concatenated value, which the database splits
into rows: one parameter instead of thousands. They are always sorted, which avoids deadlocks
between transactions with common values, and hides their order within a request.
"""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import lru_cache
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
from sqlalchemy import Connection, Select, Table, func, select
from sqlalchemy.exc import IntegrityError

from ..counts import Counts
from .database import Database, run
from .surveys import StoredSurvey, find
from .tables import COUNTED, REPEATED, cells, daily_outcomes, report_ids, sum_shards, surveys

#: Number of cells that are read at a time.
_PAGE = 10_000

#: Largest size of the cache of counts in bytes.
_CACHE_BYTES = 2**27

#: Number of shards: concurrent transactions that do not wait for each other.
SHARDS = 16

#: Positions of the values in the concatenated bytes, whose length is the parameter.
_STARTS = {
    "postgresql": "generate_series(1, ?, {size}) AS starts (start)",
    "sqlite": """(
        WITH RECURSIVE starts (start) AS (
            SELECT 1 UNION ALL SELECT start + {size} FROM starts WHERE start + {size} <= ?
        ) SELECT start FROM starts
    )""",
}

_FIND_IDS = """
    SELECT {column} FROM {table} WHERE survey = ? AND {column} IN (SELECT value FROM {rows})
"""

_ADD_NEW_IDS = """
    INSERT INTO {table} (survey, {column}) SELECT ?, value FROM {rows}
"""

_ADD_IDS = f"""
    {_ADD_NEW_IDS} WHERE true ON CONFLICT DO NOTHING RETURNING {{column}}
"""

_DELETE_IDS = """
    DELETE FROM {table} WHERE survey = ? AND {column} IN (SELECT value FROM {rows})
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


@dataclass(frozen=True)
class DailyOutcomes:
    """Outcomes of the reports of one day.

    Attributes
    ----------
    day : date
        In UTC.
    counted, repeated : int
        Numbers of reports counted that day, and of duplicates of earlier reports.
    refused : dict of str to int
        Number of refused requests by reason.
    """

    day: date
    counted: int
    repeated: int
    refused: dict[str, int]


class Snapshot(NamedTuple):
    """A survey, its counts at one time, and the reports counted each day, earliest first."""

    stored: StoredSurvey
    counts: Counts
    as_of: datetime
    days: dict[date, int]


class CountStore:
    """Reads the counts of reports, with a cache; raises UnknownSurvey.

    The counts of a survey are cached until it gets another report, so that the pages of its results
    do not read and sort them again.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._cache: dict[int, Snapshot] = {}
        self._lock = Lock()

    def counts(self, survey_id: str) -> tuple[StoredSurvey, Counts, datetime]:
        """Return a survey, its counts, and the time at which they were read."""
        return self.snapshot(survey_id)[:3]

    def snapshot(self, survey_id: str) -> Snapshot:
        """Read a survey, its counts, and the reports counted each day."""
        # Collect bytes, since millions of row objects would take far more memory.
        packed, counts = bytearray(), []
        with self._database.reading_reports() as connection:
            stored = find(connection, survey_id)
            days = dict(connection.execute(by_day(stored.number)).all())
            now = datetime.now(UTC)
            if (cached := self._find_cached(stored, days)) is not None:
                return Snapshot(stored, cached.counts, now, days)
            statement = (
                select(cells.c.cell, sum_shards(cells.c.count))
                .where(cells.c.survey == stored.number)
                .group_by(cells.c.cell)
                .order_by(cells.c.cell)
            )
            with connection.execution_options(yield_per=_PAGE).execute(statement) as rows:
                for page in rows.partitions():
                    packed += b"".join(row[0] for row in page)
                    counts += [row[1] for row in page]
        survey = stored.survey()
        space = survey.report_space
        values = np.frombuffer(packed, dtype=space.dtype).reshape(len(counts), len(space.shape))
        counted = Counts.from_cells(survey, values, np.array(counts, dtype=np.int64))
        snapshot = Snapshot(stored, counted, now, days)
        self._add_to_cache(snapshot)
        return snapshot

    def _add_to_cache(self, snapshot: Snapshot) -> None:
        """Add a snapshot to the cache, and remove the oldest ones if it is full."""
        with self._lock:
            self._cache.pop(snapshot.stored.number, None)
            self._cache[snapshot.stored.number] = snapshot
            while sum(each.counts.nbytes for each in self._cache.values()) > _CACHE_BYTES:
                del self._cache[next(iter(self._cache))]

    def last_days(self) -> dict[str, date]:
        """Return the last day with a counted report of each survey that has one."""
        table = daily_outcomes.c
        query = (
            select(surveys.c.id, func.max(table.day))
            .join_from(surveys, daily_outcomes, surveys.c.number == table.survey)
            .where(table.outcome == COUNTED)
            .group_by(surveys.c.id)
        )
        with self._database.reading_reports() as connection:
            return dict(connection.execute(query).all())

    def _find_cached(self, stored: StoredSurvey, days: dict[date, int]) -> Snapshot | None:
        """Return the cached snapshot of a survey, if no report was counted since it was read.

        Counting a report increments the count of its day in the same transaction, and reports are
        deleted only with their survey. So equal counts of the days imply equal counts.
        """
        with self._lock:
            cached = self._cache.get(stored.number)
        if cached is None or cached.days != days:
            return None
        version = (cached.stored.digest, cached.stored.published_at)
        return cached if version == (stored.digest, stored.published_at) else None

    def daily_outcomes(self, survey_id: str) -> list[DailyOutcomes]:
        """Return the outcomes of the reports of each day, latest first."""
        table = daily_outcomes.c
        days: dict[date, dict[str, int]] = {}
        with self._database.reading_reports() as connection:
            statement = (
                select(table.day, table.outcome, sum_shards(table.count))
                .where(table.survey == find(connection, survey_id).number)
                .group_by(table.day, table.outcome)
            )
            for day, outcome, count in connection.execute(statement):
                days.setdefault(day, {})[outcome] = count
        return [
            DailyOutcomes(
                day,
                outcomes.pop(COUNTED, 0),
                outcomes.pop(REPEATED, 0),
                dict(sorted(outcomes.items())),
            )
            for day, outcomes in sorted(days.items(), reverse=True)
        ]


def by_day(survey: int | None = None) -> Select[date, int]:
    """Return the query for the reports counted each day, of one survey or of all."""
    table = daily_outcomes.c
    chosen = [table.survey == survey] if survey is not None else []
    return (
        select(table.day, sum_shards(table.count).label("count"))
        .where(table.outcome == COUNTED, *chosen)
        .group_by(table.day)
        .order_by(table.day)
    )


def find_ids(
    connection: Connection, survey: int, ids: Iterable[bytes], table: Table = report_ids
) -> set[bytes]:
    """Return the ids of reports or tickets that a table already has."""
    return _returned(connection, _FIND_IDS, survey, ids, table)


def add_ids(
    connection: Connection, survey: int, ids: Iterable[bytes], table: Table = report_ids
) -> set[bytes]:
    """Insert ids, and return the new ones (deduplication)."""
    given = set(ids)
    if connection.dialect.name == "sqlite":
        # Usually all ids are new, and RETURNING takes SQLite half as long again. A known id rolls
        # back only this statement.
        with suppress(IntegrityError):
            _execute(connection, _ADD_NEW_IDS, (survey,), given, table)
            return given
    return _returned(connection, _ADD_IDS, survey, given, table)


def delete_ids(connection: Connection, survey: int, ids: Iterable[bytes], table: Table) -> None:
    """Delete ids of reports or tickets."""
    _execute(connection, _DELETE_IDS, (survey,), ids, table)


def add_counts(connection: Connection, survey: int, shard: int, cells: Iterable[bytes]) -> None:
    """Increment the counts of cells; all cells have the same size."""
    _execute(connection, _ADD_COUNTS, (survey, shard), cells)


def lock_unused(connection: Connection, survey: int, hashes: Iterable[bytes]) -> set[bytes]:
    """Lock and return the unused invitations among these, until this transaction ends."""
    statement = _FIND_INVITATIONS
    if connection.dialect.name != "sqlite":
        # SQLite has one writer, so it needs no row locks.
        statement += "FOR UPDATE"
    return _returned(connection, statement, survey, hashes)


def add_invitations(connection: Connection, survey: int, hashes: Iterable[bytes]) -> None:
    """Insert new invitations."""
    _execute(connection, _ADD_INVITATIONS, (survey,), hashes)


def delete_invitations(connection: Connection, survey: int, hashes: Iterable[bytes]) -> int:
    """Delete spent or withdrawn invitations, and return their number."""
    cursor = _execute(connection, _DELETE_INVITATIONS, (survey,), hashes)
    return 0 if cursor is None else int(cursor.rowcount)


def add_outcomes(
    connection: Connection, survey: int, shard: int, outcomes: Mapping[str, int]
) -> None:
    """Add numbers of reports by outcome to those of today."""
    today = datetime.now(UTC).date()
    # SQLite keeps days as text.
    day = today.isoformat() if connection.dialect.name == "sqlite" else today
    for name, count in sorted(outcomes.items()):
        if count:
            parameters = (survey, shard, day, name, count)
            run(connection, _in_dialect(_ADD_OUTCOMES, connection.dialect.name), parameters)


def _returned(
    connection: Connection,
    statement: str,
    survey: int,
    values: Iterable[bytes],
    table: Table | None = None,
) -> set[bytes]:
    cursor = _execute(connection, statement, (survey,), values, table)
    return set() if cursor is None else {value for (value,) in cursor.fetchall()}


def _execute(
    connection: Connection,
    statement: str,
    parameters: tuple[Any, ...],
    values: Iterable[bytes],
    table: Table | None = None,
) -> Any:
    """Run a statement for sorted values of the same size; do nothing without values.

    Returns the cursor of the driver; None without values.
    """
    in_order = sorted(values)
    if not in_order:
        return None
    text = _for_values(statement, len(in_order[0]), table, connection.dialect.name)
    packed = b"".join(in_order)
    return run(connection, text, (*parameters, packed, len(packed)))


@lru_cache(maxsize=256)
def _for_values(statement: str, size: int, table: Table | None, dialect: str) -> str:
    """Return a statement for values of a size, with the placeholders of the driver."""
    rows = f"(SELECT substr(?, start, {size}) AS value FROM {_STARTS[dialect]}) AS given"
    column = "" if table is None else list(table.primary_key)[-1].name
    whole = statement.format(rows=rows.format(size=size), table=table, column=column)
    return _in_dialect(whole, dialect)


def _in_dialect(statement: str, dialect: str) -> str:
    """Return a statement with the placeholders of the driver."""
    return statement if dialect == "sqlite" else statement.replace("?", "%b")
