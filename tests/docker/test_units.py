"""The units of ``docker/systemd``, whose commands are run here as by systemd."""

import json
import os
import signal
import socket
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import pytest
import requests
from halftruth_collector import operations
from halftruth_collector.collector_store import Store
from installed import program
from wire import PATIENCE, REPORTS, wait_until

PROGRAM = "/opt/halftruth/bin/halftruth"


#: Replaces itself by a program started as by systemd: its first inherited file is number 3.
HANDING_OVER = """
import os, sys
os.dup2(int(sys.argv[1]), 3)
os.execve(sys.argv[2], sys.argv[2:], {**os.environ, "LISTEN_PID": str(os.getpid())})
"""


@pytest.fixture
def units(root) -> dict[str, list[tuple[str, str]]]:
    """Return the settings of each unit in order."""
    read = {}
    for file in (root / "docker/systemd").iterdir():
        lines = file.read_text(encoding="utf-8").splitlines()
        read[file.name] = [
            (name, value)
            for line in lines
            if not line.startswith("#")
            for name, equals, value in [line.partition("=")]
            if equals
        ]
    return read


def all_of(unit: list[tuple[str, str]], name: str) -> list[str]:
    return [value for found, value in unit if found == name]


def test_systemd_accepts_the_units(root, tmp_path):
    verify = program("systemd-analyze")
    for file in (root / "docker/systemd").iterdir():
        text = file.read_text(encoding="utf-8")
        # Use an existing program and user.
        text = text.replace(PROGRAM, "/bin/true").replace("User=halftruth", "User=root")
        (tmp_path / file.name).write_text(text, encoding="utf-8")
    done = subprocess.run(
        [verify, "--man=no", "--recursive-errors=no", "verify", *tmp_path.iterdir()],
        capture_output=True,
        text=True,
        check=False,
    )
    said = [line for line in done.stderr.splitlines() if "halftruth" in line]
    assert (done.returncode, said) == (0, [])


def test_the_nightly_service_backs_up_purges_and_compacts(units, survey, tmp_path):
    """Run its lines one after the other with the back-up folder, as systemd does."""
    database = f"sqlite:///{tmp_path / 'halftruth.db'}"
    with Store(database) as store:
        operations.publish_survey(store, survey)
        operations.close_survey(store, survey.id, confirm=survey.id)
    backups = tmp_path / "backups"
    backups.mkdir(mode=0o700)
    for name, days in (("last-week.backup", 7), ("last-month.backup", 30)):
        (backups / name).touch()
        subprocess.run(["touch", "--date", f"{days} days ago", backups / name], check=True)
    environment = {
        "PATH": os.environ["PATH"],
        "HALFTRUTH_DATABASE": database,
        "STATE_DIRECTORY": str(backups),
    }
    said = []
    for line in all_of(units["halftruth-nightly.service"], "ExecStart"):
        command = line.replace("%%", "%").replace(
            PROGRAM, f"{sys.executable} -m halftruth_collector"
        )
        done = subprocess.run(
            ["/bin/sh", "-c", command], env=environment, capture_output=True, text=True, check=True
        )
        said.append(done.stdout)
    assert said[0].endswith(".backup\n")
    assert said[2:] == [
        "no survey that ended 30 days ago still has ids\n",
        "compacted; arrival order erased\n",
    ]
    [made] = {file.name for file in backups.iterdir()} - {"last-week.backup"}
    assert stat.S_IMODE((backups / made).stat().st_mode) == 0o600
    restored = f"sqlite:///{tmp_path / 'restored.db'}"
    with Store(restored) as store:
        assert operations.restore(store, backups / made) > 0
        assert store.surveys.get(survey.id).digest == survey.digest


@contextmanager
def activated(
    held: socket.socket, database: str, folder: Path
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a collector with an inherited socket, and wait until it notifies readiness."""
    told = folder / "told"
    told.unlink(missing_ok=True)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notified:
        notified.settimeout(PATIENCE)
        notified.bind(str(told))
        serve = [sys.executable, "-m", "halftruth_collector", "serve", "--workers", "1", "--quiet"]
        process = subprocess.Popen(
            [sys.executable, "-ISc", HANDING_OVER, str(held.fileno()), *serve],
            env={
                "PATH": os.environ["PATH"],
                "HALFTRUTH_DATABASE": database,
                "HALFTRUTH_RATE_LIMIT": "off",
                "LISTEN_FDS": "1",
                "NOTIFY_SOCKET": str(told),
            },
            pass_fds=[held.fileno()],
            stdout=subprocess.DEVNULL,
        )
        try:
            assert b"READY=1" in notified.recv(1_000)
            yield process
        finally:
            process.send_signal(signal.SIGTERM)
            assert process.wait(PATIENCE) == 0


def test_no_request_is_refused_while_the_service_is_restarted(units, survey, tmp_path):
    service = units["halftruth.service"]
    assert all_of(service, "ExecStart") == [f"{PROGRAM} serve"]
    assert (all_of(service, "Type"), all_of(service, "KillMode")) == (["notify"], ["mixed"])
    [backlog] = all_of(units["halftruth.socket"], "Backlog")
    database = f"sqlite:///{tmp_path / 'halftruth.db'}"
    with Store(database) as store:
        operations.publish_survey(store, survey)
    statuses: list[int | str] = []
    stop = threading.Event()
    with socket.create_server(("127.0.0.1", 0), backlog=int(backlog)) as held:
        url = f"http://127.0.0.1:{held.getsockname()[1]}{REPORTS}"

        def send() -> None:
            while not stop.is_set():
                report = {"id": str(uuid4()), "values": [0, 1]}
                body = json.dumps({"digest": survey.digest, "reports": [report]})
                try:
                    answer = requests.post(
                        url, data=body, headers={"Connection": "close"}, timeout=PATIENCE
                    )
                    statuses.append(answer.status_code)
                except requests.RequestException as error:
                    statuses.append(repr(error))

        senders = [threading.Thread(target=send) for _ in range(3)]
        with activated(held, database, tmp_path):
            for sender in senders:
                sender.start()
            wait_until(lambda: len(statuses) >= 20)
        # No collector is running now, and clients wait.
        before = len(statuses)
        with activated(held, database, tmp_path):
            wait_until(lambda: len(statuses) >= before + 20)
            stop.set()
            for sender in senders:
                sender.join(PATIENCE)
    assert set(statuses) == {202}
    with Store(database) as store:
        assert store.surveys.state(survey.id).reports == len(statuses)
