"""Independent tasks on the workers of a Dask cluster."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from ipaddress import ip_address
from urllib.parse import urlsplit

from halftruth_collector.errors import WorkersLost
from halftruth_collector.executors import Map
from halftruth_shared import ParameterError

#: Seconds within which a scheduler has to answer.
_PATIENCE = 10

#: How often the cluster tries a piece again whose worker was lost.
_RETRIES = 5


@contextmanager
def open_cluster(scheduler: str) -> Iterator[Map]:
    """Open the `map` of the workers of a Dask scheduler.

    Parameters
    ----------
    scheduler : str
        Its address: ``tls://``, or any on loopback. Its workers have the same version of this
        package. A worker can run any code in this process.

    Raises
    ------
    ParameterError
        If Dask is not installed, or the address is not protected.
    WorkersLost
        If the scheduler does not answer, or workers ended before their tasks were done.
    """
    try:
        # Imported here: only a cluster's users have it.
        from distributed import Client, Security
        from distributed.client import FutureCancelledError
        from distributed.scheduler import KilledWorker
    except ImportError:
        raise ParameterError(
            "scheduler: expected Dask, which is not installed here"
            " (pip install 'halftruth-files[cluster]')",
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
