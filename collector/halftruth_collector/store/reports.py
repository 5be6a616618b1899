"""Reports: the statements that write their rows, and what was counted of them.

A statement gets its many ids, cells or hashes at once: they lie end to end in one value, which the
database takes apart.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
from sqlalchemy import Connection, CursorResult, Select, Table, select
from sqlalchemy.exc import IntegrityError

from ..estimation import Counts
from .database import Database
from .surveys import StoredSurvey, find
from .tables import COUNTED, REPEATED, cells, daily_outcomes, report_ids, sum_shards

#: Cells that are read at a time.
_PAGE = 10_000

#: Most bytes of the counts of surveys that are kept.
_KEPT_BYTES = 2**27

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
    SELECT report_id FROM {table} WHERE survey = ? AND report_id IN (SELECT value FROM {rows})
"""

_ADD_NEW_IDS = """
    INSERT INTO {table} (survey, report_id) SELECT ?, value FROM {rows}
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


@dataclass(frozen=True)
class DailyOutcomes:
    """Outcomes of the reports of one day.

    Attributes
    ----------
    day : date
        In UTC.
    counted, repeated : int
        Reports counted that day, and reports that had been counted before.
    refused : dict of str to int
        Requests refused, by reason.
    """

    day: date
    counted: int
    repeated: int
    refused: dict[str, int]


class Snapshot(NamedTuple):
    """A survey and what was counted of it at one moment, also by day, the first one first."""

    stored: StoredSurvey
    counts: Counts
    as_of: datetime
    days: dict[date, int]


class CountStore:
    """Reads the counts of reports; of a survey that there is not, UnknownSurvey is raised.

    The counts of a survey are kept until it gets another report, so that the pages of its results
    read and sort them once.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._kept: dict[int, Snapshot] = {}
        self._lock = Lock()

    def counts(self, survey_id: str) -> tuple[StoredSurvey, Counts, datetime]:
        """A survey, its counts at one moment, and that moment."""
        return self.snapshot(survey_id)[:3]

    def snapshot(self, survey_id: str) -> Snapshot:
        """Read a survey, its counts, and the reports counted each day."""
        # A row takes many times the memory of what it holds, and there may be millions.
        packed, counts = bytearray(), []
        with self._database.reading_reports() as connection:
            stored = find(connection, survey_id)
            days = dict(connection.execute(by_day(stored.number)).all())
            now = datetime.now(UTC)
            if (kept := self._known(stored, days)) is not None:
                return Snapshot(stored, kept.counts, now, days)
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
        self._keep(snapshot)
        return snapshot

    def _keep(self, snapshot: Snapshot) -> None:
        """Keep a snapshot, in place of those that were read longest ago."""
        with self._lock:
            self._kept.pop(snapshot.stored.number, None)
            self._kept[snapshot.stored.number] = snapshot
            while sum(kept.counts.nbytes for kept in self._kept.values()) > _KEPT_BYTES:
                del self._kept[next(iter(self._kept))]

    def _known(self, stored: StoredSurvey, days: dict[date, int]) -> Snapshot | None:
        """Return the kept snapshot of a survey, if no report has come since it was read.

        A report is counted in the same transaction as its day, and no report is ever taken away,
        except with its survey: so the counts are the same if those of the days are.
        """
        with self._lock:
            kept = self._kept.get(stored.number)
        if kept is None or kept.days != days:
            return None
        same = (kept.stored.digest, kept.stored.published_at)
        return kept if same == (stored.digest, stored.published_at) else None

    def daily_outcomes(self, survey_id: str) -> list[DailyOutcomes]:
        """Outcomes of the reports of each day, the last one first."""
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
    """Reports counted each day, of one survey or of the only one."""
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
    """Return those of some ids that were counted, or that a relay took."""
    return _returned(connection, _FIND_IDS, survey, ids, table)


def add_ids(
    connection: Connection, survey: int, ids: Iterable[bytes], table: Table = report_ids
) -> set[bytes]:
    """Record ids; those of them that were not known.

    They are sorted, so that two transactions with common ids cannot wait for each other, and their
    order says nothing.
    """
    in_order = sorted(ids)
    if connection.dialect.name == "sqlite":
        # Most often all are new, and SQLite takes half as long again to return them. Where one is
        # known, it undoes this statement only.
        with suppress(IntegrityError):
            _execute(connection, _ADD_NEW_IDS, (survey,), in_order, table)
            return set(in_order)
    return _returned(connection, _ADD_IDS, survey, in_order, table)


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
    connection: Connection,
    statement: str,
    survey: int,
    values: Iterable[bytes],
    table: Table | None = None,
) -> set[bytes]:
    result = _execute(connection, statement, (survey,), sorted(values), table)
    return set() if result is None else set(result.scalars().all())


def _execute(
    connection: Connection,
    statement: str,
    parameters: tuple[Any, ...],
    values: Sequence[bytes],
    table: Table | None = None,
) -> CursorResult[Any] | None:
    """Run a statement over values of one size, unless there are none."""
    if not values:
        return None
    size = len(values[0])
    starts = _STARTS[connection.dialect.name].format(size=size)
    rows = f"(SELECT substr(?, start, {size}) AS value FROM {starts}) AS given"
    text = _in_dialect(connection, statement.format(rows=rows, table=table))
    packed = b"".join(values)
    return connection.exec_driver_sql(text, (*parameters, packed, len(packed)))


def _in_dialect(connection: Connection, statement: str) -> str:
    """A statement with the placeholders of the driver."""
    return statement if connection.dialect.name == "sqlite" else statement.replace("?", "%b")
