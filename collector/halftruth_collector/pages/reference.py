"""The page that describes the HTTP interface: its OpenAPI document, for reading."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from http import HTTPStatus
from typing import Any
from urllib.parse import quote, urlencode

from flask import Blueprint, Response, render_template
from markupsafe import Markup, escape

from ..api import parameters
from ..api.openapi import document
from .policy import harden

blueprint = Blueprint("reference", __name__, template_folder="templates")

#: What a schema allows, in words.
_LIMITS = {
    "minimum": "at least {}",
    "exclusiveMinimum": "above {}",
    "maximum": "at most {}",
    "exclusiveMaximum": "below {}",
    "minLength": "{} characters or more",
    "maxLength": "at most {} characters",
    "minItems": "{} or more",
    "maxItems": "at most {}",
    "pattern": "like {}",
    "format": "{}",
    "contentEncoding": "{}",
}


@dataclass(frozen=True)
class Piece:
    """A part of a type in words; `schema` names the message that it links to."""

    text: str
    schema: str | None = None


@dataclass(frozen=True)
class Row:
    """A parameter, or a member of a message."""

    name: str
    kind: tuple[Piece, ...]
    default: str
    meaning: Markup


@dataclass(frozen=True)
class Example:
    """What is sent, or what comes back."""

    title: str
    text: str


@dataclass(frozen=True)
class Content:
    """A body or an answer: its type, and examples."""

    status: str
    kind: tuple[Piece, ...]
    meaning: Markup
    examples: tuple[Example, ...]


@dataclass(frozen=True)
class Call:
    """One call, ready to be read."""

    id: str
    method: str
    path: str
    summary: str
    description: Markup
    line: str
    parameters: tuple[Row, ...]
    body: Content | None
    answer: Content
    problems: tuple[tuple[str, Markup], ...]


@dataclass(frozen=True)
class Message:
    """A message and its members."""

    name: str
    description: Markup
    members: tuple[Row, ...]


@blueprint.after_request
def closed(response: Response) -> Response:
    """This page has no form."""
    return harden(response, "'none'")


@blueprint.get("/docs")
def reference() -> str:
    """Every call and every message."""
    parameters.none()
    return render_template("reference.html", **_contents())


@cache
def _contents() -> dict[str, Any]:
    described = document()
    calls: dict[str, list[Call]] = {tag["name"]: [] for tag in described["tags"]}
    for path, item in described["paths"].items():
        shared = item.get("parameters", [])
        for method, operation in item.items():
            if method != "parameters":
                calls[operation["tags"][0]].append(_call(method, path, operation, shared))
    schemas = described["components"]["schemas"]
    return {
        "introduction": [marked(part) for part in described["info"]["description"].split("\n\n")],
        "token": marked(described["components"]["securitySchemes"]["token"]["description"]),
        "groups": [(tag, calls[tag["name"]]) for tag in described["tags"]],
        "messages": [_message(name, schema) for name, schema in schemas.items()],
    }


def marked(text: str) -> Markup:
    """Text with its `code` and *emphasis* shown as such, everything else escaped.

    >>> marked("`a < b` is *so*")
    Markup('<code>a &lt; b</code> is <em>so</em>')
    """
    shown = re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text)))
    shown = re.sub(r"(?<![\w*])\*(\w[^*<]*)\*", r"<em>\1</em>", shown)
    return Markup(shown)  # noqa: S704 (escaped above)


def words(schema: Mapping[str, Any]) -> tuple[Piece, ...]:
    """A schema in words.

    >>> [piece.text for piece in words({"type": "array", "items": {"type": "integer"}})]
    ['list of ', 'integer']
    """
    return tuple(_words(schema))


def _words(schema: Mapping[str, Any]) -> Iterator[Piece]:
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        yield Piece(name, name)
    elif "anyOf" in schema or "oneOf" in schema:
        yield from _joined(schema.get("anyOf") or schema["oneOf"], " or ")
    elif "enum" in schema:
        yield Piece(" · ".join(map(str, schema["enum"])))
    elif "prefixItems" in schema:
        yield Piece("[")
        yield from _joined(schema["prefixItems"], ", ")
        yield Piece("]")
    elif schema.get("type") == "array":
        yield Piece("list of ")
        yield from _words(schema["items"])
        yield from _limits(schema)
    elif isinstance(schema.get("additionalProperties"), dict):
        yield Piece("object of ")
        yield from _words(schema["additionalProperties"])
    else:
        yield Piece(schema["type"])
        yield from _limits(schema)


def _joined(schemas: Iterable[Mapping[str, Any]], between: str) -> Iterator[Piece]:
    for index, schema in enumerate(schemas):
        if index:
            yield Piece(between)
        yield from _words(schema)


def _limits(schema: Mapping[str, Any]) -> Iterator[Piece]:
    said = [text.format(schema[word]) for word, text in _LIMITS.items() if word in schema]
    if said:
        yield Piece(f" ({', '.join(said)})")


def _call(method: str, path: str, operation: dict[str, Any], shared: list[Any]) -> Call:
    found = [*shared, *operation.get("parameters", [])]
    problems = operation["responses"].items()
    [(status, answer)] = [(key, value) for key, value in problems if key < "400"]
    return Call(
        id=operation["operationId"],
        method=method.upper(),
        path=path,
        summary=operation["summary"],
        description=marked(operation["description"]),
        line=f"{method.upper()} {_address(path, found)}",
        parameters=tuple(map(_parameter, found)),
        body=_content("", operation["requestBody"]) if "requestBody" in operation else None,
        answer=_content(f"{status} {HTTPStatus(int(status)).phrase}", answer),
        problems=tuple(
            (f"{key} {HTTPStatus(int(key)).phrase}", marked(value["description"]))
            for key, value in problems
            if key >= "400"
        ),
    )


def _address(path: str, found: list[dict[str, Any]]) -> str:
    """The address of the example, as a client writes it."""
    query: list[tuple[str, str]] = []
    for parameter in found:
        value = parameter.get("example")
        if parameter["in"] == "path":
            path = path.replace(f"{{{parameter['name']}}}", quote(str(value)))
        elif value is not None and value != parameter["schema"].get("default"):
            query.extend((parameter["name"], text) for text in _texts(value, parameter))
    return f"{path}?{urlencode(query, safe=',')}" if query else path


def _texts(value: Any, parameter: dict[str, Any]) -> list[str]:
    if not isinstance(value, list):
        return [_text(value)]
    return value if parameter["explode"] else [",".join(value)]


def _parameter(parameter: dict[str, Any]) -> Row:
    schema = parameter["schema"]
    meaning = parameter["description"]
    if schema.get("type") == "array":
        how = "repeated, once for each" if parameter["explode"] else "commas between them"
        meaning = f"{meaning} ({how})"
    return Row(
        parameter["name"], words(schema), _default(schema, parameter["required"]), marked(meaning)
    )


def _message(name: str, schema: dict[str, Any]) -> Message:
    required = schema.get("required", [])
    return Message(
        name,
        marked(schema["description"]),
        tuple(
            Row(
                member,
                words(found),
                _default(found, member in required),
                marked(found.get("description", "")),
            )
            for member, found in schema["properties"].items()
        ),
    )


def _default(schema: Mapping[str, Any], required: bool) -> str:
    if required:
        return "required"
    return _text(schema["default"]) if "default" in schema else "left out"


def _content(status: str, described: dict[str, Any]) -> Content:
    [(media_type, content)] = described["content"].items()
    schema = content["schema"]
    named = "$ref" in schema or "oneOf" in schema
    return Content(
        status,
        words(schema) if named else (Piece(media_type),),
        marked(described.get("description", "")),
        tuple(
            Example(name, json.dumps(example["value"], indent=2, ensure_ascii=False))
            for name, example in content.get("examples", {}).items()
        ),
    )


def _text(value: Any) -> str:
    """A value as JSON, and text without its quotes."""
    return value if isinstance(value, str) and value else json.dumps(value)
