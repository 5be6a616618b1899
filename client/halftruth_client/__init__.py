"""Perturb records on the respondent's device before sending them, and read results.

`Analyst`, which needs the extra ``analyst``, is imported at its first use.
"""

from typing import TYPE_CHECKING, Any

from halftruth_shared import Attribute, HalftruthError, RecordError, Schema, Survey, read_survey
from halftruth_shared.extras import import_extra

from .client import Client
from .delivery import Delivery, Submission, Unsent
from .errors import AnsweredBefore, ClientError, CollectorUnavailable, RequestRefused, SurveyRefused
from .ledger import Ledger, LedgerEntry

if TYPE_CHECKING:
    from .analyst import Analyst

__all__ = [
    "Analyst",
    "AnsweredBefore",
    "Attribute",
    "Client",
    "ClientError",
    "CollectorUnavailable",
    "Delivery",
    "HalftruthError",
    "Ledger",
    "LedgerEntry",
    "RecordError",
    "RequestRefused",
    "Schema",
    "Submission",
    "Survey",
    "SurveyRefused",
    "Unsent",
    "read_survey",
]


def __getattr__(name: str) -> Any:
    if name != "Analyst":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_extra("halftruth_client.analyst", "Analyst").Analyst


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
