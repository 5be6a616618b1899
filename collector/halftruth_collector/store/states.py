"""States of surveys, as operators see them."""

from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from halftruth_shared.protocol.base import Digest, Message
from halftruth_shared.protocol.terms import Terms
from msgspec import Meta
from sqlalchemy import Connection, Row, Select, func, select

from .closing import COUNTED, Reason, reason, total
from .database import Database
from .surveys import as_stored, find
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


def survey_states(database: Database, id: str | None = None) -> list[SurveyState]:
    """States of all surveys by id, or of one.

    Raises
    ------
    UnknownSurvey
    """
    chosen = select(surveys).order_by(surveys.c.id)
    counted = select(daily_outcomes.c.survey, total(daily_outcomes.c.count)).where(
        daily_outcomes.c.outcome == COUNTED
    )
    unused = select(invitations.c.survey, func.count())
    with database.reading_reports() as connection:
        if id is not None:
            number = find(connection, id).number
            chosen = chosen.where(surveys.c.number == number)
            counted = counted.where(daily_outcomes.c.survey == number)
            unused = unused.where(invitations.c.survey == number)
        rows = connection.execute(chosen).all()
        reports = _by_survey(connection, counted.group_by(daily_outcomes.c.survey))
        left = _by_survey(connection, unused.group_by(invitations.c.survey))
    return [_state(row, reports.get(row.number, 0), left.get(row.number, 0)) for row in rows]


def _by_survey(connection: Connection, numbers: Select[int, int]) -> dict[int, int]:
    return dict(connection.execute(numbers).all())


def _state(row: Row[*tuple[Any, ...]], reports: int, unused: int) -> SurveyState:
    stored = as_stored(row)
    survey, signature, terms = stored.survey(), stored.signature, stored.terms
    why = reason(stored.status, terms.closes_at, datetime.now(UTC), terms.max_reports, reports)
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
        reports=reports,
        invited=row.invited,
        withdrawn=row.withdrawn,
        unused=unused,
        published_at=stored.published_at,
        closed_at=stored.closed_at,
        purged_at=stored.purged_at,
    )
