"""Calls of operators about tokens, keys and the audit log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flask import g
from halftruth_shared import ParameterError

from ...errors import UnknownSurvey
from ..calls import OPERATORS
from ..context import collector
from ..messages import (
    AuditLogPage,
    AuditQuery,
    KeyList,
    NewToken,
    SealingKeyList,
    TokenList,
    TokenRequest,
    Unsigned,
)

if TYPE_CHECKING:
    # Only a collector with sealed surveys needs the cryptography.
    from ...access.sealing_keys import SealingKeyFile


@OPERATORS.call("GET", "/v1/tokens", answer=TokenList)
def list_tokens() -> TokenList:
    """List tokens."""
    return TokenList(tokens=collector().store.tokens.all())


@OPERATORS.call(
    "POST",
    "/v1/tokens",
    body=TokenRequest,
    answer=NewToken,
    status=201,
    errors=(UnknownSurvey,),
)
def create_token(new: TokenRequest) -> NewToken:
    """Make a token."""
    tokens = collector().store.tokens
    token = tokens.create(new.role, new.survey, name=new.name, last_day=new.expires, actor=g.actor)
    return NewToken(token=token, known=tokens.bearer(token))


@OPERATORS.call("POST", "/v1/tokens/<token_id>/revoke", answer=TokenList)
def revoke_token(token_id: str) -> TokenList:
    """Revoke a token.

    Revoking it again changes nothing.
    """
    tokens = collector().store.tokens
    tokens.revoke(token_id, actor=g.actor)
    return TokenList(tokens=tokens.all())


@OPERATORS.call("GET", "/v1/keys", answer=KeyList)
def list_keys() -> KeyList:
    """List operators' public keys."""
    return KeyList(keys=collector().store.keys.all())


@OPERATORS.call("POST", "/v1/keys/<key>/revoke", answer=Unsigned)
def revoke_key(key: str) -> Unsigned:
    """Revoke an operator's public key.

    Its signatures are served no more, and no new one is taken.
    """
    return Unsigned(surveys=collector().store.keys.revoke(key, actor=g.actor))


@OPERATORS.call("GET", "/v1/sealing-keys", answer=SealingKeyList)
def list_sealing_keys() -> SealingKeyList:
    """List sealing keys.

    Those of the file of this collector.
    """
    file = collector().key_file
    return SealingKeyList(keys=[] if file is None else list(file.keys.public))


@OPERATORS.call("POST", "/v1/sealing-keys", answer=SealingKeyList, status=201)
def create_sealing_key() -> SealingKeyList:
    """Create a sealing key.

    It is put into the file of this collector; surveys are sealed to it once their terms say so.
    """
    from halftruth_shared.protocol.sealing import create_sealing_key as create

    public = create(_key_file().path)
    collector().store.audit.note("sealing-key create", public, actor=g.actor)
    return list_sealing_keys()


@OPERATORS.call("POST", "/v1/sealing-keys/<key>/retire", answer=SealingKeyList)
def retire_sealing_key(key: str) -> SealingKeyList:
    """Retire a sealing key.

    It is taken out of the file, and what is sealed to it can never be opened again. Refused as long
    as a survey is sealed to it that is open, or can be reopened since it has no report.
    """
    from halftruth_shared.protocol.sealing import retire_sealing_key as retire

    from ...access.sealing_keys import check_unused

    path, store = _key_file().path, collector().store
    check_unused(key, store.surveys.states())
    retire(path, key)
    store.audit.note("sealing-key retire", key, actor=g.actor)
    return list_sealing_keys()


@OPERATORS.call("GET", "/v1/audit-log", query=AuditQuery, answer=AuditLogPage)
def get_audit_log(asked: AuditQuery) -> AuditLogPage:
    """Read the audit log.

    What operators did, the last thing first.
    """
    return AuditLogPage(entries=collector().store.audit.latest(asked.most, asked.before))


def _key_file() -> SealingKeyFile:
    file = collector().key_file
    if file is None:
        raise ParameterError(
            "sealing_keys: this collector has no file for them; an operator creates one with"
            " 'halftruth admin sealing-key create' and names it in HALFTRUTH_SEALING_KEYS",
            field="sealing_keys",
        )
    return file
