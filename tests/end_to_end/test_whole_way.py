"""A real server process, client and database, from records to estimates."""

import re
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from halftruth_client import Analyst, Client
from halftruth_collector import operations
from halftruth_collector.cli import main
from halftruth_collector.demo.census import SCHEMA, census_codes, census_survey
from halftruth_collector.estimation import Counts, Estimator
from halftruth_collector.ops.settings import Config
from halftruth_collector.web import create_app
from halftruth_shared import Perturbation, RandomizedResponse
from mined import itemsets_of
from wire import PATIENCE, children, wait_until


def test_reports_are_counted_and_returned_as_itemsets(database, store):
    """Also, the server and its workers stop on SIGTERM."""
    command = [sys.executable, "-m", "halftruth_collector", "serve", "--port", "0"]
    process = subprocess.Popen(
        [*command, "--database", database], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        said = process.stdout.readline()
        assert re.fullmatch(r"halftruth collector on http://127\.0\.0\.1:\d+\n", said)
        with pytest.MonkeyPatch.context() as patch:
            send_and_compare(store, said.split()[-1], patch)
        workers = wait_for_children(process.pid, 2)
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0
        assert_gone(workers)
    finally:
        process.kill()
        process.communicate()


def send_and_compare(store, url, patch):
    """Send CENSUS, and compare the results with local estimates from the same reports."""
    survey = census_survey("census", RandomizedResponse.for_amplification(SCHEMA, "19"))
    operations.publish_survey(store, survey)
    token = operations.create_token(store, "analyst")

    sent: list[tuple[int, ...]] = []
    real = Perturbation.report

    def spy(self, *arguments):
        sent.append(real(self, *arguments))
        return sent[-1]

    patch.setattr(Perturbation, "report", spy)
    records = [SCHEMA.decode(codes) for codes in census_codes(200).tolist()]
    client = Client(url, max_gamma="1000000000")
    delivery = client.submit_many(client.survey(survey.id), records)
    analyst = Analyst(url, token)
    itemsets = analyst.itemsets(survey.id, min_support=0.02, max_length=6)
    counts = analyst.counts(survey.id)

    assert delivery.accepted == len(records) == 200
    reports = np.array(sent)
    assert {tuple(map(int, row.keys.values())): row.value for row in counts.rows} == Counter(
        map(tuple, reports.tolist())
    )
    _, stored, _ = store.reports.counts(survey.id)
    offline = Estimator(survey, Counts.from_reports(survey, reports))
    assert np.array_equal(stored.marginal(range(6)), offline.counts.marginal(range(6)))
    expected = itemsets_of(offline, 0.02, 6).rows
    assert [row["itemset"] for row in itemsets.rows] == [row["itemset"] for row in expected]
    for entry, other in zip(itemsets.rows, expected, strict=True):
        if itemsets.contradictions:
            # By chance, reports of one survey in a hundred contradict its design.
            assert entry.value == pytest.approx(min(max(other.value, 0.0), 1.0), abs=1e-12)
            continue
        assert entry.value == pytest.approx(other.value, rel=1e-12, abs=1e-12)
        assert entry.adjusted_p_value == pytest.approx(other.adjusted_p_value, rel=1e-9)


def test_an_unusable_database_is_a_one_line_error_of_the_server(command):
    words = ("serve", "--port", "0", "--database", "sqlite:////nowhere/at/all.db")
    status, said, complaint = command(*words)
    assert (status, said, complaint.count("\n")) == (2, "", 1)
    assert complaint.startswith(
        "halftruth: database sqlite:////nowhere/at/all.db cannot be used: the database does not"
        " answer (SQLITE_CANTOPEN): /nowhere/at/all.db does not exist, /nowhere/at does not exist, "
    )


#: Truly frequent itemsets of each length at 2 %, by people: those of all are FRAPP's Table 3.
FREQUENT = {1_000: (19, 102, 202, 170, 66, 10), 48_842: (19, 102, 203, 165, 64, 10)}


@pytest.mark.parametrize("people", [1_000, pytest.param(48_842, marks=pytest.mark.nightly)])
def test_the_demonstration_runs_and_leaves_no_process(tmp_path, people):
    before = set(Path(tempfile.gettempdir()).glob("halftruth-demo-*"))
    process = subprocess.Popen(
        [
            *[sys.executable, "-m", "halftruth_collector", "demo"],
            *["--keep", tmp_path / "kept.db", "--people", str(people)],
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        [server] = wait_for_children(process.pid, 1)
        workers = wait_for_children(server, 2)
        said, complaint = process.communicate(timeout=300)
    finally:
        process.kill()
    assert process.returncode == 0, complaint
    assert said.count(f"{people} reports counted") == 3
    for length, frequent in enumerate(FREQUENT[people], start=1):
        assert len(re.findall(rf"^{length} +{frequent} ", said, re.MULTILINE)) == 3
    assert "not usable" in said
    # The errors of all itemsets by length, for both estimates.
    summary = re.findall(r"^(\S+) +(unbiased|best guess) +([\d. \u202f]+)$", said, re.MULTILINE)
    assert [(kind, estimate) for kind, estimate, _ in summary] == [
        (kind, estimate)
        for kind in ("split-questionnaire", "gamma-diagonal", "randomized-response")
        for estimate in ("unbiased", "best guess")
    ]
    if people == 48_842:
        # 0.8 is expected at each length, and 16 and 1.8 for the other mechanisms at length 1. The
        # devices draw without a seed: one run in twenty exceeds 1.
        assert max(map(float, summary[0][2].split())) < 1.5
    assert said.count("ten largest itemsets") == 3
    assert_gone([server, *workers])
    assert set(Path(tempfile.gettempdir()).glob("halftruth-demo-*")) <= before
    # The last lines link to the results.
    [token] = re.findall(r"signing in with (ht_\S+):", said)
    addresses = re.findall(r"http://127.0.0.1:8000(/results/\S+)", said)
    assert len(addresses) == 3
    app = create_app(Config(database=f"sqlite:///{tmp_path / 'kept.db'}"))
    http = app.test_client()
    assert http.post("/sign-in", data={"token": token}).status_code == 303
    for address in addresses:
        # Digits in groups of three, as on all pages.
        thousands = f"{people:,}".replace(",", "\u202f")
        assert f"{thousands} reports" in http.get(address).get_data(as_text=True)
    app.extensions["halftruth"].store.close()


def test_the_demonstration_overwrites_no_file(tmp_path, capsys):
    kept = tmp_path / "mine.db"
    kept.write_text("mine")
    with pytest.raises(SystemExit) as end:
        main(["demo", "--keep", str(kept)])
    assert end.value.code == 2
    assert "expected a new file" in capsys.readouterr().err
    assert kept.read_text() == "mine"


def wait_for_children(pid: int, count: int) -> list[int]:
    wait_until(lambda: len(children(pid)) >= count)
    return children(pid)


def assert_gone(pids: list[int]) -> None:
    """Assert that these processes end within 10 seconds."""
    wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in pids), 10)
