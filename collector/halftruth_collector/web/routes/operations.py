"""Calls for monitoring: health, readiness, metrics, and the description of all calls."""

from typing import Any

import msgspec
from flask import Response, g

from ...errors import SchemaOutdated, StoreUnavailable
from ...ops.metrics import CONTENT_TYPE, Metrics
from ...store.audit import BACKUP
from ..calls import OPERATIONS
from ..context import collector, service
from ..messages import Health
from ..openapi import document


@OPERATIONS.call("GET", "/healthz", answer=Health)
def get_health() -> Health:
    """Check liveness.

    The database is not queried.
    """
    return Health(status="ok")


@OPERATIONS.call("GET", "/readyz", answer=Health, errors=(StoreUnavailable, SchemaOutdated))
def get_readiness() -> Health:
    """Check readiness.

    The database accepts writes, its tables are current, and the process is not stopping. The
    database is queried at most once in ten seconds.
    """
    if service().stopping.is_set():
        raise StoreUnavailable("this server is stopping; send requests to another one")
    readiness = service().readiness
    g.is_remembered = not readiness.refresh()
    readiness.raise_failure()
    return Health(status="ready")


@OPERATIONS.call("GET", "/metrics", role="monitor", answer="text/plain")
def get_metrics() -> Response:
    """Get metrics for Prometheus."""
    store, metrics = collector().store, collector().metrics
    metrics.backed_up(store.audit.last(BACKUP))
    metrics.asking(
        stored.id for stored in store.surveys.all() if store.surveys.status(stored) == "open"
    )
    return expose(metrics)


@OPERATIONS.call("GET", "/openapi.json", answer="application/json")
def get_description() -> Response:
    """Get this description."""
    return describe(document())


def expose(metrics: Metrics) -> Response:
    """Return a response with the metrics of all processes."""
    return Response(metrics.exposition(), content_type=CONTENT_TYPE)


def describe(document: dict[str, Any]) -> Response:
    """Return a response with an OpenAPI document, which pages of any origin may read."""
    content = msgspec.json.encode(document)
    headers = {"Access-Control-Allow-Origin": "*"}
    return Response(content, mimetype="application/json", headers=headers)
