"""Errors of the client, and the checks of its arguments.

HalftruthError
└── ClientError
    ├── SurveyRefused          wrong digest, missing signature, or too little protection
    ├── AnsweredBefore         this respondent answered another version of the survey
    ├── RequestRefused         the collector refused the request
    └── CollectorUnavailable   no response, or a request to retry later

Messages never contain answers of a record or invitations. A wrong argument raises a ParameterError,
in one line that names it and what is accepted.
"""

from collections.abc import Callable, Iterable

from halftruth_shared import HalftruthError, ParameterError, Survey


class ClientError(HalftruthError):
    """Base class of the errors of the client."""


class SurveyRefused(ClientError):
    """The survey has a wrong digest, is not signed, or protects too little."""


class AnsweredBefore(ClientError):
    """This respondent answered another version of the survey before."""


class RequestRefused(ClientError):
    """The collector or a relay refused a request; repeating it is useless.

    Parameters
    ----------
    status : int
        HTTP status.
    report : int, optional
        Index of the refused report among the reports of the call.
    accepted : int
        Number of reports of the call that were counted before the error.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int,
        field: str | None = None,
        report: int | None = None,
        accepted: int = 0,
    ) -> None:
        super().__init__(message, field=field)
        self.status = status
        self.report = report
        self.accepted = accepted


class CollectorUnavailable(ClientError):
    """The collector or a relay could not be reached, or asked to retry later.

    Parameters
    ----------
    accepted : int
        Number of reports of the call that were counted before the error.
    status : int, optional
        HTTP status, if there was a response.
    is_relay : bool
        Whether the relay of the survey was unavailable, and not the collector.
    """

    def __init__(
        self,
        message: str,
        *,
        accepted: int = 0,
        status: int | None = None,
        is_relay: bool = False,
    ) -> None:
        super().__init__(message)
        self.accepted = accepted
        self.status = status
        self.is_relay = is_relay


def _wrong(field: str, expected: str, value: object) -> ParameterError:
    # The type, not the value, which can be an answer in the wrong place.
    return ParameterError(f"{field}: expected {expected}, got {type(value).__name__}", field=field)


def check_survey(survey: object, field: str = "survey") -> None:
    """Raise ParameterError unless a survey is given, and not its id."""
    if not isinstance(survey, Survey):
        raise _wrong(field, "a Survey, such as client.survey(id) returns", survey)


def check_id(id: object, field: str = "survey") -> None:
    """Raise ParameterError unless the id of a survey is given, and not the survey."""
    if not isinstance(id, str) or not id:
        raise _wrong(field, "the id of a survey, text that is not empty", id)


def check_respondent(respondent: object) -> None:
    """Raise ParameterError unless the key of a respondent is given."""
    if not isinstance(respondent, str) or not respondent:
        raise ParameterError("respondent: expected text that is not empty", field="respondent")


def check_iterable(values: object, field: str, what: str) -> None:
    """Raise ParameterError unless several values are given, and not one text."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise _wrong(field, f"a list of {what}", values)


def check_texts(texts: Iterable[str], field: str, what: str) -> None:
    """Raise ParameterError unless several texts are given, and not one."""
    check_iterable(texts, field, what)
    if wrong := [each for each in texts if not isinstance(each, str)]:
        raise _wrong(field, f"a list of {what}, as text", wrong[0])


def check_number(number: object, field: str, kind: type[int] | type[float]) -> None:
    """Raise ParameterError unless a number is given that is not negative."""
    accepted = int if kind is int else (int, float)
    is_number = isinstance(number, accepted) and not isinstance(number, bool)
    if not is_number or not number >= 0:  # type: ignore[operator]
        expected = "a whole number" if kind is int else "a number of seconds"
        raise _wrong(field, f"{expected}, 0 or more", number)


def check_callable(function: Callable[..., object] | None, field: str, expected: str) -> None:
    """Raise ParameterError unless a function is given, or None."""
    if function is not None and not callable(function):
        raise _wrong(field, expected, function)


def check_kind(value: object, kind: type | tuple[type, ...], field: str, expected: str) -> None:
    """Raise ParameterError unless a value of this type, or of one of them, is given."""
    if not isinstance(value, kind):
        raise _wrong(field, expected, value)
