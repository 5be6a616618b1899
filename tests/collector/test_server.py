"""The server with real connections: slow, greedy, malformed and open ones."""

import contextlib
import os
import resource
import select
import signal
import socket
import sqlite3
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import msgspec
import pytest
import requests
from flask import request
from halftruth_collector.api import create_app
from halftruth_collector.api.operations import stop
from halftruth_collector.config import Config
from halftruth_collector.demo.process import collector_process
from halftruth_collector.serving.server import Server
from halftruth_shared import ParameterError

#: Seconds after which a test gives up waiting.
PATIENCE = 30

DRIPPING = 40


@pytest.fixture
def body(survey):
    """The bytes of a request with one report, another one each time."""

    def make() -> bytes:
        report = {"id": str(uuid4()), "values": [0, 1]}
        return msgspec.json.encode({"digest": survey.digest, "reports": [report]})

    return make


@pytest.fixture
def published(store, survey) -> None:
    store.surveys.publish(survey)


@pytest.fixture
def url(database, published, monkeypatch) -> Iterator[str]:
    """A collector with one worker and few threads."""
    with collector_process(database, "--workers", "1", "--threads", "4") as address:
        yield address


def connect(url: str) -> socket.socket:
    host, port = url.removeprefix("http://").split(":")
    return socket.create_connection((host, int(port)), timeout=PATIENCE)


def post(body: bytes, *headers: str) -> bytes:
    """A whole request as it goes over the wire."""
    lines = [
        "POST /v1/surveys/health/reports HTTP/1.1",
        "Host: here",
        f"Content-Length: {len(body)}",
        *headers,
    ]
    return "\r\n".join([*lines, "", ""]).encode() + body


def answers(connection: socket.socket, count: int) -> list[int]:
    """The statuses of the next answers, fewer if the connection ends before."""
    reader = connection.makefile("rb")
    statuses = []
    while len(statuses) < count and (line := reader.readline()):
        statuses.append(int(line.split()[1]))
        length = 0
        while (header := reader.readline()) not in (b"\r\n", b""):
            if header.lower().startswith(b"content-length:"):
                length = int(header.split(b":")[1])
        reader.read(length)
    return statuses


def rest(connection: socket.socket) -> bytes:
    """Everything until the other side closes."""
    received = b""
    with contextlib.suppress(ConnectionResetError):
        while data := connection.recv(65_536):
            received += data
    return received


def wait_until(condition, seconds: float = PATIENCE) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)


def test_clients_that_drip_hold_up_nobody(database, published, body, counted, monkeypatch):
    monkeypatch.setenv("HALFTRUTH_REQUEST_SECONDS", "3")
    begun = b"GET /v1/surveys/health HTTP/1.1\r\nHost: here\r\nX-More: "
    endless = begun + b"x" * 10_000
    slow = post(body())
    silent = post(body())[:-20]
    done = threading.Event()
    with collector_process(database, "--workers", "1", "--threads", "4") as url:
        connections = [connect(url) for _ in range(DRIPPING)]
        wire = [
            (connection, [endless, slow, silent][index % 3])
            for index, connection in enumerate(connections)
        ]
        for connection, data in wire:
            connection.sendall(data[:60] if data is not silent else data)

        def drip() -> None:
            sent = 60
            while not done.wait(0.2):
                for connection, data in wire:
                    if data is not silent:
                        with contextlib.suppress(OSError):
                            connection.send(data[sent : sent + 1])
                sent += 1

        dripping = threading.Thread(target=drip)
        dripping.start()
        try:
            # A thread held until its deadline by each of so many would take ten times as long.
            honest = requests.post(
                f"{url}/v1/surveys/health/reports", data=body(), timeout=PATIENCE
            )
            assert honest.status_code == 202
            ended = [rest(connection) for connection in connections]
        finally:
            done.set()
            dripping.join()
            for connection in connections:
                connection.close()
        assert all(answer.startswith(b"HTTP/1.1 408 Request Timeout\r\n") for answer in ended)
        assert requests.get(f"{url}/healthz", timeout=PATIENCE).status_code == 200
    assert counted() == 1


def test_clients_that_take_no_answers_hold_up_nobody(url):
    greedy = [connect(url) for _ in range(12)]
    request_ = b"GET /v1/surveys/health HTTP/1.1\r\nHost: here\r\n\r\n"
    for connection in greedy:
        connection.setblocking(False)
    # Each sends until nobody takes any more of it.
    for _ in range(30):
        for connection in greedy:
            with contextlib.suppress(BlockingIOError, ConnectionError):
                connection.send(request_ * 1_000)
        assert requests.get(f"{url}/healthz", timeout=15).status_code == 200
    for connection in greedy:
        connection.close()


def test_one_connection_carries_many_requests(url, body, counted):
    with connect(url) as connection:
        for _ in range(3):
            connection.sendall(post(body()))
            assert answers(connection, 1) == [202]
    assert counted() == 3


def test_requests_may_be_sent_before_the_answers_come(url, body, counted):
    with connect(url) as connection:
        sent = [post(body()), b"GET /healthz HTTP/1.1\r\nHost: here\r\n\r\n", post(body())]
        connection.sendall(b"".join(sent)[:-10])
        assert answers(connection, 2) == [202, 200]
        connection.sendall(sent[-1][-10:])
        assert answers(connection, 1) == [202]
    assert counted() == 2


def test_a_request_may_come_in_pieces(url, body, counted):
    data = post(body())
    with connect(url) as connection:
        for start in range(0, len(data), 40):
            connection.sendall(data[start : start + 40])
            time.sleep(0.01)
        assert answers(connection, 1) == [202]
    assert counted() == 1


def test_a_body_may_come_in_chunks(url, body, counted):
    data = body()
    chunks = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in (data[:9], data[9:]))
    head = b"POST /v1/surveys/health/reports HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"
    with connect(url) as connection:
        connection.sendall(head + chunks)
        connection.sendall(b"0\r\n\r\n" + post(body()))
        assert answers(connection, 2) == [202, 202]
    assert counted() == 2


def test_a_client_that_waits_for_leave_gets_it(url, body, counted):
    data = body()
    request_ = post(data, "Expect: 100-continue")
    with connect(url) as connection:
        connection.sendall(request_[: -len(data)])
        assert answers(connection, 1) == [100]
        connection.sendall(data)
        assert set(answers(connection, 2)) - {100} == {202}
    assert counted() == 1


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"GET / HTTP/1.1\r\nX-Large: " + b"x" * 40_000 + b"\r\n\r\n", 431),
        (b"GET / HTTP/1.1\r\nX-Large: " + b"x" * 9_000 + b"\r\n\r\n", 431),
        (b"GET / HTTP/1.1\r\n" + b"X-Many: x\r\n" * 100 + b"\r\n", 431),
        (b"GET /" + b"x" * 9_000 + b" HTTP/1.1\r\n\r\n", 414),
        (b"GET / HTTP/1.1\r\nno header\r\n\r\n", 400),
        (b"GET / HTTP/1.1\nHost: here\r\n\r\n", 400),
        (b"nonsense\r\n\r\n", 400),
        (b"\x16\x03\x01\x02\x00\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nTransfer-Encoding: magic\r\n\r\n", 501),
        (b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", 400),
        (b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nfffffff\r\n", 413),
        (b"GET / HTTP/1.1\r\nExpect: a miracle\r\n\r\n", 417),
    ],
)
def test_what_is_no_request_is_refused_in_one_answer(url, capfd, sent, status):
    with connect(url) as connection:
        connection.sendall(sent)
        received = rest(connection)
    head, _, problem = received.partition(b"\r\n\r\n")
    assert int(head.split()[1]) == status
    assert msgspec.json.decode(problem)["status"] == status
    assert b"\r\nConnection: close\r\n" in head + b"\r\n"
    assert requests.get(f"{url}/healthz", timeout=PATIENCE).status_code == 200
    said = capfd.readouterr().err
    assert "Traceback" not in said
    assert "xxxx" not in said


def test_a_body_that_is_too_large_is_refused_by_its_length_alone(url, counted):
    with connect(url) as connection:
        connection.sendall(post(b"")[:-4].replace(b"Length: 0", b"Length: 9000000") + b"\r\n\r\n")
        assert answers(connection, 1) == [413]
        assert rest(connection) == b""
    assert counted() == 0


def test_what_is_left_of_a_refused_body_is_no_second_request(url, body, counted):
    with connect(url) as connection:
        large = post(b"")[:-4].replace(b"Length: 0", b"Length: 9000000") + b"\r\n\r\n"
        connection.sendall(large + post(body()))
        assert answers(connection, 2) == [413]
    assert counted() == 0


def test_a_server_that_is_told_to_stop_finishes_what_it_has_begun(
    tmp_path, database, published, body, counted
):
    process = subprocess.Popen(
        [
            *[sys.executable, "-m", "halftruth_collector", "serve", "--port", "0"],
            *["--workers", "1", "--database", database],
        ],
        stdout=subprocess.PIPE,
        text=True,
    )
    writer = sqlite3.connect(tmp_path / "test.db", isolation_level=None)
    try:
        assert process.stdout is not None
        url = process.stdout.readline().split()[-1]
        # Nobody else can commit now, so the request stays open.
        writer.execute("BEGIN IMMEDIATE")
        open_connection = connect(url)
        open_connection.sendall(post(body()))
        time.sleep(1)
        process.send_signal(signal.SIGTERM)

        def refuses() -> bool:
            try:
                connect(url).close()
            except ConnectionRefusedError:
                return True
            return False

        wait_until(refuses)
        assert process.poll() is None
        writer.execute("ROLLBACK")
        assert answers(open_connection, 1) == [202]
        open_connection.close()
        assert process.wait(PATIENCE) == 0
    finally:
        writer.close()
        process.kill()
        process.communicate()
    assert counted() == 1


@pytest.fixture
def writer(tmp_path) -> Iterator[sqlite3.Connection]:
    """Somebody else who may write to the database; while he does, nobody can commit."""
    connection = sqlite3.connect(tmp_path / "test.db", isolation_level=None)
    yield connection
    connection.close()


@contextlib.contextmanager
def with_one_thread(database: str) -> Iterator[str]:
    with collector_process(database, "--workers", "1", "--threads", "1") as url:
        yield url


def at_once(connection: socket.socket, report: bytes) -> None:
    connection.sendall(report)


def head_and_body_apart(connection: socket.socket, report: bytes) -> None:
    """As the standard library's client does it, and with it many others."""
    head, blank, rest = report.partition(b"\r\n\r\n")
    connection.sendall(head + blank)
    time.sleep(0.02)
    connection.sendall(rest)


def behind_another(connection: socket.socket, report: bytes) -> None:
    connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: here\r\n\r\n" + report)
    assert answers(connection, 1) == [200]


@pytest.mark.parametrize("send", [at_once, head_and_body_apart, behind_another])
def test_reports_that_wait_for_their_commit_hold_no_thread(
    database, published, body, counted, writer, send
):
    with with_one_thread(database) as url, contextlib.ExitStack() as stack:
        connections = [stack.enter_context(connect(url)) for _ in range(30)]
        writer.execute("BEGIN IMMEDIATE")
        for connection in connections:
            send(connection, post(body()))
        # They take more than a turn, and the only thread answers all the same.
        for _ in range(5):
            assert requests.get(f"{url}/healthz", timeout=10).status_code == 200
            time.sleep(0.02)
        assert select.select(connections, [], [], 0.2)[0] == []
        writer.execute("ROLLBACK")
        assert [answers(connection, 1) for connection in connections] == [[202]] * 30
    assert counted() == 30


def test_what_comes_behind_a_waiting_report_is_answered_after_it(
    database, published, body, counted, writer
):
    with with_one_thread(database) as url, connect(url) as connection:
        writer.execute("BEGIN IMMEDIATE")
        connection.sendall(post(body()))
        time.sleep(0.2)
        connection.sendall(b"GET /nowhere HTTP/1.1\r\nHost: here\r\n\r\n")
        time.sleep(0.2)
        connection.sendall(post(body()) + b"GET /healthz HTTP/1.1\r\nHost: here\r\n\r\n")
        assert select.select([connection], [], [], 0.2)[0] == []
        writer.execute("ROLLBACK")
        assert answers(connection, 4) == [202, 404, 202, 200]
        connection.sendall(post(body()))
        assert answers(connection, 1) == [202]
    assert counted() == 3


def test_who_leaves_before_the_commit_is_counted_and_harms_nobody(
    database, published, body, counted, writer
):
    with with_one_thread(database) as url:
        writer.execute("BEGIN IMMEDIATE")
        for leave in (socket.socket.close, lambda left: left.shutdown(socket.SHUT_RDWR), reset):
            connection = connect(url)
            connection.sendall(post(body()))
            time.sleep(0.2)
            leave(connection)
            connection.close()
        assert requests.get(f"{url}/healthz", timeout=PATIENCE).status_code == 200
        writer.execute("ROLLBACK")
        honest = requests.post(f"{url}/v1/surveys/health/reports", data=body(), timeout=PATIENCE)
        assert honest.status_code == 202
    assert counted() == 4


def reset(connection: socket.socket) -> None:
    """End a connection without a farewell."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def test_refused_reports_are_told_so_in_the_main_loop_too(database, published, survey, counted):
    id_ = str(uuid4())

    def said(digest: str, values: object, survey_id: str = "health") -> int:
        batch = {"digest": digest, "reports": [{"id": id_, "values": values}]}
        address = f"{url}/v1/surveys/{survey_id}/reports"
        return requests.post(address, json=batch, timeout=PATIENCE).status_code

    with with_one_thread(database) as url:
        assert said(survey.digest, [0, 1], "unknown") == 404
        assert said(survey.digest, [0, 9]) == 422
        assert said("0" * 64, [0, 1]) == 409
        assert said(survey.digest, [0, 1]) == 202
        assert said(survey.digest, [0, 1]) == 202
        assert said(survey.digest, [1, 1]) == 409
        assert requests.get(f"{url}/healthz", timeout=PATIENCE).status_code == 200
    assert counted() == 1


def in_chunks(body: bytes) -> bytes:
    head = b"POST /v1/surveys/health/reports HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"
    return head + b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)


@pytest.mark.parametrize(
    ("sent", "status", "counts"),
    [
        (in_chunks, 202, 1),
        (lambda body: in_chunks(body).replace(b"\r\n0\r\n", b"\r\nx\r\n"), 400, 0),
        (lambda body: post(body, "Expect: 100-continue"), 202, 1),
        (lambda body: post(body, "Expect: a miracle"), 417, 0),
        (lambda body: post(body, "Content-Length: 1"), 400, 0),
        (lambda body: post(body).replace(b"HTTP/1.1", b"HTTP/1.0"), 202, 1),
        (lambda body: post(body).replace(b"/v1", b"http://here/v1", 1), 202, 1),
        (lambda body: post(body).replace(b"/health/", b"/h%65alth/", 1), 202, 1),
        (lambda body: post(body).replace(b"/health/", b"/health%2Fmore/", 1), 404, 0),
        (lambda body: post(body).replace(b"/health/", b"/%00/", 1), 404, 0),
        (lambda body: post(body, "no header"), 400, 0),
        (lambda _: post(b""), 400, 0),
        (lambda _: post(b"[" * 7_000), 422, 0),
        (lambda body: post(body) + post(body), 202, 1),
    ],
)
def test_what_only_begins_like_a_report_is_told_from_one_in_the_main_loop_too(
    url, body, counted, capfd, sent, status, counts
):
    with connect(url) as connection:
        # All of it at once, so that a whole request is there when it is first looked at.
        connection.sendall(sent(body()))
        got = answers(connection, 1)
        assert (got if got != [100] else answers(connection, 1)) == [status]
    assert requests.get(f"{url}/healthz", timeout=PATIENCE).status_code == 200
    assert counted() == counts
    assert "error" not in capfd.readouterr().err


def test_a_server_that_ends_under_load_forgets_no_report_that_it_acknowledged(
    database, published, body, counted
):
    process = subprocess.Popen(
        [
            *[sys.executable, "-m", "halftruth_collector", "serve", "--port", "0"],
            *["--workers", "1", "--database", database, "--quiet"],
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    acknowledged = threading.Semaphore(0)
    sent: list[int] = []
    got: list[int] = []

    def send(url: str) -> None:
        with contextlib.suppress(OSError), connect(url) as connection:
            while True:
                sent.append(1)
                connection.sendall(post(body()))
                if answers(connection, 1) != [202]:
                    return
                got.append(1)
                acknowledged.release()

    try:
        assert process.stdout is not None
        url = process.stdout.readline().split()[-1]
        threads = [threading.Thread(target=send, args=(url,)) for _ in range(20)]
        for thread in threads:
            thread.start()
        for _ in range(200):
            assert acknowledged.acquire(timeout=PATIENCE)
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=PATIENCE)
        for thread in threads:
            thread.join(PATIENCE)
        assert process.returncode == 0
        assert said == ""
    finally:
        process.kill()
        process.communicate()
    assert 200 <= len(got) <= counted() <= len(sent)


def test_more_connections_than_files_end_no_worker(database, published, body, counted):
    serve = [sys.executable, "-m", "halftruth_collector", "serve", "--port", "0"]
    process = subprocess.Popen(
        [*serve, "--workers", "1", "--database", database],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (120, 120)),
    )
    try:
        assert process.stdout is not None
        url = process.stdout.readline().split()[-1]
        with connect(url) as first, contextlib.ExitStack() as stack:
            first.sendall(post(body()))
            assert answers(first, 1) == [202]
            for _ in range(200):
                stack.enter_context(connect(url))
            time.sleep(0.5)
            first.sendall(post(body()))
            assert answers(first, 1) == [202]
            stack.close()
            # Those that waited are taken now.
            assert requests.get(f"{url}/healthz", timeout=PATIENCE).status_code == 200
        process.terminate()
        _, said = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
        process.communicate()
    assert process.returncode == 0
    assert counted() == 2
    assert said.count("connections wait to be taken: EMFILE") == 1
    assert "exited" not in said


def test_what_counts_reports_is_brief():
    rules = create_app(Config(database="sqlite://")).url_map.bind("here")
    line = b"POST /v1/surveys/health/reports HTTP/1.1\r\n"
    assert Server.brief.match(line)
    assert rules.match("/v1/surveys/health/reports", "POST")[0] == "respondents.add_reports"
    for other in (b"GET" + line[4:], line.replace(b" HTTP", b"/more HTTP"), b"X" + line):
        assert not Server.brief.match(other)
    # What is decoded before it is looked up may lead elsewhere.
    for name in (b"health%2Fclose", b"health/close#", b"health?", b"health%2Fclose#"):
        assert not Server.brief.match(line.replace(b"health", name))


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_a_server_leaves_no_folder_behind(database, ending):
    process = subprocess.Popen(
        [
            *[sys.executable, "-m", "halftruth_collector", "serve", "--port", "0"],
            *["--workers", "2", "--database", database],
        ],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        url = process.stdout.readline().split()[-1]
        assert requests.get(f"{url}/healthz", timeout=PATIENCE).status_code == 200
        folder = metrics_folder(process.pid)
        assert folder.is_dir()
        process.send_signal(ending)
        process.wait(PATIENCE)
        wait_until(lambda: not folder.exists())
    finally:
        process.kill()
        process.communicate()


def test_what_a_server_left_that_was_killed_with_its_workers_is_removed_by_the_next(database):
    command = [sys.executable, "-m", "halftruth_collector", "serve", "--port", "0"]
    process = subprocess.Popen(
        [*command, "--workers", "1", "--database", database],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        assert process.stdout is not None
        url = process.stdout.readline().split()[-1]
        assert requests.get(f"{url}/healthz", timeout=PATIENCE).status_code == 200
        folder = metrics_folder(process.pid)
        with collector_process(database):
            assert folder.is_dir()
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(PATIENCE)
        assert folder.is_dir()
        with collector_process(database):
            assert not folder.exists()
    finally:
        process.kill()
        process.communicate()


def metrics_folder(pid: int) -> Path:
    """The folder whose lock the server holds, from before its first worker starts."""
    opened = [Path(os.readlink(link)) for link in Path(f"/proc/{pid}/fd").iterdir()]
    [lock] = [file for file in opened if file.parent.name.startswith("halftruth-metrics-")]
    return lock.parent


def test_a_collector_that_stops_wants_no_more_requests(app, http):
    assert http.get("/readyz").get_json() == {"status": "ready"}
    stop(app)
    response = http.get("/readyz")
    assert response.status_code == 503
    assert response.headers["Retry-After"]
    assert response.get_json()["detail"].startswith("this collector is stopping")
    assert http.get("/healthz").status_code == 200
    assert http.get("/v1/surveys/health").status_code == 200


@pytest.mark.parametrize(("proxies", "seen"), [(0, "127.0.0.1"), (1, "3.3.3.3"), (2, "2.2.2.2")])
def test_only_trusted_proxies_say_who_asks(database, proxies, seen):
    app = create_app(Config(database=database, proxies=proxies))
    app.add_url_rule("/who", "who", lambda: f"{request.remote_addr} {request.scheme}")
    forwarded = {"X-Forwarded-For": "1.1.1.1, 2.2.2.2, 3.3.3.3", "X-Forwarded-Proto": "https,https"}
    said = app.test_client().get("/who", headers=forwarded).get_data(as_text=True)
    assert said == f"{seen} {'https' if proxies else 'http'}"
    app.extensions["halftruth"].store.close()


def test_without_proxies_a_loopback_peer_is_not_believed_either(url):
    # gunicorn by itself would believe this of every process on the same machine.
    response = requests.get(
        f"{url}/results/", headers={"X-Forwarded-Proto": "https"}, timeout=PATIENCE
    )
    assert "https://" not in response.url


def test_settings_are_read_from_the_environment():
    assert Config.from_environment({}) == Config()
    assert Config.from_environment(
        {
            "HALFTRUTH_DATABASE": "postgresql://here/it",
            "HALFTRUTH_MAX_BODY": "1000",
            "HALFTRUTH_MAX_BATCH": "10",
            "HALFTRUTH_MAX_GAMMA": "9/2",
            "HALFTRUTH_RATE_LIMIT": "5/minute",
            "HALFTRUTH_PROXIES": "2",
            "HALFTRUTH_SEALING_KEYS": "/run/keys",
            "HALFTRUTH_LOG_FORMAT": "json",
            "HALFTRUTH_REQUEST_SECONDS": "7",
        }
    ) == Config(
        database="postgresql://here/it",
        max_body=1_000,
        max_batch=10,
        max_gamma="9/2",
        rate_limit="5/minute",
        proxies=2,
        sealing_keys=Path("/run/keys"),
        log_format="json",
        request_seconds=7,
    )
    assert Config.from_environment({"HALFTRUTH_RATE_LIMIT": "off"}).rate_limit is None
    assert Config.from_environment({"HALFTRUTH_PROXIES": "0"}).proxies == 0


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("HALFTRUTH_MAX_BODY", "0", "a positive integer"),
        ("HALFTRUTH_MAX_BODY", "many", "a positive integer"),
        ("HALFTRUTH_MAX_BATCH", "9" * 5_000, "a positive integer"),
        ("HALFTRUTH_REQUEST_SECONDS", "-3", "a positive integer"),
        ("HALFTRUTH_PROXIES", "-1", "0 or a positive integer"),
        ("HALFTRUTH_MAX_GAMMA", "1", "an amplification above 1"),
        ("HALFTRUTH_RATE_LIMIT", "often", "one rate, such as '1000 per hour', or 'off'"),
        ("HALFTRUTH_RATE_LIMIT", "0 per hour", "one rate"),
        ("HALFTRUTH_RATE_LIMIT", "", "one rate"),
        ("HALFTRUTH_RATE_LIMIT", "1 per hour; 2 per day", "one rate"),
        ("HALFTRUTH_RATE_LIMIT_STORAGE", "nowhere://me:secret@here", "the URI of a storage"),
        ("HALFTRUTH_LOG_FORMAT", "xml", "text or json"),
    ],
)
def test_a_wrong_setting_is_named_in_one_line(name, text, expected):
    with pytest.raises(ParameterError) as wrong:
        Config.from_environment({name: text})
    assert str(wrong.value).startswith(f"{name}: expected {expected}")
    assert "\n" not in str(wrong.value)
    assert "secret" not in str(wrong.value)
    assert wrong.value.field == name


def test_the_heartbeat_is_in_memory_where_there_is_such_a_folder():
    from halftruth_collector.serving.server import Server

    server = Server(
        Config(database="sqlite://"), host="::1", port=0, workers=1, threads=1, ready=print
    )
    folder = server.cfg.worker_tmp_dir
    assert folder is None or os.access(folder, os.W_OK)
