"""What the server logs about requests, and what it never logs."""

import gc
import json
import logging
import re
import socket
import sys
import threading
import time
import weakref
from contextlib import suppress
from types import SimpleNamespace
from uuid import uuid4

import pytest
import requests
from halftruth_collector import operations
from halftruth_collector.ops import logs
from wire import wait_until

#: Values that must never be logged, in any part of a request.
SECRET = "secret5ecre7secret"
INVITATION = "5ec2e75ec2e75ec2e75ec2e75ec2e75e"

#: Fields of a line about a request to a survey.
FIELDS = {"time", "level", "event", "request", "method", "route", "survey"}
FIELDS |= {"status", "milliseconds", "bytes_in"}


@pytest.fixture
def said(collector):
    """Return a function that sends requests to a server and returns the lines of its log."""

    def run(act) -> list[dict[str, str]]:
        before = collector.said()
        act(collector.url)
        # The last request of an operator.
        requests.get(f"{collector.url}/operate/design", allow_redirects=False, timeout=30)
        last = "route=/operate/design"
        wait_until(lambda: last in collector.said().removeprefix(before))
        lines = collector.said().removeprefix(before).splitlines()
        return [read_text(line) for line in lines if last not in line]

    return run


def read_text(line: str) -> dict[str, str]:
    when, level, *words = line.split()
    known = dict(word.split("=", 1) for word in words if "=" in word)
    event = " ".join(word for word in words if "=" not in word)
    return {"time": when, "level": level, "event": event, **known}


def raw(url: str, data: bytes) -> None:
    """Send arbitrary bytes, and wait for the end of the connection."""
    host, port = url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=30) as connection:
        # The server may have ended it before everything is sent.
        with suppress(OSError):
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
        with suppress(ConnectionResetError):
            while connection.recv(65_536):
                pass


def test_each_request_of_an_operator_is_one_line(said, served):
    bearer = {"Authorization": f"Bearer {operations.create_token(served, 'operator')}"}

    def act(url: str) -> None:
        for path in ("health/state", "nothing/state"):
            requests.get(f"{url}/v1/surveys/{path}", headers=bearer, timeout=30)
        asked = {"schema": {}}
        requests.post(f"{url}/v1/plan", json=asked, headers=bearer, timeout=30)

    first, second, third = said(act)
    assert set(first) == FIELDS
    assert (first["level"], first["event"], first["method"]) == ("info", "request", "GET")
    assert (first["route"], first["survey"]) == ("/v1/surveys/{survey_id}/state", "health")
    assert (first["status"], second["status"], third["status"]) == ("200", "404", "422")
    assert float(first["milliseconds"]) > 0
    assert "survey" not in second
    assert (third["route"], third["method"]) == ("/v1/plan", "POST")
    assert int(third["bytes_in"]) > 10


#: What browsers of respondents ask for, and other programs that send reports, with the statuses.
OF_RESPONDENTS = {
    ("GET", "/"): 200,
    ("GET", "/s/health"): 200,
    ("GET", "/s/nothing"): 404,
    ("GET", "/js/form/index.js"): 200,
    ("GET", "/js/nothing.js"): 404,
    ("GET", "/form/halftruth.js"): 200,
    ("GET", "/assets/form.js"): 200,
    ("GET", "/favicon.ico"): 404,
    ("GET", "/v1/surveys"): 200,
    ("GET", "/v1/surveys/health"): 200,
    ("GET", "/v1/surveys/nothing"): 404,
    ("OPTIONS", "/v1/surveys/health"): 200,
    ("OPTIONS", "/v1/surveys/health/reports"): 200,
    ("GET", "/v1/surveys/health/reports"): 405,
    ("OPTIONS", "/v1/surveys/health/invitations/check"): 200,
}


def test_no_request_of_a_respondent_is_logged(said, survey):
    """Neither counted nor refused reports, nor what precedes them by milliseconds or minutes."""
    report = {"id": str(uuid4()), "values": [0, 1]}
    wrong = {"id": str(uuid4()), "values": [7, 1]}

    def act(url: str) -> None:
        for (method, path), status in OF_RESPONDENTS.items():
            answer = requests.request(method, url + path, timeout=30)
            assert answer.status_code == status, path
            assert "X-Request-ID" not in answer.headers
        reports = f"{url}/v1/surveys/health/reports"
        for digest, sent, status in (
            (survey.digest, report, 202),
            (survey.digest, report, 202),
            (survey.digest, wrong, 422),
            ("0" * 64, wrong, 409),
        ):
            body = {"digest": digest, "reports": [sent]}
            assert requests.post(reports, json=body, timeout=30).status_code == status
        assert requests.post(reports, data="{", timeout=30).status_code == 400
        check = {"hash": "0" * 64}
        checked = requests.post(
            f"{url}/v1/surveys/health/invitations/check", json=check, timeout=30
        )
        assert checked.status_code == 200
        # Requests that the server refuses before the application.
        for length in (b"9" * 12, b"nonsense"):
            raw(url, b"POST /v1/surveys/health/reports HTTP/1.1\r\nContent-Length: " + length)
            raw(
                url,
                b"POST /v1/surveys/health/reports HTTP/1.1\r\nContent-Length: "
                + length
                + b"\r\n\r\n",
            )

    assert said(act) == []


def test_lines_of_json_have_the_same_fields(configured, http, capsys):
    configured("json")
    http.get("/results/health", headers={"Accept": "text/html"})
    [line] = capsys.readouterr().err.splitlines()
    assert set(json.loads(line)) == FIELDS - {"survey"}


def test_values_of_requests_are_not_logged(said, survey, served):
    token = operations.create_token(served, "analyst")
    report = {"id": str(uuid4()), "values": [0, 1], "invitation": INVITATION}
    other = {"id": str(uuid4()), "values": [SECRET, 77_777_777]}

    def act(url: str) -> None:
        bearer = {"Authorization": f"Bearer {token}", "X-More": SECRET, "Cookie": SECRET}
        surveys = f"{url}/v1/surveys"
        for address in (
            f"{surveys}/{SECRET}",
            f"{surveys}/{INVITATION}/counts",
            f"{surveys}/health/counts?token={SECRET}",
            f"{surveys}/health/itemsets?min_support={SECRET}",
            f"{url}/{SECRET}",
            f"{url}/s/{SECRET}",
            f"{url}/js/{SECRET}.js",
            f"{url}/results/{SECRET}",
        ):
            requests.get(address, headers=bearer, timeout=30)
            requests.get(address, headers={"Authorization": SECRET}, timeout=30)
            requests.options(address, timeout=30)
        for document in (
            {"digest": survey.digest, "reports": [report]},
            {"digest": survey.digest, "reports": [other]},
            {"digest": SECRET, "reports": [report]},
            SECRET,
        ):
            requests.post(f"{surveys}/health/reports", json=document, timeout=30)
        requests.post(f"{surveys}/health/reports", data=f"{{{SECRET}", timeout=30)
        requests.post(surveys, json={"id": SECRET}, headers=bearer, timeout=30)
        requests.post(f"{url}/sign-in", data={"token": token}, timeout=30)
        secret = SECRET.encode()
        for data in (
            secret,
            secret + b"\r\n\r\n",
            b"GET /" + secret + b" HTTP/" + secret + b"\r\n\r\n",
            secret + b" / HTTP/1.1\r\n\r\n",
            b"GET / HTTP/1.1\r\n" + secret + b"\r\n\r\n",
            b"GET / HTTP/1.1\r\n" + secret + b" : x\r\n\r\n",
            b"GET / HTTP/1.1\r\nX-More: " + secret + b"\x00\r\n\r\n",
            b"GET / HTTP/1.1\r\nX-More: " + secret * 2_000 + b"\r\n\r\n",
            b"GET /" + secret * 1_000 + b" HTTP/1.1\r\n\r\n",
            b"GET / HTTP/1.1\r\nExpect: " + secret + b"\r\n\r\n",
            b"GET / HTTP/1.1\r\nContent-Length: " + secret + b"\r\n\r\n",
            b"POST / HTTP/1.1\r\nTransfer-Encoding: " + secret + b"\r\n\r\n",
            b"POST /v1/surveys/health/reports HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"
            + secret
            + b"\r\n\r\n",
            b"POST /v1/surveys/health/reports HTTP/1.1\r\nContent-Length: 900\r\n\r\n" + secret,
        ):
            raw(url, data)

    lines = said(act)
    assert len(lines) > 10
    assert {line["event"] for line in lines} == {"request"}
    whole = json.dumps(lines)
    for value in (SECRET, INVITATION, token, token[3:], report["id"], "77777777", "127.0.0.1"):
        assert value not in whole
    assert "Traceback" not in whole


@pytest.fixture
def configured(capsys):
    """Return a function that configures logging, and restore the configuration afterwards."""
    root, ours = logging.getLogger(), logging.getLogger("halftruth_collector")
    before = (root.handlers[:], root.level, ours.level, logging.raiseExceptions)
    hook = threading.excepthook
    yield logs.configure
    root.handlers[:], _ = before[0], root.setLevel(before[1])
    ours.setLevel(before[2])
    logging.raiseExceptions = before[3]
    threading.excepthook = hook


def written(capsys) -> list[str]:
    """Write the lines that wait, and return all lines."""
    [handler] = logging.getLogger().handlers
    handler.write_waiting()
    return capsys.readouterr().err.splitlines()


def fail() -> None:
    raise ValueError(SECRET)


def test_exceptions_are_logged_by_type_and_place_without_the_request(configured, capsys):
    configured("text")
    try:
        fail()
    except ValueError:
        logging.getLogger("halftruth_collector").exception("failed at %s", SECRET)
    [line] = written(capsys)
    assert "failed at %s: ValueError at fail:" in line
    assert SECRET not in line


def test_messages_of_the_server_are_logged_by_function(configured, capsys):
    """waitress formats its messages itself, with paths and addresses."""
    configured("text")

    def readable(*message: object) -> None:
        logging.getLogger("waitress").warning(*message)

    def service(*message: object) -> None:
        try:
            fail()
        except ValueError:
            logging.getLogger("waitress").exception(*message)

    readable("total open connections reached the connection limit")
    service(f"Exception while serving /{SECRET}")
    first, second = written(capsys)
    assert first.endswith(" warning as many connections as a worker takes: others wait")
    assert " error the server, in service: ValueError at fail:" in second
    assert SECRET not in second


def test_messages_of_other_libraries_are_logged_without_arguments(configured, capsys):
    configured("json")
    logging.getLogger("flask").error("Exception on %s [%s]", f"/{SECRET}", "GET")
    [line] = written(capsys)
    assert json.loads(line)["event"] == "Exception on %s [%s]"


def test_requests_are_not_logged_in_quiet_mode(configured, capsys):
    for quiet, lines in ((True, 1), (False, 2)):
        configured("text", quiet=quiet)
        ours = logging.getLogger("halftruth_collector.web.observation")
        ours.info("request", extra=logs.AT_ONCE)
        ours.warning("wrong", extra=logs.AT_ONCE)
        assert capsys.readouterr().err.count("\n") == lines


def test_exceptions_in_threads_are_logged_without_values(configured, capsys):
    configured("text")
    thread = threading.Thread(target=fail)
    thread.start()
    thread.join()
    [line] = written(capsys)
    assert "error unforeseen ValueError at fail:" in line
    assert SECRET not in line


def test_a_message_is_one_line_with_the_time_in_utc(configured, capsys, monkeypatch):
    configured("text")
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    logging.getLogger("halftruth_collector").warning("two\nlines", extra=logs.AT_ONCE)
    monkeypatch.undo()
    time.tzset()
    [line] = capsys.readouterr().err.splitlines()
    when, level, event = line.split(" ", 2)
    assert when.endswith("+00:00")
    assert (level, event) == ("warning", "two lines")
    assert sys.stderr is not None


def test_lines_that_a_report_can_cause_are_written_at_multiples_of_ten_seconds(
    configured, capsys, monkeypatch
):
    """A failure has the time of the request, which says when somebody answered."""
    now, slept, before = [1_000_003.7], [], set(threading.enumerate())
    woken = threading.Event()

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        assert woken.wait(30)
        now[0] += seconds

    clock = SimpleNamespace(time=lambda: now[0], sleep=sleep)
    monkeypatch.setattr(logs, "time", clock)
    configured("text")
    ours = logging.getLogger("halftruth_collector")
    for _ in range(3):
        ours.error("unavailable: %s", "gone")
        ours.error("another")
    ours.error("of an operator", extra=logs.AT_ONCE)
    [line] = capsys.readouterr().err.splitlines()
    assert line.endswith("error of an operator")
    [writer] = set(threading.enumerate()) - before
    woken.set()
    writer.join(30)
    assert [round(seconds, 3) for seconds in slept] == [6.3]
    # Equal lines are written once, with the time at which they are written.
    assert capsys.readouterr().err.splitlines() == [
        "1970-01-12T13:46:50.000+00:00 error unavailable: gone",
        "1970-01-12T13:46:50.000+00:00 error another",
    ]


class Mistake(Exception):
    """An error that can be referred to weakly."""


def test_waiting_lines_keep_no_request_and_are_written_at_the_end(configured, capsys):
    configured("text")
    [handler] = logging.getLogger().handlers
    try:
        raise Mistake(SECRET)
    except Mistake as error:
        logging.getLogger("halftruth_collector").exception("unforeseen")
        gone = weakref.ref(error)
    gc.collect()
    assert gone() is None
    handler.close()
    [line] = capsys.readouterr().err.splitlines()
    assert "error unforeseen: Mistake at test_waiting_lines_keep_no_request" in line


def test_a_forked_process_does_not_write_the_lines_of_its_parent(configured, capsys):
    configured("text")
    [handler] = logging.getLogger().handlers
    ours = logging.getLogger("halftruth_collector")
    ours.warning("of the parent")
    handler._process -= 1
    ours.warning("of the child")
    assert [line.partition("of the ")[2] for line in written(capsys)] == ["child"]


@pytest.mark.parametrize("header", ["X-Forwarded-For", "Forwarded"])
@pytest.mark.parametrize(("proxies", "lines"), [(0, 1), (1, 0)])
def test_a_proxy_that_is_not_counted_is_reported_once(
    make_app, store, caplog, header, proxies, lines
):
    app = make_app(proxies=proxies)
    http = app.test_client()
    bearer = {"Authorization": f"Bearer {operations.create_token(store, 'monitor')}"}

    def gauge() -> str:
        text = http.get("/metrics", headers=bearer).get_data(as_text=True)
        return re.search(r"^halftruth_uncounted_proxy (\S+)$", text, re.M)[1]

    http.get("/v1/surveys")
    assert gauge() == "0.0"
    for _ in range(3):
        http.get("/v1/surveys", headers={header: f"for={SECRET}"})
    said = [record for record in caplog.records if "HALFTRUTH_PROXIES" in record.getMessage()]
    assert [record.levelname for record in said] == ["WARNING"] * lines
    assert SECRET not in caplog.text
    assert gauge() == f"{lines}.0"
    # It is written later, since a report can have this header.
    assert not any(hasattr(record, "is_independent") for record in said)
