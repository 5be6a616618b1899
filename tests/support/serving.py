"""A collector run as in production, in separate processes."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import requests
import wire
from halftruth_collector.cli.serve import serve
from wire import PATIENCE


class Running:
    """A collector in separate processes.

    Attributes
    ----------
    url : str
    process : Popen
        The parent process.
    """

    def __init__(self, url: str, process: "subprocess.Popen[str]", log: Path) -> None:
        self.url = url
        self.process = process
        self._log = log

    def said(self) -> str:
        """Return the standard error so far."""
        return self._log.read_text()

    def workers(self) -> list[int]:
        return wire.children(self.process.pid)

    def processor_seconds(self) -> float:
        """Return the processor seconds used by the workers."""
        return wire.processor_seconds(self.workers())


def is_well(url: str) -> bool:
    return requests.get(f"{url}/healthz", timeout=PATIENCE).status_code == 200


@contextmanager
def run_collector(
    database: str, folder: Path, *options: str, program: str = "collector", **settings: Any
) -> Iterator[Running]:
    """Run a collector, or another program of its server, with one worker until the block is left.

    The command ``halftruth serve`` checks its database and becomes this process; the end-to-end
    tests cover it. Settings in lower case are passed to ``Popen``.
    """
    words = ["--port", "0", "--workers", "1", "--threads", "4", *options]
    given = serve.make_context("serve", words).params
    # Ignore settings of the environment.
    environment = {k: v for k, v in os.environ.items() if not k.startswith("HALFTRUTH_")}
    environment |= {"HALFTRUTH_DATABASE": database, "HALFTRUTH_RATE_LIMIT": "off"}
    given["program"] = program
    if program == "relay":
        given["module"] = "halftruth_relay.app"
    del given["database"]
    module = "halftruth_collector.server.serve"
    command = [sys.executable, "-m", module, json.dumps(given)]
    popen = {name: settings.pop(name) for name in list(settings) if not name.isupper()}
    environment |= {f"HALFTRUTH_{name}": str(value) for name, value in settings.items()}
    log = folder / f"{uuid4().hex}.log"
    with (
        log.open("w") as errors,
        subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=errors, text=True, env=environment, **popen
        ) as process,
    ):
        try:
            assert process.stdout is not None
            said = process.stdout.readline()
            assert "http://" in said, log.read_text()
            yield Running(said.split()[-1], process, log)
        finally:
            process.terminate()
            try:
                process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()
                raise
