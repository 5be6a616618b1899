"""A real server process, client and database, from records to estimates."""

import math
import re
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from datetime import UTC, datetime
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pytest
from halftruth_client import Analyst, Client
from halftruth_collector import operations
from halftruth_collector.analyses import ANALYSES, AnalysisContext
from halftruth_collector.analyses.answering import answer
from halftruth_collector.cli import main
from halftruth_collector.collector_store import Store
from halftruth_collector.demo.census import SCHEMA, census_codes, census_survey
from halftruth_collector.estimation import Counts, Estimator
from halftruth_collector.ops.settings import Config
from halftruth_collector.web import create_app
from halftruth_shared import ParameterError, Perturbation, RandomizedResponse
from halftruth_shared.analyses.table import TableQuery
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


#: Names of groups of answers that the demonstration estimates, with their answers.
GROUPS = {
    "age": {"over 55": ("56 to 75", "over 75")},
    "fnlwgt": {"over 200000": ("200001 to 300000", "300001 to 400000", "over 400000")},
    "hours-per-week": {"up to 39": ("up to 19", "20 to 39"), "over 59": ("60 to 79", "over 79")},
    "race": {"other than White": ("Amer-Indian-Eskimo", "Asian-Pac-Islander", "Black", "Other")},
}
WANTED = [(of, by) for of in ("hours-per-week", "fnlwgt") for by in ("sex", "age", "race")]


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
    assert_gone([server, *workers])
    assert set(Path(tempfile.gettempdir()).glob("halftruth-demo-*")) <= before
    shown = said[: said.index("Done in")].splitlines()
    # By chance, reports of one survey in a hundred contradict its design, which is said.
    assert len(said.splitlines()) <= 40 + 2 * ("Itemsets without an interval" in said)
    assert max(map(len, shown)) <= 100
    with Store(f"sqlite:///{tmp_path / 'kept.db'}") as kept:
        found = {each: kept.reports.counts(f"census-{each}") for each in DESIGNS}
    counted = {each: (stored.survey(), counts) for each, (stored, counts, _) in found.items()}
    assert {counts.reports for _, counts in counted.values()} == {people}
    records = Counter(map(tuple, census_codes(people).tolist()))
    check_largest(said, records)
    check_coverage(said, counted["wanted-tables"], records)
    check_designs(said, counted, records)
    # The last lines link to the results.
    [token] = re.findall(r"^  (ht_\S+)$", said, re.MULTILINE)
    [address] = re.findall(r"http://127.0.0.1:8000(/results/\S+)", said)
    app = create_app(Config(database=f"sqlite:///{tmp_path / 'kept.db'}"))
    http = app.test_client()
    assert http.post("/sign-in", data={"token": token}).status_code == 303
    # Digits in groups of three, as on all pages.
    thousands = f"{people:,}".replace(",", "\u202f")
    assert f"{thousands} reports" in http.get(address).get_data(as_text=True)
    app.extensions["halftruth"].store.close()


#: Designs by the ids of their surveys, in the order of the table.
DESIGNS = ("wanted-tables", "all-tables", "gamma-diagonal", "randomized-response")


def check_largest(said, records):
    """Compare the ten largest itemsets with numbers of true records."""
    lines = re.findall(r"^(\S+=.*?)  +(\S+)\s%  +.*  (\d+\.?\d*)\s%$", said, re.MULTILINE)
    assert len(lines) == 10
    estimates = [float(estimate) for _, estimate, _ in lines]
    assert estimates == sorted(estimates, reverse=True)
    for itemset, estimate, true in lines:
        answers = dict(each.split("=") for each in itemset.split(", "))
        expected = 100 * support(records, answers)
        places = len(true.partition(".")[2])
        assert float(true) == pytest.approx(expected, abs=0.5001 * 10**-places)
        # More than five standard errors of the least precise of them.
        assert float(estimate) == pytest.approx(expected, abs=900 / records.total() ** 0.5)


def check_coverage(said, counted, records):
    """Compare the coverage with the intervals of all tables that are not refused."""
    [(covered, count)] = re.findall(r"^Coverage: (\d+) of (\d+) intervals", said, re.MULTILINE)
    hits = []
    for length in range(1, 7):
        for names in combinations(SCHEMA.names, length):
            try:
                rows = table_of(counted, names).rows
            except ParameterError:
                continue
            for row in rows:
                true = support(records, {name: row[name] for name in names})
                if row.ends is not None:
                    hits.append(row.ends[0] <= true <= row.ends[1])
                elif row.set == "empty":
                    hits.append(False)
    assert (int(covered), int(count)) == (sum(hits), len(hits))
    # 95 % on average, with a standard deviation of three points.
    assert sum(hits) >= 0.8 * len(hits)


def check_designs(said, counted, records):
    """Compare errors and amplifications with closed formulas, and with results of tables."""
    table = said[said.index("\ndesign ") :]
    rows = re.findall(r"^([a-z].*?)  +([\d.]+) +([\d.]+) +([\d.]+) +([\d.]+)$", table, re.MULTILINE)
    assert [name for name, *_ in rows] == [
        *("split questionnaire, wanted tables", "split questionnaire, all tables"),
        *("gamma-diagonal", "randomized response"),
    ]
    single = math.ceil(100 * 19 ** (1 / 6)) / 100
    expected = [(19, 19), (19, 19), (19, 19), (19, single)]
    assert [tuple(map(float, row[3:])) for row in rows] == expected
    for (_, *errors, _, _), design in zip(rows, DESIGNS, strict=True):
        contradictions = []

        def estimated(names, design=design, contradictions=contradictions):
            if design == "gamma-diagonal":
                return of_gamma_diagonal(counted[design][1], names)
            if design == "randomized-response":
                return of_randomized_response(counted[design][1], names)
            result = table_of(counted[design], names)
            contradictions.extend(result.contradictions)
            return {tuple(row[name] for name in names): row.value for row in result.rows}

        alone = [
            share - support(records, {name: answer})
            for name in SCHEMA.names
            for (answer,), share in estimated((name,)).items()
        ]
        of_tables = []
        for names in WANTED:
            shares = Counter()
            for answers, share in estimated(names).items():
                shares[tuple(map(group, names, answers))] += share
            truth = {each: support(records, dict(zip(names, each, strict=True))) for each in shares}
            of_tables.append(np.mean([(shares[each] - truth[each]) ** 2 for each in shares]))
        if contradictions:
            # Results are of possible shares then, not of unbiased estimates.
            continue
        ours = 100 * np.sqrt([np.mean(np.square(alone)), np.mean(of_tables)])
        assert [float(each) for each in errors] == pytest.approx(ours, abs=0.0101)


def group(name, answer):
    """Return the name of the group of an answer, by default the answer."""
    return next((g for g, answers in GROUPS.get(name, {}).items() if answer in answers), answer)


def support(records, answers):
    """Return the share of records with some answers, or with answers in these groups."""
    sets = {name: GROUPS.get(name, {}).get(each, (each,)) for name, each in answers.items()}
    hits = 0
    for codes, count in records.items():
        record = SCHEMA.decode(codes)
        hits += count * all(record[name] in sets[name] for name in sets)
    return hits / records.total()


def table_of(counted, names):
    """Return the result of a table, from the counts."""
    query = TableQuery(attributes=list(names), estimate="moment", target="respondents")
    survey, counts = counted
    context = AnalysisContext(survey, counts, datetime.now(UTC), min_reports=50)
    return answer(ANALYSES["table"], context, query)


def of_gamma_diagonal(counts, names):
    """Invert p → ((γ − 1) p + cells of the table / 2 000) / (γ + 1 999)."""
    observed = counts.marginal(SCHEMA.positions(names)) / counts.reports
    added = 2_000 / observed.size
    return by_answers(names, ((19 + 1_999) * observed - added) / (19 - 1))


def of_randomized_response(counts, names):
    """Invert the matrix of each attribute, whose diagonal is 19^(1/6) times as large."""
    table = counts.marginal(SCHEMA.positions(names)) / counts.reports
    for axis, size in enumerate(table.shape):
        matrix = np.ones((size, size)) + (19 ** (1 / 6) - 1) * np.eye(size)
        inverse = np.linalg.inv(matrix / matrix.sum(axis=0))
        table = np.moveaxis(np.tensordot(inverse, table, axes=(1, axis)), 0, axis)
    return by_answers(names, table)


def by_answers(names, table):
    """Return the cells of a table by their answers."""
    answers = [SCHEMA.attributes[SCHEMA.position(name)].categories for name in names]
    return dict(zip(product(*answers), table.ravel().tolist(), strict=True))


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
