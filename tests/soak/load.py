"""Concurrent clients that keep sending reports through all faults."""

import json
import math
import random
import threading
import traceback
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID

import requests
from halftruth_client import Client, CollectorUnavailable
from halftruth_shared import Attribute, GammaDiagonal, Schema, SplitQuestionnaire, Survey
from halftruth_shared.mechanisms import ViewClass
from halftruth_shared.survey import Reporting
from ledger import (
    TIMEOUT,
    Courier,
    Entry,
    Ledger,
    cell_width,
    hash_invitation,
    pack,
    seal_report,
    unpack,
)
from promise import Broken

#: Surveys whose requests share transactions: one with few popular cells, one with two-byte values,
#: and one with the questions of the first that accepts only sealed reports with invitations.
NARROW = Survey(
    "narrow",
    "Six cells",
    Schema((Attribute("a", ("0", "1")), Attribute("b", ("0", "1", "2")))),
    GammaDiagonal("19"),
)
WIDE = Survey(
    "wide",
    "Six hundred cells",
    Schema((Attribute("a", tuple(map(str, range(300)))), Attribute("b", ("0", "1")))),
    GammaDiagonal("19"),
)
INVITED = Survey("invited", "Six cells by invitation", NARROW.schema, NARROW.mechanism)
#: One with tickets, which real clients answer.
TICKETED = Survey(
    "ticketed",
    "Two groups of questions by ticket",
    NARROW.schema,
    SplitQuestionnaire("19", [ViewClass(attributes=[[name]], weight=1) for name in ("a", "b")]),
    reporting=Reporting(tickets="required"),
)
SURVEYS = (NARROW, WIDE, INVITED, TICKETED)

#: Surveys of the plain clients, which send many of their reports under the same ids.
_PAIRS = ((NARROW, WIDE), (NARROW, INVITED))

#: Number of plain clients for each pair, and of real clients with an outbox for all surveys.
_OWN, _REAL = 4, 1

#: Invitations of a client at the start of a round, rarely used up in one.
_PURSE = 1_000

#: Maximum pause in seconds of a client whose report was not acknowledged.
_PAUSE = 0.3

#: Maximum pause in seconds between requests of a client that has reached its goal.
_REST = 1.0

#: Probability that a failed report is postponed instead of being retried at once.
_LATER = 0.1

_SIZES = (1, 1, 1, 1, 5, 20, 100)

#: Shares of requests that should be refused, and of those sent to all collectors at once.
_FORGED, _EVERYWHERE = 0.05, 0.5

#: Reports in a request that should be refused, defects of its last one, and further defects of a
#: sealed one.
_FORGED_SIZE = 4
_WRONG = ("digest", "range")
_WRONG_SEALED = ("spent", "unknown", "elsewhere", "exchanged")

#: Reports per request of the final retries, and maximum number of attempts.
_CHUNK, _ATTEMPTS = 500, 100


class Report(NamedTuple):
    """A report to be sent.

    `sealed_for` is the digest and id of another report, if it should not open as this one.
    """

    id: UUID
    values: tuple[int, ...]
    invitation: str | None = None
    sealed_for: tuple[str, UUID] | None = None


@dataclass(frozen=True)
class Batch:
    """The reports of one request."""

    survey: Survey
    digest: str
    reports: tuple[Report, ...]

    @property
    def entries(self) -> list[Entry]:
        """The reports as the collector should store them."""
        width = cell_width(self.survey)
        return [Entry(self.survey.id, r.id.bytes, pack(r.values, width)) for r in self.reports]

    @property
    def body(self) -> bytes:
        """The request's JSON."""
        reports = [self._write(report) for report in self.reports]
        return json.dumps({"digest": self.digest, "reports": reports}).encode()

    def _write(self, report: Report) -> dict[str, Any]:
        if self.survey is not INVITED:
            return {"id": str(report.id), "values": report.values}
        digest, id_ = report.sealed_for or (self.survey.digest, report.id)
        cell = pack(report.values, cell_width(self.survey))
        return {"id": str(report.id), "sealed": seal_report(digest, id_, cell, report.invitation)}


class PlainClient:
    """Sends batches of random reports, retries some of the unacknowledged ones, and sometimes
    sends a batch that should be refused.

    Attributes
    ----------
    purse : list of str
        Unused invitations.
    goal : float
        Number of acknowledged reports after which it sends less often.
    """

    def __init__(
        self,
        urls: Sequence[str],
        ledger: Ledger,
        seed: int,
        *,
        surveys: Sequence[Survey] = _PAIRS[0],
        sizes: Sequence[int] = _SIZES,
        forged: float = _FORGED,
    ) -> None:
        self.goal = math.inf
        self._urls = urls
        self._ledger = ledger
        self._rng = random.Random(seed)
        self._surveys = surveys
        self._sizes = sizes
        self._forged = forged
        self.purse: list[str] = []
        # One session per collector, since several send concurrently.
        self._couriers = {url: Courier(ledger, SURVEYS) for url in urls}
        self._last: Batch | None = None
        # A batch whose ids are not yet used for the other survey.
        self._unpaired: Batch | None = None

    def run(self, stop: threading.Event) -> None:
        while not stop.is_set():
            if len(self._ledger.acknowledged) > self.goal:
                stop.wait(self._rng.uniform(0, _REST))
            if self._rng.random() < self._forged and self._last is not None:
                self.forge(self._last, self._rng.choice(_wrong(self._last.survey)))
            else:
                self._deliver(self.batch(), stop)

    def batch(self) -> Batch:
        """Return new reports, half of the time with the previous ids for the other survey."""
        rng, before = self._rng, self._unpaired
        surveys = _open_to(self.purse, self._surveys)
        others = [survey for survey in surveys if before and survey is not before.survey]
        if before and others and rng.random() < 0.5:
            [survey] = others
            ids = [report.id for report in before.reports]
        else:
            before = None
            survey = rng.choice(surveys)
            ids = [self._id() for _ in range(rng.choice(self._sizes))]
        invitations = _take(self.purse, len(ids)) if survey is INVITED else [None] * len(ids)
        made = Batch(survey, survey.digest, self._reports(survey, ids, invitations))
        self._unpaired = made if before is None else None
        return made

    def send(self, batch: Batch) -> bool:
        """Send a batch to one or all collectors; return whether one acknowledged it."""
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

    def forge(self, counted: Batch, kind: str) -> None:
        """Send a batch of valid reports and one defect, which should be refused as a whole."""
        forgery = self._forgery(counted, kind)
        self._ledger.forge(forgery.entries)
        self.send(forgery)

    def _forgery(self, counted: Batch, kind: str) -> Batch:
        survey, rng = counted.survey, self._rng
        ids = [self._id() for _ in range(_FORGED_SIZE)]
        # Keep these in the purse: a refused request must not use them up.
        shown = self.purse[:_FORGED_SIZE] if survey is INVITED else [None] * _FORGED_SIZE
        *good, bad = self._reports(survey, ids, shown)
        digest, known = survey.digest, rng.choice(counted.reports)
        if kind == "digest":
            digest = "0" * 64
        elif kind == "range":
            bad = bad._replace(values=survey.schema.shape)
        elif kind == "spent":
            bad = bad._replace(invitation=known.invitation)
        elif kind == "unknown":
            bad = bad._replace(invitation=f"{rng.getrandbits(128):032x}")
        elif kind == "elsewhere":
            bad = bad._replace(sealed_for=(NARROW.digest, bad.id))
        else:
            bad = bad._replace(sealed_for=(survey.digest, self._id()))
        return Batch(survey, digest, (*good, bad))

    def _reports(
        self, survey: Survey, ids: Sequence[UUID], invitations: Sequence[str | None]
    ) -> tuple[Report, ...]:
        return tuple(
            Report(id_, self._values(survey), invitation)
            for id_, invitation in zip(ids, invitations, strict=True)
        )

    def _id(self) -> UUID:
        return UUID(int=self._rng.getrandbits(128), version=4)

    def _values(self, survey: Survey) -> tuple[int, ...]:
        """Return random values, half of the time the same ones, so that writers conflict."""
        if self._rng.random() < 0.5:
            return (0,) * len(survey.schema.shape)
        return tuple(self._rng.randrange(size) for size in survey.schema.shape)


def _wrong(survey: Survey) -> tuple[str, ...]:
    return _WRONG + _WRONG_SEALED if survey is INVITED else _WRONG


def _open_to(purse: Sequence[str], surveys: Sequence[Survey]) -> list[Survey]:
    """Return the surveys for which these invitations suffice for any batch and a forged one."""
    enough = len(purse) >= max(_SIZES) + _FORGED_SIZE
    return [survey for survey in surveys if enough or survey is not INVITED]


def _take(purse: list[str], count: int) -> list[str]:
    taken = purse[-count:]
    del purse[-count:]
    return taken


class RealClient:
    """The package's client with its outbox, for respondents with and without a key.

    Attributes
    ----------
    purse : list of str
        Unused invitations.
    """

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
        self.purse: list[str] = []

    def run(self, stop: threading.Event) -> None:
        while not stop.is_set():
            survey = self._rng.choice(_open_to(self.purse, SURVEYS))
            records = [self._record(survey) for _ in range(self._rng.choice(_SIZES))]
            invitations = _take(self.purse, len(records)) if survey is INVITED else None
            try:
                waiting = self._submit(survey, records, invitations)
            except CollectorUnavailable:
                # Without a ticket nothing is drawn.
                if survey is not TICKETED:
                    raise
                waiting = True
            if waiting:
                stop.wait(self._rng.uniform(0, _PAUSE))

    def _submit(
        self,
        survey: Survey,
        records: list[dict[str, str]],
        invitations: list[str] | None,
    ) -> bool:
        """Send reports of these records; return whether some wait."""
        if len(records) > 1:
            sent_many = self._client.submit_many(survey, records, invitations=invitations)
            return sent_many.waiting > 0
        self._people += 1
        sent = self._client.submit(
            survey,
            records[0],
            respondent=f"person {self._people}",
            invitation=invitations[0] if invitations else None,
        )
        return sent.status == "waiting"

    def flush(self) -> None:
        """Send the waiting reports of the outbox."""
        for unsent in self._client.flush().unsent:
            raise Broken(f"{unsent.reports} reports were not sent: {unsent.reason}")

    def _record(self, survey: Survey) -> dict[str, str]:
        return {
            attribute.name: self._rng.choice(attribute.categories)
            for attribute in survey.schema.attributes
        }


class Load:
    """All clients of one trial."""

    def __init__(
        self, urls: Sequence[str], ledger: Ledger, rng: random.Random, folder: Path
    ) -> None:
        seeds = iter(rng.sample(range(2**32), _OWN * len(_PAIRS) + _REAL))
        self._ledger = ledger
        self._plain = [
            PlainClient(urls, ledger, next(seeds), surveys=pair)
            for pair in _PAIRS
            for _ in range(_OWN)
        ]
        self._real = [RealClient(urls[0], ledger, next(seeds), folder) for _ in range(_REAL)]
        self._invited: list[PlainClient | RealClient] = [*self._plain[_OWN:], *self._real]

    def invite(self, issue: Callable[[int], list[str]]) -> None:
        """Refill the invitations of all clients that use them."""
        for client in self._invited:
            missing = _PURSE - len(client.purse)
            if missing:
                issued = issue(missing)
                self._ledger.issued.update(map(hash_invitation, issued))
                client.purse.extend(issued)

    @contextmanager
    def running(self, enough: float) -> Iterator[None]:
        """Run all clients until the block is left, and let them finish their requests.

        After `enough` further acknowledged reports, most of them send less often.
        """
        for client in self._plain:
            client.goal = len(self._ledger.acknowledged) + enough
        with sending([*self._plain, *self._real]):
            yield

    def retry(self, entries: Collection[Entry]) -> None:
        """Send these reports and those in outboxes until all are acknowledged."""
        for client in self._real:
            client.flush()
        sender = self._plain[0]
        for batch in batches(entries, self._ledger.invitations):
            for _ in range(_ATTEMPTS):
                if sender.send(batch):
                    break
            else:
                raise Broken("a retry was not acknowledged")

    def forge(self, counted: Collection[Entry]) -> None:
        """Send all kinds of requests that should be refused, next to counted reports."""
        forger = self._plain[-1]
        for batch in batches(counted, self._ledger.invitations):
            for kind in _wrong(batch.survey):
                forger.forge(batch, kind)


@contextmanager
def sending(clients: Sequence[Any]) -> Iterator[None]:
    """Run clients in threads until the block is left."""
    stop = threading.Event()
    with ThreadPoolExecutor(len(clients)) as pool:
        # A stop signal may arrive while only the first of them run.
        try:
            running = [pool.submit(client.run, stop) for client in clients]
            yield
        finally:
            stop.set()
    for failure in filter(None, (each.exception() for each in running)):
        raise Broken("a client failed:\n" + "".join(traceback.format_exception(failure)))


def batches(entries: Collection[Entry], invitations: Mapping[Entry, str]) -> Iterator[Batch]:
    """Yield requests that repeat these reports with their invitations."""
    for survey in SURVEYS:
        width = cell_width(survey)
        reports = sorted(entry for entry in entries if entry.survey == survey.id)
        for start in range(0, len(reports), _CHUNK):
            yield Batch(
                survey,
                survey.digest,
                tuple(
                    Report(
                        UUID(bytes=entry.id),
                        tuple(unpack(entry.cell, width)),
                        invitations.get(entry),
                    )
                    for entry in reports[start : start + _CHUNK]
                ),
            )
