"""Reports of surveys: counting them, and reading the counts."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime

import numpy as np
from halftruth_shared.messages import Receipt, Report
from sqlalchemy import BigInteger, Column, ColumnElement, cast, func, select

from ..estimate import Counts
from .counting import COUNTED, REPEATED, ReportCounter
from .database import Database
from .submissions import Submission, pack
from .surveys import StoredSurvey, SurveyStore, find
from .tables import arrivals, cells


@dataclass(frozen=True)
class Arrivals:
    """What became of the reports of one day.

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


class ReportStore:
    """Counts reports and reads the counts."""

    def __init__(self, database: Database, surveys: SurveyStore, counter: ReportCounter) -> None:
        self._database = database
        self._surveys = surveys
        self._counter = counter

    def add(self, survey_id: str, digest: str, reports: Sequence[Report]) -> Receipt:
        """Count a batch, all of it or nothing, and return once that is durable.

        A report whose id has been counted before is a duplicate and counts no second time.

        Raises
        ------
        UnknownSurvey, SurveyClosed, StaleDigest, InvitationRefused
        ReportError
            If a report does not fit the survey.
        ReportIdReused
            If an id comes with another report than before.
        StoreUnavailable
        """
        survey = self._surveys.get(survey_id).survey()
        shape = survey.mechanism.report_shape(survey.schema)
        return self.count(pack(survey_id, digest, shape, reports))

    def count(self, submission: Submission) -> Receipt:
        """The same for reports that were checked and packed before."""
        return self._counter.count(submission)

    def refuse(self, survey_id: str, reason: str) -> None:
        """Write down that a request with reports was refused, and why.

        Raises
        ------
        UnknownSurvey, StoreUnavailable
        """
        self._counter.refuse(survey_id, reason)

    def arrivals(self, survey_id: str) -> list[Arrivals]:
        """What became of the reports of each day, the last one first.

        Raises
        ------
        UnknownSurvey, StoreUnavailable
        """
        with self._database.reading() as connection:
            number = find(connection, survey_id).number
            rows = connection.execute(
                select(arrivals.c.day, arrivals.c.outcome, _total(arrivals.c.count))
                .where(arrivals.c.survey == number)
                .group_by(arrivals.c.day, arrivals.c.outcome)
            ).all()
        days: dict[date, dict[str, int]] = {}
        for day, outcome, count in rows:
            days.setdefault(day, {})[outcome] = count
        return [
            Arrivals(
                day,
                outcomes.pop(COUNTED, 0),
                outcomes.pop(REPEATED, 0),
                dict(sorted(outcomes.items())),
            )
            for day, outcomes in sorted(days.items(), reverse=True)
        ]

    def counts(self, survey_id: str) -> tuple[StoredSurvey, Counts, datetime]:
        """A survey, its counts at one moment, and that moment.

        Raises
        ------
        UnknownSurvey, StoreUnavailable
        """
        with self._database.reading() as connection:
            stored = find(connection, survey_id)
            rows = connection.execute(
                select(cells.c.cell, _total(cells.c.count))
                .where(cells.c.survey == stored.number)
                .group_by(cells.c.cell)
                .order_by(cells.c.cell)
            ).all()
            now = datetime.now(UTC)
        survey = stored.survey()
        shape = survey.mechanism.report_shape(survey.schema)
        values = np.frombuffer(b"".join(row[0] for row in rows), dtype=shape.dtype)
        counts = np.array([row[1] for row in rows], dtype=np.int64)
        reports = values.reshape(len(rows), len(shape.shape)).astype(np.int64)
        return stored, Counts.from_cells(shape, reports, counts), now


def _total(shards: Column[int]) -> ColumnElement[int]:
    """Sum over shards; PostgreSQL would make it a decimal number."""
    return cast(func.sum(shards), BigInteger)
