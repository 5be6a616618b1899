"""The Flask application."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal

from flask import Blueprint, Flask
from halftruth_shared.deadlines import checked
from werkzeug.exceptions import HTTPException
from werkzeug.middleware.proxy_fix import ProxyFix

from ..collector_store import Store
from ..ops.metrics import RELEASE_SECONDS, Metrics
from ..ops.settings import Config
from ..store.keys import SealingKeyFile
from . import errors as problems
from . import observation, pages, routes
from .context import EXTENSION, Collector, Service, forget_bearer
from .headers import SecurityHeaders
from .limits import ReportLimit
from .readiness import Readiness

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIApplication

#: Blueprints whose requests only wait for the database; all others may compute for a while.
_BRIEF = frozenset(["respondents", "relay", "operations", "pages", "session"])

#: Endpoints whose files are in memory.
_IN_MEMORY = frozenset(["pages.asset", "pages.built", "pages.script"])

#: Where a server runs a request: "none" in its event loop, others in a pool of threads.
Workload = Literal["none", "reports", "brief", "long"]


def expected_workload(app: Flask, method: str, path: str) -> Workload:
    """Return the workload of a request: nothing, a commit, a database query or a computation."""
    try:
        endpoint, _ = app.url_map.bind("").match(path, method)
    except HTTPException:
        return "brief"
    audience, _, call = endpoint.partition(".")
    if call == "get_health" or endpoint in _IN_MEMORY:
        return "none"
    if call == "add_reports":
        return "reports"
    return "brief" if audience in _BRIEF else "long"


def create_app(config: Config | None = None) -> Flask:
    """Create the WSGI application of a collector.

    Parameters
    ----------
    config : Config, optional
        Settings; read from the environment by default.

    Raises
    ------
    ParameterError
        If a setting is invalid.
    StoreUnavailable
        If the database cannot be reached.
    """
    config = config or Config.from_environment()
    keys = None if config.sealing_keys is None else SealingKeyFile(config.sealing_keys)
    metrics = Metrics(config.metrics_seconds or RELEASE_SECONDS)
    limit = ReportLimit(config.rate_limit)
    # Open the store last, since it would stay open if another setting were invalid.
    store = Store(
        config.database,
        observer=metrics,
        sealing_keys=lambda: collector.known_keys(),
        sealing_file=config.sealing_keys,
    )
    collector = Collector(
        config=config,
        store=store,
        metrics=metrics,
        limit=limit,
        key_file=keys,
        readiness=Readiness(store.database.check),
    )
    return assemble(collector, (*routes.blueprints, *pages.blueprints))


def assemble(service: Service, blueprints: Iterable[Blueprint]) -> Flask:
    """Assemble an application from blueprints, with common errors, logging and headers."""
    app = Flask("halftruth_collector", static_folder=None)
    app.config["MAX_CONTENT_LENGTH"] = service.config.max_body
    app.extensions[EXTENSION] = service
    app.jinja_env.filters["checked"] = checked
    problems.register(app)
    app.teardown_request(forget_bearer)
    for blueprint in blueprints:
        app.register_blueprint(blueprint)
    observation.observe(app, service)
    wsgi_app: WSGIApplication = SecurityHeaders(app.wsgi_app)
    if proxies := service.config.proxies:
        wsgi_app = ProxyFix(wsgi_app, x_for=proxies, x_proto=proxies)
    app.wsgi_app = wsgi_app  # type: ignore[assignment, method-assign]
    return app
