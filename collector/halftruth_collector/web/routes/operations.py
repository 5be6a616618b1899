"""What those ask who keep the collector running."""

import threading
from functools import cache

import msgspec
from flask import Blueprint, Flask, Response, current_app

from ...errors import StoreUnavailable
from ...ops.metrics import CONTENT_TYPE, Metrics
from .. import parameters
from ..context import answer, collector, require
from ..messages import Health
from ..openapi import document

blueprint = Blueprint("operations", __name__)

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
    """What an application counts."""
    metrics: Metrics = app.extensions[_METRICS]
    return metrics


def stop(app: Flask) -> None:
    """Say from now on that an application wants no more requests, though it answers them."""
    app.extensions[_STOPPING].set()


@blueprint.get("/healthz")
def healthz() -> Response:
    """200 as long as the process answers, whatever the database does."""
    parameters.none()
    return answer(Health(status="ok"))


@blueprint.get("/readyz")
def readyz() -> Response:
    """200 if requests may be sent here: the database answers, and this process goes on."""
    parameters.none()
    if current_app.extensions[_STOPPING].is_set():
        raise StoreUnavailable("this collector is stopping; send requests to another one")
    collector().store.check()
    return answer(Health(status="ready"))


@blueprint.get("/metrics")
def metrics() -> Response:
    """Numbers for Prometheus, of all processes of this collector."""
    require("monitor")
    parameters.none()
    response = Response(metrics_of(current_app).exposition(), mimetype="text/plain")
    response.headers["Content-Type"] = CONTENT_TYPE
    return response


@blueprint.get("/openapi.json")
def get_description() -> Response:
    """The OpenAPI document of this collector; any page may read it."""
    parameters.none()
    response = Response(_description(), mimetype="application/json")
    response.headers["Access-Control-Allow-Origin"] = "*"
    return response


@cache
def _description() -> bytes:
    return msgspec.json.encode(document())
