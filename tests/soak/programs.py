"""Servers that can be suspended, killed and restarted at the same address."""

import os
import pwd
import random
import re
import shutil
import signal
import sqlite3
import ssl
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, Self, TypeVar

import psutil
import psycopg
from promise import Broken, Query, read
from proxies import nginx_files
from wire import free_port

T = TypeVar("T")

#: Timeout in seconds of all waits.
PATIENCE = 120.0

#: The user who runs PostgreSQL if the suite runs as root, which PostgreSQL refuses.
_USER = "postgres"

_SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "shared_buffers": "16MB",
    "max_connections": "60",
    # Shared memory in files of its folder, which are removed with it.
    "dynamic_shared_memory_type": "mmap",
    # Without recycled files the log grows, so that a full disk has an effect.
    "wal_recycle": "off",
    "max_wal_size": "8MB",
    "min_wal_size": "2MB",
}


class NotRun(Exception):
    """A requirement of the scenario is missing on this machine."""


def until(happened: Callable[[], bool], what: str) -> None:
    """Wait for a condition; raise Broken with its name on a timeout."""
    end = time.monotonic() + PATIENCE
    while not happened():
        if time.monotonic() > end:
            raise Broken(f"waited {PATIENCE:g} s in vain for {what}")
        time.sleep(0.01)


def run(*command: str | Path, **options: Any) -> None:
    """Run a command; raise NotRun if it is not installed."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    except FileNotFoundError as missing:
        raise NotRun(f"{missing.filename} is missing") from None
    if done.returncode != 0:
        raise NotRun(f"{command[0]} failed: {done.stderr.strip()}")


class Program:
    """A server with its children; as a context manager, it runs until the block is left."""

    def __init__(self, command: Sequence[str | Path], log: Path, **options: Any) -> None:
        self._command, self._log, self._options = command, log, options
        self._process: psutil.Popen | None = None

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def runs(self) -> bool:
        """Whether the process has not ended."""
        return self._process is not None and self._process.poll() is None

    @property
    def family(self) -> list[psutil.Process]:
        """The first process and all its descendants."""
        return [self._process, *self._process.children(recursive=True)]

    def log(self) -> str:
        """Return the standard error."""
        return self._log.read_text(errors="replace") if self._log.exists() else ""

    def start(self) -> None:
        """Start the server, and wait until it answers."""
        with self._log.open("ab") as log:
            self._process = psutil.Popen(
                self._command, stdout=log, stderr=log, start_new_session=True, **self._options
            )
        until(self.answers, f"an answer; {self._log} says why there is none")

    def answers(self) -> bool:
        if not self.runs:
            raise Broken(f"{self._command[0]} ended by itself:\n{self.log()[-2_000:]}")
        try:
            self.connect()
        except (OSError, psycopg.OperationalError):
            return False
        return True

    def connect(self) -> None:
        """Raise an error if the server does not answer."""
        raise NotImplementedError

    def stop(self, number: signal.Signals = signal.SIGTERM) -> None:
        """Ask the server to finish its work and end."""
        self._process.send_signal(number)
        until(lambda: not self.runs, f"{self._command[0]} to stop")

    def halt(self) -> list[psutil.Process]:
        """Suspend all processes, the first one first, so that it starts no other."""
        self._process.suspend()
        family = self.family
        for each in family:
            with suppress(psutil.NoSuchProcess):
                each.suspend()
        until(lambda: all(state in "TDZX" for p in family for state in _states(p)), "them to halt")
        return family

    def kill(self) -> None:
        """Kill all processes at once."""
        family = self.halt()
        self._clean_up_after(family)
        for each in family:
            with suppress(psutil.NoSuchProcess):
                each.kill()
        self._process.wait()
        _wait_for(family)

    def restart(self) -> None:
        """Kill the server and start it again."""
        self.kill()
        self.start()

    def close(self) -> None:
        """End the server and all remaining processes."""
        if self.runs:
            self.kill()
        elif self._process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)

    def _clean_up_after(self, family: list[psutil.Process]) -> None:
        """Record resources that killed processes cannot remove."""


def _states(process: psutil.Process) -> Iterator[str]:
    """Yield the states of the threads of a process."""
    for file in Path(f"/proc/{process.pid}/task").glob("*/stat"):
        with suppress(FileNotFoundError, ProcessLookupError):
            yield file.read_text().rpartition(")")[2].split()[0]


def _wait_for(processes: list[psutil.Process]) -> None:
    if psutil.wait_procs(processes, PATIENCE)[1]:
        raise Broken("processes that were to end go on")


class Collector(Program):
    """A collector on a database, or a relay."""

    def __init__(
        self,
        database: str,
        folder: Path,
        environment: Mapping[str, str],
        words: Sequence[str] = ("serve",),
        workers: int = 2,
    ) -> None:
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        self._folders: set[Path] = set()
        inherited = {k: v for k, v in os.environ.items() if not k.startswith("HALFTRUTH_")}
        super().__init__(
            [
                *[sys.executable, "-m", "halftruth_collector", *words, "--port", str(port)],
                *["--workers", str(workers), "--database", database],
            ],
            folder / f"collector-{port}.log",
            env={**inherited, "HALFTRUTH_RATE_LIMIT": "off", **environment},
        )

    def connect(self) -> None:
        urllib.request.urlopen(f"{self.url}/healthz", timeout=5).close()

    def kill_first(self) -> None:
        """Kill the parent process of the workers, which then finish and end on their own."""
        first, *workers = self.family
        self._clean_up_after([first, *workers])
        first.kill()
        first.wait()
        _wait_for(workers)

    def kill_worker(self, rng: random.Random) -> None:
        """Kill one worker, and wait until it is replaced."""
        before = self._process.children()
        killed = rng.choice(before)
        killed.kill()
        until(
            lambda: len(now := self._process.children()) >= len(before) and killed not in now,
            "another worker",
        )

    def close(self) -> None:
        super().close()
        for folder in self._folders:
            shutil.rmtree(folder, ignore_errors=True)

    def _clean_up_after(self, family: list[psutil.Process]) -> None:
        """Record the folders of metrics in memory."""
        for each in family:
            with suppress(psutil.NoSuchProcess):
                folders = {Path(file.path).parent for file in each.open_files()}
                self._folders |= {f for f in folders if f.name.startswith("halftruth-metrics-")}


class Sqlite:
    """A database file, which need not exist yet."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.url = f"sqlite:///{path}"

    def read(self, of: Callable[[Query], T] = read) -> T:
        """Read the contents, by default those of a collector."""
        with closing(sqlite3.connect(self._path, isolation_level=None)) as connection:
            connection.execute("BEGIN")
            return of(connection.execute)

    def settle(self) -> None:
        """Wait until no transaction is being committed; here commits end with their process."""

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the write lock, as another program would, until the block is left."""
        with closing(sqlite3.connect(self._path, isolation_level=None, timeout=60)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield
            finally:
                connection.execute("ROLLBACK")


#: Locks the tables of reports against a compaction, in its order.
_LOCKED = (
    "LOCK TABLE invitations, report_ids, cells, daily_outcomes, relay_ids, relay_reports"
    " IN ACCESS SHARE MODE"
)


class Postgres(Program):
    """A PostgreSQL server with one empty database; without `synced`, commits do not sync."""

    def __init__(self, folder: Path, log: Path, *, synced: bool = True) -> None:
        self._data, port, who = folder / "data", free_port(), {}
        if os.geteuid() == 0:
            try:
                user = pwd.getpwnam(_USER)
            except KeyError:
                raise NotRun(f"PostgreSQL does not run as root, and no user is {_USER}") from None
            os.chown(folder, user.pw_uid, user.pw_gid)
            who = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
        self.url = f"postgresql://{_USER}@127.0.0.1:{port}/postgres"
        self._programs = _find_postgres()
        settings = {**_SETTINGS, "fsync": "on" if synced else "off"}
        given = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        command = [self._programs / "postgres", "-D", self._data, "-p", str(port), *given]
        super().__init__(command, log, cwd="/", **who)

    def __enter__(self) -> Self:
        run(
            *[self._programs / "initdb", "-D", self._data, "-U", _USER, "--auth=trust"],
            *["--encoding=UTF8", "--locale=C", "--wal-segsize=1", "--no-sync"],
            **self._options,
        )
        return super().__enter__()

    def connect(self) -> None:
        psycopg.connect(self.url, connect_timeout=5).close()

    def recover(self) -> None:
        """Wait until it accepts connections again; restart it if it has ended."""

        def recovered() -> bool:
            if not self.runs:
                self.start()
            return self.answers()

        until(recovered, "PostgreSQL to recover")

    def pause(self, seconds: float) -> None:
        """Suspend all processes for some time."""
        family = self.halt()
        try:
            time.sleep(seconds)
        finally:
            for each in family:
                with suppress(psutil.NoSuchProcess):
                    each.resume()

    def read(self, of: Callable[[Query], T] = read) -> T:
        """Read the contents of the database, by default those of a collector."""
        with psycopg.connect(self.url) as connection:
            connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
            # A snapshot from before a compaction would show empty tables after it.
            connection.execute(_LOCKED)
            return of(lambda statement: connection.execute(statement.encode()))

    def settle(self) -> None:
        """Wait until no transaction is being committed, including those of disconnected clients."""
        busy = (
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
            " AND pid <> pg_backend_pid() AND state <> 'idle'"
        )
        with psycopg.connect(self.url, autocommit=True) as connection:
            until(lambda: connection.execute(busy).fetchone() == (0,), "PostgreSQL to have settled")

    def close(self) -> None:
        """End the server, and remove the shared memory named by its lock file."""
        super().close()
        file = self._data / "postmaster.pid"
        if file.exists():
            lines = file.read_text().splitlines()
            if len(lines) > 6 and len(words := lines[6].split()) == 2:
                subprocess.run(["ipcrm", "-m", words[1]], capture_output=True, check=False)
            file.unlink()


def _find_postgres() -> Path:
    """Return the folder of the newest installed PostgreSQL."""
    installed = sorted(
        Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3])
    )
    found = installed[-1] if installed else shutil.which("initdb")
    if found is None:
        raise NotRun("PostgreSQL is missing (Debian package postgresql)")
    return Path(found).resolve().parent


class Nginx(Program):
    """The nginx.conf of docker/ in front of several collectors."""

    def __init__(self, folder: Path, urls: list[str]) -> None:
        program = shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin")
        if program is None:
            raise NotRun("nginx is missing (Debian package nginx-light)")
        self._port, self._folder = free_port(), folder
        self.url = f"https://127.0.0.1:{self._port}"
        #: The certificate that clients trust.
        self.certificate = folder / "tls.crt"
        servers = [url.removeprefix("http://") for url in urls]
        root = Path(__file__).parents[2]
        # Log all requests, not only those of operators.
        changes = {" if=$halftruth_logged": ""}
        main, _ = nginx_files(root, folder, free_port(), self._port, servers, changes)
        super().__init__([program, "-c", main, "-p", folder], folder / "nginx.log")

    def connect(self) -> None:
        ssl.get_server_certificate(("127.0.0.1", self._port), ca_certs=str(self.certificate))

    def passed_on(self) -> int:
        """Return the number of requests retried at another collector."""
        return len(re.findall(r"\d{3}, \d{3}$", (self._folder / "log").read_text(), re.M))

    def failed(self) -> list[str]:
        """Return the log lines of requests that no collector answered."""
        return re.findall(r"^.* 50\d \S+s .*$", (self._folder / "log").read_text(), re.M)
