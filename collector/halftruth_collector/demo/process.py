"""A collector in a process of its own, which ends with the block that uses it."""

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
    """Run ``halftruth serve`` on a free loopback port; the value is its address.

    Parameters
    ----------
    database : str
        SQLAlchemy URL.
    *options : str
        Further options of ``halftruth serve``.

    Raises
    ------
    HalftruthError
        If it does not start; what it said is on standard error.
    """
    command = [sys.executable, "-m", "halftruth_collector", "serve", "--port", "0"]
    # Every report of a demonstration comes from one address.
    environment = {**os.environ, "HALFTRUTH_RATE_LIMIT": "off"}
    with subprocess.Popen(
        [*command, "--database", database, *options],
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    ) as process:
        try:
            assert process.stdout is not None
            said = process.stdout.readline()
            if "http://" not in said:
                raise HalftruthError("the collector did not start")
            yield said.split()[-1]
        finally:
            process.terminate()
            try:
                process.wait(_GRACE)
            except subprocess.TimeoutExpired:
                process.kill()
