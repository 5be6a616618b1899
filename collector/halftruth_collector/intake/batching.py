"""Step 4 of the intake: group commit, in which concurrent requests share one transaction."""

import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from ..errors import StoreUnavailable

Item = TypeVar("Item")
Outcome = TypeVar("Outcome")

#: Commits items in one transaction: calls a function for them once it has begun, and returns an
#: outcome for each, or the error to raise for it.
Commit = Callable[[Callable[[], Sequence[Item]]], Sequence[Outcome | Exception]]

#: Seconds without requests after which the thread that commits ends.
_IDLE_SECONDS = 5.0


@dataclass(eq=False)
class _Waiting(Generic[Item, Outcome]):
    """Item of a request in the queue."""

    item: Item
    size: int
    outcome: Future[Outcome] = field(default_factory=Future)


class GroupCommit(Generic[Item, Outcome]):
    """Group commit: a queue of items that one thread commits in shared transactions.

    The thread commits all items in the queue in one transaction, while further items arrive, so
    that many concurrent requests share the cost of a commit. With several processes on SQLite,
    which has one writer, a transaction has the items that arrive until it begins. Every request
    returns once the transaction with its item was committed.

    Parameters
    ----------
    commit : callable
        Begins a transaction, calls its argument for the items, commits them, and returns an outcome
        for each. If it raises StoreUnavailable, all requests
        of the group get that error. After any other error each item is committed alone, so that an
        invalid item does not affect the other requests.
    max_size : int
        Largest total size of the items of one transaction; a single item may be larger.
    max_queued : int
        Largest total size of the queue (back-pressure); an item always fits into an empty queue.
    timeout : float
        Seconds after which a waiting request gives up.
    on_queue_change : callable, optional
        Called with the length of the queue whenever it changes.
    """

    def __init__(
        self,
        commit: Commit[Item, Outcome],
        *,
        max_size: int,
        max_queued: int,
        timeout: float,
        on_queue_change: Callable[[int], object] | None = None,
    ) -> None:
        self._commit = commit
        self._max_size = max_size
        self._max_queued = max_queued
        self._timeout = timeout
        self._on_queue_change = on_queue_change
        self._queue: deque[_Waiting[Item, Outcome]] = deque()
        self._queued_size = 0
        self._thread: threading.Thread | None = None
        self._due = threading.Condition(threading.Lock())

    def __call__(self, item: Item, size: int = 1) -> Outcome:
        """Commit an item with the others in the queue, and return its outcome once it is durable.

        Parameters
        ----------
        item : Item
        size : int

        Raises
        ------
        StoreUnavailable
            If the queue is full, or the timeout expires. If ``is_undone`` is false, the item may
            have been committed.
        """
        mine: _Waiting[Item, Outcome] = _Waiting(item, size)
        with self._due:
            if self._queue and self._queued_size + size > self._max_queued:
                raise StoreUnavailable(
                    "the database does not keep up with what is sent", is_undone=True
                )
            self._queue.append(mine)
            self._queued_size += size
            self._report_queue()
            self._start()
        try:
            outcome = mine.outcome.result(self._timeout)
        except BaseException as error:
            if not mine.outcome.done():
                is_undone = self._withdraw(mine)
                if isinstance(error, TimeoutError):
                    raise StoreUnavailable(
                        "the database does not answer (too many wait for it)", is_undone=is_undone
                    ) from None
            elif isinstance(error, TimeoutError):
                # Its transaction has ended just now, or the error is that of its commit.
                return mine.outcome.result()
            raise
        return outcome

    def _start(self) -> None:
        """Have the thread commit what is in the queue; called with the lock."""
        # A thread is not alive either in a process that was forked from that of the thread.
        if self._thread is None or not self._thread.is_alive():
            self._thread = threading.Thread(target=self._commit_groups, daemon=True)
            self._thread.start()
        self._due.notify()

    def _withdraw(self, mine: _Waiting[Item, Outcome]) -> bool:
        """Remove an item from the queue.

        Returns
        -------
        bool
            False if the item had left the queue, so that it may have been committed.
        """
        with self._due:
            if mine not in self._queue:
                return False
            self._queue.remove(mine)
            self._queued_size -= mine.size
            self._report_queue()
            return True

    def _commit_groups(self) -> None:
        """Commit groups until the queue is empty for some seconds."""
        while True:
            with self._due:
                if not self._due.wait_for(lambda: self._queue, _IDLE_SECONDS):
                    self._thread = None
                    return
            self._commit_group()

    def _commit_group(self) -> None:
        """Commit the items that are in the queue once a transaction has begun."""
        group: list[_Waiting[Item, Outcome]] = []

        def take() -> Sequence[Item]:
            if not group:
                with self._due:
                    group.extend(self._take_group())
            return [waiting.item for waiting in group]

        for waiting, outcome in zip(group, self._commit_items(take), strict=True):
            if isinstance(outcome, Exception):
                waiting.outcome.set_exception(outcome)
            else:
                waiting.outcome.set_result(outcome)

    def _commit_items(self, take: Callable[[], Sequence[Item]]) -> Sequence[Outcome | Exception]:
        try:
            return self._commit(take)
        except StoreUnavailable as error:
            # A copy for each request, since raising an error modifies it.
            return [copy(error) for _ in take()]
        except Exception as error:
            if len(items := take()) == 1:
                return [error]
            return [self._commit_alone(item) for item in items]

    def _commit_alone(self, item: Item) -> Outcome | Exception:
        return self._commit_items(lambda: [item])[0]

    def _take_group(self) -> list[_Waiting[Item, Outcome]]:
        """Take items from the queue, up to the largest size of a transaction."""
        group: list[_Waiting[Item, Outcome]] = []
        size = 0
        while self._queue and (not group or size + self._queue[0].size <= self._max_size):
            group.append(self._queue.popleft())
            size += group[-1].size
        self._queued_size -= size
        self._report_queue()
        return group

    def _report_queue(self) -> None:
        if self._on_queue_change is not None:
            # An error in the callback must not affect the commit.
            with suppress(Exception):
                self._on_queue_change(len(self._queue))
