"""A collector as it is run."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from uuid import uuid4

import msgspec
import pytest
from serving import Running, run_collector


@pytest.fixture
def running(database: str, tmp_path: Path) -> Callable[..., AbstractContextManager[Running]]:
    """Run a collector on the database of the test."""
    return partial(run_collector, database, tmp_path)


@pytest.fixture
def body(survey) -> Callable[[], bytes]:
    """The bytes of a request with one report, another one each time."""

    def make() -> bytes:
        report = {"id": str(uuid4()), "values": [0, 1]}
        return msgspec.json.encode({"digest": survey.digest, "reports": [report]})

    return make


@pytest.fixture
def published(store, survey) -> None:
    store.surveys.publish(survey)
