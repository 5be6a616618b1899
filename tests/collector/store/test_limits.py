"""Waiting for a database that another process has locked is limited."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from types import SimpleNamespace

import pytest
from halftruth_collector import operations
from halftruth_collector.collector_store import Store
from halftruth_collector.errors import StoreUnavailable
from halftruth_collector.store import database as module
from halftruth_collector.store.tables import REPORT_TABLES
from wire import PATIENCE

from .conftest import refuse, report

pytestmark = pytest.mark.parametrize("database", ["sqlite", "postgresql"], indirect=True)


@pytest.fixture
def impatient(database, monkeypatch) -> str:
    """The database with timeouts of a fraction of a second."""
    for name in ("_LOCK_TIMEOUT", "_PROBE_TIMEOUT", "_COMPACTION_TIMEOUT"):
        monkeypatch.setattr(module, name, 0.3)
    shorter = module._POSTGRESQL["options"].replace("lock_timeout=10s", "lock_timeout=0.3s")
    monkeypatch.setitem(module._POSTGRESQL, "options", shorter)
    return database


@pytest.fixture
def held(raw) -> Callable[[], AbstractContextManager[None]]:
    """Return a context manager that holds the writer's lock, as another program would."""

    @contextmanager
    def hold() -> Iterator[None]:
        with raw.connect() as other:
            if other.dialect.name == "sqlite":
                other.exec_driver_sql("BEGIN IMMEDIATE")
            else:
                names = ", ".join(table.name for table in REPORT_TABLES)
                other.exec_driver_sql(f"LOCK TABLE {names} IN ACCESS EXCLUSIVE MODE")
            yield
            other.rollback()

    return hold


def test_waiting_for_the_lock_of_another_process_times_out(impatient, published, held, true_counts):
    with Store(impatient) as store:
        store.database.check()
        with held():
            for act in (
                lambda: store.reports.add("health", published.digest, [report(1, 0, 0)]),
                lambda: operations.create_invitations(store, "health", 1),
                partial(operations.compact, store),
                store.database.check,
            ):
                with pytest.raises(StoreUnavailable, match="the database does not answer"):
                    act()
            # A refusal needs no lock; it is recorded later.
            refuse(store)
        store.database.check()
        assert store.reports.daily_outcomes("health")[0].refused == {"too-large": 1}
        assert store.reports.add("health", published.digest, [report(1, 0, 0)]).accepted == 1
    assert true_counts()[1].total() == 1


def test_one_transaction_can_have_a_shorter_lock_timeout(database):
    sqlite = database.startswith("sqlite")
    setting = "PRAGMA busy_timeout" if sqlite else "SHOW lock_timeout"
    with Store(database) as store:
        for seconds, shown in ((2, 2_000 if sqlite else "2s"), (None, 10_000 if sqlite else "10s")):
            with store.database.writing(seconds) as connection:
                assert connection.exec_driver_sql(setting).scalar_one() == shown


_NO_ROOM = """
import logging, resource, signal, sys
from halftruth_collector.ops.settings import Config
from halftruth_collector.web import create_app

logging.basicConfig(level=logging.INFO, format="%(message)s")
app = create_app(Config(database=sys.argv[1]))
http = app.test_client()
seconds = 0
app.extensions["halftruth"].readiness.clock = lambda: seconds
print(http.get("/readyz").status_code)
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
seconds += 10
print(http.get("/readyz").status_code, http.get("/healthz").status_code)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
seconds += 10
print(http.get("/readyz").status_code)
"""


def test_a_collector_with_a_full_disk_is_not_ready_and_logs_the_reason_once(database):
    if not database.startswith("sqlite"):
        return
    command = [sys.executable, "-c", _NO_ROOM, database]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=True)
    assert done.stdout.split() == ["200", "503", "200", "200"]
    first, second = [line for line in done.stderr.splitlines() if "available" in line]
    assert first.startswith("unavailable: the database does not answer (SQLITE_")
    assert second.startswith("available again after: the database does not answer (SQLITE_")


def test_after_a_full_disk_a_collector_is_ready_once_a_report_fits(database, store, monkeypatch):
    if not database.startswith("sqlite"):
        return
    free = 0
    monkeypatch.setattr(
        "halftruth_collector.store.database.shutil.disk_usage",
        lambda _: SimpleNamespace(free=free),
    )
    # Free space is no question before a disk was full.
    store.database.check()

    def fill():
        with store.database.writing() as connection:
            pages = connection.exec_driver_sql("PRAGMA page_count").scalar_one()
            connection.exec_driver_sql(f"PRAGMA max_page_count = {pages}")
            try:
                connection.exec_driver_sql("CREATE TABLE large AS SELECT zeroblob(1000000)")
            finally:
                connection.exec_driver_sql("PRAGMA max_page_count = 1000000000")

    with pytest.raises(StoreUnavailable, match="SQLITE_FULL"):
        fill()
    # The probe of one row fits.
    with pytest.raises(StoreUnavailable, match="SQLITE_FULL") as refused:
        store.database.check()
    assert refused.value.for_operators.endswith("its disk is still full")
    free = 2**20
    store.database.check()
    free = 0
    store.database.check()


def test_a_lock_that_is_released_in_time_is_waited_for(database, published, held):
    with Store(database) as store:
        free = threading.Event()

        def hold() -> None:
            with held():
                free.set()
                time.sleep(0.2)

        holder = threading.Thread(target=hold)
        holder.start()
        assert free.wait(PATIENCE)
        assert store.reports.add("health", published.digest, [report(1, 0, 0)]).accepted == 1
        holder.join()


def test_a_forked_process_does_not_use_its_parents_connections(database, store, published):
    store.reports.add("health", published.digest, [report(1, 0, 0)])
    child = os.fork()
    if child == 0:
        try:
            store.reports.add("health", published.digest, [report(2, 0, 0)])
            os._exit(0)
        finally:
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    assert store.reports.add("health", published.digest, [report(2, 1, 1)]).duplicates == 1
    assert store.reports.counts("health")[1].reports == 2
