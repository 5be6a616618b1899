"""From the reports of a request to what is counted: checked and packed."""

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from typing import TypeVar

import numpy as np
from halftruth_shared import ReportError, ReportSpace
from halftruth_shared.protocol.reports import Report

from ..errors import StaleDigest
from ..store.invitations import hash_invitation

Value = TypeVar("Value")

#: Reports for which arrays take longer than they save.
_FEW = 8

_INVITATION = re.compile(r"[0-9a-f]{32}", re.ASCII)


@dataclass(frozen=True)
class Batch:
    """The reports of one request, checked and packed.

    Attributes
    ----------
    survey_id, digest : str
    ids : list of bytes
        Of every report, in order, repeated ones included.
    cells : dict of bytes to bytes
        Packed report by id; of reports with the same id, the first one's.
    invitations : dict of bytes to bytes
        Hash of the invitation by id of the report that it came with.
    sealed : bool
        Whether the reports came sealed.
    """

    survey_id: str
    digest: str
    ids: list[bytes]
    cells: dict[bytes, bytes]
    invitations: dict[bytes, bytes]
    sealed: bool = False


def check(survey_id: str, digest: str, space: ReportSpace, reports: Sequence[Report]) -> Batch:
    """Check every report against the report space, and pack it.

    Raises
    ------
    ReportError
        If a report does not fit, naming its index and column.
    """
    return collect(
        survey_id,
        digest,
        [report.id.bytes for report in reports],
        pack(space, [report.values for report in reports]),
        [read_invitation(report.invitation, index) for index, report in enumerate(reports)],
    )


def collect(
    survey_id: str,
    digest: str,
    ids: list[bytes],
    cells: Sequence[bytes],
    invitations: Sequence[bytes | None],
    *,
    sealed: bool = False,
) -> Batch:
    """A batch of reports that were checked and packed."""
    brought = {
        id_: hash_invitation(given)
        for id_, given in _first(ids, invitations).items()
        if given is not None
    }
    return Batch(survey_id, digest, ids, _first(ids, cells), brought, sealed)


def pack(space: ReportSpace, values: Sequence[Sequence[int]]) -> list[bytes]:
    """Packed reports, every one checked.

    Raises
    ------
    ReportError
    """
    if len(values) < _FEW:
        return [space.pack(space.check(report, index)) for index, report in enumerate(values)]
    array = None
    if {len(report) for report in values} == {len(space.shape)}:
        with suppress(OverflowError):
            array = np.fromiter(chain.from_iterable(values), np.int64).reshape(len(values), -1)
    if array is None or ((array < 0) | (array >= space.shape)).any():
        # Slower, and says what is wrong with which report.
        array = np.array([space.check(report, index) for index, report in enumerate(values)])
    packed: list[bytes] = array.astype(space.dtype).view(f"V{space.packed_size}").ravel().tolist()
    return packed


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
            f"report {index}: invitation: expected 32 hexadecimal digits",
            field="invitation",
            index=index,
        )
    return bytes.fromhex(text)


def stale(survey_id: str) -> StaleDigest:
    """The error of a request for another version of a survey."""
    return StaleDigest(
        f"digest: survey '{survey_id}' has been published with another digest; fetch it again",
        field="digest",
    )


def _first(ids: list[bytes], values: Sequence[Value]) -> dict[bytes, Value]:
    """The value of each id; of several, the first one."""
    found = dict(zip(ids, values, strict=True))
    if len(found) < len(ids):
        found = {}
        for id_, value in zip(ids, values, strict=True):
            found.setdefault(id_, value)
    return found
