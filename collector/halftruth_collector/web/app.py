"""The Flask application."""

from __future__ import annotations

from contextvars import copy_context
from typing import TYPE_CHECKING

from flask import Flask, Response, request
from werkzeug.middleware.proxy_fix import ProxyFix

from ..collector_store import Store
from ..offloading import INLINE, Offloading
from ..ops.metrics import Metrics
from ..ops.settings import Config
from ..store.keys import SealingKeyFile
from . import errors as problems
from . import observation, pages, routes
from .context import EXTENSION, Collector
from .headers import Protected
from .limits import ReportLimit
from .readiness import Readiness

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIApplication

#: What waits for nothing but a commit, or for nothing at all.
_EVENT_LOOP_ENDPOINTS = frozenset(["respondents.add_reports", "operations.get_health"])

#: Blueprints whose answers are there as soon as the database has said what it knows. All others
#: may compute for a while.
_BRIEF = frozenset(["respondents", "operations", "pages", "session"])


class Application(Flask):
    """Answers each request where it holds up no other one; see `Offloading`.

    This is the one place that decides it: a view function may wait and compute as it likes, unless
    its endpoint is in `_EVENT_LOOP_ENDPOINTS`.
    """

    offloading = INLINE

    def full_dispatch_request(self) -> Response:
        """Answer a request, in a thread that may wait for the database or compute."""
        answer = super().full_dispatch_request
        if request.endpoint in _EVENT_LOOP_ENDPOINTS:
            return answer()
        brief = request.endpoint is None or request.blueprint in _BRIEF
        offload = self.offloading.brief if brief else self.offloading.long
        # The thread sees the same request, for it runs in a copy of this context.
        response: Response = offload(copy_context().run, answer)
        return response


def create_app(config: Config | None = None, offloading: Offloading = INLINE) -> Flask:
    """Make a collector.

    Parameters
    ----------
    config : Config, optional
        Read from the environment by default.
    offloading : Offloading, optional
        Where an event loop lets functions run that would hold it up.

    Raises
    ------
    ParameterError
        If a setting is wrong.
    StoreUnavailable
        If the database cannot be reached.
    """
    config = config or Config.from_environment()
    app = Application("halftruth_collector", static_folder=None)
    app.offloading = offloading
    app.config["MAX_CONTENT_LENGTH"] = config.max_body
    metrics = Metrics()
    limit, keys = ReportLimit.of(config), _key_file(config)
    # Opened last: nobody would close it if another setting were wrong.
    store = Store(config.database, observer=metrics, offload=offloading.transactions)
    readiness = Readiness(store.database.check)
    collector = Collector(config, store, metrics, limit, keys, offloading, readiness)
    app.extensions[EXTENSION] = collector
    problems.register(app)
    for blueprint in (*routes.blueprints, *pages.blueprints):
        app.register_blueprint(blueprint)
    observation.observe(app, metrics)
    wsgi_app: WSGIApplication = Protected(app.wsgi_app)
    if config.proxies:
        wsgi_app = ProxyFix(wsgi_app, x_for=config.proxies, x_proto=config.proxies)
    app.wsgi_app = wsgi_app  # type: ignore[assignment, method-assign]
    return app


def _key_file(config: Config) -> SealingKeyFile | None:
    return None if config.sealing_keys is None else SealingKeyFile(config.sealing_keys)
