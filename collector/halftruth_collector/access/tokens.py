"""Bearer tokens for operators, analysts and monitors.

A token is 256 random bits, shown once when it is created. Only its SHA-256 is stored, which is
enough since a search among 2²⁵⁶ tokens for one with a given hash is infeasible.
"""

import hashlib
import hmac
import secrets
from datetime import UTC, date, datetime, time, timedelta
from typing import Annotated, Any, Literal

from halftruth_shared import ParameterError
from halftruth_shared.protocol.base import Message
from msgspec import Meta
from sqlalchemy import Row, select, update

from ..errors import Unauthorized, UnknownToken
from ..store.audit import AuditLog
from ..store.database import Database
from ..store.surveys import find
from ..store.tables import surveys, tokens

Role = Literal["analyst", "operator", "monitor"]


#: Most characters of a token's name.
_NAME = 100

#: Longest validity of a token that expires.
_LONGEST = timedelta(days=3653)


class StoredToken(Message, frozen=True, kw_only=True):
    """A token, without its secret."""

    id: str
    role: Role
    survey: Annotated[
        str | None, Meta(description="The only one that it is for; null for all of them.")
    ]
    created_at: datetime
    revoked_at: datetime | None
    name: Annotated[str | None, Meta(description="For people: whose it is, or what it is for.")]
    expires_at: Annotated[
        datetime | None, Meta(description="When it becomes useless by itself, if ever.")
    ]

    def state(self, now: datetime) -> str:
        """Return "good", "expired" or "revoked"."""
        if self.revoked_at is not None:
            return "revoked"
        return "expired" if self.expires_at is not None and self.expires_at <= now else "good"


_SELECT = select(
    tokens.c.id,
    tokens.c.hash,
    tokens.c.role,
    tokens.c.created_at,
    tokens.c.revoked_at,
    tokens.c.name,
    tokens.c.expires_at,
    surveys.c.id.label("survey"),
).select_from(tokens.outerjoin(surveys, surveys.c.number == tokens.c.survey))


class TokenStore:
    """Creates, checks, lists and revokes tokens."""

    def __init__(self, database: Database, audit: AuditLog) -> None:
        self._database = database
        self._audit = audit

    def create(
        self,
        role: Role,
        survey: str | None = None,
        *,
        name: str | None = None,
        last_day: date | None = None,
        actor: str | None = None,
    ) -> str:
        """Create a token, which is not stored and cannot be shown again.

        Parameters
        ----------
        role : {"analyst", "operator", "monitor"}
        survey : str, optional
            Of an analyst: the id of the only survey that the token is for.
        name : str, optional
            For people: whose it is, or what it is for.
        last_day : date, optional
            The last day (UTC) on which it is good; by default it is until it is revoked.
        actor : str, optional

        Raises
        ------
        ParameterError
            If a token of another role is to be for one survey, the name is no line of up to 100
            characters, or the day is over or more than ten years away.
        UnknownSurvey
        """
        if survey is not None and role != "analyst":
            raise ParameterError("survey: expected none, but for an analyst", field="survey")
        if name is not None and not (0 < len(name) <= _NAME and name.isprintable()):
            raise ParameterError(f"name: expected a line of up to {_NAME} characters", field="name")
        now = datetime.now(UTC)
        token = f"ht_{secrets.token_urlsafe(32)}"
        row = {
            "id": secrets.token_hex(4),
            "hash": _hash(token),
            "role": role,
            "created_at": now,
            "name": name,
            "expires_at": None if last_day is None else _end(last_day, now.date()),
        }
        details = role if survey is None else f"{role} of {survey}"
        details += "" if name is None else f"; {name}"
        details += "" if last_day is None else f"; until {last_day}"
        with self._database.writing() as connection:
            # Locked against deletion of its survey.
            number = None if survey is None else find(connection, survey, lock=True).number
            connection.execute(self._database.insert(tokens).values(survey=number, **row))
            self._audit.record(connection, "token create", str(row["id"]), details, actor=actor)
        return token

    def bearer(self, token: str) -> StoredToken:
        """Look up a token that somebody shows.

        Raises
        ------
        Unauthorized
            If it is unknown, revoked or expired.
        """
        # The index is searched by hash: the time that this takes reveals no token.
        hash_ = _hash(token)
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

    def revoke(self, id: str, *, actor: str | None = None) -> None:
        """Revoke a token. Revoking it twice changes nothing.

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
            self._audit.record(connection, "token revoke", id, actor=actor)


def _stored(row: Row[*tuple[Any, ...]]) -> StoredToken:
    known = dict(row._mapping)
    del known["hash"]
    return StoredToken(**known)


def _end(last_day: date, today: date) -> datetime:
    """Return the end of a day, as a time."""
    if not today <= last_day <= today + _LONGEST:
        raise ParameterError(
            f"expires: expected a day from {today} to {today + _LONGEST}", field="expires"
        )
    return datetime.combine(last_day + timedelta(days=1), time(), UTC)


def _hash(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()
