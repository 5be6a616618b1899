"""Storage of a relay: registered surveys, the ids of reports, and the reports that it holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, NamedTuple, cast

from halftruth_collector.collector_store import OpenStore, check_existing
from halftruth_collector.errors import UnknownSurvey
from halftruth_collector.store.parsed import parsed_surveys
from halftruth_collector.store.surveys import Closer, why_closed
from halftruth_collector.store.tables import relay_reports, relay_surveys, surveys
from halftruth_shared import ParameterError, Relay, Survey
from halftruth_shared.protocol.terms import Terms
from sqlalchemy import Connection, bindparam, exists, func, select
from sqlalchemy.engine import Row

from .issuing import RelayTickets

#: Status of a survey: accepts reports; closed; closed with reports released to be passed on; closed
#: with too few reports for a batch; ids deleted.
Status = Literal["open", "closed", "released", "withheld", "purged"]


@dataclass(frozen=True)
class RegisteredSurvey:
    """A survey that is registered at a relay."""

    #: Identifies the survey in the rows of its reports.
    number: int
    id: str
    digest: str
    #: Canonical JSON, as published by the collector.
    document: str
    #: Address of the collector, and bearer token of the relay for it.
    collector: str
    token: str = field(repr=False)
    closes_at: datetime | None
    status: Status
    closed_at: datetime | None
    #: Numbers of reports that the collector acknowledged, and that it could not open.
    passed: int
    unopened: int
    #: The same numbers of the batch that was released last.
    batch_passed: int
    batch_unopened: int
    #: Whether no further batch is released until the operator agrees.
    is_stopped: bool
    #: Number of tickets that were issued.
    issued: int

    def survey(self) -> Survey:
        """Return the parsed survey."""
        return parsed_surveys.get(self.digest, self.document)

    @property
    def relay(self) -> Relay:
        """The member `relay` of the survey, which describes this relay."""
        return cast(Relay, self.survey().relay)

    @property
    def is_doubtful(self) -> bool:
        """Whether more than a tenth of the last batch could not be opened, and hid nobody."""
        return 10 * self.batch_unopened > self.batch_passed

    def is_open(self, now: datetime) -> bool:
        """Return whether new reports are accepted."""
        closed_by: Closer | None = None if self.status == "open" else "relay"
        return why_closed(closed_by, Terms(closes_at=self.closes_at), now) is None


class Held(NamedTuple):
    """Numbers of reports to a survey that a relay holds: all, and the released ones."""

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
        self.tickets = RelayTickets(self.database)
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

    def close(self) -> None:
        """Write pending numbers of tickets, and close all connections."""
        self.tickets.flush()
        super().close()

    def get(self, id: str) -> RegisteredSurvey:
        """Return a survey.

        Raises
        ------
        UnknownSurvey
        """
        with self.database.reading() as connection:
            found = self._cache[id] = find(connection, id)
        return found

    def last_read(self, id: str) -> RegisteredSurvey | None:
        """Return a survey from the cache of this process, without a query; None if not cached."""
        return self._cache.get(id)

    def all(self) -> list[RegisteredSurvey]:
        """Return all surveys, sorted by id."""
        with self.database.reading() as connection:
            rows = connection.execute(select(relay_surveys).order_by(relay_surveys.c.id)).all()
        return [_registered(row) for row in rows]

    def held(self, survey: RegisteredSurvey) -> Held:
        """Return the numbers of reports to a survey that the relay holds."""
        with self.database.reading_reports() as connection:
            return Held(count_held(connection, survey), count_held(connection, survey, due=True))

    def due_ids(self, survey: RegisteredSurvey) -> list[bytes]:
        """Return the ids of the released reports."""
        column = relay_reports.c.report_id
        statement = select(column).where(
            relay_reports.c.survey == survey.number, relay_reports.c.is_due
        )
        with self.database.reading_reports() as connection:
            return list(connection.execute(statement.order_by(column)).scalars())

    def sealed(self, survey: RegisteredSurvey, ids: Sequence[bytes]) -> list[bytes]:
        """Return the reports with these ids that the relay still holds, in this order."""
        statement = select(relay_reports.c.report_id, relay_reports.c.sealed).where(
            relay_reports.c.survey == survey.number, relay_reports.c.report_id.in_(ids)
        )
        with self.database.reading_reports() as connection:
            found = dict(connection.execute(statement).all())
        return [found[id] for id in ids if id in found]


#: Statements are built once, since building one takes as long as running it.
_FIND = select(relay_surveys).where(relay_surveys.c.id == bindparam("id"))
_LOCKED = {
    "none": _FIND,
    "shared": _FIND.with_for_update(read=True),
    "alone": _FIND.with_for_update(),
}


def find(
    connection: Connection, id: str, lock: Literal["none", "shared", "alone"] = "none"
) -> RegisteredSurvey:
    """Return a survey within a transaction; raise UnknownSurvey if it does not exist.

    A lock of its row lasts until the transaction ends: "shared" excludes changes of the survey,
    "alone" also new reports.
    """
    # PostgreSQL raises an error for a text with this character, which no id has.
    row = None if "\0" in id else connection.execute(_LOCKED[lock], {"id": id}).first()
    if row is None:
        raise UnknownSurvey(f"this relay takes no reports of '{id}'", field="survey")
    return _registered(row)


def count_held(connection: Connection, survey: RegisteredSurvey, *, due: bool | None = None) -> int:
    """Return the number of reports held, of all or by whether they are released (`due`)."""
    chosen = [relay_reports.c.survey == survey.number]
    if due is not None:
        chosen.append(relay_reports.c.is_due if due else ~relay_reports.c.is_due)
    statement = select(func.count()).select_from(relay_reports).where(*chosen)
    return connection.execute(statement).scalar_one()


def open_existing_relay(database: str) -> RelayStore:
    """Open the existing database of a relay; raise ParameterError if there is no such file."""
    check_existing(database, "'halftruth relay serve' or 'halftruth relay register'")
    return RelayStore(database)


def _registered(row: Row[*tuple[Any, ...]]) -> RegisteredSurvey:
    return RegisteredSurvey(**row._mapping)
