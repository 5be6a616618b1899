"""Step 3 of the intake: check every value, and pack each report into the bytes of its cell."""

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain
from typing import TypeVar

import numpy as np
from halftruth_shared import HalftruthError, ReportError, ReportSpace, Survey
from halftruth_shared.protocol.reports import Report
from halftruth_shared.protocol.tickets import Ticket, draw_view
from numpy.typing import NDArray

from ..errors import StaleDigest, TicketRefused

Value = TypeVar("Value")

#: Smallest number of reports for which checking them as an array is faster.
_ARRAY_FROM = 8

_INVITATION = re.compile(r"[0-9a-f]{32}", re.ASCII)


@dataclass(frozen=True)
class TicketCheck:
    """Check of the tickets of reports to one survey.

    `is_issued` returns whether a ticket was issued for the survey, for the commitment to its
    secret: by this collector, or by the relay of the survey.
    """

    survey: Survey
    is_issued: Callable[[Ticket], bool]

    def check(self, ticket: Ticket, values: Sequence[int]) -> str | None:
        """Return why this is not the ticket of a report with valid values; None if it is."""
        digest, perturbation = self.survey.digest, self.survey.perturbation
        if not self.is_issued(ticket):
            return "it was not issued here, or to somebody else"
        if draw_view(perturbation, digest, ticket.id, ticket.secret) != perturbation.view_number(
            values
        ):
            return "it asks about other questions than the report is about"
        return None


@dataclass(frozen=True)
class Batch:
    """The reports of one request, checked and packed.

    Attributes
    ----------
    survey_id, digest : str
    ids : list of bytes
        Ids of all reports in order, including duplicates.
    cells : dict of bytes to bytes
        Packed report by id; the first one of reports with the same id.
    invitations : dict of bytes to bytes
        Hash of the invitation by id of its report.
    tickets : dict of bytes to bytes
        Id of the ticket, which was issued for the view, by id of its report.
    needs_tickets : bool
        Whether every new report needs a ticket.
    sealed : bool
        Whether the reports came sealed.
    relayed : bool
        Whether a relay passed the reports on, which is also accepted after the survey was closed.
    refused : sequence of HalftruthError
        Errors of the invalid reports of a relay, which are omitted since a relay cannot check them.
    finished : bool
        Whether the relay will pass on no further reports.
    """

    survey_id: str
    digest: str
    ids: list[bytes]
    cells: dict[bytes, bytes]
    invitations: dict[bytes, bytes]
    sealed: bool = False
    relayed: bool = False
    refused: Sequence[HalftruthError] = ()
    finished: bool = False
    tickets: dict[bytes, bytes] = field(default_factory=dict)
    needs_tickets: bool = False


def check(
    survey_id: str,
    digest: str,
    space: ReportSpace,
    reports: Sequence[Report],
    *,
    sealed: bool = False,
    tickets: TicketCheck | None = None,
    needs_tickets: bool = False,
) -> Batch:
    """Check every report against the report space, and its ticket, and pack it.

    Parameters
    ----------
    survey_id, digest : str
    space : ReportSpace
    reports : sequence of Report
    sealed : bool
    tickets : TicketCheck, optional
        Check of the tickets, for a survey that requires them.
    needs_tickets : bool
        Whether a new report without a ticket is refused.

    Raises
    ------
    ReportError
        If a report does not fit, naming its index and column.
    TicketRefused
        If the ticket of a report was not issued here, or for another view.
    """
    # Imported here: checking reports in files needs no database.
    from ..store.invitations import hash_invitation

    ids = [report.id.bytes for report in reports]
    cells = pack(space, [report.values for report in reports])
    invitations = [read_invitation(report.invitation, at) for at, report in enumerate(reports)]
    hashes = {
        id_: hash_invitation(given)
        for id_, given in _first(ids, invitations).items()
        if given is not None
    }
    given = [_ticket_id(report, index, tickets) for index, report in enumerate(reports)]
    spent = {id_: ticket for id_, ticket in _first(ids, given).items() if ticket is not None}
    return Batch(
        *(survey_id, digest, ids, _first(ids, cells), hashes, sealed),
        tickets=spent,
        needs_tickets=needs_tickets,
    )


def _ticket_id(report: Report, index: int, tickets: TicketCheck | None) -> bytes | None:
    """Return the id of the checked ticket of a report; None if it has no ticket."""
    if report.ticket is None:
        return None
    if tickets is None:
        raise ReportError(
            f"report {index}: ticket: this survey asks for none", field="ticket", index=index
        )
    try:
        ticket = Ticket.from_text(report.ticket)
    except ReportError as error:
        raise ReportError(f"report {index}: {error}", field=error.field, index=index) from None
    why = tickets.check(ticket, report.values)
    if why is not None:
        raise ticket_refused(index, why)
    return ticket.id


def pack(space: ReportSpace, values: Sequence[Sequence[int]]) -> list[bytes]:
    """Check all reports, and return them packed.

    Raises
    ------
    ReportError
    """
    if len(values) < _ARRAY_FROM:
        return [space.pack(space.check(report, index)) for index, report in enumerate(values)]
    array = None
    if {len(report) for report in values} == {len(space.shape)}:
        with suppress(OverflowError):
            array = np.fromiter(chain.from_iterable(values), np.int64).reshape(len(values), -1)
    if array is None or not find_valid(space, array).all():
        # Slower, but raises an error that names the report and the column.
        array = np.array([space.check(report, index) for index, report in enumerate(values)])
    packed: list[bytes] = pack_all(space, array).tolist()
    return packed


def find_valid(space: ReportSpace, values: NDArray[np.integer]) -> NDArray[np.bool_]:
    """Return a mask of the reports whose values are all in range."""
    inside: NDArray[np.bool_] = (values >= 0) & (values < np.array(space.shape))
    fits: NDArray[np.bool_] = np.logical_and.reduce(inside, axis=1)
    return fits


def pack_all(space: ReportSpace, values: NDArray[np.integer]) -> NDArray[np.void]:
    """Pack reports with valid values."""
    return values.astype(space.dtype).view(f"V{space.packed_size}").ravel()


def read_invitation(text: str | None, index: int) -> bytes | None:
    """Return the bytes of an invitation.

    Raises
    ------
    ReportError
        If it is invalid; the message does not quote it.
    """
    if text is None:
        return None
    if not _INVITATION.fullmatch(text):
        message = f"report {index}: invitation: expected 32 hexadecimal digits"
        raise ReportError(message, field="invitation", index=index)
    return bytes.fromhex(text)


def stale_digest_error(survey_id: str) -> StaleDigest:
    """Return the error of a request for another version of a survey."""
    return StaleDigest(
        f"digest: survey '{survey_id}' has been published with another digest; fetch it again",
        field="digest",
    )


def unexpected_seal_error(index: int, *, sealed: bool) -> ReportError:
    """Return the error of a sealed report of an unsealed survey, or the reverse."""
    member, takes = ("values", "no sealed reports") if sealed else ("sealed", "sealed reports only")
    message = f"report {index}: expected '{member}': this survey takes {takes}"
    return ReportError(message, field=member, index=index)


def unexpected_invitation_error(index: int) -> ReportError:
    """Return the error of a report with an invitation, if the survey does not use invitations."""
    message = f"report {index}: invitation: this survey asks for none"
    return ReportError(message, field="invitation", index=index)


def ticket_refused(index: int, why: str) -> TicketRefused:
    """Return the error of a report with a ticket that is not accepted, or without one."""
    return TicketRefused(f"report {index}: ticket: {why}", index=index)


def _first(ids: list[bytes], values: Sequence[Value]) -> dict[bytes, Value]:
    """Map each id to its first value."""
    first = dict(zip(ids, values, strict=True))
    if len(first) < len(ids):
        first = {}
        for id_, value in zip(ids, values, strict=True):
            first.setdefault(id_, value)
    return first
