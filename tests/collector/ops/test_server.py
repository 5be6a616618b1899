"""Server processes that start, stop, reload and are killed, and their settings."""

import contextlib
import logging
import os
import resource
import signal
import socket
import sqlite3
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path

import pytest
import requests
from flask import request
from halftruth_collector.errors import StoreUnavailable
from halftruth_collector.ops.settings import Config
from halftruth_collector.server.serve import serve
from halftruth_collector.web.readiness import Readiness
from halftruth_shared import ParameterError
from halftruth_shared.protocol.sealing import create_sealing_key
from serving import is_well
from wire import PATIENCE, REPORTS, answers, children, connect, get, post, rest, taken, wait_until


@pytest.fixture
def writer(tmp_path) -> Iterator[sqlite3.Connection]:
    """Another writer, whose transactions prevent commits of the collector."""
    connection = sqlite3.connect(tmp_path / "test.db", isolation_level=None)
    yield connection
    connection.close()


def refuses(url: str) -> bool:
    """Return whether connections are refused."""
    try:
        connect(url).close()
    # One that is waiting to be taken when the server stops listening is reset.
    except (ConnectionRefusedError, ConnectionResetError):
        return True
    return False


def test_a_stopping_server_completes_open_requests(published, running, writer, body, counted):
    with running() as collector:
        folder = metrics_folder(collector.process.pid)
        with connect(collector.url) as idle, connect(collector.url) as open_connection:
            idle.sendall(get("/healthz"))
            assert answers(idle, 1) == [200]
            # The server cannot commit now, so the request stays open.
            writer.execute("BEGIN IMMEDIATE")
            open_connection.sendall(post(body()))
            wait_until(lambda: taken(open_connection))
            collector.process.send_signal(signal.SIGTERM)
            # Idle connections are closed at once.
            assert rest(idle) == b""
            wait_until(lambda: refuses(collector.url))
            assert collector.process.poll() is None
            writer.execute("ROLLBACK")
            assert answers(open_connection, 1) == [202]
            # So are answered ones; otherwise the server would wait 20 seconds for another request.
            open_connection.settimeout(10)
            assert rest(open_connection) == b""
        assert collector.process.wait(PATIENCE) == 0
        assert not folder.exists()
    assert " error " not in collector.said()
    first, *_, last = collector.said().splitlines()
    assert first.endswith(f"starting, version {version('halftruth-collector')}")
    assert last.endswith("stopped")
    assert counted() == 1


def test_a_reload_replaces_the_workers_without_losing_reports(published, running, body, counted):
    with running() as collector:
        before = collector.workers()
        statuses = []
        collector.process.send_signal(signal.SIGHUP)
        end = time.monotonic() + PATIENCE
        while set(collector.workers()) & set(before) or not collector.workers():
            assert time.monotonic() < end
            with contextlib.suppress(requests.ConnectionError):
                sent = requests.post(collector.url + REPORTS, data=body(), timeout=PATIENCE)
                statuses.append(sent.status_code)
        assert is_well(collector.url)
    assert set(statuses) == {202}
    assert counted() == len(statuses)


def test_an_upgrade_on_the_same_socket_loses_no_reports(published, running, body, counted):
    """SIGUSR2 starts the new server and SIGTERM stops the old one."""
    statuses = []

    def send() -> None:
        # A new connection each time, so that none is closed during a request.
        sent = requests.post(
            collector.url + REPORTS, data=body(), headers={"Connection": "close"}, timeout=PATIENCE
        )
        statuses.append(sent.status_code)

    with running() as collector:
        before = set(collector.workers())
        collector.process.send_signal(signal.SIGUSR2)
        wait_until(lambda: set(collector.workers()) - before)
        [following] = set(collector.workers()) - before
        try:
            wait_until(lambda: children(following))
            send()
            collector.process.terminate()
            while collector.process.poll() is None:
                send()
            send()
        finally:
            os.kill(following, signal.SIGTERM)
            wait_until(lambda: refuses(collector.url))
    assert collector.said().count(" starting, version ") == 2
    assert set(statuses) == {202}
    assert counted() == len(statuses)


def test_a_server_stopped_under_load_loses_no_acknowledged_report(
    published, running, body, counted
):
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

    with running("--quiet", "--workers", "2") as collector:
        threads = [threading.Thread(target=send, args=(collector.url,)) for _ in range(20)]
        for thread in threads:
            thread.start()
        for _ in range(200):
            assert acknowledged.acquire(timeout=PATIENCE)
        collector.process.send_signal(signal.SIGTERM)
        assert collector.process.wait(PATIENCE) == 0
        for thread in threads:
            thread.join(PATIENCE)
    assert collector.said() == ""
    assert 200 <= len(got) <= counted() <= len(sent)


def test_more_connections_than_file_descriptors_do_not_end_a_worker(
    published, running, body, counted
):
    few = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (120, 120))}
    with running(**few) as collector, contextlib.ExitStack() as stack:
        first = stack.enter_context(connect(collector.url))
        first.sendall(post(body()))
        assert answers(first, 1) == [202]
        for _ in range(200):
            stack.enter_context(connect(collector.url))
        time.sleep(0.5)
        first.sendall(post(body()))
        assert answers(first, 1) == [202]
        stack.close()
        # Waiting connections are accepted now.
        assert is_well(collector.url)
    assert counted() == 2
    assert "exited" not in collector.said()
    assert "Traceback" not in collector.said()


@pytest.mark.parametrize(
    "ending", [signal.SIGKILL, pytest.param(signal.SIGINT, marks=pytest.mark.nightly)]
)
def test_the_metrics_folder_is_removed_after_the_server_ends(running, ending):
    with running("--workers", "2") as collector:
        folder = metrics_folder(collector.process.pid)
        assert folder.is_dir()
        collector.process.send_signal(ending)
        collector.process.wait(PATIENCE)
        wait_until(lambda: not folder.exists())


@pytest.mark.nightly
def test_the_folder_of_a_killed_server_is_removed_by_the_next_one(running):
    with running(start_new_session=True) as killed:
        folder = metrics_folder(killed.process.pid)
        with running():
            assert folder.is_dir()
        os.killpg(killed.process.pid, signal.SIGKILL)
        killed.process.wait(PATIENCE)
        assert folder.is_dir()
        with running():
            assert not folder.exists()


def metrics_folder(pid: int) -> Path:
    """Return the metrics folder of a server, whose lock it holds before its first worker starts."""
    opened = [Path(os.readlink(link)) for link in Path(f"/proc/{pid}/fd").iterdir()]
    [lock] = [file for file in opened if file.parent.name.startswith("halftruth-metrics-")]
    return lock.parent


def test_readiness_writes_to_the_database_once_in_ten_seconds(app, http, caplog):
    collector = app.extensions["halftruth"]
    now, writes, works = 0.0, [], True
    check = collector.readiness.check

    def written():
        writes.append(now)
        check()
        if not works:
            raise StoreUnavailable("the database does not answer (SQLITE_FULL)")

    def asked():
        return {http.get("/readyz").status_code for _ in range(50)}

    caplog.set_level(logging.INFO)
    collector.readiness.check = written
    collector.readiness.clock = lambda: now
    assert asked() == {200}
    works, now = False, 9.9
    assert asked() == {200}
    # The outage is noticed within ten seconds, and so is its end.
    now = 10.0
    assert asked() == {503}
    works, now = True, 19.9
    response = http.get("/readyz")
    assert (response.status_code, response.headers["Retry-After"]) == (503, "5")
    assert response.get_json()["detail"] == "the database does not answer (SQLITE_FULL)"
    now = 20.0
    assert asked() == {200}
    assert writes == [0, 10, 20]
    # Cached results are not logged again.
    said = [line for line in caplog.records if "available" in line.getMessage()]
    assert [(line.levelname, line.getMessage().split(":")[0]) for line in said] == [
        ("ERROR", "unavailable"),
        ("INFO", "available again after"),
    ]


def test_concurrent_readiness_requests_share_one_check():
    checks = []

    def check():
        checks.append(threading.get_ident())
        time.sleep(0.05)

    readiness = Readiness(check)
    with ThreadPoolExecutor(8) as threads:
        ran = list(threads.map(lambda _: readiness.refresh(), range(20)))
    assert (len(checks), sum(ran)) == (1, 1)


def test_a_stopping_collector_is_not_ready(app, http):
    assert http.get("/readyz").get_json() == {"status": "ready"}
    app.extensions["halftruth"].stopping.set()
    response = http.get("/readyz")
    assert response.status_code == 503
    assert response.headers["Retry-After"]
    assert response.get_json()["detail"].startswith("this server is stopping")
    assert http.get("/healthz").status_code == 200
    assert http.get("/v1/surveys/health").status_code == 200


@pytest.mark.parametrize(("proxies", "seen"), [(0, "127.0.0.1"), (1, "3.3.3.3"), (2, "2.2.2.2")])
def test_only_trusted_proxies_set_the_client_address(make_app, proxies, seen):
    app = make_app(proxies=proxies)
    app.add_url_rule("/who", "who", lambda: f"{request.remote_addr} {request.scheme}")
    forwarded = {"X-Forwarded-For": "1.1.1.1, 2.2.2.2, 3.3.3.3", "X-Forwarded-Proto": "https,https"}
    said = app.test_client().get("/who", headers=forwarded).get_data(as_text=True)
    assert said == f"{seen} {'https' if proxies else 'http'}"


def test_settings_are_read_from_the_environment():
    assert Config.from_environment({}) == Config()
    for name, text, value in (
        ("database", "postgresql://here/it", "postgresql://here/it"),
        ("max_body", "1000", 1_000),
        ("max_batch", "10", 10),
        ("max_gamma", "9/2", "9/2"),
        ("max_answer_gamma", "5", "5"),
        ("max_total_gamma", "361", "361"),
        (
            "frame_origins",
            "https://lms.example.org https://*.example.com http://127.0.0.1:8080",
            ("https://lms.example.org", "https://*.example.com", "http://127.0.0.1:8080"),
        ),
        ("frame_origins", "", ()),
        ("hook_url", "https://example.org/hook/", "https://example.org/hook/"),
        ("hook_key", "/etc/hook.key", Path("/etc/hook.key")),
        ("hook_silent_days", "7", 7),
        ("rate_limit", "5/minute", "5/minute"),
        ("rate_limit", "off", None),
        ("proxies", "2", 2),
        ("proxies", "0", 0),
        ("sealing_keys", "/run/keys", Path("/run/keys")),
        ("log_format", "json", "json"),
        ("min_reports", "1", 1),
        ("request_seconds", "7", 7),
        ("workers", "4", 4),
        ("threads", "64", 64),
    ):
        found = Config.from_environment({f"HALFTRUTH_{name.upper()}": text})
        assert found == Config(**{name: value})


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("HALFTRUTH_MAX_BODY", "0", "a positive integer"),
        ("HALFTRUTH_MAX_BODY", "many", "a positive integer"),
        ("HALFTRUTH_MAX_BATCH", "9" * 5_000, "a positive integer"),
        ("HALFTRUTH_MIN_REPORTS", "0", "a positive integer"),
        ("HALFTRUTH_REQUEST_SECONDS", "-3", "a positive integer"),
        ("HALFTRUTH_REQUEST_SECONDS", "", "a positive integer"),
        ("HALFTRUTH_PROXIES", "-1", "0 or a positive integer"),
        ("HALFTRUTH_MAX_GAMMA", "1", "an exact amplification above 1"),
        ("HALFTRUTH_MAX_GAMMA", "secret", "an exact amplification above 1"),
        ("HALFTRUTH_MAX_ANSWER_GAMMA", "1", "an exact amplification above 1"),
        ("HALFTRUTH_MAX_TOTAL_GAMMA", "0.5", "an exact amplification above 1"),
        ("HALFTRUTH_MAX_TOTAL_GAMMA", "", "an exact amplification above 1"),
        ("HALFTRUTH_FRAME_ORIGINS", "*", "origins separated by blanks"),
        ("HALFTRUTH_FRAME_ORIGINS", "lms.example.org", "origins separated by blanks"),
        ("HALFTRUTH_FRAME_ORIGINS", "https://a.org/page", "origins separated by blanks"),
        ("HALFTRUTH_FRAME_ORIGINS", "https://a.org; script-src *", "origins separated by blanks"),
        ("HALFTRUTH_HOOK_URL", "example.org", "an address such as"),
        ("HALFTRUTH_HOOK_URL", "https://user:secret@example.org", "an address such as"),
        ("HALFTRUTH_HOOK_KEY", "", "the name of a file with a key"),
        ("HALFTRUTH_HOOK_SILENT_DAYS", "0", "a positive integer"),
        ("HALFTRUTH_RATE_LIMIT", "often", "one rate, such as '1000 per hour', or 'off'"),
        ("HALFTRUTH_RATE_LIMIT", "0 per hour", "one rate"),
        ("HALFTRUTH_RATE_LIMIT", "", "one rate"),
        ("HALFTRUTH_RATE_LIMIT", "1 per hour; 2 per day", "one rate"),
        ("HALFTRUTH_LOG_FORMAT", "xml", "json or text"),
        ("HALFTRUTH_WORKERS", "0", "an integer from 1 to 64"),
        ("HALFTRUTH_THREADS", "65", "an integer from 1 to 64"),
        ("HALFTRUTH_SEALING_KEYS", "", "the name of a file of private keys, or no such variable"),
    ],
)
def test_invalid_settings_are_refused_with_a_one_line_error(name, text, expected):
    with pytest.raises(ParameterError) as wrong:
        Config.from_environment({name: text})
    assert str(wrong.value).startswith(f"{name}: expected {expected}")
    assert "\n" not in str(wrong.value)
    assert "secret" not in str(wrong.value)
    assert wrong.value.field == name


def test_a_port_in_use_stops_the_server_with_a_one_line_error(monkeypatch, database):
    monkeypatch.setattr("halftruth_collector.ops.logs.configure", lambda *_, **__: None)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(SystemExit) as ended:
            serve(
                Config(database=database),
                host="127.0.0.1",
                port=port,
                workers=1,
                threads=1,
                quiet=True,
            )
    assert ended.value.code == (
        f"halftruth: cannot listen on 127.0.0.1, port {port}: another program listens there;"
        " expected a free one (--port)"
    )


@pytest.mark.parametrize("content", [None, b"", b"no key"])
def test_an_unusable_key_file_stops_the_server_with_a_one_line_error(
    command, database, tmp_path, monkeypatch, content
):
    file = tmp_path / "sealing.pem"
    if content is not None:
        file.write_bytes(content)
        file.chmod(0o600)
    monkeypatch.setenv("HALFTRUTH_SEALING_KEYS", str(file))
    status, said, complaint = command("serve", "--port", "0", "--database", database)
    assert (status, said, complaint.count("\n")) == (2, "", 1)
    assert complaint.startswith(f"halftruth: HALFTRUTH_SEALING_KEYS: {file}: ")


def test_a_worker_that_starts_without_the_key_file_waits_for_it(
    published, running, tmp_path, body, counted
):
    file = tmp_path / "sealing.pem"
    create_sealing_key(file)
    with running(SEALING_KEYS=file) as collector:
        wait_until(lambda: len(collector.workers()) == 1)
        away = file.rename(tmp_path / "away.pem")
        os.kill(*collector.workers(), signal.SIGKILL)
        wait_until(lambda: " waiting: HALFTRUTH_SEALING_KEYS: " in collector.said())
        away.rename(file)
        sent = requests.post(collector.url + REPORTS, data=body(), timeout=PATIENCE)
        assert sent.status_code == 202
    assert counted() == 1


def test_a_worker_that_starts_without_the_database_waits_for_it(
    published, running, tmp_path, body, counted
):
    file = tmp_path / "test.db"
    with running("--workers", "2") as collector:
        wait_until(lambda: len(collector.workers()) == 2)
        ended, left = collector.workers()
        away = file.rename(tmp_path / "away.db")
        file.mkdir()
        os.kill(ended, signal.SIGKILL)
        wait_until(lambda: " waiting: database " in collector.said())
        # If the new worker had given up, the server would have stopped.
        assert left in collector.workers()
        file.rmdir()
        away.rename(file)
        os.kill(left, signal.SIGKILL)
        sent = requests.post(collector.url + REPORTS, data=body(), timeout=PATIENCE)
        assert sent.status_code == 202
    assert counted() == 1
