"""Metrics of a collector, for Prometheus.

With several processes, each process writes its metrics into files of a shared folder, and the one
that serves a request for metrics adds them up. prometheus_client enables this mode at import, by
the variable PROMETHEUS_MULTIPROC_DIR; so a server sets this variable before importing this module.

A program that stores every scrape would know when each report came, if the scrape after it showed
one more. So whatever counts requests is released once an hour: every scrape until the next hour has
the same numbers. Gauges do not count reports, and are shown at once.
"""

import os
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from threading import Lock

from halftruth_shared.protocol.reports import Receipt
from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4 as CONTENT_TYPE
from prometheus_client.metrics_core import Metric
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from .logs import STEP

__all__ = ["CONTENT_TYPE", "FOLDER_VARIABLE", "RELEASE_SECONDS", "Metrics"]

FOLDER_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"

#: Seconds between two releases of the numbers of requests.
RELEASE_SECONDS = 3_600

#: Families that are shown at once, since they do not count requests.
_AT_ONCE = frozenset(
    f"halftruth_{name}"
    for name in (
        *("build_info", "commit_queue", "last_backup_timestamp_seconds"),
        *("last_failure_timestamp_seconds", "relay_stopped_surveys", "uncounted_proxy"),
        "worker_starts",
    )
)

#: Prefix of the files with released numbers, whose names end with the number of the interval.
_RELEASED = "released-"

#: Waiting requests below this number are shown as 0, so that a scrape shows no single report.
_CROWD = 10

_COMMIT_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
_GROUP_SIZES = (1, 2, 4, 8, 16, 32, 64, 128)

# They would show the time of the first report to each survey.
disable_created_metrics()  # type: ignore[no-untyped-call]


class Metrics:
    """Metrics of one application; an observer of the commits and refusals of its store.

    Parameters
    ----------
    seconds : int
        Time between two releases of the numbers of requests, at whole multiples since 1970.
    clock : callable
        Returns the seconds since 1970.
    """

    def __init__(
        self, seconds: int = RELEASE_SECONDS, clock: Callable[[], float] = time.time
    ) -> None:
        self._interval, self._clock = seconds, clock
        self._lock = Lock()
        #: The numbers that are released, with the number of their interval; without a folder.
        self._released: tuple[int, bytes] | None = None
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
            "Requests that were refused as a whole, by reason.",
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
            f"Requests that wait for a commit now, if there are at least {_CROWD}.",
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
        self._failure = Gauge(
            "halftruth_last_failure_timestamp_seconds",
            "When a request last failed with status 5xx, to ten seconds; 0 before.",
            multiprocess_mode="max",
            registry=registry,
        )
        self._proxy = Gauge(
            "halftruth_uncounted_proxy",
            "1 once a request had the header X-Forwarded-For though HALFTRUTH_PROXIES is 0.",
            multiprocess_mode="max",
            registry=registry,
        )
        self._stopped = Gauge(
            "halftruth_relay_stopped_surveys",
            "Surveys of a relay that releases no further batch until its operator agrees.",
            multiprocess_mode="livemostrecent",
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
        self._queue.set(requests if requests >= _CROWD else 0)

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

    def failed(self) -> None:
        """Record that a request failed for a reason of this program or of its database."""
        self._failure.set(self._clock() // STEP * STEP)

    def found_uncounted_proxy(self) -> None:
        """Record that requests come through a proxy that the settings do not count."""
        self._proxy.set(1)

    def backed_up(self, at: datetime | None) -> None:
        """Set the time of the last back-up, if any."""
        if at is not None:
            self._backup.set(at.timestamp())

    def stopped(self, surveys: int) -> None:
        """Set the number of surveys of which a relay releases no further batch."""
        self._stopped.set(surveys)

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
        """Return the metrics of all processes that share a folder, as text.

        Numbers of requests are those at the first call of this interval. Before the second
        interval of a server there are none, since its first call can be at any time.
        """
        families = list(self._collect())
        at_once = [each for each in families if each.name in _AT_ONCE]
        others = [each for each in families if each.name not in _AT_ONCE]
        return _as_text(at_once) + self._release(others)

    def _collect(self) -> Iterable[Metric]:
        if FOLDER_VARIABLE in os.environ:
            return _MultiProcessFiles().collect()
        return self._registry.collect()

    def _release(self, families: Sequence[Metric]) -> bytes:
        """Return the text of this interval; make it of these families if there is none yet."""
        interval = int(self._clock() // self._interval)
        with self._lock:
            found = self._find_released()
            if found is None:
                return self._keep_released(interval, b"")
            if found[0] >= interval:
                return found[1]
            return self._keep_released(interval, _as_text(families))

    def _find_released(self) -> tuple[int, bytes] | None:
        """Return the number of the last interval with its text."""
        if FOLDER_VARIABLE not in os.environ:
            return self._released
        while files := list(Path(os.environ[FOLDER_VARIABLE]).glob(f"{_RELEASED}*")):
            numbers = {int(file.name.removeprefix(_RELEASED)): file for file in files}
            # Another process may replace it by a newer one meanwhile.
            with suppress(FileNotFoundError):
                return max(numbers), numbers[max(numbers)].read_bytes()
        return None

    def _keep_released(self, interval: int, text: bytes) -> bytes:
        """Keep the text of an interval, and return the one that was kept first."""
        if FOLDER_VARIABLE not in os.environ:
            self._released = interval, text
            return text
        folder = Path(os.environ[FOLDER_VARIABLE])
        kept = folder / f"{_RELEASED}{interval}"
        with tempfile.NamedTemporaryFile(dir=folder) as file:
            file.write(text)
            file.flush()
            with suppress(FileExistsError):
                os.link(file.name, kept)
        for other in folder.glob(f"{_RELEASED}*"):
            if int(other.name.removeprefix(_RELEASED)) < interval:
                other.unlink(missing_ok=True)
        # A process that is an interval ahead may have removed it.
        with suppress(FileNotFoundError):
            return kept.read_bytes()
        return text


def _as_text(families: Sequence[Metric]) -> bytes:
    registry = CollectorRegistry()
    registry.register(_Families(families))
    return generate_latest(registry)


class _Families(Collector):
    """Collector of given families."""

    def __init__(self, families: Sequence[Metric]) -> None:
        self._families = families

    def collect(self) -> Iterable[Metric]:
        return self._families


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
