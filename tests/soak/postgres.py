"""PostgreSQL: a cluster of this suite's own, which can be killed, stopped and halted."""

import os
import pwd
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self, TypeVar

import psycopg
from processes import Broken, NotRun, children, halt, running, send, until
from reading import Query, read
from wire import free_port

T = TypeVar("T")

#: Who runs the server where root runs the suite: PostgreSQL refuses to be root.
_USER = "postgres"

_SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "shared_buffers": "16MB",
    "max_connections": "60",
    # Everything it leaves when it is killed is in its folder, and goes with it.
    "dynamic_shared_memory_type": "mmap",
    # The log grows as it is written, so that a full disk is noticed where it matters.
    "wal_recycle": "off",
    "max_wal_size": "8MB",
    "min_wal_size": "2MB",
}


class Cluster:
    """A server with one empty database; as a context, it runs until the block is left."""

    name = "PostgreSQL"

    def __init__(self, folder: Path, log: Path, *, synced: bool = True) -> None:
        self._settings = {**_SETTINGS, "fsync": "on" if synced else "off"}
        self._programs = _programs()
        self._data = folder / "data"
        self._log = log
        self._port = free_port()
        self._who: dict[str, Any] = {}
        if os.geteuid() == 0:
            try:
                user = pwd.getpwnam(_USER)
            except KeyError:
                raise NotRun(f"PostgreSQL does not run as root, and no user is {_USER}") from None
            os.chown(folder, user.pw_uid, user.pw_gid)
            self._who = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
        self.url = f"postgresql://{_USER}@127.0.0.1:{self._port}/postgres"
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        try:
            self._create()
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def start(self) -> None:
        """Start it, and wait until it takes connections."""
        settings = [part for k, v in self._settings.items() for part in ("-c", f"{k}={v}")]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [self._programs / "postgres", "-D", self._data, "-p", str(self._port), *settings],
                stdout=log,
                stderr=log,
                cwd="/",
                start_new_session=True,
                **self._who,
            )
        until(self._answers, "PostgreSQL to take connections")

    @property
    def runs(self) -> bool:
        """Whether it has not ended by itself."""
        return self._process is not None and self._process.poll() is None

    def recover(self) -> None:
        """Wait until it takes connections again; start it if it ended by itself."""

        def recovered() -> bool:
            if not self.runs:
                self.start()
            return self._answers()

        until(recovered, "PostgreSQL to recover")

    def kill(self) -> None:
        """End every process of it at once, without a chance to write anything more."""
        assert self._process is not None
        pids = self.halt()
        send(pids, signal.SIGKILL)
        self._process.wait()
        until(lambda: not running(pids), "PostgreSQL to be dead")

    def stop(self) -> None:
        """Let it roll back what is open and end in order."""
        assert self._process is not None
        self._process.send_signal(signal.SIGINT)
        until(lambda: not self.runs, "PostgreSQL to stop")

    def pause(self, seconds: float) -> None:
        """Let every process of it stand still for so long."""
        pids = self.halt()
        try:
            time.sleep(seconds)
        finally:
            send(pids, signal.SIGCONT)

    def read(self, of: Callable[[Query], T] = read) -> T:
        """What the database holds: of a collector, unless something else is asked for."""
        with psycopg.connect(self.url) as connection:
            connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
            return of(lambda statement: connection.execute(statement.encode()))

    def settle(self) -> None:
        """Wait until nothing is being committed any more, for clients that are gone either."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            busy = (
                "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
                " AND pid <> pg_backend_pid() AND state <> 'idle'"
            )
            until(lambda: connection.execute(busy).fetchone() == (0,), "PostgreSQL to have settled")

    def close(self) -> None:
        """End it; nothing of it is left but its folder."""
        if self.runs:
            self.kill()
        self._process = None
        self._forget()

    def last_words(self) -> str:
        """The end of its log."""
        return self._log.read_text(errors="replace")[-2_000:] if self._log.exists() else ""

    def _create(self) -> None:
        done = subprocess.run(
            [
                *[self._programs / "initdb", "-D", self._data, "-U", _USER, "--auth=trust"],
                *["--encoding=UTF8", "--locale=C", "--wal-segsize=1", "--no-sync"],
            ],
            capture_output=True,
            text=True,
            check=False,
            cwd="/",
            **self._who,
        )
        if done.returncode != 0:
            raise Broken(f"initdb failed: {done.stderr.strip()}")

    def _answers(self) -> bool:
        if not self.runs:
            raise Broken(f"PostgreSQL ended by itself:\n{self.last_words()}")
        try:
            psycopg.connect(self.url, connect_timeout=5).close()
        except psycopg.OperationalError:
            return False
        return True

    def halt(self) -> list[int]:
        """Halt all processes, which are returned: the first first, so that it starts no other."""
        assert self._process is not None
        first = self._process.pid
        halt([first])
        pids = [first, *children(first)]
        halt(pids)
        return pids

    def _forget(self) -> None:
        """Remove the shared memory of a server that was killed; its lock file names it."""
        file = self._data / "postmaster.pid"
        if self.runs or not file.exists():
            return
        lines = file.read_text().splitlines()
        if len(lines) > 6 and len(words := lines[6].split()) == 2:
            subprocess.run(["ipcrm", "-m", words[1]], capture_output=True, check=False)
        file.unlink()


def _programs() -> Path:
    """The folder of the newest PostgreSQL here."""
    installed = sorted(
        Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3])
    )
    if installed:
        return installed[-1].parent
    found = shutil.which("initdb")
    if found is None:
        raise NotRun("PostgreSQL is missing (Debian package postgresql)")
    return Path(found).resolve().parent
