"""The audit log: what operators did."""

from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import Connection, select

from ..store.database import Database
from ..store.tables import audit


@dataclass(frozen=True)
class AuditEntry:
    """One thing that an operator did.

    Attributes
    ----------
    at : datetime
    actor : str
        Id of the token, or where the command came from.
    action : str
        Such as ``survey publish``.
    subject : str
        The survey, token or key that it was done to.
    detail : str
    """

    at: datetime
    actor: str
    action: str
    subject: str
    detail: str


class AuditLog:
    """Writes down what operators do, in the transaction that does it.

    Parameters
    ----------
    database : Database
    actor : str
        Who acts where a call does not say.
    """

    def __init__(self, database: Database, actor: str) -> None:
        self._database = database
        self._actor = actor

    def record(
        self,
        connection: Connection,
        action: str,
        subject: str,
        detail: str = "",
        *,
        actor: str | None = None,
    ) -> None:
        """Write one entry as part of a transaction."""
        row = {
            "at": datetime.now(UTC),
            "actor": actor or self._actor,
            "action": action,
            "subject": subject,
            "detail": detail,
        }
        connection.execute(self._database.insert(audit).values(row))

    def all(self) -> list[AuditEntry]:
        """Every entry, the first one first.

        Raises
        ------
        StoreUnavailable
        """
        statement = select(audit).order_by(audit.c.number)
        rows = self._database.read(lambda connection: connection.execute(statement).all())
        return [AuditEntry(row.at, row.actor, row.action, row.subject, row.detail) for row in rows]
