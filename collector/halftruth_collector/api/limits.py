"""How many reports one address may send, where no invitation limits them."""

import math
from dataclasses import dataclass
from ipaddress import ip_address, ip_network
from typing import Self, cast

from flask import request
from limits import RateLimitItem, parse
from limits.errors import StorageError
from limits.storage import MemoryStorage, SlidingWindowCounterSupport, storage_from_string
from limits.strategies import RateLimiter, SlidingWindowCounterRateLimiter

from ..config import Config
from ..errors import StoreUnavailable, TooLarge, TooManyReports
from ..fibres import elsewhere


@dataclass(frozen=True)
class ReportLimit:
    """A number of reports in a window of time from one address.

    Addresses are kept in the storage for as long as a window lasts, and nowhere else.
    """

    rate: RateLimitItem
    limiter: RateLimiter

    @classmethod
    def of(cls, config: Config) -> Self | None:
        """The limit of a configuration, if it has one."""
        if config.rate_limit is None:
            return None
        storage = storage_from_string(config.rate_limit_storage, wrap_exceptions=True)
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
        try:
            pause = self._taking(_network(request.remote_addr or ""), reports)
        except StorageError:
            raise StoreUnavailable("the storage of the rate limit does not answer") from None
        if pause:
            raise TooManyReports(
                f"reports: expected at most {self.rate} from one address; send them again later",
                retry_after=pause,
            )

    def _taking(self, address: str, reports: int) -> int:
        """The same as `_take`, in a thread where the storage is another machine's."""
        if isinstance(self.limiter.storage, MemoryStorage):
            return self._take(address, reports)
        return elsewhere(self._take, address, reports)

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
