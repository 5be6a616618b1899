"""What the server logs about requests, and what it never logs."""

import json
import logging
import socket
import sys
import threading
import time
from contextlib import suppress
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
        requests.delete(f"{collector.url}/last", timeout=30)
        wait_until(lambda: "method=DELETE" in collector.said().removeprefix(before))
        *lines, _ = collector.said().removeprefix(before).splitlines()
        return [read_text(line) for line in lines]

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
        connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)
        with suppress(ConnectionResetError):
            while connection.recv(65_536):
                pass


def test_each_request_except_counted_reports_is_one_line(said, survey):
    report = {"id": str(uuid4()), "values": [0, 1]}
    wrong = {"id": str(uuid4()), "values": [7, 1]}

    def act(url: str) -> None:
        requests.get(f"{url}/v1/surveys/health", timeout=30)
        for sent, status in ((report, 202), (wrong, 422)):
            body = json.dumps({"digest": survey.digest, "reports": [sent]})
            response = requests.post(f"{url}/v1/surveys/health/reports", data=body, timeout=30)
            assert response.status_code == status
        requests.get(f"{url}/v1/surveys/nothing", timeout=30)

    first, second, third = said(act)
    assert set(first) == FIELDS
    assert (first["level"], first["event"], first["method"]) == ("info", "request", "GET")
    assert (first["route"], first["survey"]) == ("/v1/surveys/{survey_id}", "health")
    assert (second["route"], second["status"]) == ("/v1/surveys/{survey_id}/reports", "422")
    assert int(second["bytes_in"]) > 100
    assert float(second["milliseconds"]) > 0
    assert third["status"] == "404"
    assert "survey" not in third


def test_lines_of_json_have_the_same_fields(configured, http, capsys):
    configured("json")
    http.get("/v1/surveys/health")
    [line] = capsys.readouterr().err.splitlines()
    assert set(json.loads(line)) == FIELDS


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
    assert len(lines) > 40
    assert {line["event"] for line in lines} == {
        *("request", "refused", "a malformed request was refused")
    }
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


def fail() -> None:
    raise ValueError(SECRET)


def test_exceptions_are_logged_by_type_and_place_without_the_request(configured, capsys):
    configured("text")
    try:
        fail()
    except ValueError:
        logging.getLogger("gunicorn.error").exception("Error handling request %s", SECRET)
    [line] = capsys.readouterr().err.splitlines()
    assert "Error handling request %s: ValueError at fail:" in line
    assert SECRET not in line


def test_messages_of_other_libraries_are_logged_without_arguments(configured, capsys):
    configured("json")
    logging.getLogger("flask").error("Exception on %s [%s]", f"/{SECRET}", "GET")
    [line] = capsys.readouterr().err.splitlines()
    assert json.loads(line)["event"] == "Exception on %s [%s]"


def test_requests_are_not_logged_in_quiet_mode(configured, capsys):
    for quiet, lines in ((True, 1), (False, 2)):
        configured("text", quiet=quiet)
        ours = logging.getLogger("halftruth_collector.web.observation")
        ours.info("request")
        ours.warning("wrong")
        assert capsys.readouterr().err.count("\n") == lines


def test_exceptions_in_threads_are_logged_without_values(configured, capsys):
    configured("text")
    thread = threading.Thread(target=fail)
    thread.start()
    thread.join()
    [line] = capsys.readouterr().err.splitlines()
    assert "error unforeseen ValueError at fail:" in line
    assert SECRET not in line


def test_a_message_is_one_line_with_the_time_in_utc(configured, capsys, monkeypatch):
    configured("text")
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    logging.getLogger("halftruth_collector").warning("two\nlines")
    monkeypatch.undo()
    time.tzset()
    [line] = capsys.readouterr().err.splitlines()
    when, level, event = line.split(" ", 2)
    assert when.endswith("+00:00")
    assert (level, event) == ("warning", "two lines")
    assert sys.stderr is not None
