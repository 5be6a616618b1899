"""A server with real connections: slow, blocked, malformed, fragmented and pipelined requests."""

import contextlib
import json
import os
import select
import socket
import sqlite3
import struct
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import requests
from halftruth_collector import operations
from halftruth_shared import Attribute, GammaDiagonal, Schema, Survey
from serving import Running, is_well
from wire import PATIENCE, REPORTS, answers, connect, get, in_chunks, post, rest, taken, wait_until

DRIPPING = 40


@pytest.fixture
def url(collector: Running) -> str:
    """Address of the shared collector; starting one takes longer than these tests."""
    return collector.url


@pytest.fixture
def writer(url: str, file: Path) -> Iterator[sqlite3.Connection]:
    """Another writer, whose transactions prevent commits of the collector."""
    connection = sqlite3.connect(file, isolation_level=None)
    yield connection
    connection.close()


def test_one_connection_carries_many_requests(url, body, newly_counted):
    """Sequential, pipelined, fragmented, chunked, and after `100 Continue`."""
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
    assert newly_counted() == 7


def test_a_body_with_malformed_chunks_is_refused(url, newly_counted):
    for size in (b"xyz", b"-1", b"", b"1;" + b"x" * 10_000):
        with connect(url) as connection:
            begun = in_chunks().removesuffix(b"0\r\n\r\n")
            connection.sendall(begun + size + b"\r\nx\r\n0\r\n\r\n")
            assert answers(connection, 1)[0] in (400, 413)
        assert is_well(url)
    assert newly_counted() == 0


def test_oversized_bodies_are_refused_before_they_are_complete(url, body, newly_counted):
    """The rest of the body is not parsed as a second request."""
    declared = post(b"").replace(b"Length: 0", b"Length: 8000001")
    for sent in (declared, declared + post(body())):
        with connect(url) as connection:
            connection.sendall(sent)
            assert answers(connection, 1) == [413]
            assert rest(connection) == b""
    chunked = in_chunks(*[b"x" * 1_000_000] * 9).removesuffix(b"0\r\n\r\n")
    with connect(url) as connection:
        # The connection ends, and bytes that were not read may cost the client the answer.
        send_all(connection, chunked + post(body()))
        with contextlib.suppress(ConnectionError):
            assert answers(connection, 1) in ([413], [])
    assert newly_counted() == 0


def test_other_spellings_of_a_request_are_counted_or_refused(url, body, newly_counted):
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
        assert newly_counted() == max(0, number - 4)


def test_reports_that_wait_for_their_commit_do_not_delay_other_requests(
    url, writer, body, newly_counted
):
    """They are sent at once, with head and body apart, or behind another request."""
    with contextlib.ExitStack() as stack:
        connections = [stack.enter_context(connect(url)) for _ in range(30)]
        writer.execute("BEGIN IMMEDIATE")
        for number, connection in enumerate(connections):
            data = body()
            head = post(data)[: -len(data)]
            if number % 3 == 0:
                connection.sendall(head + data)
            elif number % 3 == 1:
                # Like the client of the standard library and many others.
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
    assert newly_counted() == 30


def test_requests_pipelined_behind_a_waiting_report_are_answered_in_order(
    url, writer, body, newly_counted
):
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
    assert newly_counted() == 3


def test_reports_of_clients_that_disconnect_before_the_commit_are_counted(
    url, writer, body, newly_counted
):
    writer.execute("BEGIN IMMEDIATE")
    for leave in (socket.socket.close, lambda left: left.shutdown(socket.SHUT_RDWR), reset):
        with connect(url) as connection:
            connection.sendall(post(body()))
            # A reset would discard data that the server has not read.
            wait_until(lambda: taken(connection))
            leave(connection)
    assert is_well(url)
    writer.execute("ROLLBACK")
    honest = requests.post(url + REPORTS, data=body(), timeout=PATIENCE)
    assert honest.status_code == 202
    assert newly_counted() == 4


def reset(connection: socket.socket) -> None:
    """Make closing the connection send a reset."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def test_forwarded_headers_of_a_loopback_peer_are_ignored_without_proxies(url):
    # Some servers trust this header from any process on the same machine.
    response = requests.get(
        f"{url}/results/", headers={"X-Forwarded-Proto": "https"}, timeout=PATIENCE
    )
    assert "https://" not in response.url


#: Malformed requests and their statuses.
MALFORMED = [
    (b"GET / HTTP/1.1\r\nX-Large: " + b"x" * 9_000 + b"\r\n\r\n", 431),
    (b"GET / HTTP/1.1\r\n" + b"X-Many: x\r\n" * 800 + b"\r\n", 431),
    (b"GET /" + b"x" * 9_000 + b" HTTP/1.1\r\n\r\n", 431),
    (b"GET / HTTP/1.1\r\nno header xxxx\r\n\r\n", 400),
    (b"nonsense xxxx\r\n\r\n", 400),
    (b"\x16\x03\x01\x02\x00\r\n\r\n", 400),
    (b"GET / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400),
    (b"POST / HTTP/1.1\r\nTransfer-Encoding: magic\r\n\r\n", 501),
]


def test_malformed_requests_are_refused_and_not_logged(collector):
    before = collector.said()
    for sent, status in MALFORMED:
        with connect(collector.url) as connection:
            connection.sendall(sent)
            received = rest(connection)
        head, _, said = received.partition(b"\r\n\r\n")
        assert int(head.split()[1]) == status, sent[:60]
        assert b"connection: close" in head.lower()
        assert b"server" not in head.lower()
        assert b"xxxx" not in said
        assert is_well(collector.url)
    lines = collector.said().removeprefix(before).splitlines()
    assert len(lines) == len(MALFORMED)
    assert all("route=/healthz" in line for line in lines)


def test_slow_clients_do_not_delay_others_and_time_out_once_they_are_silent(
    impatient, body, newly_counted
):
    head = get("/v1/surveys/health")[:-2] + b"X-More: " + b"x" * 10_000
    slow = post(body() + b" " * 10_000)
    done = threading.Event()
    with contextlib.ExitStack() as opened:
        connections = [opened.enter_context(connect(impatient.url)) for _ in range(DRIPPING)]
        # One kind sends single bytes of its head, the other the whole head, and then single bytes.
        wires = [[head, slow][index % 2] for index in range(DRIPPING)]
        started = [60, slow.index(b"\r\n\r\n") + 4]
        for index, (connection, data) in enumerate(zip(connections, wires, strict=True)):
            connection.sendall(data[: started[index % 2]])

        def drip() -> None:
            sent = 0
            while not done.wait(0.2):
                for index, (connection, data) in enumerate(zip(connections, wires, strict=True)):
                    position = started[index % 2] + sent
                    with contextlib.suppress(OSError):
                        connection.send(data[position : position + 1])
                sent += 1

        dripping = threading.Thread(target=drip)
        dripping.start()
        try:
            for _ in range(20):
                honest = requests.post(impatient.url + REPORTS, data=body(), timeout=PATIENCE)
                assert honest.status_code == 202
                assert is_well(impatient.url)
        finally:
            done.set()
            dripping.join()
        # They are silent now, and get no response.
        assert {rest(connection) for connection in connections} == {b""}
        assert is_well(impatient.url)
    assert newly_counted() == 20


def test_clients_that_do_not_read_responses_are_disconnected(impatient):
    with contextlib.ExitStack() as opened:
        [worker] = impatient.workers()
        before = sockets(worker)
        greedy = [opened.enter_context(connect(impatient.url)) for _ in range(4)]
        for connection in greedy:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
            connection.setblocking(False)
        # Each sends until the server stops reading.
        for _ in range(30):
            for connection in greedy:
                with contextlib.suppress(BlockingIOError, ConnectionError):
                    connection.send(get("/openapi.json") * 1_000)
            assert is_well(impatient.url)
        # The server ends the connections, which the clients never close.
        wait_until(lambda: sockets(worker) <= before)


def sockets(pid: int) -> int:
    """Return the number of open sockets of a process."""
    kinds = []
    for file in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            kinds.append(os.readlink(file).partition(":")[0])
    return kinds.count("socket")


def test_unfinished_bodies_take_little_memory_and_do_not_delay_single_reports(
    collector, body, newly_counted
):
    """A body above a megabyte waits in a temporary file."""
    url, [worker] = collector.url, collector.workers()
    large = post(b"").replace(b"Length: 0", b"Length: 8000000") + b"x" * 7_900_000
    with ThreadPoolExecutor(20) as senders, contextlib.ExitStack() as opened:
        connections = [opened.enter_context(connect(url)) for _ in range(20)]
        before = memory(worker)
        list(senders.map(send_all, connections, [large] * 20))
        wait_until(lambda: all(map(taken, connections)))
        honest = requests.post(url + REPORTS, data=body(), timeout=PATIENCE)
        assert honest.status_code == 202
        assert memory(worker) - before < 40e6
        files = [os.readlink(file) for file in Path(f"/proc/{worker}/fd").iterdir()]
        assert sum(name.endswith(" (deleted)") for name in files) == 20
    wait_until(lambda: sockets(worker) < 20)
    assert newly_counted() == 1


def memory(pid: int) -> int:
    """Return the bytes of a process in memory."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def send_all(connection: socket.socket, data: bytes) -> None:
    with contextlib.suppress(ConnectionError):
        connection.sendall(data)


def test_long_computations_do_not_block_other_requests(url, served, body, newly_counted):
    """Planning for six questions takes a while; other requests are answered meanwhile."""
    token = operations.create_token(served, "analyst")
    categories = tuple(str(code) for code in range(4))
    attributes = tuple(Attribute(f"q{number}", categories) for number in range(6))
    asked = Survey("large", "Large", Schema(attributes), GammaDiagonal(19))
    plan = {"survey": json.loads(asked.canonical_json), "respondents": 10_000}
    with ThreadPoolExecutor(4) as clients:

        def compute() -> float:
            started = time.monotonic()
            answer = requests.post(
                f"{url}/v1/plan",
                json=plan,
                headers={"Authorization": f"Bearer {token}"},
                timeout=4 * PATIENCE,
            )
            assert answer.status_code == 200, answer.text
            return time.monotonic() - started

        computing = [clients.submit(compute) for _ in range(4)]
        during = 0
        while not all(one.done() for one in computing):
            honest = requests.post(url + REPORTS, data=body(), timeout=PATIENCE)
            assert honest.status_code == 202
            assert is_well(url)
            during += 1
        shortest = min(one.result() for one in computing)
    assert newly_counted() == during
    # If reports waited for computations, there would be at most one for each.
    assert during > 8 or shortest < 0.5
