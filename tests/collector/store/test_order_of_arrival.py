"""What somebody learns who reads the files and tables: everything but the order of arrival.

Two stores begin as copies of one another and get the same reports in different orders. Until they
are compacted, an intruder tells the orders apart (which shows that these tests would notice);
afterwards there is nothing left that differs.
"""

import random
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from itertools import pairwise
from pathlib import Path
from shutil import copyfile
from uuid import UUID

import pytest
from halftruth_collector import operations
from halftruth_collector.collector_store import Store
from halftruth_collector.errors import StoreUnavailable
from halftruth_collector.store import database as module
from halftruth_collector.store.tables import COMPACTED
from halftruth_shared import Attribute, GammaDiagonal, Schema, Survey
from halftruth_shared.protocol.reports import Report
from halftruth_shared.protocol.terms import Terms
from sqlalchemy import Engine, create_engine
from sqlalchemy.engine import make_url
from wire import PATIENCE

from ...conftest import postgresql_database
from .conftest import cell_of, refuse, report

REPORTS = 150

#: So many cells that most of them are reported once: their order would be that of the reports.
SURVEY = Survey(
    "wide",
    "Wide",
    Schema(
        (Attribute("a", tuple(map(str, range(60)))), Attribute("b", tuple(map(str, range(60)))))
    ),
    GammaDiagonal("19"),
)

#: In the order of the first store's arrivals.
IDS = [UUID(int=random.Random(n).getrandbits(128)) for n in range(REPORTS)]
VALUES = [
    [random.Random(-n).randrange(60), random.Random(1000 + n).randrange(60)] for n in range(REPORTS)
]


class SqliteFiles:
    """What an intruder has who copies the files of a store."""

    def __init__(self, file: Path) -> None:
        self.url = f"sqlite:///{file}"
        self._file = file

    def read(self) -> bytes:
        """The file with the log beside it, without the numbers of changes in its first page."""
        data = bytearray(self._file.read_bytes())
        data[24:28] = data[92:96] = bytes(4)
        log = self._file.with_name(f"{self._file.name}-wal")
        return bytes(data) + (log.read_bytes() if log.exists() else b"")


class PostgresqlFiles:
    """What an intruder has who reads PostgreSQL's tables and their files."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._engine = create_engine(make_url(url.replace("postgresql:", "postgresql+psycopg:")))

    def read(self) -> bytes:
        """The files of the tables and indexes, without the numbers of log and transaction."""
        found = b""
        with self._engine.begin() as connection:
            run = connection.exec_driver_sql
            # Pages are in memory until then.
            run("CHECKPOINT")
            for table in COMPACTED:
                makers = {row[0] for row in run(f"SELECT xmin::text::bigint FROM {table.name}")}
                for name in (table.name, f"{table.name}_pkey"):
                    [(data,)] = run(f"SELECT pg_read_binary_file(pg_relation_filepath('{name}'))")
                    pages = bytearray(data)
                    for start in range(0, len(pages), 8192):
                        pages[start : start + 10] = bytes(10)
                        pages[start + 20 : start + 24] = bytes(4)
                    found += bytes(pages)
                # One transaction has made all rows, or else its number tells the order.
                if len(makers) == 1:
                    found = found.replace(makers.pop().to_bytes(4, "little"), bytes(4))
        self._engine.dispose()
        return found


Files = SqliteFiles | PostgresqlFiles


@pytest.fixture(params=["sqlite", "postgresql"])
def twins(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Files, Files]]:
    """Two copies of a store whose survey asks for invitations."""
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
    """Send all reports one by one, in order or the other way; the store stays open."""
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
    """Share of pairs of reports, one after the other in the file, that came in that order, too."""
    positions = [data.rfind(id_.bytes) for id_ in IDS]
    assert min(positions) >= 0
    rising = sum(a < b for a, b in pairwise(positions))
    return rising / (REPORTS - 1)


def test_after_a_compaction_the_files_are_the_same_whatever_the_order(twins, fill):
    first, second = twins
    one, other = fill(first, True), fill(second, False)
    before, otherwise = told_apart(first.read()), told_apart(second.read())
    # Within a page, SQLite goes backwards, PostgreSQL forwards.
    assert min(before, otherwise) < 0.2
    assert max(before, otherwise) > 0.8
    for store in (one, other):
        store.database.compact()
    assert first.read() == second.read()
    # None is left from before, either.
    assert 0.35 < told_apart(first.read()) < 0.65


def test_back_ups_and_exports_have_no_order_and_the_end_of_a_survey_destroys_it(
    twins, fill, tmp_path
):
    written = []
    for files, forwards in zip(twins, (True, False), strict=True):
        store = fill(files, forwards)
        operations.back_up(store, tmp_path / f"{forwards}.backup")
        operations.export_reports(store, "wide", tmp_path / f"{forwards}.reports")
        names = [tmp_path / f"{forwards}.{kind}" for kind in ("backup", "reports")]
        written.append([SqliteFiles(file).read() for file in names])
        operations.close_survey(store, "wide")
        assert 0.35 < told_apart(files.read()) < 0.65
    assert written[0] == written[1]
    assert all(0.35 < told_apart(data) < 0.65 for data in written[0])


@pytest.mark.parametrize("database", ["sqlite", "postgresql"], indirect=True)
def test_reports_that_arrive_during_compactions_count_once(store, published, true_counts):
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
    # PostgreSQL would show an old transaction empty tables.
    assert seen == sorted(seen)
    operations.compact(store)
    assert true_counts()[1].total() == 1200


@pytest.mark.parametrize("database", ["sqlite", "postgresql"], indirect=True)
def test_a_compaction_keeps_everything_and_merges_shards(database, store, published, rows, raw):
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
def test_who_reads_for_long_puts_a_compaction_off(store, published, raw, monkeypatch, caplog):
    monkeypatch.setattr(module, "_COMPACTION_TIMEOUT", 0.3)
    store.reports.add("health", published.digest, [report(1, 0, 0)])
    with raw.connect() as reader:
        if reader.dialect.name == "sqlite":
            reader.exec_driver_sql("BEGIN")
        reader.exec_driver_sql("SELECT * FROM report_ids").all()
        store.reports.add("health", published.digest, [report(2, 0, 0)])
        with pytest.raises(StoreUnavailable):
            operations.compact(store)
        # A survey ends all the same.
        operations.close_survey(store, "health")
        assert "run 'halftruth admin compact'" in caplog.text
    assert store.surveys.get("health").status == "closed"
    assert store.reports.counts("health")[1].reports == 2
    operations.compact(store)
