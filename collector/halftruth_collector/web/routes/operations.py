"""What those ask who keep the collector running."""

import threading

from flask import Blueprint, Flask, Response, current_app
from halftruth_shared.protocol.base import Message

from ...errors import StoreUnavailable
from ...ops.metrics import CONTENT_TYPE, Metrics
from .. import parameters
from ..context import answer, collector, require

blueprint = Blueprint("operations", __name__)

_METRICS = "halftruth_metrics"
_STOPPING = "halftruth_stopping"


class Health(Message, frozen=True, kw_only=True):
    """How the collector is."""

    status: str


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
