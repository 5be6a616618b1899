"""Processes of this suite: found by their parent or group, waited for, ended by their numbers."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

#: Seconds after which something that should have happened will not happen any more.
PATIENCE = 120.0


class Broken(Exception):
    """The promise, or something that the suite needs, does not hold."""


class NotRun(Exception):
    """This machine lacks what a scenario needs."""


class _Process(NamedTuple):
    pid: int
    state: str
    parent: int
    group: int


def until(happened: Callable[[], bool], what: str, seconds: float = PATIENCE) -> None:
    """Wait for something; Broken, saying what, if it does not happen."""
    end = time.monotonic() + seconds
    while not happened():
        if time.monotonic() > end:
            raise Broken(f"waited {seconds:g} s in vain for {what}")
        time.sleep(0.01)


def children(pid: int) -> list[int]:
    """Processes that this one started and that still run."""
    return [found.pid for found in _processes() if found.parent == pid and found.state not in "ZX"]


def members(group: int) -> list[int]:
    """Processes of a group that still run."""
    return [found.pid for found in _processes() if found.group == group and found.state not in "ZX"]


def resident(pids: list[int]) -> int:
    """Bytes of memory that these processes hold together."""
    total = 0
    for pid in pids:
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                total += 1024 * int(line.split()[1])
    return total


def send(pids: list[int], number: signal.Signals) -> None:
    """Send a signal to those of these processes that still run."""
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            continue


def halt(pids: list[int]) -> None:
    """Let none of these processes do anything more but finish what it asked the system for."""
    send(pids, signal.SIGSTOP)
    until(lambda: all(state in "TDZX" for pid in pids for state in _threads(pid)), "them to halt")


def running(pids: list[int]) -> bool:
    """Whether any of these processes still runs."""
    return any(found.pid in pids and found.state not in "ZX" for found in _processes())


def _threads(pid: int) -> list[str]:
    """States of the threads of a process."""
    states = []
    for file in Path(f"/proc/{pid}/task").glob("*/stat"):
        with suppress(FileNotFoundError, ProcessLookupError):
            states.append(file.read_text().rpartition(")")[2].split()[0])
    return states


def _processes() -> Iterator[_Process]:
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            # The name in parentheses may hold anything, a parenthesis too.
            rest = (folder / "stat").read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        yield _Process(int(folder.name), rest[0], int(rest[1]), int(rest[2]))
