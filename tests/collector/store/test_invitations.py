"""Invitations: each admits one report, and the tables do not link the two."""

import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest
from halftruth_collector import operations
from halftruth_collector.collector_store import Store
from halftruth_collector.errors import InvitationRefused
from halftruth_collector.intake.checking import check
from halftruth_collector.store.tables import metadata
from halftruth_shared import Survey
from halftruth_shared.protocol.terms import Terms
from wire import PATIENCE, wait_until

from .conftest import in_one_transaction, report, statements

pytestmark = pytest.mark.parametrize("database", ["sqlite", "postgresql"], indirect=True)

INVITED = Terms(invitations=True)


@pytest.fixture
def invited(store, survey) -> Survey:
    operations.publish_survey(store, survey, INVITED)
    return survey


@pytest.fixture
def add(store, invited):
    return lambda *reports: store.reports.add("health", invited.digest, list(reports))


@pytest.fixture
def counts(store):
    """Return a function that counts issued, used, withdrawn and unused invitations."""

    def read(id: str = "health") -> tuple[int, int, int, int]:
        count = store.invitations.count(id)
        assert count.issued == count.used + count.withdrawn + count.unused
        return count.issued, count.used, count.withdrawn, count.unused

    return read


@pytest.mark.parametrize(
    ("requests", "outcomes"),
    [
        pytest.param([["1a", "1a"]], [(1, 1)], id="a report twice in a batch"),
        pytest.param([["1a"], ["2a"]], [(1, 0), None], id="an invitation in two requests"),
        pytest.param([["1a"], ["1a"]], [(1, 0), (0, 1)], id="a retry in the same group"),
        pytest.param([["1a", "2"], ["3a"]], [None, (1, 0)], id="after a refused request"),
        # A valid invitation that is sent with a retry is not spent.
        pytest.param([["1a"], ["1", "1b", "2c"]], [(1, 0), (1, 2)], id="whatever a retry brings"),
    ],
)
def test_each_report_of_a_shared_transaction_needs_an_invitation(
    store, add, counts, true_counts, requests, outcomes
):
    given = dict(zip("abc", operations.create_invitations(store, "health", 3), strict=True))

    def send(words):
        return lambda: add(*(report(int(w[0]), 0, 0, invitation=given.get(w[1:])) for w in words))

    for future, outcome in zip(
        in_one_transaction(store, *map(send, requests)), outcomes, strict=True
    ):
        if outcome is None:
            assert isinstance(future.exception(), InvitationRefused)
        else:
            assert (future.result().accepted, future.result().duplicates) == outcome
    counted = sum(outcome[0] for outcome in outcomes if outcome)
    assert counts() == (3, counted, 0, 3 - counted)
    assert true_counts() == {1: Counter({b"\0\0": counted})}


def test_two_stores_count_one_report_for_each_invitation(
    database, store, invited, counts, true_counts
):
    """Both stores get each of forty invitations at the same time, with different reports."""
    made = operations.create_invitations(store, "health", 40)
    together = threading.Barrier(2, timeout=PATIENCE)

    def work(mine: Store, first: int) -> list[bool]:
        counted = []
        for position, invitation in enumerate(made):
            together.wait()
            try:
                sent = report(first + position, 1, 1, invitation=invitation)
                mine.reports.add("health", invited.digest, [sent])
                counted.append(True)
            except InvitationRefused:
                counted.append(False)
        return counted

    with Store(database) as other, ThreadPoolExecutor() as threads:
        futures = [threads.submit(work, store, 0), threads.submit(work, other, 1000)]
        one, two = (future.result(4 * PATIENCE) for future in futures)
    assert [a + b for a, b in zip(one, two, strict=True)] == [1] * 40
    assert counts() == (40, 40, 0, 0)
    assert true_counts() == {1: Counter({b"\1\1": 40})}


def test_a_retry_during_the_commit_of_its_report_is_a_duplicate(database, store, invited, counts):
    """The retry waits for the commit, and then finds its report counted."""
    [only] = operations.create_invitations(store, "health", 1)
    shape = invited.report_space
    made = check("health", invited.digest, shape, [report(1, 0, 0, invitation=only)])
    committing, free, looked = threading.Event(), threading.Event(), threading.Event()

    def hold(text: str) -> None:
        if text == "COMMIT":
            committing.set()
            assert free.wait(PATIENCE)

    def look(text: str) -> None:
        if "FROM invitations" in text:
            looked.set()

    with (
        Store(database) as other,
        ThreadPoolExecutor() as threads,
        statements(store.database.engine, hold),
        statements(other.database.engine, look),
    ):
        first = threads.submit(store.reports.count, made)
        try:
            assert committing.wait(PATIENCE)
            again = threads.submit(other.reports.count, made)
            # On SQLite, a transaction waits as soon as it begins.
            begun = other.reports._commits
            wait_until(lambda: begun._thread if database.startswith("sqlite") else looked.is_set())
            assert not again.done()
        finally:
            free.set()
        assert (first.result(PATIENCE).accepted, again.result(PATIENCE).duplicates) == (1, 1)
    assert counts() == (1, 1, 0, 0)


@pytest.mark.parametrize("together", [True, False])
def test_tables_do_not_link_reports_to_invitations(
    database, store, survey, raw, dump, monkeypatch, together
):
    """Exchanging the invitations of the same reports leaves the same rows."""
    fixed = [bytes([number]) * 16 for number in range(12)]
    worlds = []
    for dealt in (fixed[:8], fixed[7::-1]):
        with raw.begin() as connection:
            for table in (
                "report_ids",
                "cells",
                "daily_outcomes",
                "invitations",
                "audit",
                "surveys",
            ):
                connection.exec_driver_sql(f"DELETE FROM {table}")
        operations.publish_survey(store, survey, INVITED)
        drawn = iter(fixed)
        with monkeypatch.context() as patched:
            patched.setattr(
                "halftruth_collector.operations.invitations.secrets.token_bytes",
                lambda _, drawn=drawn: next(drawn),
            )
            operations.create_invitations(store, "health", len(fixed))
        batch = [
            report(number, number % 2, number % 3, invitation=invitation.hex())
            for number, invitation in enumerate(dealt)
        ]
        if together:
            store.reports.add("health", survey.digest, batch)
        else:
            # In the order of the invitations, as if respondents answered in the order of a mailing.
            for each in sorted(batch, key=lambda each: each.invitation):
                store.reports.add("health", survey.digest, [each])
        worlds.append(_said(dump()))
    assert worlds[0] == worlds[1]
    assert len(worlds[0]["report_ids"]) == 8
    assert len(worlds[0]["invitations"]) == 4


def _said(tables):
    """Return every row without sequential numbers and times."""
    told = {
        name: sorted(
            tuple(
                value
                for value, column in zip(row, metadata.tables[name].c, strict=True)
                if not (column.name in ("number", "survey") or "_at" in column.name)
                and column.name not in ("at", "day")
            )
            for row in rows
        )
        for name, rows in tables.items()
    }
    assert told.keys() == metadata.tables.keys()
    return told
