"""Query parameters and bodies, read strictly."""

import re
from typing import TypeVar

import msgspec
from flask import request
from halftruth_shared import ParameterError, ReportError
from halftruth_shared.analyses.reading import fields
from halftruth_shared.analyses.reading import read as read_query
from halftruth_shared.protocol.base import Request
from halftruth_shared.protocol.reports import Report, ReportBatch, SealedBatch, SealedReport
from werkzeug.exceptions import RequestEntityTooLarge

from ..errors import MalformedRequest, TooLarge
from ..intake.checking import unexpected_seal_error
from ..store.surveys import StoredSurvey

#: What a decoder's message ends with: where in a body something is wrong.
_PLACE = re.compile(r" - at `\$\.(\w+)(?:\[(\d+)\])?(?:\.(\w+))?(?:\[(\d+)\])?`\Z")

#: A decoder's message about a member that there should not be, or should.
_NAMED = re.compile(r"Object (?:contains unknown|missing required) field `(.*)` - at", re.DOTALL)

#: Kinds of fields whose error says what they accept.
_SIMPLE = ("number", "integer", "integers", "flag", "choice")

#: What the members of a report are, in words.
_ACCEPTED = {
    "id": "a UUID",
    "values": "a list of integers",
    "invitation": "32 hexadecimal digits, or null",
    "sealed": "the encrypted report in base64",
}

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
        return msgspec.json.decode(read, type=kind)
    except msgspec.ValidationError as error:
        place = _PLACE.search(str(error))
        if place is not None and place[3] is None and issubclass(kind, Request):
            field = fields(kind).get(place[1])
            if field is not None and field.kind in _SIMPLE:
                raise field.unexpected() from None
        raise ParameterError(f"body: {error}", field="body") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise MalformedRequest(f"body: expected JSON: {error}", field="body") from None
    except RecursionError:
        raise MalformedRequest(
            "body: expected JSON with fewer arrays and objects inside of each other", field="body"
        ) from None


def report_batch(read: bytes, stored: StoredSurvey) -> ReportBatch | SealedBatch:
    """A batch of reports as a survey takes them.

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
        return _decode(read, SealedBatch) if sealed else _decode(read, ReportBatch)
    except ParameterError as error:
        raise (
            _report_error(str(error), stored, SealedReport if sealed else Report) or error
        ) from None


def _report_error(
    message: str, stored: StoredSurvey, kind: type[Report | SealedReport]
) -> ReportError | None:
    """The error of the report that a decoder's message is about, if it is about one."""
    place, named = _PLACE.search(message), _NAMED.search(message)
    if place is None or place[1] != "reports" or place[2] is None:
        return None
    index, member = int(place[2]), named[1] if named else place[3]
    known = [field.name for field in msgspec.structs.fields(kind)]
    columns = stored.survey().report_space.names
    if kind is SealedReport and member == "values":
        detail = "expected 'sealed', and no 'values': this survey takes sealed reports only"
        member = "sealed"
    elif kind is Report and member == "sealed":
        return unexpected_seal_error(index, sealed=True)
    elif member not in known:
        detail = "expected an object"
        if member is not None:
            detail = f"{member}: unknown member; expected some of: {', '.join(known)}"
        member = "reports"
    elif place[4] is not None and int(place[4]) < len(columns):
        member = columns[int(place[4])]
        detail = f"'{member}': expected an integer"
    else:
        detail = f"{member}: expected {_ACCEPTED[member]}"
    return ReportError(f"report {index}: {detail}", field=member, index=index)
