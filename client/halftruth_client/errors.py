"""Errors of the client.

HalftruthError
└── ClientError
    ├── SurveyRefused          not what it claims, not signed as asked, or protects too little
    ├── AnsweredBefore         this respondent answered another version of the survey
    ├── RequestRefused         the collector answered that it will not
    └── CollectorUnavailable   no answer, or one that says to come back later

A message never holds an answer of a record, nor an invitation.
"""

from halftruth_shared import HalftruthError


class ClientError(HalftruthError):
    """Base of the client's errors."""


class SurveyRefused(ClientError):
    """The survey is not what it claims to be, is not signed, or protects too little."""


class AnsweredBefore(ClientError):
    """This respondent answered another version of the survey before."""


class RequestRefused(ClientError):
    """The collector, or a relay, refused a request, and would refuse it again.

    Parameters
    ----------
    status : int
        HTTP status.
    report : int, optional
        Position among the reports of the call of the one that was refused, from 0.
    accepted : int
        Reports of the call that had been counted before.
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
    """The collector, or a relay, could not be reached or asked to be left alone for a while.

    Parameters
    ----------
    accepted : int
        Reports of the call that had been counted before.
    status : int, optional
        HTTP status, if there was an answer.
    is_relay : bool
        Whether it was not the collector but the relay of the survey.
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
