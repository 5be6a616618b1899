"""The fourth step of a report's way in: concurrent requests share a transaction (group commit)."""

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Generic, TypeVar

from ..errors import StoreUnavailable

Item = TypeVar("Item")
Outcome = TypeVar("Outcome")

#: What a transaction makes of each item: its outcome, or the error to raise for it alone.
Commit = Callable[[Sequence[Item]], Sequence[Outcome | Exception]]

#: Seconds for which a group is gathered after one that several requests shared.
_GATHER = 0.001


class _Waiting(Generic[Item, Outcome]):
    """One request's item, and the lock that it waits for."""

    __slots__ = ("called", "item", "leads", "outcome", "size")

    def __init__(self, item: Item, size: int) -> None:
        self.item = item
        self.size = size
        self.leads = False
        self.outcome: Outcome | Exception | None = None
        self.called = threading.Lock()
        self.called.acquire()


class GroupCommit(Generic[Item, Outcome]):
    """Commits the items of several requests together; each returns after its own commit.

    The first that comes while nobody commits leads: it commits what waits, itself included, and
    then calls the first one that came meanwhile to lead the next group. So a lone request waits for
    nobody (the first after a crowd for a millisecond), and a crowd shares the cost of commits.

    Parameters
    ----------
    commit : callable
        Commits several items and returns an outcome for each. What it raises is raised for all of
        them: where that was not for want of the database, each is tried again by itself, so that
        an item that cannot be committed fails none of its neighbours.
    most : int
        Largest total size of one group, unless a single item is larger.
    most_waiting : int
        Largest total size of what waits, unless nothing else does.
    patience : float
        Seconds for which a request waits.
    waiting : callable, optional
        Told how many items wait, whenever that changes.
    """

    def __init__(
        self,
        commit: Commit[Item, Outcome],
        *,
        most: int,
        most_waiting: int,
        patience: float,
        waiting: Callable[[int], object] | None = None,
    ) -> None:
        self._commit = commit
        self._most = most
        self._most_waiting = most_waiting
        self._patience = patience
        self._tell_waiting = waiting
        self._queue: deque[_Waiting[Item, Outcome]] = deque()
        self._queued = 0
        self._led = False
        self._crowded = False
        self._lock = threading.Lock()

    def __call__(self, item: Item, size: int = 1) -> Outcome:
        """Commit an item with whatever else waits, and return its outcome once that is durable.

        Raises
        ------
        StoreUnavailable
            If too much waits, or for too long. Unless it says ``is_undone``, the item may have been
            committed.
        """
        mine: _Waiting[Item, Outcome] = _Waiting(item, size)
        with self._lock:
            if self._queue and self._queued + size > self._most_waiting:
                raise StoreUnavailable(
                    "the database does not keep up with what is sent", is_undone=True
                )
            self._queue.append(mine)
            self._queued += size
            mine.leads = not self._led
            self._led = True
            self._tell()
        try:
            if not mine.leads and not mine.called.acquire(timeout=self._patience):
                raise StoreUnavailable("the database does not answer (too many wait for it)")
            if mine.outcome is None:
                if self._crowded:
                    # Spent on the requests of the others, who are likely to come again.
                    time.sleep(_GATHER)
                self._lead()
        except BaseException as error:
            was_waiting = self._leave(mine)
            if isinstance(error, StoreUnavailable):
                error.is_undone = was_waiting
            raise
        if isinstance(mine.outcome, Exception):
            raise mine.outcome
        assert mine.outcome is not None  # noqa: S101  a group is left with an outcome for each
        return mine.outcome

    def _leave(self, mine: _Waiting[Item, Outcome]) -> bool:
        """Wait no longer, and let another one lead who was to be led by this one.

        Returns
        -------
        bool
            False if the item was in the queue no more, so that it may have been committed.
        """
        with self._lock:
            if mine not in self._queue:
                return False
            self._queue.remove(mine)
            self._queued -= mine.size
            self._tell()
            if mine.leads:
                self._call_next()
            return True

    def _lead(self) -> None:
        """Commit the next group, and call who leads after it."""
        with self._lock:
            group = self._next()
            self._crowded = len(group) > 1
            self._tell()
        outcomes: Sequence[Outcome | Exception] = ()
        try:
            outcomes = self._outcomes([waiting.item for waiting in group])
        finally:
            # Whatever happened, nobody is left waiting.
            left = outcomes or [StoreUnavailable("the server is stopping") for _ in group]
            for waiting, outcome in zip(group, left, strict=True):
                waiting.outcome = outcome
            with self._lock:
                self._call_next()
            for waiting in group:
                # Nobody waits for the leader's own lock.
                waiting.called.release()

    def _call_next(self) -> None:
        """Let the first one that waits lead the next group."""
        self._led = bool(self._queue)
        if self._led:
            self._queue[0].leads = True
            self._queue[0].called.release()

    def _next(self) -> list[_Waiting[Item, Outcome]]:
        group = [self._queue.popleft()]
        size = group[0].size
        while self._queue and size + self._queue[0].size <= self._most:
            group.append(self._queue.popleft())
            size += group[-1].size
        self._queued -= size
        return group

    def _outcomes(self, items: Sequence[Item]) -> Sequence[Outcome | Exception]:
        try:
            return self._commit(items)
        except StoreUnavailable as error:
            # One for each, since raising an error changes it.
            return [
                StoreUnavailable(str(error), field=error.field, is_undone=error.is_undone)
                for _ in items
            ]
        except Exception as error:
            if len(items) == 1:
                return [error]
            return [self._outcomes([item])[0] for item in items]

    def _tell(self) -> None:
        if self._tell_waiting is not None:
            # Whoever listens cannot stop what it is told of.
            with suppress(Exception):
                self._tell_waiting(len(self._queue))
