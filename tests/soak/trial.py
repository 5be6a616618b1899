"""Trials: load through rounds of faults, checked after each, for a collector or a relay."""

import math
import random
import threading
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import requests
from halftruth_collector import operations
from halftruth_collector.collector_store import Store
from halftruth_relay import operations as relaying
from halftruth_relay.store import RelayStore
from halftruth_shared import Relay, Survey
from halftruth_shared.protocol.key_files import create_key_file
from halftruth_shared.protocol.sealing import SealingKeys
from ledger import KEYS, TIMEOUT, Entry, Ledger
from load import INVITED, NARROW, SURVEYS, Load, sending
from programs import Collector, Postgres, Sqlite, until
from promise import (
    Broken,
    Query,
    Reading,
    check_acknowledged,
    check_after_fault,
    check_after_retries,
    check_agreement,
    check_answers,
    check_invitations,
    check_tickets,
    expect,
)
from relays import Device

Database = Sqlite | Postgres

#: Reports acknowledged between the start of the load and the fault, and after the fault.
_BEFORE, _AFTER = (20, 400), 30

#: Reports of one of few rounds after which clients send less often: slightly more than the maximum
#: before the fault.
_ENOUGH = 600

#: Acknowledged reports that are repeated in each round.
_REPEATED = 300

#: Reports of a relay's batch, and maximum number in one request to it.
_BATCH, _MOST = 20, 10

#: Concurrent senders to a relay, and seconds between two requests of one.
_DEVICES, _REST = 4, 0.05

#: Seconds after which an unacknowledged request to a relay is retried.
_PAUSE = 0.2


@dataclass(frozen=True)
class Figures:
    """The results of a scenario.

    `duplicates` are unacknowledged reports that were retried but already stored. `invited` are the
    counted reports that were sealed with an invitation. `notes` are printed below the table.
    """

    rounds: int
    sent: int
    at_first: int
    in_flight: int
    duplicates: int
    counted: int
    invited: int = 0
    notes: tuple[str, ...] = ()


class Trial(ABC):
    """Clients, and the outcome of their reports."""

    #: Maximum pause before a fault, so that it comes at any moment of a request.
    jitter = 0.02

    def __init__(self, database: Database, rng: random.Random, ledger: Ledger) -> None:
        self.ledger = ledger
        self._database, self._rng = database, rng
        self._rounds = self._duplicates = 0

    def round(self, fault: Callable[[], None]) -> None:
        """Run the load, a fault at a random moment, and retries."""
        self._rounds += 1
        try:
            with self.running():
                self.wait_for(self._rng.randint(*_BEFORE))
                time.sleep(self._rng.uniform(0, self.jitter))
                fault()
                self.wait_for(_AFTER)
                self.check_meanwhile()
            stored, outstanding = self.stored(), self.ledger.outstanding
            self._duplicates += len(outstanding & stored)
            known = sorted(self.ledger.acknowledged)
            again = self._rng.sample(known, min(_REPEATED, len(known)))
            self.retry(stored, outstanding, again)
        except Broken as error:
            raise Broken(f"round {self._rounds}: {error}") from error

    def wait_for(self, reports: int) -> None:
        """Wait until this number of further reports is acknowledged."""
        goal = len(self.ledger.acknowledged) + reports
        until(
            lambda: len(self.ledger.acknowledged) >= goal or bool(self.ledger.complaints),
            "reports to be acknowledged",
        )
        check_answers(self.ledger)

    @abstractmethod
    def running(self) -> AbstractContextManager[None]:
        """Run all clients until the block is left, and let them finish their requests."""

    @abstractmethod
    def check_meanwhile(self) -> None:
        """Check acknowledged reports while clients send."""

    @abstractmethod
    def stored(self) -> set[Entry]:
        """Return the stored reports, once clients have finished."""

    @abstractmethod
    def retry(self, stored: set[Entry], outstanding: set[Entry], again: Sequence[Entry]) -> None:
        """Resend unacknowledged and some acknowledged reports, and check what is stored."""

    @abstractmethod
    def finish(self) -> Figures:
        """Return the results of all rounds."""

    def figures(self, counted: int, invited: int = 0) -> Figures:
        return Figures(
            rounds=self._rounds,
            sent=len(self.ledger.sent),
            at_first=self.ledger.at_first,
            in_flight=len(self.ledger.in_flight),
            duplicates=self._duplicates,
            counted=counted,
            invited=invited,
        )


class CollectorTrial(Trial):
    """Clients of collectors on one database, who answer three surveys."""

    def __init__(
        self,
        database: Database,
        urls: Sequence[str],
        rng: random.Random,
        folder: Path,
        *,
        quick: bool,
        certificate: Path | None = None,
    ) -> None:
        super().__init__(database, rng, Ledger(certificate))
        self._enough = _ENOUGH if quick else math.inf
        self._load = Load(urls, self.ledger, rng, folder)

    def running(self) -> AbstractContextManager[None]:
        # Replace the invitations that clients have used, as an operator would.
        with Store(self._database.url) as store:
            self._load.invite(lambda count: operations.create_invitations(store, INVITED.id, count))
        return self._load.running(self._enough)

    def check_meanwhile(self) -> None:
        acknowledged = self.ledger.acknowledged_now()
        reading = self._database.read()
        check_agreement(reading)
        check_acknowledged(reading, acknowledged)
        check_invitations(reading, self.ledger)
        check_tickets(reading, self.ledger)

    def _settled(self) -> Reading:
        self._database.settle()
        return self._database.read()

    def stored(self) -> set[Entry]:
        # First, since an invalid response explains a counted report that was not in flight.
        check_answers(self.ledger)
        reading = self._settled()
        check_after_fault(reading, self.ledger)
        return reading.counted(self.ledger.sent)

    def retry(self, stored: set[Entry], outstanding: set[Entry], again: Sequence[Entry]) -> None:
        accepted, unanswered = self.ledger.accepted, self.ledger.unanswered
        self._load.retry(outstanding.union(again))
        # Some reports that waited in an outbox are now sent for the first time.
        new = len(self.ledger.sent) - len(stored)
        receipts = self.ledger.accepted - accepted
        # A lost receipt may have accepted some of them.
        expect(
            0 <= new - receipts <= self.ledger.unanswered - unanswered,
            f"{new} reports were not counted before, but receipts accept {receipts}",
        )
        self._load.forge(again)
        check_after_retries(self._settled(), self.ledger)

    def finish(self) -> Figures:
        ids = self._database.read().ids
        invited = sum(survey == INVITED.id for survey, _ in ids)
        expect(invited > 0, "no report came with an invitation")
        return self.figures(len(ids), invited)


class RelayTrial(Trial):
    """Devices that send to a relay.

    A report that the relay acknowledged is at any moment held by it or counted by the collector; in
    the end each sent report is counted once. As a context manager, relay and collector run until
    the block is left.
    """

    #: At any moment between two polls of the relay.
    jitter = 1.0

    def __init__(
        self, database: Database, held: Database, rng: random.Random, folder: Path
    ) -> None:
        super().__init__(database, rng, Ledger())
        self._held = held
        keys = {name: SealingKeys.create() for name in ("relay", "collector")}
        files = {name: folder / f"{name}.keys" for name in keys}
        for name, made in keys.items():
            create_key_file(files[name], made.to_pem())
        self._keys = keys["relay"].public
        self.collector = Collector(
            database.url, folder, {"HALFTRUTH_SEALING_KEYS": str(files["collector"])}
        )
        self.relay = Collector(
            held.url,
            folder,
            {"HALFTRUTH_RELAY_KEYS": str(files["relay"])},
            words=("relay", "serve"),
            workers=1,
        )
        named = Relay(
            url=self.relay.url,
            key=self._keys[0],
            sealing_key=keys["collector"].public[0],
            batch=_BATCH,
            release="batches",
        )
        self._survey = Survey("relayed", "Six cells", NARROW.schema, NARROW.mechanism, relay=named)
        self._devices: dict[bytes, Device] = {}
        self._running = ExitStack()

    def __enter__(self) -> Self:
        with self._running as stack:
            stack.enter_context(self.collector)
            stack.enter_context(self.relay)
            with Store(self._database.url) as store, RelayStore(self._held.url) as relay:
                operations.publish_survey(store, self._survey)
                token = operations.create_token(store, "relay", self._survey.id)
                relaying.register(
                    relay,
                    self.collector.url,
                    self._survey.id,
                    token,
                    url=self.relay.url,
                    keys=self._keys,
                )
            self._running = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._running.close()

    def running(self) -> AbstractContextManager[None]:
        return sending([_Sender(self, self._rng.getrandbits(32)) for _ in range(_DEVICES)])

    def says_held(self) -> bool:
        """Whether the relay's last log line on its collector says that reports are held."""
        about = [line for line in self.relay.log().splitlines() if "reports of relayed" in line]
        return bool(about) and "are held" in about[-1]

    def check_meanwhile(self) -> None:
        acknowledged = self.ledger.acknowledged_now()
        lost = acknowledged - self.stored()
        expect(not lost, f"{len(lost)} acknowledged reports are lost")
        check_answers(self.ledger)

    def stored(self) -> set[Entry]:
        # In this order: reports that are no longer held have been counted.
        held = self._held.read(self._held_ids)
        reading = self._database.read()
        check_agreement(reading)
        counted = {id for _, id in reading.ids}
        return {
            Entry("relayed", id, bytes(device.values))
            # A copy, since devices are added meanwhile; a list of items is not atomic.
            for id, device in self._devices.copy().items()
            if id in held or device.report_id.bytes in counted
        }

    def retry(self, stored: set[Entry], outstanding: set[Entry], again: Sequence[Entry]) -> None:
        devices = [self._devices[entry.id] for entry in [*sorted(outstanding), *again]]
        for start in range(0, len(devices), _MOST):
            batch = devices[start : start + _MOST]
            until(lambda batch=batch: self.post(batch), "a retry to be acknowledged")
        self.check_meanwhile()

    def finish(self) -> Figures:
        """Close the survey, wait until all reports are forwarded, and return the results."""
        # Send a last batch, so that enough reports are left to be forwarded.
        last = self.devices(self._rng, _BATCH)
        until(lambda: self.post(last), "the last batch to be acknowledged")
        with RelayStore(self._held.url) as relay:
            relaying.close(relay, self._survey.id, confirm=self._survey.id)
        until(lambda: not self._held.read(self._held_ids), "the relay to have passed on everything")
        self.check_meanwhile()
        reading = self._database.read()
        counted = {id for _, id in reading.ids}
        expected = {device.report_id.bytes for device in self._devices.values()}
        expect(
            counted == expected,
            f"{len(expected - counted)} reports are not counted in the end, and"
            f" {len(counted - expected)} that were not sent are",
        )
        cells = Counter(("relayed", bytes(device.values)) for device in self._devices.values())
        expect(+reading.counts == cells, "the counts are not those of the reports")
        return self.figures(len(counted))

    def devices(self, rng: random.Random, count: int) -> list[Device]:
        """Create devices of new people."""
        made = [Device((rng.randrange(2), rng.randrange(3))) for _ in range(count)]
        self._devices |= {device.relay_id.bytes: device for device in made}
        return made

    def post(self, batch: Collection[Device]) -> bool:
        """Seal the reports of a batch again and send them to the relay; whether it acknowledged."""
        entries = [Entry("relayed", each.relay_id.bytes, bytes(each.values)) for each in batch]
        reports = [device.sealed(self._survey) for device in batch]
        first = self.ledger.attempt(entries)
        try:
            response = requests.post(
                f"{self.relay.url}/v1/surveys/{self._survey.id}/reports",
                json={"digest": self._survey.digest, "reports": reports},
                timeout=TIMEOUT,
            )
        except requests.ConnectionError:
            self.ledger.lost(entries)
            return False
        self.ledger.answered(entries, first, response.status_code, response.content)
        return response.status_code == 202

    def _held_ids(self, query: Query) -> set[bytes]:
        """Return the ids of the reports that the relay holds."""
        if isinstance(self._held, Postgres):
            # A snapshot from before a compaction would show an empty table.
            query("LOCK TABLE relay_reports IN ACCESS SHARE MODE")
        return {bytes(id) for (id,) in query("SELECT report_id FROM relay_reports")}


class _Sender:
    """Sends the reports of several devices to a relay one after the other until acknowledged."""

    def __init__(self, trial: RelayTrial, seed: int) -> None:
        self._trial, self._rng = trial, random.Random(seed)

    def run(self, stop: threading.Event) -> None:
        while not stop.is_set():
            batch = self._trial.devices(self._rng, self._rng.randint(1, _MOST))
            while not self._trial.post(batch):
                if stop.wait(_PAUSE):
                    return
            stop.wait(self._rng.uniform(0, _REST))


def publish(database: Database) -> None:
    """Publish the surveys that all clients answer."""
    terms = {"invitations": True, "sealing_key": KEYS.public[0]}
    with Store(database.url) as store:
        for survey in SURVEYS:
            operations.publish_survey(store, survey, terms if survey is INVITED else {})
