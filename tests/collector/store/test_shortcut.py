"""Groups of new reports as one statement: the same as the long way, or nothing at all."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
from halftruth_collector.errors import StoreUnavailable, SurveyClosed
from halftruth_collector.store import Store
from halftruth_collector.store.submissions import pack
from halftruth_shared.messages import Terms
from sqlalchemy.exc import OperationalError

from .conftest import PATIENCE, commits_held, report, statements

pytestmark = pytest.mark.parametrize("database", ["postgresql"], indirect=True)


@pytest.fixture
def submission(published):
    """Make what a request brings to be counted."""
    shape = published.mechanism.report_shape(published.schema)

    def make(*reports, digest=None):
        return pack("health", digest or published.digest, shape, list(reports))

    return make


@pytest.fixture
def shortcut(store):
    return store.reports._counter._shortcut


def test_new_reports_take_one_statement(store, submission, true_counts):
    run = []
    with statements(store.database.engine, run.append):
        receipt = store.reports.count(submission(report(1, 0, 1), report(2, 0, 1), report(3, 1, 2)))
    assert (receipt.accepted, receipt.duplicates) == (3, 0)
    assert len([text for text in run if "INSERT" in text or "SELECT" in text]) == 1
    assert true_counts() == {1: Counter({b"\0\1": 2, b"\1\2": 1})}
    [day] = store.reports.arrivals("health")
    assert (day.counted, day.repeated) == (3, 0)


def test_requests_of_one_group_are_counted_together(shortcut, submission, true_counts):
    group = [submission(report(n, n % 2, n % 3)) for n in range(1, 7)]
    assert shortcut.count(group)
    assert true_counts()[1].total() == 6


@pytest.mark.parametrize(
    "spoil",
    ["repeated", "reused", "digest", "closed", "unknown", "invited", "sealed", "twice", "nothing"],
)
def test_what_is_out_of_the_ordinary_leaves_nothing(store, shortcut, submission, dump, spoil):
    assert shortcut.count([submission(report(1, 0, 1))])
    good = submission(report(2, 1, 1))
    odd = {
        "repeated": lambda: submission(report(1, 0, 1), report(3, 0, 0)),
        "reused": lambda: submission(report(3, 0, 0), report(1, 1, 1)),
        "digest": lambda: submission(report(3, 0, 0), digest="0" * 64),
        "twice": lambda: submission(report(2, 1, 1)),
        "nothing": lambda: submission(),
    }.get(spoil, lambda: submission(report(3, 0, 0)))()
    if spoil == "closed":
        store.surveys.close("health")
    if spoil == "unknown":
        with store.database.writing() as connection:
            connection.exec_driver_sql("UPDATE surveys SET id = 'other'")
    if spoil in ("invited", "sealed"):
        key = "ab" * 32 if spoil == "sealed" else None
        store.surveys.set_terms("health", Terms(invitations=spoil == "invited", sealing_key=key))
    before = dump()
    group = [odd] if spoil == "nothing" else [good, odd]
    assert not shortcut.count(group)
    assert dump() == before


def test_a_transaction_that_counts_the_same_cell_is_not_waited_for(
    store, database, submission, true_counts
):
    with (
        Store(database) as other,
        ThreadPoolExecutor() as threads,
        commits_held(other.database.engine) as (held, free),
    ):
        other.reports._counter._shortcut = None
        first = threads.submit(other.reports.count, submission(report(1, 1, 1)))
        try:
            assert held.wait(PATIENCE)
            assert store.reports.count(submission(report(2, 1, 1))).accepted == 1
            assert not first.done()
        finally:
            free.set()
        assert first.result(PATIENCE).accepted == 1
    assert true_counts() == {1: Counter({b"\1\1": 2})}


def test_a_survey_that_is_being_closed_is_waited_for(store, raw, submission, dump):
    with ThreadPoolExecutor() as threads, raw.connect() as connection:
        connection.exec_driver_sql("UPDATE surveys SET status = 'closed'")
        before = dump()
        counted = threads.submit(store.reports.count, submission(report(1, 1, 1)))
        with pytest.raises(TimeoutError):
            counted.result(0.3)
        connection.commit()
        with pytest.raises(SurveyClosed):
            counted.result(PATIENCE)
    after = dump()
    assert (after["report_ids"], after["cells"]) == (before["report_ids"], before["cells"])


def test_an_answer_that_was_lost_is_a_duplicate_later(store, submission, true_counts, monkeypatch):
    statements_of = store.database.statements

    @contextmanager
    def lose():
        with statements_of() as connection:
            yield connection
        raise StoreUnavailable("the database does not answer (gone)")

    made = submission(report(1, 0, 0), report(2, 0, 0))
    with monkeypatch.context() as patched:
        patched.setattr(store.database, "statements", lose)
        with pytest.raises(StoreUnavailable):
            store.reports.count(made)
    assert store.reports.count(made).duplicates == 2
    assert true_counts() == {1: Counter({b"\0\0": 2})}


def test_a_connection_that_dies_in_the_statement_counts_nothing(
    store, submission, raw, true_counts
):
    def die(text):
        if "INSERT" in text:
            with raw.connect() as connection:
                connection.exec_driver_sql(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                    " WHERE application_name = 'halftruth' AND datname = current_database()"
                )

    made = submission(report(1, 0, 0))
    with (
        statements(store.database.engine, die),
        pytest.raises((StoreUnavailable, OperationalError)),
    ):
        store.reports.count(made)
    assert true_counts() == {}
    assert store.reports.count(made).accepted == 1
