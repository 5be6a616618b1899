"""Query parameters and bodies, read strictly."""

from typing import TypeVar

import msgspec
from flask import request
from halftruth_shared.analyses.reading import fields
from halftruth_shared.analyses.reading import read as read_query
from halftruth_shared.protocol.base import Request
from werkzeug.exceptions import RequestEntityTooLarge

from ..errors import TooLarge
from ..intake.reading import PLACE, decode_json, wrong_shape

#: Kinds of fields whose error says what they accept.
_SIMPLE = ("number", "integer", "integers", "flag", "choice")

T = TypeVar("T")
Q = TypeVar("Q", bound=Request)


def none(*beside: str) -> None:
    """Refuse every query parameter, so that a misspelt one is not silently ignored.

    Parameters
    ----------
    beside : str
        Parameters that are read elsewhere.

    Raises
    ------
    ParameterError
    """
    if request.query_string:
        query(Request, beside=beside)


def query(kind: type[Q], *, beside: tuple[str, ...] = ()) -> Q:
    """The query parameters as a message.

    Parameters
    ----------
    kind : type
    beside : tuple of str
        Parameters that are read elsewhere.

    Raises
    ------
    ParameterError
        If one is unknown, missing, given twice or not what it takes.
    """
    given = {name: texts for name, texts in request.args.lists() if name not in beside}
    return read_query(kind, given)


def filled(kind: type[Request]) -> dict[str, list[str]]:
    """Return the values of a page's form by the fields of a message, without blanks."""
    given = {name: request.form.get(name, "").strip() for name in fields(kind)}
    # Browsers say moments without a time zone, and no seconds where these are none.
    moment = given.get("closes_at")
    if moment:
        given["closes_at"] = f"{moment}:00Z" if moment.count(":") == 1 else f"{moment}Z"
    return {name: [text] for name, text in given.items() if text}


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
        return decode_json(read, kind)
    except msgspec.ValidationError as error:
        place = PLACE.search(str(error))
        if place is not None and place[3] is None and issubclass(kind, Request):
            field = fields(kind).get(place[1])
            if field is not None and field.kind in _SIMPLE:
                raise field.unexpected() from None
        raise wrong_shape(error) from None
