"""Settings of a collector, from ``HALFTRUTH_*`` variables or by name."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from halftruth_shared import ParameterError
from halftruth_shared.rational import parse_rational

DEFAULT_DATABASE = "sqlite:///halftruth.db"

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
        Where they are counted: a storage URI of the package limits.
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
    rate_limit_storage: str = "memory://"
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
    if uri == default:
        return uri
    from limits.errors import ConfigurationError
    from limits.storage import storage_from_string

    try:
        storage_from_string(uri)
    except (ConfigurationError, ValueError):
        # The URI may hold a password.
        raise ParameterError(
            f"{name}: expected the URI of a storage that is installed here,"
            " such as memory:// or redis://host:6379",
            field=name,
        ) from None
    return uri


def _log_format(environment: Mapping[str, str], name: str, default: LogFormat) -> LogFormat:
    text = environment.get(name, default)
    for known in get_args(LogFormat):
        if text == known:
            form: LogFormat = known
            return form
    raise ParameterError(f"{name}: expected {' or '.join(get_args(LogFormat))}", field=name)
