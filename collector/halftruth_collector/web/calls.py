"""Each HTTP call declared once, beside the view that answers it.

A declaration has the address, who may call, what is sent, what is answered and which errors there
may be. Routing, the check of the token, the reading of query and body, and OpenAPI follow from it.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar

import msgspec
from flask import Blueprint, Response, g, request
from halftruth_shared import HalftruthError, ParameterError, Survey
from halftruth_shared.protocol.base import Message, Request

from ..access.tokens import Role
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
from . import formats, parameters
from .context import answer as respond
from .context import require

View = TypeVar("View", bound=Callable[..., Any])

_PLACE = re.compile(r"<(?:[^:<>]+:)?([^<>]+)>")

#: Errors that follow from a part of an address.
_NOT_FOUND: dict[str, type[HalftruthError]] = {
    "{survey_id}": UnknownSurvey,
    "{token_id}": UnknownToken,
}


@dataclass(frozen=True)
class Call:
    """One HTTP call.

    Attributes
    ----------
    path : str
        As OpenAPI writes it.
    summary, description : str
        First line and remaining paragraphs of the view's docstring.
    role : str or None
        Role that is needed.
    body : tuple of type
        Any one of these; empty where there is no body.
    query : type
        Message of the query parameters.
    answer : type or str
        Message type, or media type of an answer that is no message.
    errors : tuple of type
        Every error that it can answer with.
    analysis : Analysis or None
        Analysis whose results it answers with.
    """

    id: str
    method: str
    path: str
    audience: str
    summary: str
    description: str
    role: Role | None
    body: tuple[type, ...]
    query: type[Request]
    answer: type | str
    status: int
    errors: tuple[type[HalftruthError], ...]
    analysis: Analysis[Any, Any] | None


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
        self.blueprint = Blueprint(name, __name__)
        self.calls: dict[str, Call] = {}
        self.blueprint.before_request(self._guard)

    def call(
        self,
        method: str,
        path: str,
        *,
        answer: type | str,
        body: type | tuple[type, ...] = (),
        query: type[Request] = Request,
        status: int = 200,
        role: Role | None = None,
        errors: tuple[type[HalftruthError], ...] = (),
        analysis: Analysis[Any, Any] | None = None,
    ) -> Callable[[View], View]:
        """Declare the call that a view answers.

        The view gets the message of the body and that of the query, where there are any, and the
        parts of the address by name. It returns a message, or a response as it is.

        Parameters
        ----------
        method, path, answer, query, status, analysis
            See `Call`; the path is written as a rule of Flask.
        body : type or tuple of type
            Message type; `Survey` for a document in the shape of a survey file. Where there are
            several, the view reads the body, since it knows which of them it is.
        role : str, optional
            By default that of the audience.
        errors : tuple of type
            Those that do not follow from the rest.
        """
        bodies = body if isinstance(body, tuple) else (body,)
        needed = role or self.role

        def declare(view: View) -> View:
            name = view.__name__
            summary, _, description = inspect.getdoc(view).partition("\n\n")  # type: ignore[union-attr]
            written = template(path)
            implied = _implied(written, needed, bodies)
            self.calls[f"{self.name}.{name}"] = Call(
                id=re.sub(r"_(\w)", lambda found: found[1].upper(), name),
                method=method,
                path=written,
                audience=self.name,
                summary=summary.rstrip("."),
                description=description,
                role=needed,
                body=bodies,
                query=query,
                answer=answer,
                status=status,
                errors=tuple(dict.fromkeys([*implied, *errors])),
                analysis=analysis,
            )

            def answered(**places: str) -> Response:
                given: list[Any] = []
                if query is not Request:
                    beside = (formats.PARAMETER,) if analysis else ()
                    given.append(parameters.query(query, beside=beside))
                else:
                    parameters.none()
                if len(bodies) == 1:
                    given.insert(0, _decoded(bodies[0]))
                made = view(*given, **places)
                return made if isinstance(made, Response) else respond(made, status)

            self.blueprint.add_url_rule(path, name, answered, methods=[method])
            return view

        return declare

    def _guard(self) -> None:
        """Let only whoever has the role of a call pass, also to ask for its methods."""
        role = self.calls[request.endpoint or ""].role
        if role is not None:
            g.actor = f"token {require(role).id}"


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


def _decoded(kind: type) -> Message | Survey:
    """Read the body, as a message or as the document of a survey."""
    if kind is Survey:
        return Survey.from_json(parameters.body(msgspec.Raw))
    message: Message = parameters.body(kind)
    return message


def _implied(path: str, role: Role | None, bodies: tuple[type, ...]) -> list[type[HalftruthError]]:
    """List the errors that follow from where a call is, who may make it and what is sent."""
    # A query parameter that there is not is refused everywhere.
    found: list[type[HalftruthError]] = [ParameterError]
    if bodies:
        found += [MalformedRequest, TooLarge]
    if role is not None:
        found += [Unauthorized, Forbidden]
    found += [error for place, error in _NOT_FOUND.items() if place in path]
    # Whoever asks for a survey or brings a token is looked up.
    if path.startswith("/v1/") or role is not None:
        found.append(StoreUnavailable)
    return found
