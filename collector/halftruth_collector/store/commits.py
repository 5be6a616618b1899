"""Group commit: what concurrent requests bring shares a transaction."""

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Generic, TypeVar

from .. import fibres
from ..errors import StoreUnavailable

Item = TypeVar("Item")
Outcome = TypeVar("Outcome")

#: What a transaction makes of each item: its outcome, or the error to raise for it alone.
Commit = Callable[[Sequence[Item]], Sequence[Outcome | Exception]]


class _Waiting(Generic[Item, Outcome]):
    """One request's item, and the wake-up call of its thread where it is no fibre."""

    __slots__ = ("called", "fibre", "item", "outcome", "size")

    def __init__(self, item: Item, size: int) -> None:
        self.item = item
        self.size = size
        self.outcome: Outcome | Exception | None = None
        self.fibre = fibres.current()
        # A lock is the lightest thing that a thread can wait for.
        self.called = threading.Lock()
        self.called.acquire()


class GroupCommit(Generic[Item, Outcome]):
    """Commits the items of several requests together; each returns after its own commit.

    The first thread that comes while nobody commits leads: it commits what waits, itself included,
    and then calls the first one that came meanwhile to lead the next group. So a lone request waits
    for nobody (the first after a crowd for a millisecond), and a crowd shares the cost of commits.
    In place of a fibre, which must not wait for the database, a thread kept for that leads, at the
    end of the loop's turn.

    Parameters
    ----------
    commit : callable
        Commits several items and returns an outcome for each. What it raises is raised for all of
        them: where that was not for want of the database, each is tried again by itself, so that
        an item that cannot be committed fails none of its neighbours.
    most : int
        Largest total size of one group, unless a single item is larger.
    waiting : callable, optional
        Told how many items wait, whenever that changes; but of the fibres of one turn of their
        loop, which wait for no commit before that, only once they do.
    """

    def __init__(
        self,
        commit: Commit[Item, Outcome],
        *,
        most: int,
        waiting: Callable[[int], object] | None = None,
    ) -> None:
        self._commit = commit
        self._most = most
        self._told = waiting
        self._queue: deque[_Waiting[Item, Outcome]] = deque()
        self._led = False
        self._turning = False
        self._crowded = False
        self._lock = threading.Lock()
        # Starts its thread when it gets something to do.
        self._leaders = ThreadPoolExecutor(1, "halftruth-commit")

    def __call__(self, item: Item, size: int = 1) -> Outcome:
        """Commit an item with whatever else waits, and return its outcome once that is durable."""
        mine: _Waiting[Item, Outcome] = _Waiting(item, size)
        with self._lock:
            self._queue.append(mine)
            leads = not self._led
            self._led = True
            self._turning |= leads and mine.fibre is not None
            if not self._turning:
                self._tell()
        if mine.fibre is not None:
            if leads:
                mine.fibre.loop.at_end_of_turn(self._hire)
            mine.fibre.wait()
        else:
            if not leads:
                mine.called.acquire()
            if mine.outcome is None:
                if self._crowded:
                    # Spent on the requests of the others, who are likely to come again.
                    time.sleep(fibres.GATHER)
                self._lead()
        if isinstance(mine.outcome, Exception):
            raise mine.outcome
        assert mine.outcome is not None  # noqa: S101  a group is left with an outcome for each
        return mine.outcome

    def _hire(self) -> None:
        """Let the thread that is kept for it commit the next group."""
        try:
            self._leaders.submit(self._lead)
        except RuntimeError:
            # There are no more threads: the process ends, or has too many. The executor keeps what
            # it could not begin, so another one takes its place.
            self._leaders = ThreadPoolExecutor(1, "halftruth-commit")
            self._give_up()

    def _give_up(self) -> None:
        """Let all fail that wait: nobody would lead them."""
        with self._lock:
            group = list(self._queue)
            self._queue.clear()
            self._led = self._turning = False
            self._tell()
        for waiting in group:
            waiting.outcome = StoreUnavailable("the collector has no thread to commit with")
        _call(group)

    def _lead(self) -> None:
        """Commit the next group, and call who leads after it."""
        with self._lock:
            group = self._next()
            self._turning = False
            self._crowded = len(group) > 1
            self._tell()
        outcomes: Sequence[Outcome | Exception] = [
            StoreUnavailable("the collector is stopping") for _ in group
        ]
        try:
            outcomes = self._outcomes([waiting.item for waiting in group])
        finally:
            # Whatever happened, nobody is left waiting.
            for waiting, outcome in zip(group, outcomes, strict=True):
                waiting.outcome = outcome
            with self._lock:
                self._led = bool(self._queue)
                following = self._queue[0] if self._queue else None
            if following is not None:
                if following.fibre is None:
                    following.called.release()
                else:
                    self._hire()
            _call(group)

    def _next(self) -> list[_Waiting[Item, Outcome]]:
        group = [self._queue.popleft()]
        size = group[0].size
        while self._queue and size + self._queue[0].size <= self._most:
            group.append(self._queue.popleft())
            size += group[-1].size
        return group

    def _outcomes(self, items: Sequence[Item]) -> Sequence[Outcome | Exception]:
        try:
            return self._commit(items)
        except StoreUnavailable as error:
            # One for each thread, since raising an error changes it.
            return [StoreUnavailable(str(error), field=error.field) for _ in items]
        except Exception as error:
            if len(items) == 1:
                return [error]
            return [self._outcomes([item])[0] for item in items]

    def _tell(self) -> None:
        if self._told is not None:
            # Whoever listens cannot stop what it is told of.
            with suppress(Exception):
                self._told(len(self._queue))


def _call(group: Sequence[_Waiting[Item, Outcome]]) -> None:
    """Wake everyone whose outcome is there; of the leader's own lock nobody takes notice."""
    waiting = [each.fibre for each in group if each.fibre is not None]
    if waiting:
        # All are of the one loop of this process.
        waiting[0].loop.resume(waiting)
    for each in group:
        if each.fibre is None:
            each.called.release()
