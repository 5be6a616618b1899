"""Declarations of the HTTP calls, as decorators of the views.

A declaration has the path, the required role, and the types of the request, the response and the
errors. Routing, authorization, parsing of query and body, and OpenAPI are derived from it.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import KW_ONLY, dataclass, field
from functools import cache, lru_cache, partial
from typing import Any, TypeVar

import msgspec
from flask import Blueprint, Response, request
from halftruth_shared import HalftruthError, ParameterError, Survey
from halftruth_shared.columns import encode
from halftruth_shared.protocol.base import Request

from ..analyses import Analysis
from ..errors import (
    Forbidden,
    MalformedRequest,
    NotConfirmed,
    StoreUnavailable,
    TooLarge,
    Unauthorized,
    UnknownSurvey,
    UnknownToken,
)
from ..store.tokens import Role
from . import formats, parameters
from .budget import within_budget
from .context import answer, current_request, remember_bearer, require
from .messages import Confirmation
from .static import StaticFile

View = TypeVar("View", bound=Callable[..., Any])

#: Headers that allow pages of other origins to read a response, and to send the request (CORS).
_SHARED = {"Access-Control-Allow-Origin": "*", "Access-Control-Expose-Headers": "Retry-After"}
_PREFLIGHT = {
    "Access-Control-Allow-Methods": "GET, POST",
    "Access-Control-Allow-Headers": "Content-Type",
    "Access-Control-Max-Age": "86400",
}

_PLACE = re.compile(r"<(?:[^:<>]+:)?([^<>]+)>")

#: Errors implied by a parameter of a path.
_NOT_FOUND: dict[str, type[HalftruthError]] = {
    "<survey_id>": UnknownSurvey,
    "<token_id>": UnknownToken,
}


class Audience:
    """The calls for one group of people or programs, with the role that they require, if any."""

    def __init__(self, name: str, purpose: str, role: Role | None = None) -> None:
        self.name, self.purpose, self.role = name, purpose, role
        self.calls: dict[str, Call] = {}
        self.call = partial(Call, self)
        self.blueprint = Blueprint(name, __name__)
        self.blueprint.before_request(self._guard)
        self.blueprint.after_request(self._share)

    def _guard(self) -> None:
        """Require the role of a call, also for OPTIONS requests."""
        role = self.calls[request.endpoint or ""].role
        if role is not None:
            remember_bearer(require(role))

    def _share(self, response: Response) -> Response:
        """Allow pages of other origins to make the calls that answering a survey needs."""
        request = current_request()
        if self.calls[request.endpoint or ""].shared:
            response.headers.update(_SHARED)
            if request.method == "OPTIONS":
                response.headers.update(_PREFLIGHT)
        return response


@dataclass(eq=False)
class Call:
    """Declaration of an HTTP call, used as a decorator of its view.

    The view gets the messages of the body and of the query, if any, and the path parameters by
    name. It returns a message, or a response that is sent unchanged. Its docstring is the summary
    and the description of the call, and its name the operation id.

    Attributes
    ----------
    method, rule : str
        Method and URL rule of Flask.
    answer : type or str
        Message type, or media type of another response.
    body : type or tuple of type
        Message type; `Survey` for a document in the format of a survey file. With several types,
        the view parses the body, since it knows which type to expect.
    role : str or None
        Required role; by default that of the audience.
    errors : tuple of type
        Errors of the call; errors implied by the other attributes are added.
    shared : bool
        Whether pages of other origins may make the call.
    revalidated : bool
        Whether browsers may keep the response, and ask each time whether it has changed (ETag). It
        is compressed, so it must not contain a secret.
    analysis : Analysis or None
        Analysis whose results the call returns.
    """

    audience: Audience
    method: str
    rule: str
    _: KW_ONLY
    answer: type | str
    body: type | tuple[type, ...] = ()
    query: type[Request] = Request
    status: int = 200
    role: Role | None = None
    errors: tuple[type[HalftruthError], ...] = ()
    shared: bool = False
    revalidated: bool = False
    analysis: Analysis[Any, Any] | None = None
    view: Callable[..., Any] = field(init=False)

    def __post_init__(self) -> None:
        self.role = self.role or self.audience.role
        # Every call refuses unknown query parameters.
        implied: list[type[HalftruthError]] = [ParameterError]
        if self.bodies:
            implied += [MalformedRequest, TooLarge]
        if self.role is not None:
            implied += [Unauthorized, Forbidden]
        implied += [error for place, error in _NOT_FOUND.items() if place in self.rule]
        if self.query is Confirmation:
            implied.append(NotConfirmed)
        # Surveys and tokens are looked up in the database.
        if self.rule.startswith("/v1/") or self.role is not None:
            implied.append(StoreUnavailable)
        self.errors = tuple(dict.fromkeys([*implied, *self.errors]))

    def __call__(self, view: View) -> View:
        """Register the view of the call."""
        self.view = view
        self.audience.calls[f"{self.audience.name}.{view.__name__}"] = self
        self.audience.blueprint.add_url_rule(
            self.rule, view.__name__, self._handle, methods=[self.method]
        )
        return view

    def _handle(self, **places: str) -> Response:
        sent: list[Any] = []
        if self.query is Request:
            parameters.reject_query()
        else:
            others = (formats.PARAMETER,) if self.analysis else ()
            sent.append(parameters.read_query(self.query, others=others))
        if self.body is Survey:
            sent.insert(0, Survey.from_json(parameters.decode_body(msgspec.Raw)))
        elif isinstance(self.body, type):
            sent.insert(0, parameters.decode_body(self.body))
        # Requests of analysts can take long, and do not change anything.
        with within_budget() if self.role == "analyst" else nullcontext():
            made = self.view(*sent, **places)
        if isinstance(made, Response):
            return made
        return _kept(encode(made)).response() if self.revalidated else answer(made, self.status)

    @property
    def id(self) -> str:
        """Operation id of the call."""
        return re.sub(r"_(\w)", lambda match: match[1].upper(), self.view.__name__)

    @property
    def path(self) -> str:
        """Path template in the format of OpenAPI."""
        return template(self.rule)

    @property
    def documentation(self) -> tuple[str, str]:
        """Summary and description of the call."""
        summary, _, description = (inspect.getdoc(self.view) or "").partition("\n\n")
        return summary.rstrip("."), description

    @property
    def bodies(self) -> tuple[type, ...]:
        """Possible types of the body; empty for calls without a body."""
        return self.body if isinstance(self.body, tuple) else (self.body,)


@lru_cache(maxsize=64)
def _kept(contents: bytes) -> StaticFile:
    """Return a response that is compressed once."""
    return StaticFile.compress(contents, "application/json")


RESPONDENTS = Audience(
    "respondents", "Fetch surveys and send reports, from a form or another client."
)
ANALYSTS = Audience(
    "analysts", "Estimates from the counts of one survey, with intervals.", "analyst"
)
PLANNING = Audience("planning", "Expected precision of a survey, before field work.", "analyst")
OPERATORS = Audience(
    "operators",
    "Publish, monitor and close surveys; tokens, keys and the audit log.",
    "operator",
)
OPERATIONS = Audience("operations", "Keep the collector running.")

#: Audiences in the order of the documentation.
AUDIENCES = (RESPONDENTS, ANALYSTS, PLANNING, OPERATORS, OPERATIONS)


def declared(audiences: tuple[Audience, ...] = AUDIENCES) -> tuple[Call, ...]:
    """Return all calls of some audiences, by default of the HTTP interface of a collector."""
    return tuple(call for audience in audiences for call in audience.calls.values())


@cache
def template(rule: str) -> str:
    """Return a rule as a template without converters: ``/js/<path:name>`` is ``/js/{name}``."""
    return _PLACE.sub(r"{\1}", rule)
