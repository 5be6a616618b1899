"""Waiting reports arrive once, and a respondent's report is stored."""

import socket
import stat
import threading
from contextlib import suppress
from dataclasses import replace

import pytest
import requests
from halftruth_client import (
    Client,
    CollectorUnavailable,
    Delivery,
    RequestRefused,
    Unsent,
)
from halftruth_client import client as client_module
from halftruth_client.catalog import Entry
from halftruth_collector import operations
from halftruth_shared import GammaDiagonal, ParameterError, Relay, Survey
from halftruth_shared.protocol.terms import Terms
from wire import PATIENCE, free_port, listening

from .conftest import INVITATIONS, NOWHERE, counted, sealing_key, waiting


def test_reports_wait_in_the_outbox_until_the_collector_is_reachable(
    live, survey, record, tmp_path, monkeypatch
):
    monkeypatch.setattr(client_module, "BATCH", 4)
    outbox = tmp_path / "outbox.db"
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    away = Client(url, max_gamma="19", outbox=outbox, retries=0)
    assert away.submit(survey, record).status == "waiting"
    assert away.submit_many(survey, [record] * 9).waiting == 9
    with pytest.raises(CollectorUnavailable):
        away.flush()
    assert counted(live.store) == 0
    with listening(live.app, port):
        # A later process.
        back = Client(url, max_gamma="19", outbox=outbox, retries=0)
        assert back.flush().accepted == 10
        assert back.flush().accepted == 0
    assert counted(live.store) == 10


def test_the_outbox_is_readable_only_by_its_owner(tmp_path):
    outbox = tmp_path / "outbox.db"
    Client(NOWHERE, max_gamma="19", outbox=outbox)
    assert stat.S_IMODE(outbox.stat().st_mode) == 0o600


@pytest.mark.parametrize("name", [":memory:", "file::memory:?cache=shared", "out box?.db"])
def test_every_name_of_an_outbox_is_a_file(live, survey, record, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    statuses = [
        Client(live.url, max_gamma="19", outbox=name)
        .submit(survey, record, respondent="ada")
        .status
        for _ in range(2)
    ]
    assert statuses == ["accepted", "duplicate"]
    assert (tmp_path / name).is_file()


@pytest.mark.parametrize("outbox", ["", ".", "no/where/outbox.db", 7])
def test_an_outbox_that_is_no_file_is_refused(tmp_path, monkeypatch, outbox):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ParameterError, match=r"^outbox: .*expected a file for reports") as refused:
        Client(NOWHERE, max_gamma="19", outbox=outbox)
    assert refused.value.field == "outbox"


def test_a_respondent_who_answers_again_sends_the_same_report(live, survey, tmp_path):
    outbox = tmp_path / "outbox.db"
    first = Client(live.url, max_gamma="19", outbox=outbox)
    one = first.submit(survey, {"smoker": "yes", "drinks": "daily"}, respondent="ada")
    again = Client(live.url, max_gamma="19", outbox=outbox)
    for answers in ({"smoker": "yes", "drinks": "daily"}, {"smoker": "no", "drinks": "never"}):
        other = again.submit(survey, answers, respondent="ada")
        assert other.id == one.id
        assert other.status == "duplicate"
    assert counted(live.store) == 1
    assert again.submit(survey, {"smoker": "yes", "drinks": "daily"}, respondent="bob").id != one.id
    assert counted(live.store) == 2


def test_concurrent_submissions_of_a_respondent_send_one_report(live, survey, record, tmp_path):
    client = Client(live.url, max_gamma="19", outbox=tmp_path / "outbox.db")
    ids: list[object] = []
    threads = [
        threading.Thread(
            target=lambda: ids.append(client.submit(survey, record, respondent="ada").id)
        )
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(ids) == 8
    assert len(set(ids)) == 1
    assert counted(live.store) == 1


def test_a_replaced_survey_can_be_answered(stub, client, record, tmp_path):
    old = Survey("health", "Health, before", stub.survey.schema, GammaDiagonal("19"))
    one = client(outbox=tmp_path / "outbox.db")
    with pytest.raises(RequestRefused, match="another version"):
        one.submit(old, record, respondent="ada")
    assert one.submit(one.survey("health"), record, respondent="ada").status == "accepted"


@pytest.fixture
def attempts(monkeypatch):
    """Collect the timeout of each attempt of a request, while no server can be reached."""
    made = []

    def send(adapter, request, timeout=None, **_):
        made.extend([timeout] * (1 + adapter.max_retries.total))
        raise requests.ConnectionError

    monkeypatch.setattr(requests.adapters.HTTPAdapter, "send", send)
    return made


def taken(attempts):
    """Return the attempts since the last time."""
    found = attempts.copy()
    attempts.clear()
    return found


def test_with_an_outbox_only_flush_retries(attempts, survey, record, tmp_path):
    client = Client(NOWHERE, max_gamma="19", outbox=tmp_path / "outbox.db")
    assert client.submit(survey, record).status == "waiting"
    assert taken(attempts) == [3]
    assert client.submit(survey, record, respondent="ada").status == "waiting"
    assert taken(attempts) == [3]
    assert client.submit_many(survey, [record] * 1_500).waiting == 1_500
    assert taken(attempts) == [3]
    with pytest.raises(CollectorUnavailable):
        client.survey("health")
    assert taken(attempts) == [3]
    with pytest.raises(CollectorUnavailable):
        client.flush()
    assert taken(attempts) == [10] * 6
    # A relay is asked once, too.
    outer, inner = (sealing_key(n).public_key().public_bytes_raw().hex() for n in (7, 8))
    relay = Relay(url="https://relay.test", key=outer, sealing_key=inner, batch=1_000)
    relayed = replace(survey, id="relayed", relay=relay)
    client._catalog.accept(Entry(relayed, Terms()))
    assert client.submit(relayed, record).status == "waiting"
    assert taken(attempts) == [3]


def test_without_an_outbox_every_call_retries_and_a_shorter_timeout_is_kept(
    attempts, survey, record, tmp_path
):
    client = Client(NOWHERE, max_gamma="19", retries=2, timeout=7)
    for call in (
        lambda: client.survey("health"),
        lambda: client.submit(survey, record),
        lambda: client.submit_many(survey, [record]),
    ):
        with pytest.raises(CollectorUnavailable):
            call()
        assert taken(attempts) == [7] * 3
    brief = Client(NOWHERE, max_gamma="19", outbox=tmp_path / "outbox.db", timeout=0.5)
    assert brief.submit(survey, record).status == "waiting"
    assert taken(attempts) == [0.5]


def test_a_silent_collector_gets_one_connection_until_the_flush(survey, record, tmp_path):
    asked = []
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        silent.settimeout(PATIENCE)

        def accept():
            with suppress(OSError):
                while True:
                    asked.append(silent.accept()[0])

        thread = threading.Thread(target=accept)
        thread.start()
        outbox = tmp_path / "outbox.db"
        client = Client(url, max_gamma="19", outbox=outbox, timeout=0.2, retries=2, backoff=0)
        assert client.submit(survey, record, respondent="ada").status == "waiting"
        assert len(asked) == 1
        with pytest.raises(CollectorUnavailable):
            client.flush()
        assert len(asked) == 4
        silent.shutdown(socket.SHUT_RDWR)
        thread.join(PATIENCE)
    for connection in asked:
        connection.close()


def published(live, *ids):
    """Publish more surveys like the small one."""
    survey = live.store.surveys.get("health").survey()
    made = [Survey(id, id, survey.schema, survey.mechanism) for id in ids]
    for each in made:
        operations.publish_survey(live.store, each)
    return made


def kept(live, tmp_path, record, surveys, count=3):
    """Return a client with stored reports to these surveys, and its collector's server."""
    port, outbox = free_port(), tmp_path / "outbox.db"
    client = Client(f"http://127.0.0.1:{port}", max_gamma="19", outbox=outbox, retries=0)
    for survey in surveys:
        assert client.submit_many(survey, [record] * count).waiting == count
    return client, listening(live.app, port)


def test_reports_to_a_deleted_survey_do_not_block_others(live, survey, record, tmp_path):
    deleted, other = published(live, "deleted", "other")
    client, served = kept(live, tmp_path, record, [deleted, survey, other])
    operations.delete_survey(live.store, "deleted", confirm="deleted")
    with served:
        delivery = client.flush()
        assert (delivery.accepted, delivery.waiting) == (6, 3)
        assert delivery.unsent == (
            Unsent("deleted", 3, "there is no survey 'deleted'", is_waiting=True),
        )
        assert [counted(live.store, each) for each in ("health", "other")] == [3, 3]
        # They keep waiting, since the survey may be published again.
        operations.publish_survey(live.store, deleted)
        assert client.flush() == Delivery(accepted=3)


def test_the_next_report_sends_others_along_despite_failures(
    live, survey, record, tmp_path, caplog, monkeypatch
):
    deleted, second, other = published(live, "deleted", "second", "other")
    client, served = kept(live, tmp_path, record, [deleted, second, other])
    operations.delete_survey(live.store, "deleted", confirm="deleted")
    operations.delete_survey(live.store, "second", confirm="second")
    with served:
        for _ in range(6):
            assert client.submit(survey, record).status == "accepted"
        # One request after each report: two fail, the third is for the existing survey.
        assert counted(live.store, "other") == 3
        # Those that failed are not tried at every report.
        assert caplog.text.count("could not be sent") == 2
        monkeypatch.setattr(client_module, "_PASSED_OVER", 0)
        client._passed_over.clear()
        for _ in range(3):
            assert client.submit(survey, record).status == "accepted"
        assert caplog.text.count("could not be sent") == 5


def test_waiting_reports_that_another_process_sends_meanwhile_cause_no_error(
    live, survey, record, tmp_path, monkeypatch
):
    [other] = published(live, "other")
    client, served = kept(live, tmp_path, record, [other])
    another = Client(client._transport.url, max_gamma="19", outbox=tmp_path / "outbox.db")
    count_waiting = client._outbox.count_waiting

    def count_before_the_other_process_sends(url):
        found = count_waiting(url)
        assert another.flush().accepted == 3
        return found

    with served:
        monkeypatch.setattr(client._outbox, "count_waiting", count_before_the_other_process_sends)
        assert client.submit(survey, record).status == "accepted"
    assert [counted(live.store, each) for each in ("health", "other")] == [1, 3]


def test_a_flush_stops_when_the_collector_becomes_unreachable(live, survey, record, tmp_path):
    first, second, third = published(live, "first", "second", "third")
    client, served = kept(live, tmp_path, record, [first, second, third])
    post, asked = client._transport.post, []

    def answer(path, kind, message):
        asked.append(path)
        if len(asked) > 1:
            raise CollectorUnavailable("cannot be reached")
        return post(path, kind, message)

    client._transport.post = answer
    with served:
        delivery = client.flush()
        assert (delivery.accepted, len(asked)) == (3, 2)
        assert [(each.survey, each.reason) for each in delivery.unsent] == [
            ("second", "cannot be reached"),
            ("third", "cannot be reached"),
        ]
        # If no report can be tried, the flush fails.
        with pytest.raises(CollectorUnavailable):
            client.flush()


def test_the_outbox_keeps_invitations_only_while_reports_wait(stub, client, record, tmp_path):
    outbox = tmp_path / "outbox.db"
    stub.terms = Terms(invitations=True)
    stub.away = True
    one = client(outbox=outbox)
    one.submit(stub.survey, record, invitation=INVITATIONS[0])
    one.submit(stub.survey, record, respondent="ada", invitation=INVITATIONS[1])
    assert {invitation for _, invitation in waiting(outbox)} == set(INVITATIONS[:2])
    stub.away = False
    assert client(outbox=outbox).flush().accepted == 2
    left = outbox.read_bytes()
    for invitation in INVITATIONS[:2]:
        assert invitation.encode() not in left
    assert stub.unspent == set(INVITATIONS[2:])
