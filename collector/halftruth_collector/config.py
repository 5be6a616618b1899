"""Settings of a collector, from ``HALFTRUTH_*`` variables or by name."""

import os
from collections.abc import Mapping
from dataclasses import dataclass

from halftruth_shared import ParameterError
from halftruth_shared.rational import parse_rational

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
    max_gamma : str
        Largest amplification that the collector's own forms ask with.
    """

    database: str = DEFAULT_DATABASE
    max_body: int = 8_000_000
    max_batch: int = 10_000
    max_gamma: str = "19"

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> "Config":
        """Read ``HALFTRUTH_DATABASE``, ``_MAX_BODY``, ``_MAX_BATCH`` and ``_MAX_GAMMA``.

        Raises
        ------
        ParameterError
            If a number is not one.
        """
        max_gamma = environment.get("HALFTRUTH_MAX_GAMMA", cls.max_gamma)
        if parse_rational(max_gamma, "HALFTRUTH_MAX_GAMMA") <= 1:
            raise ParameterError(
                "HALFTRUTH_MAX_GAMMA: expected an amplification above 1",
                field="HALFTRUTH_MAX_GAMMA",
            )
        return cls(
            max_gamma=max_gamma,
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
