"""Public keys of operators that are known to a collector."""

from datetime import UTC, datetime
from typing import Annotated

from halftruth_shared import ParameterError
from halftruth_shared.protocol.base import Message, PublicKey
from msgspec import Meta
from sqlalchemy import select, update

from ..store.audit import AuditLog
from ..store.database import Database
from ..store.tables import revoked_keys, surveys


class KnownKey(Message, frozen=True, kw_only=True):
    """Public key with the surveys that it signed, and the time of its revocation."""

    key: PublicKey
    surveys: Annotated[list[str], Meta(description="Ids of the surveys that it signs now.")]
    revoked_at: datetime | None


class KeyStore:
    """Lists and revokes operators' public keys."""

    def __init__(self, database: Database, audit: AuditLog) -> None:
        self._database = database
        self._audit = audit

    def all(self) -> list[KnownKey]:
        """Return keys that signed a survey, and revoked keys."""
        with self._database.reading() as connection:
            signed = connection.execute(
                select(surveys.c.signature_key, surveys.c.id)
                .where(surveys.c.signature_key.is_not(None))
                .order_by(surveys.c.id)
            ).all()
            revoked = {row.key: row.revoked_at for row in connection.execute(select(revoked_keys))}
        return [
            KnownKey(
                key=key,
                surveys=[row.id for row in signed if row.signature_key == key],
                revoked_at=revoked.get(key),
            )
            for key in sorted({row.signature_key for row in signed} | revoked.keys())
        ]

    def revoke(self, key: str, *, actor: str | None = None) -> list[str]:
        """Revoke a key: remove its signatures and accept no new ones.

        Returns
        -------
        list of str
            The surveys that are no longer signed.

        Raises
        ------
        ParameterError
            If it is not a public key.
        """
        if len(key) != 64 or set(key) - set("0123456789abcdef"):
            raise ParameterError("key: expected a public key of 64 hexadecimal digits", field="key")
        with self._database.writing() as connection:
            # Locked against new signatures of it.
            self._database.advisory_lock(connection)
            statement = select(surveys.c.id).where(surveys.c.signature_key == key)
            # In the order in which counting holds them, so that neither waits for the other.
            statement = statement.order_by(surveys.c.id).with_for_update()
            unsigned = sorted(connection.execute(statement).scalars())
            connection.execute(
                self._database.insert(revoked_keys)
                .values(key=key, revoked_at=datetime.now(UTC))
                .on_conflict_do_nothing()
            )
            connection.execute(
                update(surveys)
                .where(surveys.c.signature_key == key)
                .values(signature_key=None, signature=None)
            )
            self._audit.record(connection, "key revoke", key, ", ".join(unsigned), actor=actor)
        return unsigned
