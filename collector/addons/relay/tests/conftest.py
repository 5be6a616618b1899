"""A collector and a relay in this process."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from shutil import copyfile

import pytest
from common_fixtures import postgresql_database
from relays import Parties, parties, with_relay


@pytest.fixture
def relay_database(
    request: pytest.FixtureRequest, database: str, sqlite_template: Path, tmp_path: Path
) -> Iterator[str]:
    """URL of the relay's own database, of the same kind as the collector's."""
    if database.startswith("sqlite"):
        folder = tmp_path / "relay"
        folder.mkdir()
        yield f"sqlite:///{copyfile(sqlite_template, folder / 'relay.db')}"
        return
    with postgresql_database(request.getfixturevalue("postgresql")) as url:
        yield url


@pytest.fixture
def make(survey, database, relay_database, tmp_path) -> Iterator[Callable[..., Parties]]:
    """Return a function that makes both parties, with the given settings of the survey's relay."""
    with ExitStack() as stack:

        def build(settings=None, **relay) -> Parties:
            made = with_relay(survey, tmp_path, **relay)
            return stack.enter_context(
                parties(made, database, relay_database, tmp_path, **(settings or {}))
            )

        yield build
