"""Each HTTP call declared once, beside the view that answers it.

A declaration has the address, who may call, what is sent, what is answered and which errors there
may be. Routing, the check of the token, the reading of query and body, and OpenAPI follow from it.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import KW_ONLY, dataclass, field
from functools import cache, partial
from typing import Any, TypeVar

import msgspec
from flask import Blueprint, Response, request
from halftruth_shared import HalftruthError, ParameterError, Survey
from halftruth_shared.protocol.base import Request

from ..analyses import Analysis
from ..errors import (
    Forbidden,
    MalformedRequest,
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

View = TypeVar("View", bound=Callable[..., Any])

#: What lets a page of another origin read an answer, and send the request at all.
_SHARED = {"Access-Control-Allow-Origin": "*", "Access-Control-Expose-Headers": "Retry-After"}
_PREFLIGHT = {
    "Access-Control-Allow-Methods": "GET, POST",
    "Access-Control-Allow-Headers": "Content-Type",
    "Access-Control-Max-Age": "86400",
}

_PLACE = re.compile(r"<(?:[^:<>]+:)?([^<>]+)>")

#: Errors that follow from a part of an address.
_NOT_FOUND: dict[str, type[HalftruthError]] = {
    "<survey_id>": UnknownSurvey,
    "<token_id>": UnknownToken,
}


class Audience:
    """The calls that are meant for one group of people or programs.

    Parameters
    ----------
    name : str
    purpose : str
        What its calls are for.
    role : str, optional
        Role that its calls need, by default none.
    """

    def __init__(self, name: str, purpose: str, role: Role | None = None) -> None:
        self.name, self.purpose, self.role = name, purpose, role
        self.calls: dict[str, Call] = {}
        self.call = partial(Call, self)
        self.blueprint = Blueprint(name, __name__)
        self.blueprint.before_request(self._guard)
        self.blueprint.after_request(self._share)

    def _guard(self) -> None:
        """Let only whoever has the role of a call pass, also to ask for its methods."""
        role = self.calls[request.endpoint or ""].role
        if role is not None:
            remember_bearer(require(role))

    def _share(self, response: Response) -> Response:
        """Let forms on pages of other origins do what answering a survey takes, no more."""
        request = current_request()
        if self.calls[request.endpoint or ""].shared:
            response.headers.update(_SHARED)
            if request.method == "OPTIONS":
                response.headers.update(_PREFLIGHT)
        return response


@dataclass(eq=False)
class Call:
    """One HTTP call; as a decorator, the view that answers it.

    The view gets the message of the body and that of the query, where there are any, and the parts
    of the address by name. It returns a message, or a response as it is. Its docstring is the
    summary and the description of the call, and its name the id.

    Attributes
    ----------
    audience : Audience
    method, rule : str
        As Flask writes them.
    answer : type or str
        Message type, or media type of an answer that is no message.
    body : type or tuple of type
        Message type; `Survey` for a document in the shape of a survey file. Where there are
        several, the view reads the body, since it knows which of them it is.
    query : type
        Message of the query parameters.
    status : int
    role : str or None
        Role that is needed, by default that of the audience.
    errors : tuple of type
        Errors that it can answer with; those that follow from the rest are added.
    shared : bool
        Whether pages of other origins may make it.
    analysis : Analysis or None
        Analysis whose results it answers with.
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
    analysis: Analysis[Any, Any] | None = None
    view: Callable[..., Any] = field(init=False)

    def __post_init__(self) -> None:
        self.role = self.role or self.audience.role
        # A query parameter that there is not is refused everywhere.
        implied: list[type[HalftruthError]] = [ParameterError]
        if self.bodies:
            implied += [MalformedRequest, TooLarge]
        if self.role is not None:
            implied += [Unauthorized, Forbidden]
        implied += [error for place, error in _NOT_FOUND.items() if place in self.rule]
        # Whoever asks for a survey or brings a token is looked up.
        if self.rule.startswith("/v1/") or self.role is not None:
            implied.append(StoreUnavailable)
        self.errors = tuple(dict.fromkeys([*implied, *self.errors]))

    def __call__(self, view: View) -> View:
        """Answer with what a view returns."""
        self.view = view
        self.audience.calls[f"{self.audience.name}.{view.__name__}"] = self
        self.audience.blueprint.add_url_rule(
            self.rule, view.__name__, self._answered, methods=[self.method]
        )
        return view

    def _answered(self, **places: str) -> Response:
        sent: list[Any] = []
        if self.query is Request:
            parameters.none()
        else:
            beside = (formats.PARAMETER,) if self.analysis else ()
            sent.append(parameters.query(self.query, beside=beside))
        if self.body is Survey:
            sent.insert(0, Survey.from_json(parameters.body(msgspec.Raw)))
        elif isinstance(self.body, type):
            sent.insert(0, parameters.body(self.body))
        # What analysts ask for may take long, and changes nothing.
        with within_budget() if self.role == "analyst" else nullcontext():
            made = self.view(*sent, **places)
        return made if isinstance(made, Response) else answer(made, self.status)

    @property
    def id(self) -> str:
        """Name of the call for programs."""
        return re.sub(r"_(\w)", lambda match: match[1].upper(), self.view.__name__)

    @property
    def path(self) -> str:
        """Its address, as OpenAPI writes it."""
        return template(self.rule)

    @property
    def documentation(self) -> tuple[str, str]:
        """Its summary and its description."""
        summary, _, description = (inspect.getdoc(self.view) or "").partition("\n\n")
        return summary.rstrip("."), description

    @property
    def bodies(self) -> tuple[type, ...]:
        """Types of which the body is one; empty where there is none."""
        return self.body if isinstance(self.body, tuple) else (self.body,)


RESPONDENTS = Audience(
    "respondents", "Fetch surveys and send reports, from a form or a program that asks people."
)
ANALYSTS = Audience(
    "analysts", "Estimates from the counts of one survey, each with its bounds.", "analyst"
)
PLANNING = Audience("planning", "What a survey will tell, before any field work.", "analyst")
OPERATORS = Audience(
    "operators",
    "Publish surveys, see how they do, and end them; tokens, keys and the audit log.",
    "operator",
)
OPERATIONS = Audience("operations", "Keep the collector running.")

#: Audiences in the order in which they are described.
AUDIENCES = (RESPONDENTS, ANALYSTS, PLANNING, OPERATORS, OPERATIONS)


def declared() -> tuple[Call, ...]:
    """Return every call of the HTTP interface."""
    return tuple(call for audience in AUDIENCES for call in audience.calls.values())


@cache
def template(rule: str) -> str:
    """Return a rule as a template without converters: ``/js/<path:name>`` is ``/js/{name}``."""
    return _PLACE.sub(r"{\1}", rule)
