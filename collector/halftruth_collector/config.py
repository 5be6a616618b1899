"""Settings of a collector, from ``HALFTRUTH_*`` variables or by name."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast, get_args
from urllib.parse import urlsplit

from halftruth_shared import ParameterError
from halftruth_shared.rational import parse_rational

if TYPE_CHECKING:
    from limits.storage import Storage

DEFAULT_DATABASE = "sqlite:///halftruth.db"

#: Where reports are counted for the limit unless another storage is named: in each worker.
IN_MEMORY = "memory://"

#: Seconds for which a request waits for a connection to the storage, and then for each answer,
#: unless its URI says otherwise.
_STORAGE_SECONDS = 2.0

LogFormat = Literal["text", "json"]


@dataclass(frozen=True)
class Config:
    """Settings of a collector.

    ============================== ================= ==============================================
    variable                       default           what it sets
    ============================== ================= ==============================================
    ``HALFTRUTH_DATABASE``         a file            ``database``
    ``HALFTRUTH_MAX_BODY``         8000000           ``max_body``
    ``HALFTRUTH_MAX_BATCH``        10000             ``max_batch``
    ``HALFTRUTH_MAX_GAMMA``        19                ``max_gamma``
    ``HALFTRUTH_RATE_LIMIT``       1000 per hour     ``rate_limit``; ``off`` for none
    ``HALFTRUTH_RATE_LIMIT_STORAGE`` memory://       ``rate_limit_storage``
    ``HALFTRUTH_PROXIES``          0                 ``proxies``
    ``HALFTRUTH_SEALING_KEYS``     none              ``sealing_keys``
    ``HALFTRUTH_LOG_FORMAT``       text              ``log_format``
    ``HALFTRUTH_REQUEST_SECONDS``  20                ``request_seconds``
    ============================== ================= ==============================================

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
        None for no limit.
    rate_limit_storage : str
        Where they are counted: ``memory://``, or the URI of a Redis, as `open_storage` takes it.
    proxies : int
        Trusted proxies in front, whose X-Forwarded-For and X-Forwarded-Proto are believed.
    sealing_keys : Path or None
        File of the private keys of sealed surveys.
    log_format : {"text", "json"}
        Lines for people, or one JSON object in each.
    request_seconds : int
        Seconds in which a request must have arrived, and its answer must have been taken.
    """

    database: str = DEFAULT_DATABASE
    max_body: int = 8_000_000
    max_batch: int = 10_000
    max_gamma: str = "19"
    rate_limit: str | None = "1000 per hour"
    rate_limit_storage: str = IN_MEMORY
    proxies: int = 0
    sealing_keys: Path | None = None
    log_format: LogFormat = "text"
    request_seconds: int = 20

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> "Config":
        """Read the variables of the table above.

        Raises
        ------
        ParameterError
            If one is not what it should be.
        """
        keys = environment.get("HALFTRUTH_SEALING_KEYS")
        return cls(
            database=environment.get("HALFTRUTH_DATABASE", cls.database),
            max_body=_integer(environment, "HALFTRUTH_MAX_BODY", cls.max_body),
            max_batch=_integer(environment, "HALFTRUTH_MAX_BATCH", cls.max_batch),
            max_gamma=_amplification(environment, "HALFTRUTH_MAX_GAMMA", cls.max_gamma),
            rate_limit=_rate(environment, "HALFTRUTH_RATE_LIMIT", cls.rate_limit),
            rate_limit_storage=_storage(
                environment, "HALFTRUTH_RATE_LIMIT_STORAGE", cls.rate_limit_storage
            ),
            proxies=_integer(environment, "HALFTRUTH_PROXIES", cls.proxies, least=0),
            sealing_keys=Path(keys) if keys else None,
            log_format=_log_format(environment, "HALFTRUTH_LOG_FORMAT", cls.log_format),
            request_seconds=_integer(environment, "HALFTRUTH_REQUEST_SECONDS", cls.request_seconds),
        )


def _integer(environment: Mapping[str, str], name: str, default: int, *, least: int = 1) -> int:
    text = environment.get(name)
    if text is None:
        return default
    # Longer numbers are none that anybody means, and Python refuses to read some of them.
    if not text.isascii() or not text.isdigit() or len(text) > 15 or int(text) < least:
        kind = "a positive integer" if least else "0 or a positive integer"
        raise ParameterError(f"{name}: expected {kind}", field=name)
    return int(text)


def _amplification(environment: Mapping[str, str], name: str, default: str) -> str:
    text = environment.get(name, default)
    if parse_rational(text, name) <= 1:
        raise ParameterError(f"{name}: expected an amplification above 1", field=name)
    return text


def _rate(environment: Mapping[str, str], name: str, default: str | None) -> str | None:
    text = environment.get(name)
    if text is None:
        return default
    if text == "off":
        return None
    # Imported here: only a collector that serves needs it.
    from limits import parse_many

    try:
        rates = parse_many(text)
    except ValueError:
        rates = []
    if len(rates) != 1 or rates[0].amount < 1:
        raise ParameterError(
            f"{name}: expected one rate, such as '1000 per hour', or 'off'", field=name
        )
    return text


def _storage(environment: Mapping[str, str], name: str, default: str) -> str:
    uri = environment.get(name, default)
    if uri == IN_MEMORY:
        return uri
    from limits.errors import ConfigurationError

    # Neither message quotes the URI, which may hold a password.
    try:
        open_storage(uri)
    except ValueError:
        raise ParameterError(
            f"{name}: expected the URI of a storage: memory://, redis://host:6379/0,"
            " rediss://host:6379/0 (TLS) or redis+unix:///path",
            field=name,
        ) from None
    except ConfigurationError:
        raise ParameterError(
            f"{name}: expected memory://, since the Python package redis is not installed here;"
            " halftruth-collector[redis] brings it",
            field=name,
        ) from None
    return uri


def open_storage(uri: str) -> "Storage":
    """Where the reports of an address are counted, without asking whether a server answers.

    Parameters
    ----------
    uri : str
        ``memory://``, ``redis://host:6379/0``, ``rediss://host:6379/0`` or ``redis+unix:///path``;
        for Redis with the parameters that its Python package takes, such as ``?socket_timeout=5``.

    Raises
    ------
    ValueError
        If it is not such a URI.
    limits.errors.ConfigurationError
        If the Python package redis is not installed.
    """
    # Imported here: only a collector that serves needs it.
    from limits.storage import MemoryStorage, RedisStorage

    if uri == IN_MEMORY:
        return MemoryStorage(wrap_exceptions=True)
    _check_redis(uri)
    storage = RedisStorage(
        uri,
        wrap_exceptions=True,
        socket_connect_timeout=_STORAGE_SECONDS,
        socket_timeout=_STORAGE_SECONDS,
    )
    try:
        # Made, not opened: otherwise the first request would find a parameter that there is not.
        cast(Any, storage.storage).connection_pool.make_connection()
    except Exception as error:
        # Of any type: parameters are handed to whatever takes them.
        raise ValueError("unknown parameter") from error
    return storage


def _check_redis(uri: str) -> None:
    """Raise ValueError for what the package redis would take for something else than was meant."""
    parts = urlsplit(uri)
    if parts.scheme == "redis+unix":
        well = not parts.netloc and bool(parts.path.strip("/"))
    else:
        # Encoded as it will be for the look-up of its address, which no name must fail with.
        host = (parts.hostname or "").encode("idna")
        named = parts.scheme in ("redis", "rediss") and host and parts.port != 0
        well = bool(named and re.fullmatch(r"/?|/[0-9]+", parts.path))
    # A fragment is the rest of a password that was not quoted.
    if not well or parts.fragment:
        raise ValueError("not the URI of a Redis")


def _log_format(environment: Mapping[str, str], name: str, default: LogFormat) -> LogFormat:
    text = environment.get(name, default)
    for known in get_args(LogFormat):
        if text == known:
            form: LogFormat = known
            return form
    raise ParameterError(f"{name}: expected {' or '.join(get_args(LogFormat))}", field=name)
