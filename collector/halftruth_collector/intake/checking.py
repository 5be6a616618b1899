"""The third step of a report's way in: every value is checked, and the report packed."""

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from typing import TypeVar

import numpy as np
from halftruth_shared import ReportError, ReportSpace
from halftruth_shared.protocol.reports import Report
from numpy.typing import NDArray

from ..errors import StaleDigest

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
    relayed : bool
        Whether a relay passed them on, which it also does after the survey was closed.
    refused : int
        Reports of the request that are left out, as a relay cannot look into what it passes on.
    finished : bool
        Whether the relay has nothing more to pass on.
    """

    survey_id: str
    digest: str
    ids: list[bytes]
    cells: dict[bytes, bytes]
    invitations: dict[bytes, bytes]
    sealed: bool = False
    relayed: bool = False
    refused: int = 0
    finished: bool = False


def check(
    survey_id: str,
    digest: str,
    space: ReportSpace,
    reports: Sequence[Report],
    *,
    sealed: bool = False,
) -> Batch:
    """Check every report against the report space, and pack it.

    Raises
    ------
    ReportError
        If a report does not fit, naming its index and column.
    """
    # Imported here: who checks reports in files needs no database.
    from ..store.invitations import hash_invitation

    ids = [report.id.bytes for report in reports]
    cells = pack(space, [report.values for report in reports])
    invitations = [read_invitation(report.invitation, at) for at, report in enumerate(reports)]
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
    if array is None or not fitting(space, array).all():
        # Slower, and says what is wrong with which report.
        array = np.array([space.check(report, index) for index, report in enumerate(values)])
    packed: list[bytes] = pack_all(space, array).tolist()
    return packed


def fitting(space: ReportSpace, values: NDArray[np.integer]) -> NDArray[np.bool_]:
    """Mask of the reports with every value inside its column, of those with a value for each."""
    inside: NDArray[np.bool_] = (values >= 0) & (values < np.array(space.shape))
    fits: NDArray[np.bool_] = np.logical_and.reduce(inside, axis=1)
    return fits


def pack_all(space: ReportSpace, values: NDArray[np.integer]) -> NDArray[np.void]:
    """Packed reports, of values that fit."""
    return values.astype(space.dtype).view(f"V{space.packed_size}").ravel()


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
        message = f"report {index}: invitation: expected 32 hexadecimal digits"
        raise ReportError(message, field="invitation", index=index)
    return bytes.fromhex(text)


def stale(survey_id: str) -> StaleDigest:
    """The error of a request for another version of a survey."""
    return StaleDigest(
        f"digest: survey '{survey_id}' has been published with another digest; fetch it again",
        field="digest",
    )


def unexpected_seal_error(index: int, *, sealed: bool) -> ReportError:
    """The error of a sealed report of a survey that does not seal, or the other way round."""
    member, takes = ("values", "no sealed reports") if sealed else ("sealed", "sealed reports only")
    message = f"report {index}: expected '{member}': this survey takes {takes}"
    return ReportError(message, field=member, index=index)


def unexpected_invitation_error(index: int) -> ReportError:
    """The error of a report with an invitation of a survey that asks for none."""
    message = f"report {index}: invitation: this survey asks for none"
    return ReportError(message, field="invitation", index=index)


def _first(ids: list[bytes], values: Sequence[Value]) -> dict[bytes, Value]:
    """The value of each id; of several, the first one."""
    first = dict(zip(ids, values, strict=True))
    if len(first) < len(ids):
        first = {}
        for id_, value in zip(ids, values, strict=True):
            first.setdefault(id_, value)
    return first
