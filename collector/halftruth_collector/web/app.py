"""The Flask application."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from flask import Blueprint, Flask
from halftruth_shared.deadlines import checked
from halftruth_shared.results.wording import number
from werkzeug.middleware.proxy_fix import ProxyFix

from ..collector_store import Store
from ..ops.metrics import RELEASE_SECONDS, Metrics
from ..ops.settings import THREADS, Config
from ..store.keys import SealingKeyFile
from . import errors as problems
from . import observation, pages, routes
from .budget import limit_large_bodies
from .context import EXTENSION, Collector, Service, forget_bearer
from .headers import SecurityHeaders
from .limits import ReportLimit
from .narrow import headed
from .readiness import Readiness
from .turns import Turns

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIApplication


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
    limit, ticket_limit = ReportLimit(config.rate_limit), ReportLimit(config.rate_limit)
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
        ticket_limit=ticket_limit,
        key_file=keys,
        readiness=Readiness(store.database.check),
        computations=Turns(config.threads or THREADS),
    )
    return assemble(collector, (*routes.blueprints, *pages.blueprints))


def assemble(service: Service, blueprints: Iterable[Blueprint]) -> Flask:
    """Assemble an application from blueprints, with common errors, logging and headers."""
    app = Flask("halftruth_collector", static_folder=None)
    app.config["MAX_CONTENT_LENGTH"] = service.config.max_body
    app.extensions[EXTENSION] = service
    app.jinja_env.filters["checked"] = checked
    app.jinja_env.filters |= {"headed": headed, "number": number}
    problems.register(app)
    app.teardown_request(forget_bearer)
    for blueprint in blueprints:
        app.register_blueprint(blueprint)
    observation.observe(app, service)
    limit_large_bodies(app)
    wsgi_app: WSGIApplication = SecurityHeaders(app.wsgi_app)
    if proxies := service.config.proxies:
        wsgi_app = ProxyFix(wsgi_app, x_for=proxies, x_proto=proxies)
    app.wsgi_app = wsgi_app  # type: ignore[assignment, method-assign]
    return app
