"""Calls for monitoring: health, readiness, metrics, and the description of all calls."""

import threading
from functools import cache

import msgspec
from flask import Flask, Response, current_app

from ...errors import SchemaOutdated, StoreUnavailable
from ...ops.metrics import CONTENT_TYPE, Metrics
from ..calls import OPERATIONS
from ..context import collector
from ..messages import Health
from ..openapi import document

_METRICS = "halftruth_metrics"
_STOPPING = "halftruth_stopping"


def operate(app: Flask, metrics: Metrics) -> None:
    """Let an application answer for its state.

    Parameters
    ----------
    app : Flask
    metrics : Metrics
        What it counts.
    """
    app.extensions[_METRICS] = metrics
    app.extensions[_STOPPING] = threading.Event()


def metrics_of(app: Flask) -> Metrics:
    """Return the metrics of an application."""
    metrics: Metrics = app.extensions[_METRICS]
    return metrics


def stop(app: Flask) -> None:
    """Say from now on that an application wants no more requests, though it answers them."""
    app.extensions[_STOPPING].set()


@OPERATIONS.call("GET", "/healthz", answer=Health)
def get_health() -> Health:
    """Liveness of the process.

    It does not look at the database.
    """
    return Health(status="ok")


@OPERATIONS.call("GET", "/readyz", answer=Health, errors=(StoreUnavailable, SchemaOutdated))
def get_readiness() -> Health:
    """Readiness for requests.

    The database answers, its tables are current, and the process goes on.
    """
    if current_app.extensions[_STOPPING].is_set():
        raise StoreUnavailable("this collector is stopping; send requests to another one")
    collector().store.check()
    return Health(status="ready")


@OPERATIONS.call("GET", "/metrics", role="monitor", answer="text/plain")
def get_metrics() -> Response:
    """Numbers for Prometheus."""
    response = Response(metrics_of(current_app).exposition(), mimetype="text/plain")
    response.headers["Content-Type"] = CONTENT_TYPE
    return response


@OPERATIONS.call("GET", "/openapi.json", answer="application/json")
def get_description() -> Response:
    """This description."""
    response = Response(_description(), mimetype="application/json")
    # Any page may read it.
    response.headers["Access-Control-Allow-Origin"] = "*"
    return response


@cache
def _description() -> bytes:
    return msgspec.json.encode(document())
