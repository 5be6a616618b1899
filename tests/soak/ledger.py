"""What clients know of their reports: sent, acknowledged, in flight, or never to be counted."""

import base64
import hashlib
import json
import threading
from collections.abc import Collection
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit
from uuid import UUID

import requests
from halftruth_shared import Survey
from halftruth_shared.protocol.sealing import SealingKeys, seal
from urllib3.exceptions import MaxRetryError, NewConnectionError

#: Seconds that a client waits for an answer: longer than any fault lasts.
TIMEOUT = 60.0

#: The key that every collector of this suite opens sealed reports with.
KEYS = SealingKeys.create()

#: Bytes of an invitation, which ends what is sealed.
_INVITATION = 16


class Entry(NamedTuple):
    """One report, as its client knows it: its survey, its id, and its packed values."""

    survey: str
    id: bytes
    cell: bytes

    @property
    def key(self) -> tuple[str, bytes]:
        """What the database knows it by."""
        return self.survey, self.id


class Ledger:
    """Every report of every client, with what it has been told; for all threads.

    Attributes
    ----------
    certificate : Path or None
        What clients trust, if they send by TLS.
    sent : set of Entry
        Reports that a client tried to send at least once and that should be counted.
    acknowledged : set of Entry
        Those of a request that was answered with 202.
    in_flight : set of Entry
        Those of a request whose answer was lost or 503: whether it was counted is unknown.
    forged : set of Entry
        Reports of requests that should be refused, whatever else is in them.
    issued : set of bytes
        Hashes of all invitations that there ever were.
    invitations : dict of Entry to str
        The invitation of each report that needs one.
    at_first : int
        Reports acknowledged at their first attempt.
    accepted : int
        By all receipts together.
    unavailable : int
        Requests answered with 503.
    unanswered : int
        Reports of all requests whose answer was lost or 503, each time they were sent.
    complaints : list of str
        Answers that no client should get.
    """

    def __init__(self, certificate: Path | None = None) -> None:
        self.certificate = certificate
        self.sent: set[Entry] = set()
        self.acknowledged: set[Entry] = set()
        self.in_flight: set[Entry] = set()
        self.forged: set[Entry] = set()
        self.issued: set[bytes] = set()
        self.invitations: dict[Entry, str] = {}
        self.at_first = self.accepted = self.unavailable = self.unanswered = 0
        self.complaints: list[str] = []
        self._lock = threading.Lock()

    @property
    def outstanding(self) -> set[Entry]:
        """What was sent and not acknowledged."""
        with self._lock:
            return self.sent - self.acknowledged

    def acknowledged_now(self) -> set[Entry]:
        """A copy of what has been acknowledged so far."""
        with self._lock:
            return set(self.acknowledged)

    def forge(self, entries: Collection[Entry]) -> None:
        """Announce reports of a request that should be refused."""
        with self._lock:
            self.forged.update(entries)

    def attempt(self, entries: Collection[Entry]) -> int:
        """A request with these reports goes out; how many of them go for the first time."""
        with self._lock:
            if self._is_forged(entries):
                return 0
            before = len(self.sent)
            self.sent.update(entries)
            return len(self.sent) - before

    def lost(self, entries: Collection[Entry]) -> None:
        """The connection was lost after the request had gone out."""
        with self._lock:
            self._lost(entries)

    def answered(self, entries: Collection[Entry], first: int, status: int, body: bytes) -> None:
        """The collector answered a request, `first` of whose reports went for the first time."""
        with self._lock:
            if status == 503:
                self.unavailable += 1
                self._lost(entries)
            elif self._is_forged(entries):
                if status not in (403, 409, 422):
                    self.complaints.append(f"a request to be refused was answered {status}")
            elif status == 202:
                receipt = json.loads(body)
                if receipt["accepted"] + receipt["duplicates"] != len(entries):
                    self.complaints.append(f"the receipt of {len(entries)} reports was {receipt}")
                self.acknowledged.update(entries)
                self.accepted += receipt["accepted"]
                self.at_first += first
            else:
                self.complaints.append(f"a report was answered {status}: {body[:300]!r}")

    def _lost(self, entries: Collection[Entry]) -> None:
        if not self._is_forged(entries):
            self.in_flight.update(entries)
            self.unanswered += len(entries)

    def _is_forged(self, entries: Collection[Entry]) -> bool:
        return any(entry in self.forged for entry in entries)


class Courier(requests.Session):
    """A session that writes down in a ledger what became of the reports it sent.

    It sends each request once: whoever uses it decides about retries.
    """

    def __init__(self, ledger: Ledger, surveys: Collection[Survey]) -> None:
        super().__init__()
        self.trust_env = False
        self.verify = str(ledger.certificate) if ledger.certificate else True
        self._ledger = ledger
        self._surveys = {survey.id: survey for survey in surveys}

    def request(self, method: Any, url: Any, *args: Any, **kwargs: Any) -> requests.Response:
        if method != "POST":
            return super().request(method, url, *args, **kwargs)
        entries = self._entries(str(url), kwargs["data"])
        first = self._ledger.attempt(entries)
        try:
            response = super().request(method, url, *args, **kwargs)
            # Read here, since the body of a streamed answer can be lost after its status.
            body = response.content
        except requests.RequestException as error:
            if not _never_connected(error):
                self._ledger.lost(entries)
            raise
        self._ledger.answered(entries, first, response.status_code, body)
        return response

    def _entries(self, url: str, body: bytes) -> list[Entry]:
        """The reports of a request, as the collector is to store them.

        A sealed one that does not open stands for nothing: those beside it tell whether the request
        should be refused.
        """
        survey = self._surveys[urlsplit(url).path.split("/")[3]]
        read = [self._entry(survey, report) for report in json.loads(body)["reports"]]
        return [entry for entry in read if entry is not None]

    def _entry(self, survey: Survey, report: dict[str, Any]) -> Entry | None:
        id_ = UUID(report["id"])
        if "values" in report:
            return Entry(survey.id, id_.bytes, pack(report["values"], cell_width(survey)))
        # What it is bound to is written here once more, from the protocol and not by the program.
        info = b"halftruth sealed report 1\n" + bytes.fromhex(survey.digest) + id_.bytes
        opened = KEYS.decrypt(base64.b64decode(report["sealed"]), info)
        if opened is None:
            return None
        entry = Entry(survey.id, id_.bytes, opened[:-_INVITATION])
        self._ledger.invitations[entry] = opened[-_INVITATION:].hex()
        return entry


def seal_report(digest: str, id_: UUID, cell: bytes, invitation: str | None) -> str:
    """A packed report with its invitation, as it is sent."""
    return base64.b64encode(seal(KEYS.public[0], digest, id_, cell, invitation)).decode()


def hash_invitation(invitation: str) -> bytes:
    """What a collector keeps of an invitation until a report has spent it."""
    return hashlib.sha256(bytes.fromhex(invitation)).digest()


def cell_width(survey: Survey) -> int:
    """Bytes of one value of a packed report."""
    largest = max(survey.schema.shape)
    return 1 if largest <= 2**8 else 2 if largest <= 2**16 else 4


def pack(values: Collection[int], width: int) -> bytes:
    """Values one after the other, the most significant byte of each first."""
    return b"".join(value.to_bytes(width, "big") for value in values)


def unpack(cell: bytes, width: int) -> list[int]:
    """The values again."""
    return [int.from_bytes(cell[i : i + width], "big") for i in range(0, len(cell), width)]


def _never_connected(error: requests.RequestException) -> bool:
    """Whether there was no connection that the request could have gone out on."""
    reason = error.args[0] if error.args else None
    return isinstance(reason, MaxRetryError) and isinstance(reason.reason, NewConnectionError)
