"""Retention: deleting surveys, purging ids and invitations, and destroying the order of arrival.

A report's id only serves to count no report twice, and an unused invitation to let one in. Once a
survey has ended and the last retries have arrived, both tell nothing but who took part, to whoever
has somebody's device or invitation. So they can be *purged*, while the counts stay. A survey can
also be *deleted*, with everything that there is of it but the audit log's word that it was there.

Back-ups and exports that were written before hold what they held.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Annotated

from halftruth_shared.protocol.base import Message
from msgspec import Meta
from sqlalchemy import ColumnElement, Connection, Table, and_, delete, exists, or_, select

from .surveys import State, StoredSurvey, as_stored, report_count, report_count_query, update_survey
from .tables import COUNTED, REPORT_TABLES, daily_outcomes, invitations, report_ids, surveys, tokens

#: Days for which retries of reports are waited for, unless an operator says otherwise.
KEEP_DAYS = 30


class Deleted(Message, frozen=True, kw_only=True):
    """Numbers of rows deleted with a survey, or purged from it."""

    id: Annotated[str, Meta(description="Of the survey.")]
    reports: Annotated[
        int, Meta(description="Reports that are counted no more; 0 where only ids were purged.")
    ] = 0
    ids: Annotated[int, Meta(description="Ids of reports.")]
    invitations: Annotated[int, Meta(description="Invitations that nobody had used.")]
    tokens: Annotated[int, Meta(description="Tokens that were for this survey only.")] = 0

    @property
    def in_words(self) -> str:
        """What was deleted, for the audit log."""
        parts = {
            "reports": self.reports,
            "ids": self.ids,
            "unused invitations": self.invitations,
            "tokens": self.tokens,
        }
        return ", ".join(f"{count} {name}" for name, count in parts.items() if count) or "nothing"


def delete_survey_rows(connection: Connection, stored: StoredSurvey) -> Deleted:
    """Delete every row of a survey."""
    reports = report_count(connection, stored.number)
    rows = {table: _delete(connection, table, stored) for table in (*REPORT_TABLES, tokens)}
    connection.execute(delete(surveys).where(surveys.c.number == stored.number))
    return Deleted(
        id=stored.id,
        reports=reports,
        ids=rows[report_ids],
        invitations=rows[invitations],
        tokens=rows[tokens],
    )


def purge_rows(connection: Connection, stored: StoredSurvey) -> Deleted:
    """Delete the ids and the unused invitations of a survey."""
    ids = _delete(connection, report_ids, stored)
    unused = _delete(connection, invitations, stored)
    # They cannot be used any more, as if they had been withdrawn.
    update_survey(connection, stored, withdrawn=surveys.c.withdrawn + unused)
    return Deleted(id=stored.id, ids=ids, invitations=unused)


def find_ended(
    connection: Connection, now: datetime, days: int
) -> list[tuple[StoredSurvey, State]]:
    """Lock the surveys that ended so many days ago and are not purged, and return their states."""
    rows = connection.execute(
        select(surveys)
        .where(surveys.c.purged_at.is_(None), _ended(now, days))
        # In the order in which counting holds them, so that neither waits for the other.
        .order_by(surveys.c.id)
        .with_for_update()
    ).all()
    found: list[tuple[StoredSurvey, State]] = []
    for stored in map(as_stored, rows):
        closes_at = stored.terms.closes_at
        is_past = closes_at is not None and closes_at <= now
        by_terms: State = "deadline" if is_past else "quota"
        found.append((stored, by_terms if stored.state == "open" else stored.state))
    return found


def _ended(now: datetime, days: int) -> ColumnElement[bool]:
    """Surveys that ended so many days ago: closed, past their deadline, or full.

    The moment at which a quota was full is not stored, and a deadline can be set to a moment that
    has passed. So the last day on which a report was counted has to be long enough ago, too.
    """
    limit = now - timedelta(days=days)
    counted_since = exists().where(
        daily_outcomes.c.survey == surveys.c.number,
        daily_outcomes.c.outcome == COUNTED,
        daily_outcomes.c.day >= limit.date(),
    )
    passed = surveys.c.closes_at <= limit
    full = surveys.c.max_reports <= report_count_query(surveys.c.number)
    is_over: ColumnElement[bool] = or_(passed, full)
    if days:
        is_over = and_(is_over, ~counted_since)
    return or_(
        and_(surveys.c.status == "closed", surveys.c.closed_at <= limit),
        and_(surveys.c.status == "open", is_over),
    )


def _delete(connection: Connection, table: Table, stored: StoredSurvey) -> int:
    return connection.execute(delete(table).where(table.c.survey == stored.number)).rowcount
