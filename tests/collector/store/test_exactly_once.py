"""Each report is counted exactly once, also in shared transactions and after failures."""

import random
import threading
from collections import Counter

import pytest
from halftruth_collector import operations
from halftruth_collector.collector_store import Store
from halftruth_collector.errors import (
    InvitationRefused,
    StaleDigest,
    StoreUnavailable,
    SurveyClosed,
    UnknownSurvey,
)
from halftruth_collector.intake.checking import check
from halftruth_collector.store.tables import metadata
from halftruth_shared import HalftruthError, ReportError, Survey
from halftruth_shared.protocol.terms import Terms
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test
from sqlalchemy.exc import OperationalError
from wire import PATIENCE

from .conftest import cell_of, hammer, in_one_transaction, report, statements

pytestmark = pytest.mark.parametrize("database", ["sqlite", "postgresql"], indirect=True)


def outcome(future):
    error = future.exception(PATIENCE)
    return error if error is not None else (future.result().accepted, future.result().duplicates)


def total(store, id="health"):
    return store.reports.counts(id)[1].reports


def request(store, survey, *reports, digest=None):
    return lambda: store.reports.add(survey.id, digest or survey.digest, list(reports))


@pytest.mark.parametrize("invitations", [False, True])
@pytest.mark.parametrize("closed", [False, True])
def test_known_ids_get_the_same_response_for_any_values_and_invitations(
    store, survey, dump, invitations, closed
):
    """Guesses of a report's values cannot be verified."""
    operations.publish_survey(store, survey, Terms(invitations=invitations))
    made = operations.create_invitations(store, "health", 2)
    good = made[0] if invitations else None
    store.reports.add("health", survey.digest, [report(1, 1, 2, invitation=good)])
    if closed:
        operations.close_survey(store, "health", confirm="health")
    before = dump()
    before.pop("daily_outcomes")
    guesses = [(a, b, i) for a in range(2) for b in range(3) for i in (None, *made, "0" * 32)]
    for first, second, invitation in guesses:
        guess = [report(1, first, second, invitation=invitation)] * 2
        receipt = store.reports.add("health", survey.digest, guess)
        assert (receipt.accepted, receipt.duplicates) == (0, 2)
    after = dump()
    after.pop("daily_outcomes")
    assert after == before


@pytest.mark.parametrize(
    ("old", "groups", "outcomes", "health", "seconds"),
    [
        pytest.param(
            [],
            [
                ("health", [(1, 0, 1)], None),
                ("health", [(2, 0, 1)], "0" * 64),
                ("health", [(3, 0, 1)], None),
            ],
            [(1, 0), StaleDigest, (1, 0)],
            {b"\0\1": 2},
            {},
            id="a stale digest fails alone",
        ),
        pytest.param(
            [],
            [
                ("health", [(1, 1, 2), (1, 0, 1)], None),
                ("health", [(2, 0, 0), (1, 0, 0), (3, 0, 0)], None),
                ("health", [(3, 0, 1), (2, 0, 0), (1, 1, 2)], None),
            ],
            [(1, 1), (2, 1), (0, 3)],
            {b"\1\2": 1, b"\0\0": 2},
            {},
            id="an id with two reports belongs to the first",
        ),
        pytest.param(
            [("health", 1), ("second", 1), ("second", 2)],
            [
                ("health", [(1, 0, 0), (2, 0, 0)], None),
                ("second", [(2, 1, 1), (3, 1, 1)], None),
                ("health", [(3, 0, 0)], None),
                ("second", [(1, 1, 1)], None),
            ],
            [(1, 1), (1, 1), (1, 0), (0, 1)],
            {b"\1\1": 1, b"\0\0": 2},
            {b"\1\1": 3},
            id="one id under two surveys is two reports",
        ),
    ],
)
def test_a_group_with_known_ids_counts_only_new_ones(
    store, published, second, true_counts, old, groups, outcomes, health, seconds
):
    """Numbers are ids. A known or repeated id is a duplicate, whatever its values."""
    surveys = {"health": published, "second": second}
    for name, id in old:
        store.reports.add(name, surveys[name].digest, [report(id, 1, 1)])
    made = in_one_transaction(
        store,
        *(
            request(store, surveys[name], *(report(id, *cell) for id, *cell in sent), digest=digest)
            for name, sent, digest in groups
        ),
    )
    found = [outcome(future) for future in made]
    assert [each if isinstance(each, tuple) else type(each) for each in found] == outcomes
    assert true_counts() == {
        number: Counter(cells) for number, cells in ((1, health), (2, seconds)) if cells
    }


def test_a_retry_after_a_lost_response_is_a_duplicate(store, published, true_counts, monkeypatch):
    dialect = store.database.engine.dialect
    commit = dialect.do_commit

    def lose(connection) -> None:
        commit(connection)
        raise dialect.loaded_dbapi.OperationalError("gone")

    shape = published.report_space
    made = check("health", published.digest, shape, [report(1, 0, 0), report(2, 0, 0)])
    with monkeypatch.context() as patched:
        patched.setattr(dialect, "do_commit", lose)
        with pytest.raises(StoreUnavailable):
            store.reports.count(made)
    assert total(store) == 2
    assert store.reports.count(made).duplicates == 2
    assert true_counts() == {1: Counter({b"\0\0": 2})}


def test_a_failure_at_any_statement_rolls_back_the_whole_group(
    store, survey, second, dump, true_counts
):
    """The group has known ids, a closed survey and invitations; each statement fails once."""
    shape = survey.report_space
    ended = Survey("ended", "Ended", survey.schema, survey.mechanism)
    for each, terms in ((survey, Terms(invitations=True)), (ended, Terms())):
        operations.publish_survey(store, each, terms)
    invitations = operations.create_invitations(store, "health", 3)
    store.reports.add("second", second.digest, [report(1, 1, 1)])
    store.reports.add("ended", ended.digest, [report(1, 1, 1)])
    operations.close_survey(store, "ended", confirm="ended")
    items = [
        check("health", survey.digest, shape, [report(1, 0, 0, invitation=invitations[0])]),
        check("second", second.digest, shape, [report(1, 1, 1), report(2, 1, 2)]),
        check("ended", ended.digest, shape, [report(1, 1, 1)]),
        check("health", survey.digest, shape, [report(2, 0, 1, invitation=invitations[1])]),
    ]
    together = store.reports._commits._commit_items
    before = dump()
    seen: list[str] = []
    failed = 0
    while True:
        seen.clear()

        def fail_once(text: str, at: int = failed) -> None:
            seen.append(text)
            if len(seen) == at + 1:
                raise OperationalError(text, {}, Exception())

        with statements(store.database.engine, fail_once):
            outcomes = together(lambda: items)
        if len(seen) <= failed:
            break
        assert [type(each) for each in outcomes] == [StoreUnavailable] * len(items)
        assert dump() == before
        failed += 1
    said = " ".join(seen)
    for table in (
        "INTO report_ids",
        "INTO cells",
        "INTO daily_outcomes",
        "FROM invitations",
        "COMMIT",
    ):
        assert table in said
    assert failed > 10
    assert [(each.accepted, each.duplicates) for each in outcomes] == [
        (1, 0),
        (1, 1),
        (0, 1),
        (1, 0),
    ]
    numbers = {each.id: each.number for each in store.surveys.all()}
    assert true_counts() == {
        numbers["health"]: Counter({b"\0\0": 1, b"\0\1": 1}),
        numbers["second"]: Counter({b"\1\1": 1, b"\1\2": 1}),
        numbers["ended"]: Counter({b"\1\1": 1}),
    }
    assert store.invitations.count("health").used == 2


def test_two_stores_with_common_ids_count_each_once(database, store, published, true_counts):
    sent: set[int] = set()
    lock = threading.Lock()

    def work(mine: Store, number: int) -> int:
        chance = random.Random(number)
        accepted = 0
        for _ in range(12):
            ids = chance.choices(range(400), k=12)
            with lock:
                sent.update(ids)
            batch = [report(id, *cell_of(id)) for id in ids]
            receipt = mine.reports.add("health", published.digest, batch)
            assert receipt.accepted + receipt.duplicates == len(batch)
            accepted += receipt.accepted
        return accepted

    with Store(database) as other:
        accepted = hammer([store, other], work, 16)
    assert sum(accepted) == len(sent) == total(store)
    assert true_counts() == {1: Counter(bytes(cell_of(id)) for id in sent)}


class CountingMachine(RuleBasedStateMachine):
    """Compares a store with a model of plain dictionaries."""

    store: Store
    survey: Survey
    empty = staticmethod(lambda: None)

    def __init__(self) -> None:
        super().__init__()
        self.empty()
        self.surveys: dict[str, Survey] = {}
        self.terms: dict[str, bool] = {}
        self.closed: set[str] = set()
        self.reports: dict[str, dict[int, tuple[int, int]]] = {}
        self.invitations: list[str] = []
        self.unspent: dict[str, set[str]] = {}
        self.issued: Counter[str] = Counter()
        self.withdrawn: Counter[str] = Counter()

    names = st.sampled_from("ab")
    values = st.tuples(st.integers(0, 1), st.integers(0, 2))

    @rule(name=names, title=st.sampled_from(["One", "Other"]), invited=st.none() | st.booleans())
    def publish(self, name, title, invited):
        new = Survey(name, title, self.survey.schema, self.survey.mechanism)
        known = self.surveys.get(name)
        terms = {} if invited is None else Terms(invitations=invited)
        if known is not None and known.digest != new.digest and self.reports[name]:
            with pytest.raises(HalftruthError, match="has reports already"):
                operations.publish_survey(self.store, new, terms)
            return
        operations.publish_survey(self.store, new, terms)
        if known is None or known.digest != new.digest:
            self.closed.discard(name)
            self.surveys[name] = new
        if known is None or invited is not None:
            self.terms[name] = bool(invited)
        self.reports.setdefault(name, {})
        self.unspent.setdefault(name, set())

    @rule(name=names, invited=st.booleans())
    def set_terms(self, name, invited):
        if name in self.surveys:
            operations.set_terms(self.store, name, Terms(invitations=invited))
            self.terms[name] = invited
        else:
            with pytest.raises(UnknownSurvey):
                operations.set_terms(self.store, name, Terms(invitations=invited))

    @rule(name=names)
    def close(self, name):
        if name in self.surveys:
            operations.close_survey(self.store, name, confirm=name)
            self.closed.add(name)

    @rule()
    def compact(self):
        operations.compact(self.store)

    @rule(name=names, count=st.integers(1, 3))
    def invite(self, name, count):
        if name in self.surveys:
            made = operations.create_invitations(self.store, name, count)
            self.invitations += made
            self.unspent[name] |= set(made)
            self.issued[name] += count

    @rule(name=names, data=st.data())
    def revoke(self, name, data):
        if name not in self.surveys or not self.invitations:
            return
        chosen = data.draw(st.none() | st.lists(st.sampled_from(self.invitations), max_size=3))
        gone = self.unspent[name] & set(self.invitations if chosen is None else chosen)
        revoked = None if chosen is None else [bytes.fromhex(each) for each in chosen]
        assert operations.revoke_invitations(self.store, name, revoked) == len(gone)
        self.unspent[name] -= gone
        self.withdrawn[name] += len(gone)

    @rule(
        name=names,
        batch=st.lists(st.tuples(st.integers(0, 5), values), max_size=4),
        fresh=st.booleans(),
        current=st.sampled_from([True] * 7 + [False]),
        data=st.data(),
    )
    def add(self, name, batch, fresh, current, data):
        if name not in self.surveys:
            with pytest.raises(UnknownSurvey):
                self.store.reports.add(name, "0" * 64, [])
            return
        known, good = self.reports[name], sorted(self.unspent[name])
        if fresh and not batch:
            return
        if fresh:
            # As an honest client: each id once, each with an invitation.
            batch = list(dict(batch).items())
            brought = (good + [None] * len(batch))[: len(batch)] if self.terms[name] else None
        else:
            some = st.none() | st.sampled_from([*self.invitations, "0" * 32])
            brought = data.draw(st.lists(some, min_size=len(batch), max_size=len(batch)))
        brought = brought or [None] * len(batch)
        faults: set[type[Exception]] = set() if current else {StaleDigest}
        first: dict[int, tuple[int, int]] = {}
        tickets: dict[int, str | None] = {}
        for (id, value), invitation in zip(batch, brought, strict=True):
            first.setdefault(id, value)
            tickets.setdefault(id, invitation)
        new = {id: value for id, value in first.items() if id not in known}
        if name in self.closed and (new or not batch):
            faults.add(SurveyClosed)
        used = [tickets[id] for id in new]
        if not self.terms[name] and any(used):
            faults.add(ReportError)
        if self.terms[name] and (not set(used) <= self.unspent[name] or len(set(used)) < len(used)):
            faults.add(InvitationRefused)
        reports = [
            report(id, *value, invitation=invitation)
            for (id, value), invitation in zip(batch, brought, strict=True)
        ]
        digest = self.surveys[name].digest if current else "0" * 64
        if faults:
            with pytest.raises(tuple(faults)):
                self.store.reports.add(name, digest, reports)
            return
        receipt = self.store.reports.add(name, digest, reports)
        assert (receipt.accepted, receipt.duplicates) == (len(new), len(batch) - len(new))
        known.update(new)
        if self.terms[name]:
            self.unspent[name] -= set(used)

    @invariant()
    def the_store_holds_what_the_model_holds(self):
        assert [each.id for each in self.store.surveys.all()] == sorted(self.surveys)
        for name in self.surveys:
            stored, counts, _ = self.store.reports.counts(name)
            assert (stored.status == "closed") == (name in self.closed)
            assert stored.terms.invitations == self.terms[name]
            held = zip(map(tuple, counts.cells.tolist()), counts.counts.tolist(), strict=True)
            assert dict(held) == Counter(self.reports[name].values())
            count = self.store.invitations.count(name)
            assert (count.issued, count.withdrawn, count.unused) == (
                self.issued[name],
                self.withdrawn[name],
                len(self.unspent[name]),
            )
            assert count.used == count.issued - count.withdrawn - count.unused


def test_a_store_behaves_like_plain_dictionaries(database, store, survey, raw, rows):
    def empty() -> None:
        with raw.begin() as connection:
            for table in reversed(metadata.sorted_tables):
                connection.execute(table.delete())

    machine = type(
        "Machine",
        (CountingMachine,),
        {"store": store, "survey": survey, "empty": staticmethod(empty)},
    )
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=20 if database.startswith("sqlite") else 6,
            stateful_step_count=25,
            derandomize=True,
            database=None,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
    hashes = {bytes(row[0]) for row in rows("SELECT hash FROM invitations")}
    assert all(len(each) == 32 for each in hashes)
