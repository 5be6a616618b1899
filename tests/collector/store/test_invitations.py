"""Invitations: each lets one report in, and nothing says which."""

import hashlib
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest
from halftruth_collector.errors import InvitationRefused, StoreUnavailable, UnknownSurvey
from halftruth_collector.store import Store
from halftruth_collector.store.submissions import pack
from halftruth_collector.store.tables import metadata
from halftruth_shared import ParameterError, ReportError, Survey
from halftruth_shared.messages import Terms
from sqlalchemy.exc import OperationalError

from .conftest import PATIENCE, in_one_transaction, report, statements, wait_until

pytestmark = pytest.mark.parametrize("database", ["sqlite", "postgresql"], indirect=True)

INVITED = Terms(invitations=True)


@pytest.fixture
def invited(store, survey) -> Survey:
    store.surveys.publish(survey, INVITED)
    return survey


@pytest.fixture
def add(store, invited):
    return lambda *reports: store.reports.add("health", invited.digest, list(reports))


@pytest.fixture
def counts(store):
    """Issued, used, withdrawn and unused invitations, which always add up."""

    def read(id: str = "health") -> tuple[int, int, int, int]:
        count = store.invitations.count(id)
        assert count.issued == count.used + count.withdrawn + count.unused
        return count.issued, count.used, count.withdrawn, count.unused

    return read


def test_an_invitation_lets_one_report_in(store, add, counts, true_counts):
    first, second = store.invitations.create("health", 2)
    assert counts() == (2, 0, 0, 2)
    assert add(report(1, 0, 1, invitation=first)).accepted == 1
    assert counts() == (2, 1, 0, 1)
    with pytest.raises(InvitationRefused) as refused:
        add(report(2, 0, 0, invitation=second), report(3, 0, 0, invitation=first))
    assert (refused.value.index, refused.value.field) == (1, "invitation")
    assert str(refused.value).startswith("report 1: invitation: it is not known here, or was used")
    assert first not in str(refused.value)
    assert counts() == (2, 1, 0, 1)
    assert true_counts() == {1: Counter({b"\0\1": 1})}


def test_a_report_without_an_invitation_is_refused(store, add, counts, true_counts):
    [good] = store.invitations.create("health", 1)
    with pytest.raises(InvitationRefused) as refused:
        add(report(1, 0, 0, invitation=good), report(2, 0, 0))
    assert refused.value.index == 1
    assert str(refused.value) == (
        "report 1: invitation: this survey needs one, of 32 hexadecimal digits, for each report"
    )
    assert counts() == (1, 0, 0, 1)
    assert true_counts() == {}


@pytest.mark.parametrize(
    "text", ["", "0" * 31, "0" * 33, "G" * 32, "A" * 32, "٠" * 32, "0" * 31 + "\n"]
)
def test_what_is_no_invitation_is_refused_without_being_quoted(store, add, text):
    with pytest.raises(ReportError) as refused:
        add(report(1, 0, 0), report(2, 0, 0, invitation=text))
    assert str(refused.value) == "report 1: invitation: expected 32 hexadecimal digits"


def test_invitations_differ_and_only_their_hashes_are_stored(store, invited, dump):
    made = store.invitations.create("health", 500)
    assert len(set(made)) == 500
    assert all(len(each) == 32 and int(each, 16) >= 0 and each == each.lower() for each in made)
    rows = dump()
    assert {bytes(hash_) for _, hash_ in rows["invitations"]} == {
        hashlib.sha256(bytes.fromhex(each)).digest() for each in made
    }
    everything = repr(rows)
    assert not any(each in everything for each in made)
    assert not any(repr(bytes.fromhex(each))[2:-1] in everything for each in made)


def test_an_invitation_twice_in_a_batch_is_refused(store, add, counts, true_counts):
    [only] = store.invitations.create("health", 1)
    with pytest.raises(InvitationRefused) as refused:
        add(report(1, 0, 0, invitation=only), report(2, 0, 1, invitation=only))
    assert refused.value.index == 1
    assert counts() == (1, 0, 0, 1)
    assert true_counts() == {}


def test_one_report_twice_in_a_batch_needs_one_invitation(store, add, counts):
    [only] = store.invitations.create("health", 1)
    receipt = add(report(1, 0, 0, invitation=only), report(1, 0, 0, invitation=only))
    assert (receipt.accepted, receipt.duplicates) == (1, 1)
    assert counts() == (1, 1, 0, 0)


def test_an_invitation_in_two_requests_of_a_group_lets_the_first_in(
    store, add, counts, true_counts
):
    [only] = store.invitations.create("health", 1)
    one, other = in_one_transaction(
        store,
        lambda: add(report(1, 0, 0, invitation=only)),
        lambda: add(report(2, 0, 1, invitation=only)),
    )
    assert one.result().accepted == 1
    assert isinstance(other.exception(), InvitationRefused)
    assert counts() == (1, 1, 0, 0)
    assert true_counts() == {1: Counter({b"\0\0": 1})}


def test_of_two_processes_with_one_invitation_one_counts(
    database, store, invited, counts, true_counts
):
    """Forty invitations, each brought to both at the same moment with different reports."""
    made = store.invitations.create("health", 40)
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


def test_a_retry_needs_no_unspent_invitation(store, add, counts, true_counts):
    one, two, three = store.invitations.create("health", 3)
    first = report(1, 0, 0, invitation=one)
    add(first)
    assert add(first).duplicates == 1
    assert add(report(1, 0, 0)).duplicates == 1
    # Another good one that comes with it stays good.
    assert add(report(1, 0, 0, invitation=two)).duplicates == 1
    receipt = add(first, report(2, 0, 1, invitation=three))
    assert (receipt.accepted, receipt.duplicates) == (1, 1)
    assert counts() == (3, 2, 0, 1)
    assert true_counts() == {1: Counter({b"\0\0": 1, b"\0\1": 1})}


def test_a_retry_that_comes_while_its_report_is_being_committed_is_a_duplicate(
    database, store, invited, counts
):
    """It waits for that, and then finds its invitation spent and itself counted."""
    [only] = store.invitations.create("health", 1)
    shape = invited.mechanism.report_shape(invited.schema)
    made = pack("health", invited.digest, shape, [report(1, 0, 0, invitation=only)])
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
            # SQLite has it wait as soon as it begins.
            begun = other.reports._counter._commits
            wait_until(lambda: begun._led if database.startswith("sqlite") else looked.is_set())
            assert not again.done()
        finally:
            free.set()
        assert (first.result(PATIENCE).accepted, again.result(PATIENCE).duplicates) == (1, 1)
    assert counts() == (1, 1, 0, 0)


def test_a_retry_in_the_same_group_needs_no_invitation_of_its_own(store, add, counts):
    [only] = store.invitations.create("health", 1)
    sent = report(1, 0, 0, invitation=only)
    one, other = in_one_transaction(store, lambda: add(sent), lambda: add(sent))
    assert (one.result().accepted, other.result().duplicates) == (1, 1)
    assert counts() == (1, 1, 0, 0)


def test_an_invitation_of_a_report_that_was_refused_lets_another_in(store, add, counts):
    [only] = store.invitations.create("health", 1)
    bad, good = in_one_transaction(
        store,
        lambda: add(report(1, 0, 0, invitation=only), report(2, 0, 0)),
        lambda: add(report(3, 0, 0, invitation=only)),
    )
    assert isinstance(bad.exception(), InvitationRefused)
    assert good.result().accepted == 1
    assert counts() == (1, 1, 0, 0)


@pytest.mark.parametrize("at", ["DELETE FROM invitations", "INTO cells", "COMMIT"])
def test_an_invitation_is_spent_in_the_transaction_that_counts(store, invited, counts, dump, at):
    [only] = store.invitations.create("health", 1)
    shape = invited.mechanism.report_shape(invited.schema)
    made = pack("health", invited.digest, shape, [report(1, 0, 0, invitation=only)])
    before = dump()

    def fail(text: str) -> None:
        if at in text:
            raise OperationalError(text, {}, Exception())

    with statements(store.database.engine, fail), pytest.raises(StoreUnavailable):
        store.reports.count(made)
    assert dump() == before
    assert store.reports.count(made).accepted == 1
    assert counts() == (1, 1, 0, 0)


def test_an_invitation_of_another_survey_is_not_known(store, survey, add, counts):
    second = Survey("second", "Second", survey.schema, survey.mechanism)
    store.surveys.publish(second, INVITED)
    [elsewhere] = store.invitations.create("second", 1)
    with pytest.raises(InvitationRefused, match="not known here"):
        add(report(1, 0, 0, invitation=elsewhere))
    assert counts("second") == (1, 0, 0, 1)
    assert store.reports.add(
        "second", second.digest, [report(1, 0, 0, invitation=elsewhere)]
    ).accepted


def test_a_survey_without_invitations_refuses_one(store, survey, true_counts):
    store.surveys.publish(survey)
    [made] = store.invitations.create("health", 1)
    batch = [report(1, 0, 0), report(2, 0, 0, invitation=made)]
    with pytest.raises(ReportError) as refused:
        store.reports.add("health", survey.digest, batch)
    assert (refused.value.index, refused.value.field) == (1, "invitation")
    assert str(refused.value) == "report 1: invitation: this survey asks for none"
    assert true_counts() == {}
    assert store.invitations.count("health").unused == 1


def test_terms_hold_from_the_moment_they_are_set(store, survey, add, true_counts):
    [made] = store.invitations.create("health", 1)
    store.surveys.set_terms("health", Terms())
    assert add(report(1, 0, 0)).accepted == 1
    store.surveys.set_terms("health", INVITED)
    with pytest.raises(InvitationRefused):
        add(report(2, 0, 0))
    assert add(report(1, 0, 0), report(2, 0, 0, invitation=made)).accepted == 1
    assert true_counts() == {1: Counter({b"\0\0": 2})}


def test_a_retry_stays_one_after_invitations_were_given_up(store, add):
    """It was counted when the survey asked for invitations, and its answer was lost."""
    [made] = store.invitations.create("health", 1)
    sent = report(1, 0, 0, invitation=made)
    add(sent)
    store.surveys.set_terms("health", Terms())
    assert add(sent).duplicates == 1


def test_chosen_invitations_are_withdrawn(store, survey, add, counts):
    second = Survey("second", "Second", survey.schema, survey.mechanism)
    store.surveys.publish(second, INVITED)
    [elsewhere] = store.invitations.create("second", 1)
    used, gone, kept = store.invitations.create("health", 3)
    add(report(1, 0, 0, invitation=used))
    chosen = [bytes.fromhex(each) for each in (used, gone, gone, elsewhere, "0" * 32)]
    assert store.invitations.revoke("health", []) == 0
    assert store.invitations.revoke("health", chosen) == 1
    assert store.invitations.revoke("health", chosen) == 0
    assert counts() == (3, 1, 1, 1)
    assert counts("second") == (1, 0, 0, 1)
    with pytest.raises(InvitationRefused):
        add(report(2, 0, 0, invitation=gone))
    assert add(report(2, 0, 0, invitation=kept)).accepted == 1
    assert counts() == (3, 2, 1, 0)


def test_all_unused_invitations_are_withdrawn(store, survey, add, counts):
    second = Survey("second", "Second", survey.schema, survey.mechanism)
    store.surveys.publish(second, INVITED)
    store.invitations.create("second", 2)
    used, *_ = store.invitations.create("health", 5)
    add(report(1, 0, 0, invitation=used))
    assert store.invitations.revoke("health") == 4
    assert counts() == (5, 1, 4, 0)
    assert store.invitations.revoke("health") == 0
    store.invitations.create("health", 2)
    assert counts() == (7, 1, 4, 2)
    assert counts("second") == (2, 0, 0, 2)


def test_invitations_are_withdrawn_or_used_but_never_both(database, store, invited, counts):
    """Reports and withdrawals race for sixty invitations."""
    made = store.invitations.create("health", 60)
    together = threading.Barrier(2, timeout=PATIENCE)

    def use(mine: Store) -> int:
        counted = 0
        for position, invitation in enumerate(made):
            if position % 10 == 0:
                together.wait()
            try:
                sent = report(position, 0, 0, invitation=invitation)
                counted += mine.reports.add("health", invited.digest, [sent]).accepted
            except InvitationRefused:
                pass
        return counted

    def withdraw(mine: Store) -> int:
        gone = 0
        for start in range(0, 60, 10):
            together.wait()
            chosen = [bytes.fromhex(each) for each in reversed(made[start : start + 10])]
            gone += sum(mine.invitations.revoke("health", chosen[n : n + 2]) for n in (0, 2, 4))
        return gone

    with Store(database) as other, ThreadPoolExecutor() as threads:
        used, gone = threads.submit(use, store), threads.submit(withdraw, other)
        counts()
        made_use, made_useless = used.result(4 * PATIENCE), gone.result(4 * PATIENCE)
    assert counts() == (60, made_use, made_useless, 60 - made_use - made_useless)


@pytest.mark.parametrize("count", [0, -1, 1_000_001])
def test_a_number_of_invitations_that_makes_no_sense_is_refused(store, invited, counts, count):
    with pytest.raises(ParameterError, match="count: expected 1 to 1000000 invitations"):
        store.invitations.create("health", count)
    assert counts() == (0, 0, 0, 0)


def test_invitations_for_an_unknown_survey_are_refused(store):
    for call in (
        lambda: store.invitations.create("nothing", 1),
        lambda: store.invitations.count("nothing"),
        lambda: store.invitations.revoke("nothing"),
    ):
        with pytest.raises(UnknownSurvey):
            call()


@pytest.mark.parametrize("together", [True, False])
def test_nothing_tells_whose_invitation_let_a_report_in(
    database, store, survey, raw, dump, monkeypatch, together
):
    """The same reports with the same invitations dealt the other way leave the same rows."""
    fixed = [bytes([number]) * 16 for number in range(12)]
    worlds = []
    for dealt in (fixed[:8], fixed[7::-1]):
        with raw.begin() as connection:
            for table in ("report_ids", "cells", "arrivals", "invitations", "audit", "surveys"):
                connection.exec_driver_sql(f"DELETE FROM {table}")
        store.surveys.publish(survey, INVITED)
        drawn = iter(fixed)
        with monkeypatch.context() as patched:
            patched.setattr(
                "halftruth_collector.store.invitations.secrets.token_bytes",
                lambda _, drawn=drawn: next(drawn),
            )
            store.invitations.create("health", len(fixed))
        batch = [
            report(number, number % 2, number % 3, invitation=invitation.hex())
            for number, invitation in enumerate(dealt)
        ]
        if together:
            store.reports.add("health", survey.digest, batch)
        else:
            # In the order of the invitations, as if people came in the order of a mailing.
            for each in sorted(batch, key=lambda each: each.invitation):
                store.reports.add("health", survey.digest, [each])
        worlds.append(_said(dump()))
    assert worlds[0] == worlds[1]
    assert len(worlds[0]["report_ids"]) == 8
    assert len(worlds[0]["invitations"]) == 4


def _said(tables):
    """Every row, without the numbers that go on and the times that pass in any case."""
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
