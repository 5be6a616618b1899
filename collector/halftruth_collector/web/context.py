"""Context of a request: its collector, its token, and common answers."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import msgspec
from flask import Request, Response, current_app, g, request
from halftruth_shared.protocol.base import Message, encode
from halftruth_shared.protocol.surveys import PublishedSurvey

from ..analyses import Counted
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

if TYPE_CHECKING:
    # Only a collector with sealed surveys needs the cryptography.
    from halftruth_shared.protocol.sealing import SealingKeys

EXTENSION = "halftruth"

#: Roles that may do what a role is needed for.
SUFFICIENT: dict[Role, tuple[Role, ...]] = {
    "analyst": ("analyst", "operator"),
    "operator": ("operator",),
    "monitor": ("monitor", "operator"),
    # Which of them may send what depends on the survey.
    "relay": ("relay", "operator"),
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
    """Settings, and what else is made once for an application that takes reports.

    `limit` is that of reports from one address. `key_file` has what opens sealed reports; None
    where there is none. `readiness` says whether the database accepts writes. Once `stopping` is
    set, no more requests are wanted, though they are answered. `background` is what it does besides
    answering requests, until then, in one process at a time.
    """

    #: What it is called where it says its address.
    name: ClassVar[str]

    config: Config
    store: OpenStore
    metrics: Metrics
    limit: ReportLimit
    key_file: SealingKeyFile | None
    readiness: Readiness
    background: Callable[[], None] | None = None
    stopping: threading.Event = field(default_factory=threading.Event)

    @property
    def sealing_keys(self) -> SealingKeys | None:
        """Private keys of sealed reports."""
        return None if self.key_file is None else self.key_file.keys

    def known_keys(self) -> tuple[str, ...]:
        """Return the public keys that reports can be sealed to here, newest first."""
        return () if self.key_file is None else self.key_file.keys.public


@dataclass(frozen=True, kw_only=True)
class Collector(Service):
    """A collector, with its store."""

    name = "collector"

    store: Store


def service() -> Service:
    """The application that this request is for, a collector or a relay."""
    current: Service = current_app.extensions[EXTENSION]
    return current


def collector() -> Collector:
    """The collector that this request is for."""
    current: Collector = current_app.extensions[EXTENSION]
    return current


def current_request() -> Request:
    """The request itself, for every look through Flask's proxy takes longer than what it is for."""
    current: Request = request._get_current_object()  # type: ignore[attr-defined]
    return current


def require(role: Role) -> StoredToken:
    """Let only the bearer of a sufficient token pass, and say whose it is.

    Raises
    ------
    Unauthorized, Forbidden
    """
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not token:
        raise Unauthorized(
            f"token: expected 'Authorization: Bearer' with the token of {ROLE_WITH_ARTICLE[role]}",
            field="token",
        )
    return allow(role, token.strip())


def allow(role: Role, token: str) -> StoredToken:
    """Let only a sufficient token pass, one for the survey that the request is about.

    Raises
    ------
    Unauthorized, Forbidden
    """
    bearer = collector().store.tokens.bearer(token)
    if bearer.role not in SUFFICIENT[role]:
        raise Forbidden(f"token: expected the token of {ROLE_WITH_ARTICLE[role]}", field="token")
    asked = (request.view_args or {}).get("survey_id")
    if None not in (bearer.survey, asked) and bearer.survey != asked:
        raise Forbidden(f"token: it is for the survey '{bearer.survey}' only", field="token")
    return bearer


def remember_bearer(bearer: StoredToken) -> None:
    """Let the rest of this request act with a token."""
    g.bearer = bearer
    g.former_actor = ACTOR.set(f"token {bearer.id}")


def forget_bearer(_: BaseException | None) -> None:
    """Let the thread that answered a request act without its token again."""
    former = g.pop("former_actor", None)
    if former is not None:
        ACTOR.reset(former)


def answer(message: Message, status: int = 200) -> Response:
    """A message as JSON that no cache keeps."""
    response = Response(encode(message), status, mimetype="application/json")
    response.headers["Cache-Control"] = "no-store"
    return response


def counted(survey_id: str) -> Counted:
    """Return the reports of a survey as analyses take them.

    Raises
    ------
    UnknownSurvey, StoreUnavailable
    """
    this = collector()
    least = this.config.min_reports
    return counted_in(this.store.surveys, this.store.reports, survey_id, least, _every_survey)


def _every_survey() -> None:
    """Let only bearers of tokens that are for every survey pass."""
    if g.bearer.survey is not None:
        raise Forbidden(
            f"token: it is for the survey '{g.bearer.survey}' only; expected one for all, since"
            " this reads every wave",
            field="token",
        )


def published(survey_id: str) -> PublishedSurvey:
    """A survey as everybody may see it."""
    surveys = collector().store.surveys
    stored = surveys.get(survey_id)
    why = surveys.closed_because(stored)
    return PublishedSurvey(
        survey=msgspec.Raw(stored.document.encode()),
        digest=stored.digest,
        status="open" if why is None else "closed",
        closed_because=why,
        terms=stored.terms,
        signature=stored.signature,
    )


def states(surveys: Iterable[StoredSurvey]) -> dict[str, str]:
    """Return the current state of surveys by id, for people."""
    store = collector().store.surveys
    return {
        stored.id: "Open" if store.closed_because(stored) is None else "Closed"
        for stored in surveys
    }
