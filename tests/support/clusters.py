"""A local Dask cluster with worker processes."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from wire import free_port, wait_until

_HERE = Path(__file__).parent
_QUIET = ["--host", "127.0.0.1", "--no-dashboard"]


@dataclass(frozen=True)
class Cluster:
    """A scheduler with single-threaded workers, which are restarted when they end."""

    scheduler: str
    process: subprocess.Popen[bytes]

    def end_scheduler(self) -> None:
        """Kill the scheduler, as a power failure would."""
        self.process.kill()
        self.process.wait()


@contextmanager
def started(folder: Path, workers: int) -> Iterator[Cluster]:
    """Run a cluster that writes into a folder until the block is left."""
    port = free_port()
    address = f"tcp://127.0.0.1:{port}"
    with ExitStack() as stack, (folder / "cluster.log").open("wb") as log:

        def start(*arguments: str) -> subprocess.Popen[bytes]:
            process = subprocess.Popen(
                [sys.executable, "-m", "dask", *arguments, *_QUIET],
                cwd=folder,
                # The workers import the functions of pieces.py from there.
                env={**os.environ, "PYTHONPATH": str(_HERE)},
                stdout=log,
                stderr=log,
            )
            stack.callback(process.wait)
            stack.callback(process.terminate)
            return process

        scheduler = start("scheduler", "--port", str(port))
        alone = ["--nworkers", str(workers), "--nthreads", "1", "--local-directory", str(folder)]
        start("worker", address, *alone)
        said = folder / "cluster.log"
        wait_until(lambda: said.read_text().count("Register worker") >= workers)
        yield Cluster(address, scheduler)
