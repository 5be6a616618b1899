"""Responses for errors, as ``application/problem+json`` documents (RFC 9457).

Only this module maps errors to HTTP statuses.
"""

import logging
from http import HTTPStatus

import msgspec
from flask import Flask, Response, g, render_template, request
from halftruth_shared import (
    DomainTooLarge,
    EstimateError,
    HalftruthError,
    ParameterError,
    RecordError,
    ReportError,
    SchemaError,
    SurveyError,
)
from halftruth_shared.protocol.base import Problem
from werkzeug.exceptions import HTTPException

from .. import errors
from ..ops.logs import place
from .context import service
from .headers import harden

_log = logging.getLogger(__name__)

#: Errors by status; the first match applies.
_STATUS: dict[int, tuple[type[HalftruthError], ...]] = {
    400: (errors.MalformedRequest,),
    401: (errors.Unauthorized,),
    403: (errors.Forbidden, errors.InvitationRefused, errors.TicketRefused),
    404: (errors.UnknownSurvey, errors.UnknownToken),
    406: (errors.NotAcceptable,),
    409: (
        *(errors.SurveyClosed, errors.StaleDigest, errors.SurveyExists),
        *(errors.TooFewReports, EstimateError),
    ),
    413: (errors.TooLarge,),
    429: (errors.TooManyReports,),
    503: (errors.SchemaOutdated, errors.StoreUnavailable, errors.SurveyPlanned),
    422: (
        *(errors.SignatureRefused, ReportError, RecordError, SchemaError, SurveyError),
        *(DomainTooLarge, ParameterError),
    ),
}

#: Outcomes for the reports of a failed request. `g.may_be_counted` of a request with reports says
#: whether counting had begun.
_NOT_COUNTED = "nothing of this request was counted"
_UNCERTAIN = (
    "reports of this request may have been counted; send the same ids again, and none counts twice"
)

#: Default of the header Retry-After in seconds.
_RETRY_AFTER = 5


def register(app: Flask) -> None:
    """Register handlers that answer all errors of an application with problem documents."""
    app.register_error_handler(HalftruthError, _handle_ours)
    app.register_error_handler(HTTPException, _handle_http)
    app.register_error_handler(Exception, _handle_unforeseen)


def status_of(error: HalftruthError) -> int:
    """Return the HTTP status of an error."""
    return next((status for status, kinds in _STATUS.items() if isinstance(error, kinds)), 500)


def _handle_ours(error: HalftruthError) -> Response:
    status = status_of(error)
    is_planned = isinstance(error, errors.SurveyPlanned)
    if status == 503 and not is_planned and not service().stopping.is_set():
        g.unavailable = getattr(error, "for_operators", str(error))
    detail = str(error)
    if isinstance(error, errors.StoreUnavailable) and "may_be_counted" in g:
        detail += f"; {_UNCERTAIN if g.may_be_counted and not error.is_undone else _NOT_COUNTED}"
    response = problem(
        status,
        errors.slug(error),
        detail,
        field=error.field,
        report=getattr(error, "index", None),
    )
    if status == 401:
        response.headers["WWW-Authenticate"] = "Bearer"
    if status in (429, 503):
        pause = getattr(error, "retry_after", _RETRY_AFTER)
        response.headers["Retry-After"] = str(pause)
    return response


def problem_page(error: HalftruthError | HTTPException) -> tuple[str, int]:
    """Render a page about an error."""
    if isinstance(error, HTTPException):
        return render_template("problem.html", detail=error.description), error.code or 500
    return render_template("problem.html", detail=str(error)), status_of(error)


def _handle_http(error: HTTPException) -> Response:
    status = error.code or 500
    kinds = ("application/problem+json", "text/html")
    asked_by_person = request.accept_mimetypes.best_match(kinds) == "text/html"
    if asked_by_person and not request.path.startswith("/v1/"):
        return harden(Response(*problem_page(error)), "'none'")
    response = problem(status, "http", error.description or HTTPStatus(status).phrase)
    for name, value in error.get_headers():
        if name in ("Allow", "Retry-After"):
            response.headers[name] = value
    return response


def _handle_unforeseen(error: Exception) -> Response:
    # Neither the response nor the log quotes the error, since it can contain values of the request.
    _log.error("unforeseen %s at %s", type(error).__name__, place(error.__traceback__))
    detail = "the server failed"
    if "may_be_counted" in g:
        detail += f"; {_UNCERTAIN if g.may_be_counted else _NOT_COUNTED}"
    return problem(500, "internal", detail)


def problem(
    status: int, kind: str, detail: str, *, field: str | None = None, report: int | None = None
) -> Response:
    """Return a response with a problem document."""
    document = Problem(
        type=f"urn:halftruth:problem:{kind}",
        title=HTTPStatus(status).phrase,
        status=status,
        detail=detail,
        field=field,
        report=report,
    )
    return Response(
        msgspec.json.encode(document),
        status,
        mimetype="application/problem+json",
        headers={"Cache-Control": "no-store"},
    )
