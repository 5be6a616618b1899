"""Description of the HTTP interface in OpenAPI 3.1, from the declarations of its calls."""

import inspect
import json
import re
from collections.abc import Iterator
from functools import cache
from importlib.metadata import version
from typing import Any, get_args, get_origin

import msgspec
from halftruth_shared import Survey
from halftruth_shared.analyses.reading import fields
from halftruth_shared.columns import column_schema
from halftruth_shared.protocol.base import Problem, Request
from halftruth_shared.survey import SurveyDocument

from ..analyses import choices
from ..errors import slug
from ..operations import SUBJECTS
from ..store.tokens import Role
from . import formats
from .calls import AUDIENCES, Audience, Call, declared
from .context import ROLE_WITH_ARTICLE, SUFFICIENT
from .errors import status_of

Json = dict[str, Any]

#: Descriptions of a collector and of a relay.
COLLECTOR = """\
People answer a form, their own device perturbs the whole record at random before anything is sent,
and this collector counts what arrives and serves estimates, each with an error bound.

Every error is a problem document (RFC 9457) of one clear line. Nothing of a refused request is
counted. A query parameter or a member of a body that is not described here is refused; a client
ignores members of answers that it does not know."""

_BEARER = """\
A token that the operator gave you. The role that a call needs is its `x-role`: an *operator* may do
everything; an *analyst* reads estimates of every survey, or of the one that the token is for; a
*monitor* reads the metrics only; a *relay* passes on the reports of one survey."""

#: Descriptions of the tokens that satisfy each required role.
CALLERS: dict[Role | None, str] = {
    None: "anyone",
    **{
        role: " or ".join(ROLE_WITH_ARTICLE[who] for who in enough)
        for role, enough in SUFFICIENT.items()
    },
}

_FORMAT: Json = {
    "name": formats.PARAMETER,
    "in": "query",
    "required": False,
    "description": "Format of the answer; by default what the header Accept asks for, or JSON.",
    "schema": {"type": "string", "enum": list(formats.DATA)},
}

_NAME = r"[A-Za-z][A-Za-z0-9_.\-]{0,63}"

#: Serialization of query parameters other than lists of names.
_WRITTEN: dict[str, Json] = {
    "categories": {"items": {"type": "string"}, "uniqueItems": True},
    "items": {"items": {"type": "string", "pattern": f"^{_NAME}=.+$"}, "uniqueItems": True},
    "terms": {"items": {"type": "string", "pattern": f"^{_NAME}(,{_NAME})*$"}},
    "margins": {
        "items": {"type": "string", "pattern": f"^{_NAME}=.+:[0-9.eE+-]+$"},
        "uniqueItems": True,
    },
    "groups": {"items": {"type": "string", "pattern": f"^{_NAME}=.+,.+$"}, "uniqueItems": True},
}

#: Header of a problem by status: name, description and schema.
_RETRY = ("Retry-After", "Seconds after which to try again.", {"type": "integer", "minimum": 1})
_HEADERS = {
    401: (
        "WWW-Authenticate",
        "Which kind of token is expected.",
        {"type": "string", "enum": ["Bearer"]},
    ),
    429: _RETRY,
    503: _RETRY,
}


RELAY = """\
Devices seal reports to a collector, and send them here. This relay passes them on in shuffled
batches, so that the collector cannot know who sent which.

Every error is a problem document (RFC 9457) of one clear line."""


@cache
def document(
    audiences: tuple[Audience, ...] = AUDIENCES,
    title: str = "halftruth collector",
    introduction: str = COLLECTOR,
) -> Json:
    """Return the OpenAPI 3.1 document of the calls of some audiences."""
    paths: Json = {}
    calls = declared(audiences)
    for call in calls:
        places = [_place(name) for name in re.findall(r"{(\w+)}", call.path)]
        item = paths.setdefault(call.path, {"parameters": places} if places else {})
        item[call.method.lower()] = _operation(call)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": title,
            "version": version("halftruth-collector"),
            "description": markdown(introduction),
        },
        "servers": [{"url": "/"}],
        "tags": [{"name": each.name, "description": each.purpose} for each in audiences],
        "paths": paths,
        "components": {
            "schemas": _schemas(calls),
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer", "description": markdown(_BEARER)}
            },
        },
    }


def _place(name: str) -> Json:
    subject = SUBJECTS[name]
    return {
        "name": name,
        "in": "path",
        "required": True,
        "description": subject.description,
        "schema": {"type": "string", "pattern": subject.pattern},
    }


def _operation(call: Call) -> Json:
    summary, description = call.documentation
    caller = CALLERS[call.role]
    sentences = [markdown(description), f"{caller[0].upper()}{caller[1:]} may call it."]
    described: Json = {
        "operationId": call.id,
        "tags": [call.audience.name],
        "summary": summary,
        "description": " ".join(filter(None, sentences)),
        "security": [] if call.role is None else [{"token": []}],
        "responses": {str(call.status): _answer(call)},
    }
    if call.revalidated:
        known = {"description": "The client has this response (If-None-Match)."}
        described["responses"]["304"] = known
    if call.role is not None:
        described["x-role"] = call.role
    if call.analysis is not None:
        described["parameters"] = [*_parameters(call.query), _FORMAT]
    elif call.query is not Request:
        described["parameters"] = list(_parameters(call.query))
    if call.bodies:
        references = [_reference(kind) for kind in call.bodies]
        schema = references[0] if len(references) == 1 else {"oneOf": references}
        content = {"application/json": {"schema": schema}}
        described["requestBody"] = {"required": True, "content": content}
    for status, problems in sorted(problems_of(call).items()):
        described["responses"][str(status)] = _problem(status, problems)
    return described


def _parameters(query: type[Request]) -> Iterator[Json]:
    """Return the query parameters for the fields of a message.

    Names are separated by commas. Categories can contain commas, so each category, each pair of an
    attribute and its category (with its number, if any), and each term of a model is a separate
    parameter.
    """
    types = {field.name: field.type for field in msgspec.structs.fields(query)}
    for field in fields(query).values():
        schema = _without_null(msgspec.json.schema(types[field.name]))
        schema.pop("description", None)
        if field.kind in _WRITTEN:
            least = schema.get("minItems", schema.get("minProperties", 0))
            schema = {"type": "array", "minItems": least, **_WRITTEN[field.kind]}
        if field.of == "measure":
            narrowed = schema.get("items", schema)
            narrowed["enum"] = list(choices(field))
        if field.default is not None:
            schema["default"] = list(field.default) if field.several else field.default
        parameter: Json = {
            "name": field.name,
            "in": "query",
            "required": field.required,
            "description": field.description,
            "schema": schema,
        }
        if field.several:
            parameter |= {"style": "form", "explode": field.kind in _WRITTEN}
        yield parameter


def _answer(call: Call) -> Json:
    if isinstance(call.answer, str):
        schema: Json = {"type": "object" if call.answer == "application/json" else "string"}
        return {
            "description": f"{call.documentation[0]}.",
            "content": {call.answer: {"schema": schema}},
        }
    content: Json = {"application/json": {"schema": _reference(call.answer)}}
    if call.analysis is not None:
        for format in formats.DATA[1:]:
            content[formats.MEDIA_TYPES[format]] = {"schema": {"type": "string"}}
    return {"description": _first_line(call.answer), "content": content}


def problems_of(call: Call) -> dict[int, dict[str, str]]:
    """Return the meaning of each problem of a call by status and type."""
    problems: dict[int, dict[str, str]] = {}
    for kind in call.errors:
        # Status and name depend only on the class.
        error = kind.__new__(kind)
        problems.setdefault(status_of(error), {})[slug(error)] = _first_line(kind)
    problems[500] = {"internal": "The collector failed; nothing of the request was counted."}
    if "{" in call.path:
        problems.setdefault(404, {})["http"] = "There is no such address."
    return problems


def _problem(status: int, problems: dict[str, str]) -> Json:
    # All problems have one schema, which generated clients make one type of.
    answer: Json = {
        "description": " ".join(problems.values()),
        "content": {"application/problem+json": {"schema": _reference(Problem)}},
        "x-problem-types": [f"urn:halftruth:problem:{name}" for name in problems],
    }
    if status in _HEADERS:
        name, description, kind = _HEADERS[status]
        header = {"description": description, "required": True, "schema": kind}
        answer["headers"] = {name: header}
    return answer


def _schemas(calls: tuple[Call, ...]) -> Json:
    """Return the schemas of all messages by name."""
    kinds: list[type] = [Problem, SurveyDocument]
    for call in calls:
        # The response of an analysis is a generic type.
        messages: list[Any] = [*call.bodies, call.answer]
        kinds += [_shape(kind) for kind in messages if isinstance(get_origin(kind) or kind, type)]
    _, schemas = msgspec.json.schema_components(
        kinds, ref_template="#/components/schemas/{name}", schema_hook=column_schema
    )
    for schema in schemas.values():
        _simplify(schema)
        schema.pop("title", None)
        schema["description"] = markdown(schema.get("description", ""))
        for name, member in schema.get("properties", {}).items():
            if name == "survey" and not {"type", "anyOf"} & member.keys():
                member["$ref"] = _reference(SurveyDocument)["$ref"]
            for option in member.get("anyOf", []):
                if "description" in option:
                    member["description"] = option.pop("description")
    return dict(sorted(schemas.items()))


def _simplify(schema: Any) -> None:
    """Write what is equivalent to a schema, and what generators of clients understand.

    Some read no false in place of a schema, and take a member with a default for one that is always
    there, so that callers would have to give it.
    """
    if isinstance(schema, list):
        for part in schema:
            _simplify(part)
    if not isinstance(schema, dict):
        return
    if schema.get("items") is False:
        # The number of items is limited besides.
        del schema["items"]
    for member in schema.get("properties", {}).values():
        default = member.pop("default", None)
        if default not in (None, "", [], {}):
            said = f"By default `{json.dumps(default)}`."
            member["description"] = " ".join(filter(None, [member.get("description"), said]))
    for part in schema.values():
        _simplify(part)


def _without_null(schema: Json) -> Json:
    options = [option for option in schema.get("anyOf", []) if option != {"type": "null"}]
    return options[0] if options else schema


def _reference(kind: type) -> Json:
    name = _shape(kind).__name__
    # Use the name that msgspec gives to the result of a query.
    name += "".join(f"_{each.__name__}_" for each in get_args(kind))
    return {"$ref": f"#/components/schemas/{name}"}


def _shape(kind: type) -> type:
    """Return the type of the document of a survey, and any other type itself."""
    return SurveyDocument if kind is Survey else kind


def markdown(text: str) -> str:
    """Convert a docstring to CommonMark, with one line for each paragraph."""
    text = re.sub(r":\w+:`~?([^`]+)`", r"`\1`", inspect.cleandoc(text)).replace("``", "`")
    return "\n\n".join(" ".join(part.split()) for part in text.split("\n\n"))


def _first_line(kind: type) -> str:
    return markdown(kind.__doc__ or "").partition("\n\n")[0]
