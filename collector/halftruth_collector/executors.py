"""Executors of independent tasks: this process, several processes, a Dask cluster.

A computation with such tasks takes a function like `map`, its default. That of an executor returns
the results in the order of the tasks, so they are the same everywhere; closing its result cancels
the tasks that wait.
"""

import logging
import multiprocessing
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from halftruth_shared import ParameterError

from .errors import WorkersLost

#: Like `map`: from a function and its arguments for each piece to the results.
Map = Callable[..., Iterator[Any]]

#: Seconds within which a scheduler has to answer.
_PATIENCE = 10

#: How often the cluster tries a piece again whose worker was lost.
_RETRIES = 5


@contextmanager
def open_executor(processes: int = 1, scheduler: str | None = None) -> Iterator[Map]:
    """Open an executor and yield its `map`.

    Parameters
    ----------
    processes : int
        Number of processes on this machine; 1 is this process itself.
    scheduler : str, optional
        Address of a Dask scheduler, whose workers have the same version of this package, instead:
        ``tls://``, or any on loopback. A worker can run any code in this process.

    Raises
    ------
    ParameterError
        If a number of processes and a scheduler are given, or Dask is not installed.
    WorkersLost
        If the scheduler does not answer, or workers ended before their tasks were done.
    """
    if scheduler is not None:
        if processes != 1:
            raise ParameterError("processes, scheduler: expected one of them", field="scheduler")
        with _cluster(scheduler) as mapped:
            yield mapped
    elif processes == 1:
        yield map
    else:
        # A server's threads and sockets are not to be inherited.
        context = multiprocessing.get_context("spawn")
        pool = ProcessPoolExecutor(processes, context)
        try:
            yield pool.map
        except BrokenProcessPool:
            raise WorkersLost(
                "processes: one of them ended before its piece was done; expected enough memory"
                " for all of them, or fewer processes"
            ) from None
        finally:
            pool.shutdown(cancel_futures=True)


@contextmanager
def _cluster(scheduler: str) -> Iterator[Map]:
    """Open the `map` of the workers of a Dask scheduler."""
    try:
        # Imported here: only a cluster's users have it.
        from distributed import Client, Security
        from distributed.client import FutureCancelledError
        from distributed.scheduler import KilledWorker
    except ImportError:
        raise ParameterError(
            "scheduler: expected Dask, which is not installed here"
            " (pip install 'halftruth-collector[cluster]')",
            field="scheduler",
        ) from None
    lost = f"scheduler: {scheduler}"
    if not scheduler.startswith("tls://") and not _on_loopback(scheduler):
        # Whatever a worker answers is unpickled here, and so can run anything.
        raise ParameterError(
            f"{lost}: expected an address like tls://host:8786, or tcp:// on this machine alone",
            field="scheduler",
        )
    security = Security()
    certified = security.get_connection_args("client").get("ssl_context") is not None
    if scheduler.startswith("tls://") and not certified:
        raise ParameterError(
            f"{lost}: expected certificates in Dask's own configuration, distributed.comm.tls",
            field="scheduler",
        )
    # What it writes of connections that end is told in one line here.
    for name in ("distributed", "distributed.client"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    try:
        client = Client(scheduler, security=security, timeout=_PATIENCE, set_as_default=False)
    except (OSError, ValueError):
        raise WorkersLost(f"{lost} does not answer") from None
    with client:
        try:
            yield client.get_executor(pure=False, retries=_RETRIES).map
        except FutureCancelledError:
            raise WorkersLost(f"{lost} went away before all pieces were done") from None
        except KilledWorker:
            raise WorkersLost(f"{lost}: its workers ended over the same piece") from None


def _on_loopback(address: str) -> bool:
    """Return whether an address with a scheme is on this machine."""
    try:
        host = urlsplit(address).hostname or ""
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
