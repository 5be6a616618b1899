"""Metrics for Prometheus, of one process and of several."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import requests
import yaml
from halftruth_collector import operations
from halftruth_collector.errors import StoreUnavailable
from halftruth_collector.intake.counting import ReportStore
from halftruth_collector.ops import metrics
from halftruth_collector.ops.metrics import Metrics
from prometheus_client.parser import text_string_to_metric_families
from wire import PATIENCE, REPORTS, wait_until

Numbers = dict[tuple[str, frozenset[tuple[str, str]]], float]


def numbers(text: str) -> Numbers:
    """Return every sample by name and labels, as parsed by Prometheus' client."""
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def value(found: Numbers, name: str, **labels: str) -> float:
    return found.get((name, frozenset(labels.items())), 0.0)


@pytest.fixture
def monitor(store) -> dict[str, str]:
    return {"Authorization": f"Bearer {operations.create_token(store, 'monitor')}"}


HOUR, MINUTE = 3_600, 60


class Clock:
    """A clock that only tests advance."""

    def __init__(self) -> None:
        self.now = 500_000 * HOUR

    def time(self) -> float:
        return self.now


@pytest.fixture
def clock(app, monkeypatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(app.extensions["halftruth"].metrics, "_clock", made.time)
    return made


@pytest.fixture
def scrape_now(http, monitor, clock):
    """Read the metrics as they are shown now."""
    return lambda: numbers(http.get("/metrics", headers=monitor).get_data(as_text=True))


@pytest.fixture
def scrape(scrape_now, clock):
    """Wait for the next hour, and read the metrics."""
    scrape_now()

    def read() -> Numbers:
        clock.now += HOUR
        return scrape_now()

    return read


def test_numbers_of_requests_change_at_whole_hours_only(http, batch, scrape_now, clock):
    """Whoever stores every scrape learns the hours of reports."""
    send = lambda: http.post("/v1/surveys/health/reports", json=batch([0, 0]))  # noqa: E731

    def without_gauges() -> Numbers:
        found = scrape_now()
        assert not [name for name, _ in found if name.endswith("_created")]
        return {
            sample: number
            for sample, number in found.items()
            if sample[0].startswith(("halftruth_reports", "halftruth_http", "halftruth_requests"))
            or sample[0].startswith(("halftruth_commit_seconds", "halftruth_commit_requests"))
        }

    clock.now += 20 * MINUTE
    send()
    # The first scrape could come just after a report.
    assert without_gauges() == {}
    for minutes, reports in ((20, None), (15, None), (25, 4), (30, 4), (9, 4), (1, 7), (59, 7)):
        send()
        clock.now += minutes * MINUTE
        found = without_gauges()
        assert found == without_gauges()
        assert found.get(COUNTED) == reports
    clock.now += 5 * HOUR
    assert without_gauges()[COUNTED] == 8


COUNTED = ("halftruth_reports_total", frozenset({("survey", "health"), ("outcome", "counted")}))


def test_everything_that_counts_requests_is_released_by_the_hour(http, batch, scrape_now, clock):
    """Only gauges, and the starts of workers, differ between two scrapes of an hour."""
    scrape_now()
    clock.now += HOUR
    before = scrape_now()
    for body in (batch([0, 0]), batch([0, 7]), {"digest": ""}):
        http.post("/v1/surveys/health/reports", json=body)
    http.options("/v1/surveys/health/reports")
    for path in ("/s/health", "/v1/surveys/health", "/nothing", "/readyz"):
        http.get(path)
    assert scrape_now() == before
    clock.now += HOUR
    assert scrape_now() != before


def test_the_queue_shows_a_crowd_and_no_single_request(app, scrape_now):
    for waiting, shown in ((1, 0), (9, 0), (10, 10), (64, 64)):
        app.extensions["halftruth"].metrics.waiting(waiting)
        assert value(scrape_now(), "halftruth_commit_queue") == shown


def test_a_failure_is_shown_at_once_to_ten_seconds(
    app, http, batch, scrape_now, clock, monkeypatch
):
    name = "halftruth_last_failure_timestamp_seconds"
    assert value(scrape_now(), name) == 0

    def fail(*_):
        raise StoreUnavailable("the database does not answer")

    clock.now += 7
    http.post("/v1/surveys/health/reports", json=batch([0, 7]))
    assert value(scrape_now(), name) == 0
    monkeypatch.setattr(ReportStore, "count", fail)
    assert http.post("/v1/surveys/health/reports", json=batch([0, 0])).status_code == 503
    assert value(scrape_now(), name) == 500_000 * HOUR
    clock.now += 13
    monkeypatch.setattr(ReportStore, "count", None)
    assert http.post("/v1/surveys/health/reports", json=batch([0, 0])).status_code == 500
    assert value(scrape_now(), name) == 500_000 * HOUR + 20


def test_metrics_of_reports_agree_with_the_store(http, batch, scrape, counted):
    both = batch([0, 0], [1, 2])
    for _ in range(2):
        assert http.post("/v1/surveys/health/reports", json=both).status_code == 202
    http.post("/v1/surveys/health/reports", json=batch([0, 7]))
    http.post("/v1/surveys/health/reports", json=batch([0, 0], digest="0" * 64))
    found = scrape()
    assert value(found, "halftruth_requests_refused_total", reason="report-error") == 1
    assert value(found, "halftruth_requests_refused_total", reason="stale-digest") == 1
    assert (
        value(found, "halftruth_reports_total", survey="health", outcome="counted")
        == counted()
        == 2
    )
    assert value(found, "halftruth_reports_total", survey="health", outcome="repeated") == 2
    assert value(found, "halftruth_commit_requests_sum") == 2
    assert value(found, "halftruth_commit_queue") == 0
    assert value(found, "halftruth_last_backup_timestamp_seconds") == 0


def test_an_open_survey_has_a_counter_before_its_first_report(http, store, scrape_now, clock):
    operations.close_survey(store, "health", confirm="health")
    scrape_now()
    clock.now += HOUR
    assert COUNTED not in scrape_now()
    operations.reopen_survey(store, "health")
    clock.now += HOUR
    assert scrape_now()[COUNTED] == 0


def test_the_time_of_the_last_backup_is_a_metric(command, database, scrape, tmp_path):
    before = time.time()
    assert command("admin", "backup", tmp_path / "all.db", "--database", database)[0] == 0
    assert value(scrape(), "halftruth_last_backup_timestamp_seconds") >= before


#: Labels that rules and panels may use.
LABELS = {"instance", "job", "le", "outcome", "reason", "status", "survey", "version"}


def test_alert_rules_and_panels_use_existing_metrics(http, monitor, scrape):
    scrape()
    folder = Path(__file__).parents[3] / "docker"
    [group] = yaml.safe_load((folder / "rules.yaml").read_text(encoding="utf-8"))["groups"]
    asked = []
    for rule in group["rules"]:
        assert {"alert", "expr", "labels", "annotations"} <= rule.keys()
        assert rule["annotations"].keys() == {"summary", "description"}
        asked.append(rule["expr"])
    panels = json.loads((folder / "dashboard.json").read_text(encoding="utf-8"))["panels"]
    drawn = [target["expr"] for panel in panels for target in panel["targets"]]
    there = http.get("/metrics", headers=monitor).get_data(as_text=True)
    for expression in asked + drawn:
        for name in re.findall(r"halftruth_\w+", expression):
            assert f"# TYPE {re.sub('_(bucket|count|sum)$', '', name)} " in there
        by, named = re.findall(r"by \(([\w, ]+)\)", expression), re.findall(r"(\w+)=", expression)
        assert {*named, *(label for each in by for label in each.split(", "))} <= LABELS
    # Every metric is shown in the dashboard.
    for name in re.findall(r"# TYPE (halftruth_\w+) ", there):
        assert name in " ".join(drawn)


def test_requests_are_timed_by_the_template_of_their_path(http, scrape):
    http.get("/v1/surveys/health")
    http.get("/v1/surveys/a-secret-in-the-path")
    http.get("/nothing/secret")
    http.open("/healthz", method="SECRET")
    found = scrape()
    name = "halftruth_http_request_seconds_count"
    survey = "/v1/surveys/{survey_id}"
    assert value(found, name, route=survey, method="GET", status="2xx") == 1
    assert value(found, name, route=survey, method="GET", status="4xx") == 1
    assert value(found, name, route="none", method="GET", status="4xx") == 1
    assert value(found, name, route="none", method="other", status="4xx") == 1
    assert "secret" not in repr(found).lower()


def test_two_collectors_in_one_process_have_separate_metrics(
    make_app, http, batch, monitor, scrape, clock, monkeypatch
):
    other = make_app()
    monkeypatch.setattr(other.extensions["halftruth"].metrics, "_clock", clock.time)

    def read() -> Numbers:
        answer = other.test_client().get("/metrics", headers=monitor)
        return numbers(answer.get_data(as_text=True))

    read()
    http.post("/v1/surveys/health/reports", json=batch([0, 0]))
    assert scrape()[COUNTED] == 1
    assert read()[COUNTED] == 0


def test_every_worker_returns_the_metrics_of_all(running, published, body, monitor):
    reports = 30
    with running("--workers", "2", METRICS_SECONDS=1) as collector:

        def scrape() -> Numbers:
            # A new connection each time, so that either worker may answer.
            answer = requests.get(f"{collector.url}/metrics", headers=monitor, timeout=PATIENCE)
            return numbers(answer.text)

        def counted() -> float:
            return scrape().get(COUNTED, 0)

        scrape()
        for _ in range(reports):
            sent = requests.post(collector.url + REPORTS, data=body(), timeout=PATIENCE)
            assert sent.status_code == 202
        wait_until(lambda: counted() == reports)
        assert {counted() for _ in range(10)} == {reports}
        # The counts of a worker outlive it.
        ended = collector.workers()[0]
        os.kill(ended, signal.SIGKILL)
        wait_until(lambda: ended not in collector.workers() and len(collector.workers()) == 2)
        assert counted() == reports
        assert value(scrape(), "halftruth_build_info", version="0.1.0") == 1


def test_all_workers_show_the_same_numbers_in_an_interval(tmp_path, monkeypatch):
    """Whichever worker is asked first, at the same time as others, its numbers are released."""
    monkeypatch.setenv("PROMETHEUS_MULTIPROC_DIR", str(tmp_path))
    now = [1_000_000.0]
    workers = [Metrics(100, lambda: now[0]) for _ in range(4)]
    texts = iter([b"a 1\n", b"a 2\n", b"a 3\n", b"a 4\n"] * 3)

    def ask_all() -> set[bytes]:
        # Each computes its own text, as if reports arrived in between.
        monkeypatch.setattr(metrics, "_as_text", lambda _: next(texts))
        with ThreadPoolExecutor() as pool:
            return set(pool.map(lambda worker: worker._release([]), workers))

    assert ask_all() == {b""}
    for _ in range(2):
        now[0] += 100
        [first] = ask_all()
        assert first.startswith(b"a ")
        assert ask_all() == {first}
    assert [file.name for file in tmp_path.glob("released-*")] == ["released-10002"]


def test_an_incomplete_file_of_a_killed_worker_does_not_break_metrics(
    scrape_now, clock, tmp_path, monkeypatch
):
    # prometheus_client creates files empty, and then resizes them.
    folder = tmp_path / "metrics"
    folder.mkdir()
    (folder / "histogram_4.db").touch()
    monkeypatch.setenv("PROMETHEUS_MULTIPROC_DIR", str(folder))
    program = (
        "from halftruth_collector.ops.metrics import Metrics\nMetrics().refused('report-error')\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=PATIENCE)
    scrape_now()
    clock.now += HOUR
    assert value(scrape_now(), "halftruth_requests_refused_total", reason="report-error") == 1
