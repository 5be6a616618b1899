"""A relay and its collector under load, through rounds of faults."""

import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Self

import requests
from collectors import Collector
from halftruth_collector import operations
from halftruth_collector.collector_store import Store
from halftruth_collector.relay import operations as relaying
from halftruth_collector.relay.store import RelayStore
from halftruth_shared import Relay, Survey
from halftruth_shared.protocol.key_files import create_key_file
from halftruth_shared.protocol.sealing import SealingKeys
from ledger import TIMEOUT
from load import NARROW
from postgres import Cluster
from processes import Broken, until
from promise import check_agreement
from reading import Query
from relays import Device
from sqlite import SqliteFile
from trial import Figures

#: Reports of a batch, and most in one request.
_BATCH, _MOST = 20, 10

#: Devices that send at the same time, and seconds between two requests of one of them.
_CLIENTS, _REST = 4, 0.05

#: Reports acknowledged between start of a round and fault, and after the fault is over.
_BEFORE, _AFTER = (20, 200), 30

#: Seconds after which a request that was not acknowledged is sent again.
_PAUSE = 0.2


class RelayTrial:
    """Devices that send to a relay, and what became of their reports.

    A report that the relay acknowledged is held by it, or counted by the collector, at any moment;
    in the end every report that was sent is counted, once. As a context, relay and collector run
    until the block is left.

    Attributes
    ----------
    relay, collector : Collector
    unavailable : int
        Requests answered with 503.
    """

    def __init__(
        self,
        database: SqliteFile | Cluster,
        held: SqliteFile | Cluster,
        rng: random.Random,
        folder: Path,
    ) -> None:
        self._database, self._held, self._rng = database, held, rng
        keys = {name: SealingKeys.create() for name in ("relay", "collector")}
        for name, made in keys.items():
            create_key_file(folder / f"{name}.keys", made.to_pem())
        self.collector = Collector(
            database.url, folder, {"HALFTRUTH_SEALING_KEYS": str(folder / "collector.keys")}
        )
        self.relay = Collector(
            held.url,
            folder,
            {"HALFTRUTH_RELAY_KEYS": str(folder / "relay.keys")},
            words=("relay", "serve"),
            workers=1,
        )
        named = Relay(
            url=self.relay.url,
            key=keys["relay"].public[0],
            sealing_key=keys["collector"].public[0],
            batch=_BATCH,
            release="batches",
        )
        self._survey = Survey("relayed", "Six cells", NARROW.schema, NARROW.mechanism, relay=named)
        self._keys = keys
        self._lock = threading.Lock()
        self._sent: dict[bytes, Device] = {}
        self._acknowledged: set[bytes] = set()
        self._in_flight: set[bytes] = set()
        self._complaints: list[str] = []
        self._outstanding: list[tuple[Device, ...]] = []
        self.unavailable = self._at_first = self._duplicates = self._rounds = 0
        self._running = ExitStack()

    def __enter__(self) -> Self:
        with self._running as stack:
            stack.enter_context(self.collector)
            stack.enter_context(self.relay)
            with Store(self._database.url) as store:
                operations.publish_survey(store, self._survey)
                token = operations.create_token(store, "relay", self._survey.id)
            with RelayStore(self._held.url) as relay:
                relaying.register(
                    relay,
                    self.collector.url,
                    self._survey.id,
                    token,
                    url=self.relay.url,
                    keys=self._keys["relay"].public,
                )
            self._running = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._running.close()

    def round(self, fault: Callable[[], None]) -> None:
        """Load, a fault at a random moment, and retries."""
        self._rounds += 1
        stop = threading.Event()
        with ThreadPoolExecutor(_CLIENTS) as pool:
            seeds = [self._rng.getrandbits(32) for _ in range(_CLIENTS)]
            devices = [pool.submit(self._send, random.Random(seed), stop) for seed in seeds]
            try:
                self._wait_for(self._rng.randint(*_BEFORE))
                time.sleep(self._rng.uniform(0, 1))
                fault()
                self._wait_for(_AFTER)
                self._check()
            finally:
                stop.set()
        for device in devices:
            device.result()
        self._retry()
        self._check()

    def says_held(self) -> bool:
        """Whether the last word of the relay on its collector is that it does not take reports."""
        about = [line for line in self.relay.log().splitlines() if "reports of relayed" in line]
        return bool(about) and "are held" in about[-1]

    def finish(self) -> Figures:
        """Close the survey, wait until all is passed on, and return what all rounds came to."""
        # A last batch, so that what is left is enough to be passed on.
        self._post(tuple(self._devices(self._rng, _BATCH)))
        self._retry()
        with RelayStore(self._held.url) as relay:
            relaying.close(relay, self._survey.id)
        until(lambda: not self._held.read(self._held_ids), "the relay to have passed on everything")
        self._check()
        reading = self._database.read()
        check_agreement(reading)
        counted = {id for _, id in reading.ids}
        expected = {device.report_id.bytes for device in self._sent.values()}
        if counted != expected:
            raise Broken(
                f"{len(expected - counted)} reports are not counted in the end, and"
                f" {len(counted - expected)} that were not sent are"
            )
        cells = Counter(bytes(device.values) for device in self._sent.values())
        if +Counter({cell: n for (_, cell), n in reading.counts.items()}) != cells:
            raise Broken("the counts are not those of the reports")
        if not self._in_flight:
            raise Broken("no report was in flight at any fault")
        return Figures(
            rounds=self._rounds,
            sent=len(self._sent),
            at_first=self._at_first,
            in_flight=len(self._in_flight),
            duplicates=self._duplicates,
            counted=len(counted),
        )

    def _check(self) -> None:
        """Each acknowledged report is held, or counted."""
        with self._lock:
            acknowledged = set(self._acknowledged)
            complaints = list(self._complaints)
        if complaints:
            raise Broken("; ".join(sorted(set(complaints))))
        # In this order: what is not held any more has been counted.
        held = self._held.read(self._held_ids)
        reading = self._database.read()
        check_agreement(reading)
        counted = {id for _, id in reading.ids}
        lost = [id for id in acknowledged - held if self._sent[id].report_id.bytes not in counted]
        if lost:
            raise Broken(f"round {self._rounds}: {len(lost)} acknowledged reports are lost")

    def _wait_for(self, reports: int) -> None:
        goal = len(self._acknowledged) + reports
        until(lambda: len(self._acknowledged) >= goal, "reports to be acknowledged")

    def _send(self, rng: random.Random, stop: threading.Event) -> None:
        """Be several devices, one after the other, that send until they are acknowledged."""
        while not stop.is_set():
            batch = tuple(self._devices(rng, rng.randint(1, _MOST)))
            first = True
            while not self._post(batch, first=first):
                first = False
                if stop.wait(_PAUSE):
                    with self._lock:
                        self._outstanding.append(batch)
                    return
            stop.wait(rng.uniform(0, _REST))

    def _retry(self) -> None:
        """Send again what nothing acknowledged, and some of what was."""
        known = sorted(self._acknowledged)
        again = [self._sent[id] for id in self._rng.sample(known, min(50, len(known)))]
        for batch in [*self._outstanding, tuple(again)]:
            until(lambda batch=batch: self._post(batch), "a retry to be acknowledged")
        self._outstanding.clear()

    def _devices(self, rng: random.Random, count: int) -> list[Device]:
        return [Device((rng.randrange(2), rng.randrange(3))) for _ in range(count)]

    def _post(self, batch: tuple[Device, ...], *, first: bool = True) -> bool:
        """Send the reports of a batch to the relay, sealed anew; whether it acknowledged them."""
        ids = {device.relay_id.bytes: device for device in batch}
        with self._lock:
            new = ids.keys() - self._sent.keys()
            self._sent.update(ids)
        reports = [device.sealed(self._survey) for device in batch]
        try:
            response = requests.post(
                f"{self.relay.url}/v1/surveys/{self._survey.id}/reports",
                json={"digest": self._survey.digest, "reports": reports},
                timeout=TIMEOUT,
            )
        except requests.ConnectionError:
            with self._lock:
                self._in_flight.update(ids)
            return False
        with self._lock:
            if response.status_code == 202:
                receipt = response.json()
                if receipt["accepted"] + receipt["duplicates"] != len(batch):
                    self._complaints.append(f"a receipt of {len(batch)} reports was {receipt}")
                self._acknowledged.update(ids)
                self._at_first += len(new) if first else 0
                self._duplicates += receipt["duplicates"] if not new else 0
                return True
            if response.status_code == 503:
                self.unavailable += 1
                self._in_flight.update(ids)
            else:
                self._complaints.append(f"a report was answered {response.status_code}")
        return False

    def _held_ids(self, query: Query) -> set[bytes]:
        """Ids of the reports that the relay holds."""
        if isinstance(self._held, Cluster):
            # One that began to look before a compaction would be shown an empty table.
            query("LOCK TABLE relay_reports IN ACCESS SHARE MODE")
        return {bytes(id) for (id,) in query("SELECT report_id FROM relay_reports")}
