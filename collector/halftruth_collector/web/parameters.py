"""Query parameters and bodies, read strictly."""

from typing import Any, TypeVar

import msgspec
from flask import request
from halftruth_shared import ParameterError, ReportError
from halftruth_shared.analyses.reading import fields
from halftruth_shared.analyses.reading import read as read_query
from halftruth_shared.protocol.base import Request, prepare
from halftruth_shared.protocol.reports import Report, ReportBatch, SealedBatch, SealedReport
from werkzeug.exceptions import RequestEntityTooLarge

from ..errors import MalformedRequest, TooLarge
from ..store.surveys import StoredSurvey

T = TypeVar("T")
Q = TypeVar("Q", bound=Request)


def none() -> None:
    """Refuse every query parameter, so that a misspelt one is not silently ignored.

    Raises
    ------
    ParameterError
    """
    if request.query_string:
        query(Request)


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
        raise _of_member(read, kind) or ParameterError(f"body: {error}", field="body") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise MalformedRequest(f"body: expected JSON: {error}", field="body") from None
    except RecursionError:
        raise MalformedRequest(
            "body: expected JSON with fewer arrays and objects inside of each other", field="body"
        ) from None


def _of_member(read: bytes, kind: type[Any]) -> ParameterError | None:
    """The complaint about a number or a choice in a body, if it is about one."""
    if not _is(read, dict[str, msgspec.Raw]) or not issubclass(kind, Request):
        return None
    members = msgspec.json.decode(read, type=dict[str, msgspec.Raw])
    for field in fields(kind).values():
        simple = field.kind in ("number", "integer", "integers", "flag", "choice")
        if simple and field.name in members and not _is(members[field.name], field.type):
            return field.unexpected()
    return None


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
        return _decode(read, SealedBatch) if sealed else _decode(read, ReportBatch)
    except ParameterError:
        # Only now each report is looked at by itself, to say which one it is.
        kind = SealedReport if sealed else Report
        for index, report in enumerate(_decode(read, _Batch).reports):
            if not _is(report, kind):
                said, field = _wrong(report, kind, stored)
                error = ReportError(f"report {index}: {said}", field=field, index=index)
                raise error from None
        raise


class _Batch(Request, frozen=True, kw_only=True):
    """A batch whose reports have not been read yet."""

    digest: str
    reports: list[msgspec.Raw]


prepare(_Batch)

#: What the members of a report are, in words.
_ACCEPTED = {
    "id": "a UUID",
    "values": "a list of integers",
    "invitation": "32 hexadecimal digits, or null",
    "sealed": "the encrypted report in base64",
}


def _wrong(
    report: msgspec.Raw, kind: type[Report | SealedReport], stored: StoredSurvey
) -> tuple[str, str]:
    """Return the first error in a report in words, and the member that it is about."""
    if not _is(report, dict[str, msgspec.Raw]):
        return "expected an object", "reports"
    members = msgspec.json.decode(report, type=dict[str, msgspec.Raw])
    if kind is SealedReport and "values" in members:
        said = "expected 'sealed', and no 'values': this survey takes sealed reports only"
        return said, "sealed"
    if kind is Report and "sealed" in members:
        return "expected 'values': this survey takes no sealed reports", "values"
    known = {field.name: field for field in msgspec.structs.fields(kind)}
    for name in members:
        if name not in known:
            return f"{name}: unknown member; expected some of: {', '.join(known)}", "reports"
    for name, field in known.items():
        if name in members and name == "values" and _is(members[name], list[msgspec.Raw]):
            values = msgspec.json.decode(members[name], type=list[msgspec.Raw])
            for value, column in zip(values, stored.survey().report_space.names, strict=False):
                if not _is(value, int):
                    return f"'{column}': expected an integer", column
        if not _is(members[name], field.type) if name in members else field.required:
            return f"{name}: expected {_ACCEPTED[name]}", name
    return "expected each member once", "reports"


def _is(read: msgspec.Raw | bytes, kind: object) -> bool:
    try:
        msgspec.json.decode(read, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        # What another reading passes over need not be JSON at all.
        return False
    return True
