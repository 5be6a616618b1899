"""Requests that are answered in the main loop of a worker, and hold no thread while they wait.

A thread for every request has its price: it is woken for the request, waits for the commit, is
woken again, and competes for the interpreter with all others; together that took longer than
everything a report needs. A fibre is a greenlet: code that reads as that of a thread, and that the
loop sets aside wherever it waits. What could make the whole loop wait must not run in one; it is
sent to a thread with :func:`elsewhere`, and :func:`forbid` guards what has to be sent.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future
from typing import Protocol, TypeVar, cast

from greenlet import getcurrent, greenlet

Result = TypeVar("Result")

#: Seconds for which requests are gathered that are likely to share a commit.
GATHER = 0.001

#: How fast a crowd is forgotten, as the share of it that is expected in the next turn.
_FORGET = 0.9


class Loop(Protocol):
    """What fibres need of the loop that runs them.

    Attributes
    ----------
    threads : Executor
        For what may wait.
    """

    threads: Executor

    def resume(self, fibres: Sequence[Fibre]) -> None:
        """Go on with fibres that wait, soon; called from any thread."""

    def at_end_of_turn(self, act: Callable[[], object]) -> None:
        """Call this once the requests that are there now have come as far as they can."""


class Fibre(greenlet):
    """A run of a function that the loop can set aside.

    Parameters
    ----------
    loop : Loop
        Which starts it, by `switch()`.
    run : callable
    """

    def __init__(self, loop: Loop, run: Callable[[], object]) -> None:
        super().__init__(run)
        self.loop = loop

    def wait(self) -> None:
        """Give way to the loop until it resumes this fibre; called in it."""
        cast(greenlet, self.parent).switch()


def current() -> Fibre | None:
    """The fibre that this is called in, if any."""
    running = getcurrent()
    return running if isinstance(running, Fibre) else None


def elsewhere(function: Callable[..., Result], *arguments: object) -> Result:
    """What a function returns or raises that may wait: in a thread, if this is in a fibre."""
    fibre = current()
    if fibre is None:
        return function(*arguments)
    done: Future[Result] = fibre.loop.threads.submit(function, *arguments)
    done.add_done_callback(lambda _: fibre.loop.resume([fibre]))
    fibre.wait()
    return done.result()


def forbid(what: str) -> None:
    """Make sure that something that may wait is not done in a fibre.

    Raises
    ------
    RuntimeError
    """
    if current() is not None:
        raise RuntimeError(f"{what} would make every other request wait; do it elsewhere")


class Gathering:
    """How long the requests of a turn wait for others that will share their commit.

    A commit for many takes hardly longer than one for a single request, and after a crowd another
    one is likely: its requests arrive one by one while the answers to the last one go out. A lone
    request waits for nobody, unless there was a crowd a moment ago.
    """

    def __init__(self) -> None:
        self._expected = 1.0
        self._since: float | None = None

    def pause(self, waiting: int, now: float) -> float:
        """Seconds for which others may yet come; 0 if it is time to commit.

        Parameters
        ----------
        waiting : int
            Requests that wait.
        now : float
            Seconds on a clock that never goes back.
        """
        if self._since is None:
            self._since = now
        left = self._since + GATHER - now
        if waiting < self._expected and left > 0:
            return left
        self._since = None
        self._expected = max(1.0, waiting, self._expected * _FORGET)
        return 0.0
