"""A batch of which many reports could not be opened: the relay warns, and releases no further one.

Anybody can send envelopes of random bytes, which fill a batch and hide nobody.
"""

import os
import signal

import pytest
from databases import on_both
from halftruth_collector import operations as collecting
from halftruth_collector.errors import StoreUnavailable
from halftruth_relay import operations as relaying
from halftruth_relay import passing as module
from halftruth_shared.protocol.reports import Receipt
from serving import run_collector
from wire import wait_until

pytestmark = on_both

DOUBT = "health: the collector could not open {} of the {} reports of the last batch, so they hid"
STOP = "health: no further batch is released until 'halftruth relay resume health'"


def released(parties):
    """Return the actions of the relay after the registration."""
    return [(each.action, each.detail) for each in parties.relay_store.audit.all()][1:]


def stopped(make, honest=8, garbage=2):
    """A relay that has passed on a batch of these reports, and holds ten more."""
    parties = make(batch=10, release="batches")
    parties.fill(honest)
    parties.send_garbage(garbage)
    parties.passing().look()
    assert (parties.held(), parties.counted()) == (0, honest)
    parties.fill(10)
    return parties


@pytest.mark.parametrize(
    ("honest", "garbage", "is_stopped"), [(10, 0, False), (9, 1, False), (18, 2, False),
                                          (17, 3, True), (8, 2, True), (0, 10, True)]
)  # fmt: skip
def test_no_further_batch_is_released_after_more_than_a_tenth_could_not_be_opened(
    make, caplog, honest, garbage, is_stopped
):
    parties = stopped(make, honest, garbage)
    # As after a restart.
    for _ in range(2):
        parties.passing().look()
    assert parties.relay_store.get("health").is_stopped == is_stopped
    held, counted = (10, honest) if is_stopped else (0, honest + 10)
    assert (parties.held(), parties.counted()) == (held, counted)
    assert (DOUBT.format(garbage, honest + garbage) in caplog.text) == is_stopped
    # Each process says so once.
    assert caplog.text.count(STOP) == 2 * is_stopped
    # People can answer meanwhile.
    parties.fill(1)


def test_the_operator_agrees_and_further_batches_are_released(make, caplog):
    parties = stopped(make)
    passing = parties.passing()
    passing.look()
    assert relaying.resume(parties.relay_store, "health")
    assert not relaying.resume(parties.relay_store, "health")
    passing.look()
    assert (parties.held(), parties.counted()) == (0, 18)
    # The same happens after another such batch.
    parties.fill(8)
    parties.send_garbage(2)
    parties.fill(1)
    passing.look()
    parties.fill(10)
    passing.look()
    assert (parties.held(), parties.counted()) == (10, 27)
    assert caplog.text.count(STOP) == 2
    assert released(parties) == [
        ("relay release", "10 reports"),
        ("relay stop", "2 of 10 reports could not be opened"),
        ("relay resume", ""),
        ("relay release", "10 reports"),
        ("relay release", "11 reports"),
        ("relay stop", "2 of 11 reports could not be opened"),
    ]


def test_crashes_within_a_batch_lose_no_report_and_no_doubt(make, monkeypatch):
    """After each request of a batch the relay restarts, with or without its acknowledgement."""
    monkeypatch.setattr(module, "MOST_SEALED", 3)
    parties = make(batch=10, release="batches")
    parties.fill(8)
    parties.send_garbage(2)
    acknowledge, crashes = relaying.acknowledge, []

    def crash(*arguments):
        crashes.append(len(crashes) % 2 == 1)
        if crashes[-1]:
            acknowledge(*arguments)
        raise StoreUnavailable("gone")

    monkeypatch.setattr(relaying, "acknowledge", crash)
    for _ in range(8):
        assert not parties.relay_store.get("health").is_stopped
        with pytest.raises(StoreUnavailable):
            parties.passing().look()
        # Later reports do not fill up a batch that is on its way.
        parties.fill(2)
    # Four requests, each sent twice.
    assert crashes == [False, True] * 4
    survey = parties.relay_store.get("health")
    assert (survey.is_stopped, survey.batch_passed, survey.batch_unopened) == (True, 10, 2)
    assert (survey.passed, survey.unopened) == (10, 2)
    parties.passing().look()
    assert (parties.held(), parties.counted()) == (16, 8)
    [day] = parties.store.reports.daily_outcomes("health")
    assert day.counted == 8


def test_reports_that_two_processes_passed_on_are_counted_once(make):
    """Both may send the same reports; the collector answers both that it could not open two."""
    parties = make(batch=10, release="batches")
    parties.fill(28)
    parties.send_garbage(2)
    relaying.release(parties.relay_store, "health")
    survey = parties.relay_store.get("health")
    ids = parties.relay_store.due_ids(survey)
    receipt = Receipt(accepted=28, duplicates=0, refused=2)
    for _ in range(2):
        relaying.acknowledge(parties.relay_store, survey, ids, receipt)
    survey = parties.relay_store.get("health")
    assert (survey.passed, survey.unopened, survey.batch_unopened) == (30, 2, 2)
    assert not survey.is_stopped


def test_a_batch_is_released_once_the_one_before_was_acknowledged(make):
    """Only then is it known how many of its reports could not be opened."""
    parties = make(batch=10, release="batches")
    parties.fill(8)
    parties.send_garbage(2)
    [token] = [each for each in parties.store.tokens.all() if each.role == "relay"]
    collecting.revoke_token(parties.store, token.id)
    parties.passing().look()
    parties.fill(10)
    relaying.close(parties.relay_store, "health", confirm="health")
    parties.passing().look()
    assert parties.relay_store.held(parties.relay_store.get("health")) == (20, 10)
    parties.register(token=collecting.create_token(parties.store, "relay", "health"))
    for _ in range(2):
        parties.passing().look()
    assert (parties.held(), parties.counted()) == (10, 8)


def test_a_closed_survey_waits_for_the_operator_as_well(make, operator):
    parties = stopped(make)
    relaying.close(parties.relay_store, "health", confirm="health")
    for _ in range(2):
        parties.passing().look()
    assert parties.relay_store.get("health").status == "closed"
    assert (parties.held(), parties.counted()) == (10, 8)
    # A purge deletes nothing that may still be passed on, and the collector is not told of an end.
    assert relaying.purge(parties.relay_store, 0, confirm="*") == []
    assert parties.store.surveys.state("health").status == "open"
    relaying.resume(parties.relay_store, "health")
    parties.passing().look()
    assert parties.relay_store.get("health").status == "released"
    assert (parties.held(), parties.counted()) == (0, 18)
    assert parties.store.surveys.state("health").closed_because == "relay"


def test_the_only_batch_of_a_survey_is_passed_on_with_a_warning(make, caplog, command):
    """It was released when the survey closed, before anybody could know."""
    parties = make(batch=3)
    parties.fill(1)
    parties.send_garbage(2)
    parties.close()
    assert (parties.held(), parties.counted()) == (0, 1)
    assert DOUBT.format(2, 3) in caplog.text
    assert STOP not in caplog.text
    survey = parties.relay_store.get("health")
    assert (survey.status, survey.is_stopped) == ("released", False)
    url = parties.relay_store.database.engine.url.render_as_string(hide_password=False)
    said = command("relay", "status", "--database", url.replace("+psycopg", ""))[1]
    assert DOUBT.format(2, 3) in said
    assert STOP not in said


def test_the_commands_and_the_metrics_show_that_a_survey_is_stopped(
    make, command, relay_database, monkeypatch
):
    monkeypatch.setenv("HALFTRUTH_DATABASE", relay_database)
    parties = stopped(make)

    def shown():
        token = collecting.create_token(parties.relay_store, "monitor")
        bearer = {"Authorization": f"Bearer {token}"}
        text = parties.http.get("/metrics", headers=bearer).text
        [line] = [each for each in text.splitlines() if each.startswith("halftruth_relay_stopped")]
        return command("relay", "status")[1], line

    said, metric = shown()
    assert DOUBT.format(2, 10) in said
    assert STOP in said
    assert metric == "halftruth_relay_stopped_surveys 1.0"
    status, said, _ = command("relay", "resume", "health")
    assert (status, said) == (0, "health: the running relay releases further batches\n")
    assert command("relay", "resume", "health")[1] == "health: nothing was stopped\n"
    assert command("relay", "resume", "none")[2] == (
        "halftruth: this relay takes no reports of 'none'\n"
    )
    said, metric = shown()
    assert STOP not in said
    assert metric == "halftruth_relay_stopped_surveys 0.0"


@pytest.mark.nightly
def test_a_relay_that_was_killed_and_restarted_still_waits(make, relay_database, tmp_path, command):
    """A served relay releases full batches at its start, unless it is stopped."""
    parties = make(batch=10, release="batches")
    parties.fill(8)
    parties.send_garbage(2)
    settings = {"program": "relay", "RELAY_KEYS": tmp_path / "relay.pem"}
    with run_collector(relay_database, tmp_path, **settings) as relay:
        wait_until(lambda: parties.relay_store.get("health").passed == 10)
        for worker in (former := relay.workers()):
            os.kill(worker, signal.SIGKILL)
        parties.fill(10)
        wait_until(lambda: (now := relay.workers()) and not {*now} & {*former})
        wait_until(lambda: STOP in relay.said())
        assert (parties.held(), parties.counted()) == (10, 8)
    assert command("relay", "resume", "health", "--database", relay_database)[0] == 0
    with run_collector(relay_database, tmp_path, **settings):
        wait_until(lambda: parties.relay_store.get("health").passed == 20)
    assert (parties.held(), parties.counted()) == (0, 18)
