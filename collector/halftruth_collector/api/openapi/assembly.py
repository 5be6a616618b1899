"""The OpenAPI document, put together from the table of calls."""

import re
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.metadata import version
from typing import Any

import msgspec
from halftruth_shared.messages import Problem

from ...errors import slug
from ..problems import status_of
from . import schemas
from .examples import SURVEY, Example, examples
from .meanings import SURVEY_ID, Json
from .table import AUDIENCES, CALLERS, OPERATIONS, Operation

_INTRODUCTION = """\
People answer a form, their own device perturbs the whole record at random before anything is sent,
and this collector counts what arrives and serves estimates, each with an error bound.

Every error is a problem document (RFC 9457) of one clear line. Nothing of a refused request is
counted. A query parameter or a member of a body that is not described here is refused; a client
ignores members of answers that it does not know."""

_BEARER = """\
A token that the operator gave you. The role that a call needs is its `x-role`: an *operator* may do
everything; an *analyst* reads estimates of every survey, or of the one that the token is for; a
*monitor* reads the metrics only."""

_SURVEY_ID: Json = {
    "name": "survey_id",
    "in": "path",
    "required": True,
    "description": "Id of the survey.",
    "schema": SURVEY_ID,
    "example": SURVEY.id,
}

#: Headers of a problem, by status.
_HEADERS: dict[int, Json] = {
    401: {
        "WWW-Authenticate": {
            "description": "Which kind of token is expected.",
            "required": True,
            "schema": {"const": "Bearer"},
        }
    },
    429: {
        "Retry-After": {
            "description": "Seconds after which reports are taken again.",
            "required": True,
            "schema": {"type": "integer", "minimum": 1},
        }
    },
    503: {
        "Retry-After": {
            "description": "Seconds after which to try again.",
            "required": True,
            "schema": {"type": "integer", "minimum": 1},
        }
    },
}

#: What follows from an answer: the calls that take the id of its survey.
_LINKS: Json = {
    name: {"operationId": name, "parameters": {"survey_id": "$response.body#/survey/id"}}
    for name in ("getSurvey", "getCounts", "closeSurvey")
}


@cache
def document() -> Json:
    """The OpenAPI 3.1 document of this program's HTTP interface."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "halftruth collector",
            "version": version("halftruth-collector"),
            "description": _paragraphs(_INTRODUCTION),
        },
        "servers": [{"url": "/"}],
        "tags": [{"name": name, "description": text} for name, text in AUDIENCES.items()],
        "paths": _paths(OPERATIONS),
        "components": {
            "schemas": schemas.components(_messages(OPERATIONS)),
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer", "description": _paragraphs(_BEARER)}
            },
        },
    }


@cache
def encoded() -> bytes:
    """The document as JSON."""
    return msgspec.json.encode(document())


def _paths(operations: Iterable[Operation]) -> Json:
    paths: Json = {}
    for operation in operations:
        item = paths.setdefault(operation.path, _shared(operation.path))
        item[operation.method.lower()] = _operation(operation, examples()[operation.id])
    return paths


def _shared(path: str) -> Json:
    return {"parameters": [_SURVEY_ID]} if "{survey_id}" in path else {}


def _operation(operation: Operation, example: Example) -> Json:
    described: Json = {
        "operationId": operation.id,
        "tags": [operation.audience],
        "summary": operation.summary,
        "description": " ".join(filter(None, [operation.description, _callers(operation)])),
        "security": [] if operation.role is None else [{"token": []}],
        "responses": _responses(operation, example),
    }
    if operation.role is not None:
        described["x-role"] = operation.role
    parameters = schemas.query_parameters(operation.query)
    if parameters:
        values = schemas.query_values(example.query)
        described["parameters"] = [
            {**found, "example": values[found["name"]]} if found["name"] in values else found
            for found in parameters
        ]
    if operation.body:
        described["requestBody"] = _body(operation, example)
    return described


def _callers(operation: Operation) -> str:
    caller = CALLERS[operation.role]
    return f"{caller[0].upper()}{caller[1:]} may call it."


def _body(operation: Operation, example: Example) -> Json:
    references = [schemas.reference(kind) for kind in operation.body]
    return {
        "required": True,
        "content": {
            "application/json": {
                "schema": references[0] if len(references) == 1 else {"oneOf": references},
                "examples": {
                    name: {"value": msgspec.to_builtins(value)}
                    for name, value in _plain(example.bodies).items()
                },
            }
        },
    }


def _responses(operation: Operation, example: Example) -> Json:
    responses = {str(operation.status): _answer(operation, example)}
    for status, found in sorted(problems_of(operation).items()):
        responses[str(status)] = {
            "description": " ".join(found.values()),
            "content": {"application/problem+json": {"schema": _problem(status, found)}},
            **({"headers": _HEADERS[status]} if status in _HEADERS else {}),
        }
    return responses


def _answer(operation: Operation, example: Example) -> Json:
    if isinstance(operation.answer, str):
        schema: Json = {"type": "object" if operation.answer == "application/json" else "string"}
        return {
            "description": f"{operation.summary}.",
            "content": {operation.answer: {"schema": schema}},
        }
    answer: Json = {
        "description": _first_line(operation.answer),
        "content": {
            "application/json": {
                "schema": schemas.reference(operation.answer),
                "examples": {operation.answer.__name__: {"value": _plain(example.answer)}},
            }
        },
    }
    if operation.status == 201:
        answer["links"] = _LINKS
    return answer


def problems_of(operation: Operation) -> dict[int, dict[str, str]]:
    """What each status means among the problems of a call, by status and type of problem."""
    found: dict[int, dict[str, str]] = {}
    for kind in operation.errors:
        # Only its class matters for its status and its name.
        error = kind.__new__(kind)
        found.setdefault(status_of(error), {})[slug(error)] = _first_line(kind)
    found[500] = {"internal": "The collector failed; nothing of the request was counted."}
    if "{survey_id}" in operation.path:
        found[404]["http"] = "There is no such address."
    return found


def _problem(status: int, found: Iterable[str]) -> Json:
    return {
        "allOf": [
            schemas.reference(Problem),
            {
                "properties": {
                    "status": {"const": status},
                    "type": {"enum": [f"urn:halftruth:problem:{name}" for name in found]},
                }
            },
        ]
    }


def _messages(operations: Iterable[Operation]) -> Iterator[type]:
    yield Problem
    for operation in operations:
        yield from operation.body
        if isinstance(operation.answer, type):
            yield operation.answer


def _plain(value: Any) -> Any:
    """A message as JSON has it."""
    return msgspec.json.decode(msgspec.json.encode(value))


def _first_line(kind: type[Any]) -> str:
    return schemas.markdown(kind.__doc__ or "").partition("\n\n")[0]


def _paragraphs(text: str) -> str:
    return re.sub(r"(?<!\n)\n(?!\n)", " ", text)
