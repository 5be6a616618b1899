"""What every request needs: the collector it is for, who asks, and how to answer."""

from dataclasses import dataclass

import msgspec
from flask import Response, current_app, request
from halftruth_shared.messages import Message

from ..config import Config
from ..errors import Forbidden, Unauthorized
from ..store import Store
from ..store.tokens import Role

EXTENSION = "halftruth"

#: Roles that may do what a role is needed for.
_SUFFICIENT: dict[Role, tuple[Role, ...]] = {
    "analyst": ("analyst", "operator"),
    "operator": ("operator",),
}


@dataclass(frozen=True)
class Collector:
    """Settings and store of this application."""

    config: Config
    store: Store


def collector() -> Collector:
    """The collector that this request is for."""
    found: Collector = current_app.extensions[EXTENSION]
    return found


def require(role: Role) -> None:
    """Let only the bearer of a sufficient token pass.

    Raises
    ------
    Unauthorized, Forbidden
    """
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not token:
        raise Unauthorized(
            f"token: expected 'Authorization: Bearer' with the token of an {role}", field="token"
        )
    allow(role, token.strip())


def allow(role: Role, token: str) -> None:
    """Let only a sufficient token pass.

    Raises
    ------
    Unauthorized, Forbidden
    """
    if collector().store.tokens.role(token) not in _SUFFICIENT[role]:
        raise Forbidden(f"token: expected the token of an {role}", field="token")


def answer(message: Message, status: int = 200) -> Response:
    """A message as JSON that no cache keeps."""
    response = Response(msgspec.json.encode(message), status, mimetype="application/json")
    response.headers["Cache-Control"] = "no-store"
    return response
