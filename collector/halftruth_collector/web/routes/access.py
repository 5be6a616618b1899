"""What operators may do with tokens and keys over HTTP, and what they did."""

from flask import Blueprint, Response, g

from .. import operating, parameters
from ..context import answer, collector, require
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

blueprint = Blueprint("access", __name__, url_prefix="/v1")


@blueprint.before_request
def only_operators() -> None:
    """Every call needs an operator's token."""
    g.actor = f"token {require('operator').id}"


@blueprint.get("/tokens")
def list_tokens() -> Response:
    """What is known of each token."""
    parameters.none()
    return answer(TokenList(tokens=collector().store.tokens.all()))


@blueprint.post("/tokens")
def create_token() -> Response:
    """Make a token, which is shown once."""
    parameters.none()
    new = parameters.body(TokenRequest)
    tokens = collector().store.tokens
    token = tokens.create(new.role, new.survey, name=new.name, last_day=new.expires, actor=g.actor)
    return answer(NewToken(token=token, known=tokens.bearer(token)), 201)


@blueprint.post("/tokens/<token_id>/revoke")
def revoke_token(token_id: str) -> Response:
    """Make a token useless."""
    parameters.none()
    tokens = collector().store.tokens
    tokens.revoke(token_id, actor=g.actor)
    return answer(TokenList(tokens=tokens.all()))


@blueprint.get("/keys")
def list_keys() -> Response:
    """Public keys that signed a survey or were revoked."""
    parameters.none()
    return answer(KeyList(keys=collector().store.keys.all()))


@blueprint.post("/keys/<key>/revoke")
def revoke_key(key: str) -> Response:
    """Serve no signature of a key any more, and take no new one."""
    parameters.none()
    return answer(Unsigned(surveys=collector().store.keys.revoke(key, actor=g.actor)))


@blueprint.get("/sealing-keys")
def list_sealing_keys() -> Response:
    """Public keys that reports can be sealed to."""
    parameters.none()
    return answer(SealingKeyList(keys=list(operating.sealing_keys())))


@blueprint.post("/sealing-keys")
def create_sealing_key() -> Response:
    """Put a new key into the collector's file."""
    parameters.none()
    operating.create_sealing_key(g.actor)
    return answer(SealingKeyList(keys=list(operating.sealing_keys())), 201)


@blueprint.post("/sealing-keys/<key>/retire")
def retire_sealing_key(key: str) -> Response:
    """Take a key out of the collector's file."""
    parameters.none()
    operating.retire_sealing_key(key, g.actor)
    return answer(SealingKeyList(keys=list(operating.sealing_keys())))


@blueprint.get("/audit-log")
def get_audit_log() -> Response:
    """What operators did, the last thing first."""
    asked = parameters.query(AuditQuery)
    entries = collector().store.audit.latest(asked.most, asked.before)
    return answer(AuditLogPage(entries=entries))
