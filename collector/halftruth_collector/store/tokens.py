"""Bearer tokens for operators, analysts, monitors and relays.

A token is 256 random bits, shown once when it is created. Only its SHA-256 is stored, which is
enough since a search among 2²⁵⁶ tokens for one with a given hash is infeasible.
"""

import hashlib
import hmac
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from halftruth_shared.protocol.base import Message
from msgspec import Meta
from sqlalchemy import Row, select

from ..errors import Unauthorized
from .database import Database
from .tables import surveys, tokens

Role = Literal["analyst", "operator", "monitor", "relay"]


class StoredToken(Message, frozen=True, kw_only=True):
    """A token, without its secret."""

    id: str
    role: Role
    survey: Annotated[
        str | None, Meta(description="The only survey that it is valid for; null for all surveys.")
    ]
    created_at: datetime
    revoked_at: datetime | None
    name: Annotated[str | None, Meta(description="Owner or purpose.")]
    expires_at: Annotated[
        datetime | None, Meta(description="Time at which it expires, if it does.")
    ]

    def state(self, now: datetime) -> str:
        """Return "good", "expired" or "revoked"."""
        if self.revoked_at is not None:
            return "revoked"
        return "expired" if self.expires_at is not None and self.expires_at <= now else "good"


_SELECT = select(
    *(column for column in tokens.c if column is not tokens.c.survey),
    surveys.c.id.label("survey"),
).select_from(tokens.outerjoin(surveys))


class TokenStore:
    """Looks tokens up."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def bearer(self, token: str) -> StoredToken:
        """Look up the bearer token of a request.

        Raises
        ------
        Unauthorized
            If it is unknown, revoked or expired.
        """
        # The index is searched by hash: the time that this takes reveals no token.
        hash_ = hash_token(token)
        with self._database.reading() as connection:
            row = connection.execute(_SELECT.where(tokens.c.hash == hash_)).first()
        if row is None or row.revoked_at or not hmac.compare_digest(row.hash, hash_):
            raise Unauthorized("token: it is not known here, or has been revoked", field="token")
        stored = _stored(row)
        if stored.state(datetime.now(UTC)) == "expired":
            raise Unauthorized(
                f"token: it expired on {stored.expires_at:%Y-%m-%d}; an operator can make another",
                field="token",
            )
        return stored

    def all(self) -> list[StoredToken]:
        """Return all tokens, oldest first."""
        statement = _SELECT.order_by(tokens.c.created_at, tokens.c.id)
        with self._database.reading() as connection:
            return [_stored(row) for row in connection.execute(statement)]


def _stored(row: Row[*tuple[Any, ...]]) -> StoredToken:
    return StoredToken(**{name: getattr(row, name) for name in StoredToken.__struct_fields__})


def hash_token(token: str) -> bytes:
    """Return the SHA-256 of a token, which is stored instead of the token."""
    return hashlib.sha256(token.encode()).digest()
