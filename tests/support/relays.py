"""A collector, a relay and devices in one process, and searches of their files."""

import base64
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Event
from uuid import UUID, uuid4

import hpke
from flask import Flask
from flask.testing import FlaskClient
from halftruth_collector import operations as collecting
from halftruth_collector.collector_store import Store
from halftruth_collector.ops.settings import Config
from halftruth_collector.web import create_app as create_collector
from halftruth_relay import operations as relaying
from halftruth_relay.app import create_app as create_relay
from halftruth_relay.passing import Passing
from halftruth_relay.store import RelayStore
from halftruth_shared import Relay, Survey
from halftruth_shared.protocol.sealing import (
    SealingKeys,
    create_sealing_key,
    relayed_size,
    seal_for_relay,
)
from halftruth_shared.protocol.signed_tickets import TicketKeys
from halftruth_shared.protocol.tickets import Ticket
from wire import free_port, listening


@dataclass(frozen=True)
class Device:
    """A report as its device keeps it until it is acknowledged."""

    values: tuple[int, ...]
    report_id: UUID = field(default_factory=uuid4)
    relay_id: UUID = field(default_factory=uuid4)
    ticket: Ticket | None = None

    def sealed(self, survey: Survey, digest: str | None = None) -> dict[str, str]:
        """Return the sealed report in its envelope, as this device sends it."""
        assert survey.relay is not None
        packed = survey.report_space.pack(list(self.values))
        packed += b"" if self.ticket is None else self.ticket.to_bytes()
        made = seal_for_relay(
            survey.relay, digest or survey.digest, self.report_id, self.relay_id, packed
        )
        return {"id": str(self.relay_id), "sealed": base64.b64encode(made).decode()}


@dataclass
class Parties:
    """A collector and a relay, each with a store, and a survey that names both."""

    survey: Survey
    collector: Flask
    store: Store
    url: str
    relay: Flask
    relay_store: RelayStore
    token: str
    folder: Path

    @property
    def http(self) -> FlaskClient:
        """Return an HTTP client of the relay."""
        return self.relay.test_client()

    @property
    def path(self) -> str:
        return f"/v1/surveys/{self.survey.id}/reports"

    def send(self, *devices: Device, digest: str | None = None, **headers: str):
        """Send the reports of devices to the relay in one request."""
        body = {
            "digest": digest or self.survey.digest,
            "reports": [device.sealed(self.survey, digest) for device in devices],
        }
        return self.http.post(self.path, json=body, headers=headers)

    def fill(self, count: int) -> list[Device]:
        """Return `count` devices whose reports the relay has acknowledged."""
        devices = [Device((n % 2, n % 3)) for n in range(count)]
        for start in range(0, count, 1_000):
            response = self.send(*devices[start : start + 1_000])
            assert response.status_code == 202, response.text
        return devices

    def send_garbage(self, count: int) -> None:
        """Let the relay acknowledge envelopes of random bytes, which the collector cannot open.

        Anybody can send them: the outer seal needs the public key of the relay alone.
        """
        assert self.survey.relay is not None
        space, key = self.survey.report_space, bytes.fromhex(self.survey.relay.key)
        reports = []
        for id in (uuid4() for _ in range(count)):
            info = b"halftruth relay envelope 1\n" + bytes.fromhex(self.survey.digest) + id.bytes
            sealed = hpke.seal(key, info, os.urandom(relayed_size(space.packed_size)))
            reports.append({"id": str(id), "sealed": base64.b64encode(sealed).decode()})
        body = {"digest": self.survey.digest, "reports": reports}
        response = self.http.post(self.path, json=body)
        assert response.get_json() == {"accepted": count, "duplicates": 0}

    def passing(self, **given) -> Passing:
        """Return a forwarder of reports that runs in the caller's thread."""
        return Passing(self.relay_store, Event(), **given)

    def close(self) -> None:
        """Close the survey at the relay, and forward the reports that it holds."""
        relaying.close(self.relay_store, self.survey.id, confirm=self.survey.id)
        self.passing().look()

    def counted(self) -> int:
        return self.store.reports.counts(self.survey.id)[1].reports

    def held(self) -> int:
        return self.relay_store.held(self.relay_store.get(self.survey.id)).reports

    def register(self, **given) -> None:
        """Register the survey at the relay."""
        assert self.survey.relay is not None
        relaying.register(
            self.relay_store,
            self.url,
            self.survey.id,
            given.pop("token", self.token),
            **{
                "url": self.survey.relay.url,
                "keys": self.relay.extensions["halftruth"].known_keys(),
                "tickets_keys": ticket_keys(self.folder / "relay.pem").public,
                **given,
            },
        )


def with_relay(survey: Survey, folder: Path, **given) -> Survey:
    """Return the survey with a relay, whose keys are written to two files of the folder."""
    relay = {
        "url": f"http://127.0.0.1:{free_port()}",
        "key": create_sealing_key(folder / "relay.pem"),
        "sealing_key": create_sealing_key(folder / "collector.pem"),
        "batch": 10,
        **given,
    }
    if survey.has_tickets:
        relay = {"tickets_key": ticket_keys(folder / "relay.pem").public[0]} | relay
    return replace(survey, relay=Relay(**relay))


def ticket_keys(file: Path) -> TicketKeys:
    """Return the keys by which the relay with this file signs tickets."""
    return TicketKeys(SealingKeys.read(file))


@contextmanager
def parties(
    survey: Survey, database: str, relay_database: str, folder: Path, **settings
) -> Iterator[Parties]:
    """Run a collector that has published this survey, and a relay that has registered it."""
    collector = create_collector(
        Config(
            database=database,
            rate_limit=None,
            min_reports=1,
            sealing_keys=folder / "collector.pem",
        )
    )
    relay = create_relay(
        Config(
            **{
                "database": relay_database,
                "rate_limit": None,
                "relay_keys": folder / "relay.pem",
                **settings,
            }
        )
    )
    store: Store = collector.extensions["halftruth"].store
    relay_store: RelayStore = relay.extensions["halftruth"].store
    try:
        collecting.publish_survey(store, survey)
        token = collecting.create_token(store, "relay", survey.id)
        with listening(collector) as url:
            made = Parties(survey, collector, store, url, relay, relay_store, token, folder)
            made.register()
            yield made
    finally:
        store.close()
        relay_store.close()


def contents(folder: Path) -> bytes:
    """Return the contents of all files of a folder, including database logs."""
    return b"".join(file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file())


def inner_reports(store: RelayStore) -> list[bytes]:
    """Return the reports that a relay holds, still sealed to the collector."""
    survey = store.all()[0]
    with store.database.reading() as connection:
        rows = connection.exec_driver_sql(
            f"SELECT sealed FROM relay_reports WHERE survey = {survey.number}"
        )
        return [bytes(row[0]) for row in rows]


def positions(data: bytes, needles: Sequence[bytes]) -> list[int]:
    """Return the position of each needle in the data, -1 if absent."""
    return [data.find(needle) for needle in needles]
