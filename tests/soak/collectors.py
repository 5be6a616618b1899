"""Collectors and relays as processes that can be killed and started again at their addresses."""

import os
import random
import shutil
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Self

from processes import Broken, children, halt, members, send, until
from wire import free_port

_WORKERS = 2


class Collector:
    """One collector on a database, or a relay; as a context, it runs until the block is left."""

    def __init__(
        self,
        database: str,
        folder: Path,
        environment: Mapping[str, str] | None = None,
        *,
        words: Sequence[str] = ("serve",),
        workers: int = _WORKERS,
    ) -> None:
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        self._log = folder / f"collector-{port}.log"
        inherited = {k: v for k, v in os.environ.items() if not k.startswith("HALFTRUTH_")}
        self._environment = {
            **inherited,
            "HALFTRUTH_RATE_LIMIT": "off",
            **(environment or {}),
        }
        self._command = [
            *[sys.executable, "-m", "halftruth_collector", *words, "--port", str(port)],
            *["--workers", str(workers), "--database", database],
        ]
        self._process: subprocess.Popen[bytes] | None = None
        self._folders: set[Path] = set()

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
    def pid(self) -> int:
        """Of the process that started the workers."""
        assert self._process is not None
        return self._process.pid

    @property
    def workers(self) -> list[int]:
        """Processes that answer requests."""
        return children(self.pid)

    def stop(self) -> None:
        """Tell it to finish what it has and to end."""
        assert self._process is not None
        self._process.terminate()
        self._process.wait()

    def start(self) -> None:
        """Start it, and wait until it answers."""
        with self._log.open("ab") as log:
            # A group of its own, so that all of it can be killed at once.
            self._process = subprocess.Popen(
                self._command,
                stdout=log,
                stderr=log,
                env=self._environment,
                start_new_session=True,
            )
        until(self._answers, f"{self.url} to answer; {self._log} says why it does not")

    def kill(self) -> None:
        """End every process of it at once, without a chance to do anything more."""
        assert self._process is not None
        self._note_folders()
        os.killpg(self.pid, signal.SIGKILL)
        self._process.wait()
        until(lambda: not members(self.pid), "the collector to be dead")

    def halt(self) -> None:
        """Let every process of it stand still for good."""
        halt([self.pid])
        halt(members(self.pid))

    def kill_first(self) -> None:
        """End the process that started the workers, which then finish and go by themselves."""
        assert self._process is not None
        self._note_folders()
        self._process.kill()
        self._process.wait()
        until(lambda: not members(self.pid), "workers without a parent to go")

    def kill_worker(self, rng: random.Random) -> None:
        """End one process that answers requests, and wait until another one took its place."""
        before = set(self.workers)
        killed = rng.choice(sorted(before))
        send([killed], signal.SIGKILL)
        until(
            lambda: len(now := set(self.workers)) >= len(before) and killed not in now,
            "another worker",
        )

    def close(self) -> None:
        """End it, with whatever is left of it; all that it was to do has been looked at."""
        if self._process is None:
            return
        self._note_folders()
        send([self.pid, *members(self.pid)], signal.SIGKILL)
        self._process.wait()
        for folder in self._folders:
            shutil.rmtree(folder, ignore_errors=True)
        self._process = None

    def log(self) -> str:
        """All that it said on standard error."""
        return self._log.read_text(errors="replace")

    def last_words(self) -> str:
        """The end of its log."""
        return self._log.read_text(errors="replace")[-2_000:] if self._log.exists() else ""

    def _note_folders(self) -> None:
        """Note what it keeps in memory for its metrics and cannot remove once it is killed."""
        for pid in members(self.pid):
            self._folders |= _folders_in_memory(pid)

    def _answers(self) -> bool:
        assert self._process is not None
        if self._process.poll() is not None:
            raise Broken(f"the collector ended by itself:\n{self.last_words()}")
        try:
            with urllib.request.urlopen(f"{self.url}/healthz", timeout=5) as answer:
                return bool(answer.status == 200)
        except (urllib.error.URLError, OSError):
            return False


def _folders_in_memory(pid: int) -> set[Path]:
    """Folders of this program's own in which a process has a file open."""
    opened = set()
    with suppress(FileNotFoundError, ProcessLookupError):
        for link in Path(f"/proc/{pid}/fd").iterdir():
            with suppress(FileNotFoundError):
                opened.add(Path(os.readlink(link)).parent)
    return {folder for folder in opened if folder.name.startswith("halftruth-metrics-")}
