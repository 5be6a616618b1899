"""What tests of several rooms share: a small survey, and a collector on loopback."""

import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from flask import Flask
from halftruth_collector.api import create_app
from halftruth_collector.config import Config
from halftruth_collector.store import Store
from halftruth_shared import Attribute, GammaDiagonal, Schema, Survey
from werkzeug.serving import make_server

SCHEMA = Schema(
    (
        Attribute("smoker", ("no", "yes")),
        Attribute("drinks", ("never", "weekly", "daily")),
    )
)
RECORD = {"smoker": "yes", "drinks": "weekly"}


@dataclass
class LiveCollector:
    """A collector that answers on loopback from a thread of this process."""

    url: str
    app: Flask
    store: Store


@pytest.fixture
def survey() -> Survey:
    return Survey("health", "Health at work", SCHEMA, GammaDiagonal("19"))


@pytest.fixture
def record() -> dict[str, str]:
    return dict(RECORD)


@pytest.fixture
def database(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'test.db'}"


@pytest.fixture
def store(database: str) -> Iterator[Store]:
    opened = Store(database)
    yield opened
    opened.close()


@pytest.fixture
def app(database: str, store: Store) -> Iterator[Flask]:
    made = create_app(Config(database=database))
    yield made
    made.extensions["halftruth"].store.close()


@pytest.fixture
def live(app: Flask, store: Store, survey: Survey) -> Iterator[LiveCollector]:
    """A collector with the small survey published."""
    store.surveys.publish(survey)
    server = make_server("127.0.0.1", 0, app, threaded=True)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    yield LiveCollector(f"http://127.0.0.1:{server.port}", app, store)
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(autouse=True)
def no_settings_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith("HALFTRUTH_") and not name.startswith("HALFTRUTH_TEST"):
            monkeypatch.delenv(name)
