"""One database under load, through rounds of faults, held against the promise in each."""

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from halftruth_collector.store import Store
from ledger import Ledger
from load import SURVEYS, Load
from processes import Broken
from promise import (
    check_acknowledged,
    check_after_fault,
    check_after_retries,
    check_agreement,
)
from reading import Reading

#: Reports acknowledged between start of the load and fault, and after the fault is over.
_BEFORE, _AFTER = (20, 400), 30

#: Longest pause between them, so that faults come at any moment of a request.
_JITTER = 0.02

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
    been counted. `notes` are lines to print below the table.
    """

    rounds: int
    sent: int
    at_first: int
    in_flight: int
    duplicates: int
    counted: int
    notes: tuple[str, ...] = ()


class Trial:
    """Clients, and what became of their reports.

    Parameters
    ----------
    database : Database
        With the surveys published.
    urls : sequence of str
        Of its collectors.
    rng : Random
    folder : Path
    """

    def __init__(
        self, database: Database, urls: Sequence[str], rng: random.Random, folder: Path
    ) -> None:
        self.ledger = Ledger()
        self._database = database
        self._rng = rng
        self._load = Load(urls, self.ledger, rng, folder)
        self._rounds = 0
        self._duplicates = 0
        self._counted = 0

    def round(self, fault: Callable[[], None]) -> None:
        """Load, a fault at a random moment, and retries.

        Parameters
        ----------
        fault : callable
            Strikes, and repairs what it did, while clients go on.

        Raises
        ------
        Broken
        """
        self._rounds += 1
        try:
            with self._load.running():
                self.wait_for(self._rng.randint(*_BEFORE))
                time.sleep(self._rng.uniform(0, _JITTER))
                fault()
                self.wait_for(_AFTER)
                acknowledged = self.ledger.acknowledged_now()
                reading = self._database.read()
                check_agreement(reading)
                check_acknowledged(reading, acknowledged)
            self._database.settle()
            check_after_fault(before := self._database.read(), self.ledger)
            self._retry(before)
            self._database.settle()
            check_after_retries(after := self._database.read(), self.ledger)
        except Broken as error:
            raise Broken(f"round {self._rounds}: {error}") from error
        self._counted = len(after.entries)

    def wait_for(self, reports: int) -> None:
        """Wait until so many more reports have been acknowledged."""
        self._load.wait_for(reports)

    def figures(self, *notes: str) -> Figures:
        """What all rounds came to."""
        return Figures(
            rounds=self._rounds,
            sent=len(self.ledger.sent),
            at_first=self.ledger.at_first,
            in_flight=len(self.ledger.in_flight),
            duplicates=self._duplicates,
            counted=self._counted,
            notes=notes,
        )

    def _retry(self, reading: Reading) -> None:
        """Send again what nothing acknowledged, and some of what was; hold receipts to it."""
        counted = set(reading.entries)
        outstanding = self.ledger.outstanding
        known = sorted(self.ledger.acknowledged)
        again = self._rng.sample(known, min(_REPEATED, len(known)))
        accepted, unanswered = self.ledger.accepted, self.ledger.unanswered
        self._load.retry(outstanding.union(again))
        # Some that wait in an outbox are sent for the first time now.
        new = len(self.ledger.sent - counted)
        receipts = self.ledger.accepted - accepted
        # A receipt that was lost on the way may have accepted some of them.
        if not 0 <= new - receipts <= self.ledger.unanswered - unanswered:
            raise Broken(f"{new} reports were not counted before, but receipts accept {receipts}")
        self._duplicates += len(outstanding & counted)


def publish(database: Database) -> None:
    """Publish the surveys that all clients answer."""
    with Store(database.url) as store:
        for survey in SURVEYS:
            store.surveys.publish(survey)
