"""Step 2 of the intake: open (decrypt) sealed reports."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from halftruth_shared import HalftruthError, ReportError, ReportSpace
from halftruth_shared.protocol.reports import (
    RelayedBatch,
    Report,
    ReportBatch,
    SealedBatch,
    SealedReport,
)
from halftruth_shared.protocol.tickets import CODE, ID, SECRET, Ticket, ticket_size

from ..errors import StoreUnavailable, TicketRefused
from .checking import Batch, TicketCheck

if TYPE_CHECKING:
    # Only collectors with sealed surveys import cryptography.
    from halftruth_shared.protocol.sealing import SealingKeys

    from ..store.surveys import StoredSurvey


def open_reports(
    stored: StoredSurvey, batch: ReportBatch | SealedBatch, keys: SealingKeys | None
) -> Sequence[Report]:
    """Return the reports of a batch, decrypted if they are sealed.

    Parameters
    ----------
    stored : StoredSurvey
    batch : ReportBatch or SealedBatch
    keys : SealingKeys, optional
        The private keys of this collector.

    Raises
    ------
    ReportError
        If a report cannot be opened, naming its index.
    StoreUnavailable
        If the survey is sealed to a key that this collector does not have.
    """
    if isinstance(batch, ReportBatch):
        return batch.reports
    if keys is None or stored.terms.sealing_key not in keys.public:
        raise _missing_key()
    survey, invited = stored.survey(), stored.terms.invitations
    return [
        open_report(
            *(stored.digest, invited, survey.report_space, report, index, keys),
            with_ticket=survey.has_tickets,
        )
        for index, report in enumerate(batch.reports)
    ]


def open_relayed_batch(
    stored: StoredSurvey,
    batch: RelayedBatch,
    keys: SealingKeys | None,
    tickets: TicketCheck | None,
) -> Batch:
    """Open, check and pack the reports that the survey's relay passes on.

    A relay cannot read the reports that it passes on. So an invalid report does not refuse the
    batch: reports that cannot be opened, do not fit the survey or lack a ticket of the relay for
    their view are omitted, and counted as refused.

    Parameters
    ----------
    stored : StoredSurvey
    batch : RelayedBatch
    keys : SealingKeys, optional
        The private keys of this collector.
    tickets : TicketCheck, optional
        Check of the tickets, for a survey that requires them.

    Raises
    ------
    StoreUnavailable
        If the survey is sealed to a key that this collector does not have.
    """
    from halftruth_shared.protocol.sealing import open_relayed

    survey = stored.survey()
    space, relay = survey.report_space, survey.relay
    if keys is None or relay is None or relay.sealing_key not in keys.public:
        raise _missing_key()
    size = space.packed_size + ticket_size(survey)
    ids: list[bytes] = []
    cells: dict[bytes, bytes] = {}
    spent: dict[bytes, bytes] = {}
    refused: list[HalftruthError] = []
    for sealed in batch.relayed:
        try:
            id_, content = open_relayed(keys, stored.digest, sealed, size)
        except ReportError as error:
            refused.append(error)
            continue
        packed, ticket = content[: space.packed_size], content[space.packed_size :]
        try:
            values = space.check(space.unpack(packed), 0)
            ticket_id = None if tickets is None else _check_ticket(tickets, ticket, values)
        except TicketRefused as error:
            refused.append(error)
            continue
        except ReportError:
            refused.append(ReportError("does not fit the survey"))
            continue
        ids.append(id_.bytes)
        if id_.bytes not in cells:
            cells[id_.bytes] = packed
            if ticket_id is not None:
                spent[id_.bytes] = ticket_id
    return Batch(
        *(stored.id, stored.digest, ids, cells, {}),
        relayed=True,
        refused=refused,
        finished=batch.finished,
        tickets=spent,
        needs_tickets=tickets is not None,
    )


def _check_ticket(tickets: TicketCheck, packed: bytes, values: Sequence[int]) -> bytes:
    """Return the id of the ticket of a relayed report; TicketRefused if it is not its own."""
    ticket = Ticket.from_bytes(packed)
    why = tickets.check(ticket, values)
    if why is not None:
        raise TicketRefused(f"ticket: {why}", index=0)
    return ticket.id


def open_report(
    digest: str,
    invited: bool,
    space: ReportSpace,
    report: SealedReport,
    index: int,
    keys: SealingKeys,
    *,
    with_ticket: bool = False,
) -> Report:
    """Open a sealed report, without checking the range of its values.

    Parameters
    ----------
    digest : str
        Digest of the survey that the report was sealed for.
    invited, with_ticket : bool
        Whether the sealed content includes an invitation, and the bytes of a ticket.
    space : ReportSpace
    report : SealedReport
    index : int
        Position of the report in its batch, for error messages.
    keys : SealingKeys

    Raises
    ------
    ReportError
        If it cannot be opened.
    """
    from halftruth_shared.protocol.sealing import open_sealed

    size = space.packed_size + (ID + SECRET + CODE if with_ticket else 0)
    try:
        content, invitation = open_sealed(keys, digest, report.id, report.sealed, size, invited)
    except ReportError as error:
        raise ReportError(f"report {index}: {error}", field=error.field, index=index) from None
    return Report(
        id=report.id,
        values=list(space.unpack(content[: space.packed_size])),
        invitation=invitation,
        # Zeros stand for no ticket, so that all reports have one length.
        ticket=content[space.packed_size :].hex() if any(content[space.packed_size :]) else None,
    )


def _missing_key() -> StoreUnavailable:
    """Return the error of a missing key: 503, since an operator can add it and clients retry."""
    return StoreUnavailable("this collector lacks the key that reports are sealed to")
