"""Errors of the collector."""

from halftruth_shared import HalftruthError, ParameterError


class CollectorError(HalftruthError):
    """Base of the collector's errors."""


class Unauthorized(CollectorError):
    """The token is missing, unknown or revoked."""


class Forbidden(CollectorError):
    """The role of the token does not permit the request."""


class UnknownSurvey(CollectorError):
    """No survey has this id."""


class SurveyPlanned(CollectorError):
    """The survey opens later; the same reports are accepted then.

    `retry_after` is the number of seconds until then.
    """

    def __init__(self, message: str, *, retry_after: int) -> None:
        super().__init__(message, field="opens_at")
        self.retry_after = retry_after


class SurveyClosed(CollectorError):
    """The survey accepts no more reports."""


class DeadlinePassed(SurveyClosed):
    """The closing time of the survey has passed."""


class QuotaReached(SurveyClosed):
    """The reports would exceed the maximum number of reports of the survey."""


class StaleDigest(CollectorError):
    """The reports are for another version of the survey."""


class SurveyExists(CollectorError):
    """A survey with this id already has reports, and cannot be replaced."""


class InvitationRefused(CollectorError):
    """The invitation of a report is missing, unknown, or already used.

    `index` is the position of the report in its batch, from 0.
    """

    def __init__(self, message: str, *, index: int) -> None:
        super().__init__(message, field="invitation")
        self.index = index


class TicketRefused(CollectorError):
    """The ticket of a report is missing, of another issuer, of another view, or already used.

    `index` is the position of the report in its batch, from 0.
    """

    def __init__(self, message: str, *, index: int) -> None:
        super().__init__(message, field="ticket")
        self.index = index


class TooManyReports(CollectorError):
    """More reports from one address than the limit.

    `retry_after` is the number of seconds after which some will be accepted again.
    """

    def __init__(self, message: str, *, retry_after: int) -> None:
        super().__init__(message, field="reports")
        self.retry_after = retry_after


class SignatureRefused(CollectorError):
    """A signature that is invalid, or by a revoked key."""


class TooFewReports(CollectorError):
    """Too few reports were counted, in total or in a group, to return results."""


class MalformedRequest(CollectorError):
    """The body of the request is not valid JSON of the expected type."""


class NotAcceptable(CollectorError):
    """A result was requested in a format that is not available."""


class TooLarge(CollectorError):
    """The request contains more bytes or reports than allowed."""


class NotConfirmed(CollectorError, ParameterError):
    """A final action without its confirmation: the id or the key that it is about.

    `expected` is the confirmation, and `reason` says what the action would end.
    """

    def __init__(self, message: str, *, expected: str, reason: str) -> None:
        super().__init__(message, field="confirm")
        self.expected, self.reason = expected, reason


class UnknownToken(CollectorError):
    """No token has this id."""


class SchemaOutdated(CollectorError):
    """The tables of the database have another version than this program."""


class StoreRefused(CollectorError):
    """The database rejected a statement, which is a bug in this program."""


class StoreUnavailable(CollectorError):
    """The database does not respond.

    `is_undone` is true if the transaction was certainly rolled back. If the database stops
    responding during a commit, the outcome is unknown. `hint` is a cause that only the operator
    may read, such as the owner of a file.
    """

    def __init__(
        self, message: str, *, field: str | None = None, is_undone: bool = False, hint: str = ""
    ) -> None:
        super().__init__(message, field=field)
        self.is_undone, self.hint = is_undone, hint

    @property
    def for_operators(self) -> str:
        """The message with the hint, for logs and commands."""
        return f"{self}: {self.hint}" if self.hint else str(self)


class WorkersLost(CollectorError):
    """Worker processes or machines of a computation have stopped, or do not respond."""


def slug(error: HalftruthError) -> str:
    """Return the name of an error in URLs, ``survey-closed`` for ``SurveyClosed``."""
    name = type(error).__name__
    return "".join(f"-{c.lower()}" if c.isupper() else c for c in name).lstrip("-")
