"""The Flask application."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flask import Flask
from werkzeug.middleware.proxy_fix import ProxyFix

from .. import pages
from ..config import Config
from ..headers import Protected
from ..metrics import Metrics
from ..store import Store
from . import (
    analysts,
    observation,
    openapi,
    operations,
    operators,
    planning,
    problems,
    respondents,
)
from .context import EXTENSION, Collector
from .limits import ReportLimit

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIApplication

    # Only a collector with sealed surveys needs the cryptography.
    from halftruth_shared.sealing import SealingKeys


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
    app.extensions[EXTENSION] = Collector(
        config,
        Store(config.database, observer=metrics.store),
        ReportLimit.of(config),
        _sealing_keys(config),
    )
    operations.operate(app, metrics)
    problems.register(app)
    for blueprint in (
        respondents.blueprint,
        analysts.blueprint,
        operators.blueprint,
        planning.blueprint,
        *pages.blueprints,
        operations.blueprint,
        openapi.blueprint,
    ):
        app.register_blueprint(blueprint)
    observation.observe(app, metrics)
    wsgi_app: WSGIApplication = Protected(app.wsgi_app)
    if config.proxies:
        wsgi_app = ProxyFix(wsgi_app, x_for=config.proxies, x_proto=config.proxies)
    app.wsgi_app = wsgi_app  # type: ignore[assignment, method-assign]
    return app


def _sealing_keys(config: Config) -> SealingKeys | None:
    if config.sealing_keys is None:
        return None
    from halftruth_shared.sealing import SealingKeys

    return SealingKeys.read(config.sealing_keys)
