"""What can go wrong at the collector.

HalftruthError
└── CollectorError
    ├── Unauthorized        no token, or one that is not known
    ├── Forbidden           a token whose role is not enough
    ├── UnknownSurvey       no survey of that id
    ├── SurveyClosed        it takes no more reports
    ├── StaleDigest         reports for another version of the survey
    ├── SurveyExists        a survey of that id has reports, so it cannot be replaced
    ├── ReportIdReused      one id with two different reports
    ├── MalformedRequest    not the JSON asked for
    ├── TooLarge            more bytes or reports than one request may hold
    ├── UnknownToken        no token of that id
    └── StoreUnavailable    the database does not answer
"""

from halftruth_shared import HalftruthError


class CollectorError(HalftruthError):
    """Base of the collector's errors."""


class Unauthorized(CollectorError):
    """No token, or one that is not known or has been revoked."""


class Forbidden(CollectorError):
    """The token's role is not enough."""


class UnknownSurvey(CollectorError):
    """There is no survey of that id."""


class SurveyClosed(CollectorError):
    """The survey takes no more reports."""


class StaleDigest(CollectorError):
    """The reports are for another version of the survey."""


class SurveyExists(CollectorError):
    """A survey of that id has reports already, and cannot be replaced."""


class ReportIdReused(CollectorError):
    """One id came with two different reports.

    Parameters
    ----------
    index : int
        Position of the report in its batch, from 0.
    """

    def __init__(self, message: str, *, index: int) -> None:
        super().__init__(message, field="id")
        self.index = index


class MalformedRequest(CollectorError):
    """Not the JSON that was asked for."""


class TooLarge(CollectorError):
    """More bytes or reports than one request may hold."""


class UnknownToken(CollectorError):
    """There is no token of that id."""


class StoreUnavailable(CollectorError):
    """The database does not answer."""
