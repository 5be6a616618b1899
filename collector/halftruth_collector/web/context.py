"""Context of a request: its collector, its token, and common responses."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from flask import Request, Response, current_app, g, request
from halftruth_shared.columns import encode
from halftruth_shared.protocol.base import Message

from ..analyses import AnalysisContext
from ..analyses.stored import counted_in
from ..collector_store import OpenStore, Store
from ..errors import Forbidden, Unauthorized
from ..ops.metrics import Metrics
from ..ops.settings import Config
from ..store.audit import ACTOR
from ..store.keys import SealingKeyFile
from ..store.surveys import StoredSurvey
from ..store.tokens import Role, StoredToken
from .limits import ReportLimit
from .readiness import Readiness
from .turns import Turns

if TYPE_CHECKING:
    # Only a collector with sealed surveys imports cryptography.
    from halftruth_shared.protocol.sealing import SealingKeys

EXTENSION = "halftruth"

#: Roles that satisfy each required role.
SUFFICIENT: dict[Role, tuple[Role, ...]] = {
    "analyst": ("analyst", "operator"),
    "operator": ("operator",),
    "monitor": ("monitor", "operator"),
    "relay": ("relay",),
}

#: Roles with their article.
ROLE_WITH_ARTICLE: dict[Role, str] = {
    "analyst": "an analyst",
    "operator": "an operator",
    "monitor": "a monitor",
    "relay": "a relay",
}


@dataclass(frozen=True, kw_only=True)
class Service:
    """Settings and shared objects of an application that takes reports.

    `limit` is the limit of reports from one address, `key_file` the file of private keys of sealed
    reports, if any, `readiness` the check that the database accepts writes, and `computations` the
    turns of long computations. Once `stopping` is set, requests are still answered, but clients
    should use another server. `background` is a task that runs until then, in one process at a
    time.
    """

    #: Name in the message with its address.
    name: ClassVar[str]

    config: Config
    store: OpenStore
    metrics: Metrics
    limit: ReportLimit
    key_file: SealingKeyFile | None
    readiness: Readiness
    computations: Turns
    background: Callable[[], None] | None = None
    stopping: threading.Event = field(default_factory=threading.Event)

    @property
    def sealing_keys(self) -> SealingKeys | None:
        """Private keys of sealed reports."""
        return None if self.key_file is None else self.key_file.keys

    def known_keys(self) -> tuple[str, ...]:
        """Return the public keys for sealed reports, newest first."""
        return () if self.key_file is None else self.key_file.keys.public


@dataclass(frozen=True, kw_only=True)
class Collector(Service):
    """A collector, with its store, and the limit of tickets from one address."""

    name = "collector"

    store: Store
    ticket_limit: ReportLimit


def service() -> Service:
    """Return the service of this request, a collector or a relay."""
    current: Service = current_app.extensions[EXTENSION]
    return current


def collector() -> Collector:
    """Return the collector of this request."""
    current: Collector = current_app.extensions[EXTENSION]
    return current


def current_request() -> Request:
    """Return the request itself, since access through the proxy of Flask is slow."""
    current: Request = request._get_current_object()  # type: ignore[attr-defined]
    return current


def require(*roles: Role) -> StoredToken:
    """Require a bearer token with one of these roles, and return the token."""
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not token:
        raise Unauthorized(
            f"token: expected 'Authorization: Bearer' with the token of {_any_of(roles)}",
            field="token",
        )
    return allow(token.strip(), *roles)


def allow(token: str, *roles: Role) -> StoredToken:
    """Return a token if it has one of these roles and is valid for the survey of the request."""
    bearer = service().store.tokens.bearer(token)
    if not any(bearer.role in SUFFICIENT[role] for role in roles):
        raise Forbidden(f"token: expected the token of {_any_of(roles)}", field="token")
    requested = (request.view_args or {}).get("survey_id")
    if None not in (bearer.survey, requested) and bearer.survey != requested:
        raise Forbidden(f"token: it is for the survey '{bearer.survey}' only", field="token")
    return bearer


def _any_of(roles: Iterable[Role]) -> str:
    return " or ".join(ROLE_WITH_ARTICLE[role] for role in roles)


def remember_bearer(bearer: StoredToken) -> None:
    """Use a token for the rest of this request."""
    g.bearer = bearer
    g.former_actor = ACTOR.set(f"token {bearer.id}")


def forget_bearer(_: BaseException | None) -> None:
    """Stop using the token, since the thread will handle other requests."""
    former = g.pop("former_actor", None)
    if former is not None:
        ACTOR.reset(former)


def answer(message: Message, status: int = 200) -> Response:
    """Return a JSON response with a message, which must not be cached."""
    headers = {"Cache-Control": "no-store"}
    return Response(encode(message), status, headers, content_type="application/json")


def get_counts(survey_id: str) -> AnalysisContext:
    """Return the counts of a survey for analyses."""
    store, least = collector().store, collector().config.min_reports
    return counted_in(
        *(store.surveys, store.reports, survey_id, least, _require_all_surveys),
        tickets=store.tickets.totals,
    )


def _require_all_surveys() -> None:
    """Require a token that is valid for all surveys."""
    if g.bearer.survey is not None:
        raise Forbidden(
            f"token: it is for the survey '{g.bearer.survey}' only; expected one for all, since"
            " this reads every wave",
            field="token",
        )


def states(surveys: Iterable[StoredSurvey]) -> dict[str, str]:
    """Return the state of surveys for people, such as "Open" or "Closed", by id."""
    store = collector().store.surveys
    return {stored.id: _state(stored, store.status(stored)) for stored in surveys}


def _state(stored: StoredSurvey, status: str) -> str:
    opens_at = stored.terms.opens_at
    if status == "planned" and opens_at is not None:
        return f"Opens at {opens_at:%Y-%m-%d %H:%M} UTC"
    return status.capitalize()
