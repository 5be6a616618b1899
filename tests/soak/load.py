"""Clients that send reports at once and keep on through every fault."""

import json
import random
import threading
import traceback
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol
from uuid import UUID

import requests
from halftruth_client import Client
from halftruth_shared import Attribute, GammaDiagonal, Schema, Survey
from ledger import TIMEOUT, Courier, Ledger, cell_width, pack, unpack
from processes import Broken, until
from promise import check_answers
from reading import Entry

#: Two surveys whose requests share transactions: few popular cells, and values of two bytes.
SURVEYS = (
    Survey(
        "narrow",
        "Six cells",
        Schema((Attribute("a", ("0", "1")), Attribute("b", ("0", "1", "2")))),
        GammaDiagonal("19"),
    ),
    Survey(
        "wide",
        "Six hundred cells",
        Schema((Attribute("a", tuple(map(str, range(300)))), Attribute("b", ("0", "1")))),
        GammaDiagonal("19"),
    ),
)

#: Clients that send requests of their own making, and real ones with an outbox.
_PLAIN, _REAL = 8, 1

#: Seconds, at most, before a client whose report was not acknowledged goes on.
_PAUSE = 0.3

#: How often it then leaves the report for later, instead of sending it again at once.
_LATER = 0.1

_SIZES = (1, 1, 1, 1, 5, 20, 100)

#: Shares of requests that should be refused, and of those sent to all collectors at once.
_FORGED, _EVERYWHERE = 0.05, 0.5

#: Reports in one request of the final retries, and attempts to have it acknowledged.
_CHUNK, _ATTEMPTS = 500, 100


@dataclass(frozen=True)
class Batch:
    """The reports of one request: ids with values."""

    survey: Survey
    digest: str
    reports: tuple[tuple[UUID, tuple[int, ...]], ...]

    @property
    def entries(self) -> list[Entry]:
        """The reports as the collector is to store them."""
        width = cell_width(self.survey)
        return [Entry(self.survey.id, id_.bytes, pack(v, width)) for id_, v in self.reports]

    @property
    def body(self) -> bytes:
        """The request's JSON."""
        reports = [{"id": str(id_), "values": values} for id_, values in self.reports]
        return json.dumps({"digest": self.digest, "reports": reports}).encode()


class _Sender(Protocol):
    def run(self, stop: threading.Event) -> None: ...


class PlainClient:
    """Sends batches of random reports, retries some of those that were not acknowledged, and now
    and then sends one that should be refused.

    Parameters
    ----------
    urls : sequence of str
        Of collectors on the same database.
    ledger : Ledger
    seed : int
    sizes : sequence of int
        Numbers of reports to choose from for a batch.
    forged : float
        Share of batches that should be refused.
    """

    def __init__(
        self,
        urls: Sequence[str],
        ledger: Ledger,
        seed: int,
        *,
        sizes: Sequence[int] = _SIZES,
        forged: float = _FORGED,
    ) -> None:
        self._urls = urls
        self._ledger = ledger
        self._rng = random.Random(seed)
        self._sizes = sizes
        self._forged = forged
        # One session for each collector, since several send at once.
        self._couriers = {url: Courier(ledger, SURVEYS) for url in urls}
        self._last: Batch | None = None
        # A batch whose ids no report of the other survey has.
        self._unpaired: Batch | None = None

    def run(self, stop: threading.Event) -> None:
        while not stop.is_set():
            if self._rng.random() < self._forged and self._last is not None:
                self.send(self._forgery(self._last))
            else:
                self._deliver(self.batch(), stop)

    def batch(self) -> Batch:
        """New reports; half of the time under the ids of the batch before, for the other survey."""
        rng, before = self._rng, self._unpaired
        if before is not None and rng.random() < 0.5:
            [survey] = (other for other in SURVEYS if other is not before.survey)
            ids = [id_ for id_, _ in before.reports]
        else:
            before = None
            survey = rng.choice(SURVEYS)
            ids = [self._id() for _ in range(rng.choice(self._sizes))]
        made = Batch(survey, survey.digest, tuple((id_, self._values(survey)) for id_ in ids))
        self._unpaired = made if before is None else None
        return made

    def send(self, batch: Batch) -> bool:
        """Send a batch to some collector, or to all at once; whether one of them acknowledged."""
        if len(self._urls) > 1 and self._rng.random() < _EVERYWHERE:
            with ThreadPoolExecutor(len(self._urls)) as pool:
                return any(list(pool.map(lambda url: self._post(url, batch), self._urls)))
        return self._post(self._rng.choice(self._urls), batch)

    def _deliver(self, batch: Batch, stop: threading.Event) -> None:
        while not self.send(batch):
            stop.wait(self._rng.uniform(0, _PAUSE))
            if stop.is_set() or self._rng.random() < _LATER:
                return
        self._last = batch

    def _post(self, url: str, batch: Batch) -> bool:
        path = f"{url}/v1/surveys/{batch.survey.id}/reports"
        headers = {"Content-Type": "application/json"}
        try:
            response = self._couriers[url].post(
                path, data=batch.body, headers=headers, timeout=TIMEOUT
            )
        except requests.RequestException:
            return False
        return response.status_code == 202

    def _forgery(self, counted: Batch) -> Batch:
        """A batch that should be refused as a whole, made of good reports and something wrong."""
        survey, rng = counted.survey, self._rng
        good = [(self._id(), self._values(survey)) for _ in range(3)]
        digest = survey.digest
        kind = rng.choice(("digest", "range", "reused", "twice"))
        if kind == "digest":
            digest = "0" * 64
        elif kind == "range":
            good.append((self._id(), survey.schema.shape))
        elif kind == "reused":
            id_, values = rng.choice(counted.reports)
            good.append((id_, _another(survey, values)))
        else:
            id_, values = good[0]
            good.append((id_, _another(survey, values)))
        forgery = Batch(survey, digest, tuple(good))
        self._ledger.forge(forgery.entries)
        return forgery

    def _id(self) -> UUID:
        return UUID(int=self._rng.getrandbits(128), version=4)

    def _values(self, survey: Survey) -> tuple[int, ...]:
        """Half of the time the values that everybody reports, so that writers meet."""
        if self._rng.random() < 0.5:
            return (0,) * len(survey.schema.shape)
        return tuple(self._rng.randrange(size) for size in survey.schema.shape)


def _another(survey: Survey, values: tuple[int, ...]) -> tuple[int, ...]:
    return ((values[0] + 1) % survey.schema.shape[0], *values[1:])


class RealClient:
    """The package's own client with its outbox, for people with and without a key."""

    def __init__(self, url: str, ledger: Ledger, seed: int, folder: Path) -> None:
        self._rng = random.Random(seed)
        self._client = Client(
            url,
            max_gamma="19",
            outbox=folder / f"outbox-{seed}.db",
            timeout=TIMEOUT,
            session=Courier(ledger, SURVEYS),
        )
        self._people = 0

    def run(self, stop: threading.Event) -> None:
        while not stop.is_set():
            survey = self._rng.choice(SURVEYS)
            records = [self._record(survey) for _ in range(self._rng.choice(_SIZES))]
            if len(records) == 1:
                self._people += 1
                respondent = f"person {self._people}"
                sent = self._client.submit(survey, records[0], respondent=respondent)
                waiting = sent.status == "waiting"
            else:
                waiting = self._client.submit_many(survey, records).waiting > 0
            if waiting:
                stop.wait(self._rng.uniform(0, _PAUSE))

    def flush(self) -> None:
        """Send what waits in the outbox."""
        self._client.flush()

    def _record(self, survey: Survey) -> dict[str, str]:
        return {
            attribute.name: self._rng.choice(attribute.categories)
            for attribute in survey.schema.attributes
        }


class Load:
    """All clients of one trial.

    Parameters
    ----------
    urls : sequence of str
        Of collectors on the same database.
    ledger : Ledger
    rng : Random
    folder : Path
        For outboxes.
    """

    def __init__(
        self, urls: Sequence[str], ledger: Ledger, rng: random.Random, folder: Path
    ) -> None:
        seeds = iter(rng.sample(range(2**32), _PLAIN + _REAL))
        self._ledger = ledger
        self._plain = [PlainClient(urls, ledger, next(seeds)) for _ in range(_PLAIN)]
        self._real = [RealClient(urls[0], ledger, next(seeds), folder) for _ in range(_REAL)]

    @contextmanager
    def running(self) -> Iterator[None]:
        """Every client sends until the block is left, and then finishes its request.

        Raises
        ------
        Broken
            If a client failed.
        """
        with sending([*self._plain, *self._real]):
            yield

    def wait_for(self, reports: int) -> None:
        """Wait until so many more reports have been acknowledged."""
        ledger = self._ledger
        goal = len(ledger.acknowledged) + reports
        until(
            lambda: len(ledger.acknowledged) >= goal or bool(ledger.complaints),
            "reports to be acknowledged",
        )
        check_answers(ledger)

    def retry(self, entries: Collection[Entry]) -> None:
        """Send these reports, and what waits in outboxes, until all is acknowledged."""
        for client in self._real:
            client.flush()
        sender = self._plain[0]
        for batch in batches(entries):
            for _ in range(_ATTEMPTS):
                if sender.send(batch):
                    break
            else:
                raise Broken("a retry was not acknowledged")


@contextmanager
def sending(clients: Sequence[_Sender]) -> Iterator[None]:
    """Run clients in threads until the block is left."""
    stop = threading.Event()
    failures: list[str] = []

    def run(client: _Sender) -> None:
        try:
            client.run(stop)
        except Exception:
            failures.append(traceback.format_exc())

    threads = [threading.Thread(target=run, args=(client,)) for client in clients]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    if failures:
        raise Broken(f"a client failed:\n{failures[0]}")


def batches(entries: Collection[Entry]) -> Iterator[Batch]:
    """Requests that bring these reports again."""
    for survey in SURVEYS:
        width = cell_width(survey)
        reports = sorted(entry for entry in entries if entry.survey == survey.id)
        for start in range(0, len(reports), _CHUNK):
            yield Batch(
                survey,
                survey.digest,
                tuple(
                    (UUID(bytes=entry.id), tuple(unpack(entry.cell, width)))
                    for entry in reports[start : start + _CHUNK]
                ),
            )
