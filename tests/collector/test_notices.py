"""Notices about surveys, and the command that posts them."""

import hashlib
import hmac
import json
import re
import threading
from datetime import UTC, date, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace
from uuid import uuid4

import pytest
from halftruth_collector import notices, operations
from halftruth_shared.protocol.reports import Report
from halftruth_shared.protocol.terms import Terms

KEY = "5" * 64
TODAY = datetime.now(UTC).date()


class Receiver(BaseHTTPRequestHandler):
    """A receiver that answers with the statuses of its server in turn, then with 204."""

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.got.append((dict(self.headers), body))
        statuses = self.server.statuses
        self.send_response(statuses.pop(0) if statuses else 204)
        self.send_header("Location", "http://127.0.0.1:9/elsewhere")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


@pytest.fixture
def receiver(monkeypatch, tmp_path):
    """A receiver that the settings name, with the key of the signatures."""
    file = tmp_path / "hook.key"
    file.write_text(f"{KEY}\n", encoding="utf-8")
    file.chmod(0o600)
    monkeypatch.setattr(notices, "_PAUSE", 0)
    with ThreadingHTTPServer(("127.0.0.1", 0), Receiver) as server:
        server.got, server.statuses = [], []
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv("HALFTRUTH_HOOK_URL", f"http://127.0.0.1:{server.server_port}/hook")
        monkeypatch.setenv("HALFTRUTH_HOOK_KEY", str(file))
        yield server
        server.shutdown()


@pytest.fixture
def notify(halftruth, tmp_path):
    """Return a function that runs the command."""
    return lambda: halftruth("admin", "notify", tmp_path / "sent.json")


def state(**members):
    """The state of a survey, as far as notices read it."""
    given = {
        "id": "health",
        "published_at": datetime.combine(TODAY, datetime.min.time(), UTC) - timedelta(days=30),
        "purged_at": None,
        "closed_because": None,
        "status": "open",
        "terms": Terms(),
    }
    return SimpleNamespace(**given | members)


def found(*states, last_days=(), silent_days=2):
    every = notices.find_notices(states, dict(last_days), TODAY, silent_days)
    return [(each.event, each.because, each.last_day) for each in every]


@pytest.mark.parametrize(
    ("because", "expected"),
    [
        ("operator", ("closed", "operator", None)),
        ("deadline", ("closed", "deadline", None)),
        ("relay", ("closed", "relay", None)),
        ("quota", ("quota", None, None)),
    ],
)
def test_a_closed_survey_has_a_notice_with_its_reason(because, expected):
    assert found(state(closed_because=because)) == [expected]
    assert found(state(closed_because=because, purged_at=datetime.now(UTC))) == []


@pytest.mark.parametrize("days", range(5))
def test_a_survey_is_silent_after_whole_days_without_a_report(days):
    last = TODAY - timedelta(days=days)
    # Today is not over.
    expected = [("silence", None, last)] if days > 2 else []
    assert found(state(), last_days={"health": last}) == expected


def test_a_survey_that_opens_later_is_silent_from_its_opening_on():
    opens_at = datetime.now(UTC) - timedelta(days=1)
    old = datetime.now(UTC) - timedelta(days=30)
    planned = state(status="planned", published_at=old)
    begun = state(terms=Terms(opens_at=opens_at), published_at=old)
    assert found(planned, begun) == []
    assert found(begun, silent_days=0) == [("silence", None, None)]


def test_a_survey_without_any_report_is_silent_from_its_publication_on():
    assert found(state()) == [("silence", None, None)]
    assert found(state(published_at=datetime.now(UTC))) == []


def test_the_id_of_a_notice_is_that_of_its_event():
    def id(last_days=(), **members):
        [notice] = notices.find_notices([state(**members)], dict(last_days), TODAY, 2)
        return notice.id

    days = [{"health": TODAY - timedelta(days=n)} for n in (5, 9)]
    ids = [
        *(id(closed_because=each) for each in ("operator", "deadline", "quota")),
        *(id(last_days=each) for each in days),
        id(),
        id(closed_because="quota", id="other"),
        id(closed_because="quota", published_at=datetime(2020, 1, 1, tzinfo=UTC)),
    ]
    assert len(set(ids)) == len(ids)
    assert id(closed_because="quota") == ids[2]


def test_the_last_days_are_those_of_counted_reports(store, published, raw):
    def count():
        store.reports.add("health", published.digest, [Report(id=uuid4(), values=[0, 0])])

    assert store.reports.last_days() == {}
    count()
    with raw.begin() as connection:
        connection.exec_driver_sql("UPDATE daily_outcomes SET day = '2026-01-03'")
    assert store.reports.last_days() == {"health": date(2026, 1, 3)}
    count()
    assert store.reports.last_days() == {"health": datetime.now(UTC).date()}


def fill(store, survey, quota=3):
    """Let a survey reach its quota."""
    operations.set_terms(store, survey.id, Terms(max_reports=quota))
    reports = [Report(id=uuid4(), values=[1, 2]) for _ in range(quota)]
    store.reports.add(survey.id, survey.digest, reports)


def test_the_first_run_sends_nothing(store, published, receiver, notify, tmp_path):
    fill(store, published)
    status, said, _ = notify()
    assert status == 0
    assert said.startswith(f"created {tmp_path / 'sent.json'}; ")
    assert notify()[:2] == (0, "")
    assert receiver.got == []


def test_a_notice_is_signed_and_sent_once_and_has_nothing_of_reports(
    store, published, receiver, notify
):
    notify()
    fill(store, published, quota=237)
    assert notify()[:2] == (0, "sent: health quota\n")
    assert notify()[:2] == (0, "")
    [(headers, body)] = receiver.got
    expected = hmac.new(KEY.encode(), body, hashlib.sha256).hexdigest()
    assert headers["X-Halftruth-Signature"] == f"sha256={expected}"
    assert headers["Content-Type"] == "application/json"
    content = json.loads(body)
    assert content.keys() == {"sent_at", "notice"}
    assert content["notice"].keys() == {"id", "event", "survey", "because", "last_day"}
    assert (content["notice"]["event"], content["notice"]["survey"]) == ("quota", "health")
    assert "237" not in re.sub("[0-9a-f-]{36}|T[0-9:.]+Z", "", body.decode())


def test_what_happens_again_is_sent_again(store, published, receiver, notify):
    notify()
    for number in (1, 2):
        operations.close_survey(store, "health")
        assert notify()[1] == "sent: health closed\n"
        operations.reopen_survey(store, "health")
        assert notify()[1] == ""
        assert len(receiver.got) == number


def test_a_receiver_that_is_away_is_asked_again_in_this_run(store, published, receiver, notify):
    notify()
    operations.close_survey(store, "health")
    receiver.statuses = [503, 429, 500]
    assert notify()[:2] == (0, "sent: health closed\n")
    assert len({body for _, body in receiver.got}) == 1
    assert len(receiver.got) == 4


@pytest.mark.parametrize(
    ("statuses", "said"),
    [([500] * 4, "500"), ([400], "400"), ([302], "302"), ([410], "410")],
)
def test_a_notice_that_was_refused_is_sent_by_the_next_run(
    store, published, receiver, notify, statuses, said
):
    notify()
    operations.close_survey(store, "health")
    receiver.statuses = list(statuses)
    status, out, complaint = notify()
    assert (status, out) == (2, "")
    assert "HALFTRUTH_HOOK_URL: expected a status of 2xx" in complaint
    assert f"; got {said}; the next run" in complaint
    assert complaint.count("\n") == 1
    assert notify()[1] == "sent: health closed\n"
    ids = {json.loads(body)["notice"]["id"] for _, body in receiver.got}
    assert len(ids) == 1


def test_settings_keys_and_files_that_are_unfit_are_refused(
    published, receiver, notify, monkeypatch, tmp_path
):
    def complaint():
        status, _, said = notify()
        assert status == 2
        assert KEY not in said
        return said

    (tmp_path / "sent.json").write_text("[1]", encoding="utf-8")
    assert "state: expected a file that this command wrote" in complaint()
    (tmp_path / "sent.json").unlink()
    key = tmp_path / "hook.key"
    key.write_text("short", encoding="utf-8")
    assert "HALFTRUTH_HOOK_KEY: expected a file of at least 32 random characters" in complaint()
    key.write_text(KEY, encoding="utf-8")
    key.chmod(0o644)
    assert str(key) in complaint()
    monkeypatch.delenv("HALFTRUTH_HOOK_URL")
    assert "HALFTRUTH_HOOK_URL, HALFTRUTH_HOOK_KEY: expected an address" in complaint()
