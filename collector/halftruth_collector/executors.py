"""Where the independent pieces of a computation are worked out: here, in processes, on a cluster.

A computation that has such pieces takes an executor of the standard library's interface, and only
calls its ``map``: results come in the order of the pieces, so they are the same wherever these were
worked out, and closing what ``map`` returned cancels the pieces that wait.
"""

import logging
import multiprocessing
from collections.abc import Callable, Iterable, Iterator, Sized
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Any, TypeVar

from halftruth_shared import ParameterError

from .errors import WorkersLost

T = TypeVar("T")

#: Seconds within which a scheduler has to answer.
_PATIENCE = 10

#: How often the cluster tries a piece again whose worker was lost.
_RETRIES = 5


class Here(Executor):
    """Works out one piece after the other in this process, each when its result is asked for."""

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        """Work it out at once."""
        future: Future[T] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:  # whoever asks for the result hears of it
            future.set_exception(error)
        return future

    def map(
        self,
        fn: Callable[..., T],
        *iterables: Iterable[Any],
        timeout: float | None = None,
        chunksize: int = 1,
    ) -> Iterator[T]:
        """The results, each worked out when it is asked for."""
        return map(fn, *iterables)


#: The executor that computations have by default.
HERE = Here()


class Told(Executor):
    """Another executor, of which is told how many of the pieces are done.

    Parameters
    ----------
    executor : Executor
    bar : callable
        From results and their number to the same results, such as tqdm.
    """

    def __init__(self, executor: Executor, bar: Callable[[Iterator[Any], int], Iterable[Any]]):
        self._executor = executor
        self._bar = bar

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        """As the other one does."""
        return self._executor.submit(fn, *args, **kwargs)

    def map(
        self,
        fn: Callable[..., T],
        *iterables: Iterable[Any],
        timeout: float | None = None,
        chunksize: int = 1,
    ) -> Iterator[T]:
        """The other one's results."""
        pieces = [given if isinstance(given, Sized) else list(given) for given in iterables]
        results = self._executor.map(fn, *pieces, timeout=timeout, chunksize=chunksize)
        yield from self._bar(results, min(map(len, pieces)))


@contextmanager
def opened(processes: int = 1, scheduler: str | None = None) -> Iterator[Executor]:
    """An executor, for as long as it is needed.

    Parameters
    ----------
    processes : int
        Processes of this machine, at least 1; 1 is this process itself.
    scheduler : str, optional
        Address of a Dask scheduler, whose workers have the same version of this package, instead.

    Raises
    ------
    ParameterError
        If a number of processes and a scheduler are given, or Dask is not installed.
    WorkersLost
        If the scheduler does not answer, or workers ended before their pieces were done.
    """
    if scheduler is not None:
        if processes != 1:
            raise ParameterError("processes, scheduler: expected one of them", field="scheduler")
        with _cluster(scheduler) as executor:
            yield executor
    elif processes == 1:
        yield HERE
    else:
        # A server's threads and sockets are not to be inherited.
        context = multiprocessing.get_context("spawn")
        pool = ProcessPoolExecutor(processes, context)
        try:
            yield pool
        except BrokenProcessPool:
            raise WorkersLost(
                "processes: one of them ended before its piece was done; expected enough memory"
                " for all of them, or fewer processes"
            ) from None
        finally:
            pool.shutdown(cancel_futures=True)


@contextmanager
def _cluster(scheduler: str) -> Iterator[Executor]:
    """Workers of a Dask scheduler."""
    try:
        # Imported here: only a cluster's users have it.
        from distributed import Client
        from distributed.client import FutureCancelledError
        from distributed.scheduler import KilledWorker
    except ImportError:
        raise ParameterError(
            "scheduler: expected Dask, which is not installed here"
            " (pip install 'halftruth-collector[cluster]')",
            field="scheduler",
        ) from None
    lost = f"scheduler: {scheduler}"
    if "://" not in scheduler:
        raise ParameterError(f"{lost}: expected an address like tcp://host:8786", field="scheduler")
    # What it writes of connections that end is told in one line here.
    for name in ("distributed", "distributed.client"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    try:
        client = Client(scheduler, timeout=_PATIENCE, set_as_default=False)
    except (OSError, ValueError):
        raise WorkersLost(f"{lost} does not answer") from None
    with client:
        try:
            yield client.get_executor(pure=False, retries=_RETRIES)
        except FutureCancelledError:
            raise WorkersLost(f"{lost} went away before all pieces were done") from None
        except KilledWorker:
            raise WorkersLost(f"{lost}: its workers ended over the same piece") from None
