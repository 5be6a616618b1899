"""How many reports one address may send, where no invitation limits them."""

import logging
import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from ipaddress import ip_address, ip_network
from threading import Lock
from typing import Self, cast

from flask import request
from limits import RateLimitItem, parse
from limits.errors import StorageError
from limits.storage import MemoryStorage, SlidingWindowCounterSupport
from limits.strategies import RateLimiter, SlidingWindowCounterRateLimiter

from ..config import Config, open_storage
from ..errors import StoreUnavailable, TooLarge, TooManyReports
from ..fibres import elsewhere, forbid

_log = logging.getLogger(__name__)

#: Seconds after which a storage that did not answer is asked again, by one request.
_PAUSE = 2.0

#: Seconds for which a request waits for a thread that asks the storage.
_PATIENCE = 2.0


class Answering:
    """Whether a storage answers, so that requests do not wait for it one after the other.

    Those that ask it may be few at a time. Once it has failed one of them, the others are refused
    at once, but for one in each pause, which finds out whether it is back.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        #: When one may ask again; None as long as it answers.
        self._again: float | None = None

    @contextmanager
    def asking(self, since: float) -> Iterator[None]:
        """Ask the storage in this block, unless that is in vain.

        Parameters
        ----------
        since : float
            When the request began to wait for its turn, on the monotonic clock.

        Raises
        ------
        StoreUnavailable
            If it is in vain, or the block raises StorageError.
        """
        if not self._may_ask(since, time.monotonic()):
            raise _unavailable()
        try:
            yield
        except StorageError as error:
            self._said(error)
            raise _unavailable() from None
        self._said(None)

    def _may_ask(self, since: float, now: float) -> bool:
        with self._lock:
            if self._again is None:
                return now - since < _PATIENCE
            if now < self._again:
                return False
            self._again = now + _PAUSE
            return True

    def _said(self, error: StorageError | None) -> None:
        """Remember whether it answered, and write down where that has changed."""
        with self._lock:
            answered = self._again is None
            self._again = None if error is None else time.monotonic() + _PAUSE
        if error is not None and answered:
            # Only its type: what it says names the storage, and may quote what it was asked.
            kind = type(error.storage_error).__name__
            _log.warning("the storage of the rate limit does not answer: %s", kind)
        elif error is None and not answered:
            _log.warning("the storage of the rate limit answers again")


def _unavailable() -> StoreUnavailable:
    return StoreUnavailable("the storage of the rate limit does not answer")


@dataclass(frozen=True)
class ReportLimit:
    """A number of reports in a window of time from one address.

    Addresses are kept in the storage for two windows at the most, and nowhere else.
    """

    rate: RateLimitItem
    limiter: RateLimiter
    answering: Answering = field(default_factory=Answering)

    @classmethod
    def of(cls, config: Config) -> Self | None:
        """The limit of a configuration, if it has one."""
        if config.rate_limit is None:
            return None
        storage = open_storage(config.rate_limit_storage)
        return cls(parse(config.rate_limit), SlidingWindowCounterRateLimiter(storage))

    def spend(self, reports: int) -> None:
        """Count the reports of this request against its address.

        Raises
        ------
        TooLarge
            If they are more than one address may ever send at once.
        TooManyReports
            If they are more than it may send now.
        StoreUnavailable
            If the storage does not answer.
        """
        if reports > self.rate.amount:
            raise TooLarge(
                f"reports: expected at most {self.rate.amount} in one request, since one address"
                f" may send {self.rate}; got {reports}",
                field="reports",
            )
        pause = self._taking(_network(request.remote_addr or ""), reports)
        if pause:
            raise TooManyReports(
                f"reports: expected at most {self.rate} from one address; send them again later",
                retry_after=pause,
            )

    def _taking(self, address: str, reports: int) -> int:
        """The same as `_take`, in a thread where the storage is another machine's."""
        if isinstance(self.limiter.storage, MemoryStorage):
            return self._take(address, reports)
        return elsewhere(self._ask, address, reports, time.monotonic())

    def _ask(self, address: str, reports: int, since: float) -> int:
        """The same as `_take`, of a storage that may not answer."""
        forbid("the storage of the rate limit")
        with self.answering.asking(since):
            return self._take(address, reports)

    def _take(self, address: str, reports: int) -> int:
        """Count reports; 0, or after how many seconds they can be where that is not now."""
        if not reports or self.limiter.hit(self.rate, address, cost=reports):
            return 0
        storage = cast(SlidingWindowCounterSupport, self.limiter.storage)
        seconds = self.rate.get_expiry()
        window = storage.get_sliding_window(self.rate.key_for(address), seconds)
        return _pause(self.rate.amount, seconds, reports, window)


def _network(address: str) -> str:
    """What one address stands for: of IPv6 the 64 bits that a subscriber gets, of IPv4 itself."""
    try:
        parsed = ip_address(address)
    except ValueError:
        # Whatever a proxy says that is believed, such as the path of a socket.
        return address
    if parsed.version == 4:
        return address
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(ip_network((int(parsed), 64), strict=False))


def _pause(most: int, seconds: int, reports: int, window: tuple[int, float, int, float]) -> int:
    """Whole seconds after which so many more reports are taken, if no others come.

    Parameters
    ----------
    most, seconds : int
        The rate.
    reports : int
    window : tuple
        Reports of the last window and seconds until they count no more, reports of this window and
        seconds until they count no more.
    """
    before, before_left, now, now_left = window
    # What counts is before · before_left / seconds + now, and it has to fall below this.
    bound = most - reports + 1
    if now < bound:
        pause = before_left - (bound - now) * seconds / before if before else 0.0
    else:
        # This window has to end; then its reports count less and less.
        pause = now_left - seconds * bound / now
    # A moment later, since it has to be below, and a storage rounds its seconds.
    return max(1, math.ceil(pause + 0.001))
