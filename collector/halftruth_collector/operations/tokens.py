"""Tokens of operators, analysts, monitors and relays."""

from __future__ import annotations

import secrets
from datetime import UTC, date, datetime, time, timedelta
from typing import Annotated

from halftruth_shared import ParameterError
from halftruth_shared.protocol.base import Message, Request
from msgspec import Meta
from sqlalchemy import func, update

from ..collector_store import Store
from ..errors import UnknownSurvey, UnknownToken
from ..store.database import insert
from ..store.surveys import find
from ..store.tables import tokens
from ..store.tokens import Role, StoredToken, hash_token
from .base import TOKEN, Call, Command, Table, action

#: Largest length of a token's name.
_NAME = 100

#: Longest validity of a token that expires.
_LONGEST = timedelta(days=3653)


class TokenRequest(Request, frozen=True, kw_only=True):
    """A new token."""

    role: Annotated[Role, Meta(description="Role of the token.")]
    survey: (
        Annotated[
            str,
            Meta(
                description="Restrict a relay or an analyst to this survey.",
                extra={"written": "id"},
            ),
        ]
        | None
    ) = None
    name: (
        Annotated[
            str,
            Meta(
                min_length=1,
                max_length=_NAME,
                description="Owner or purpose of the token.",
                extra={"written": "text"},
            ),
        ]
        | None
    ) = None
    expires: (
        Annotated[
            date,
            Meta(
                description="Last day of validity (UTC); unlimited by default.",
                extra={"written": "date"},
            ),
        ]
        | None
    ) = None


class NewToken(Message, frozen=True, kw_only=True):
    """A new token, which is not stored and cannot be shown again."""

    token: str
    known: StoredToken


class TokenList(Message, frozen=True, kw_only=True):
    """All tokens, oldest first; the tokens themselves are not stored."""

    tokens: list[StoredToken]


def _listed(store: Store, *_: object) -> TokenList:
    return TokenList(tokens=store.tokens.all())


@action(
    call=Call("GET", "/v1/tokens", TokenList),
    command=Command(
        "admin token list",
        Table(
            ("id", "name", "role", "survey", "created", "expires", "revoked"),
            lambda done: done.result.tokens,
            lambda token: (
                token.id,
                token.name or "",
                token.role,
                token.survey or ("all" if token.role == "analyst" else ""),
                f"{token.created_at:%Y-%m-%d %H:%M}",
                f"{token.expires_at:%Y-%m-%d %H:%M}" if token.expires_at else "never",
                f"{token.revoked_at:%Y-%m-%d %H:%M}" if token.revoked_at else "no",
            ),
        ),
    ),
    undone="it reads",
)
def list_tokens(store: Store) -> TokenList:
    """List tokens.

    They are listed by id; the tokens themselves are not stored.
    """
    return _listed(store)


@action(
    "token create",
    arguments=TokenRequest,
    call=Call(
        "POST",
        "/v1/tokens",
        NewToken,
        answered=lambda store, _, token: NewToken(token=token, known=store.tokens.bearer(token)),
        status=201,
        errors=(UnknownSurvey,),
    ),
    command=Command("admin token create", "{result}", secret="a token"),  # noqa: S106
    undone="the token can be revoked",
)
def create_token(
    store: Store,
    role: Role,
    survey: str | None = None,
    *,
    name: str | None = None,
    expires: date | None = None,
) -> str:
    """Create a token.

    An operator may do everything, an analyst reads results, a monitor reads metrics, a relay passes
    on the reports of its survey. The token is not stored and cannot be shown again.

    Parameters
    ----------
    store : Store
    role : str
    survey : str, optional
        Id of the only survey that the token is valid for: required for a relay, optional for an
        analyst.
    name : str, optional
        Owner or purpose.
    expires : date, optional
        Last day (UTC) of validity; by default it is valid until it is revoked.
    """
    if survey is not None and role not in ("analyst", "relay"):
        raise ParameterError("survey: expected none, but for an analyst or a relay", field="survey")
    if role == "relay" and (survey is None or store.surveys.get(survey).survey().relay is None):
        raise ParameterError(
            "survey: expected the id of a survey that has a relay, which alone the token is for",
            field="survey",
        )
    if name is not None and not (0 < len(name) <= _NAME and name.isprintable()):
        raise ParameterError(f"name: expected a line of up to {_NAME} characters", field="name")
    now = datetime.now(UTC)
    last = now.date() + _LONGEST
    if expires is not None and not now.date() <= expires <= last:
        raise ParameterError(
            f"expires: expected a day from {now.date()} to {last}", field="expires"
        )
    token, id = f"ht_{secrets.token_urlsafe(32)}", secrets.token_hex(4)
    detail = role if survey is None else f"{role} of {survey}"
    detail += "" if name is None else f"; {name}"
    detail += "" if expires is None else f"; until {expires}"
    with store.database.writing() as connection:
        values = {
            "id": id,
            "hash": hash_token(token),
            "role": role,
            # Lock the survey against deletion.
            "survey": None if survey is None else find(connection, survey, lock=True).number,
            "created_at": now,
            "name": name,
            "expires_at": expires and datetime.combine(expires + timedelta(days=1), time(), UTC),
        }
        connection.execute(insert(connection, tokens).values(values))
        create_token.log(store, connection, id, detail)
    return token


@action(
    "token revoke",
    about=TOKEN,
    call=Call("POST", "/v1/tokens/<token_id>/revoke", TokenList, answered=_listed),
    command=Command("admin token revoke", "revoked {subject}"),
    undone="a new token with the same role takes its place",
)
def revoke_token(store: Store, id: str) -> None:
    """Revoke a token.

    Revoking it again changes nothing.
    """
    with store.database.writing() as connection:
        first = func.coalesce(tokens.c.revoked_at, datetime.now(UTC))
        revoked = update(tokens).where(tokens.c.id == id).values(revoked_at=first)
        if not connection.execute(revoked).rowcount:
            raise UnknownToken(
                f"token: there is none with the id '{id}'; see token list", field="token"
            )
        revoke_token.log(store, connection, id)
