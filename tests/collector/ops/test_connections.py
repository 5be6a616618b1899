"""What one server with real connections makes of requests: in pieces, too large, and waiting."""

import contextlib
import select
import socket
import sqlite3
import struct
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from shutil import copyfile

import pytest
import requests
from halftruth_collector.collector_store import Store
from serving import is_well, run_collector
from wire import PATIENCE, REPORTS, answers, connect, get, in_chunks, post, rest, taken, wait_until


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory, sqlite_template: Path) -> Path:
    """The database of the collector that these tests share: starting one costs more than they."""
    return Path(copyfile(sqlite_template, tmp_path_factory.mktemp("served") / "served.db"))


@pytest.fixture(scope="module")
def url(file: Path, survey) -> Iterator[str]:
    """A collector with one worker."""
    with Store(f"sqlite:///{file}") as store:
        store.surveys.publish(survey)
    with run_collector(f"sqlite:///{file}", file.parent) as collector:
        yield collector.url


@pytest.fixture
def counted(url: str, file: Path) -> Iterator[Callable[[], int]]:
    """How many reports have been counted in this test."""
    with Store(f"sqlite:///{file}") as store:

        def reports() -> int:
            return store.reports.counts("health")[1].reports

        before = reports()
        yield lambda: reports() - before


@pytest.fixture
def writer(url: str, file: Path) -> Iterator[sqlite3.Connection]:
    """Somebody else who may write to the database; while he does, nobody can commit."""
    connection = sqlite3.connect(file, isolation_level=None)
    yield connection
    connection.close()


def test_one_connection_carries_many_requests(url, body, counted):
    """One after the other, ahead of the answers, in pieces, in chunks, and with leave."""
    with connect(url) as connection:
        connection.sendall(post(body()))
        assert answers(connection, 1) == [202]
        sent = post(body()) + get("/healthz") + post(body())
        connection.sendall(sent[:-10])
        assert answers(connection, 2) == [202, 200]
        connection.sendall(sent[-10:])
        assert answers(connection, 1) == [202]
        data = post(body())
        for start in range(0, len(data), 40):
            connection.sendall(data[start : start + 40])
            time.sleep(0.01)
        assert answers(connection, 1) == [202]
        data = body()
        connection.sendall(in_chunks(data[:9], data[9:]) + post(body()))
        assert answers(connection, 2) == [202, 202]
        data = body()
        connection.sendall(post(data, "Expect: 100-continue")[: -len(data)])
        assert answers(connection, 1) == [100]
        connection.sendall(data)
        assert answers(connection, 1) == [202]
    assert counted() == 7


def test_a_body_with_malformed_chunks_is_refused(url, counted):
    for size in (b"xyz", b"-1", b"", b"1;" + b"x" * 10_000):
        with connect(url) as connection:
            begun = in_chunks().removesuffix(b"0\r\n\r\n")
            connection.sendall(begun + size + b"\r\nx\r\n0\r\n\r\n")
            assert answers(connection, 1)[0] in (400, 413)
        assert is_well(url)
    assert counted() == 0


def test_a_body_that_is_too_large_is_refused_before_all_of_it_is_there(url, body, counted):
    """And what is left of it is no second request."""
    declared = post(b"").replace(b"Length: 0", b"Length: 9000000")
    chunked = in_chunks(*[b"x" * 1_000_000] * 9).removesuffix(b"0\r\n\r\n")
    for sent in (declared, declared + post(body()), chunked):
        with connect(url) as connection:
            connection.sendall(sent)
            assert answers(connection, 1) == [413]
            assert rest(connection) == b""
    assert counted() == 0


def test_other_spellings_of_a_report_are_counted_or_told_apart(url, body, counted):
    for number, (sent, status) in enumerate(
        [
            (post(body(), "Content-Length: 1"), 400),
            (post(body()).replace(b"/health/", b"/health%2Fmore/", 1), 404),
            (post(body()).replace(b"/health/", b"/%00/", 1), 404),
            (post(b""), 400),
            (post(b"[" * 7_000), 422),
            (post(body()).replace(b"HTTP/1.1", b"HTTP/1.0"), 202),
            (post(body()).replace(b"/v1", b"http://here/v1", 1), 202),
            (post(body()).replace(b"/health/", b"/h%65alth/", 1), 202),
        ]
    ):
        with connect(url) as connection:
            connection.sendall(sent)
            assert answers(connection, 1) == [status], sent[:60]
        assert is_well(url)
        assert counted() == max(0, number - 4)


def test_reports_that_wait_for_their_commit_hold_up_nobody(url, writer, body, counted):
    """Whether they come at once, head and body apart, or behind another request."""
    with contextlib.ExitStack() as stack:
        connections = [stack.enter_context(connect(url)) for _ in range(30)]
        writer.execute("BEGIN IMMEDIATE")
        for number, connection in enumerate(connections):
            data = body()
            head = post(data)[: -len(data)]
            if number % 3 == 0:
                connection.sendall(head + data)
            elif number % 3 == 1:
                # As the standard library's client does it, and with it many others.
                connection.sendall(head)
                time.sleep(0.02)
                connection.sendall(data)
            else:
                connection.sendall(get("/healthz") + head + data)
                assert answers(connection, 1) == [200]
        for path in ("/healthz", "/v1/surveys/health", "/v1/surveys"):
            assert requests.get(url + path, timeout=PATIENCE).status_code == 200
        assert select.select(connections, [], [], 0.2)[0] == []
        writer.execute("ROLLBACK")
        assert [answers(connection, 1) for connection in connections] == [[202]] * 30
    assert counted() == 30


def test_what_comes_behind_a_waiting_report_is_answered_after_it(url, writer, body, counted):
    with connect(url) as connection:
        writer.execute("BEGIN IMMEDIATE")
        connection.sendall(post(body()))
        wait_until(lambda: taken(connection))
        connection.sendall(get("/nowhere"))
        connection.sendall(post(body()) + get("/healthz"))
        assert select.select([connection], [], [], 0.2)[0] == []
        writer.execute("ROLLBACK")
        assert answers(connection, 4) == [202, 404, 202, 200]
        connection.sendall(post(body()))
        assert answers(connection, 1) == [202]
    assert counted() == 3


def test_who_leaves_before_the_commit_is_counted_and_harms_nobody(url, writer, body, counted):
    writer.execute("BEGIN IMMEDIATE")
    for leave in (socket.socket.close, lambda left: left.shutdown(socket.SHUT_RDWR), reset):
        with connect(url) as connection:
            connection.sendall(post(body()))
            # What nobody has read is lost where a connection ends without a farewell.
            wait_until(lambda: taken(connection))
            leave(connection)
    assert is_well(url)
    writer.execute("ROLLBACK")
    honest = requests.post(url + REPORTS, data=body(), timeout=PATIENCE)
    assert honest.status_code == 202
    assert counted() == 4


def reset(connection: socket.socket) -> None:
    """End a connection without a farewell."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def test_without_proxies_a_loopback_peer_is_not_believed_either(url):
    # gunicorn by itself would believe this of every process on the same machine.
    response = requests.get(
        f"{url}/results/", headers={"X-Forwarded-Proto": "https"}, timeout=PATIENCE
    )
    assert "https://" not in response.url
