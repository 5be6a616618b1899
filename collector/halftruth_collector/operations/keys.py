"""Public keys of operators, and keys of sealed reports."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

from halftruth_shared import ParameterError
from halftruth_shared.protocol.base import Message, PublicKey
from halftruth_shared.protocol.terms import SignedTerms
from msgspec import Meta

from ..collector_store import Store
from ..confirmation import require
from ..store.database import advisory_lock, insert
from ..store.keys import KnownKey, find_signed
from ..store.surveys import find, update_survey, write_terms
from ..store.tables import revoked_keys
from .base import KEY, Call, Command, Table, action, number


class KeyList(Message, frozen=True, kw_only=True):
    """Public keys of operators that signed a survey or were revoked."""

    keys: list[KnownKey]


class Unsigned(Message, frozen=True, kw_only=True):
    """Result of revoking a key."""

    surveys: Annotated[list[str], Meta(description="Surveys that have lost their signature.")]


class SealingKeyList(Message, frozen=True, kw_only=True):
    """Public keys for sealed reports, newest first."""

    keys: list[PublicKey]


@action(
    call=Call("GET", "/v1/keys", KeyList),
    command=Command(
        "admin key list",
        Table(
            ("public key", "surveys", "revoked"),
            lambda done: done.result.keys,
            lambda each: (
                each.key,
                ", ".join(each.surveys),
                f"{each.revoked_at:%Y-%m-%d %H:%M}" if each.revoked_at else "no",
            ),
        ),
    ),
    undone="it reads",
)
def list_keys(store: Store) -> KeyList:
    """List the public keys of operators.

    These are the keys that signed a survey here or were revoked.
    """
    return KeyList(keys=store.keys.all())


@action(
    "key revoke",
    about=KEY,
    call=Call(
        "POST",
        "/v1/keys/<key>/revoke",
        Unsigned,
        answered=lambda store, key, unsigned: Unsigned(surveys=unsigned),
    ),
    command=Command(
        "admin key revoke",
        lambda done: (
            f"revoked {done.subject}",
            *(f"{id} is not signed any more" for id in done.result),
        ),
    ),
)
def revoke_key(store: Store, key: str, *, confirm: str | None = None) -> list[str]:
    """Revoke a public key of an operator.

    Its signatures are not served any more, and new ones are refused. Clients that pin it refuse its
    surveys until these are signed by another pinned key. Clients are not informed about the
    revocation, so remove the key from their pins, too. It has to be confirmed.

    Returns
    -------
    list of str
        Ids of the surveys that are no longer signed.
    """
    if len(key) != 64 or set(key) - set("0123456789abcdef"):
        raise ParameterError("key: expected a public key of 64 hexadecimal digits", field="key")
    with store.database.writing() as connection:
        # Prevent new signatures by the key until the commit.
        advisory_lock(connection)
        unsigned = [id for id, by in find_signed(connection).items() if by == key]
        signed = f"{number(len(unsigned), 'survey')} would lose its own"
        reason = f"its signatures would never be accepted again, and {signed}"
        require(confirm, key, reason=reason, done="revoked")
        connection.execute(
            insert(connection, revoked_keys)
            .values(key=key, revoked_at=datetime.now(UTC))
            .on_conflict_do_nothing()
        )
        # Surveys are locked in the same order as in counting, to avoid deadlocks.
        for id in unsigned:
            stored = find(connection, id, lock=True)
            update_survey(connection, stored, terms=write_terms(SignedTerms(terms=stored.terms)))
        revoke_key.log(store, connection, key, ", ".join(unsigned))
    return unsigned


def _sealing_keys(store: Store, *_: object) -> SealingKeyList:
    return SealingKeyList(keys=list(store.sealing_keys() if store.sealing_keys else ()))


def _file(store: Store) -> Path:
    if store.sealing_file is None:
        raise ParameterError(
            "sealing_keys: this collector has no file for them; an operator creates one with"
            " 'halftruth admin sealing-key create' and names it in HALFTRUTH_SEALING_KEYS",
            field="sealing_keys",
        )
    return store.sealing_file


@action(call=Call("GET", "/v1/sealing-keys", SealingKeyList), undone="it reads")
def list_sealing_keys(store: Store) -> SealingKeyList:
    """List the sealing keys in the file of this collector."""
    return _sealing_keys(store)


@action(
    "sealing-key create",
    call=Call("POST", "/v1/sealing-keys", SealingKeyList, answered=_sealing_keys, status=201),
    undone="the key can be retired",
)
def create_sealing_key(store: Store, file: Path | None = None) -> str:
    """Create a sealing key.

    It is added to the file of this collector. Surveys use it after their terms name it.

    Parameters
    ----------
    store : Store
    file : Path, optional
        Another file than that of the collector.

    Returns
    -------
    str
        The public key.
    """
    # Imported here and below: only collectors with sealed surveys import cryptography.
    from halftruth_shared.protocol.sealing import create_sealing_key as create

    public = create(file or _file(store))
    store.audit.note(create_sealing_key.name, public)
    return public


@action(
    "sealing-key retire",
    about=KEY,
    call=Call("POST", "/v1/sealing-keys/<key>/retire", SealingKeyList, answered=_sealing_keys),
    command=Command("admin sealing-key retire"),
)
def retire_sealing_key(
    store: Store, key: str, file: Path | None = None, *, confirm: str | None = None
) -> None:
    """Retire a sealing key.

    It is removed from the file, and reports sealed to it can never be opened again. So first
    publish terms with another key, and wait until the reports under way have arrived. It is refused
    while the key is used by a survey that is open, or that can be reopened because it has no
    reports. It has to be confirmed.

    Parameters
    ----------
    store : Store
    key : str
    file : Path, optional
        Another file than that of the collector.
    confirm : str, optional
    """
    from halftruth_shared.protocol.sealing import retire_sealing_key as retire

    file = file or _file(store)
    for state in store.surveys.states():
        has_ended = state.closed_at is not None and state.reports > 0
        used = state.terms.sealing_key
        if (relay := store.surveys.get(state.id).survey().relay) is not None:
            # A relay also passes on reports after the survey was closed.
            used, has_ended = relay.sealing_key, state.purged_at is not None
        if used == key and not has_ended:
            raise ParameterError(
                f"key: the reports of '{state.id}' are sealed to it; expected one that no survey"
                " uses which is open or has no report yet",
                field="key",
            )
    reason = "reports that are sealed to it could never be opened again"
    require(confirm, key, reason=reason, done="retired")
    retire(file, key)
    store.audit.note(retire_sealing_key.name, key)
