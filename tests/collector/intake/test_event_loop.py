"""Requests with few reports run in the event loop of a worker and must not block it."""

import io
import json
import time
from concurrent.futures import Future

import gevent
import pytest
from halftruth_collector import operations
from halftruth_collector.blocking import WouldBlock, check_may_block, forbid_blocking
from halftruth_collector.intake.batching import GroupCommit
from halftruth_collector.ops.settings import Config
from halftruth_collector.server import receiving
from halftruth_collector.server.event_loop import call_when_idle, wait_in_loop
from halftruth_collector.store.parsed import parsed_surveys
from halftruth_collector.web import create_app
from wire import PATIENCE

URL = "/v1/surveys/health/reports"


class Socket:
    """Fake connection of a client."""

    def settimeout(self, _: object) -> None:
        pass


class Runs:
    """Runs requests as a worker does, and records for each attempt whether it may block."""

    def __init__(self, app, monkeypatch):
        self.may_block: list[bool] = []
        wsgi = app.wsgi_app

        def record(environ, start_response):
            try:
                check_may_block()
            except WouldBlock:
                self.may_block.append(False)
            else:
                self.may_block.append(True)
            return wsgi(environ, start_response)

        monkeypatch.setattr(app, "wsgi_app", record)
        self._buffer = receiving.RequestBuffer(
            app, most=10**6, seconds=10, computations=1, refused=lambda _: None
        )

    def post(self, body: dict, **headers: str) -> tuple[int, dict]:
        """Send a request, and return its status and the document of its response."""
        data = json.dumps(body).encode()
        environ = {
            "REQUEST_METHOD": "POST",
            "PATH_INFO": URL,
            "SERVER_NAME": "collector.example",
            "SERVER_PORT": "80",
            "SERVER_PROTOCOL": "HTTP/1.1",
            "HTTP_HOST": "collector.example",
            "REMOTE_ADDR": "192.0.2.7",
            "CONTENT_LENGTH": str(len(data)),
            "CONTENT_TYPE": "application/json",
            "wsgi.input": io.BytesIO(data),
            "wsgi.url_scheme": "http",
            "gunicorn.socket": Socket(),
            **headers,
        }
        said: list[str] = []
        body = b"".join(self._buffer(environ, lambda status, _: said.append(status)))
        [status] = said
        return int(status[:3]), json.loads(body)


@pytest.fixture
def app(database, store, survey):
    """A collector with a rate limit that has read its only survey."""
    operations.publish_survey(store, survey)
    made = create_app(Config(database=database, rate_limit="1000 per hour", min_reports=1))
    # Parse it as well, which is only done in a thread.
    made.extensions["halftruth"].store.surveys.get(survey.id).survey()
    yield made
    made.extensions["halftruth"].store.close()


@pytest.fixture
def runs(app, monkeypatch):
    return Runs(app, monkeypatch)


def test_a_report_to_a_known_survey_is_counted_in_the_loop(runs, batch, counted):
    assert runs.post(batch([0, 0])) == (202, {"accepted": 1, "duplicates": 0})
    assert runs.may_block == [False]
    assert counted() == 1


@pytest.mark.parametrize(
    ("values", "changes", "status"),
    [
        ([0, 9], {}, 422),
        ([0, 0], {"digest": "0" * 64}, 409),
        ([0, 0], {"more": 1}, 422),
    ],
)
def test_a_refusal_reads_the_survey_again_in_a_thread(
    runs, batch, counted, values, changes, status
):
    assert runs.post({**batch(values), **changes})[0] == status
    assert runs.may_block == [False, True]
    assert counted() == 0


def test_a_survey_that_is_not_parsed_yet_is_parsed_in_a_thread(runs, batch):
    """Parsing a large survey takes a third of a second."""
    parsed_surveys.clear()
    assert runs.post(batch([0, 0]))[0] == 202
    assert runs.post(batch([0, 0]))[0] == 202
    assert runs.may_block == [False, True, False]


def test_the_duration_of_a_request_that_is_run_again_includes_both_runs(
    runs, batch, app, store, monkeypatch
):
    """The first refusal of a minute waits for its commit and is run again."""
    service = app.extensions["halftruth"]
    seconds: list[float] = []
    monkeypatch.setattr(service.metrics, "request", lambda *said: seconds.append(said[-1]))
    commit = service.store.reports._commits._commit
    pauses = [0.2]

    def commit_late(items):
        time.sleep(pauses.pop() if pauses else 0)
        return commit(items)

    monkeypatch.setattr(service.store.reports._commits, "_commit", commit_late)
    operations.close_survey(store, "health", confirm="health")
    assert runs.post(batch([0, 0]))[0] == 409
    assert runs.may_block == [False, True]
    [took] = seconds
    assert took >= 0.2


def test_a_request_that_is_run_again_is_charged_and_recorded_once(runs, batch, app, monkeypatch):
    service = app.extensions["halftruth"]
    charged: list[int] = []
    window = service.limit._reports
    monkeypatch.setattr(window, "take", lambda _, reports: charged.append(reports) or True)
    assert runs.post(batch([0, 9], [0, 0]))[0] == 422
    assert runs.may_block == [False, True]
    assert charged == [2]
    [day] = service.store.reports.daily_outcomes("health")
    assert day.refused == {"report-error": 1}


def test_a_refusal_of_the_commit_is_recorded_once_though_the_request_is_run_again(
    runs, batch, app, store, monkeypatch
):
    """The first refusal of a minute is written, which only a thread may do."""
    service = app.extensions["halftruth"]
    recorded: list[int] = []
    window = service.limit._failures
    monkeypatch.setattr(window, "fill", lambda _, reports: recorded.append(reports))
    operations.close_survey(store, "health", confirm="health")
    assert runs.post(batch([0, 0]))[0] == 409
    assert runs.may_block == [False, True]
    assert recorded == [1]
    [day] = service.store.reports.daily_outcomes("health")
    assert day.refused == {"survey-closed": 1}


def test_many_reports_and_requests_with_a_token_are_handled_in_threads(runs, batch):
    assert runs.post(batch(*[[0, 0]] * 100))[0] == 202
    assert runs.may_block == [True]
    assert runs.post(batch([0, 0]), HTTP_AUTHORIZATION="Bearer " + "0" * 64)[0] == 401
    assert runs.may_block == [True, False, True]


def nothing():
    """Fake start of a transaction."""


@pytest.fixture
def calls() -> list[int]:
    """The turns of the loop at which a function was called."""
    return []


def test_a_function_is_called_once_when_the_loop_is_idle(calls):
    turns = 0

    def work():
        nonlocal turns
        for _ in range(50):
            call_when_idle(call)
            turns += 1
            gevent.sleep(0)

    def call():
        calls.append(turns)

    gevent.joinall([gevent.spawn(work) for _ in range(3)])
    gevent.sleep(0.001)
    assert calls == [150]
    call_when_idle(call)
    gevent.sleep(0.001)
    assert calls == [150, 150]


def test_a_function_is_called_even_if_the_loop_is_never_idle(calls):
    def work():
        # Keep the loop busy, as further requests would.
        until = time.monotonic() + PATIENCE
        while not calls and time.monotonic() < until:
            gevent.sleep(0)

    busy = [gevent.spawn(work) for _ in range(3)]
    began = time.monotonic()
    call_when_idle(lambda: calls.append(0))
    gevent.joinall(busy)
    assert calls == [0]
    assert time.monotonic() - began < PATIENCE


def test_requests_of_a_busy_loop_share_one_transaction():
    """The transaction holds all requests that are read before the loop is idle."""
    groups: list[list[int]] = []
    commits = GroupCommit(
        lambda items: groups.append(list(items)) or items,
        max_size=100,
        max_queued=100,
        timeout=PATIENCE,
    )

    def request(number):
        for _ in range(number):
            gevent.sleep(0)
        return commits(number, wait=wait_in_loop)

    requests = [gevent.spawn(request, number) for number in range(20)]
    gevent.joinall(requests, raise_error=True)
    assert [request.value for request in requests] == list(range(20))
    assert groups == [list(range(20))]


def test_other_greenlets_run_while_one_waits_for_a_future():
    future: Future[str] = Future()
    gevent.spawn_later(0.01, future.set_result, "done")
    assert wait_in_loop(nothing, future, 10) == "done"
    future = Future()
    future.set_result("at once")
    assert wait_in_loop(nothing, future, 10) == "at once"


def test_the_result_of_another_thread_ends_the_wait():
    future: Future[str] = Future()
    gevent.get_hub().threadpool.spawn(lambda: (time.sleep(0.01), future.set_result("done")))
    assert wait_in_loop(nothing, future, 10) == "done"


def test_a_wait_in_the_loop_times_out():
    with pytest.raises(TimeoutError):
        wait_in_loop(nothing, Future(), 0.01)


@pytest.mark.parametrize("transaction", ["reading", "writing", "autocommit_cursor"])
def test_no_transaction_begins_where_blocking_is_forbidden(store, transaction):
    begin = getattr(store.database, transaction)
    with forbid_blocking(), pytest.raises(WouldBlock), begin():
        pass
    with begin():
        pass
