"""The threads that handle the requests of a worker."""

import logging
from collections import deque
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Protocol

_log = logging.getLogger(__name__)


class Task(Protocol):
    """The requests of one connection that have arrived."""

    def service(self) -> None:
        """Handle the first one."""


class LastIdleFirst:
    """Threads that handle tasks of waitress; the one that became idle last gets the next task.

    With the threads of waitress, of which the first idle one gets it, all of hundreds take turns,
    and none finds its memory in the caches of the processor. Threads are started when they are
    needed.

    Parameters
    ----------
    most : int
        Largest number of threads.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._started = 0
        self._lock = Lock()
        #: Queues of the idle threads.
        self._idle: list[SimpleQueue[Task]] = []
        #: Tasks without a thread.
        self._waiting: deque[Task] = deque()

    def add_task(self, task: Task) -> None:
        """Have a thread handle a task."""
        with self._lock:
            if self._idle:
                self._idle.pop().put(task)
                return
            self._waiting.append(task)
            if self._started == self._most:
                return
            self._started += 1
        try:
            Thread(target=self._run, daemon=True).start()
        except RuntimeError:
            # The system has no more; the task waits for another thread.
            _log.error("no thread can be started")
            with self._lock:
                self._started -= 1

    def _run(self) -> None:
        mine: SimpleQueue[Task] = SimpleQueue()
        while True:
            with self._lock:
                task = self._waiting.popleft() if self._waiting else None
                if task is None:
                    self._idle.append(mine)
            if task is None:
                task = mine.get()
            try:
                task.service()
            except BaseException as error:
                _log.error("unforeseen %s of a connection", type(error).__name__)

    def shutdown(self) -> None:
        """Do nothing: the threads end with the process."""
