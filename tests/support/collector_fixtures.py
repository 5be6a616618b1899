"""Fixtures for a collector in this process: its database, HTTP interface and commands."""

import re
from collections.abc import Callable, Iterator
from typing import Any
from uuid import uuid4

import numpy as np
import pytest
from flask.testing import FlaskClient
from halftruth_collector import operations
from halftruth_collector.collector_store import Store
from halftruth_collector.estimation import Counts
from halftruth_collector.store.tables import metadata
from halftruth_shared import Survey
from sqlalchemy import Engine, create_engine
from sqlalchemy.engine import make_url

#: Line of a command that writes, which names its database.
NAMED = re.compile(r"^halftruth: (new )?database \w+://\S+\n", re.M)


@pytest.fixture
def raw(database: str) -> Iterator[Engine]:
    """An engine for the database, without a store."""
    engine = create_engine(make_url(database.replace("postgresql:", "postgresql+psycopg:")))
    yield engine
    engine.dispose()


@pytest.fixture
def rows(raw: Engine) -> Callable[[str], list[tuple[Any, ...]]]:
    """Return a function that runs a query."""

    def run(query: str) -> list[tuple[Any, ...]]:
        with raw.connect() as connection:
            return [tuple(row) for row in connection.exec_driver_sql(query)]

    return run


@pytest.fixture
def dump(rows) -> Callable[[], dict[str, list[tuple[Any, ...]]]]:
    """Return a function that reads the sorted rows of every table."""
    return lambda: {
        name: sorted(rows(f"SELECT * FROM {name}"), key=repr) for name in metadata.tables
    }


@pytest.fixture
def published(store: Store, survey: Survey) -> Survey:
    operations.publish_survey(store, survey)
    return survey


@pytest.fixture
def http(app, store, survey) -> FlaskClient:
    """A test client of a collector with the small survey published."""
    operations.publish_survey(store, survey)
    return app.test_client()


@pytest.fixture
def analyst(store) -> dict[str, str]:
    return {"Authorization": f"Bearer {operations.create_token(store, 'analyst')}"}


@pytest.fixture
def operator(store) -> dict[str, str]:
    return {"Authorization": f"Bearer {operations.create_token(store, 'operator')}"}


@pytest.fixture
def batch(survey):
    """Return a function that makes a request's body from the values of its reports."""

    def make(*values: Any, digest: str | None = None) -> dict[str, Any]:
        return {
            "digest": survey.digest if digest is None else digest,
            "reports": [{"id": str(uuid4()), "values": value} for value in values],
        }

    return make


@pytest.fixture
def counted(store):
    """Return a function that reads the number of a survey's counted reports."""
    return lambda id="health": store.reports.counts(id)[1].reports


@pytest.fixture
def filled(http, batch, survey) -> Counts:
    """Send 400 perturbed reports to a collector, and return their counts."""
    rng = np.random.default_rng(3)
    records = np.stack([rng.integers(0, 2, 400), rng.integers(0, 3, 400)], axis=1)
    reports = survey.perturbation.reports(records, rng)
    assert http.post("/v1/surveys/health/reports", json=batch(*reports.tolist())).status_code == 202
    return Counts.from_reports(survey, reports)


@pytest.fixture
def refused(halftruth):
    """Return a function that runs a command that fails, and returns its one-line error."""

    def run(*words):
        status, said, complaint = halftruth(*words)
        assert (status, said) == (2, "")
        assert complaint.startswith("halftruth: ")
        assert complaint.count("\n") == 1
        return complaint

    return run


@pytest.fixture
def done(halftruth):
    """Return a function that runs a command that succeeds, and returns its output."""

    def run(*words):
        status, said, complaint = halftruth(*words)
        # A command that writes names its database.
        assert (status, NAMED.sub("", complaint)) == (0, "")
        return said

    return run
