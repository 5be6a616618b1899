"""Bearer tokens for analysts and operators.

A token is 256 random bits, shown once when it is created. Only its SHA-256 is stored, which is
enough since nobody can search 2²⁵⁶ tokens for one with a given hash.
"""

import hashlib
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal, cast

from sqlalchemy import select, update

from ..errors import Unauthorized, UnknownToken
from .database import Database
from .tables import tokens

Role = Literal["analyst", "operator"]


@dataclass(frozen=True)
class StoredToken:
    """What is known of a token."""

    id: str
    role: Role
    created_at: datetime
    revoked_at: datetime | None


class TokenStore:
    """Creates, checks, lists and revokes tokens."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def create(self, role: Role) -> str:
        """A new token, which is not stored and cannot be shown again."""
        token = f"ht_{secrets.token_urlsafe(32)}"
        row = {
            "id": secrets.token_hex(4),
            "hash": _hash(token),
            "role": role,
            "created_at": datetime.now(UTC),
        }
        with self._database.writing() as connection:
            connection.execute(self._database.insert(tokens).values(row))
        return token

    def role(self, token: str) -> Role:
        """The role of a token.

        Raises
        ------
        Unauthorized
            If it is not known or has been revoked.
        """
        statement = select(tokens.c.role).where(
            tokens.c.hash == _hash(token), tokens.c.revoked_at.is_(None)
        )
        with self._database.reading() as connection:
            role = connection.execute(statement).scalar()
        if role is None:
            raise Unauthorized("token: it is not known here, or has been revoked", field="token")
        return cast(Role, role)

    def all(self) -> list[StoredToken]:
        """Every token, oldest first."""
        statement = select(tokens).order_by(tokens.c.created_at, tokens.c.id)
        with self._database.reading() as connection:
            return [
                StoredToken(row.id, row.role, row.created_at, row.revoked_at)
                for row in connection.execute(statement)
            ]

    def revoke(self, id: str) -> None:
        """Make a token useless. Revoking it twice changes nothing.

        Raises
        ------
        UnknownToken
        """
        with self._database.writing() as connection:
            known = connection.execute(select(tokens.c.id).where(tokens.c.id == id)).scalar()
            if known is None:
                raise UnknownToken(
                    f"token: there is none with the id '{id}'; see token list", field="token"
                )
            connection.execute(
                update(tokens)
                .where(tokens.c.id == id, tokens.c.revoked_at.is_(None))
                .values(revoked_at=datetime.now(UTC))
            )


def _hash(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()
