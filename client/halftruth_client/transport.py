"""HTTP requests to a collector or relay, with retries."""

import logging
import math
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from http import HTTPStatus
from http.cookiejar import DefaultCookiePolicy
from typing import Any, Self, TypeVar
from urllib.parse import urlsplit

import msgspec
import requests
from halftruth_shared import ParameterError
from halftruth_shared.protocol.base import Message, Problem, Request
from requests.adapters import HTTPAdapter
from requests.auth import AuthBase
from urllib3.exceptions import MaxRetryError
from urllib3.response import BaseHTTPResponse
from urllib3.util.retry import Retry

from .errors import CollectorUnavailable, RequestRefused, check_kind, check_number

_RETRIED = (429, 502, 503, 504)

#: Longest timeout in seconds of the single attempt of a call that must not block for long.
MOST_BRIEF = 3.0

#: Longest pause before a retry in seconds; a longer `Retry-After` raises an error instead.
_MAX_PAUSE = 60

#: Shortest pause that is logged, in seconds.
_WORTH_SAYING = 2

#: Largest size of a decompressed response in bytes.
MAX_ANSWER = 64 << 20

T = TypeVar("T", bound=Message)

_log = logging.getLogger(__name__)

#: Returns the message of a type in a JSON text, or raises msgspec.DecodeError.
Decode = Callable[[bytes | bytearray, type[Any]], Any]


def _decode_plain(content: bytes | bytearray, kind: type[Any]) -> Any:
    return msgspec.json.decode(content, type=kind)


class Transport:
    """Connection to one collector or relay.

    All requests are idempotent, since each report has an id. So they are retried with exponential
    backoff after a lost connection and the statuses 429, 502, 503 and 504, unless the response
    asks to wait for more than a minute.

    Parameters
    ----------
    url : str
        Address of the collector.
    token : str, optional
        Bearer token.
    retries : int
        Largest number of retries.
    backoff : float
        Seconds before the second retry; each further pause is twice as long.
    timeout : float
        Seconds without a response after which an attempt fails.
    session : requests.Session, optional
        Session of the caller, with its own adapters and retries. Cookies are disabled in it.
    decode : callable, optional
        Decodes the message of a response; results have columns, which need NumPy.
    """

    def __init__(
        self,
        url: str,
        *,
        token: str | None = None,
        retries: int = 5,
        backoff: float = 0.5,
        timeout: float = 10.0,
        session: requests.Session | None = None,
        decode: Decode = _decode_plain,
    ) -> None:
        check_kind(url, str, "url", "the collector's address as text")
        if token is not None:
            check_kind(token, str, "token", "a bearer token as text")
        check_number(retries, "retries", int)
        check_number(backoff, "backoff", float)
        check_number(timeout, "timeout", float)
        if session is not None:
            check_kind(session, requests.Session, "session", "a requests.Session")
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ParameterError(
                "url: expected the collector's address, such as https://survey.example.org",
                field="url",
            )
        #: The normalized address: scheme and host in lower case, without a trailing slash.
        self.url = parts._replace(netloc=parts.netloc.lower()).geturl().rstrip("/")
        #: Kind of server at this address, for messages.
        self._peer = "collector"
        self._timeout = timeout
        self._authentication = _Bearer(token)
        self._decode = decode
        self._has_own_session = session is None
        self._session = _without_cookies(session or _retrying_session(retries, backoff))

    def once(self) -> Self:
        """Return a connection that makes one attempt, with a timeout of at most `MOST_BRIEF`.

        A session of the caller keeps its own retries.
        """
        brief = copy(self)
        brief._timeout = min(self._timeout, MOST_BRIEF)
        if self._has_own_session:
            brief._session = _without_cookies(_retrying_session(0, 0))
        return brief

    def to_relay(self, url: str) -> Self:
        """Return a connection to a relay with the same session and timeout, without the token."""
        relay = copy(self)
        relay.url, relay._peer, relay._authentication = url, "relay", _Bearer(None)
        return relay

    def get(
        self, path: str, answer: type[T], parameters: Mapping[str, Sequence[str]] | None = None
    ) -> T:
        """Fetch a message of this type, with parameters in the URL.

        Raises
        ------
        RequestRefused, CollectorUnavailable
        """
        return self._request("GET", path, answer, {}, params=parameters or {})

    def post(self, path: str, answer: type[T], message: Request) -> T:
        """Send a message and return the response.

        Raises
        ------
        RequestRefused, CollectorUnavailable
        """
        body = msgspec.json.encode(message)
        return self._request("POST", path, answer, {"Content-Type": "application/json"}, data=body)

    def _request(
        self, method: str, path: str, answer: type[T], headers: dict[str, str], **sent: Any
    ) -> T:
        try:
            response = self._session.request(
                method,
                self.url + path,
                headers={"Accept": "application/json", **headers},
                auth=self._authentication,
                timeout=self._timeout,
                allow_redirects=False,
                stream=True,
                **sent,
            )
            content = _read(response)
        except requests.RequestException as error:
            # The message of the library can be long, and contains the whole request.
            raise CollectorUnavailable(
                f"{self._peer} {self.url} cannot be reached ({type(error).__name__})",
                is_relay=self._peer == "relay",
            ) from None
        if response.status_code in _RETRIED:
            detail = self._detail(response, content).detail
            raise CollectorUnavailable(
                f"{self._peer} {self.url} is not available: {detail}{_when(response)}",
                status=response.status_code,
                is_relay=self._peer == "relay",
            )
        if not response.ok or response.is_redirect:
            problem = self._detail(response, content)
            raise RequestRefused(
                problem.detail,
                status=response.status_code,
                field=problem.field,
                report=problem.report,
            )
        try:
            decoded: T = self._decode(content, answer)
        except msgspec.DecodeError:
            raise RequestRefused(
                f"{self.url} answered something that no {self._peer} would; check the address",
                status=response.status_code,
            ) from None
        return decoded

    def _detail(self, response: requests.Response, content: bytearray) -> Problem:
        """Return the problem details of a response, by default made from its status."""
        try:
            return msgspec.json.decode(content, type=Problem)
        except msgspec.DecodeError:
            return Problem(
                type="about:blank",
                title=response.reason or "",
                status=response.status_code,
                detail=f"the {self._peer} answered {response.status_code} {response.reason}",
            )


class _Bearer(AuthBase):
    """Authentication by the token only, without passwords of a netrc file and without cookies."""

    def __init__(self, token: str | None) -> None:
        self._token = token

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        request.headers.pop("Cookie", None)
        if self._token is not None:
            request.headers["Authorization"] = f"Bearer {self._token}"
        return request


class _Retry(Retry):
    """Retry policy that logs the first long pause, and fails instead of pausing for too long."""

    is_announced = False

    def new(self, **parameters: Any) -> Self:
        made = super().new(**parameters)
        made.is_announced = self.is_announced
        return made

    def increment(
        self,
        method: str | None = None,
        url: str | None = None,
        response: BaseHTTPResponse | None = None,
        *others: Any,
        **named: Any,
    ) -> Self:
        if response is not None and (self.get_retry_after(response) or 0) > _MAX_PAUSE:
            raise MaxRetryError(named["_pool"], url or "")
        return super().increment(method, url, response, *others, **named)

    def sleep(self, response: BaseHTTPResponse | None = None) -> None:
        asked = self.get_retry_after(response) if response else None
        seconds = asked or self.get_backoff_time()
        if seconds >= _WORTH_SAYING and not self.is_announced:
            self.is_announced = True
            answered = "no answer"
            if response:
                phrase = HTTPStatus(response.status).phrase
                answered = f"the collector answered {response.status} {phrase}"
            _log.warning("%s: waiting for %.0f seconds", answered, seconds)
        super().sleep(response)


def _without_cookies(session: requests.Session) -> requests.Session:
    """Disable the cookies of a session, which would link the reports of a device."""
    session.cookies.set_policy(DefaultCookiePolicy(allowed_domains=[]))
    return session


def _retrying_session(retries: int, backoff: float) -> requests.Session:
    policy = _Retry(
        total=retries,
        backoff_factor=backoff,
        backoff_jitter=backoff,
        backoff_max=_MAX_PAUSE,
        status_forcelist=_RETRIED,
        allowed_methods=None,
        raise_on_status=False,
    )
    session = requests.Session()
    for scheme in ("http://", "https://"):
        session.mount(scheme, HTTPAdapter(max_retries=policy))
    return session


def _read(response: requests.Response) -> bytearray:
    """Read the body of a response, limited since compressed ones may be very large."""
    content = bytearray()
    with response:
        for chunk in response.iter_content(1 << 16):
            content += chunk
            if len(content) > MAX_ANSWER:
                raise RequestRefused(
                    f"the collector's answer is too large; expected at most {MAX_ANSWER >> 20} MiB",
                    status=response.status_code,
                )
    return content


def _when(response: requests.Response) -> str:
    """Return the requested waiting time for a message, if it is too long for a retry."""
    seconds = response.headers.get("Retry-After", "")
    if not (seconds.isascii() and seconds.isdigit()) or int(seconds) <= _MAX_PAUSE:
        return ""
    return f"; try again in {math.ceil(int(seconds) / 60)} minutes"
