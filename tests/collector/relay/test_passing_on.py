"""What a relay takes is passed on once, all of a batch in random order, or not at all."""

import base64
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import hpke
import pytest
from databases import on_both
from halftruth_collector import operations as collecting
from halftruth_collector.errors import StoreUnavailable
from halftruth_collector.relay import operations as relaying
from halftruth_collector.relay import passing as module
from halftruth_collector.relay.passing import shuffled
from halftruth_collector.store.tables import relay_surveys
from relays import Device, inner_reports
from scipy.stats import chi2
from sqlalchemy import event, update

pytestmark = on_both


def statuses(parties):
    return [survey.status for survey in parties.relay_store.all()]


def audited(parties):
    return [(entry.action, entry.detail) for entry in parties.relay_store.audit.all()]


@pytest.fixture
def requests_to_collector(make, monkeypatch):
    """Batches that the collector gets, each as a list of sealed reports."""
    got = []
    send = module.Passing._send

    def note(self, survey, ids):
        got.append(self._store.sealed(survey, ids))
        return send(self, survey, ids)

    monkeypatch.setattr(module.Passing, "_send", note)
    return got


def test_every_report_is_counted_once_with_its_own_values_when_the_survey_closes(make):
    parties = make(batch=25)
    devices = parties.fill(30)
    # Nothing leaves before.
    parties.passing().look()
    assert (parties.held(), parties.counted()) == (30, 0)
    parties.close()
    assert (parties.held(), parties.counted()) == (0, 30)
    _, counts, _ = parties.store.reports.counts("health")
    expected = Counter(device.values for device in devices)
    assert {(a, b): int(counts.marginal((0, 1))[a, b]) for a in range(2) for b in range(3)} == {
        (a, b): expected[a, b] for a in range(2) for b in range(3)
    }
    # Whoever did not hear of it sends again.
    assert parties.send(devices[0]).get_json() == {"accepted": 0, "duplicates": 1}
    assert parties.send(Device((0, 0))).get_json()["type"].endswith("survey-closed")
    parties.passing().look()
    assert parties.counted() == 30
    assert audited(parties)[1:] == [
        ("relay close", "by its operator"),
        ("relay release", "30 reports"),
    ]
    assert {entry.actor for entry in parties.relay_store.audit.all()} == {"command line"}


def test_with_fewer_than_a_batch_none_is_passed_on_and_both_operators_are_told(
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
    collecting.close_survey(parties.store, "health")
    state = parties.collector.test_client().get("/v1/surveys/health/state", headers=operator)
    assert state.get_json()["reports"] == 0
    assert state.get_json()["relay"]["url"] == parties.survey.relay.url
    http = parties.collector.test_client()
    http.post("/sign-in", data={"token": operator["Authorization"].split()[1]})
    page = " ".join(http.get("/operate/surveys/health").text.split())
    assert "it passes on at least 10 reports, or none. None has arrived:" in page
    # They go with the ids.
    assert relaying.purge(parties.relay_store, 0) == [("health", 9, 9)]
    assert inner_reports(parties.relay_store) == []


def test_a_purge_locks_its_tables_in_the_order_of_a_compaction(make):
    """Otherwise PostgreSQL would end one of them if they wait for each other in a circle."""
    parties = make(batch=2)
    parties.fill(3)
    parties.close()
    said: list[str] = []
    engine = parties.relay_store.database.engine
    event.listen(engine, "before_cursor_execute", lambda _c, _cursor, text, *_: said.append(text))
    assert relaying.purge(parties.relay_store, 0) == [("health", 3, 0)]
    if parties.relay_store.database.is_sqlite:
        # It has one writer.
        return
    locked = next(n for n, text in enumerate(said) if "IN ROW EXCLUSIVE MODE" in text)
    assert not any("relay_ids" in text or "relay_reports" in text for text in said[:locked])


@pytest.mark.parametrize("why", ["operator", "deadline", "collector"])
def test_a_survey_closes_by_either_operator_or_at_its_deadline(make, why):
    parties = make(batch=2)
    parties.fill(3)
    if why == "operator":
        relaying.close(parties.relay_store, "health")
    elif why == "deadline":
        past = datetime.now(UTC) - timedelta(seconds=1)
        with parties.relay_store.database.writing() as connection:
            connection.execute(update(relay_surveys).values(closes_at=past))
        assert parties.send(Device((0, 0))).status_code == 409
        answer = parties.http.get("/v1/surveys/health").get_json()
        assert answer == {"id": "health", "digest": parties.survey.digest, "status": "closed"}
    else:
        collecting.close_survey(parties.store, "health")
    parties.passing().look()
    assert (statuses(parties), parties.counted()) == (["released"], 3)
    assert ("relay close", f"by its {why}") in audited(parties)


def test_the_collector_is_told_once_of_the_end_and_destroys_the_order_of_arrival(make, monkeypatch):
    parties = make(batch=2)
    parties.fill(3)
    collecting.close_survey(parties.store, "health")
    compactions = []
    monkeypatch.setattr(
        parties.collector.extensions["halftruth"].store.database,
        "compact_or_warn",
        compactions.append,
    )
    passing = parties.passing()
    passing.look()
    passing.look()
    # Nor does a relay that was started again make more of it.
    parties.passing().look()
    details = [e.detail for e in parties.store.audit.all() if e.action == "relay finish"]
    assert details == ["3 reports"]
    assert len(compactions) == 1


def test_reports_that_are_counted_are_not_said_to_be_lost_if_their_end_cannot_be_recorded(
    make, monkeypatch
):
    """A relay may tell of the end in the request with its last reports."""
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


def test_in_batches_each_has_enough_and_what_is_left_at_the_end_is_withheld(
    make, requests_to_collector
):
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


def test_a_batch_that_was_begun_is_passed_on_to_its_end_and_nothing_joins_it(
    make, monkeypatch, requests_to_collector
):
    """Those that come while it is under way wait for a batch of their own."""
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
    """Another survey, the first by its id, is at the same relay."""
    parties = make(batch=2)
    other = replace(parties.survey, id="another")
    collecting.publish_survey(parties.store, other)
    token = collecting.create_token(parties.store, "relay", "another")
    also = replace(parties, survey=other, token=token)
    also.register()
    return parties, also


def test_who_reads_for_long_holds_up_a_compaction_and_no_reports(two_surveys, monkeypatch):
    compactions = []

    def fail():
        compactions.append(True)
        raise StoreUnavailable("the database does not answer (LockNotAvailable)")

    for parties in two_surveys:
        parties.fill(3)
        relaying.close(parties.relay_store, parties.survey.id)
    now = [0.0]
    passing = parties.passing(clock=lambda: now[0])
    compact = parties.relay_store.database.compact
    monkeypatch.setattr(parties.relay_store.database, "compact", fail)
    passing.look()
    assert [parties.counted() for parties in two_surveys] == [3, 3]
    # It is not tried again at once, since reports wait meanwhile.
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

    def look():
        try:
            if next(fails):
                raise StoreUnavailable("gone")
        except StopIteration:
            passing._stopping.set()

    monkeypatch.setattr(module, "_PAUSE", 0)
    monkeypatch.setattr(passing, "look", look)
    passing.run()
    said = [r.getMessage() for r in caplog.records if "unavailable" in r.getMessage()]
    assert said == ["unavailable: gone"] * 2


def test_a_collector_that_is_away_or_refuses_loses_nothing(make, caplog):
    parties = make(batch=2)
    parties.fill(4)
    [token] = [t for t in parties.store.tokens.all() if t.role == "relay"]
    collecting.revoke_token(parties.store, token.id)
    relaying.close(parties.relay_store, "health")
    now = [0.0]
    passing = parties.passing(clock=lambda: now[0])
    passing.look()
    passing.look()
    assert (parties.held(), parties.counted()) == (4, 0)
    said = [r.getMessage() for r in caplog.records if "are held" in r.getMessage()]
    assert said == [
        "4 reports of health are held: token: it is not known here, or has been revoked"
    ]
    # The operator of the collector makes another token, and that of the relay registers it.
    parties.register(token=collecting.create_token(parties.store, "relay", "health"))
    now[0] += 15
    passing.look()
    assert (parties.held(), parties.counted()) == (0, 4)


@pytest.mark.parametrize(
    "inside",
    [
        b"halftruth relayed report 1\n" + bytes(32),  # of another survey
        b"",  # of this one, and out of range
    ],
)
def test_reports_that_are_no_reports_keep_out_none_of_the_others(make, inside):
    """A relay cannot look inside: the collector leaves out what it cannot open, and says so."""
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


def test_the_order_of_a_batch_depends_on_nothing(database):
    """χ² over 10 000 batches of four: all 24 orders as often; fails by chance once in 10⁹."""
    ids = [bytes([n]) * 16 for n in range(4)]
    orders = Counter(tuple(shuffled(ids if n % 2 else ids[::-1])) for n in range(10_000))
    assert len(orders) == 24
    expected = 10_000 / 24
    statistic = sum((count - expected) ** 2 / expected for count in orders.values())
    assert statistic < chi2.isf(1e-9, 23)


def test_reports_leave_in_an_order_that_says_nothing_of_their_arrival(make, requests_to_collector):
    """600 reports, one by one; a rank correlation of their order fails by chance once in 10⁶."""
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
