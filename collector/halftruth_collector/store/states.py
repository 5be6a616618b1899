"""States of surveys, as operators see them."""

from datetime import UTC, datetime
from typing import Annotated, Literal

from halftruth_shared.protocol.base import Digest, Message
from halftruth_shared.protocol.terms import Terms
from msgspec import Meta
from sqlalchemy import Connection, func, select

from .closing import COUNTED, Reason, reason
from .counts import total
from .database import Database
from .surveys import StoredSurvey, as_stored, find
from .tables import daily_outcomes, invitations, surveys


class SurveyState(Message, frozen=True, kw_only=True):
    """State of one survey."""

    id: str
    title: str
    digest: Digest
    status: Literal["open", "closed"]
    closed_because: Annotated[
        Reason | None,
        Meta(description="Its operator closed it, or its deadline passed, or its quota is full."),
    ]
    listed: Annotated[
        bool, Meta(description="Whether everyone is told of it, or only who knows its address.")
    ]
    mechanism: str
    terms: Terms
    signed_by: Annotated[
        str | None, Meta(description="Public key of the operator who signed it, if anyone did.")
    ]
    reports: Annotated[int, Meta(description="Reports counted.")]
    invited: Annotated[int, Meta(description="Invitations issued.")]
    withdrawn: Annotated[int, Meta(description="Invitations withdrawn or purged.")]
    unused: Annotated[int, Meta(description="Invitations that are still good.")]
    published_at: datetime
    closed_at: datetime | None
    purged_at: Annotated[
        datetime | None,
        Meta(description="When the ids of its reports and its unused invitations were deleted."),
    ]


def survey_states(database: Database) -> list[SurveyState]:
    """States of all surveys, by id.

    Raises
    ------
    StoreUnavailable
    """

    def read(connection: Connection) -> list[SurveyState]:
        rows = connection.execute(select(surveys).order_by(surveys.c.id)).all()
        reports, unused = _numbers(connection)
        return [_state(as_stored(row), row.invited, row.withdrawn, reports, unused) for row in rows]

    return database.read_reports(read)


def survey_state(database: Database, id: str) -> SurveyState:
    """State of one survey.

    Raises
    ------
    UnknownSurvey, StoreUnavailable
    """

    def read(connection: Connection) -> SurveyState:
        stored = find(connection, id)
        row = connection.execute(
            select(surveys.c.invited, surveys.c.withdrawn).where(surveys.c.number == stored.number)
        ).one()
        reports, unused = _numbers(connection, stored.number)
        return _state(stored, row.invited, row.withdrawn, reports, unused)

    return database.read_reports(read)


def _numbers(
    connection: Connection, number: int | None = None
) -> tuple[dict[int, int], dict[int, int]]:
    """Reports and unused invitations by number of a survey, of one or of all of them."""
    counted = select(daily_outcomes.c.survey, total(daily_outcomes.c.count)).where(
        daily_outcomes.c.outcome == COUNTED
    )
    unused = select(invitations.c.survey, func.count())
    if number is not None:
        counted = counted.where(daily_outcomes.c.survey == number)
        unused = unused.where(invitations.c.survey == number)
    found = [
        {row[0]: row[1] for row in connection.execute(statement)}
        for statement in (
            counted.group_by(daily_outcomes.c.survey),
            unused.group_by(invitations.c.survey),
        )
    ]
    return found[0], found[1]


def _state(
    stored: StoredSurvey,
    invited: int,
    withdrawn: int,
    reports: dict[int, int],
    unused: dict[int, int],
) -> SurveyState:
    survey, signature, terms = stored.survey(), stored.signature, stored.terms
    have, now = reports.get(stored.number, 0), datetime.now(UTC)
    why = reason(stored.status, terms.closes_at, now, terms.max_reports, have)
    return SurveyState(
        id=stored.id,
        title=survey.title_in(),
        digest=stored.digest,
        status="open" if why is None else "closed",
        closed_because=why,
        listed=stored.listed,
        mechanism=survey.mechanism.kind,
        terms=terms,
        signed_by=None if signature is None else signature.key,
        reports=have,
        invited=invited,
        withdrawn=withdrawn,
        unused=unused.get(stored.number, 0),
        published_at=stored.published_at,
        closed_at=stored.closed_at,
        purged_at=stored.purged_at,
    )
