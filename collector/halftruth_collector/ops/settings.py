"""Settings of a collector, from ``HALFTRUTH_*`` variables or by name."""

import os
import re
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, get_type_hints
from urllib.parse import urlsplit

import msgspec
from halftruth_shared import ParameterError
from halftruth_shared.rational import parse_rational

DEFAULT_DATABASE = "sqlite:///halftruth.db"

#: Where reports are counted for the limit unless another storage is named: in each worker.
IN_MEMORY = "memory://"

#: Seconds for which a request waits for a connection to the storage, and then for each answer,
#: unless its URI says otherwise.
_STORAGE_SECONDS = 1.0

LogFormat = Literal["text", "json"]

Positive = Annotated[
    int, msgspec.Meta(ge=1, le=10**15, description="a positive integer of at most 15 digits")
]
Several = Annotated[
    int, msgspec.Meta(ge=0, le=100, description="0 or a positive integer up to 100")
]


class Config(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of a collector; each is read from HALFTRUTH_ and its name in capitals.

    Attributes
    ----------
    database : str
        SQLAlchemy URL of SQLite or PostgreSQL.
    max_body : int
        Largest request body in bytes.
    max_batch : int
        Most reports in one request.
    max_gamma : str
        Largest amplification that the collector's own forms ask with.
    rate_limit : str or None
        Most reports from one address on surveys without invitations, such as "1000 per hour";
        None ("off") for no limit.
    rate_limit_storage : str
        Where they are counted: ``memory://``, or the URI of a Redis.
    proxies : int
        Trusted proxies in front, whose X-Forwarded-For and X-Forwarded-Proto are believed.
    sealing_keys : Path or None
        File of the private keys of sealed surveys.
    relay_keys : Path or None
        File of the private keys of a relay.
    relay_url : str or None
        Address of a relay, as surveys name it.
    log_format : {"text", "json"}
        Lines for people, or one JSON object in each.
    min_reports : int
        Fewest reports of which results are served.
    request_seconds : int
        Seconds in which a request must have arrived, and its answer must have been taken.
    """

    database: str = DEFAULT_DATABASE
    max_body: Positive = 8_000_000
    max_batch: Positive = 10_000
    max_gamma: str = "19"
    rate_limit: str | None = "1000 per hour"
    rate_limit_storage: str = IN_MEMORY
    proxies: Several = 0
    sealing_keys: Path | None = None
    relay_keys: Path | None = None
    relay_url: str | None = None
    log_format: LogFormat = "text"
    min_reports: Positive = 50
    request_seconds: Positive = 20

    @classmethod
    def from_environment(
        cls, environment: Mapping[str, str] = os.environ, only: Collection[str] | None = None
    ) -> "Config":
        """Read every variable that is set, or those of some settings only.

        Raises
        ------
        ParameterError
            If one is not what it should be; the message never quotes it.
        """
        kinds = get_type_hints(cls, include_extras=True)
        given = {}
        for name, kind in kinds.items():
            variable = f"HALFTRUTH_{name.upper()}"
            if variable in environment and (only is None or name in only):
                given[name] = _read(variable, environment[variable], name, kind)
        return cls(**given)


def _read(variable: str, text: str, name: str, kind: Any) -> Any:
    try:
        if name in _READ:
            return _READ[name](text)
        return msgspec.convert(text, kind, strict=False)
    except (msgspec.ValidationError, ValueError):
        expected = _EXPECTED.get(name)
        if expected is None:
            described = msgspec.json.schema(kind)
            expected = described.get("description") or " or ".join(described.get("enum", ["text"]))
        raise ParameterError(f"{variable}: expected {expected}", field=variable) from None


def _amplification(text: str) -> str:
    if parse_rational(text, "HALFTRUTH_MAX_GAMMA") <= 1:
        raise ValueError
    return text


def _rate(text: str) -> str | None:
    if text == "off":
        return None
    # Imported here: only a collector that serves needs it.
    from limits import parse_many

    rates = parse_many(text)
    if len(rates) != 1 or rates[0].amount < 1:
        raise ValueError
    return text


def storage_options(uri: str) -> dict[str, Any]:
    """Options of the rate limit's storage, besides its URI.

    Raises
    ------
    ModuleNotFoundError
        If it is a Redis and its Python package is not installed.
    """
    if uri == IN_MEMORY:
        return {"wrap_exceptions": True}
    from redis.backoff import NoBackoff
    from redis.retry import Retry

    return {
        "wrap_exceptions": True,
        "socket_connect_timeout": _STORAGE_SECONDS,
        "socket_timeout": _STORAGE_SECONDS,
        # A request that waits is told soon that it waits in vain; clients try again.
        "retry": Retry(NoBackoff(), 0),
    }


def _storage(text: str) -> str:
    """Check the URI of a storage without connecting to it."""
    if text == IN_MEMORY:
        return text
    parts = urlsplit(text)
    if parts.scheme == "redis+unix":
        well = not parts.netloc and bool(parts.path.strip("/"))
    else:
        # Encoded as it will be for the look-up of its address, which no name must fail with.
        host = (parts.hostname or "").encode("idna")
        named = parts.scheme in ("redis", "rediss") and host and parts.port != 0
        well = bool(named and re.fullmatch(r"/?|/[0-9]+", parts.path))
    # A fragment is the rest of a password that was not quoted.
    if not well or parts.fragment:
        raise ValueError
    try:
        from redis import ConnectionPool
    except ModuleNotFoundError:
        raise ParameterError(
            "HALFTRUTH_RATE_LIMIT_STORAGE: expected memory://, since the Python package redis is"
            " not installed here; halftruth-collector[redis] brings it",
            field="HALFTRUTH_RATE_LIMIT_STORAGE",
        ) from None
    try:
        # Made, not opened: otherwise the first request would find a parameter that there is not.
        ConnectionPool.from_url(text.replace("redis+unix", "unix", 1)).make_connection()
    except Exception:
        # Of any type: parameters are handed to whatever takes them.
        raise ValueError from None
    return text


def _file(text: str) -> Path:
    if not text:
        raise ValueError
    return Path(text)


def _address(text: str) -> str:
    if not text.startswith(("https://", "http://")) or text.endswith("/"):
        raise ValueError
    return text


#: How texts are read that a type alone does not describe, and what is expected of them.
_READ: dict[str, Callable[[str], Any]] = {
    "max_gamma": _amplification,
    "rate_limit": _rate,
    "rate_limit_storage": _storage,
    "sealing_keys": _file,
    "relay_keys": _file,
    "relay_url": _address,
}
_EXPECTED = {
    "max_gamma": "an amplification above 1, such as 19 or 9/2",
    "rate_limit": "one rate, such as '1000 per hour', or 'off'",
    "rate_limit_storage": "the URI of a storage: memory://, redis://host:6379/0,"
    " rediss://host:6379/0 (TLS) or redis+unix:///path",
    "sealing_keys": "the name of a file of private keys, or no such variable",
    "relay_keys": "the name of a file of private keys, or no such variable",
    "relay_url": "the relay's address without a slash at its end, such as https://relay.example.org",
}
