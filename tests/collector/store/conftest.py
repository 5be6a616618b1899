"""Helpers for tests of the store: raw tables, shared transactions, held or failing statements."""

import hashlib
import sqlite3
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from shutil import copyfile
from typing import Any
from uuid import UUID

import pytest
from common_fixtures import empty, postgresql_database
from halftruth_collector import operations
from halftruth_collector.collector_store import Store
from halftruth_collector.errors import TooLarge
from halftruth_collector.intake.checking import Batch
from halftruth_collector.store import database as transactions
from halftruth_shared import Survey
from halftruth_shared.protocol.reports import Report
from sqlalchemy import Connection, Engine, event
from wire import PATIENCE, wait_until


@pytest.fixture(scope="session")
def postgresql_elsewhere(postgresql: Engine) -> Iterator[str]:
    """URL of another database with the tables."""
    with postgresql_database(postgresql) as url:
        Store(url).close()
        yield url


@pytest.fixture
def elsewhere(
    request: pytest.FixtureRequest, database: str, sqlite_template: Path, tmp_path: Path
) -> Iterator[Store]:
    """An empty store of the other kind."""
    if database.startswith("postgresql"):
        url = f"sqlite:///{copyfile(sqlite_template, tmp_path / 'elsewhere.db')}"
    else:
        url = request.getfixturevalue("postgresql_elsewhere")
        empty(url)
    with Store(url) as other:
        yield other


@pytest.fixture
def true_counts(rows) -> Callable[[], dict[int, Counter[bytes]]]:
    """Return a function that reads counts by survey and cell, and checks that tables agree."""

    def compare() -> dict[int, Counter[bytes]]:
        found: dict[int, Counter[bytes]] = {}
        for survey, cell, count in rows("SELECT survey, cell, count FROM cells"):
            assert count > 0
            found.setdefault(survey, Counter())[bytes(cell)] += count
        totals = {survey: counts.total() for survey, counts in found.items()}
        assert totals == dict(rows("SELECT survey, count(*) FROM report_ids GROUP BY survey"))
        assert totals == dict(
            rows(
                "SELECT survey, CAST(SUM(count) AS INTEGER) FROM daily_outcomes"
                " WHERE outcome = 'counted' GROUP BY survey"
            )
        )
        return found

    return compare


@pytest.fixture
def second(store: Store, survey: Survey) -> Survey:
    other = Survey("second", "Second", survey.schema, survey.mechanism)
    operations.publish_survey(store, other)
    return other


def report(number: int, *values: int, invitation: str | None = None) -> Report:
    """Return a report whose id is given as a number."""
    return Report(id=UUID(int=number), values=list(values), invitation=invitation)


def refuse(store: Store) -> None:
    """Record a refused request to the survey in a store."""
    store.surveys.get("health")
    with suppress(TooLarge), store.reports.recording_refusals("health"):
        raise TooLarge("reports: expected fewer")


def seal(file: Path) -> None:
    """End a back-up or an export with the checksum of its present pages."""
    with closing(sqlite3.connect(file)) as connection:
        [[size]] = connection.execute("PRAGMA page_size").fetchall()
        [[count]] = connection.execute("PRAGMA page_count").fetchall()
    pages = file.read_bytes()[: size * count]
    line = f"\nhalftruth sha256 {hashlib.sha256(pages).hexdigest()}\n"
    file.write_bytes(pages + line.encode())


@contextmanager
def holding() -> Iterator[tuple[threading.Event, threading.Event, Callable[..., None]]]:
    """Yield an event set once a caller is held, one that releases it, and a blocking function."""
    held, free = threading.Event(), threading.Event()

    def hold(*_: Any) -> None:
        held.set()
        assert free.wait(PATIENCE)

    try:
        yield held, free, hold
    finally:
        free.set()


@contextmanager
def transactions_held(store: Store) -> Iterator[tuple[threading.Event, threading.Event]]:
    """Hold the next counting transaction before its first statement; yields events as `holding`."""
    counter = store.reports
    write = counter._write
    with holding() as (held, free, hold):

        def wait(*arguments: Any) -> Any:
            hold()
            return write(*arguments)

        counter._write = wait
        try:
            yield held, free
        finally:
            counter._write = write


def in_one_transaction(store: Store, *requests: Callable[[], Any]) -> list[Future[Any]]:
    """Send requests in this order in one transaction, and return their futures."""
    waiting = store.reports._commits._queue
    groups: list[int] = []
    with ThreadPoolExecutor(len(requests) + 1) as threads, transactions_held(store) as (held, free):
        write = store.reports._write

        def note(connection: Any, items: Any) -> Any:
            groups.append(len(items))
            return write(connection, items)

        store.reports._write = note
        # The others wait for an empty request.
        first = threads.submit(store.reports.count, _nothing(store))
        assert held.wait(PATIENCE)
        made = []
        for position, request in enumerate(requests, start=1):
            made.append(threads.submit(request))
            wait_until(lambda position=position: len(waiting) == position)
        free.set()
        # The empty request is refused if its survey is closed.
        first.exception(PATIENCE)
        for future in made:
            future.exception(PATIENCE)
    assert groups == [1, len(requests)]
    return made


def _nothing(store: Store) -> Batch:
    """Return a batch without reports."""
    survey = store.surveys.all()[0]
    return Batch(survey.id, survey.digest, [], {}, {})


@contextmanager
def statements(engine: Engine, then: Callable[[str], None]) -> Iterator[None]:
    """Call a function with the text of every statement before it is run, and at each commit."""

    def statement(_c: Any, _cursor: Any, text: str, *_: Any) -> None:
        then(text)

    def commit(_: Any) -> None:
        then("COMMIT")

    send = transactions._send

    def note(connection: Connection, text: str, parameters: Any) -> Any:
        if connection.engine.pool is engine.pool:
            then(text)
        return send(connection, text, parameters)

    event.listen(engine, "before_cursor_execute", statement)
    event.listen(engine, "commit", commit)
    try:
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(transactions, "_send", note)
            yield
    finally:
        event.remove(engine, "before_cursor_execute", statement)
        event.remove(engine, "commit", commit)


@contextmanager
def commits_held(engine: Engine) -> Iterator[tuple[threading.Event, threading.Event]]:
    """Hold every transaction just before its commit; yields events as `holding`."""
    with (
        holding() as (held, free, hold),
        statements(engine, lambda text: hold() if text == "COMMIT" else None),
    ):
        yield held, free


def cell_of(number: int) -> tuple[int, int]:
    """Return the same cell for an id in every batch."""
    return number % 2, number % 3


def hammer(stores: Sequence[Store], work: Callable[[Store, int], Any], threads: int) -> list[Any]:
    """Run numbered threads on several stores, and return their results."""
    with ThreadPoolExecutor(threads) as pool:
        done = [pool.submit(work, stores[n % len(stores)], n) for n in range(threads)]
        return [future.result(5 * PATIENCE) for future in done]
