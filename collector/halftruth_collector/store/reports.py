"""Counting reports, each exactly once, and reading the counts."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime

import numpy as np
from halftruth_shared import ReportShape
from halftruth_shared.messages import Receipt, Report
from sqlalchemy import Connection, select

from ..errors import ReportIdReused, StaleDigest, SurveyClosed
from ..estimate import Counts
from .database import Database
from .surveys import StoredSurvey, find
from .tables import arrivals, cells, report_ids

#: Ids looked up in one statement.
_PAGE = 500


#: Outcomes of reports that were not refused.
COUNTED, REPEATED = "counted", "repeated"


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

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, survey_id: str, digest: str, reports: Sequence[Report]) -> Receipt:
        """Count a batch, all of it or nothing, and return once that is durable.

        A report whose id has been counted before is a duplicate and counts no second time.

        Raises
        ------
        UnknownSurvey, SurveyClosed, StaleDigest
        ReportError
            If a report does not fit the survey.
        ReportIdReused
            If an id comes with another report than before.
        StoreUnavailable
        """
        with self._database.writing() as connection:
            stored = find(connection, survey_id, keep_open=True)
            _check_takes(stored, digest)
            survey = stored.survey()
            shape = survey.mechanism.report_shape(survey.schema)
            packed = _pack(shape, reports)
            new = self._insert_ids(connection, survey_id, packed)
            self._check_repeated(connection, survey_id, reports, packed, new)
            self._count(connection, survey_id, Counter(packed[id_] for id_ in new))
            receipt = Receipt(accepted=len(new), duplicates=len(reports) - len(new))
            self._arrived(connection, survey_id, COUNTED, receipt.accepted)
            self._arrived(connection, survey_id, REPEATED, receipt.duplicates)
        return receipt

    def refuse(self, survey_id: str, reason: str) -> None:
        """Write down that a request with reports was refused, and why.

        Raises
        ------
        UnknownSurvey, StoreUnavailable
        """
        with self._database.writing() as connection:
            find(connection, survey_id)
            self._arrived(connection, survey_id, reason, 1)

    def arrivals(self, survey_id: str) -> list[Arrivals]:
        """What became of the reports of each day, the last one first.

        Raises
        ------
        UnknownSurvey, StoreUnavailable
        """
        with self._database.reading() as connection:
            find(connection, survey_id)
            rows = connection.execute(
                select(arrivals).where(arrivals.c.survey_id == survey_id)
            ).all()
        days: dict[date, dict[str, int]] = {}
        for row in rows:
            days.setdefault(row.day, {})[row.outcome] = row[3]
        return [
            Arrivals(
                day,
                outcomes.pop(COUNTED, 0),
                outcomes.pop(REPEATED, 0),
                dict(sorted(outcomes.items())),
            )
            for day, outcomes in sorted(days.items(), reverse=True)
        ]

    def _arrived(self, connection: Connection, survey_id: str, outcome: str, count: int) -> None:
        if count == 0:
            return
        statement = self._database.insert(arrivals)
        statement = statement.on_conflict_do_update(
            index_elements=[arrivals.c.survey_id, arrivals.c.day, arrivals.c.outcome],
            set_={"count": arrivals.c.count + statement.excluded.count},
        )
        row = {
            "survey_id": survey_id,
            "day": datetime.now(UTC).date(),
            "outcome": outcome,
            "count": count,
        }
        connection.execute(statement, row)

    def _insert_ids(
        self, connection: Connection, survey_id: str, packed: dict[bytes, bytes]
    ) -> set[bytes]:
        """Record the ids that are new, and return them."""
        if not packed:
            return set()
        # In order, so that two batches with common ids cannot wait for each other.
        rows = [
            {"survey_id": survey_id, "report_id": id_, "cell": packed[id_]}
            for id_ in sorted(packed)
        ]
        statement = (
            self._database.insert(report_ids)
            .on_conflict_do_nothing()
            .returning(report_ids.c.report_id)
        )
        return set(connection.execute(statement, rows).scalars())

    def _check_repeated(
        self,
        connection: Connection,
        survey_id: str,
        reports: Sequence[Report],
        packed: dict[bytes, bytes],
        new: set[bytes],
    ) -> None:
        """Make sure that ids counted before came with the same report."""
        repeated = [id_ for id_ in packed if id_ not in new]
        for start in range(0, len(repeated), _PAGE):
            statement = select(report_ids.c.report_id, report_ids.c.cell).where(
                report_ids.c.survey_id == survey_id,
                report_ids.c.report_id.in_(repeated[start : start + _PAGE]),
            )
            for id_, cell in connection.execute(statement):
                if cell != packed[id_]:
                    index = [report.id.bytes for report in reports].index(id_)
                    raise _reused(index)

    def _count(self, connection: Connection, survey_id: str, added: Counter[bytes]) -> None:
        if not added:
            return
        # In order, so that two batches with common cells cannot wait for each other.
        rows = [
            {"survey_id": survey_id, "cell": cell, "count": count}
            for cell, count in sorted(added.items())
        ]
        statement = self._database.insert(cells)
        statement = statement.on_conflict_do_update(
            index_elements=[cells.c.survey_id, cells.c.cell],
            set_={"count": cells.c.count + statement.excluded.count},
        )
        connection.execute(statement, rows)

    def counts(self, survey_id: str) -> tuple[StoredSurvey, Counts, datetime]:
        """A survey, its counts at one moment, and that moment.

        Raises
        ------
        UnknownSurvey, StoreUnavailable
        """
        with self._database.reading() as connection:
            stored = find(connection, survey_id)
            statement = select(cells.c.cell, cells.c.count).where(cells.c.survey_id == survey_id)
            rows = connection.execute(statement).all()
            now = datetime.now(UTC)
        survey = stored.survey()
        shape = survey.mechanism.report_shape(survey.schema)
        values = np.frombuffer(b"".join(row.cell for row in rows), dtype=_width(shape))
        counts = np.array([row[1] for row in rows], dtype=np.int64)
        reports = values.reshape(len(rows), len(shape.shape)).astype(np.int64)
        return stored, Counts.from_cells(shape, reports, counts), now


def _check_takes(stored: StoredSurvey, digest: str) -> None:
    if digest != stored.digest:
        raise StaleDigest(
            f"digest: survey '{stored.id}' has been published with another digest; fetch it again",
            field="digest",
        )
    if stored.status == "closed":
        raise SurveyClosed(f"survey '{stored.id}' is closed", field="survey")


def _pack(shape: ReportShape, reports: Sequence[Report]) -> dict[bytes, bytes]:
    """Packed report by id, every one checked."""
    width = _width(shape)
    packed: dict[bytes, bytes] = {}
    for index, report in enumerate(reports):
        values = shape.check(report.values, index)
        cell = np.array(values, dtype=width).tobytes()
        if packed.setdefault(report.id.bytes, cell) != cell:
            raise _reused(index)
    return packed


def _width(shape: ReportShape) -> np.dtype[np.unsignedinteger]:
    """Narrowest big-endian integer that holds every value of a report."""
    largest = max(shape.shape) - 1
    return np.dtype("u1") if largest < 2**8 else np.dtype(">u2" if largest < 2**16 else ">u4")


def _reused(index: int) -> ReportIdReused:
    return ReportIdReused(
        f"report {index}: its id belongs to a different report; expected a new id", index=index
    )
