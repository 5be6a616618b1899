"""JSON Schemas of messages, and OpenAPI's parameters for queries."""

import inspect
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, get_args

import msgspec
from halftruth_shared.messages import Request
from halftruth_shared.survey import SurveyDocument

from . import meanings
from .meanings import Json, Meaning

REFERENCE = "#/components/schemas/{name}"

_ATTRIBUTE_EQUALS_CATEGORY: Json = {"type": "string", "pattern": f"^{meanings.NAME}=.+$"}
_TERM: Json = {"type": "string", "pattern": f"^{meanings.NAME}(,{meanings.NAME})*$"}

#: Which type each keyword is about.
_ABOUT = {
    **dict.fromkeys(("pattern", "minLength", "maxLength", "format", "enum"), ("string",)),
    **dict.fromkeys(("minItems", "maxItems", "items", "uniqueItems"), ("array",)),
    **dict.fromkeys(
        ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), ("integer", "number")
    ),
}


def components(kinds: Iterable[type]) -> Json:
    """Schemas of messages and of all that they hold, by name.

    Parameters
    ----------
    kinds : iterable of type
        Message types.
    """
    found = {kind.__name__: kind for kind in reachable(kinds)}
    _, schemas = msgspec.json.schema_components(found.values(), ref_template=REFERENCE)
    return {name: _described(found[name], schemas[name]) for name in sorted(schemas)}


def reference(kind: type) -> Json:
    """A schema that says only which message it is."""
    return {"$ref": REFERENCE.format(name=kind.__name__)}


def query_parameters(query: type[Request]) -> list[Json]:
    """The query parameters that a message stands for, as they are read from an address.

    Names are listed with commas between them. Categories may hold commas, so each pair of an
    attribute and its category is a parameter of its own, and so is each term of a model.
    """
    return [_parameter(query, field) for field in msgspec.structs.fields(query)]


def _parameter(query: type[Request], field: msgspec.structs.FieldInfo) -> Json:
    meaning = meanings.of_parameter(query, field.name)
    kind = next((k for k in get_args(field.type) if type(None) in get_args(field.type)), field.type)
    parameter: Json = {
        "name": field.name,
        "in": "query",
        "required": field.required,
        "description": meaning.text,
    }
    if kind == dict[str, str]:
        schema: Json = {"type": "array", "items": _ATTRIBUTE_EQUALS_CATEGORY, "uniqueItems": True}
    elif kind == list[list[str]]:
        schema = {"type": "array", "items": _TERM}
    else:
        schema = dict(msgspec.json.schema(kind))
    if schema.get("type") == "array":
        parameter |= {"style": "form", "explode": kind != list[str]}
    schema = _limited(schema, meaning.limits)
    if field.default not in (msgspec.NODEFAULT, None):
        schema["default"] = field.default
    return {**parameter, "schema": schema}


def query_values(query: Request) -> dict[str, Any]:
    """A query's values as its parameters take them, without those that are left out."""
    return {
        name: _value(value)
        for name, value in msgspec.structs.asdict(query).items()
        if value is not None and value != {} and value != []
    }


def _value(value: Any) -> Any:
    if isinstance(value, dict):
        return [f"{name}={category}" for name, category in value.items()]
    if isinstance(value, list):
        return [",".join(part) if isinstance(part, list) else part for part in value]
    return value


def _described(kind: type, schema: Json) -> Json:
    """A message's schema in the words of this description."""
    described = {**schema, "description": markdown(kind.__doc__ or "")}
    raw = {field.name for field in msgspec.structs.fields(kind) if field.type is msgspec.Raw}
    described["properties"] = {
        name: _member(kind, name, reference(SurveyDocument) if name in raw else member)
        for name, member in schema["properties"].items()
    }
    return described


def _member(kind: type, name: str, schema: Json) -> Json:
    meaning = meanings.of_member(kind, name) or Meaning()
    described = _limited(schema, meaning.limits)
    return {**described, "description": meaning.text} if meaning.text else described


def _limited(schema: Json, limits: Mapping[str, Any]) -> Json:
    """A schema with further keywords, each where it is about the type."""
    if "anyOf" in schema:
        return {**schema, "anyOf": [_limited(option, limits) for option in schema["anyOf"]]}
    kind = schema.get("type")
    return {**schema, **{word: to for word, to in limits.items() if kind in _ABOUT[word]}}


def markdown(docstring: str) -> str:
    """A docstring as CommonMark, one line for each of its paragraphs."""
    text = re.sub(r":\w+:`~?([^`]+)`", r"`\1`", inspect.cleandoc(docstring)).replace("``", "`")
    return "\n\n".join(" ".join(part.split()) for part in text.split("\n\n"))


def reachable(kinds: Iterable[type]) -> Iterator[type]:
    """Messages with all that they hold, each once."""
    waiting, seen = [*kinds, SurveyDocument], set[type]()
    while waiting:
        kind = waiting.pop()
        if isinstance(kind, type) and issubclass(kind, msgspec.Struct) and kind not in seen:
            seen.add(kind)
            yield kind
            waiting.extend(field.type for field in msgspec.structs.fields(kind))
        else:
            waiting.extend(get_args(kind))
