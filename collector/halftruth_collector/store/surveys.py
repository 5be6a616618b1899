"""Published surveys: their terms, their state, and why they are closed."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

import msgspec
from halftruth_shared import Relay, Survey
from halftruth_shared.protocol.base import Digest, Message
from halftruth_shared.protocol.surveys import PublishedSurvey
from halftruth_shared.protocol.surveys import Status as PublicStatus
from halftruth_shared.protocol.terms import Signature, SignedTerms, Terms
from msgspec import Meta
from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    bindparam,
    exists,
    func,
    select,
    update,
)
from sqlalchemy.engine import Row

from ..errors import UnknownSurvey
from .database import Database
from .parsed import parsed_surveys
from .tables import COUNTED, cells, daily_outcomes, invitations, sum_shards, surveys

Status = Literal["open", "closed"]

#: Who can close a survey: an operator, or its relay once it has passed on its last reports.
Closer = Literal["operator", "relay"]

#: Reason why a survey is closed.
Reason = Literal[Closer, "deadline", "quota"]

#: State of a survey, which determines the possible actions; see `operations.TRANSITIONS`. A survey
#: is `closed` by an operator, or ended by its `relay`; it is `planned` if it opens later.
State = Literal["planned", "open", "deadline", "quota", "closed", "relay", "purged"]


def why_closed(
    closed_by: Closer | None, terms: Terms, now: datetime, reports: int = 0
) -> Reason | None:
    """Return the reason why a survey with this number of reports is closed; None if it is open.

    This is the only place that decides it, for collectors and relays.
    """
    if closed_by is not None:
        return closed_by
    if terms.closes_at is not None and now >= terms.closes_at:
        return "deadline"
    return "quota" if terms.max_reports is not None and reports >= terms.max_reports else None


@dataclass(frozen=True)
class StoredSurvey:
    """A survey with its status and terms; `document` is the published canonical JSON."""

    number: int
    id: str
    digest: str
    document: str
    status: Status
    signed: SignedTerms
    listed: bool
    published_at: datetime
    closed_at: datetime | None
    closed_by: Closer | None
    purged_at: datetime | None

    @property
    def terms(self) -> Terms:
        """Terms on which its reports are accepted."""
        return self.signed.terms

    @property
    def signature(self) -> Signature | None:
        """Signature of its digest and terms, if there is one."""
        return self.signed.signature

    def closed_because(self, now: datetime, reports: int) -> Reason | None:
        """Return the reason why it is closed at a moment with some reports; None if it is open."""
        return why_closed(self.closed_by, self.terms, now, reports)

    def state(self, now: datetime, reports: int) -> State:
        """Return its state at a moment with some reports."""
        if self.purged_at is not None:
            return "purged"
        why = self.closed_because(now, reports)
        if why is None:
            return "planned" if self.terms.is_early(now) else "open"
        return "closed" if why == "operator" else why

    def status_at(self, now: datetime, why: Reason | None) -> PublicStatus:
        """Return its status at a moment, given the reason why it is closed, if any."""
        if why is not None:
            return "closed"
        return "planned" if self.terms.is_early(now) else "open"

    def survey(self) -> Survey:
        """Return the parsed survey."""
        return parsed_surveys.get(self.digest, self.document)


class SurveyState(Message, frozen=True, kw_only=True):
    """State of one survey."""

    id: str
    title: str
    digest: Digest
    status: PublicStatus
    closed_because: Annotated[
        Reason | None,
        Meta(
            description="Why it is closed: by its operator, by its deadline, by its quota, or"
            " because its relay has ended."
        ),
    ]
    listed: Annotated[bool, Meta(description="Whether the list of surveys shows it.")]
    test_of: Annotated[
        str | None, Meta(description="Id of the survey that it is a test of, if it is one.")
    ]
    mechanism: str
    terms: Terms
    relay: Annotated[
        Relay | None, Meta(description="Relay to which devices send their reports, if any.")
    ]
    signed_by: Annotated[
        str | None, Meta(description="Public key of the operator who signed it, if signed.")
    ]
    reports: Annotated[int, Meta(description="Reports counted.")]
    invited: Annotated[int, Meta(description="Invitations issued.")]
    withdrawn: Annotated[int, Meta(description="Invitations withdrawn or purged.")]
    unused: Annotated[int, Meta(description="Invitations that are still valid.")]
    published_at: datetime
    closed_at: datetime | None
    purged_at: Annotated[
        datetime | None,
        Meta(description="When the ids of its reports and its unused invitations were deleted."),
    ]


class SurveyStore:
    """Reads surveys and their states; raises UnknownSurvey."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._cache: dict[str, StoredSurvey] = {}

    def get(self, id: str) -> StoredSurvey:
        """Return a survey."""
        with self._database.reading() as connection:
            stored = self._cache[id] = find(connection, id)
        return stored

    def last_read(self, id: str) -> StoredSurvey | None:
        """Return a survey from the cache of this process, without a query; None if not cached.

        It may be out of date: read the survey again before refusing a request.
        """
        return self._cache.get(id)

    def listed(self) -> list[StoredSurvey]:
        """Return the surveys that are not unlisted, sorted by id."""
        return [stored for stored in self.all() if stored.listed]

    def status(self, stored: StoredSurvey) -> PublicStatus:
        """Return whether a survey accepts reports later, now, or no more."""
        return stored.status_at(datetime.now(UTC), self.closed_because(stored))

    def closed_because(self, stored: StoredSurvey) -> Reason | None:
        """Return the reason why a survey is closed now; None if it is open or planned."""
        reports = 0
        if stored.terms.max_reports is not None:
            with self._database.reading_reports() as connection:
                reports = report_count(connection, stored.number)
        return stored.closed_because(datetime.now(UTC), reports)

    def published(self, survey: str | StoredSurvey) -> PublishedSurvey:
        """Return the public description of a survey, by id or as it was read."""
        stored = self.get(survey) if isinstance(survey, str) else survey
        why = self.closed_because(stored)
        return PublishedSurvey(
            survey=msgspec.Raw(stored.document.encode()),
            digest=stored.digest,
            status=stored.status_at(datetime.now(UTC), why),
            closed_because=why,
            terms=stored.terms,
            signature=stored.signature,
        )

    def all(self) -> list[StoredSurvey]:
        """Return all surveys, sorted by id."""
        with self._database.reading() as connection:
            rows = connection.execute(select(surveys).order_by(surveys.c.id)).all()
        return [as_stored(row) for row in rows]

    def of_series(self, id: str) -> list[StoredSurvey]:
        """Return all surveys of a series, sorted by id."""
        surveys = ((stored, stored.survey().series) for stored in self.all())
        return [stored for stored, series in surveys if series is not None and series.id == id]

    def states(self) -> list[SurveyState]:
        """Return the states of all surveys, sorted by id."""
        with self._database.reading_reports() as connection:
            rows = connection.execute(_STATES.order_by(surveys.c.id)).all()
        return [_state(row) for row in rows]

    def state(self, id: str) -> SurveyState:
        """Return the state of a survey."""
        with self._database.reading_reports() as connection:
            number = find(connection, id).number
            return _state(connection.execute(_STATES.where(surveys.c.number == number)).one())


#: Statements are built once, since building one takes as long as running it.
_FIND = select(surveys).where(surveys.c.id == bindparam("id"))
_LOCK = _FIND.with_for_update()
_SHARE = _FIND.with_for_update(read=True)


def find(
    connection: Connection, id: str, *, lock: bool = False, share: bool = False
) -> StoredSurvey:
    """Return a survey within a transaction.

    `lock` is whether to lock the survey until the transaction ends, against counting and changes;
    `share` whether to lock it against changes alone.
    Transactions that change more than one row lock the survey first, to avoid deadlocks.
    """
    # PostgreSQL raises an error for a text with this character, which no id has.
    row = None
    if "\0" not in id:
        statement = _LOCK if lock else _SHARE if share else _FIND
        row = connection.execute(statement, {"id": id}).first()
    if row is None:
        raise UnknownSurvey(f"there is no survey '{id}'", field="survey")
    return as_stored(row)


def has_reports(connection: Connection, number: int) -> bool:
    """True if a survey has reports."""
    counted = select(exists().where(cells.c.survey == number))
    return bool(connection.execute(counted).scalar())


def as_stored(row: Row[*tuple[Any, ...]]) -> StoredSurvey:
    """Return a survey from its row."""
    plain = ("number", "id", "digest", "document", "status", "closed_by")
    times = ("published_at", "closed_at", "purged_at")
    return StoredSurvey(
        **{name: getattr(row, name) for name in (*plain, *times)},
        signed=read_terms(row.terms),
        listed=not row.unlisted,
    )


_decoder = msgspec.json.Decoder(SignedTerms)


def read_terms(text: str) -> SignedTerms:
    """Return the terms and the signature of a survey from their column."""
    return _decoder.decode(text)


def write_terms(signed: SignedTerms) -> str:
    """Return the column of the terms and the signature of a survey."""
    return msgspec.json.encode(signed).decode()


def update_survey(connection: Connection, stored: StoredSurvey, **values: object) -> None:
    """Set columns of a survey."""
    connection.execute(update(surveys).where(surveys.c.number == stored.number).values(values))


def report_count(connection: Connection, number: int) -> int:
    """Return the number of a survey's reports."""
    return connection.execute(select(report_count_query(number))).scalar_one()


def report_count_query(number: int | Column[int]) -> ColumnElement[int]:
    """Return the number of a survey's reports as a scalar subquery."""
    return (
        select(func.coalesce(sum_shards(daily_outcomes.c.count), 0))
        .where(daily_outcomes.c.survey == number, daily_outcomes.c.outcome == COUNTED)
        .scalar_subquery()
    )


def describe_limits(terms: Terms) -> list[str]:
    """Describe opening, deadline, quota and shared devices in words, if the terms have them."""
    return [
        *([] if terms.opens_at is None else [f"from {terms.opens_at:%Y-%m-%d %H:%M:%S} UTC"]),
        *([] if terms.closes_at is None else [f"until {terms.closes_at:%Y-%m-%d %H:%M:%S} UTC"]),
        *([] if terms.max_reports is None else [f"at most {terms.max_reports} reports"]),
        *(["several people on a device"] if terms.shared_devices else []),
    ]


def describe_taking(state: SurveyState) -> str:
    """Describe briefly how a survey accepts reports."""
    terms, relay = state.terms, state.relay
    source = "with invitations" if terms.invitations else "from anyone"
    if relay is not None:
        source = f"from the relay {relay.url} in batches of at least {relay.batch}"
    return ", ".join(
        [
            *([] if state.test_of is None else [f"test of {state.test_of}"]),
            source,
            "sealed" if terms.sealing_key or relay else "not sealed",
            *describe_limits(terms),
            "signed" if state.signed_by else "not signed",
        ]
    )


#: The row of each survey, with the numbers of its reports and of its unused invitations.
_STATES = select(
    surveys,
    report_count_query(surveys.c.number).label("reports"),
    select(func.count())
    .where(invitations.c.survey == surveys.c.number)
    .scalar_subquery()
    .label("unused"),
)


def _state(row: Row[*tuple[Any, ...]]) -> SurveyState:
    stored = as_stored(row)
    survey, signature, terms = stored.survey(), stored.signature, stored.terms
    now = datetime.now(UTC)
    why = stored.closed_because(now, row.reports)
    return SurveyState(
        id=stored.id,
        title=survey.title_in(),
        digest=stored.digest,
        status=stored.status_at(now, why),
        closed_because=why,
        listed=stored.listed,
        test_of=survey.test_of,
        mechanism=survey.mechanism.kind,
        terms=terms,
        relay=survey.relay,
        signed_by=None if signature is None else signature.key,
        reports=row.reports,
        invited=row.invited,
        withdrawn=row.withdrawn,
        unused=row.unused,
        published_at=stored.published_at,
        closed_at=stored.closed_at,
        purged_at=stored.purged_at,
    )
