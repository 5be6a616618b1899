"""Misbehaving collectors for the client, and a correct one in memory."""

import base64
import json
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from io import BytesIO
from typing import Any
from uuid import UUID

import pytest
import requests
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from halftruth_client import Client
from halftruth_client import client as client_module
from halftruth_shared import ReportError, Survey
from halftruth_shared.protocol.sealing import SealingKeys, open_sealed
from halftruth_shared.protocol.signing import OperatorKey, sign
from halftruth_shared.protocol.terms import Signature, Terms
from requests.adapters import BaseAdapter

NOWHERE = "http://127.0.0.1:1"
URL = "http://collector.test"
OPERATOR = OperatorKey(Ed25519PrivateKey.from_private_bytes(bytes([1] * 32)))
STRANGER = OperatorKey(Ed25519PrivateKey.from_private_bytes(bytes([2] * 32)))
INVITATIONS = [f"{i:032x}" for i in range(0xFACE000, 0xFACE000 + 3_000)]


@pytest.fixture(autouse=True)
def another_process() -> None:
    """Clear the process-wide state that failed calls of other tests left."""
    client_module._unsettled.cache_clear()


class Scripted(BaseAdapter):
    """An adapter that answers requests from a function without a network, and records them."""

    def __init__(self, answer: Callable[[requests.PreparedRequest], tuple[int, bytes]]) -> None:
        super().__init__()
        self._answer = answer
        self.asked: list[requests.PreparedRequest] = []

    def send(self, request: requests.PreparedRequest, *_: Any, **__: Any) -> requests.Response:
        self.asked.append(request)
        response = requests.Response()
        response.status_code, content = self._answer(request)
        response.raw = BytesIO(content)
        response.request, response.url = request, request.url or ""
        return response

    def close(self) -> None:
        pass


@pytest.fixture
def answering() -> Callable[..., tuple[requests.Session, Scripted]]:
    def make(
        answer: Callable[[requests.PreparedRequest], tuple[int, bytes]],
    ) -> tuple[requests.Session, Scripted]:
        adapter = Scripted(answer)
        session = requests.Session()
        session.mount("http://", adapter)
        return session, adapter

    return make


@pytest.fixture
def scripted(answering) -> Callable[..., tuple[requests.Session, Scripted]]:
    def make(status: int, body: Any) -> tuple[requests.Session, Scripted]:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        return answering(lambda _: (status, content))

    return make


def sealing_key(number: int) -> X25519PrivateKey:
    return X25519PrivateKey.from_private_bytes(bytes([number] * 32))


@dataclass
class Stub:
    """A minimal collector in memory, following docs/protocol.md."""

    survey: Survey
    terms: Terms = field(default_factory=Terms)
    signer: OperatorKey | None = None
    private: tuple[X25519PrivateKey, ...] = ()
    away: bool = False
    unspent: set[str] = field(default_factory=lambda: set(INVITATIONS))
    counted: dict[UUID, list[int]] = field(default_factory=dict)

    def seal_to(self, *private: X25519PrivateKey, invitations: bool = False) -> None:
        """Accept only sealed reports, to the first of these keys."""
        self.private = private
        public = private[0].public_key().public_bytes_raw().hex()
        self.terms = Terms(invitations=invitations, sealing_key=public)

    def signature(self) -> Signature | None:
        return None if self.signer is None else sign(self.signer, self.survey.digest, self.terms)

    def __call__(self, request: requests.PreparedRequest) -> tuple[int, bytes]:
        if self.away:
            raise requests.ConnectionError
        if request.method == "GET":
            made = self.signature()
            answer = {
                "survey": json.loads(self.survey.canonical_json),
                "digest": self.survey.digest,
                "status": "open",
                "terms": {
                    "invitations": self.terms.invitations,
                    "sealing_key": self.terms.sealing_key,
                    "shared_devices": self.terms.shared_devices,
                },
                "signature": made and {"key": made.key, "value": made.value},
            }
            return 200, json.dumps(answer).encode()
        return self.take(json.loads(request.body))

    def take(self, batch: dict) -> tuple[int, bytes]:
        new, spent = {}, set()
        for i, report in enumerate(batch["reports"]):
            if ("sealed" in report) != (self.terms.sealing_key is not None):
                return problem(422, "values", i)
            report_id = UUID(report["id"])
            try:
                values, invitation = self.opened(batch["digest"], report_id, report)
            except ReportError:
                return problem(422, "sealed", i)
            if report_id in self.counted:
                assert self.counted[report_id] == values
                continue
            if invitation is not None and not self.terms.invitations:
                return problem(422, "invitation", i)
            if self.terms.invitations and invitation not in self.unspent - spent:
                return problem(403, "invitation", i)
            new[report_id] = values
            spent |= {invitation}
        self.counted |= new
        self.unspent -= spent
        receipt = {"accepted": len(new), "duplicates": len(batch["reports"]) - len(new)}
        return 202, json.dumps(receipt).encode()

    def opened(self, digest: str, report_id: UUID, report: dict) -> tuple[list[int], str | None]:
        if "values" in report:
            return report["values"], report["invitation"]
        sealed = base64.b64decode(report["sealed"], validate=True)
        size, invited = 2, self.terms.invitations
        keys = SealingKeys(self.private)
        packed, invitation = open_sealed(keys, digest, report_id, sealed, size, invited)
        return list(packed), invitation


def problem(status: int, name: str, report: int) -> tuple[int, bytes]:
    body = {
        "type": "about:blank",
        "title": "Refused",
        "status": status,
        "detail": f"report {report}: {name}: expected something else",
        "field": name,
        "report": report,
    }
    return status, json.dumps(body).encode()


@pytest.fixture
def stub(survey) -> Stub:
    return Stub(survey)


@pytest.fixture
def session(stub, answering):
    session, adapter = answering(stub)
    session.asked = adapter.asked
    return session


@pytest.fixture
def client(session):
    """Create clients of the stub."""

    def make(**options) -> Client:
        return Client(URL, max_gamma="19", session=session, **options)

    return make


@pytest.fixture
def remembering(client, tmp_path):
    """Create clients of the stub with one outbox, as in the processes of one machine."""
    return partial(client, outbox=tmp_path / "outbox.db")


def posted(session) -> list[dict]:
    return [json.loads(request.body) for request in session.asked if request.method == "POST"]


def methods(session) -> list[str]:
    return [request.method for request in session.asked]


def waiting(outbox) -> list[tuple]:
    with sqlite3.connect(outbox) as connection:
        rows = connection.execute("SELECT id, invitation FROM reports WHERE waiting").fetchall()
    connection.close()
    return rows


def counted(store, survey_id: str = "health") -> int:
    return store.reports.counts(survey_id)[1].reports


class Failing:
    """Forwards requests, but then answers the first few reports with an error."""

    def __init__(self, app: Callable[..., Any], failures: int, status: str) -> None:
        self._app, self._left, self._status = app, failures, status
        self.posts = 0

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Any:
        if environ["REQUEST_METHOD"] != "POST":
            return self._app(environ, start_response)
        self.posts += 1
        if self._left == 0:
            return self._app(environ, start_response)
        self._left -= 1
        answered = self._app(environ, lambda *_: lambda _: None)
        b"".join(answered)
        start_response(self._status, [("Content-Type", "text/plain")])
        return [b"no"]
