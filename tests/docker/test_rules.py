"""Alerting rules, evaluated by Prometheus' own tool on made-up series."""

import subprocess

import pytest
import yaml
from installed import program

#: Steps of half an hour before a collector existed, so that its time is days after 1970.
BEFORE = 144

REPORTS = 'halftruth_reports_total{instance="a",survey="s",outcome="%s"}'
REFUSED = 'halftruth_requests_refused_total{instance="a",reason="%s"}'
BACKUP = 'halftruth_last_backup_timestamp_seconds{instance="%s"}'
COMMITS = 'halftruth_commit_seconds_%s{instance="a"%s}'


def slow_commits(each):
    """Return the series of so many commits in every step, one in ten of half a second."""
    slow = each // 10
    return {
        COMMITS % ("bucket", ',le="0.1"'): f"0+{each - slow}x20",
        COMMITS % ("bucket", ',le="1"'): f"0+{each}x20",
        COMMITS % ("bucket", ',le="+Inf"'): f"0+{each}x20",
        COMMITS % ("count", ""): f"0+{each}x20",
    }


#: Alert, series by the half hour, step of the evaluation, and what the alerts that fire are about.
CASES = {
    "the collector is away": ("Away", {'up{job="halftruth",instance="a"}': "1 0 0"}, 2, ["a"]),
    "the collector is back": ("Away", {'up{job="halftruth",instance="a"}': "0 1 1"}, 2, []),
    "two old forms in a quiet night": (
        "Refusals",
        {REPORTS % "counted": "100x10", REFUSED % "stale-digest": "0 0 0 2 2"},
        4,
        [],
    ),
    "many refusals among many more reports": (
        "Refusals",
        {REPORTS % "counted": "0+5000x10", REFUSED % "stale-digest": "0+100x10"},
        8,
        [],
    ),
    "one request in three is refused": (
        "Refusals",
        {
            REPORTS % "counted": "0+100x10",
            REFUSED % "stale-digest": "0+50x10",
            REFUSED % "report-error": "0+1x10",
        },
        8,
        ["stale-digest"],
    ),
    "a new collector without a back-up": ("Backup", {BACKUP % "a": f"_x{BEFORE} 0x48"}, 192, []),
    "no back-up for three days": ("Backup", {BACKUP % "a": f"_x{BEFORE} 0x144"}, 288, ["a"]),
    "one of two collectors is backed up": (
        "Backup",
        {
            BACKUP % "a": f"_x{BEFORE} {BEFORE * 1800}+1800x100",
            BACKUP % "b": f"_x{BEFORE} {BEFORE * 1800}x100",
        },
        BEFORE + 98,
        ["b"],
    ),
    "a few slow commits of a night": ("SlowCommits", slow_commits(20), 12, []),
    "one commit in ten is slow": ("SlowCommits", slow_commits(500), 12, ["a"]),
    "reports that were sent twice": (
        "Repeats",
        {REPORTS % "counted": "1x20", REPORTS % "repeated": "0+3x20"},
        16,
        [],
    ),
    "more repeats than reports": (
        "Repeats",
        {REPORTS % "counted": "0+100x20", REPORTS % "repeated": "0+300x20"},
        16,
        [None],
    ),
    "a survey in the field": ("Silence", {REPORTS % "counted": "0+5x40"}, 36, []),
    "a survey without a report for hours": ("Silence", {REPORTS % "counted": "9x40"}, 36, ["s"]),
    "more than five times as many reports": (
        "Flood",
        {REPORTS % "counted": "0+20x143 2880+450x4"},
        146,
        ["s"],
    ),
    "as few reports as ever": ("Flood", {REPORTS % "counted": "0+2x150"}, 146, []),
    "a relay that waits": (
        "RelayStopped",
        {'halftruth_relay_stopped_surveys{instance="a"}': "0 1 1"},
        2,
        ["a"],
    ),
}


@pytest.fixture(scope="module")
def rules(request):
    file = request.config.rootpath / "docker" / "rules.yaml"
    [group] = yaml.safe_load(file.read_text(encoding="utf-8"))["groups"]
    return {rule["alert"].removeprefix("Halftruth"): rule for rule in group["rules"]}


def expected(rule, value):
    """Return an alert as the rule words it, about a value of its only label."""
    if value is None:
        labels = {}
    else:
        texts = [*rule["annotations"].values(), rule["expr"]]
        named = [name for name in ("reason", "survey") if f"by ({name})" in texts[-1]]
        labels = {(named or ["instance"])[0]: value}
    words = {
        name: text.replace("{{ $labels.reason }}", str(value)).replace(
            "{{ $labels.survey }}", str(value)
        )
        for name, text in rule["annotations"].items()
    }
    if rule["alert"] == "HalftruthAway":
        labels |= {"job": "halftruth"}
    return {"exp_labels": labels | rule["labels"], "exp_annotations": words}


def promtool(*words, folder):
    ran = subprocess.run(
        [program("promtool"), *words],
        capture_output=True,
        encoding="utf-8",
        cwd=folder,
        timeout=200,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_the_rules_fire_as_they_say(rules, root, tmp_path):
    tests = [
        {
            "name": name,
            "interval": "30m",
            "input_series": [
                {"series": series, "values": values} for series, values in every.items()
            ],
            "alert_rule_test": [
                {
                    "eval_time": f"{30 * step}m",
                    "alertname": f"Halftruth{alert}",
                    "exp_alerts": [expected(rules[alert], each) for each in firing],
                }
            ],
        }
        for name, (alert, every, step, firing) in CASES.items()
    ]
    content = {
        "rule_files": [str(root / "docker" / "rules.yaml")],
        "evaluation_interval": "30m",
        "tests": tests,
    }
    (tmp_path / "tests.yaml").write_text(yaml.safe_dump(content), encoding="utf-8")
    promtool("test", "rules", "tests.yaml", folder=tmp_path)


def test_the_example_of_a_configuration_is_valid(root, tmp_path):
    for name in ("prometheus.yaml", "rules.yaml"):
        (tmp_path / name).write_bytes((root / "docker" / name).read_bytes())
    [job] = yaml.safe_load((tmp_path / "prometheus.yaml").read_text("utf-8"))["scrape_configs"]
    assert job["job_name"] == "halftruth"
    (tmp_path / job["authorization"]["credentials_file"]).write_text("token", encoding="utf-8")
    promtool("check", "config", "prometheus.yaml", folder=tmp_path)


def test_every_alert_can_be_routed_by_its_severity(rules):
    assert {rule["labels"]["severity"] for rule in rules.values()} == {
        *("critical", "warning", "info"),
    }
