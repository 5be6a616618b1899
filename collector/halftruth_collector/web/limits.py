"""Rate limits by address, of reports without invitations and of refused reports."""

import math
import re
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from ipaddress import ip_address, ip_network

from flask import request
from halftruth_shared import HalftruthError
from limits import RateLimitItem, parse

from ..errors import StoreUnavailable, TooLarge, TooManyReports

#: An address with a port, as some proxies write it.
_WITH_PORT = re.compile(r"\[([^\]]*)\](?::\d+)?|([^:]*):\d+")

#: Bytes of an unreadable body that count as one report.
_BYTES_OF_REPORT = 500


class SlidingWindow:
    """Number of reports of each address in the last seconds, estimated from two fixed windows.

    The reports of the previous window count in proportion to the part of it that the sliding
    window still covers. Both fixed windows are replaced as a whole. The storage of the library
    `limits` starts threads that search all addresses for expired ones, which takes longer than a
    report if there are many addresses.

    Parameters
    ----------
    rate : RateLimitItem
        Largest number of reports, and the length of a window.
    """

    def __init__(self, rate: RateLimitItem) -> None:
        self._most = rate.amount
        self._seconds = rate.get_expiry()
        self._lock = threading.Lock()
        self._window = 0
        self._before: Counter[str] = Counter()
        self._now: Counter[str] = Counter()

    def is_full(self, address: str) -> bool:
        """Return whether an address may send nothing now."""
        with self._lock:
            return not self._left(address)

    def take(self, address: str, reports: int) -> bool:
        """Count reports of an address if it may send all of them now; return whether it may."""
        with self._lock:
            if reports > self._left(address):
                return False
            self._now[address] += reports
        return True

    def fill(self, address: str, reports: int) -> None:
        """Count reports of an address, up to the limit."""
        with self._lock:
            self._now[address] += min(reports, self._left(address))

    def give_back(self, address: str, reports: int) -> None:
        """Take back reports that were counted before."""
        with self._lock:
            self._advance()
            self._now[address] = max(0, self._now[address] - reports)

    def pause(self, address: str, reports: int) -> int:
        """Return the seconds after which an address that sends no others may send some reports."""
        with self._lock:
            passed = self._advance()
            before, now = self._before[address], self._now[address]
        # The estimate has to fall below this bound.
        bound = self._most - reports + 1
        if now < bound:
            # It falls with the weight of the previous window.
            wait = self._seconds * (1 - (bound - now) / before) - passed if before else 0.0
        else:
            # This window has to end first; after that, the weight of its reports decreases.
            wait = self._seconds * (2 - bound / now) - passed
        # Add a moment, since the estimate has to be below the bound.
        return max(1, math.ceil(wait + 0.001))

    def _left(self, address: str) -> int:
        """Return the number of further reports that an address may send now."""
        weight = 1 - self._advance() / self._seconds
        have = math.floor(self._before[address] * weight + self._now[address])
        return max(0, self._most - have)

    def _advance(self) -> float:
        """Begin a new window if the current one is over; return the seconds since it began."""
        window, passed = divmod(time.monotonic(), self._seconds)
        if window != self._window:
            self._before = self._now if window == self._window + 1 else Counter()
            self._now = Counter()
            self._window = int(window)
        return passed


class ReportLimit:
    """Rate limit of reports from one address, and the same limit for refused reports.

    Each worker counts by itself. Addresses are kept in memory only, for at most two time windows
    and until the next request.

    Parameters
    ----------
    rate : str or None
        Limit, such as "1000 per hour"; None for no limit.
    """

    def __init__(self, rate: str | None) -> None:
        self._rate: RateLimitItem | None = None if rate is None else parse(rate)
        if self._rate is not None:
            self._reports, self._failures = SlidingWindow(self._rate), SlidingWindow(self._rate)

    @contextmanager
    def visit(self, *, exempt: bool = False) -> Iterator["Visit"]:
        """Check the address of a request before processing it, and record refusals.

        Requests that are `exempt` have no limit; no address is. Raises TooManyReports if too many
        reports of this address were refused.
        """
        visit = Visit(self, None, 1 + (request.content_length or 0) // _BYTES_OF_REPORT)
        if self._rate is None or exempt:
            yield visit
            return
        visit.address = address = subscriber(request.remote_addr or "")
        if self._failures.is_full(address):
            raise TooManyReports(
                f"reports: expected at most {self._rate} from one address that are not counted;"
                " send yours again later",
                retry_after=self._rate.get_expiry(),
            )
        try:
            yield visit
        except TooManyReports:
            raise
        except StoreUnavailable as error:
            if error.is_undone:
                # The client sends the same reports again, as requested.
                self._reports.give_back(address, visit.charged)
            raise
        except HalftruthError:
            self._failures.fill(address, max(1, visit.uncharged))
            raise
        if visit.accepted < max(1, visit.uncharged):
            # Otherwise duplicates and empty requests could be sent without a limit.
            self._failures.fill(address, max(1, visit.uncharged - visit.accepted))

    def charge(self, reports: int, address: str) -> None:
        """Count reports against an address.

        Raises TooLarge if the number exceeds the limit of a whole window, and TooManyReports if it
        exceeds the rest of the limit.
        """
        if self._rate is None or not reports:
            return
        if reports > self._rate.amount:
            raise TooLarge(
                f"reports: expected at most {self._rate.amount} in one request, since one address"
                f" may send {self._rate}; got {reports}",
                field="reports",
            )
        if not self._reports.take(address, reports):
            raise TooManyReports(
                f"reports: expected at most {self._rate} from one address; send them again later",
                retry_after=self._reports.pause(address, reports),
            )


@dataclass
class Visit:
    """One request with reports.

    `address` is None without a limit. `uncharged` is the number of reports that were not charged,
    which count as refused unless they are `accepted`; until it is known, one for each 500 bytes.
    `charged` is the number of charged reports.
    """

    limit: ReportLimit
    address: str | None
    uncharged: int
    charged: int = 0
    accepted: int = 0

    def charge(self, reports: int) -> None:
        """Count the reports of this request against its address once; see `ReportLimit.charge`."""
        if self.address is not None and not self.charged:
            self.limit.charge(reports, self.address)
        self.charged, self.uncharged = reports, 0


def _without_port(address: str) -> str:
    written = _WITH_PORT.fullmatch(address)
    return (written[1] or written[2] or "") if written else address


def subscriber(address: str) -> str:
    """Return the network of one subscriber: the first 64 bits of IPv6, or the IPv4 address.

    >>> subscriber("2001:db8:1:2::1"), subscriber("[2001:db8:1:2::7]:443")
    ('2001:db8:1:2::/64', '2001:db8:1:2::/64')
    >>> subscriber("192.0.2.1:8080"), subscriber("::ffff:192.0.2.1")
    ('192.0.2.1', '192.0.2.1')
    """
    try:
        parsed = ip_address(_without_port(address))
    except ValueError:
        # The path of a socket, or another value from a trusted proxy: treat all as one address.
        return "elsewhere"
    if parsed.version == 4:
        return str(parsed)
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(ip_network((int(parsed), 64), strict=False))
