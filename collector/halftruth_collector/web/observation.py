"""Record every response in the metrics and in one log line."""

import logging
import secrets
import time

from flask import Flask, Response, g

from ..ops.metrics import Metrics
from .calls import template
from .context import current_request

_log = logging.getLogger(__name__)

#: Header of a response with the id of its log line.
REQUEST_ID = "X-Request-ID"

#: Key of the start time of a request in its environment.
_BEGUN = "halftruth.begun"

#: Methods that are logged by name; clients can send arbitrary other words.
_METHODS = frozenset(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"])


class Availability:
    """Log when the database of a worker becomes unavailable, and when it is available again."""

    def __init__(self) -> None:
        self._cause: str | None = None

    def failed(self, cause: str) -> None:
        """Log the first failure after a report was counted."""
        if self._cause is None:
            _log.error("unavailable: %s", cause)
            self._cause = cause

    def works(self) -> None:
        """Log the first success after a failure."""
        if self._cause is not None:
            _log.info("available again after: %s", self._cause)
            self._cause = None


def observe(app: Flask, metrics: Metrics) -> None:
    """Observe all requests of an application."""
    availability = Availability()
    #: Ids of existing surveys; other ids in a path can be any text, and are not logged.
    known: set[str] = set()

    @app.before_request
    def begin() -> None:
        # If the server runs a request again, in a thread, both runs count.
        current_request().environ.setdefault(_BEGUN, time.perf_counter())

    @app.after_request
    def end(response: Response) -> Response:
        request = current_request()
        seconds = time.perf_counter() - request.environ[_BEGUN]
        rule = request.url_rule
        route = "none" if rule is None else template(rule.rule)
        method = request.method if request.method in _METHODS else "other"
        status = response.status_code
        try:
            metrics.request(route, method, status, seconds)
        except Exception as error:
            # The response must be sent even so, since the reports may have been counted.
            _log.error("metrics: unforeseen %s", type(error).__name__)
        if g.get("is_remembered"):
            # A cached outcome does not show the current state.
            pass
        elif "unavailable" in g:
            availability.failed(g.unavailable)
        elif status == 202 or (route, status) == ("/readyz", 200):
            availability.works()
        if status == 202 or not _log.isEnabledFor(logging.INFO):
            # Counted reports are not logged, not even their time; the metrics have totals.
            return response
        # Generate the id here, since an id from a client could be any text.
        response.headers[REQUEST_ID] = name = secrets.token_hex(8)
        fields = {
            "request": name,
            "method": method,
            "route": route,
            "status": status,
            "milliseconds": round(seconds * 1000, 1),
            "bytes_in": request.content_length or 0,
        }
        survey = (request.view_args or {}).get("survey_id")
        if survey is not None:
            if status < 300 and method not in ("OPTIONS", "other"):
                known.add(survey)
            if survey in known:
                fields["survey"] = survey
        _log.info("request", extra=fields)
        return response
