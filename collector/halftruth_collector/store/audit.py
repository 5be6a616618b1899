"""The audit log: all actions of operators."""

from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Annotated, Any

from halftruth_shared.protocol.base import Message
from msgspec import Meta
from sqlalchemy import Connection, Select, func, insert, select

from .database import Database
from .tables import audit

#: Actor for the audit log: the id of the request's token, or the command line.
ACTOR = ContextVar("actor", default="command line")

#: Name of the action that writes a back-up.
BACKUP = "backup"


class AuditEntry(Message, frozen=True, kw_only=True):
    """One action of an operator."""

    number: Annotated[int, Meta(description="Number of the entry, in the order of the actions.")]
    at: datetime
    actor: Annotated[str, Meta(description="Id of the token, or `command line`.")]
    action: Annotated[str, Meta(description="Action, such as `survey publish`.")]
    subject: Annotated[str, Meta(description="Survey, token or key that the action changed.")]
    detail: str


class AuditLog:
    """Records the actions of operators in the transaction that performs them."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def record(self, connection: Connection, action: str, subject: str, detail: str = "") -> None:
        """Write one entry as part of a transaction."""
        entry = {"action": action, "subject": subject, "detail": detail}
        connection.execute(insert(audit).values(at=datetime.now(UTC), actor=ACTOR.get(), **entry))

    def note(self, action: str, subject: str) -> None:
        """Write an entry about an action outside the database, in a separate transaction."""
        with self._database.writing() as connection:
            self.record(connection, action, subject)

    def last(self, action: str) -> datetime | None:
        """Return the time of the last action of this name."""
        statement = select(func.max(audit.c.at)).where(audit.c.action == action)
        with self._database.reading() as connection:
            return connection.execute(statement).scalar()

    def all(self) -> list[AuditEntry]:
        """Return all entries, oldest first."""
        return self._entries(select(audit).order_by(audit.c.number))

    def latest(self, most: int, before: int | None = None) -> list[AuditEntry]:
        """Return the latest entries, newest first, or those with a number below `before`."""
        statement = select(audit).order_by(audit.c.number.desc()).limit(most)
        if before is not None:
            statement = statement.where(audit.c.number < before)
        return self._entries(statement)

    def _entries(self, statement: Select[*tuple[Any, ...]]) -> list[AuditEntry]:
        with self._database.reading() as connection:
            return [AuditEntry(**row._mapping) for row in connection.execute(statement)]
