"""Responses to failed requests state correctly whether reports may have been counted."""

import threading
import time
from collections import deque
from types import SimpleNamespace

import pytest
from databases import on_both
from halftruth_collector.errors import StoreUnavailable
from halftruth_collector.intake import counting

pytestmark = on_both

URL = "/v1/surveys/health/reports"
NOT_COUNTED = "; nothing of this request was counted"
UNCERTAIN = (
    "; reports of this request may have been counted; send the same ids again, and none counts"
    " twice"
)


@pytest.fixture
def collector(app):
    app.config["PROPAGATE_EXCEPTIONS"] = False
    return app.extensions["halftruth"]


def fail(*_):
    raise RuntimeError("secret value 4711")


def sent_again(http, body):
    """Return how many reports of the body were counted before."""
    response = http.post(URL, json=body)
    assert response.status_code == 202
    return response.get_json()["duplicates"]


@pytest.mark.parametrize("name", ["committed", "waiting", "refused", "request"])
def test_failing_metrics_do_not_fail_requests(
    collector, http, batch, counted, monkeypatch, caplog, name
):
    monkeypatch.setattr(collector.metrics, name, fail)
    monkeypatch.setattr(
        collector.store.reports._commits, "_on_queue_change", collector.metrics.waiting
    )
    response = http.post(URL, json=batch([0, 0], [1, 2]))
    assert (response.status_code, response.get_json()) == (202, {"accepted": 2, "duplicates": 0})
    assert counted() == 2
    # A refusal keeps its status.
    assert http.post(URL, json=batch([0, 9])).status_code == 422
    assert "4711" not in caplog.text
    if name != "waiting":
        assert "RuntimeError" in caplog.text


@pytest.mark.parametrize("when", ["before", "after"])
def test_unexpected_errors_state_that_reports_may_be_counted(
    collector, http, batch, monkeypatch, when
):
    count, body = collector.store.reports.count, batch([0, 0])

    def break_down(made):
        if when == "after":
            count(made)
        fail()

    with monkeypatch.context() as patched:
        patched.setattr(collector.store.reports, "count", break_down)
        response = http.post(URL, json=body)
    assert (response.status_code, response.get_json()["detail"]) == (
        500,
        "the server failed" + UNCERTAIN,
    )
    assert sent_again(http, body) == (when == "after")


@pytest.mark.parametrize("when", ["before", "at the commit", "after the commit"])
def test_database_errors_are_uncertain_only_from_the_commit_on(
    collector, http, batch, monkeypatch, when
):
    dialect = collector.store.database.engine.dialect
    commit, body = dialect.do_commit, batch([0, 0])
    # Read the survey now, so that the next transaction counts the report.
    assert http.get("/v1/surveys/health").status_code == 200

    def gone(*_):
        raise dialect.loaded_dbapi.OperationalError("secret value 4711")

    def commit_and_fail(connection):
        if when == "after the commit":
            commit(connection)
        gone()

    with monkeypatch.context() as patched:
        if when == "before":
            patched.setattr(dialect, "do_execute", gone)
        else:
            patched.setattr(dialect, "do_commit", commit_and_fail)
        response = http.post(URL, json=body)
    assert (response.status_code, response.headers["Retry-After"]) == (503, "5")
    expected = NOT_COUNTED if when == "before" else UNCERTAIN
    detail = response.get_json()["detail"]
    assert detail == "the database does not answer (OperationalError)" + expected
    assert sent_again(http, body) == (when == "after the commit")


@pytest.mark.parametrize(
    ("state", "said"),
    [
        # As if the committing thread did not return to the queue.
        ({"_thread": threading.main_thread(), "_timeout": 0}, "(too many wait for it)"),
        ({"_queue": deque([object()]), "_max_queued": 0}, "keep up with what is sent"),
    ],
)
def test_reports_that_leave_the_queue_are_not_counted(
    collector, http, batch, counted, monkeypatch, state, said
):
    for name, value in state.items():
        monkeypatch.setattr(collector.store.reports._commits, name, value)
    response = http.post(URL, json=batch([0, 0]))
    assert response.get_json()["detail"].endswith(said + NOT_COUNTED)
    assert counted() == 0


def test_errors_of_other_requests_do_not_mention_reports(collector, http, monkeypatch):
    monkeypatch.setattr(collector.store.surveys, "get", fail)
    response = http.get("/v1/surveys/health")
    assert (response.status_code, response.get_json()["detail"]) == (500, "the server failed")


def test_refusals_are_written_once_a_minute_and_kept_while_the_database_is_unavailable(
    collector, http, batch, rows, monkeypatch
):
    reports, written = collector.store.reports, "SELECT sum(count) FROM daily_outcomes"
    write = reports._write_refused
    clock = SimpleNamespace(monotonic=lambda: clock.now, perf_counter=time.perf_counter, now=1000.0)
    monkeypatch.setattr(counting, "time", clock)

    def refuse():
        assert http.post(URL, json=batch([0, 9])).status_code == 422
        return rows(written)[0][0]

    assert http.get("/v1/surveys/health").status_code == 200
    assert [refuse(), refuse(), refuse()] == [1, 1, 1]
    clock.now += 59.9
    assert refuse() == 1
    clock.now += 0.2
    monkeypatch.setattr(reports, "_write_refused", away)
    assert refuse() == 1
    monkeypatch.setattr(reports, "_write_refused", write)
    clock.now += 60.1
    assert refuse() == 6


def away(_):
    raise StoreUnavailable("the database does not answer")
