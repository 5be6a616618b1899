"""The Flask application."""

from flask import Flask

from .. import pages
from ..config import Config
from ..store import Store
from . import analysts, operations, operators, planning, problems, respondents
from .context import EXTENSION, Collector


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
    app.extensions[EXTENSION] = Collector(config, Store(config.database))
    problems.register(app)
    for blueprint in (
        respondents.blueprint,
        analysts.blueprint,
        operators.blueprint,
        planning.blueprint,
        *pages.blueprints,
        operations.blueprint,
    ):
        app.register_blueprint(blueprint)
    return app
