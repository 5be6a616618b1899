"""Run a collector in a separate process for the duration of a block."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from halftruth_shared import HalftruthError

#: Seconds for open requests to finish.
_GRACE = 15


@contextmanager
def collector_process(database: str, *options: str) -> Iterator[str]:
    """Run ``halftruth serve`` on a free loopback port, and yield its address.

    Parameters
    ----------
    database : str
        SQLAlchemy URL.
    *options : str
        Further options of ``halftruth serve``.

    Raises
    ------
    HalftruthError
        If it does not start; its messages are on standard error.
    """
    command = [sys.executable, "-m", "halftruth_collector", "serve", "--port", "0"]
    # All reports of the demonstration come from one address.
    environment = {**os.environ, "HALFTRUTH_RATE_LIMIT": "off"}
    with subprocess.Popen(
        [*command, "--database", database, *options],
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    ) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            if "http://" not in line:
                raise HalftruthError("the collector did not start")
            yield line.split()[-1]
        finally:
            process.terminate()
            try:
                process.wait(_GRACE)
            except subprocess.TimeoutExpired:
                process.kill()
