"""Issue tickets, and recognize those of a survey: the collector's own, or those of its relay.

A ticket is issued for a commitment, without knowledge of the view that follows. The key belongs to
the survey, so that all processes on one database accept each other's tickets. It is drawn when the
first ticket is issued. Only numbers are stored: of the tickets of a survey, and of those that each
unused invitation has admitted.
"""

import math
import secrets
import threading
import time
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial

from halftruth_shared import ParameterError
from halftruth_shared.protocol.reports import TicketRequest
from halftruth_shared.protocol.tickets import code_by, is_issued, issue, read_commitments
from sqlalchemy import Column, bindparam, func, select, update

from ..errors import (
    DeadlinePassed,
    InvitationRefused,
    StoreUnavailable,
    SurveyClosed,
    SurveyPlanned,
    TooLarge,
)
from ..store.database import Database, insert
from ..store.surveys import StoredSurvey, SurveyStore, find
from ..store.tables import invitations, ticket_ids, ticket_keys
from .checking import TicketCheck, stale_digest_error

#: Largest number of tickets of one request, and of one invitation. A device that lost its memory,
#: or an answer on its way, takes another one.
MOST_AT_ONCE, OF_INVITATION = 1_000, 3

_KEY_SIZE = 32

#: Seconds between two writes of the numbers of issued tickets.
_FLUSH_SECONDS = 60

#: Admits tickets by an unused invitation, if it has admitted few enough.
_ADMIT = (
    update(invitations)
    .where(
        invitations.c.survey == bindparam("number"),
        invitations.c.hash == bindparam("invitation"),
        invitations.c.tickets + bindparam("more") <= OF_INVITATION,
    )
    .values(tickets=invitations.c.tickets + bindparam("more"))
)


class TicketIssuer:
    """Issues the tickets of the surveys of a database.

    Parameters
    ----------
    database : Database
    surveys : SurveyStore
    """

    def __init__(self, database: Database, surveys: SurveyStore) -> None:
        self._database = database
        self._surveys = surveys
        #: Keys by survey. A deleted survey can leave its number to another one.
        self._keys: dict[tuple[int, datetime], bytes] = {}
        self._checks: dict[tuple[int, datetime, str], TicketCheck] = {}
        self._issued = IssuedCounts(database, ticket_keys.c.survey)

    def issue(self, stored: StoredSurvey, request: TicketRequest) -> list[str]:
        """Issue a ticket for each commitment, in their order.

        Raises
        ------
        ParameterError
            If the survey has no tickets, or those of a relay.
        ReportError, TooLarge
            If a commitment is none, or there are too many.
        StaleDigest, SurveyPlanned, SurveyClosed, DeadlinePassed
        InvitationRefused
            If an invitation is missing, unknown or used, or has admitted its tickets.
        StoreUnavailable
        """
        survey = stored.survey()
        if not survey.has_tickets:
            raise ParameterError("tickets: this survey asks for none", field="tickets")
        if survey.relay is not None:
            raise ParameterError(
                f"tickets: the relay of this survey issues them; ask {survey.relay.url}",
                field="tickets",
            )
        commitments = read_request(request, stored.id, stored.digest)
        now, opens_at = datetime.now(UTC), stored.terms.opens_at
        if opens_at is not None and stored.terms.is_early(now):
            raise SurveyPlanned(
                f"survey '{stored.id}' opens at {opens_at:%Y-%m-%d %H:%M:%S} UTC; ask again then",
                retry_after=math.ceil((opens_at - now).total_seconds()),
            )
        why = self._surveys.closed_because(stored)
        if why is not None:
            kind = DeadlinePassed if why == "deadline" else SurveyClosed
            raise kind(f"survey '{stored.id}' is closed", field="survey")
        if stored.terms.invitations:
            self._admit(stored, request.invitations, len(commitments))
        key = self._key(stored)
        if key is None:
            key = self._draw_key(stored)
        code = partial(code_by, key)
        made = [issue(code, stored.digest, commitment) for commitment in commitments]
        self._issued.add(stored.number, len(made))
        return made

    def check_of(self, stored: StoredSurvey) -> TicketCheck | None:
        """Return the check of the tickets of reports; None if the survey has no tickets."""
        place = (stored.number, stored.published_at, stored.digest)
        known = self._checks.get(place)
        if known is not None:
            return known
        survey = stored.survey()
        if not survey.has_tickets:
            return None
        if survey.relay is not None:
            # Import here, since a collector without sealed surveys needs no cryptography.
            from halftruth_shared.protocol.signed_tickets import is_signed

            public = survey.relay.tickets_key or ""
            found = TicketCheck(survey, partial(is_signed, public, stored.digest))
        else:
            key = self._key(stored)
            if key is None:
                # It has issued no ticket yet.
                return TicketCheck(survey, lambda ticket: False)
            found = TicketCheck(survey, partial(is_issued, key, stored.digest))
        self._checks[place] = found
        return found

    def totals(self, survey_id: str) -> tuple[int, int]:
        """Return how many tickets of a survey were issued, and how many were spent."""
        self.flush()
        with self._database.reading_reports() as connection:
            number = find(connection, survey_id).number
            query = select(ticket_keys.c.issued, ticket_keys.c.purged)
            row = connection.execute(query.where(ticket_keys.c.survey == number)).first()
            spent = select(func.count()).where(ticket_ids.c.survey == number)
            kept = connection.execute(spent).scalar_one()
        return (0, kept) if row is None else (row.issued, row.purged + kept)

    def _admit(self, stored: StoredSurvey, hashes: Sequence[str], count: int) -> None:
        """Count the tickets of invitations, all or none."""
        if len(hashes) != count:
            raise InvitationRefused(
                "invitations: this survey needs the hash of one for each ticket", index=len(hashes)
            )
        asked = Counter(map(_hash_of, hashes))
        with self._database.writing() as connection:
            number = find(connection, stored.id, share=True).number
            for hash_, more in sorted(asked.items()):
                parameters = {"number": number, "invitation": hash_, "more": more}
                if not connection.execute(_ADMIT, parameters).rowcount:
                    raise InvitationRefused(
                        "invitations: one is not known here, was used before, or has admitted"
                        f" {OF_INVITATION} tickets; expected one of your own",
                        index=hashes.index(hash_.hex()),
                    )

    def _key(self, stored: StoredSurvey) -> bytes | None:
        """Return the key of a survey; None if no ticket of it was issued."""
        place = (stored.number, stored.published_at)
        key = self._keys.get(place)
        if key is None:
            with self._database.reading() as connection:
                query = select(ticket_keys.c.key).where(ticket_keys.c.survey == stored.number)
                key = connection.execute(query).scalar()
            if key is not None:
                self._keys[place] = key
        return key

    def _draw_key(self, stored: StoredSurvey) -> bytes:
        """Draw the key of a survey, unless another process has done so, and return it."""
        with self._database.writing() as connection:
            number = find(connection, stored.id, share=True).number
            connection.execute(
                insert(connection, ticket_keys)
                .values(survey=number, key=secrets.token_bytes(_KEY_SIZE))
                .on_conflict_do_nothing()
            )
        key = self._key(stored)
        if key is None:
            # The survey was deleted and published again meanwhile.
            raise stale_digest_error(stored.id)
        return key

    def flush(self) -> None:
        """Write the numbers of issued tickets; keep them if the database is unavailable."""
        self._issued.flush()


class IssuedCounts:
    """Numbers of issued tickets, written at most once a minute.

    So issuing a ticket without an invitation writes nothing. The numbers of the last minute are
    lost if the process is killed.

    Parameters
    ----------
    database : Database
    number : Column
        Number of the survey, in a table with a row for each and the column `issued`.
    """

    def __init__(self, database: Database, number: Column[int]) -> None:
        self._database = database
        self._number = number
        self._issued: Counter[int] = Counter()
        self._lock = threading.Lock()
        self._flushed = time.monotonic()

    def add(self, survey: int, tickets: int) -> None:
        """Count tickets of a survey."""
        with self._lock:
            self._issued[survey] += tickets
            is_due = time.monotonic() - self._flushed >= _FLUSH_SECONDS
        if is_due:
            self.flush()

    def flush(self) -> None:
        """Write the numbers; keep them if the database is unavailable."""
        with self._lock:
            issued, self._issued = self._issued, Counter()
            self._flushed = time.monotonic()
        if not issued:
            return
        table = self._number.table
        try:
            with self._database.writing() as connection:
                for survey, count in sorted(issued.items()):
                    connection.execute(
                        update(table)
                        .where(self._number == survey)
                        .values(issued=table.c.issued + count)
                    )
        except StoreUnavailable:
            with self._lock:
                self._issued.update(issued)


def read_request(request: TicketRequest, survey_id: str, digest: str) -> list[bytes]:
    """Return the commitments of a request for tickets of a survey with this digest.

    Raises
    ------
    StaleDigest
    ReportError, TooLarge
        If a commitment is none, or there are too many.
    """
    if request.digest != digest:
        raise stale_digest_error(survey_id)
    if not 1 <= len(request.commitments) <= MOST_AT_ONCE:
        raise TooLarge(
            f"commitments: expected 1 to {MOST_AT_ONCE} in one request", field="commitments"
        )
    return read_commitments(request.commitments)


def _hash_of(text: str) -> bytes:
    if len(text) != 64 or set(text) - set("0123456789abcdef"):
        raise ParameterError(
            "invitations: expected 64 lower-case hexadecimal digits of each", field="invitations"
        )
    return bytes.fromhex(text)
