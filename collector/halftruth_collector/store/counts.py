"""Reading what was counted."""

from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import NamedTuple

import numpy as np
from sqlalchemy import Select, select

from ..estimation import Counts
from .closing import COUNTED, total
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
    """Reads the counts of reports; of a survey that there is not, UnknownSurvey is raised."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def counts(self, survey_id: str) -> tuple[StoredSurvey, Counts, datetime]:
        """A survey, its counts at one moment, and that moment."""
        return self.snapshot(survey_id)[:3]

    def snapshot(self, survey_id: str) -> Snapshot:
        """Read a survey, its counts, and the reports counted each day."""
        # A row takes many times the memory of what it holds, and there may be millions.
        packed, counts = bytearray(), []
        with self._database.reading_reports() as connection:
            stored = find(connection, survey_id)
            statement = (
                select(cells.c.cell, total(cells.c.count))
                .where(cells.c.survey == stored.number)
                .group_by(cells.c.cell)
                .order_by(cells.c.cell)
            )
            with connection.execution_options(yield_per=_PAGE).execute(statement) as rows:
                for page in rows.partitions():
                    packed += b"".join(row[0] for row in page)
                    counts += [row[1] for row in page]
            days = dict(connection.execute(by_day(stored.number)).all())
            now = datetime.now(UTC)
        survey = stored.survey()
        space = survey.report_space
        values = np.frombuffer(packed, dtype=space.dtype).reshape(len(counts), len(space.shape))
        counted = Counts.from_cells(survey, values, np.array(counts, dtype=np.int64))
        return Snapshot(stored, counted, now, days)

    def daily_outcomes(self, survey_id: str) -> list[DailyOutcomes]:
        """Outcomes of the reports of each day, the last one first."""
        table = daily_outcomes.c
        days: dict[date, dict[str, int]] = {}
        with self._database.reading_reports() as connection:
            statement = (
                select(table.day, table.outcome, total(table.count))
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
        select(table.day, total(table.count).label("count"))
        .where(table.outcome == COUNTED, *chosen)
        .group_by(table.day)
        .order_by(table.day)
    )
