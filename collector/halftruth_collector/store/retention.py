"""Retention: deleting surveys, and purging the ids of reports and tickets, and unused invitations.

Ids are needed for deduplication, and unused invitations for admitting reports. Once a survey has
ended and the last retries have arrived, they only reveal who took part, to anyone with access to a
respondent's device or the list of invitations. So they can be *purged*; the counts are kept. A
survey can also be *deleted* with all its data, except the entries of the audit log.

Existing back-ups and exports are not changed.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Annotated, Any

from halftruth_shared.protocol.base import Message
from msgspec import Meta
from sqlalchemy import Connection, Row, Table, delete, func, select, update

from .surveys import StoredSurvey, as_stored, report_count, report_count_query, update_survey
from .tables import (
    COUNTED,
    REPORT_TABLES,
    daily_outcomes,
    invitations,
    report_ids,
    surveys,
    ticket_ids,
    ticket_keys,
    tokens,
)

#: Default number of days between the end of a survey and purging it, for retries of reports.
KEEP_DAYS = 30

#: Warning if files with deleted data cannot be compacted now.
DATA_LEFT = "what was deleted may be left in files"


class Deleted(Message, frozen=True, kw_only=True):
    """Numbers of rows deleted with a survey, or purged from it."""

    id: Annotated[str, Meta(description="Id of the survey.")]
    reports: Annotated[
        int, Meta(description="Number of deleted reports; 0 if only ids were purged.")
    ] = 0
    ids: Annotated[int, Meta(description="Number of deleted ids of reports.")]
    invitations: Annotated[int, Meta(description="Number of deleted unused invitations.")]
    tokens: Annotated[int, Meta(description="Number of deleted tokens of this survey.")] = 0

    @property
    def has_rows(self) -> bool:
        """True if there is any row."""
        return any((self.reports, self.ids, self.invitations, self.tokens))

    @property
    def in_words(self) -> str:
        """Description of the deleted rows, for the audit log."""
        parts = {
            "reports": self.reports,
            "ids": self.ids,
            "unused invitations": self.invitations,
            "tokens": self.tokens,
        }
        return ", ".join(f"{count} {name}" for name, count in parts.items() if count) or "nothing"


def delete_survey_rows(connection: Connection, stored: StoredSurvey) -> Deleted:
    """Delete all rows of a survey."""
    reports = report_count(connection, stored.number)
    rows = {
        table: _delete(connection, table, stored) for table in (*REPORT_TABLES, ticket_keys, tokens)
    }
    connection.execute(delete(surveys).where(surveys.c.number == stored.number))
    return Deleted(
        id=stored.id,
        reports=reports,
        ids=rows[report_ids],
        invitations=rows[invitations],
        tokens=rows[tokens],
    )


def count_purged(connection: Connection, stored: StoredSurvey) -> Deleted:
    """Count the ids and the unused invitations of a survey, which a purge would delete."""
    return Deleted(
        id=stored.id,
        ids=_count(connection, report_ids, stored),
        invitations=_count(connection, invitations, stored),
    )


def purge_rows(connection: Connection, stored: StoredSurvey) -> Deleted:
    """Delete the ids of reports and tickets, and the unused invitations, of a survey."""
    ids = _delete(connection, report_ids, stored)
    unused = _delete(connection, invitations, stored)
    spent = _delete(connection, ticket_ids, stored)
    connection.execute(
        update(ticket_keys)
        .where(ticket_keys.c.survey == stored.number)
        .values(purged=ticket_keys.c.purged + spent)
    )
    # Purged invitations cannot be used any more, so they count as withdrawn.
    update_survey(connection, stored, withdrawn=surveys.c.withdrawn + unused)
    return Deleted(id=stored.id, ids=ids, invitations=unused)


#: The row of each unpurged survey, with its reports and the last day on which one was counted.
#: Rows are locked in the same order as in counting, to avoid deadlocks.
_UNPURGED = (
    select(
        surveys,
        report_count_query(surveys.c.number).label("reports"),
        select(func.max(daily_outcomes.c.day))
        .where(daily_outcomes.c.survey == surveys.c.number, daily_outcomes.c.outcome == COUNTED)
        .scalar_subquery()
        .label("last_day"),
    )
    .where(surveys.c.purged_at.is_(None))
    .order_by(surveys.c.id)
)


def find_ended(connection: Connection, now: datetime, days: int) -> list[StoredSurvey]:
    """Lock and return the unpurged surveys that ended `days` days ago or earlier."""
    ended = [row.number for row in connection.execute(_UNPURGED) if _has_ended(row, now, days)]
    # Surveys that accept reports are not locked.
    locked = _UNPURGED.where(surveys.c.number.in_(ended)).with_for_update(of=surveys)
    return [as_stored(row) for row in connection.execute(locked) if _has_ended(row, now, days)]


def _has_ended(row: Row[*tuple[Any, ...]], now: datetime, days: int) -> bool:
    """Return whether a survey ended at least `days` days ago.

    A survey ends when it is closed, at its deadline, or when its quota is full. The time at which
    the quota was full is not stored, and a deadline can be set to a past time. So in these two
    cases the day of the last counted report must also be at least `days` days ago.
    """
    limit, stored = now - timedelta(days=days), as_stored(row)
    if stored.closed_at is not None:
        return stored.closed_at <= limit
    is_over = stored.closed_because(limit, row.reports) is not None
    return is_over and not (days and row.last_day is not None and row.last_day >= limit.date())


def _count(connection: Connection, table: Table, stored: StoredSurvey) -> int:
    statement = select(func.count()).select_from(table).where(table.c.survey == stored.number)
    return connection.execute(statement).scalar_one()


def _delete(connection: Connection, table: Table, stored: StoredSurvey) -> int:
    return connection.execute(delete(table).where(table.c.survey == stored.number)).rowcount
