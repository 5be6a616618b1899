"""Rate limits of one address: of reports without invitations, and of refused reports."""

import logging
import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from ipaddress import ip_address, ip_network
from typing import cast

from flask import Request, request
from halftruth_shared import HalftruthError
from limits import RateLimitItem, parse
from limits.errors import StorageError
from limits.storage import MemoryStorage, SlidingWindowCounterSupport, storage_from_string
from limits.strategies import SlidingWindowCounterRateLimiter

from ..errors import StoreUnavailable, TooLarge, TooManyReports
from ..ops.settings import storage_options

_log = logging.getLogger(__name__)

#: An address with the port that some proxies write behind it.
_WITH_PORT = re.compile(r"\[([^\]]*)\](?::\d+)?|([^:]*):\d+")

#: Bytes for which a body that cannot be read counts as one report.
_BYTES_OF_REPORT = 500

#: Headers with which proxies pass requests on, besides X-Forwarded-…, and browsers those of pages.
_PASSED_ON = frozenset(["forwarded", "via", "x-real-ip", "origin", "sec-fetch-site"])


class ReportLimit:
    """A number of reports in a window of time from one address, and as many that are refused.

    Addresses are kept in the storage for two windows at the most, and nowhere else. Refused reports
    are counted by each worker for itself, so that a refusal asks no storage.

    Parameters
    ----------
    rate : str or None
        Such as "1000 per hour"; None for no limit.
    storage : str
        ``memory://``, or the URI of a Redis.
    proxied : bool
        Whether requests come from trusted proxies, so that none is of a program of this machine.
    """

    def __init__(self, rate: str | None, storage: str, *, proxied: bool = False) -> None:
        self._rate: RateLimitItem | None = None if rate is None else parse(rate)
        self._proxied = proxied
        self._storage = storage_from_string(storage, **storage_options(storage))
        self._reports = SlidingWindowCounterRateLimiter(self._storage)
        self._failures = SlidingWindowCounterRateLimiter(MemoryStorage())

    @contextmanager
    def visit(self, uncharged: int, *, exempt: bool = False) -> Iterator["Visit"]:
        """Check the address of a request before any work for it, and record what is refused.

        Parameters
        ----------
        uncharged : int
            How many reports a refusal of the request counts as, until it is known.
        exempt : bool
            Whether there is no limit, besides for programs of this machine.

        Raises
        ------
        TooManyReports
            If too many reports of this address were refused.
        """
        exempt = exempt or self._rate is None or (not self._proxied and is_local(request))
        visit = Visit(None if exempt else self, subscriber(request.remote_addr or ""), uncharged)
        if self._rate and visit.limit and not self._failures.test(self._rate, visit.address):
            raise TooManyReports(
                f"reports: expected at most {self._rate} from one address that are not counted;"
                " send yours again later",
                retry_after=self._rate.get_expiry(),
            )
        try:
            yield visit
        except (StoreUnavailable, TooManyReports):
            raise
        except HalftruthError:
            visit.record_failures()
            raise
        if visit.accepted < max(1, visit.uncharged):
            # What was counted before, or is nothing at all, can be sent again and again.
            visit.record_failures()

    @contextmanager
    def visit_with_reports(self, *, exempt: bool = False) -> Iterator["Visit"]:
        """As `visit`, of a request with reports: until it is read, a refusal counts by its size."""
        unread = 1 + (request.content_length or 0) // _BYTES_OF_REPORT
        with self.visit(unread, exempt=exempt) as visit:
            yield visit

    def charge(self, reports: int, address: str) -> None:
        """Count reports against an address.

        Raises
        ------
        TooLarge
            If they are more than one address may ever send at once.
        TooManyReports
            If they are more than it may send now.
        StoreUnavailable
            If the storage does not answer.
        """
        if self._rate is None or not reports:
            return
        if reports > self._rate.amount:
            raise TooLarge(
                f"reports: expected at most {self._rate.amount} in one request, since one address"
                f" may send {self._rate}; got {reports}",
                field="reports",
            )
        try:
            if self._reports.hit(self._rate, address, cost=reports):
                return
            raise TooManyReports(
                f"reports: expected at most {self._rate} from one address; send them again later",
                retry_after=self._pause(self._rate, reports, address),
            )
        except StorageError as error:
            # Only its type: what it says names the storage, and may quote what it was asked.
            kind = type(error.storage_error).__name__
            _log.warning("the storage of the rate limit does not answer: %s", kind)
            raise StoreUnavailable("the storage of the rate limit does not answer") from None

    def record_failures(self, reports: int, address: str) -> None:
        """Record reports that were refused, or a request that has none as one."""
        if self._rate is not None:
            left = self._failures.get_window_stats(self._rate, address).remaining
            self._failures.hit(self._rate, address, cost=max(1, min(reports, left)))

    def _pause(self, rate: RateLimitItem, reports: int, address: str) -> int:
        """Return whole seconds after which so many more are taken, if no others come."""
        storage = cast(SlidingWindowCounterSupport, self._storage)
        most, seconds = rate.amount, rate.get_expiry()
        # Reports of the last window and seconds until they count no more, and those of this window.
        before, before_left, now, now_left = storage.get_sliding_window(
            rate.key_for(address), seconds
        )
        # What counts is before · before_left / seconds + now, and it has to fall below this.
        bound = most - reports + 1
        if now < bound:
            left = before_left - (bound - now) * seconds / before if before else 0.0
        else:
            # This window has to end; then its reports count less and less.
            left = now_left - seconds * bound / now
        # A moment later, since it has to be below, and a storage rounds its seconds.
        return max(1, math.ceil(left + 0.001))


@dataclass
class Visit:
    """One request of an address.

    Attributes
    ----------
    limit : ReportLimit or None
        None where there is no limit: for a program of this machine, or with an operator's token.
    address : str
    uncharged : int
        Reports that the address was not charged for when they were sent, and that count as refused
        unless they are accepted.
    accepted : int
    """

    limit: ReportLimit | None
    address: str
    uncharged: int
    accepted: int = 0

    def charge(self, reports: int) -> None:
        """Count the reports of this request against its address; see `ReportLimit.charge`."""
        if self.limit is not None:
            self.limit.charge(reports, self.address)
        self.uncharged = 0

    def record_failures(self) -> None:
        """Record the reports that were neither charged nor accepted."""
        if self.limit is not None:
            self.limit.record_failures(self.uncharged - self.accepted, self.address)


def is_local(request: Request) -> bool:
    """Return whether a program sends a request directly from this machine to a loopback address.

    A proxy on this machine connects from a loopback address, too, and so does a browser with what a
    page of another site makes it send. Whatever shows one of them makes the answer False: headers
    that proxies and browsers add, HTTP/1.0, as some proxies speak it, and any other host name.
    """
    sockets = request.environ.get("SERVER_NAME", ""), request.remote_addr or ""
    headers = {name.lower() for name, _ in request.headers}
    host = request.headers.get("Host", "")
    return (
        request.environ.get("SERVER_PROTOCOL") == "HTTP/1.1"
        and all(map(_is_loopback, sockets))
        and (_without_port(host) == "localhost" or _is_loopback(host))
        and headers.isdisjoint(_PASSED_ON)
        and not any(name.startswith("x-forwarded") for name in headers)
    )


def _is_loopback(address: str) -> bool:
    try:
        return ip_address(_without_port(address)).is_loopback
    except ValueError:
        return False


def _without_port(address: str) -> str:
    written = _WITH_PORT.fullmatch(address)
    return (written[1] or written[2] or "") if written else address


def subscriber(address: str) -> str:
    """Return the subscriber of an address: of IPv6 its first 64 bits, of IPv4 itself.

    >>> subscriber("2001:db8:1:2::1"), subscriber("[2001:db8:1:2::7]:443")
    ('2001:db8:1:2::/64', '2001:db8:1:2::/64')
    >>> subscriber("192.0.2.1:8080"), subscriber("::ffff:192.0.2.1")
    ('192.0.2.1', '192.0.2.1')
    """
    try:
        parsed = ip_address(_without_port(address))
    except ValueError:
        # A socket's path, or whatever else a proxy says that is believed; all of it is one.
        return "elsewhere"
    if parsed.version == 4:
        return str(parsed)
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(ip_network((int(parsed), 64), strict=False))
