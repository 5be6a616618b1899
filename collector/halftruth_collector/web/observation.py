"""Record every response in the metrics, and those of operators and analysts in one log line each.

Requests of respondents are not logged: neither reports, counted or refused, nor what precedes a
report by milliseconds (its preflight, the survey, the check of an invitation) or by the time that
answering took (the form's page and scripts).
"""

import logging
import secrets
import time
from collections.abc import Mapping

from flask import Flask, Response, g

from ..ops import logs
from .calls import template
from .context import Service, current_request

_log = logging.getLogger(__name__)

#: Header of a response with the id of its log line.
REQUEST_ID = "X-Request-ID"

#: Blueprints of the requests of respondents and, of a relay, of all requests.
_OF_RESPONDENTS = frozenset(["pages", "relay", "respondents"])

#: Keys of the environment with headers that only proxies add.
_FORWARDED = frozenset(["HTTP_X_FORWARDED_FOR", "HTTP_FORWARDED"])

#: Methods that are logged by name; clients can send arbitrary other words.
_METHODS = frozenset(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"])


class Availability:
    """Log when the database of a worker becomes unavailable, and when it is available again."""

    def __init__(self) -> None:
        self._cause: str | None = None

    def failed(self, cause: str) -> None:
        """Log the first failure after the database was available."""
        if self._cause is None:
            _log.error("unavailable: %s", cause)
            self._cause = cause

    def works(self) -> None:
        """Log the first success after a failure."""
        if self._cause is not None:
            _log.info("available again after: %s", self._cause)
            self._cause = None


class ProxyCheck:
    """Warn once if requests come through a proxy that `HALFTRUTH_PROXIES` does not count."""

    def __init__(self, service: Service) -> None:
        self._is_due = service.config.proxies == 0
        self._metrics = service.metrics

    def see(self, environ: Mapping[str, object]) -> None:
        """Look at the headers of a request."""
        if self._is_due and not _FORWARDED.isdisjoint(environ):
            self._is_due = False
            self._metrics.found_uncounted_proxy()
            _log.warning(
                "requests have the header X-Forwarded-For or Forwarded, and HALFTRUTH_PROXIES is 0:"
                " all that come through the same proxy share the rate limit of one address"
            )


def is_logged(endpoint: str | None) -> bool:
    """Return whether requests to an endpoint are logged; None for a path that does not exist.

    Browsers of respondents ask for such paths, too, as for an icon.
    """
    return endpoint is not None and endpoint.partition(".")[0] not in _OF_RESPONDENTS


def observe(app: Flask, service: Service) -> None:
    """Observe all requests of an application."""
    metrics, availability, proxies = service.metrics, Availability(), ProxyCheck(service)
    #: Ids of existing surveys; other ids in a path can be any text, and are not logged.
    known: set[str] = set()

    @app.before_request
    def begin() -> None:
        g.begun = time.perf_counter()

    @app.after_request
    def end(response: Response) -> Response:
        request = current_request()
        seconds = time.perf_counter() - g.begun
        rule = request.url_rule
        route = "none" if rule is None else template(rule.rule)
        method = request.method if request.method in _METHODS else "other"
        status = response.status_code
        # A cached outcome does not show the current state.
        is_current = not g.get("is_remembered")
        try:
            proxies.see(request.environ)
            metrics.request(route, method, status, seconds)
            if status >= 500 and is_current and not service.stopping.is_set():
                metrics.failed()
        except Exception as error:
            # The response must be sent even so, since the reports may have been counted.
            _log.error("metrics: unforeseen %s", type(error).__name__)
        if is_current and "unavailable" in g:
            availability.failed(g.unavailable)
        elif is_current and (route, status) == ("/readyz", 200):
            # Not at a counted report, since the line would tell its time.
            availability.works()
        if not is_logged(request.endpoint) or not _log.isEnabledFor(logging.INFO):
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
        _log.info("request", extra={**logs.AT_ONCE, **fields})
        return response
