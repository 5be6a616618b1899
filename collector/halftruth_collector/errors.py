"""Errors of the collector."""

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


class DeadlinePassed(SurveyClosed):
    """The survey takes no reports from a moment on, and that is over."""


class QuotaReached(SurveyClosed):
    """The survey takes so many reports at most, and would have more of them."""


class StaleDigest(CollectorError):
    """The reports are for another version of the survey."""


class SurveyExists(CollectorError):
    """A survey of that id has reports already, and cannot be replaced."""


class InvitationRefused(CollectorError):
    """A report without an invitation, or with one that is not known here or was used before.

    `index` is the position of the report in its batch, from 0.
    """

    def __init__(self, message: str, *, index: int) -> None:
        super().__init__(message, field="invitation")
        self.index = index


class TooManyReports(CollectorError):
    """More reports from one address than the limit.

    `retry_after` is the number of seconds after which some will be accepted again.
    """

    def __init__(self, message: str, *, retry_after: int) -> None:
        super().__init__(message, field="reports")
        self.retry_after = retry_after


class SignatureRefused(CollectorError):
    """A signature that does not hold, or one by a key that was revoked."""


class TooFewReports(CollectorError):
    """Fewer reports were counted, of everybody or of a group, than results are served of."""


class MalformedRequest(CollectorError):
    """Not the JSON that was asked for."""


class NotAcceptable(CollectorError):
    """A result was asked for in a form that is not made here."""


class TooLarge(CollectorError):
    """More bytes or reports than one request may hold."""


class UnknownToken(CollectorError):
    """There is no token of that id."""


class SchemaOutdated(CollectorError):
    """The database has tables of another version than this program's."""


class StoreRefused(CollectorError):
    """The database will not take what it was told: a fault of this program."""


class StoreUnavailable(CollectorError):
    """The database does not answer.

    `is_undone` is true if certainly nothing of the transaction is stored. If the database stops
    answering during a commit, the outcome is unknown.
    """

    def __init__(self, message: str, *, field: str | None = None, is_undone: bool = False) -> None:
        super().__init__(message, field=field)
        self.is_undone = is_undone


class WorkersLost(CollectorError):
    """Processes or machines that a computation was given to are gone, or do not answer."""


def slug(error: HalftruthError) -> str:
    """``SurveyClosed`` is called ``survey-closed``."""
    name = type(error).__name__
    return "".join(f"-{c.lower()}" if c.isupper() else c for c in name).lstrip("-")
