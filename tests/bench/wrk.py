"""Load by wrk: single reports over keep-alive connections."""

import json
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

CONNECTIONS = 32

_SCRIPT = Path(__file__).with_name("report.lua")


@dataclass(frozen=True)
class Load:
    """Results of wrk.

    Attributes
    ----------
    sent, answered : int
        Requests; those in flight at the end are sent but not answered.
    refused : int
        Responses other than 2xx.
    broken : int
        Requests that failed or timed out.
    seconds : float
    slowest : float
        99th percentile of the latencies in seconds.
    """

    sent: int
    answered: int
    refused: int
    broken: int
    seconds: float
    slowest: float


def missing() -> str | None:
    """Return what to install, or None."""
    return None if shutil.which("wrk") else "wrk is missing: install Debian's package wrk"


def run(address: str, path: str, reports: Path, seconds: float) -> Load:
    """Send reports built by `report.lua` from a file for some whole seconds.

    Raises
    ------
    RuntimeError
        If a request was refused or not answered.
    """
    command = ["wrk", "--threads", "1", "--connections", str(CONNECTIONS), "--timeout", "10s"]
    said = subprocess.run(
        [*command, "--duration", f"{seconds}s", "--script", _SCRIPT, address + path, "--", reports],
        capture_output=True,
        check=True,
        text=True,
    )
    load = Load(**json.loads(said.stdout.splitlines()[-1]))
    if load.refused or load.broken or not load.answered:
        raise RuntimeError(f"{address}{path} did not take every report: {load}")
    return load
