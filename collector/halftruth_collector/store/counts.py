"""Reading what was counted."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import NamedTuple

import numpy as np
from sqlalchemy import (
    BigInteger,
    Column,
    ColumnElement,
    Connection,
    Row,
    Select,
    cast,
    func,
    select,
)

from ..estimation import Counts
from .closing import COUNTED
from .database import Database
from .surveys import StoredSurvey, find
from .tables import cells, daily_outcomes

#: Outcome of reports that had been counted before.
REPEATED = "repeated"

#: Cells that are read at a time.
_PAGE = 10_000


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
    """Reads the counts of reports."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def counts(self, survey_id: str) -> tuple[StoredSurvey, Counts, datetime]:
        """A survey, its counts at one moment, and that moment.

        Raises
        ------
        UnknownSurvey, StoreUnavailable
        """
        return self.snapshot(survey_id)[:3]

    def snapshot(self, survey_id: str) -> Snapshot:
        """Read a survey, its counts, and the reports counted each day.

        Raises
        ------
        UnknownSurvey, StoreUnavailable
        """

        def read(
            connection: Connection,
        ) -> tuple[StoredSurvey, bytes, list[int], datetime, dict[date, int]]:
            stored = find(connection, survey_id)
            statement = (
                select(cells.c.cell, total(cells.c.count))
                .where(cells.c.survey == stored.number)
                .group_by(cells.c.cell)
                .order_by(cells.c.cell)
            )
            # A row takes many times the memory of what it holds, and there may be millions.
            packed, counts = bytearray(), []
            with connection.execution_options(yield_per=_PAGE).execute(statement) as rows:
                for page in rows.partitions():
                    packed += b"".join(row[0] for row in page)
                    counts += [row[1] for row in page]
            days = dict(connection.execute(by_day(stored.number)).all())
            return stored, bytes(packed), counts, datetime.now(UTC), days

        stored, packed, counts, now, days = self._database.read_reports(read)
        survey = stored.survey()
        space = survey.report_space
        values = np.frombuffer(packed, dtype=space.dtype).reshape(len(counts), len(space.shape))
        found = Counts.from_cells(survey, values, np.array(counts, dtype=np.int64))
        return Snapshot(stored, found, now, days)

    def daily_outcomes(self, survey_id: str) -> list[DailyOutcomes]:
        """Outcomes of the reports of each day, the last one first.

        Raises
        ------
        UnknownSurvey, StoreUnavailable
        """

        def read(connection: Connection) -> Sequence[Row[date, str, int]]:
            table = daily_outcomes.c
            return connection.execute(
                select(table.day, table.outcome, total(table.count))
                .where(table.survey == find(connection, survey_id).number)
                .group_by(table.day, table.outcome)
            ).all()

        days: dict[date, dict[str, int]] = {}
        for day, outcome, count in self._database.read_reports(read):
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
        select(table.day, total(table.count).label("count"))
        .where(table.outcome == COUNTED, *chosen)
        .group_by(table.day)
        .order_by(table.day)
    )


def total(shards: Column[int]) -> ColumnElement[int]:
    """Sum over shards; PostgreSQL would make it a decimal number."""
    return cast(func.sum(shards), BigInteger)
