"""One database under load, through rounds of faults, held against the promise in each."""

import math
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from halftruth_collector import operations
from halftruth_collector.collector_store import Store
from halftruth_shared.protocol.terms import Terms
from ledger import Ledger
from load import INVITED, SURVEYS, Load
from processes import Broken
from promise import (
    check_acknowledged,
    check_after_fault,
    check_after_retries,
    check_agreement,
    check_invitations,
)
from reading import Entry, Reading
from sealed import KEYS

#: Reports acknowledged between start of the load and fault, and after the fault is over.
_BEFORE, _AFTER = (20, 400), 30

#: Reports acknowledged in one of few rounds after which clients take their time: as many as there
#: may be before its fault, and some more.
_ENOUGH = 600

#: Longest pause between them, so that faults come at any moment of a request.
_JITTER = 0.02

#: How collectors take the reports of one of the surveys.
_TERMS = Terms(invitations=True, sealing_key=KEYS.public[0])

#: Acknowledged reports that are sent once more in each round.
_REPEATED = 300


class Database(Protocol):
    """A database that can be read without the program under test."""

    @property
    def url(self) -> str: ...

    def read(self) -> Reading: ...

    def settle(self) -> None: ...


@dataclass(frozen=True)
class Figures:
    """What a scenario came to.

    `duplicates` are reports that clients retried since nothing acknowledged them, but that had
    been counted. `invited` are those of the reports counted that came sealed with an invitation.
    `notes` are lines to print below the table.
    """

    rounds: int
    sent: int
    at_first: int
    in_flight: int
    duplicates: int
    counted: int
    invited: int = 0
    notes: tuple[str, ...] = ()


class Trial:
    """Clients, and what became of their reports."""

    def __init__(
        self,
        database: Database,
        urls: Sequence[str],
        rng: random.Random,
        folder: Path,
        *,
        quick: bool = False,
        certificate: Path | None = None,
    ) -> None:
        self._enough = _ENOUGH if quick else math.inf
        self.ledger = Ledger(certificate)
        self._database = database
        self._rng = rng
        self._load = Load(urls, self.ledger, rng, folder)
        self._rounds = 0
        self._duplicates = 0
        self._counted: list[Entry] = []

    def round(self, fault: Callable[[], None]) -> None:
        """Load, a fault at a random moment, and retries."""
        self._rounds += 1
        try:
            self._invite()
            with self._load.running(self._enough):
                self.wait_for(self._rng.randint(*_BEFORE))
                time.sleep(self._rng.uniform(0, _JITTER))
                fault()
                self.wait_for(_AFTER)
                acknowledged = self.ledger.acknowledged_now()
                reading = self._database.read()
                check_agreement(reading)
                check_acknowledged(reading, acknowledged)
                check_invitations(reading, self.ledger)
            self._database.settle()
            check_after_fault(before := self._database.read(), self.ledger)
            self._retry(before)
            self._database.settle()
            check_after_retries(after := self._database.read(), self.ledger)
        except Broken as error:
            raise Broken(f"round {self._rounds}: {error}") from error
        self._counted = after.ids

    def wait_for(self, reports: int) -> None:
        """Wait until so many more reports have been acknowledged."""
        self._load.wait_for(reports)

    def figures(self, *notes: str) -> Figures:
        """What all rounds came to."""
        invited = sum(survey == INVITED.id for survey, _ in self._counted)
        if not invited:
            raise Broken("no report came with an invitation")
        return Figures(
            rounds=self._rounds,
            sent=len(self.ledger.sent),
            at_first=self.ledger.at_first,
            in_flight=len(self.ledger.in_flight),
            duplicates=self._duplicates,
            counted=len(self._counted),
            invited=invited,
            notes=notes,
        )

    def _invite(self) -> None:
        """Issue invitations for what clients spent of theirs, as an operator would."""
        with Store(self._database.url) as store:
            self._load.invite(lambda count: operations.create_invitations(store, INVITED.id, count))

    def _retry(self, reading: Reading) -> None:
        """Send again what nothing acknowledged, and some of what was; hold receipts to it.

        Forgeries of the latter follow.
        """
        counted = reading.counted(self.ledger.sent)
        outstanding = self.ledger.outstanding
        known = sorted(self.ledger.acknowledged)
        again = self._rng.sample(known, min(_REPEATED, len(known)))
        accepted, unanswered = self.ledger.accepted, self.ledger.unanswered
        self._load.retry(outstanding.union(again))
        # Some that wait in an outbox are sent for the first time now.
        new = len(self.ledger.sent) - len(reading.counted(self.ledger.sent))
        receipts = self.ledger.accepted - accepted
        # A receipt that was lost on the way may have accepted some of them.
        if not 0 <= new - receipts <= self.ledger.unanswered - unanswered:
            raise Broken(f"{new} reports were not counted before, but receipts accept {receipts}")
        self._load.forge(again)
        self._duplicates += len(outstanding & counted)


def publish(database: Database) -> None:
    """Publish the surveys that all clients answer."""
    with Store(database.url) as store:
        for survey in SURVEYS:
            operations.publish_survey(store, survey, _TERMS if survey is INVITED else {})
