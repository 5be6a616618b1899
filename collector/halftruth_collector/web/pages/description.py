"""The description of the HTTP interface: for programs, and as a page to read."""

import json
import re
from functools import cache
from typing import Any

import msgspec
from flask import Blueprint, Response, render_template
from markupsafe import Markup, escape

from .. import parameters
from ..content_security import harden
from ..openapi import document

blueprint = Blueprint("description", __name__, template_folder="templates")


@blueprint.get("/openapi.json")
def get_description() -> Response:
    """The OpenAPI document of this collector; any page may read it."""
    parameters.none()
    response = Response(_encoded(), mimetype="application/json")
    response.headers["Access-Control-Allow-Origin"] = "*"
    return response


@blueprint.get("/docs")
def read() -> Response:
    """Every call and every message."""
    parameters.none()
    return harden(Response(_page()), "'none'")


@cache
def _encoded() -> bytes:
    return msgspec.json.encode(document())


@cache
def _page() -> str:
    found = document()
    calls = [
        {"method": method.upper(), "path": path, "shared": item.get("parameters", []), **operation}
        for path, item in found["paths"].items()
        for method, operation in item.items()
        if method != "parameters"
    ]
    groups = [
        (tag, [call for call in calls if tag["name"] in call["tags"]]) for tag in found["tags"]
    ]
    return render_template(
        "description.html", found=found, groups=groups, marked=marked, words=words, pretty=pretty
    )


def marked(text: str) -> Markup:
    """Text with its `code` and *emphasis* shown as such, everything else escaped.

    >>> marked("`a < b` is *so*")
    Markup('<code>a &lt; b</code> is <em>so</em>')
    """
    shown = re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text)))
    shown = re.sub(r"(?<![\w*])\*(\w[^*<]*)\*", r"<em>\1</em>", shown)
    return Markup(shown)  # noqa: S704 (escaped above)


def words(schema: dict[str, Any]) -> Markup:
    """A schema in words, with links to the messages that it names.

    >>> words({"type": "array", "items": {"type": "integer", "minimum": 0}})
    Markup('list of integer (minimum 0)')
    """
    join = Markup(" or ").join
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return Markup('<a href="#{0}">{0}</a>').format(name)
    for several in ("anyOf", "oneOf"):
        if several in schema:
            return join(words(option) for option in schema[several])
    if "enum" in schema:
        return escape(" · ".join(map(str, schema["enum"])))
    if "prefixItems" in schema:
        return Markup("[{}]").format(Markup(", ").join(map(words, schema["prefixItems"])))
    inner = schema.get("items") or schema.get("additionalProperties")
    if isinstance(inner, dict):
        kind = "list" if schema.get("type") == "array" else "object"
        return Markup("{} of {}").format(kind, words(inner))
    said = {"type", "description", "default", "examples", "additionalProperties", "contentEncoding"}
    limits = ", ".join(f"{name} {value}" for name, value in schema.items() if name not in said)
    return escape(f"{schema.get('type', 'anything')}{f' ({limits})' if limits else ''}")


def pretty(value: Any) -> str:
    """A value as indented JSON."""
    return json.dumps(value, indent=2, ensure_ascii=False)
