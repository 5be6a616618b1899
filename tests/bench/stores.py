"""Temporary databases of the benchmarks."""

import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from statistics import median
from uuid import UUID, uuid4

import psycopg
from halftruth_collector import operations
from halftruth_collector.collector_store import Store
from halftruth_collector.demo.census import census_codes, census_survey
from halftruth_shared import Mechanism
from halftruth_shared.protocol.reports import Report
from numpy.random import Generator
from sqlalchemy import make_url

#: Default URL of PostgreSQL.
_POSTGRES = "postgresql://postgres@127.0.0.1:5432/postgres"

#: Creates a database without tables; the value is its URL.
Database = Callable[[], AbstractContextManager[str]]


@contextmanager
def sqlite_database() -> Iterator[str]:
    """Create a file in a temporary folder."""
    with tempfile.TemporaryDirectory() as folder:
        yield f"sqlite:///{Path(folder) / 'bench.db'}"


@contextmanager
def postgres_database() -> Iterator[str]:
    """Create a database on the server of the tests."""
    name = f"halftruth_bench_{uuid4().hex}"
    with psycopg.connect(_server(), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
        try:
            url = make_url(_server()).set(database=name)
            yield url.render_as_string(hide_password=False)
        finally:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


def postgres_missing() -> str | None:
    """Return the reason why PostgreSQL is unavailable, or None."""
    try:
        psycopg.connect(_server(), connect_timeout=5).close()
    except psycopg.OperationalError as error:
        shown = make_url(_server()).render_as_string(hide_password=True)
        return f"{shown} does not answer ({type(error).__name__}); see HALFTRUTH_TEST_POSTGRES"
    return None


def _server() -> str:
    url = make_url(os.environ.get("HALFTRUTH_TEST_POSTGRES", _POSTGRES))
    # psycopg accepts no driver name in a URL.
    return url.set(drivername="postgresql").render_as_string(hide_password=False)


def sync_seconds() -> float:
    """Return the median time until a block appended to a temporary file is durable."""
    times = []
    with tempfile.TemporaryFile() as file:
        for _ in range(100):
            os.write(file.fileno(), bytes(4096))
            started = time.perf_counter()
            os.fsync(file.fileno())
            times.append(time.perf_counter() - started)
    return median(times)


def census_collected(url: str, mechanism: Mechanism, rng: Generator | None = None) -> str:
    """Publish CENSUS with the reports of all people; return a token for results."""
    survey = census_survey("census", mechanism)
    reports = survey.perturbation.reports(census_codes(), rng).tolist()
    with Store(url) as store:
        operations.publish_survey(store, survey)
        for start in range(0, len(reports), 10_000):
            batch = [
                Report(id=UUID(int=start + i), values=values)
                for i, values in enumerate(reports[start : start + 10_000])
            ]
            store.reports.add("census", survey.digest, batch)
        return operations.create_token(store, "analyst")
