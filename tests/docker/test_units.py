"""The units of ``docker/systemd``, whose commands are run here as by systemd."""

import json
import os
import re
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from uuid import uuid4

import pytest
import requests
from halftruth_collector import operations
from halftruth_collector.collector_store import Store
from installed import missing, program
from wire import PATIENCE, REPORTS, wait_until

PROGRAM = "/opt/halftruth/bin/halftruth"


#: Replaces itself by a program started as by systemd: its first inherited file is number 3.
HANDING_OVER = """
import os, sys
os.dup2(int(sys.argv[1]), 3)
os.execve(sys.argv[2], sys.argv[2:], {**os.environ, "LISTEN_PID": str(os.getpid())})
"""


def unit_files(root: Path) -> list[Path]:
    kinds = (".service", ".socket", ".timer")
    return [file for file in (root / "docker/systemd").iterdir() if file.suffix in kinds]


@pytest.fixture
def units(root) -> dict[str, list[tuple[str, str]]]:
    """Return the settings of each unit in order."""
    read = {}
    for file in unit_files(root):
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
    for file in unit_files(root):
        text = file.read_text(encoding="utf-8")
        # Use an existing program and user.
        text = re.sub("^User=.*$", "User=root", text.replace(PROGRAM, "/bin/true"), flags=re.M)
        (tmp_path / file.name).write_text(text, encoding="utf-8")
    done = subprocess.run(
        [verify, "--man=no", "--recursive-errors=no", "verify", *tmp_path.iterdir()],
        capture_output=True,
        text=True,
        check=False,
    )
    said = [line for line in done.stderr.splitlines() if "halftruth" in line]
    assert (done.returncode, said) == (0, [])


def test_the_nightly_service_backs_up_purges_compacts_and_checks(units, survey, tmp_path):
    """Run its lines one after the other with the back-up folder, as systemd does."""
    database = f"sqlite:///{tmp_path / 'halftruth.db'}"
    backups = tmp_path / "backups"
    backups.mkdir(mode=0o700)

    now = datetime.now()

    def of_days_ago(days: int) -> Path:
        then = now - timedelta(days=days)
        return backups / f"{then:%Y%m%dT%H%M%S}.backup"

    with Store(database) as store:
        operations.publish_survey(store, survey)
        operations.close_survey(store, survey.id, confirm=survey.id)
        operations.back_up(store, of_days_ago(1))
    yesterday, kept, dropped = map(of_days_ago, (1, 7, 30))
    for file, days in ((kept, 7), (dropped, 30)):
        file.touch()
        subprocess.run(["touch", "--date", f"{days} days ago", file], check=True)
    environment = {
        "PATH": os.environ["PATH"],
        "HALFTRUTH_DATABASE": database,
        "STATE_DIRECTORY": str(backups),
    }

    def run(line: str) -> "subprocess.CompletedProcess[str]":
        command = line.replace("%%", "%").replace(
            PROGRAM, f"{sys.executable} -m halftruth_collector"
        )
        return subprocess.run(
            ["/bin/sh", "-c", command], env=environment, capture_output=True, text=True
        )

    lines = all_of(units["halftruth-nightly.service"], "ExecStart")
    done = [run(line) for line in lines]
    assert [each.returncode for each in done] == [0] * 5, done
    assert done[0].stdout.endswith(".backup\n")
    assert [each.stdout for each in done[2:4]] == [
        "no survey that ended 30 days ago still has ids\n",
        "compacted; arrival order erased\n",
    ]
    assert done[4].stdout.startswith(f"{yesterday} is unchanged: ")
    [made] = set(backups.iterdir()) - {kept, yesterday}
    assert stat.S_IMODE(made.stat().st_mode) == 0o600
    restored = f"sqlite:///{tmp_path / 'restored.db'}"
    with Store(restored) as store:
        assert operations.restore(store, made) > 0
        assert store.surveys.get(survey.id).digest == survey.digest
    # A damaged file fails the service.
    content = bytearray(yesterday.read_bytes())
    content[5_000] ^= 4
    yesterday.write_bytes(content)
    refused = run(lines[4])
    assert (refused.returncode, f"{yesterday} is damaged" in refused.stderr) == (2, True)
    # In the first night there is only one.
    for file in (yesterday, kept):
        file.unlink()
    assert run(lines[4]).stdout.startswith(f"{made} is unchanged: ")


#: What the service `daemon` runs instead of halftruth: prints how it was called.
SHOWING = """#!/bin/sh
id -un; pwd -P; printf '%s\\n' "$HOME" "$#" "$@"; env | grep ^HALFTRUTH_ | sort; cat
exit 7
"""


@dataclass
class Wrapper:
    """The wrapper of a service with the user `daemon`, in folders of a test."""

    folder: Path

    @property
    def home(self) -> Path:
        return self.folder / "lib" / "daemon"

    def set(self, settings: str) -> None:
        (self.folder / "etc" / "daemon.env").write_text(settings, encoding="utf-8")

    def run(self, *words: str, said: str = "", prefix: Sequence[str] = ()):
        environment = {"PATH": os.environ["PATH"], "HALFTRUTH_DATABASE": "sqlite:///of-root.db"}
        return subprocess.run(
            [*prefix, self.folder / "daemonctl", *words],
            input=said,
            env=environment,
            capture_output=True,
            text=True,
        )


@pytest.fixture
def wrapper(root) -> Iterator[Wrapper]:
    if os.geteuid() != 0:
        missing("the right of root to act as another user")
    program("setpriv")
    with tempfile.TemporaryDirectory() as name:
        made = Wrapper(Path(name))
        text = (root / "docker/systemd/halftruthctl").read_text(encoding="utf-8")
        for place, here in (("/etc/", "etc"), ("/var/lib/", "lib"), ("/opt/halftruth/bin/", ".")):
            assert text.count(place) >= 1
            text = text.replace(place, f"{made.folder / here}/")
        for file, content in (("daemonctl", text), ("halftruth", SHOWING)):
            (made.folder / file).write_text(content, encoding="utf-8")
            (made.folder / file).chmod(0o755)
        (made.folder / "etc").mkdir()
        made.home.mkdir(parents=True)
        for folder in (made.folder, made.home.parent, made.home):
            folder.chmod(0o755)
        shutil.chown(made.home, "daemon")
        yield made


def test_the_wrapper_runs_a_command_as_the_service_does(wrapper):
    database = f"sqlite:///{wrapper.home}/daemon.db"
    done = wrapper.run("survey", "publish", "a file.toml", said="typed\n")
    assert done.stdout.splitlines() == [
        *("daemon", str(wrapper.home), "/usr/sbin", "3", "survey", "publish", "a file.toml"),
        *(f"HALFTRUTH_DATABASE={database}", "typed"),
    ]
    # The status of the command is that of the wrapper.
    assert (done.returncode, done.stderr) == (7, "")


def test_the_wrapper_reads_settings_as_systemd_does(wrapper):
    wrapper.set(
        "# Settings\n; more\n\n"
        "HALFTRUTH_RATE_LIMIT=1000 per hour  \n"
        '  HALFTRUTH_A="in quotes "\n'
        "HALFTRUTH_B='$HOME `id`'\n"
        "HALFTRUTH_C=$(touch made); touch made\n"
        "HALFTRUTH_D=first\n"
        "HALFTRUTH_D= a=b\n"
        "HALFTRUTH_E=\n"
        # The last line does not end.
        "HALFTRUTH_DATABASE=postgresql://halftruth@db.example.org/halftruth"
    )
    settings = wrapper.run("serve").stdout.splitlines()[5:]
    assert settings == [
        "HALFTRUTH_A=in quotes ",
        "HALFTRUTH_B=$HOME `id`",
        "HALFTRUTH_C=$(touch made); touch made",
        "HALFTRUTH_D=a=b",
        "HALFTRUTH_DATABASE=postgresql://halftruth@db.example.org/halftruth",
        "HALFTRUTH_E=",
        "HALFTRUTH_RATE_LIMIT=1000 per hour",
    ]
    assert list(wrapper.home.iterdir()) == []


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("HALFTRUTH_A", "expected NAME=value in each line"),
        ("=secret", "expected NAME=value in each line"),
        ("export HALFTRUTH_A=secret", "expected NAME=value in each line"),
        ("HALFTRUTH-A=secret", "expected NAME=value in each line"),
        ("1A=secret", "expected NAME=value in each line"),
        ("HALFTRUTH_A=secret\\", "HALFTRUTH_A: expected a value without quotes and backslashes"),
        ('HALFTRUTH_A="secret', "HALFTRUTH_A: expected a value without quotes and backslashes"),
        ("HALFTRUTH_A='se'cret", "HALFTRUTH_A: expected a value without quotes and backslashes"),
    ],
)
def test_the_wrapper_refuses_settings_that_it_cannot_read_as_systemd_does(wrapper, line, complaint):
    wrapper.set(f"HALFTRUTH_MAX_BATCH=9\n{line}\n")
    done = wrapper.run("survey", "list")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"daemonctl: {wrapper.folder}/etc/daemon.env: {complaint}\n"


def test_the_wrapper_says_what_it_lacks(wrapper):
    as_nobody = ("setpriv", "--reuid=nobody", "--clear-groups")
    done = wrapper.run("survey", "list", prefix=as_nobody)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "daemonctl: only root can become the user daemon; expected sudo daemonctl\n"
    )
    wrapper.home.rmdir()
    done = wrapper.run("survey", "list")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        f"daemonctl: there is no folder {wrapper.home}; expected that daemon.service was started"
        " once\n"
    )
    (wrapper.folder / "daemonctl").rename(wrapper.folder / "no-servicectl")
    done = subprocess.run([wrapper.folder / "no-servicectl"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert "there is no user no-service; expected the one of no-service.service" in done.stderr


@pytest.mark.parametrize("service", ["halftruth", "halftruth-relay"])
def test_the_wrapper_has_the_places_of_its_unit(units, service):
    unit = units[f"{service}.service"]
    assert all_of(unit, "User") == [service]
    assert all_of(unit, "WorkingDirectory") == [f"/var/lib/{service}"]
    assert all_of(unit, "EnvironmentFile") == [f"-/etc/{service}.env"]
    database = f"sqlite:////var/lib/{service}/{service}.db"
    assert all_of(unit, "Environment") == [f"HALFTRUTH_DATABASE={database}", "TMPDIR=/dev/shm"]
    assert all_of(unit, "ExecStart")[0].startswith(f"{PROGRAM} ")


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
