"""Step 1 of the intake: decode the body of a request into a batch of reports."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeVar

import msgspec
from halftruth_shared import ParameterError, ReportError
from halftruth_shared.protocol.reports import (
    RelayedBatch,
    Report,
    ReportBatch,
    SealedBatch,
    SealedReport,
)

from ..errors import MalformedRequest, TooLarge
from .checking import stale_digest_error, unexpected_seal_error

if TYPE_CHECKING:
    from ..store.surveys import StoredSurvey

#: Largest number of sealed reports in one request; opening one takes 0.2 ms.
MOST_SEALED = 1_000

#: Reports of one request: plain, sealed, or passed on by a relay.
AnyBatch = ReportBatch | SealedBatch | RelayedBatch

#: End of a decoder's message, with the path of the error in the body.
PLACE = re.compile(r" - at `\$\.(\w+)(?:\[(\d+)\])?(?:\.(\w+))?(?:\[(\d+)\])?`\Z")

#: A decoder's message about an unknown or missing member.
_NAMED = re.compile(r"Object (?:contains unknown|missing required) field `(.*)` - at", re.DOTALL)

#: Accepted values of the members of a report, for error messages.
_ACCEPTED = {
    "id": "a UUID",
    "values": "a list of integers",
    "invitation": "32 hexadecimal digits, or null",
    "ticket": "hexadecimal digits, or null",
    "sealed": "the encrypted report in base64",
}

T = TypeVar("T")
B = TypeVar("B", ReportBatch, SealedBatch, RelayedBatch)


def read(data: bytes, stored: "StoredSurvey", max_batch: int) -> AnyBatch:
    """Decode a batch of reports: plain, sealed or passed on by a relay, as the survey requires.

    Parameters
    ----------
    data : bytes
    stored : StoredSurvey
    max_batch : int
        Largest number of reports in one request.

    Raises
    ------
    MalformedRequest
        If it is not JSON.
    TooLarge
        If there are more reports.
    StaleDigest
        If they are for another version of the survey.
    ReportError
        If a report or one of its values has a wrong type, or a report is sealed although the survey
        takes plain ones, or the reverse.
    ParameterError
        If anything else has a wrong type.
    """
    survey = stored.survey()
    columns = survey.report_space.names
    if survey.relay is not None:
        # The size of a relay's requests, whatever `max_batch`: relays do not retry with fewer.
        return read_batch(data, RelayedBatch, stored.id, stored.digest, MOST_SEALED, columns)
    if stored.terms.sealing_key is not None:
        return read_batch(data, SealedBatch, stored.id, stored.digest, max_batch, columns)
    return read_batch(data, ReportBatch, stored.id, stored.digest, max_batch, columns)


def read_batch(
    data: bytes,
    kind: type[B],
    survey_id: str,
    digest: str,
    max_batch: int,
    columns: Sequence[str] = (),
) -> B:
    """Decode a batch of one kind for a survey with this digest and these columns.

    Raises
    ------
    MalformedRequest, TooLarge, StaleDigest, ReportError, ParameterError
        See :func:`read`.
    """
    sealed = kind is not ReportBatch
    most = min(max_batch, MOST_SEALED) if sealed else max_batch
    field = "relayed" if kind is RelayedBatch else "reports"
    expected = f"{field}: expected at most {most} in one request"
    # Count commas before decoding, which takes a hundred times the memory of an empty report.
    if data.count(b",") > (most + 1) * ((1 if sealed else len(columns)) + 3):
        raise TooLarge(expected, field=field)
    try:
        batch = decode_json(data, kind)
    except msgspec.ValidationError as error:
        report = SealedReport if kind is SealedBatch else Report
        raise _report_error(str(error), columns, report) or wrong_shape(error) from None
    if batch.digest != digest:
        raise stale_digest_error(survey_id)
    count = len(batch.relayed if isinstance(batch, RelayedBatch) else batch.reports)
    if count > most:
        raise TooLarge(f"{expected}, got {count}", field=field)
    return batch


def decode_json(data: bytes, kind: type[T]) -> T:
    """Decode the JSON body of a request.

    Raises
    ------
    MalformedRequest
        If it is not JSON.
    msgspec.ValidationError
        If the JSON does not match the type.
    """
    try:
        return msgspec.json.decode(data, type=kind)
    except msgspec.ValidationError:
        raise
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise MalformedRequest(f"body: expected JSON: {error}", field="body") from None
    except RecursionError:
        raise MalformedRequest(
            "body: expected JSON with fewer arrays and objects inside of each other", field="body"
        ) from None


def wrong_shape(error: msgspec.ValidationError) -> ParameterError:
    """Return the error of a body whose JSON does not match the type."""
    return ParameterError(f"body: {error}", field="body")


def _report_error(
    message: str, columns: Sequence[str], kind: type[Report | SealedReport]
) -> ReportError | None:
    """Return an error about the report that a decoder's message names; None if it names none."""
    place, named = PLACE.search(message), _NAMED.search(message)
    if place is None or place[1] != "reports" or place[2] is None:
        return None
    index, member = int(place[2]), named[1] if named else place[3]
    known = [field.name for field in msgspec.structs.fields(kind)]
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
