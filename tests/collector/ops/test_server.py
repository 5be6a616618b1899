"""The server as processes that start, stop, reload and end, and the settings that it reads."""

import contextlib
import logging
import os
import resource
import signal
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
from halftruth_collector.web.readiness import Readiness
from halftruth_shared import ParameterError
from halftruth_shared.protocol.sealing import create_sealing_key
from serving import is_well
from wire import PATIENCE, REPORTS, answers, children, connect, get, post, rest, taken, wait_until


@pytest.fixture
def writer(tmp_path) -> Iterator[sqlite3.Connection]:
    """Somebody else who may write to the database; while he does, nobody can commit."""
    connection = sqlite3.connect(tmp_path / "test.db", isolation_level=None)
    yield connection
    connection.close()


def refuses(url: str) -> bool:
    """Return true if nobody listens there."""
    try:
        connect(url).close()
    except ConnectionRefusedError:
        return True
    return False


def test_a_server_that_is_told_to_stop_finishes_what_it_has_begun(
    published, running, writer, body, counted
):
    with running() as collector:
        folder = metrics_folder(collector.process.pid)
        with connect(collector.url) as idle, connect(collector.url) as open_connection:
            idle.sendall(get("/healthz"))
            assert answers(idle, 1) == [200]
            # Nobody else can commit now, so the request stays open.
            writer.execute("BEGIN IMMEDIATE")
            open_connection.sendall(post(body()))
            wait_until(lambda: taken(open_connection))
            collector.process.send_signal(signal.SIGTERM)
            # Nobody waits for those who ask for nothing.
            assert rest(idle) == b""
            wait_until(lambda: refuses(collector.url))
            assert collector.process.poll() is None
            writer.execute("ROLLBACK")
            assert answers(open_connection, 1) == [202]
            # Nor for more of those that are answered; without a stop, that would be 20 seconds.
            open_connection.settimeout(10)
            assert rest(open_connection) == b""
        assert collector.process.wait(PATIENCE) == 0
        assert not folder.exists()
    assert " error " not in collector.said()
    first, *_, last = collector.said().splitlines()
    assert first.endswith(f"starting, version {version('halftruth-collector')}")
    assert last.endswith("stopped")
    assert counted() == 1


def test_a_server_that_is_told_to_reload_has_other_workers_and_loses_nothing(
    published, running, body, counted
):
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


def test_a_server_is_followed_by_another_program_on_its_socket_and_loses_nothing(
    published, running, body, counted
):
    """As gunicorn does it: SIGUSR2 starts the next one, SIGTERM ends the one before."""
    statuses = []

    def send() -> None:
        # A connection of its own, so that none is closed under a request.
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


def test_a_server_that_ends_under_load_forgets_no_report_that_it_acknowledged(
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


def test_more_connections_than_files_end_no_worker(published, running, body, counted):
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
        # Those that waited are taken now.
        assert is_well(collector.url)
    assert counted() == 2
    assert "exited" not in collector.said()
    assert "Traceback" not in collector.said()


@pytest.mark.parametrize(
    "ending", [signal.SIGKILL, pytest.param(signal.SIGINT, marks=pytest.mark.nightly)]
)
def test_a_server_leaves_no_folder_behind(running, ending):
    with running("--workers", "2") as collector:
        folder = metrics_folder(collector.process.pid)
        assert folder.is_dir()
        collector.process.send_signal(ending)
        collector.process.wait(PATIENCE)
        wait_until(lambda: not folder.exists())


@pytest.mark.nightly
def test_what_a_server_left_that_was_killed_with_its_workers_is_removed_by_the_next(running):
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
    """The folder whose lock the server holds, from before its first worker starts."""
    opened = [Path(os.readlink(link)) for link in Path(f"/proc/{pid}/fd").iterdir()]
    [lock] = [file for file in opened if file.parent.name.startswith("halftruth-metrics-")]
    return lock.parent


def test_whoever_asks_for_readiness_makes_the_database_write_once_in_ten_seconds(app, http, caplog):
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
    # Noticed within ten seconds, and so is the end of it.
    now = 10.0
    assert asked() == {503}
    works, now = True, 19.9
    response = http.get("/readyz")
    assert (response.status_code, response.headers["Retry-After"]) == (503, "5")
    assert response.get_json()["detail"] == "the database does not answer (SQLITE_FULL)"
    now = 20.0
    assert asked() == {200}
    assert writes == [0, 10, 20]
    # What was remembered is no news.
    said = [line for line in caplog.records if "available" in line.getMessage()]
    assert [(line.levelname, line.getMessage().split(":")[0]) for line in said] == [
        ("ERROR", "unavailable"),
        ("INFO", "available again after"),
    ]


def test_callers_that_ask_for_readiness_at_one_moment_share_one_check():
    checks = []

    def check():
        checks.append(threading.get_ident())
        time.sleep(0.05)

    readiness = Readiness(check)
    with ThreadPoolExecutor(8) as threads:
        ran = list(threads.map(lambda _: readiness.refresh(), range(20)))
    assert (len(checks), sum(ran)) == (1, 1)


def test_a_collector_that_stops_wants_no_more_requests(app, http):
    assert http.get("/readyz").get_json() == {"status": "ready"}
    app.extensions["halftruth"].stopping.set()
    response = http.get("/readyz")
    assert response.status_code == 503
    assert response.headers["Retry-After"]
    assert response.get_json()["detail"].startswith("this server is stopping")
    assert http.get("/healthz").status_code == 200
    assert http.get("/v1/surveys/health").status_code == 200


@pytest.mark.parametrize(("proxies", "seen"), [(0, "127.0.0.1"), (1, "3.3.3.3"), (2, "2.2.2.2")])
def test_only_trusted_proxies_say_who_asks(make_app, proxies, seen):
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
        ("rate_limit", "5/minute", "5/minute"),
        ("rate_limit", "off", None),
        ("proxies", "2", 2),
        ("proxies", "0", 0),
        ("sealing_keys", "/run/keys", Path("/run/keys")),
        ("log_format", "json", "json"),
        ("min_reports", "1", 1),
        ("request_seconds", "7", 7),
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
        ("HALFTRUTH_MAX_GAMMA", "1", "an amplification above 1"),
        ("HALFTRUTH_MAX_GAMMA", "secret", "an exact number"),
        ("HALFTRUTH_RATE_LIMIT", "often", "one rate, such as '1000 per hour', or 'off'"),
        ("HALFTRUTH_RATE_LIMIT", "0 per hour", "one rate"),
        ("HALFTRUTH_RATE_LIMIT", "", "one rate"),
        ("HALFTRUTH_RATE_LIMIT", "1 per hour; 2 per day", "one rate"),
        ("HALFTRUTH_LOG_FORMAT", "xml", "json or text"),
        ("HALFTRUTH_SEALING_KEYS", "", "the name of a file of private keys, or no such variable"),
    ],
)
def test_a_wrong_setting_is_named_in_one_line(name, text, expected):
    with pytest.raises(ParameterError) as wrong:
        Config.from_environment({name: text})
    assert str(wrong.value).startswith(f"{name}: expected {expected}")
    assert "\n" not in str(wrong.value)
    assert "secret" not in str(wrong.value)
    assert wrong.value.field == name


@pytest.mark.parametrize("content", [None, b"", b"no key"])
def test_a_file_of_keys_that_cannot_be_used_ends_it_in_one_line(
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


def test_a_worker_that_starts_while_the_file_of_keys_is_away_waits_for_it(
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


def test_a_worker_that_starts_while_the_database_is_away_waits_for_it(
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
        # Had the worker given up, so had the server.
        assert left in collector.workers()
        file.rmdir()
        away.rename(file)
        os.kill(left, signal.SIGKILL)
        sent = requests.post(collector.url + REPORTS, data=body(), timeout=PATIENCE)
        assert sent.status_code == 202
    assert counted() == 1
