"""Tickets of reports that are not drawn yet, which decide what these will be about.

They come from the collector or, for a survey with a relay, from the relay alone.

A ticket is used for one report, whether or not the report arrives: two views for the same answers
reveal more than one. Tickets that were fetched beforehand are kept by digest, in the outbox if
there is one, so that people can answer without a connection.
"""

import hashlib
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

from halftruth_shared import ReportError, Survey
from halftruth_shared.protocol.reports import IssuedTickets, TicketRequest
from halftruth_shared.protocol.surveys import survey_path
from halftruth_shared.protocol.tickets import Ticket, commit, new_secret

from .catalog import Catalog
from .delivery import BATCH, check_required
from .errors import CollectorUnavailable, RequestRefused

if TYPE_CHECKING:
    from .outbox import Outbox


class Tickets:
    """Tickets of a client: those in memory or in its outbox, and those of the issuer."""

    def __init__(self, outbox: "Outbox | None") -> None:
        self._outbox = outbox
        self._lock = threading.Lock()
        self._kept: dict[str, list[Ticket]] = {}

    def take(
        self, catalog: Catalog, survey: Survey, invitations: Sequence[str | None]
    ) -> list[Ticket]:
        """Return a ticket for each of some reports, which is not used again.

        Raises
        ------
        ParameterError
            If invitations are missing or not required.
        CollectorUnavailable
            If too few are kept here, and the issuer cannot be reached; those are kept.
        RequestRefused
        """
        found = self._pop(survey.digest, len(invitations))
        try:
            return found + _fetch(catalog, survey, invitations[len(found) :])
        except BaseException:
            self._keep(survey.digest, found)
            raise

    def fetch(self, catalog: Catalog, survey: Survey, invitations: Sequence[str | None]) -> None:
        """Fetch tickets, one for each, and keep them for later reports.

        Raises
        ------
        ParameterError, CollectorUnavailable, RequestRefused
            See :meth:`take`.
        """
        self._keep(survey.digest, _fetch(catalog, survey, invitations))

    def fetch_quietly(self, catalog: Catalog, survey: Survey) -> None:
        """Fetch a ticket with a survey, if none is kept; without one, reports ask for theirs."""
        if catalog.entry(survey.id, survey.digest).terms.invitations or self._has(survey):
            return
        try:
            self.fetch(catalog, survey, [None])
        except (CollectorUnavailable, RequestRefused):
            return

    def _has(self, survey: Survey) -> bool:
        if self._outbox is not None:
            return self._outbox.has_ticket(survey.digest)
        with self._lock:
            return bool(self._kept.get(survey.digest))

    def _pop(self, digest: str, count: int) -> list[Ticket]:
        if self._outbox is not None:
            return self._outbox.pop_tickets(digest, count)
        with self._lock:
            kept = self._kept.get(digest, [])
            found, kept[:] = kept[:count], kept[count:]
        return found

    def _keep(self, digest: str, tickets: Sequence[Ticket]) -> None:
        if self._outbox is not None:
            self._outbox.keep_tickets(digest, tickets)
            return
        with self._lock:
            self._kept.setdefault(digest, []).extend(tickets)


def _fetch(catalog: Catalog, survey: Survey, invitations: Sequence[str | None]) -> list[Ticket]:
    """Take tickets from the collector or the relay, in as few requests as it accepts."""
    if not invitations:
        return []
    check_required(catalog, survey.id, survey.digest, invitations)
    transport, relay = catalog.transport, survey.relay
    if relay is not None:
        transport = transport.to_relay(relay.url)
    tickets = []
    for start in range(0, len(invitations), BATCH):
        made = [new_secret() for _ in invitations[start : start + BATCH]]
        hashes = [
            hashlib.sha256(bytes.fromhex(each)).hexdigest()
            for each in invitations[start : start + BATCH]
            if each is not None
        ]
        asked = TicketRequest(
            digest=survey.digest,
            commitments=[commit(survey.digest, secret).hex() for secret in made],
            invitations=hashes,
        )
        issued = transport.post(survey_path(survey.id, "tickets"), IssuedTickets, asked)
        try:
            pairs = zip(issued.tickets, made, strict=True)
            found = [Ticket.of_issued(text, secret) for text, secret in pairs]
            _check_signed(survey, found)
        except (ReportError, ValueError):
            issuer = "collector" if relay is None else "relay"
            raise RequestRefused(
                f"survey '{survey.id}': the {issuer} answered without valid tickets", status=201
            ) from None
        tickets += found
    return tickets


def _check_signed(survey: Survey, tickets: Sequence[Ticket]) -> None:
    """Raise ReportError if a ticket of a relay is not signed.

    The collector would omit its report, and no answer would say so. Tickets of a collector are
    recognized by the collector alone, which refuses others.
    """
    relay = survey.relay
    if relay is None or relay.tickets_key is None:
        return
    # Import here, since most surveys have no relay, and cryptography is slow to import.
    from halftruth_shared.protocol.signed_tickets import is_signed

    for ticket in tickets:
        if not is_signed(relay.tickets_key, survey.digest, ticket):
            raise ReportError("ticket: it is not signed by the relay", field="ticket")
