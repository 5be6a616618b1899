"""Perturb records on the respondent's device before sending them, and read results."""

from halftruth_shared import Attribute, HalftruthError, RecordError, Schema, Survey, read_survey

from .analyst import Analyst
from .client import Client
from .delivery import Delivery, Submission, Unsent
from .errors import AnsweredBefore, ClientError, CollectorUnavailable, RequestRefused, SurveyRefused
from .ledger import Ledger, LedgerEntry

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
