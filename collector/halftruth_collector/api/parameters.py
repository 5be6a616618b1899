"""Query parameters and bodies, read strictly."""

import re
from collections.abc import Callable
from functools import cache
from typing import TypeVar, get_args

import msgspec
from flask import request
from halftruth_shared import ParameterError, ReportError
from halftruth_shared.messages import ReportBatch, Request, SealedBatch
from werkzeug.exceptions import RequestEntityTooLarge

from ..errors import MalformedRequest, TooLarge
from ..store.surveys import StoredSurvey

_REPORT_PATH = re.compile(r"`\$\.reports\[(\d+)\](\.values\[(\d+)\]|\.\w+)?")

T = TypeVar("T")
Q = TypeVar("Q", bound=Request)

#: What is accepted, in words, by the type of a query parameter.
_KINDS: dict[object, str] = {
    float: "a number, such as 0.05",
    float | None: "a number, such as 0.05",
    int: "an integer",
    int | None: "an integer",
    bool: "true or false",
    str: "a name",
    list[str]: "names with commas between them",
    list[str] | None: "names with commas between them",
    list[list[str]]: "names with commas between them, once for each term",
    dict[str, str]: "attribute=category, once for each attribute",
}

#: How a parameter that may be given several times is read, by its type.
_REPEATED: dict[object, Callable[[str, list[str]], object]] = {
    # Categories may hold commas, so every pair is a parameter of its own.
    dict[str, str]: lambda name, texts: _pairs(name, texts),
    list[list[str]]: lambda name, texts: [_names(text) for text in texts if texts != [""]],
}


def none() -> None:
    """Refuse every query parameter, so that a misspelt one is not silently ignored.

    Raises
    ------
    ParameterError
    """
    if request.query_string:
        query(Request)


def query(kind: type[Q], *, blanks: bool = False) -> Q:
    """The query parameters as a message.

    Parameters
    ----------
    kind : type
    blanks : bool
        Whether empty ones are left out, as fields of a form that nobody filled in.

    Raises
    ------
    ParameterError
        If one is unknown, missing, given twice or not of its kind.
    """
    fields = _fields(kind)
    given: dict[str, object] = {}
    for name, texts in request.args.lists():
        if blanks:
            texts = [text for text in texts if text]
            if not texts:
                continue
        if name not in fields:
            accepted = f"expected one of: {', '.join(fields)}" if fields else "expected none"
            raise ParameterError(f"{name}: unknown parameter; {accepted}", field=name)
        kind_of_field = fields[name].type
        if kind_of_field in _REPEATED:
            given[name] = _REPEATED[kind_of_field](name, texts)
        elif len(texts) > 1:
            raise ParameterError(f"{name}: expected once", field=name)
        elif kind_of_field in (list[str], list[str] | None):
            given[name] = _names(texts[0])
        else:
            given[name] = texts[0]
    for name, field in fields.items():
        if field.required and name not in given:
            raise ParameterError(f"{name}: expected {_kind(field.type)}", field=name)
    try:
        return msgspec.convert(given, kind, strict=False)
    except msgspec.ValidationError as error:
        name = str(error).partition("`$.")[2].rstrip("`")
        raise ParameterError(f"{name}: expected {_kind(fields[name].type)}", field=name) from None


@cache
def _fields(kind: type[Request]) -> dict[str, msgspec.structs.FieldInfo]:
    return {field.name: field for field in msgspec.structs.fields(kind)}


def _names(text: str) -> list[str]:
    return [part for part in text.split(",") if part]


def _pairs(name: str, texts: list[str]) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals:
            raise ParameterError(f"{name}: expected attribute=category", field=name)
        if key in pairs:
            raise ParameterError(f"{name}: '{key}' is given twice; expected once", field=name)
        pairs[key] = value
    return pairs


def _kind(annotation: object) -> str:
    """What a parameter of this type is, in words."""
    choices = get_args(annotation)
    if choices and all(isinstance(choice, str) for choice in choices):
        return f"one of: {', '.join(choices)}"
    return _KINDS.get(annotation, "another value")


def data() -> bytes:
    """The request's body.

    Raises
    ------
    TooLarge
        If it has more bytes than the collector takes.
    """
    most = request.max_content_length
    try:
        read = request.get_data(cache=False)
    except RequestEntityTooLarge:
        read = None
    # A body of undeclared length is cut off at the limit without a word.
    if read is None or (most is not None and len(read) >= most):
        raise TooLarge(f"body: expected fewer than {most} bytes", field="body")
    return read


def body(kind: type[T]) -> T:
    """The request's JSON as a message.

    Raises
    ------
    TooLarge
        If it has more bytes than the collector takes.
    MalformedRequest
        If it is not JSON.
    ParameterError
        If it is JSON of another shape.
    """
    return _decode(data(), kind)


def _decode(read: bytes, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(read, type=kind)
    except msgspec.ValidationError as error:
        raise ParameterError(f"body: {error}", field="body") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise MalformedRequest(f"body: expected JSON: {error}", field="body") from None
    except RecursionError:
        raise MalformedRequest(
            "body: expected JSON with fewer arrays and objects inside of each other", field="body"
        ) from None


def report_batch(read: bytes, stored: StoredSurvey) -> ReportBatch | SealedBatch:
    """A batch of reports as a survey takes them.

    Parameters
    ----------
    read : bytes
    stored : StoredSurvey

    Raises
    ------
    MalformedRequest
        If it is not JSON.
    ReportError
        If a report or one of its values is of a wrong type, or is sealed where it should not be
        or the other way round.
    ParameterError
        If anything else is.
    """
    sealed = stored.terms.sealing_key is not None
    try:
        if sealed:
            return _decode(read, SealedBatch)
        return _decode(read, ReportBatch)
    except ParameterError as error:
        raise _report_error(str(error), stored, sealed) or error from None


def _report_error(message: str, stored: StoredSurvey, sealed: bool) -> ReportError | None:
    """The same complaint in terms of report and column, if it is about a report."""
    place = _REPORT_PATH.search(message)
    if place is None:
        return None
    index = int(place[1])
    if sealed and "unknown field `values`" in message:
        said = "expected 'sealed', and no 'values': this survey takes sealed reports only"
        return ReportError(f"report {index}: {said}", field="sealed", index=index)
    if not sealed and "unknown field `sealed`" in message:
        said = "expected 'values': this survey takes no sealed reports"
        return ReportError(f"report {index}: {said}", field="values", index=index)
    survey = stored.survey()
    names = survey.mechanism.report_shape(survey.schema).names
    what = message.removeprefix("body: ").split(" - at")[0]
    what = what[0].lower() + what[1:]
    if place[3] is not None and int(place[3]) < len(names):
        name = names[int(place[3])]
        return ReportError(f"report {index}: '{name}': {what}", field=name, index=index)
    return ReportError(f"report {index}: {what}", field="reports", index=index)
