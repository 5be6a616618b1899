"""The processes of a server: workers, which are replaced when they end, and their parent."""

import logging
import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress

#: Named explicitly, because the server runs as a program.
_log = logging.getLogger("halftruth_collector.server.processes")

#: Seconds that open requests have to finish when a worker ends, and further ones until it is
#: killed.
GRACE, _PATIENCE = 30, 5

#: Seconds after which a worker is replaced that ends at once.
_PAUSE = 1

_STOP = frozenset([signal.SIGTERM, signal.SIGINT])
_SIGNALS = _STOP | {signal.SIGHUP, signal.SIGUSR2, signal.SIGCHLD}


class Processes:
    """A number of workers, and this process, which waits for signals.

    SIGHUP replaces all workers, SIGUSR2 starts another server, SIGTERM and SIGINT end all workers.
    Each worker has the reading end of a pipe, and is to end when this reaches its end: because
    this process closed the writing end, or because it was killed.

    Parameters
    ----------
    number : int
    work : callable
        Called in each worker with its reading end.
    upgrade : callable
        Called in another process, which it turns into another server.
    ended : callable
        Called with the id of each process that has ended.
    """

    def __init__(
        self,
        number: int,
        *,
        work: Callable[[int], None],
        upgrade: Callable[[], None],
        ended: Callable[[int], None],
    ) -> None:
        self._number = number
        self._work = work
        self._upgrade = upgrade
        self._ended = ended
        #: Writing ends by the process id of the worker; None after the worker was told to end.
        self._workers: dict[int, int | None] = {}

    def start(self) -> None:
        """Start the workers."""
        for number in _SIGNALS:
            # The first process of a container ignores a signal without a handler.
            signal.signal(number, _do_nothing)
        signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
        self._complete()

    def keep(self) -> None:
        """Keep the workers running until this process is told to stop."""
        while (received := signal.sigwait(_SIGNALS)) not in _STOP:
            if received == signal.SIGHUP:
                self._end_workers()
            elif received == signal.SIGUSR2:
                _fork(self._upgrade)
            self._reap()
            self._complete()

    def end(self) -> None:
        """End the workers."""
        self._end_workers()
        last = time.monotonic() + GRACE + _PATIENCE
        while self._workers and (seconds := last - time.monotonic()) > 0:
            signal.sigtimedwait([signal.SIGCHLD], seconds)
            self._reap()
        for pid in self._workers:
            os.kill(pid, signal.SIGKILL)

    def _complete(self) -> None:
        """Start the workers that are missing."""
        working = [told for told in self._workers.values() if told is not None]
        for _ in range(self._number - len(working)):
            reading, writing = os.pipe()
            # A worker that had the writing end of a pipe would keep it from reaching its end.
            others = [writing, *working]
            self._workers[_fork(lambda: self._run_worker(reading, others))] = writing  # noqa: B023
            os.close(reading)
            working.append(writing)

    def _run_worker(self, reading: int, others: list[int]) -> None:
        for each in others:
            os.close(each)
        for number in (*_STOP, signal.SIGHUP):
            # A terminal and some supervisors send these to all processes.
            signal.signal(number, signal.SIG_IGN)
        self._work(reading)

    def _end_workers(self) -> None:
        """Tell all workers to end."""
        for pid, told in self._workers.items():
            if told is not None:
                os.close(told)
                self._workers[pid] = None

    def _reap(self) -> None:
        """Forget the processes that have ended."""
        with suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG)) != (0, 0):
                pid, status = ended
                told = self._workers.pop(pid, None)
                if told is not None:
                    os.close(told)
                    code = os.waitstatus_to_exitcode(status)
                    _log.error("a worker ended with status %d, and another one is started", code)
                    # Do not start one after the other if none can work.
                    time.sleep(_PAUSE)
                self._ended(pid)


def _fork(work: Callable[[], None]) -> int:
    """Run a function in another process, which ends with it; return its id."""
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        for number in _SIGNALS:
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
        work()
        status = 0
    except Exception:
        _log.exception("a process failed")
    finally:
        logging.shutdown()
        os._exit(status)


def _do_nothing(*_: object) -> None:
    """Handle a signal that is waited for."""
