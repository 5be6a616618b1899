"""Files and tables do not reveal the order in which reports arrived.

Two stores start as copies and get the same reports in different orders. Before a compaction, their
files reveal the orders of requests, which shows that these tests can detect them. Afterwards they
are equal.
"""

import random
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from itertools import pairwise
from pathlib import Path
from shutil import copyfile
from typing import Any
from uuid import UUID

import pytest
from common_fixtures import postgresql_database
from halftruth_collector import operations
from halftruth_collector.collector_store import Store
from halftruth_collector.errors import StoreUnavailable
from halftruth_collector.store import database as module
from halftruth_collector.store.invitations import hash_invitation
from halftruth_collector.store.reports import add_invitations
from halftruth_collector.store.tables import COMPACTED
from halftruth_shared import Attribute, GammaDiagonal, Schema, Survey
from halftruth_shared.protocol.reports import Report
from halftruth_shared.protocol.terms import Terms
from sqlalchemy import Engine, create_engine
from sqlalchemy.engine import make_url
from wire import PATIENCE

from .conftest import cell_of, refuse, report

REPORTS = 150

#: Most of its many cells are reported once, so that their order could reveal that of the reports.
SURVEY = Survey(
    "wide",
    "Wide",
    Schema(
        (Attribute("a", tuple(map(str, range(60)))), Attribute("b", tuple(map(str, range(60)))))
    ),
    GammaDiagonal("19"),
)

#: In the order of arrival at the first store.
IDS = [UUID(int=random.Random(n).getrandbits(128)) for n in range(REPORTS)]
VALUES = [
    [random.Random(-n).randrange(60), random.Random(1000 + n).randrange(60)] for n in range(REPORTS)
]


class SqliteFiles:
    """The files of a SQLite store, as an intruder can copy them."""

    def __init__(self, file: Path) -> None:
        self.url = f"sqlite:///{file}"
        self._file = file

    def read(self) -> bytes:
        """Return the file and its log, without the change counters of the first page."""
        data = bytearray(self._file.read_bytes())
        data[24:28] = data[92:96] = bytes(4)
        log = self._file.with_name(f"{self._file.name}-wal")
        return bytes(data) + (log.read_bytes() if log.exists() else b"")


class PostgresqlFiles:
    """The tables of PostgreSQL and their files, as an intruder can read them."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._engine = create_engine(make_url(url.replace("postgresql:", "postgresql+psycopg:")))

    def read(self) -> bytes:
        """Return the files of tables and indexes, without log positions and transaction ids."""
        found = b""
        with self._engine.begin() as connection:
            run = connection.exec_driver_sql
            run("CHECKPOINT")
            # The first reader of a row notes in its page that the transaction was committed.
            makers_of = {
                table.name: {row[0] for row in run(f"SELECT xmin::text::bigint FROM {table.name}")}
                for table in COMPACTED
            }
            # Write the pages to the files.
            run("CHECKPOINT")
            for table in COMPACTED:
                makers = makers_of[table.name]
                for name in (table.name, f"{table.name}_pkey"):
                    [(data,)] = run(f"SELECT pg_read_binary_file(pg_relation_filepath('{name}'))")
                    pages = bytearray(data)
                    for start in range(0, len(pages), 8192):
                        pages[start : start + 10] = bytes(10)
                        pages[start + 20 : start + 24] = bytes(4)
                    found += bytes(pages)
                # If several transactions wrote the rows, their ids reveal the order.
                if len(makers) == 1:
                    found = found.replace(makers.pop().to_bytes(4, "little"), bytes(4))
        self._engine.dispose()
        return found

    def rows(self) -> dict[str, list[Any]]:
        """Return the rows of each table in the order in which they are stored."""
        with self._engine.begin() as connection:
            run = connection.exec_driver_sql
            found = {
                table.name: run(f"SELECT * FROM {table.name} ORDER BY ctid").all()
                for table in COMPACTED
            }
        self._engine.dispose()
        return found


Files = SqliteFiles | PostgresqlFiles


@pytest.fixture(params=["sqlite", "postgresql"])
def twins(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Files, Files]]:
    """Two copies of a store whose survey requires invitations."""
    if request.param == "sqlite":
        first, second = tmp_path / "first.db", tmp_path / "second.db"
        prepare(f"sqlite:///{first}")
        copyfile(first, second)
        yield SqliteFiles(first), SqliteFiles(second)
        return
    server: Engine = request.getfixturevalue("postgresql")
    with postgresql_database(server) as url:
        prepare(url)
        name, copy = make_url(url).database, f"{make_url(url).database}_copy"
        with server.connect() as connection:
            connection.exec_driver_sql(f"CREATE DATABASE {copy} TEMPLATE {name}")
        try:
            yield PostgresqlFiles(url), PostgresqlFiles(url.replace(str(name), copy))
        finally:
            with server.connect() as connection:
                connection.exec_driver_sql(f"DROP DATABASE {copy} WITH (FORCE)")


#: In the order of the reports.
INVITATIONS: dict[str, list[str]] = {}


def prepare(url: str) -> None:
    with Store(url) as store:
        operations.publish_survey(store, SURVEY, Terms(invitations=True))
        INVITATIONS["wide"] = operations.create_invitations(store, "wide", REPORTS + 20)


@pytest.fixture
def fill() -> Iterator[Callable[[Files, bool], Store]]:
    """Return a function that sends all reports one by one, in order or reversed."""
    with ExitStack() as stores:

        def send(files: Files, forwards: bool) -> Store:
            store = stores.enter_context(Store(files.url))
            numbers = range(REPORTS) if forwards else reversed(range(REPORTS))
            for n in numbers:
                report = Report(id=IDS[n], values=VALUES[n], invitation=INVITATIONS["wide"][n])
                store.reports.add("wide", SURVEY.digest, [report])
            return store

        yield send


def told_apart(data: bytes) -> float:
    """Return the share of successive reports whose positions in the file are in that order."""
    positions = [data.rfind(id_.bytes) for id_ in IDS]
    assert min(positions) >= 0
    rising = sum(a < b for a, b in pairwise(positions))
    return rising / (REPORTS - 1)


def test_compacted_files_do_not_depend_on_the_order_of_reports(twins, fill):
    first, second = twins
    one, other = fill(first, True), fill(second, False)
    before, otherwise = told_apart(first.read()), told_apart(second.read())
    # Within a page, SQLite writes backwards, PostgreSQL forwards.
    assert min(before, otherwise) < 0.2
    assert max(before, otherwise) > 0.8
    for store in (one, other):
        store.database.compact()
    assert first.read() == second.read()
    # Their common order is unrelated to that of arrival.
    assert 0.35 < told_apart(first.read()) < 0.65


def test_reports_of_one_request_are_stored_in_an_order_independent_of_theirs(twins):
    """Nor does the order of invitations reveal that of their creation, without any compaction."""
    numbers = range(REPORTS)
    for files, order in zip(twins, (numbers, numbers[::-1]), strict=True):
        batch = [
            Report(id=IDS[n], values=VALUES[n], invitation=INVITATIONS["wide"][n]) for n in order
        ]
        more = [n.to_bytes(16) for n in order]
        with Store(files.url) as store:
            assert store.reports.add("wide", SURVEY.digest, batch).accepted == REPORTS
            with store.database.writing() as connection:
                number = store.surveys.get("wide").number
                add_invitations(connection, number, map(hash_invitation, more))
    # Without connections SQLite has written its log into the file.
    written = [
        files.rows() if isinstance(files, PostgresqlFiles) else files.read() for files in twins
    ]
    assert written[0] == written[1]


def test_backups_exports_and_closed_surveys_do_not_reveal_the_order(twins, fill, tmp_path):
    written = []
    for files, forwards in zip(twins, (True, False), strict=True):
        store = fill(files, forwards)
        operations.back_up(store, tmp_path / f"{forwards}.backup")
        operations.export_reports(store, "wide", tmp_path / f"{forwards}.reports")
        names = [tmp_path / f"{forwards}.{kind}" for kind in ("backup", "reports")]
        written.append([SqliteFiles(file).read() for file in names])
        operations.close_survey(store, "wide", confirm="wide")
        assert 0.35 < told_apart(files.read()) < 0.65
    assert written[0] == written[1]
    assert all(0.35 < told_apart(data) < 0.65 for data in written[0])


@pytest.mark.parametrize("database", ["sqlite", "postgresql"], indirect=True)
def test_reports_that_arrive_during_compactions_are_counted_once(store, published, true_counts):
    stop = threading.Event()
    seen: list[int] = []

    def send(number: int) -> None:
        for n in range(0, 400, 4):
            batch = [report(1000 * number + n + k, *cell_of(n)) for k in range(4)]
            store.reports.add("health", published.digest, batch)

    def look() -> None:
        while not stop.is_set():
            seen.append(store.reports.counts("health")[1].reports)

    with ThreadPoolExecutor() as threads:
        senders = [threads.submit(send, number) for number in range(3)]
        reader = threads.submit(look)
        for _ in range(10):
            with suppress(StoreUnavailable):
                operations.compact(store)
        for sender in senders:
            sender.result(PATIENCE)
        stop.set()
        reader.result(PATIENCE)
    # PostgreSQL could show empty tables to an old transaction.
    assert seen == sorted(seen)
    operations.compact(store)
    assert true_counts()[1].total() == 1200


@pytest.mark.parametrize("database", ["sqlite", "postgresql"], indirect=True)
def test_a_compaction_keeps_all_rows_and_merges_shards(database, store, published, rows, raw):
    store.reports.add("health", published.digest, [report(n, *cell_of(n)) for n in range(30)])
    refuse(store)
    operations.create_invitations(store, "health", 3)
    with raw.begin() as connection:
        for shard in (3, 16):
            connection.exec_driver_sql(
                f"INSERT INTO cells SELECT survey, cell, {shard}, 10 FROM cells WHERE shard = 0"
            )
    before = store.reports.counts("health")[1].counts.tolist()
    days = store.reports.daily_outcomes("health")
    operations.compact(store)
    assert store.reports.counts("health")[1].counts.tolist() == before
    assert store.reports.daily_outcomes("health") == days
    assert store.invitations.count("health").unused == 3
    assert len(rows("SELECT * FROM report_ids")) == 30
    if database.startswith("postgresql"):
        assert dict(rows("SELECT shard, count(*) FROM cells GROUP BY shard")) == {0: 6}
    assert [each.action for each in store.audit.all()][-1] == "compact"


@pytest.mark.parametrize("database", ["sqlite", "postgresql"], indirect=True)
def test_a_long_read_makes_a_compaction_time_out(store, published, raw, monkeypatch, caplog):
    monkeypatch.setattr(module, "_COMPACTION_TIMEOUT", 0.3)
    store.reports.add("health", published.digest, [report(1, 0, 0)])
    with raw.connect() as reader:
        if reader.dialect.name == "sqlite":
            reader.exec_driver_sql("BEGIN")
        reader.exec_driver_sql("SELECT * FROM report_ids").all()
        store.reports.add("health", published.digest, [report(2, 0, 0)])
        with pytest.raises(StoreUnavailable):
            operations.compact(store)
        # Closing a survey succeeds without the compaction.
        operations.close_survey(store, "health", confirm="health")
        assert "run 'halftruth admin compact'" in caplog.text
    assert store.surveys.get("health").status == "closed"
    assert store.reports.counts("health")[1].reports == 2
    operations.compact(store)
