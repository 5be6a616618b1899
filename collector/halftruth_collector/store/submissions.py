"""What a request brings to be counted: reports, checked and packed."""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from halftruth_shared import ReportError, ReportShape
from halftruth_shared.messages import Report

from ..errors import ReportIdReused, StaleDigest

#: Bytes of an invitation.
INVITATION_SIZE = 16

#: Reports for which arrays take longer than they save.
_FEW = 8

_INVITATION = re.compile(f"[0-9a-f]{{{2 * INVITATION_SIZE}}}", re.ASCII)


@dataclass(frozen=True)
class Submission:
    """The reports of one request.

    Attributes
    ----------
    survey_id, digest : str
    ids : list of bytes
        Of every report, in order, repeated ones included.
    packed : dict of bytes to bytes
        Packed report by id.
    invitations : dict of bytes to bytes
        Hash of the invitation by id of the report that it came with.
    sealed : bool
        Whether the reports came sealed.
    """

    survey_id: str
    digest: str
    ids: list[bytes]
    packed: dict[bytes, bytes]
    invitations: dict[bytes, bytes]
    sealed: bool = False


def pack(survey_id: str, digest: str, shape: ReportShape, reports: Sequence[Report]) -> Submission:
    """Check every report against the shape, and pack it.

    Raises
    ------
    ReportError
        If a report does not fit, naming its index and column.
    ReportIdReused
        If one id comes with two reports.
    """
    return combine(
        survey_id,
        digest,
        [report.id.bytes for report in reports],
        pack_values(shape, [report.values for report in reports]),
        [read_invitation(report.invitation, index) for index, report in enumerate(reports)],
    )


def combine(
    survey_id: str,
    digest: str,
    ids: list[bytes],
    cells: Sequence[bytes],
    invitations: Sequence[bytes | None],
    *,
    sealed: bool = False,
) -> Submission:
    """A submission of checked and packed reports.

    Raises
    ------
    ReportIdReused
        If one id comes with two reports.
    """
    packed = dict(zip(ids, cells, strict=True))
    if len(packed) < len(ids):
        first: dict[bytes, bytes] = {}
        for index, (id_, cell) in enumerate(zip(ids, cells, strict=True)):
            if first.setdefault(id_, cell) != cell:
                raise reused(index)
    brought = {
        id_: hash_invitation(invitation)
        for id_, invitation in zip(ids, invitations, strict=True)
        if invitation is not None
    }
    return Submission(survey_id, digest, ids, packed, brought, sealed)


def pack_values(shape: ReportShape, values: Sequence[Sequence[int]]) -> list[bytes]:
    """Packed reports, every one checked.

    Raises
    ------
    ReportError
    """
    if len(values) < _FEW:
        return [shape.pack(shape.check(report, index)) for index, report in enumerate(values)]
    try:
        array = np.array(values, dtype=np.int64).reshape(len(values), len(shape.shape))
    except (OverflowError, ValueError):
        array = None
    if array is None or ((array < 0) | (array >= shape.shape)).any():
        # Slower, and says what is wrong with which report.
        checked = [shape.check(report, index) for index, report in enumerate(values)]
        array = np.array(checked, dtype=np.int64).reshape(len(values), len(shape.shape))
    data = array.astype(shape.dtype).tobytes()
    size = shape.packed_size
    return [data[start : start + size] for start in range(0, len(data), size)]


def read_invitation(text: str | None, index: int) -> bytes | None:
    """The bytes of an invitation.

    Raises
    ------
    ReportError
        If it is not one; the message does not quote it.
    """
    if text is None:
        return None
    if not _INVITATION.fullmatch(text):
        raise ReportError(
            f"report {index}: invitation: expected {2 * INVITATION_SIZE} hexadecimal digits",
            field="invitation",
            index=index,
        )
    return bytes.fromhex(text)


def hash_invitation(invitation: bytes) -> bytes:
    """What is stored of an invitation; nobody can search 2¹²⁸ of them for one with a given hash."""
    return hashlib.sha256(invitation).digest()


def reused(index: int) -> ReportIdReused:
    """The error of an id with two different reports."""
    return ReportIdReused(
        f"report {index}: its id belongs to a different report; expected a new id", index=index
    )


def stale(survey_id: str) -> StaleDigest:
    """The error of a request for another version of a survey."""
    return StaleDigest(
        f"digest: survey '{survey_id}' has been published with another digest; fetch it again",
        field="digest",
    )
