"""A relay passes reports on once, as whole batches in random order, or not at all."""

import base64
from collections import Counter
from contextvars import copy_context
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from threading import Event
from types import SimpleNamespace
from uuid import uuid4

import hpke
import pytest
from databases import on_both
from halftruth_collector import operations as collecting
from halftruth_collector.errors import StoreUnavailable
from halftruth_collector.store.tables import relay_surveys
from halftruth_relay import operations as relaying
from halftruth_relay import passing as module
from halftruth_relay.passing import Passing, shuffled
from relays import Device, inner_reports
from scipy.stats import chi2
from sqlalchemy import event, update

pytestmark = on_both


def run(passing):
    """Run it in a context of its own, as in its thread, since it names the relay as the actor."""
    copy_context().run(passing.run)


def statuses(parties):
    return [survey.status for survey in parties.relay_store.all()]


def audited(parties):
    return [(entry.action, entry.detail) for entry in parties.relay_store.audit.all()]


@pytest.fixture
def requests_to_collector(make, monkeypatch):
    """The requests to the collector, each as a list of sealed reports."""
    got = []
    send = module.Passing._send

    def note(self, survey, ids):
        got.append(self._store.sealed(survey, ids))
        return send(self, survey, ids)

    monkeypatch.setattr(module.Passing, "_send", note)
    return got


def test_closing_the_survey_counts_every_report_once_with_its_values(make):
    parties = make(batch=25)
    devices = parties.fill(30)
    # No report is passed on before the survey is closed.
    parties.passing().look()
    assert (parties.held(), parties.counted()) == (30, 0)
    parties.close()
    assert (parties.held(), parties.counted()) == (0, 30)
    _, counts, _ = parties.store.reports.counts("health")
    expected = Counter(device.values for device in devices)
    assert {(a, b): int(counts.marginal((0, 1))[a, b]) for a in range(2) for b in range(3)} == {
        (a, b): expected[a, b] for a in range(2) for b in range(3)
    }
    # A device that did not get the response retries.
    assert parties.send(devices[0]).get_json() == {"accepted": 0, "duplicates": 1}
    assert parties.send(Device((0, 0))).get_json()["type"].endswith("survey-closed")
    parties.passing().look()
    assert parties.counted() == 30
    assert audited(parties)[1:] == [
        ("relay close", "by its operator"),
        ("relay release", "30 reports"),
    ]
    assert {entry.actor for entry in parties.relay_store.audit.all()} == {"command line"}


def test_fewer_reports_than_a_batch_are_withheld_and_both_operators_informed(
    make, caplog, operator
):
    parties = make(batch=10)
    parties.fill(9)
    parties.close()
    assert (statuses(parties), parties.held(), parties.counted()) == (["withheld"], 9, 0)
    assert audited(parties)[-1] == ("relay withhold", "9 reports, fewer than the 10 of a batch")
    assert "health has 9 reports, fewer than the 10 of a batch: none of them is" in caplog.text
    told = [e for e in parties.store.audit.all() if e.action == "relay finish"]
    assert [(entry.subject, entry.detail) for entry in told] == [("health", "0 reports")]
    [token] = [each for each in parties.store.tokens.all() if each.role == "relay"]
    assert told[0].actor == f"token {token.id}"
    collecting.close_survey(parties.store, "health", confirm="health")
    state = parties.collector.test_client().get("/v1/surveys/health/state", headers=operator)
    assert state.get_json()["reports"] == 0
    assert state.get_json()["relay"]["url"] == parties.survey.relay.url
    http = parties.collector.test_client()
    http.post("/sign-in", data={"token": operator["Authorization"].split()[1]})
    page = " ".join(http.get("/operate/surveys/health").text.split())
    assert "it passes on at least 10 reports, or none. None has arrived:" in page
    # A purge deletes them with the ids.
    assert relaying.purge(parties.relay_store, 0, confirm="*") == [("health", 9, 9)]
    assert inner_reports(parties.relay_store) == []


def test_a_purge_locks_its_tables_in_the_order_of_a_compaction(make):
    """Otherwise they could deadlock on PostgreSQL."""
    parties = make(batch=2)
    parties.fill(3)
    parties.close()
    said: list[str] = []
    engine = parties.relay_store.database.engine
    event.listen(engine, "before_cursor_execute", lambda _c, _cursor, text, *_: said.append(text))
    assert relaying.purge(parties.relay_store, 0, confirm="*") == [("health", 3, 0)]
    if parties.relay_store.database.is_sqlite:
        # SQLite has one writer.
        return
    locked = next(n for n, text in enumerate(said) if "IN ROW EXCLUSIVE MODE" in text)
    assert not any("relay_ids" in text or "relay_reports" in text for text in said[:locked])


@pytest.mark.parametrize("why", ["operator", "deadline", "collector"])
def test_a_survey_is_closed_by_either_operator_or_its_deadline(make, why):
    parties = make(batch=2)
    parties.fill(3)
    if why == "operator":
        relaying.close(parties.relay_store, "health", confirm="health")
    elif why == "deadline":
        past = datetime.now(UTC) - timedelta(seconds=1)
        with parties.relay_store.database.writing() as connection:
            connection.execute(update(relay_surveys).values(closes_at=past))
        assert parties.send(Device((0, 0))).status_code == 409
        answer = parties.http.get("/v1/surveys/health").get_json()
        assert answer == {"id": "health", "digest": parties.survey.digest, "status": "closed"}
    else:
        collecting.close_survey(parties.store, "health", confirm="health")
    parties.passing().look()
    assert (statuses(parties), parties.counted()) == (["released"], 3)
    assert ("relay close", f"by its {why}") in audited(parties)


@pytest.mark.parametrize(("held", "counted"), [(3, 3), (1, 0)])
def test_the_end_of_a_relay_closes_the_survey_at_the_collector(make, operator, held, counted):
    """Also if it passes on none; the collector still takes what a restarted relay sends again."""
    parties = make(batch=2)
    parties.fill(held)
    inner = inner_reports(parties.relay_store)
    parties.close()
    http = parties.collector.test_client()
    published = http.get("/v1/surveys/health").get_json()
    assert (published["status"], published["closed_because"]) == ("closed", "relay")
    entries = [(e.action, e.detail) for e in parties.store.audit.all()][-2:]
    assert entries == [
        ("relay finish", f"{counted} reports"),
        ("survey close", "its relay has ended"),
    ]
    # Nobody can open it again, since the relay takes no more reports.
    answer = http.post("/v1/surveys/health/reopen", headers=operator)
    assert answer.status_code == 409
    assert "its relay takes no more reports" in answer.get_json()["detail"]
    body = {
        "digest": parties.survey.digest,
        "relayed": [base64.b64encode(each).decode() for each in inner],
    }
    bearer = {"Authorization": f"Bearer {parties.token}"}
    answer = http.post(parties.path, json=body, headers=bearer)
    assert answer.get_json() == {"accepted": held - counted, "duplicates": counted}


def test_the_end_is_reported_once_and_compacts_the_collector(make, monkeypatch):
    parties = make(batch=2)
    parties.fill(3)
    collecting.close_survey(parties.store, "health", confirm="health")
    compactions = []
    monkeypatch.setattr(
        parties.collector.extensions["halftruth"].store.database,
        "compact_or_warn",
        compactions.append,
    )
    passing = parties.passing()
    passing.look()
    passing.look()
    # Nor does a restarted relay report the end again.
    parties.passing().look()
    details = [e.detail for e in parties.store.audit.all() if e.action == "relay finish"]
    assert details == ["3 reports"]
    assert len(compactions) == 1


def test_a_failure_to_record_the_end_states_that_reports_may_be_counted(make, monkeypatch):
    """A relay may report the end in the request with its last reports."""
    parties = make(batch=2)
    parties.fill(2)
    relayed = [base64.b64encode(each).decode() for each in inner_reports(parties.relay_store)]
    body = {"digest": parties.survey.digest, "relayed": relayed, "finished": True}

    def fail(*_):
        raise StoreUnavailable("the database does not answer (LockNotAvailable)", is_undone=True)

    monkeypatch.setattr(collecting, "finish_relayed", fail)
    answer = parties.collector.test_client().post(
        parties.path, json=body, headers={"Authorization": f"Bearer {parties.token}"}
    )
    assert (answer.status_code, parties.counted()) == (503, 2)
    assert "may have been counted" in answer.get_json()["detail"]


def test_batches_have_the_minimum_size_and_the_remainder_is_withheld(make, requests_to_collector):
    parties = make(batch=5, release="batches")
    passing = parties.passing()
    sizes = []
    for count in (4, 3, 4, 6, 2):
        parties.fill(count)
        before = len(requests_to_collector)
        passing.look()
        passing.look()
        sizes.append(sum(map(len, requests_to_collector[before:])))
    assert sizes == [0, 7, 0, 10, 0]
    parties.close()
    assert (statuses(parties), parties.held(), parties.counted()) == (["withheld"], 2, 17)


def test_batches_are_released_at_quarters_of_an_hour(make, monkeypatch):
    """The moment of a release would be the time of the report that filled the batch."""
    parties = make(batch=5, release="batches")
    now, counted = [1_000_000 * 900.0 + 10], []

    class Stopping(Event):
        def wait(self, timeout=None):
            """Let five minutes pass, in which a batch gets full."""
            counted.append(parties.counted())
            now[0] += 300
            parties.fill(5)
            return len(counted) > 7

    monkeypatch.setattr(module, "time", SimpleNamespace(time=lambda: now[0]))
    run(Passing(parties.relay_store, Stopping(), clock=lambda: now[0]))
    # What is full at the start is released, then after 900 s, then after 1 800 s.
    assert counted == [0, 5, 5, 15, 15, 15, 30, 30]


def test_an_interrupted_batch_is_completed_without_later_reports(
    make, monkeypatch, requests_to_collector
):
    """Reports that arrive meanwhile wait for the next batch."""
    monkeypatch.setattr(module, "MOST_SEALED", 2)
    parties = make(batch=5, release="batches")
    passing = parties.passing()
    parties.fill(5)
    acknowledge, seen = relaying.acknowledge, []

    def fail(*arguments):
        seen.append(arguments)
        raise StoreUnavailable("gone")

    monkeypatch.setattr(relaying, "acknowledge", fail)
    with pytest.raises(StoreUnavailable):
        passing.look()
    monkeypatch.setattr(relaying, "acknowledge", acknowledge)
    late = parties.fill(3)
    del requests_to_collector[:]
    # As after a restart.
    parties.passing().look()
    assert [len(sent) for sent in requests_to_collector] == [2, 2, 1]
    assert (parties.held(), parties.counted()) == (len(late), 5)


@pytest.fixture
def two_surveys(make):
    """A second survey, whose id comes first, at the same relay."""
    parties = make(batch=2)
    other = replace(parties.survey, id="another")
    collecting.publish_survey(parties.store, other)
    token = collecting.create_token(parties.store, "relay", "another")
    also = replace(parties, survey=other, token=token)
    also.register()
    return parties, also


def test_a_failed_compaction_is_retried_later_and_does_not_delay_reports(two_surveys, monkeypatch):
    compactions = []

    def fail():
        compactions.append(True)
        raise StoreUnavailable("the database does not answer (LockNotAvailable)")

    for parties in two_surveys:
        parties.fill(3)
        relaying.close(parties.relay_store, parties.survey.id, confirm=parties.survey.id)
    now = [0.0]
    passing = parties.passing(clock=lambda: now[0])
    compact = parties.relay_store.database.compact
    monkeypatch.setattr(parties.relay_store.database, "compact", fail)
    passing.look()
    assert [parties.counted() for parties in two_surveys] == [3, 3]
    # The compaction is not retried at once, since reports would wait for it.
    passing.look()
    assert len(compactions) == 1
    monkeypatch.setattr(
        parties.relay_store.database, "compact", lambda: compactions.append(compact())
    )
    now[0] += 15
    passing.look()
    passing.look()
    assert compactions == [True, None, None]


def test_each_outage_of_the_database_is_logged_once(make, monkeypatch, caplog):
    parties = make()
    passing = parties.passing()
    fails = iter([True, True, False, True, True])

    def look(**_):
        try:
            if next(fails):
                raise StoreUnavailable("gone")
        except StopIteration:
            passing._stopping.set()

    monkeypatch.setattr(module, "_PAUSE", 0)
    monkeypatch.setattr(passing, "look", look)
    run(passing)
    said = [r.getMessage() for r in caplog.records if "unavailable" in r.getMessage()]
    assert said == ["unavailable: gone"] * 2


def test_reports_refused_by_the_collector_are_held_and_passed_on_later(make, caplog):
    parties = make(batch=2)
    parties.fill(4)
    [token] = [t for t in parties.store.tokens.all() if t.role == "relay"]
    collecting.revoke_token(parties.store, token.id)
    relaying.close(parties.relay_store, "health", confirm="health")
    now = [0.0]
    passing = parties.passing(clock=lambda: now[0])
    passing.look()
    passing.look()
    assert (parties.held(), parties.counted()) == (4, 0)
    said = [r.getMessage() for r in caplog.records if "are held" in r.getMessage()]
    assert said == [
        "4 reports of health are held: token: it is not known here, or has been revoked"
    ]
    # The collector's operator creates another token, and the relay's operator registers it.
    parties.register(token=collecting.create_token(parties.store, "relay", "health"))
    now[0] += 15
    passing.look()
    assert (parties.held(), parties.counted()) == (0, 4)


@pytest.mark.parametrize(
    "inside",
    [
        b"halftruth relayed report 1\n" + bytes(32),  # of another survey
        b"",  # of this survey, but out of range
    ],
)
def test_invalid_reports_do_not_prevent_others_from_being_counted(make, inside):
    """The relay cannot open reports; the collector counts those that it cannot open as refused."""
    parties = make(batch=2)
    parties.fill(4)
    digest, relay = bytes.fromhex(parties.survey.digest), parties.survey.relay
    info = inside or b"halftruth relayed report 1\n" + digest
    inner = hpke.seal(bytes.fromhex(relay.sealing_key), info, uuid4().bytes + b"\xff\xff")
    outside = b"halftruth relay envelope 1\n" + digest + (id := uuid4()).bytes
    outer = hpke.seal(bytes.fromhex(relay.key), outside, inner)
    report = {"id": str(id), "sealed": base64.b64encode(outer).decode()}
    body = {"digest": parties.survey.digest, "reports": [report]}
    assert parties.http.post(parties.path, json=body).status_code == 202
    parties.close()
    assert (parties.held(), parties.counted()) == (0, 4)
    [survey] = parties.relay_store.all()
    assert (survey.passed, survey.unopened) == (5, 1)
    [day] = parties.store.reports.daily_outcomes("health")
    assert (day.counted, day.refused) == (4, {"report-error": 1})


def test_all_orders_of_a_batch_are_equally_frequent(database):
    """χ² test of equal frequencies of the 24 orders of 4 reports; fails by chance with p = 1e-9."""
    ids = [bytes([n]) * 16 for n in range(4)]
    orders = Counter(tuple(shuffled(ids if n % 2 else ids[::-1])) for n in range(10_000))
    assert len(orders) == 24
    expected = 10_000 / 24
    statistic = sum((count - expected) ** 2 / expected for count in orders.values())
    assert statistic < chi2.isf(1e-9, 23)


def test_reports_are_passed_on_in_an_order_independent_of_their_arrival(
    make, requests_to_collector
):
    """Rank correlation of 600 reports sent one by one; fails by chance with p = 1e-6."""
    parties = make(batch=2)
    count, arrived = 600, []
    for _ in range(count // 50):
        for device in parties.fill(50):
            arrived.append(device.relay_id.bytes)
    with parties.relay_store.database.reading() as connection:
        rows = connection.exec_driver_sql("SELECT report_id, sealed FROM relay_reports").all()
    by_id = {bytes(id): bytes(sealed) for id, sealed in rows}
    parties.close()
    left = [sealed for batch in requests_to_collector for sealed in batch]
    place = {sealed: position for position, sealed in enumerate(left)}
    ranks = [place[by_id[id]] for id in arrived]
    assert sorted(ranks) == list(range(count))
    mean = (count - 1) / 2
    products = sum((a - mean) * (b - mean) for a, b in enumerate(ranks))
    correlation = products / sum((a - mean) ** 2 for a in range(count))
    assert abs(correlation) * (count - 1) ** 0.5 < 4.9
