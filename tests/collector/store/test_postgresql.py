"""Features of PostgreSQL only: concurrent transactions, and the time zone of the server."""

import random
import sqlite3
import threading
from collections import Counter
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from datetime import UTC, datetime
from functools import partial
from urllib.parse import quote

import pytest
from common_fixtures import postgresql_database
from halftruth_collector import operations
from halftruth_collector.collector_store import Store
from halftruth_collector.errors import InvitationRefused, QuotaReached
from halftruth_collector.intake.checking import check
from halftruth_collector.store import sqlite_files
from halftruth_collector.store.reports import SHARDS
from halftruth_shared import ParameterError
from halftruth_shared.protocol.reports import Receipt
from halftruth_shared.protocol.signing import OperatorKey, sign
from halftruth_shared.protocol.terms import Terms
from wire import PATIENCE, wait_until

from .conftest import cell_of, commits_held, hammer, holding, report, statements

pytestmark = pytest.mark.parametrize("database", ["postgresql"], indirect=True)

INVITED = Terms(invitations=True)
PAST = datetime(2020, 3, 31, 22, tzinfo=UTC)

#: Time of publication, independent of time zones.
SECONDS = "SELECT EXTRACT(EPOCH FROM published_at) FROM surveys"


@pytest.fixture
def several(database):
    """Return a function that opens several stores on the database, as several collectors do."""
    with ExitStack() as opened:
        yield lambda number: [opened.enter_context(Store(database)) for _ in range(number)]


@contextmanager
def compaction_begins(store, another, at, threads, rows):
    """Start a compaction of another store at a statement of this one, and wait for its lock."""
    compacting: list[Future[None]] = []
    waiting = "SELECT 1 FROM pg_locks WHERE mode = 'AccessExclusiveLock' AND NOT granted"

    def meet(text: str) -> None:
        if at in text and not compacting:
            compacting.append(threads.submit(another.database.compact))
            wait_until(lambda: rows(waiting))

    with statements(store.database.engine, meet):
        yield compacting


def test_two_transactions_count_the_same_cell_without_waiting(
    database, store, published, true_counts, rows
):
    """One is held just before its commit; the other ends earlier."""
    shape = published.report_space
    made = check("health", published.digest, shape, [report(1, 1, 1), report(2, 0, 0)])
    with (
        Store(database) as other,
        ThreadPoolExecutor() as threads,
        commits_held(store.database.engine) as (held, free),
    ):
        first = threads.submit(store.reports.count, made)
        assert held.wait(PATIENCE)
        later = other.reports.add("health", published.digest, [report(3, 1, 1), report(4, 0, 0)])
        assert not first.done()
        free.set()
        assert later.accepted == first.result(PATIENCE).accepted == 2
    shards = dict(rows("SELECT shard, SUM(count) FROM cells GROUP BY shard"))
    assert shards == {0: 2, 1: 2}
    assert true_counts() == {1: Counter({b"\1\1": 2, b"\0\0": 2})}


def test_more_transactions_than_shards_count_correctly(several, published, true_counts, rows):
    number = SHARDS + 4
    ready = threading.Barrier(number, timeout=PATIENCE)
    stores = several(number)
    local = threading.local()

    def meet(text: str) -> None:
        # All choose their shards before any of them counts.
        if "INTO report_ids" in text and not getattr(local, "met", False):
            local.met = True
            ready.wait()

    def work(mine: Store, thread: int) -> int:
        with statements(mine.database.engine, meet):
            batch = [report(100 * thread + n, *cell_of(n)) for n in range(6)]
            return mine.reports.add("health", published.digest, batch).accepted

    assert hammer(stores, work, number) == [6] * number
    shards = [shard for (shard,) in rows("SELECT DISTINCT shard FROM cells")]
    assert sorted(shards) == list(range(SHARDS))
    assert true_counts() == {1: Counter({bytes(cell_of(n)): number for n in range(6)})}


def test_batches_in_any_order_do_not_deadlock(several, store, survey, second, true_counts):
    """A deadlock would raise StoreUnavailable. Operators' actions run at the same time."""
    operations.publish_survey(store, survey, Terms(invitations=True))
    invitations = operations.create_invitations(store, "health", 400)
    sent: set[int] = set()
    lock = threading.Lock()

    def work(mine: Store, number: int) -> list[int]:
        chance = random.Random(number)
        accepted = [0, 0]
        for _ in range(40):
            ids = chance.choices(range(250), k=20)
            if chance.random() < 0.5:
                batch = [report(id, *cell_of(id)) for id in ids]
                with lock:
                    sent.update(ids)
                accepted[1] += mine.reports.add("second", second.digest, batch).accepted
                continue
            batch = [
                report(id, *cell_of(id), invitation=chance.choice(invitations)) for id in ids[:4]
            ]
            try:
                accepted[0] += mine.reports.add("health", survey.digest, batch).accepted
            except InvitationRefused:
                continue
        return accepted

    def operate(mine: Store, number: int) -> list[int]:
        chance = random.Random(number)
        for _ in range(30):
            chosen = [bytes.fromhex(each) for each in chance.choices(invitations, k=10)]
            operations.revoke_invitations(mine, "health", chosen)
            operations.set_terms(mine, "second", Terms())
            operations.revoke_key(mine, f"{number:064x}", confirm=f"{number:064x}")
            operations.create_invitations(mine, "health", 2)
        return [0, 0]

    accepted = hammer(several(5), lambda mine, n: (work if n % 5 else operate)(mine, n), 15)
    numbers = {each.id: each.number for each in store.surveys.all()}
    found = true_counts()
    assert found[numbers["second"]] == Counter(bytes(cell_of(id)) for id in sent)
    assert found[numbers["health"]].total() == sum(each[0] for each in accepted)
    assert sum(each[1] for each in accepted) == len(sent)
    count = store.invitations.count("health")
    assert count.used == found[numbers["health"]].total()
    assert count.issued == count.used + count.withdrawn + count.unused == 400 + 3 * 30 * 2


@pytest.mark.parametrize(
    ("first", "other", "at"),
    [
        (Terms(max_reports=100), Terms(), "FROM report_ids"),
        (Terms(closes_at=PAST), INVITED, "FROM invitations"),
    ],
    ids=["quota", "two surveys"],
)
def test_reports_and_a_compaction_do_not_deadlock(
    database, store, survey, second, first, other, at, true_counts, rows
):
    """The compaction begins between two statements that check what the surveys accept."""
    operations.publish_survey(store, survey, first)
    operations.set_terms(store, "second", other)
    [invitation] = operations.create_invitations(store, "second", 1)
    given = report(2, 1, 1, invitation=invitation if other.invitations else None)
    batches = [
        check("health", survey.digest, survey.report_space, [report(1, 1, 1)]),
        check("second", second.digest, second.report_space, [given]),
    ]
    with (
        Store(database) as another,
        ThreadPoolExecutor() as threads,
        compaction_begins(store, another, at, threads, rows) as compacting,
    ):
        outcomes = store.reports._commit(lambda: batches)
        compacting[0].result(PATIENCE)
    accepted = [each.accepted for each in outcomes if isinstance(each, Receipt)]
    assert accepted == ([1, 1] if first.max_reports else [1])
    assert [each.total() for each in true_counts().values()] == [1] * len(accepted)


@pytest.mark.parametrize(
    ("act", "at"),
    [
        (partial(operations.purge, closed_for=0, confirm="*"), "DELETE FROM report_ids"),
        (
            partial(operations.delete_survey, id="health", confirm="health"),
            "DELETE FROM invitations",
        ),
    ],
    ids=["purge", "delete"],
)
def test_deletions_and_a_compaction_do_not_deadlock(database, store, published, act, at, rows):
    store.reports.add("health", published.digest, [report(1, 1, 1)])
    operations.close_survey(store, "health", confirm="health")
    with (
        Store(database) as another,
        ThreadPoolExecutor() as threads,
        compaction_begins(store, another, at, threads, rows) as compacting,
    ):
        act(store)
        compacting[0].result(PATIENCE)
    assert rows("SELECT * FROM report_ids") == []


def test_a_signature_published_while_its_key_is_revoked_is_removed(
    database, store, survey, published
):
    """The key is revoked while the signature is being published, which removes the signature."""
    key = OperatorKey.create()
    with (
        Store(database) as other,
        ThreadPoolExecutor() as threads,
        commits_held(store.database.engine) as (held, free),
    ):
        signature = sign(key, survey.digest, INVITED)
        publishing = threads.submit(operations.publish_survey, store, survey, INVITED, signature)
        assert held.wait(PATIENCE)
        revoked = threads.submit(operations.revoke_key, other, key.public, confirm=key.public)
        with pytest.raises(TimeoutError):
            revoked.result(0.3)
        free.set()
        publishing.result(PATIENCE)
        assert revoked.result(PATIENCE) == ["health"]
    assert store.surveys.get("health").signature is None


def test_reports_are_counted_while_an_import_is_under_way(
    database, store, published, elsewhere, tmp_path, true_counts, monkeypatch
):
    """Counting in the same cells does not wait for the import."""
    monkeypatch.setattr(sqlite_files, "PAGE", 5)
    operations.publish_survey(elsewhere, published)
    elsewhere.reports.add("health", published.digest, [report(n, 1, n % 3) for n in range(20)])
    operations.export_reports(elsewhere, "health", tmp_path / "there.db")
    with ThreadPoolExecutor() as threads, holding() as (held, _, hold):
        importing = threads.submit(operations.import_reports, store, tmp_path / "there.db", hold)
        assert held.wait(PATIENCE)
        mine = [report(n, 1, n % 3) for n in range(100, 110)]
        assert store.reports.add("health", published.digest, mine).accepted == 10
        assert not importing.done()
    done = importing.result()
    assert (done.counted, done.repeated) == (20, 0)
    assert true_counts()[1].total() == 30


def test_times_do_not_depend_on_the_time_zone_of_the_server(postgresql, database, survey, tmp_path):
    """SQLite stores times without a zone, so the zone of the server must not shift them."""
    with postgresql_database(postgresql) as url:
        name = url.rpartition("/")[2]
        with postgresql.connect() as connection:
            connection.exec_driver_sql(f"ALTER DATABASE {name} SET timezone = 'Asia/Tokyo'")
        with Store(url) as store:
            operations.publish_survey(store, survey)
            with store.database.reading() as connection:
                [(there,)] = connection.exec_driver_sql(SECONDS)
            operations.back_up(store, tmp_path / "all.db")
        with closing(sqlite3.connect(tmp_path / "all.db")) as connection:
            [(written,)] = connection.execute("SELECT published_at FROM surveys")
        with Store(database) as again:
            operations.restore(again, tmp_path / "all.db")
            with again.database.reading() as connection:
                [(here,)] = connection.exec_driver_sql(SECONDS)
    assert here == there
    assert datetime.fromisoformat(written).replace(tzinfo=UTC).timestamp() == pytest.approx(
        float(there), abs=0.001
    )


def test_a_quota_holds_with_any_default_isolation_of_the_server(
    database, store, survey, rows, counted
):
    """A snapshot taken before waiting for another transaction lacks its reports."""
    operations.publish_survey(store, survey, Terms(max_reports=1))
    made = check("health", survey.digest, survey.report_space, [report(1, 1, 1)])
    given = "-c default_transaction_isolation=repeatable\\ read"
    waiting = "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
    with (
        Store(f"{database}?options={quote(given)}") as other,
        ThreadPoolExecutor() as threads,
        commits_held(store.database.engine) as (held, free),
    ):
        first = threads.submit(store.reports.count, made)
        assert held.wait(PATIENCE)
        second = threads.submit(other.reports.add, "health", survey.digest, [report(2, 1, 1)])
        wait_until(lambda: rows(waiting))
        free.set()
        assert first.result(PATIENCE).accepted == 1
        with pytest.raises(QuotaReached):
            second.result(PATIENCE)
    assert counted() == 1


def test_closing_a_survey_waits_for_reports_being_counted(database, store, published, true_counts):
    """So no report is counted after the survey is reported as closed."""
    shape = published.report_space
    made = check("health", published.digest, shape, [report(1, 1, 1)])
    with (
        Store(database) as other,
        ThreadPoolExecutor() as threads,
        commits_held(store.database.engine) as (held, free),
    ):
        counting_ = threads.submit(store.reports.count, made)
        assert held.wait(PATIENCE)
        closing_ = threads.submit(operations.close_survey, other, "health", confirm="health")
        with pytest.raises(TimeoutError):
            closing_.result(0.3)
        free.set()
        assert counting_.result(PATIENCE).accepted == 1
        closing_.result(PATIENCE)
    assert true_counts() == {1: Counter({b"\1\1": 1})}


def test_a_report_that_arrives_while_it_is_imported_is_counted_once(
    database, store, published, elsewhere, tmp_path, true_counts, monkeypatch
):
    """The values of the report are unknown, so the import is refused."""
    monkeypatch.setattr(sqlite_files, "PAGE", 5)
    operations.publish_survey(elsewhere, published)
    elsewhere.reports.add("health", published.digest, [report(n, 1, n % 3) for n in range(20)])
    operations.export_reports(elsewhere, "health", tmp_path / "there.db")
    told: list[int] = []

    def send(_: int) -> None:
        if not told:
            ahead = [report(15, 1, 0)]
            told.append(store.reports.add("health", published.digest, ahead).accepted)

    with pytest.raises(ParameterError, match="1 of its reports were counted here before"):
        operations.import_reports(store, tmp_path / "there.db", send)
    assert told == [1]
    assert true_counts() == {1: Counter({b"\1\0": 1})}
