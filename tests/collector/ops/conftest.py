"""Collectors that run as servers: shared by tests, or for one test."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from shutil import copyfile
from uuid import uuid4

import msgspec
import pytest
from halftruth_collector import operations
from halftruth_collector.collector_store import Store
from halftruth_shared import Survey
from serving import Running, run_collector


@pytest.fixture
def running(database: str, tmp_path: Path) -> Callable[..., AbstractContextManager[Running]]:
    """Return a context manager that runs a collector on the test's database."""
    return partial(run_collector, database, tmp_path)


@pytest.fixture(scope="package")
def file(tmp_path_factory: pytest.TempPathFactory, sqlite_template: Path) -> Path:
    """The database of the shared collectors."""
    return Path(copyfile(sqlite_template, tmp_path_factory.mktemp("served") / "served.db"))


@pytest.fixture(scope="package")
def served(file: Path, survey: Survey) -> Iterator[Store]:
    """The store of the shared collectors."""
    with Store(f"sqlite:///{file}") as store:
        operations.publish_survey(store, survey)
        yield store


@pytest.fixture(scope="package")
def collector(served: Store, file: Path) -> Iterator[Running]:
    """A collector with one worker."""
    with run_collector(f"sqlite:///{file}", file.parent, "--threads", "2") as collector:
        yield collector


@pytest.fixture(scope="package")
def impatient(served: Store, file: Path) -> Iterator[Running]:
    """A collector that waits three seconds for a request, and releases its metrics each second."""
    given = {"REQUEST_SECONDS": 3, "METRICS_SECONDS": 1}
    with run_collector(f"sqlite:///{file}", file.parent, "--quiet", **given) as collector:
        yield collector


@pytest.fixture
def newly_counted(served: Store) -> Callable[[], int]:
    """Number of reports counted in this test."""

    def reports() -> int:
        return served.reports.counts("health")[1].reports

    before = reports()
    return lambda: reports() - before


@pytest.fixture
def body(survey) -> Callable[[], bytes]:
    """Return a function that makes the body of a request with a new report."""

    def make() -> bytes:
        report = {"id": str(uuid4()), "values": [0, 1]}
        return msgspec.json.encode({"digest": survey.digest, "reports": [report]})

    return make


@pytest.fixture
def published(store, survey) -> None:
    operations.publish_survey(store, survey)
