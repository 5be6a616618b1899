"""Bearer tokens for operators, analysts and monitors.

A token is 256 random bits, shown once when it is created. Only its SHA-256 is stored, which is
enough since nobody can search 2²⁵⁶ tokens for one with a given hash.
"""

import hashlib
import hmac
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal, cast

from halftruth_shared import ParameterError
from sqlalchemy import Connection, Row, select, update

from ..errors import Unauthorized, UnknownToken
from ..store.database import Database
from ..store.surveys import find
from ..store.tables import surveys, tokens
from .audit import AuditLog

Role = Literal["analyst", "operator", "monitor"]


@dataclass(frozen=True)
class StoredToken:
    """What is known of a token; `survey` is the only one it is for, None for all of them."""

    id: str
    role: Role
    survey: str | None
    created_at: datetime
    revoked_at: datetime | None


_SELECT = select(
    tokens.c.id,
    tokens.c.hash,
    tokens.c.role,
    tokens.c.created_at,
    tokens.c.revoked_at,
    surveys.c.id.label("survey"),
).select_from(tokens.outerjoin(surveys, surveys.c.number == tokens.c.survey))


class TokenStore:
    """Creates, checks, lists and revokes tokens."""

    def __init__(self, database: Database, audit: AuditLog) -> None:
        self._database = database
        self._audit = audit

    def create(self, role: Role, survey: str | None = None) -> str:
        """A new token, which is not stored and cannot be shown again.

        Parameters
        ----------
        role : {"analyst", "operator", "monitor"}
        survey : str, optional
            Of an analyst: the id of the only survey that the token is for.

        Raises
        ------
        ParameterError
            If a token of another role is to be for one survey.
        UnknownSurvey, StoreUnavailable
        """
        if survey is not None and role != "analyst":
            raise ParameterError("survey: expected none, but for an analyst", field="survey")
        token = f"ht_{secrets.token_urlsafe(32)}"
        row = {
            "id": secrets.token_hex(4),
            "hash": _hash(token),
            "role": role,
            "created_at": datetime.now(UTC),
        }

        def create(connection: Connection) -> None:
            number = None if survey is None else find(connection, survey).number
            connection.execute(self._database.insert(tokens).values(survey=number, **row))
            detail = role if survey is None else f"{role} of {survey}"
            self._audit.record(connection, "token create", str(row["id"]), detail)

        self._database.write(create)
        return token

    def bearer(self, token: str) -> StoredToken:
        """What is known of a token that somebody shows.

        Raises
        ------
        Unauthorized
            If it is not known, or has been revoked.
        StoreUnavailable
        """
        # The index is searched by hash: how long that takes tells nothing of any token.
        hash_ = _hash(token)
        statement = _SELECT.where(tokens.c.hash == hash_)
        row = self._database.read(lambda connection: connection.execute(statement).first())
        if row is None or row.revoked_at or not hmac.compare_digest(row.hash, hash_):
            raise Unauthorized("token: it is not known here, or has been revoked", field="token")
        return _stored(row)

    def all(self) -> list[StoredToken]:
        """Every token, oldest first."""
        statement = _SELECT.order_by(tokens.c.created_at, tokens.c.id)
        rows = self._database.read(lambda connection: connection.execute(statement).all())
        return [_stored(row) for row in rows]

    def revoke(self, id: str) -> None:
        """Make a token useless. Revoking it twice changes nothing.

        Raises
        ------
        UnknownToken
        """

        def revoke(connection: Connection) -> None:
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
            self._audit.record(connection, "token revoke", id)

        self._database.write(revoke)


def _stored(row: Row[*tuple[Any, ...]]) -> StoredToken:
    return StoredToken(row.id, cast(Role, row.role), row.survey, row.created_at, row.revoked_at)


def _hash(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()
