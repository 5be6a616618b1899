"""The Flask application."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from flask import Flask
from werkzeug.exceptions import HTTPException
from werkzeug.middleware.proxy_fix import ProxyFix

from ..collector_store import Store
from ..ops.metrics import Metrics
from ..ops.settings import Config
from ..store.keys import SealingKeyFile
from . import errors as problems
from . import observation, pages, routes
from .context import EXTENSION, Collector, forget_bearer
from .headers import Protected
from .limits import ReportLimit
from .readiness import Readiness

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIApplication

#: Blueprints that answer as soon as the database has; all others may compute for a while.
_BRIEF = frozenset(["respondents", "operations", "pages", "session"])

#: What a server runs a request in: its event loop, or one kind of its threads.
Workload = Literal["none", "reports", "brief", "long"]


def expected_workload(app: Flask, method: str, path: str) -> Workload:
    """Return what a request waits for: nothing, a commit, the database, or a computation."""
    try:
        endpoint, _ = app.url_map.bind("").match(path, method)
    except HTTPException:
        return "brief"
    if endpoint == "operations.get_health":
        return "none"
    if endpoint == "respondents.add_reports":
        return "reports"
    return "brief" if endpoint.partition(".")[0] in _BRIEF else "long"


def create_app(config: Config | None = None) -> Flask:
    """Make a collector.

    Parameters
    ----------
    config : Config, optional
        Read from the environment by default.

    Raises
    ------
    ParameterError
        If a setting is wrong.
    StoreUnavailable
        If the database cannot be reached.
    """
    config = config or Config.from_environment()
    app = Flask("halftruth_collector", static_folder=None)
    app.config["MAX_CONTENT_LENGTH"] = config.max_body
    metrics = Metrics()
    proxied = config.proxies > 0
    limit = ReportLimit(config.rate_limit, config.rate_limit_storage, proxied=proxied)
    keys = _key_file(config)
    # Opened last: nobody would close it if another setting were wrong.
    store = Store(config.database, observer=metrics, sealing_keys=lambda: collector.known_keys())
    readiness = Readiness(store.database.check)
    collector = Collector(config, store, metrics, limit, keys, readiness)
    app.extensions[EXTENSION] = collector
    problems.register(app)
    app.teardown_request(forget_bearer)
    for blueprint in (*routes.blueprints, *pages.blueprints):
        app.register_blueprint(blueprint)
    observation.observe(app, metrics)
    wsgi_app: WSGIApplication = Protected(app.wsgi_app)
    if proxied:
        wsgi_app = ProxyFix(wsgi_app, x_for=config.proxies, x_proto=config.proxies)
    app.wsgi_app = wsgi_app  # type: ignore[assignment, method-assign]
    return app


def _key_file(config: Config) -> SealingKeyFile | None:
    return None if config.sealing_keys is None else SealingKeyFile(config.sealing_keys)
