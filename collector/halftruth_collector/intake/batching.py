"""Step 4 of the intake: group commit, in which concurrent requests share one transaction."""

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Generic, TypeVar

from ..errors import StoreUnavailable

Item = TypeVar("Item")
Outcome = TypeVar("Outcome")

#: Commits items in one transaction. Returns an outcome for each, or the error to raise for it.
Commit = Callable[[Sequence[Item]], Sequence[Outcome | Exception]]

#: Seconds to wait for further requests, if the last transaction was shared by several.
_GATHER_SECONDS = 0.001


class _Waiting(Generic[Item, Outcome]):
    """Item of a request in the queue.

    `wake_up` is a lock that is held until the request becomes the leader, or has an outcome.
    """

    __slots__ = ("is_leader", "item", "outcome", "size", "wake_up")

    def __init__(self, item: Item, size: int) -> None:
        self.item = item
        self.size = size
        self.is_leader = False
        self.outcome: Outcome | Exception | None = None
        self.wake_up = threading.Lock()
        self.wake_up.acquire()


class GroupCommit(Generic[Item, Outcome]):
    """Group commit: a queue of items that are committed in shared transactions.

    A request that arrives while no commit is running becomes the leader. It commits the items in
    the queue, including its own, in one transaction, and then makes the first request that still
    waits the next leader. So a single request does not wait, except for a millisecond after a
    shared transaction, and many concurrent requests share the cost of a commit. Every request
    returns once the transaction with its item was committed.

    Parameters
    ----------
    commit : callable
        Commits items and returns an outcome for each. If it raises StoreUnavailable, all requests
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
        self._has_leader = False
        self._was_shared = False
        self._lock = threading.Lock()

    def __call__(self, item: Item, size: int = 1) -> Outcome:
        """Commit an item with the others in the queue, and return its outcome once it is durable.

        Raises
        ------
        StoreUnavailable
            If the queue is full, or the timeout expires. If ``is_undone`` is false, the item may
            have been committed.
        """
        mine: _Waiting[Item, Outcome] = _Waiting(item, size)
        with self._lock:
            if self._queue and self._queued_size + size > self._max_queued:
                raise StoreUnavailable(
                    "the database does not keep up with what is sent", is_undone=True
                )
            self._queue.append(mine)
            self._queued_size += size
            mine.is_leader = not self._has_leader
            self._has_leader = True
            self._report_queue()
        try:
            if not mine.is_leader and not mine.wake_up.acquire(timeout=self._timeout):
                raise StoreUnavailable("the database does not answer (too many wait for it)")
            if mine.outcome is None:
                if self._was_shared:
                    # The clients of the last transaction are likely to send their next requests.
                    time.sleep(_GATHER_SECONDS)
                self._commit_group()
        except BaseException as error:
            was_queued = self._withdraw(mine)
            if isinstance(error, StoreUnavailable):
                error.is_undone = was_queued
            raise
        if isinstance(mine.outcome, Exception):
            raise mine.outcome
        assert mine.outcome is not None  # noqa: S101  every committed item has one
        return mine.outcome

    def _withdraw(self, mine: _Waiting[Item, Outcome]) -> bool:
        """Remove an item from the queue; if its request is the leader, appoint the next leader.

        Returns
        -------
        bool
            False if the item had left the queue, so that it may have been committed.
        """
        with self._lock:
            if mine not in self._queue:
                return False
            self._queue.remove(mine)
            self._queued_size -= mine.size
            self._report_queue()
            if mine.is_leader:
                self._appoint_leader()
            return True

    def _commit_group(self) -> None:
        """Commit the next group as its leader, and appoint the next leader."""
        with self._lock:
            group = self._take_group()
            self._was_shared = len(group) > 1
            self._report_queue()
        outcomes: Sequence[Outcome | Exception] = ()
        try:
            outcomes = self._commit_items([waiting.item for waiting in group])
        finally:
            # Wake up all requests of the group, even after an error.
            results = outcomes or [StoreUnavailable("the server is stopping") for _ in group]
            for waiting, outcome in zip(group, results, strict=True):
                waiting.outcome = outcome
            with self._lock:
                self._appoint_leader()
            for waiting in group:
                # The lock of the leader itself is released too, which has no effect.
                waiting.wake_up.release()

    def _appoint_leader(self) -> None:
        """Make the first request in the queue the leader of the next group."""
        self._has_leader = bool(self._queue)
        if self._has_leader:
            self._queue[0].is_leader = True
            self._queue[0].wake_up.release()

    def _take_group(self) -> list[_Waiting[Item, Outcome]]:
        """Take items from the queue, up to the largest size of a transaction."""
        group = [self._queue.popleft()]
        size = group[0].size
        while self._queue and size + self._queue[0].size <= self._max_size:
            group.append(self._queue.popleft())
            size += group[-1].size
        self._queued_size -= size
        return group

    def _commit_items(self, items: Sequence[Item]) -> Sequence[Outcome | Exception]:
        try:
            return self._commit(items)
        except StoreUnavailable as error:
            # A copy for each request, since raising an error modifies it.
            return [
                StoreUnavailable(str(error), field=error.field, is_undone=error.is_undone)
                for _ in items
            ]
        except Exception as error:
            if len(items) == 1:
                return [error]
            return [self._commit_items([item])[0] for item in items]

    def _report_queue(self) -> None:
        if self._on_queue_change is not None:
            # An error in the callback must not affect the commit.
            with suppress(Exception):
                self._on_queue_change(len(self._queue))
