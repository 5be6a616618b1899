"""Strict parsing of query parameters and bodies."""

from typing import TypeVar

import msgspec
from flask import request
from halftruth_shared.analyses.reading import fields
from halftruth_shared.analyses.reading import read as read_texts
from halftruth_shared.protocol.base import Request
from werkzeug.exceptions import RequestEntityTooLarge

from ..errors import TooLarge
from ..intake.reading import PLACE, decode_json, wrong_shape

#: Kinds of fields whose errors describe the accepted values.
_SIMPLE = ("number", "integer", "integers", "flag", "choice")

T = TypeVar("T")
Q = TypeVar("Q", bound=Request)


def reject_query(*others: str) -> None:
    """Refuse all query parameters but `others`, which are read elsewhere.

    Otherwise a misspelt parameter would silently be ignored.
    """
    if request.query_string:
        read_query(Request, others=others)


def read_query(kind: type[Q], *, others: tuple[str, ...] = ()) -> Q:
    """Parse the query parameters, except `others`, as a message (ParameterError)."""
    given = {name: texts for name, texts in request.args.lists() if name not in others}
    return read_texts(kind, given)


def from_form(kind: type[Request]) -> dict[str, list[str]]:
    """Return the values of an HTML form by the fields of a message, without empty ones."""
    given = {name: request.form.get(name, "").strip() for name in fields(kind)}
    # Browsers send times without a time zone, and omit zero seconds.
    for name in ("opens_at", "closes_at"):
        if moment := given.get(name):
            given[name] = f"{moment}:00Z" if moment.count(":") == 1 else f"{moment}Z"
    return {name: [text] for name, text in given.items() if text}


def read_body() -> bytes:
    """Return the body of the request, unless it is too large (TooLarge)."""
    most = request.max_content_length
    try:
        read = request.get_data(cache=False)
    except RequestEntityTooLarge:
        read = None
    # A body without a declared length is silently truncated at the limit.
    if read is None or (most is not None and len(read) >= most):
        raise TooLarge(f"body: expected fewer than {most} bytes", field="body")
    return read


def decode_body(kind: type[T]) -> T:
    """Parse the JSON body of the request as a message.

    Raises TooLarge, MalformedRequest if it is not JSON, and ParameterError if the JSON does not
    match the type.
    """
    try:
        return decode_json(read_body(), kind)
    except msgspec.ValidationError as error:
        place = PLACE.search(str(error))
        if place is not None and place[3] is None and issubclass(kind, Request):
            field = fields(kind).get(place[1])
            if field is not None and field.kind in _SIMPLE:
                raise field.unexpected() from None
        raise wrong_shape(error) from None
