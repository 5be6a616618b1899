"""Issue the tickets of surveys behind a relay, signed by its key.

The relay knows which address it issued an id to. It sees neither the secret of a ticket nor, since
the ticket is sealed with the report, which report it comes with. Only the number of the tickets of
a survey is stored.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from halftruth_collector.errors import StoreUnavailable, SurveyClosed
from halftruth_collector.intake.issuing import IssuedCounts, read_request
from halftruth_collector.store.database import Database
from halftruth_collector.store.tables import relay_surveys
from halftruth_shared import ParameterError
from halftruth_shared.protocol.reports import TicketRequest
from halftruth_shared.protocol.sealing import SealingKeys
from halftruth_shared.protocol.signed_tickets import TicketKeys
from halftruth_shared.protocol.tickets import issue

if TYPE_CHECKING:
    from .store import RegisteredSurvey


class RelayTickets:
    """Issues the tickets of the surveys of a relay."""

    def __init__(self, database: Database) -> None:
        self._issued = IssuedCounts(database, relay_surveys.c.number)
        #: The keys that were used last, with those that are derived from them.
        self._keys: tuple[SealingKeys, TicketKeys] | None = None

    def issue(
        self, survey: RegisteredSurvey, request: TicketRequest, keys: SealingKeys
    ) -> list[str]:
        """Issue a ticket for each commitment, in their order.

        Raises
        ------
        ParameterError
            If the survey has no tickets, or there are invitations, which it does not have.
        ReportError, TooLarge
            If a commitment is none, or there are too many.
        StaleDigest, SurveyClosed
        StoreUnavailable
            If this relay lacks the private key.
        """
        tickets_key = survey.relay.tickets_key
        if tickets_key is None:
            raise ParameterError("tickets: this survey asks for none", field="tickets")
        if request.invitations:
            raise ParameterError("invitations: this survey asks for none", field="invitations")
        commitments = read_request(request, survey.id, survey.digest)
        if not survey.is_open(datetime.now(UTC)):
            raise SurveyClosed(f"survey '{survey.id}' is closed", field="survey")
        sign = self._of(keys).signer(tickets_key)
        if sign is None:
            raise StoreUnavailable("this relay lacks the key that it signs tickets with")
        made = [issue(sign, survey.digest, commitment) for commitment in commitments]
        self._issued.add(survey.number, len(made))
        return made

    def _of(self, keys: SealingKeys) -> TicketKeys:
        known = self._keys
        if known is None or known[0] is not keys:
            self._keys = known = (keys, TicketKeys(keys))
        return known[1]

    def flush(self) -> None:
        """Write the numbers of issued tickets; keep them if the database is unavailable."""
        self._issued.flush()
