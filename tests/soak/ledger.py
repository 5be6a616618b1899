"""The clients' record of their reports: sent, acknowledged, in flight, or to be refused."""

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

#: Timeout of a client in seconds, longer than any fault.
TIMEOUT = 60.0

#: The key with which all collectors of this suite open sealed reports.
KEYS = SealingKeys.create()

#: Bytes of an invitation, the last part of a sealed plaintext.
_INVITATION = 16

#: Bytes of the id of a ticket, its first part.
_TICKET_ID = 16


class Entry(NamedTuple):
    """One report from its client's view: survey, id and packed values."""

    survey: str
    id: bytes
    cell: bytes

    @property
    def key(self) -> tuple[str, bytes]:
        """The report's key in the database."""
        return self.survey, self.id


class Ledger:
    """Thread-safe record of the reports of all clients and their responses.

    Attributes
    ----------
    certificate : Path or None
        Trusted certificate of clients that use TLS.
    sent : set of Entry
        Reports that were sent at least once and should be counted.
    acknowledged : set of Entry
        Reports of requests answered with 202.
    in_flight : set of Entry
        Reports of requests with a lost answer or 503, which may or may not be counted.
    forged : set of Entry
        Reports of requests that should be refused as a whole.
    issued : set of bytes
        Hashes of all issued invitations.
    invitations : dict of Entry to str
        The invitation of each report that needs one.
    tickets : dict of Entry to bytes
        The id of the ticket of each report that came with one.
    at_first : int
        Reports acknowledged at the first attempt.
    accepted : int
        Sum of all receipts.
    unavailable : int
        Requests answered with 503.
    unanswered : int
        Reports of all requests with a lost answer or 503, counted at each attempt.
    complaints : list of str
        Invalid responses.
    """

    def __init__(self, certificate: Path | None = None) -> None:
        self.certificate = certificate
        self.sent: set[Entry] = set()
        self.acknowledged: set[Entry] = set()
        self.in_flight: set[Entry] = set()
        self.forged: set[Entry] = set()
        self.issued: set[bytes] = set()
        self.invitations: dict[Entry, str] = {}
        self.tickets: dict[Entry, bytes] = {}
        self.at_first = self.accepted = self.unavailable = self.unanswered = 0
        self.complaints: list[str] = []
        self._lock = threading.Lock()

    @property
    def outstanding(self) -> set[Entry]:
        """Reports that were sent and not acknowledged."""
        with self._lock:
            return self.sent - self.acknowledged

    def acknowledged_now(self) -> set[Entry]:
        """Return a copy of the acknowledged reports."""
        with self._lock:
            return set(self.acknowledged)

    def forge(self, entries: Collection[Entry]) -> None:
        """Announce reports of a request that should be refused."""
        with self._lock:
            self.forged.update(entries)

    def attempt(self, entries: Collection[Entry]) -> int:
        """Record a request with these reports; return how many are sent for the first time."""
        with self._lock:
            if self._is_forged(entries):
                return 0
            before = len(self.sent)
            self.sent.update(entries)
            return len(self.sent) - before

    def lost(self, entries: Collection[Entry]) -> None:
        """Record that the connection was lost after the request was sent."""
        with self._lock:
            self._lost(entries)

    def answered(self, entries: Collection[Entry], first: int, status: int, body: bytes) -> None:
        """Record a response to a request that sent `first` of its reports for the first time."""
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
    """A session that records the outcome of all reports in a ledger.

    It sends each request once; its user decides about retries.
    """

    def __init__(self, ledger: Ledger, surveys: Collection[Survey]) -> None:
        super().__init__()
        self.trust_env = False
        self.verify = str(ledger.certificate) if ledger.certificate else True
        self._ledger = ledger
        self._surveys = {survey.id: survey for survey in surveys}

    def request(self, method: Any, url: Any, *args: Any, **kwargs: Any) -> requests.Response:
        if method != "POST" or str(url).endswith("/tickets"):
            return super().request(method, url, *args, **kwargs)
        entries = self._entries(str(url), kwargs["data"])
        first = self._ledger.attempt(entries)
        try:
            response = super().request(method, url, *args, **kwargs)
            # Read here, because the body of a streamed response can be lost after its status.
            body = response.content
        except requests.RequestException as error:
            if not _never_connected(error):
                self._ledger.lost(entries)
            raise
        self._ledger.answered(entries, first, response.status_code, body)
        return response

    def _entries(self, url: str, body: bytes) -> list[Entry]:
        """Return the reports of a request as the collector should store them.

        Sealed reports that cannot be opened are skipped; the other reports tell whether the request
        should be refused.
        """
        survey = self._surveys[urlsplit(url).path.split("/")[3]]
        read = [self._entry(survey, report) for report in json.loads(body)["reports"]]
        return [entry for entry in read if entry is not None]

    def _entry(self, survey: Survey, report: dict[str, Any]) -> Entry | None:
        id_ = UUID(report["id"])
        if "values" in report:
            entry = Entry(survey.id, id_.bytes, pack(report["values"], cell_width(survey)))
            if report.get("ticket"):
                self._ledger.tickets[entry] = bytes.fromhex(report["ticket"])[:_TICKET_ID]
            return entry
        # The binding is implemented here from the protocol, independently of the program.
        info = b"halftruth sealed report 1\n" + bytes.fromhex(survey.digest) + id_.bytes
        opened = KEYS.decrypt(base64.b64decode(report["sealed"]), info)
        if opened is None:
            return None
        entry = Entry(survey.id, id_.bytes, opened[:-_INVITATION])
        self._ledger.invitations[entry] = opened[-_INVITATION:].hex()
        return entry


def seal_report(digest: str, id_: UUID, cell: bytes, invitation: str | None) -> str:
    """Return a packed report with its invitation, sealed and encoded for sending."""
    return base64.b64encode(seal(KEYS.public[0], digest, id_, cell, invitation)).decode()


def hash_invitation(invitation: str) -> bytes:
    """Return the hash that a collector stores of an unused invitation."""
    return hashlib.sha256(bytes.fromhex(invitation)).digest()


def cell_width(survey: Survey) -> int:
    """Return the bytes per value of a packed report."""
    largest = max(survey.schema.shape)
    return 1 if largest <= 2**8 else 2 if largest <= 2**16 else 4


def pack(values: Collection[int], width: int) -> bytes:
    """Concatenate values in big-endian order."""
    return b"".join(value.to_bytes(width, "big") for value in values)


def unpack(cell: bytes, width: int) -> list[int]:
    """Return the values of a packed report."""
    return [int.from_bytes(cell[i : i + width], "big") for i in range(0, len(cell), width)]


def _never_connected(error: requests.RequestException) -> bool:
    """Whether no connection was established, so that the request was not sent."""
    reason = error.args[0] if error.args else None
    return isinstance(reason, MaxRetryError) and isinstance(reason.reason, NewConnectionError)
