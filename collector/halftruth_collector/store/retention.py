"""Retention: deleting surveys, purging ids and invitations, and destroying the order of arrival.

A report's id only serves to count no report twice, and an unused invitation to let one in. Once a
survey has ended and the last retries have arrived, both tell nothing but who took part, to whoever
has somebody's device or invitation. So they can be *purged*, while the counts stay. A survey can
also be *deleted*, with everything that there is of it but the audit log's word that it was there.

Back-ups and exports that were written before hold what they held.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Annotated

from halftruth_shared import ParameterError
from halftruth_shared.protocol.base import Message
from msgspec import Meta
from sqlalchemy import ColumnElement, Connection, Table, and_, delete, exists, or_, select, update

from .audit import AuditLog
from .database import Database
from .surveys import find, report_count, report_count_query
from .tables import (
    COUNTED,
    REPORT_TABLES,
    daily_outcomes,
    invitations,
    report_ids,
    surveys,
    tokens,
)

#: What a database that is too busy leaves to do.
_LEFT = "what was deleted may be left in files"

#: Days for which retries of reports are waited for, unless an operator says otherwise.
KEEP_DAYS = 30

#: Most days that anyone can ask for.
MOST_DAYS = 36_500


class Deleted(Message, frozen=True, kw_only=True):
    """Numbers of rows deleted with a survey, or purged from it."""

    id: Annotated[str, Meta(description="Of the survey.")]
    reports: Annotated[
        int, Meta(description="Reports that are counted no more; 0 where only ids were purged.")
    ] = 0
    ids: Annotated[int, Meta(description="Ids of reports.")]
    invitations: Annotated[int, Meta(description="Invitations that nobody had used.")]
    tokens: Annotated[int, Meta(description="Tokens that were for this survey only.")] = 0


class RetentionStore:
    """Deletes surveys, purges what is kept of those that have ended, and compacts the database."""

    def __init__(self, database: Database, audit: AuditLog) -> None:
        self._database = database
        self._audit = audit

    def delete(self, id: str, *, actor: str | None = None) -> Deleted:
        """Delete a survey with its reports, ids, counts, invitations and tokens.

        What the files of the database still hold of them is destroyed as when a survey is closed.
        Forms that are filled in meanwhile are told that there is no such survey.

        Raises
        ------
        UnknownSurvey
        """
        with self._database.writing() as connection:
            stored = find(connection, id, lock=True)
            reports = report_count(connection, stored.number)
            rows = {
                table: _delete(connection, table, stored.number)
                for table in (*REPORT_TABLES, tokens)
            }
            connection.execute(delete(surveys).where(surveys.c.number == stored.number))
            done = Deleted(
                id=id,
                reports=reports,
                ids=rows[report_ids],
                invitations=rows[invitations],
                tokens=rows[tokens],
            )
            detail = f"{stored.digest}; {_describe(done)}"
            self._audit.record(connection, "survey delete", id, detail, actor=actor)
        self._database.compact_or_warn(_LEFT)
        return done

    def purge(self, days: int, *, actor: str | None = None) -> list[Deleted]:
        """Delete ids and unused invitations of the surveys that ended so many days ago.

        A survey ends when an operator closes it, at its deadline, or when its quota is full. The
        last two are closed for good by this, since an id that is not known any more could be
        counted twice if the deadline or the quota were changed.

        A client that sends one of their reports again is told that the survey is closed, though the
        report had been counted. Their reports cannot be exported any more.

        Parameters
        ----------
        days : int
            0 for all that have ended.

        Returns
        -------
        list of Deleted
            The surveys that had not been purged before.

        Raises
        ------
        ParameterError
            If there cannot be so many days.
        """
        if not 0 <= days <= MOST_DAYS:
            raise ParameterError(f"days: expected 0 to {MOST_DAYS} days", field="days")
        now = datetime.now(UTC)
        with self._database.writing() as connection:
            # In the order in which counting holds them, so that neither waits for the other.
            chosen = connection.execute(
                select(surveys.c.id, surveys.c.number, surveys.c.status)
                .where(surveys.c.purged_at.is_(None), _ended(now, days))
                .order_by(surveys.c.id)
                .with_for_update()
            ).all()
            for row in chosen:
                if row.status == "open":
                    self._close(connection, row.id, row.number, now, actor)
            done = [self._purge(connection, row.id, row.number, now, actor) for row in chosen]
        if done:
            self._database.compact_or_warn(_LEFT)
        return done

    def compact(self) -> None:
        """Destroy the order in which reports arrived; see :meth:`.Database.compact`.

        Raises
        ------
        StoreUnavailable, SchemaOutdated
        """
        self._database.compact()
        self._audit.note("compact", "")

    def _close(
        self, connection: Connection, id: str, number: int, now: datetime, actor: str | None
    ) -> None:
        connection.execute(
            update(surveys).where(surveys.c.number == number).values(status="closed", closed_at=now)
        )
        detail = "its deadline had passed or its quota was full"
        self._audit.record(connection, "survey close", id, detail, actor=actor)

    def _purge(
        self, connection: Connection, id: str, number: int, now: datetime, actor: str | None
    ) -> Deleted:
        ids = _delete(connection, report_ids, number)
        unused = _delete(connection, invitations, number)
        connection.execute(
            update(surveys)
            .where(surveys.c.number == number)
            # They cannot be used any more, as if they had been withdrawn.
            .values(purged_at=now, withdrawn=surveys.c.withdrawn + unused)
        )
        done = Deleted(id=id, ids=ids, invitations=unused)
        self._audit.record(connection, "survey purge", id, _describe(done), actor=actor)
        return done


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


def _delete(connection: Connection, table: Table, number: int) -> int:
    return connection.execute(delete(table).where(table.c.survey == number)).rowcount


def _describe(done: Deleted) -> str:
    parts = {
        "reports": done.reports,
        "ids": done.ids,
        "unused invitations": done.invitations,
        "tokens": done.tokens,
    }
    return ", ".join(f"{count} {name}" for name, count in parts.items() if count) or "nothing"
