"""Metrics for Prometheus, of one process and of several."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import requests
import yaml
from halftruth_collector import operations
from prometheus_client.parser import text_string_to_metric_families
from wire import PATIENCE, REPORTS, answers, connect, post, wait_until

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


@pytest.fixture
def scrape(http, monitor):
    return lambda: numbers(http.get("/metrics", headers=monitor).get_data(as_text=True))


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


def test_an_open_survey_has_a_counter_before_its_first_report(http, store, scrape):
    counter = ("halftruth_reports_total", frozenset({("survey", "health"), ("outcome", "counted")}))
    operations.close_survey(store, "health", confirm="health")
    assert counter not in scrape()
    operations.reopen_survey(store, "health")
    assert scrape()[counter] == 0


def test_the_time_of_the_last_backup_is_a_metric(command, database, scrape, tmp_path):
    before = time.time()
    assert command("admin", "backup", tmp_path / "all.db", "--database", database)[0] == 0
    assert value(scrape(), "halftruth_last_backup_timestamp_seconds") >= before


#: Labels that rules and panels may use.
LABELS = {"instance", "job", "le", "outcome", "reason", "status", "survey", "version"}


def test_alert_rules_and_panels_use_existing_metrics(http, monitor):
    folder = Path(__file__).parents[3] / "docker"
    [group] = yaml.safe_load((folder / "rules.yaml").read_text(encoding="utf-8"))["groups"]
    asked = []
    for rule in group["rules"]:
        assert {"alert", "expr", "annotations"} <= rule.keys()
        assert rule["annotations"].keys() == {"summary", "description"}
        asked.append(rule["expr"])
    panels = json.loads((folder / "dashboard.json").read_text(encoding="utf-8"))["panels"]
    drawn = [target["expr"] for panel in panels for target in panel["targets"]]
    there = http.get("/metrics", headers=monitor).get_data(as_text=True)
    for expression in asked + drawn:
        for name in re.findall(r"halftruth_\w+", expression):
            assert f"# TYPE {re.sub('_(bucket|count|sum)$', '', name)} " in there
        labels = re.findall(r"by \((\w+)\)|(\w+)=", expression)
        assert {"".join(label) for label in labels} <= LABELS
    # Every metric is shown in the dashboard.
    for name in re.findall(r"# TYPE (halftruth_\w+) ", there):
        assert name.removesuffix("_created") in " ".join(drawn)


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


def test_two_collectors_in_one_process_have_separate_metrics(make_app, http, batch, monitor):
    other = make_app()
    http.post("/v1/surveys/health/reports", json=batch([0, 0]))
    here = other.test_client().get("/metrics", headers=monitor).get_data(as_text=True)
    assert value(numbers(here), "halftruth_reports_total", survey="health", outcome="counted") == 0


def test_every_worker_returns_the_metrics_of_all(running, published, body, monitor):
    reports = 30
    with running("--workers", "2") as collector:

        def scrape() -> Numbers:
            # A new connection each time, so that either worker may answer.
            answer = requests.get(f"{collector.url}/metrics", headers=monitor, timeout=PATIENCE)
            return numbers(answer.text)

        for _ in range(reports):
            sent = requests.post(collector.url + REPORTS, data=body(), timeout=PATIENCE)
            assert sent.status_code == 202
        assert {
            value(scrape(), "halftruth_reports_total", survey="health", outcome="counted")
            for _ in range(10)
        } == {reports}
        # The counts of a worker outlive it.
        ended = collector.workers()[0]
        os.kill(ended, signal.SIGKILL)
        wait_until(lambda: ended not in collector.workers() and len(collector.workers()) == 2)
        found = scrape()
        assert (
            value(found, "halftruth_reports_total", survey="health", outcome="counted") == reports
        )
        assert value(found, "halftruth_build_info", version="0.1.0") == 1


def test_an_incomplete_file_of_a_killed_worker_does_not_break_metrics(
    http, monitor, tmp_path, monkeypatch
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
    found = numbers(http.get("/metrics", headers=monitor).get_data(as_text=True))
    assert value(found, "halftruth_requests_refused_total", reason="report-error") == 1


def test_requests_whose_body_times_out_are_counted(impatient, served):
    monitor = {"Authorization": f"Bearer {operations.create_token(served, 'monitor')}"}

    def refused() -> float:
        answer = requests.get(f"{impatient.url}/metrics", headers=monitor, timeout=PATIENCE)
        name = "halftruth_requests_refused_total"
        return value(numbers(answer.text), name, reason="request-timeout")

    before = refused()
    with connect(impatient.url) as connection:
        connection.sendall(post(b"x" * 100)[:-1])
        assert answers(connection, 1) == [408]
    assert refused() - before == 1
