"""Settings of a collector, from ``HALFTRUTH_*`` variables or by name."""

import os
from collections.abc import Mapping
from dataclasses import dataclass

from halftruth_shared import ParameterError

DEFAULT_DATABASE = "sqlite:///halftruth.db"


@dataclass(frozen=True)
class Config:
    """Settings of a collector.

    Attributes
    ----------
    database : str
        SQLAlchemy URL of SQLite or PostgreSQL.
    max_body : int
        Largest request body in bytes.
    max_batch : int
        Most reports in one request.
    """

    database: str = DEFAULT_DATABASE
    max_body: int = 8_000_000
    max_batch: int = 10_000

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> "Config":
        """Read ``HALFTRUTH_DATABASE``, ``HALFTRUTH_MAX_BODY`` and ``HALFTRUTH_MAX_BATCH``.

        Raises
        ------
        ParameterError
            If a number is not one.
        """
        return cls(
            database=environment.get("HALFTRUTH_DATABASE", cls.database),
            max_body=_positive(environment, "HALFTRUTH_MAX_BODY", cls.max_body),
            max_batch=_positive(environment, "HALFTRUTH_MAX_BATCH", cls.max_batch),
        )


def _positive(environment: Mapping[str, str], name: str, default: int) -> int:
    text = environment.get(name)
    if text is None:
        return default
    if not text.isascii() or not text.isdigit() or int(text) == 0:
        raise ParameterError(f"{name}: expected a positive integer", field=name)
    return int(text)
