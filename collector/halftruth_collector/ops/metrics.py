"""Metrics of a collector, for Prometheus.

With several processes, each process writes its metrics into files of a shared folder, and the one
that serves a request for metrics adds them up. prometheus_client enables this mode at import, by
the variable PROMETHEUS_MULTIPROC_DIR; so a server sets this variable before importing this module.
"""

import os
from collections import defaultdict
from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import datetime
from importlib.metadata import version
from pathlib import Path

from halftruth_shared.protocol.reports import Receipt
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4 as CONTENT_TYPE
from prometheus_client.metrics_core import Metric
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

__all__ = ["CONTENT_TYPE", "FOLDER_VARIABLE", "Metrics"]

FOLDER_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"

_COMMIT_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
_GROUP_SIZES = (1, 2, 4, 8, 16, 32, 64, 128)


class Metrics:
    """Metrics of one application; an observer of the commits and refusals of its store."""

    def __init__(self) -> None:
        self._registry = registry = CollectorRegistry()
        # Count at once, so that the file of the counters is open before it can be deleted.
        Counter(
            "halftruth_worker_starts_total", "Workers that were started.", registry=registry
        ).inc()
        self._reports = Counter(
            "halftruth_reports_total",
            "Reports that were acknowledged, by whether they were counted or had been before.",
            ["survey", "outcome"],
            registry=registry,
        )
        self._refused = Counter(
            "halftruth_requests_refused_total",
            "Requests of which nothing was counted, by reason.",
            ["reason"],
            registry=registry,
        )
        self._seconds = Histogram(
            "halftruth_commit_seconds",
            "Seconds that a commit of reports took.",
            buckets=_COMMIT_SECONDS,
            registry=registry,
        )
        self._group_sizes = Histogram(
            "halftruth_commit_requests",
            "Requests that shared one commit.",
            buckets=_GROUP_SIZES,
            registry=registry,
        )
        self._queue = Gauge(
            "halftruth_commit_queue",
            "Requests that wait for a commit now.",
            multiprocess_mode="livesum",
            registry=registry,
        )
        self._requests = Histogram(
            "halftruth_http_request_seconds",
            "Seconds between a whole request and its answer.",
            ["route", "method", "status"],
            registry=registry,
        )
        self._backup = Gauge(
            "halftruth_last_backup_timestamp_seconds",
            "When 'halftruth admin backup' wrote its last file; 0 before.",
            multiprocess_mode="max",
            registry=registry,
        )
        build = Gauge(
            "halftruth_build_info",
            "1, with the version that runs.",
            ["version"],
            multiprocess_mode="livemax",
            registry=registry,
        )
        build.labels(version("halftruth-collector")).set(1)

    def waiting(self, requests: int) -> None:
        """Set the number of requests that wait for a commit."""
        self._queue.set(requests)

    def committed(self, seconds: float, receipts: Sequence[tuple[str, Receipt]]) -> None:
        """Record a commit of some requests, each with its survey and receipt."""
        self._seconds.observe(seconds)
        self._group_sizes.observe(len(receipts))
        # Add up first, since each counter is written into a file.
        counted: dict[str, int] = defaultdict(int)
        repeated: dict[str, int] = defaultdict(int)
        for survey, receipt in receipts:
            counted[survey] += receipt.accepted
            repeated[survey] += receipt.duplicates
        for survey in counted:
            self._reports.labels(survey, "counted").inc(counted[survey])
            self._reports.labels(survey, "repeated").inc(repeated[survey])

    def backed_up(self, at: datetime | None) -> None:
        """Set the time of the last back-up, if any."""
        if at is not None:
            self._backup.set(at.timestamp())

    def asking(self, surveys: Iterable[str]) -> None:
        """Initialize the counters of open surveys, so that all have them even without reports."""
        for survey in surveys:
            self._reports.labels(survey, "counted")

    def refused(self, reason: str) -> None:
        """Count a refused request."""
        self._refused.labels(reason).inc()

    def request(self, route: str, method: str, status: int, seconds: float) -> None:
        """Record a response; the route is the template of its path, never the path itself."""
        self._requests.labels(route, method, f"{status // 100}xx").observe(seconds)

    def exposition(self) -> bytes:
        """Return the metrics of all processes that share a folder, as text."""
        if FOLDER_VARIABLE not in os.environ:
            return generate_latest(self._registry)
        whole = CollectorRegistry()
        whole.register(_MultiProcessFiles())
        return generate_latest(whole)


class _MultiProcessFiles(Collector):
    """Collector of the metrics in the files of all processes, which skips empty files.

    A process creates an empty file, and resizes it a moment later. The collector of
    prometheus_client fails completely if a file is empty, as after a process was killed in between.
    """

    def collect(self) -> Iterable[Metric]:
        written = []
        for file in Path(os.environ[FOLDER_VARIABLE]).glob("*.db"):
            with suppress(FileNotFoundError):
                if file.stat().st_size > 0:
                    written.append(str(file))
        merged: Iterable[Metric] = MultiProcessCollector.merge(written)  # type: ignore[no-untyped-call]
        return merged
