"""Errors of the client.

HalftruthError
└── ClientError
    ├── SurveyRefused          wrong digest, missing signature, or too little protection
    ├── AnsweredBefore         this respondent answered another version of the survey
    ├── RequestRefused         the collector refused the request
    └── CollectorUnavailable   no response, or a request to retry later

Messages never contain answers of a record or invitations.
"""

from halftruth_shared import HalftruthError


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
