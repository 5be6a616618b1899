"""What a relay keeps: registered surveys, the ids of reports, and the reports that it holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from typing import Any, Literal, cast

from halftruth_shared import ParameterError, Relay, Survey
from sqlalchemy import Connection, bindparam, exists, func, select
from sqlalchemy.engine import Row

from ..collector_store import OpenStore, check_existing
from ..errors import UnknownSurvey
from ..store.tables import relay_reports, relay_surveys, surveys

#: What becomes of a survey's reports: it takes some, none any more, has passed them on or is about
#: to, or has too few ever to do so; or even the ids of its reports were deleted.
Status = Literal["open", "closed", "released", "withheld", "purged"]


@dataclass(frozen=True)
class RegisteredSurvey:
    """A survey that a relay takes reports for.

    Attributes
    ----------
    number : int
        In the rows of its reports.
    id, digest, document : str
        As the collector published it.
    collector : str
        Address of the collector.
    token : str
        What the collector knows the relay by.
    closes_at : datetime or None
    status : str
    closed_at : datetime or None
    passed, unopened : int
        Reports that the collector acknowledged, and those of them that it could not open.
    """

    number: int
    id: str
    digest: str
    document: str
    collector: str
    token: str = field(repr=False)
    closes_at: datetime | None
    status: Status
    closed_at: datetime | None
    passed: int
    unopened: int

    def survey(self) -> Survey:
        """The survey itself."""
        return _read(self.document)

    @property
    def relay(self) -> Relay:
        """What the survey says of its relay, which is this one."""
        return cast(Relay, self.survey().relay)

    def is_open(self, now: datetime) -> bool:
        """Return whether new reports are taken."""
        return self.status == "open" and (self.closes_at is None or now < self.closes_at)


@dataclass(frozen=True)
class Held:
    """Numbers of the reports that a relay holds of a survey: all, and those of a full batch."""

    reports: int
    due: int


class RelayStore(OpenStore):
    """The database of a relay.

    Raises
    ------
    ParameterError
        If it is the database of a collector.
    """

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self._cache: dict[str, RegisteredSurvey] = {}
        try:
            with self.database.reading() as connection:
                is_collector = connection.execute(select(exists(select(surveys)))).scalar()
            if is_collector:
                raise ParameterError(
                    "database: it is that of a collector; expected one of the relay's own, on a"
                    " machine of another party",
                    field="database",
                )
        except BaseException:
            self.close()
            raise

    def get(self, id: str) -> RegisteredSurvey:
        """One survey.

        Raises
        ------
        UnknownSurvey
        """
        with self.database.reading() as connection:
            found = self._cache[id] = find(connection, id)
        return found

    def last_read(self, id: str) -> RegisteredSurvey | None:
        """Return a survey as it was when it was last read here; None before. Asks no database."""
        return self._cache.get(id)

    def all(self) -> list[RegisteredSurvey]:
        """Every survey, by id."""
        with self.database.reading() as connection:
            rows = connection.execute(select(relay_surveys).order_by(relay_surveys.c.id)).all()
        return [_registered(row) for row in rows]

    def held(self, survey: RegisteredSurvey) -> Held:
        """Numbers of the reports that are held of a survey."""
        with self.database.reading_reports() as connection:
            return Held(count_held(connection, survey), count_held(connection, survey, due=True))

    def due_ids(self, survey: RegisteredSurvey) -> list[bytes]:
        """Ids of the reports that are to be passed on."""
        column = relay_reports.c.report_id
        statement = select(column).where(
            relay_reports.c.survey == survey.number, relay_reports.c.is_due
        )
        with self.database.reading_reports() as connection:
            return list(connection.execute(statement.order_by(column)).scalars())

    def sealed(self, survey: RegisteredSurvey, ids: Sequence[bytes]) -> list[bytes]:
        """The reports with these ids that are still held, in this order."""
        statement = select(relay_reports.c.report_id, relay_reports.c.sealed).where(
            relay_reports.c.survey == survey.number, relay_reports.c.report_id.in_(ids)
        )
        with self.database.reading_reports() as connection:
            found = dict(connection.execute(statement).all())
        return [found[id] for id in ids if id in found]


#: Built once: that takes as long as running it.
_FIND = select(relay_surveys).where(relay_surveys.c.id == bindparam("id"))
_LOCKED = {
    "none": _FIND,
    "shared": _FIND.with_for_update(read=True),
    "alone": _FIND.with_for_update(),
}


def find(
    connection: Connection, id: str, lock: Literal["none", "shared", "alone"] = "none"
) -> RegisteredSurvey:
    """One survey inside a transaction.

    Parameters
    ----------
    connection : Connection
    id : str
    lock : {"none", "shared", "alone"}
        Until the transaction ends, nobody else may change it; or not even add a report.

    Raises
    ------
    UnknownSurvey
    """
    # PostgreSQL refuses to look for a text with this character, which no id has.
    row = None if "\0" in id else connection.execute(_LOCKED[lock], {"id": id}).first()
    if row is None:
        raise UnknownSurvey(f"this relay takes no reports of '{id}'", field="survey")
    return _registered(row)


def count_held(connection: Connection, survey: RegisteredSurvey, *, due: bool | None = None) -> int:
    """Number of reports that are held of a survey, or of those that are due or are not."""
    chosen = [relay_reports.c.survey == survey.number]
    if due is not None:
        chosen.append(relay_reports.c.is_due if due else ~relay_reports.c.is_due)
    statement = select(func.count()).select_from(relay_reports).where(*chosen)
    return connection.execute(statement).scalar_one()


def open_existing_relay(database: str) -> RelayStore:
    """Open the database of a relay that is there.

    Raises
    ------
    ParameterError
        If there is no such file.
    """
    check_existing(database, "'halftruth relay serve' or 'halftruth relay register'")
    return RelayStore(database)


@lru_cache(maxsize=64)
def _read(document: str) -> Survey:
    return Survey.from_json(document)


def _registered(row: Row[*tuple[Any, ...]]) -> RegisteredSurvey:
    return RegisteredSurvey(**row._mapping)
