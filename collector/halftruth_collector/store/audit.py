"""The audit log: what operators did."""

from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Annotated, Any

from halftruth_shared.protocol.base import Message
from msgspec import Meta
from sqlalchemy import Connection, Select, func, select

from .database import Database, insert
from .tables import audit

#: Who acts, for the audit log. A request that has a token names it here.
ACTOR = ContextVar("actor", default="command line")

#: Name of the action after which there is a new back-up.
BACKUP = "backup"


class AuditEntry(Message, frozen=True, kw_only=True):
    """One thing that an operator did."""

    number: Annotated[int, Meta(description="In the order in which things were done.")]
    at: datetime
    actor: Annotated[str, Meta(description="Id of the token, or where the command came from.")]
    action: Annotated[str, Meta(description="Such as `survey publish`.")]
    subject: Annotated[str, Meta(description="The survey, token or key that it was done to.")]
    detail: str


class AuditLog:
    """Records what operators do, in the transaction that does it."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def record(
        self,
        connection: Connection,
        action: str,
        subject: str,
        detail: str = "",
    ) -> None:
        """Write one entry as part of a transaction."""
        row = {
            "at": datetime.now(UTC),
            "actor": ACTOR.get(),
            "action": action,
            "subject": subject,
            "detail": detail,
        }
        connection.execute(insert(connection, audit).values(row))

    def note(self, action: str, subject: str) -> None:
        """Write one entry about what was done outside of the database."""
        with self._database.writing() as connection:
            self.record(connection, action, subject)

    def last(self, action: str) -> datetime | None:
        """When something was done for the last time."""
        statement = select(func.max(audit.c.at)).where(audit.c.action == action)
        with self._database.reading() as connection:
            return connection.execute(statement).scalar()

    def all(self) -> list[AuditEntry]:
        """Every entry, the first one first."""
        return self._entries(select(audit).order_by(audit.c.number))

    def latest(self, most: int, before: int | None = None) -> list[AuditEntry]:
        """Some entries, the last one first.

        Parameters
        ----------
        most : int
            How many there are at most.
        before : int, optional
            Number of an entry that comes after all of them.
        """
        statement = select(audit).order_by(audit.c.number.desc()).limit(most)
        if before is not None:
            statement = statement.where(audit.c.number < before)
        return self._entries(statement)

    def _entries(self, statement: Select[*tuple[Any, ...]]) -> list[AuditEntry]:
        with self._database.reading() as connection:
            return [AuditEntry(**row._mapping) for row in connection.execute(statement)]
