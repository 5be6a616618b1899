"""The faults of `make soak` in a few rounds, and checks that its assertions detect errors."""

import hashlib
import os
import re
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from uuid import UUID

import pytest
import requests
from halftruth_collector import operations
from halftruth_collector.collector_store import Store
from halftruth_shared import Survey
from halftruth_shared.protocol.reports import Report
from halftruth_shared.protocol.terms import Terms
from installed import missing, needs_addons, outside
from wire import PATIENCE, REPORTS, children, listening, wait_until

#: One of the faults is of a relay.
pytestmark = needs_addons

SOAK = Path(__file__).parents[1] / "soak"

#: Scenarios, and the databases to which they apply.
SCENARIOS = {
    "kill-collector": ["SQLite", "PostgreSQL"],
    "kill-postgres": ["PostgreSQL"],
    "power-cut": ["SQLite", "PostgreSQL"],
    "full-disk": ["SQLite", "PostgreSQL"],
    "outage": ["SQLite", "PostgreSQL"],
    "clock": ["SQLite", "PostgreSQL"],
    "two-collectors": ["PostgreSQL"],
    "restart-in-turn": ["PostgreSQL"],
    "relay": ["SQLite", "PostgreSQL"],
    "memory": ["SQLite", "PostgreSQL"],
    "cluster": ["files"],
}

#: Exit statuses for a violation and for a missing requirement, and the only scenarios that may lack
#: one in CI: not every container allows root to mount a file system.
BROKEN, NOT_RUN, MAY_LACK = 1, 3, {"full-disk", "power-cut", "relay"}


#: The daily subset, which no other test covers; the rest runs at night.
QUICK = {("kill-collector", "SQLite")}
FAULTS = [(scenario, kind) for scenario, kinds in SCENARIOS.items() for kind in kinds]


@pytest.mark.parametrize(
    ("scenario", "database"),
    [pytest.param(*f, marks=[] if f in QUICK else pytest.mark.nightly) for f in FAULTS],
)
def test_acknowledged_reports_are_counted_exactly_once(scenario, database):
    status, said = soak("--quick", "--only", scenario, "--database", database)
    assert status == 0, said
    assert "kept" in said


@pytest.mark.nightly
@pytest.mark.parametrize("database", SCENARIOS["power-cut"])
def test_a_power_cut_is_detected_if_reports_are_not_synced(database):
    status, said = soak("--quick", "--unsynced", "--only", "power-cut", "--database", database)
    assert status == BROKEN, said
    assert re.search(r"round \d: \d+ acknowledged reports are not counted", said)


def test_all_scenarios_are_run(suite):
    assert {each.name: [*each.kinds] for each in suite.scenarios} == SCENARIOS


@pytest.mark.nightly
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_stopped_suite_leaves_no_files_or_processes(tmp_path, number):
    process = subprocess.Popen(
        [sys.executable, SOAK / "run.py", "--only", "kill-collector", "--database", "SQLite"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    try:
        wait_until(lambda: "halftruth collector on" in "".join(texts_below(tmp_path)))
        wait_until(lambda: len(children(process.pid)) == 1)
        [collector] = children(process.pid)
        process.send_signal(number)
        process.communicate(timeout=PATIENCE)
    finally:
        # If killed, it would leave its collector running.
        process.terminate()
        process.communicate(timeout=PATIENCE)
    assert process.returncode != 0
    assert not Path(f"/proc/{collector}").exists()
    assert list(tmp_path.iterdir()) == []


def texts_below(folder: Path) -> list[str]:
    """Return the contents of all logs in the suite's folders."""
    return [log.read_text() for log in folder.glob("*/*.log")]


def soak(*options: str) -> tuple[int, str]:
    """Run the suite, which cleans up on termination, and return exit status and output."""
    process = subprocess.Popen(
        [sys.executable, SOAK / "run.py", *options], stdout=subprocess.PIPE, text=True
    )
    try:
        said, _ = process.communicate(timeout=5 * PATIENCE)
    finally:
        process.terminate()
        process.wait(PATIENCE)
    if process.returncode == NOT_RUN:
        lack = outside if MAY_LACK & {*options} else missing
        lack(said[said.index("NOT RUN:") :].strip())
    return process.returncode, said


@pytest.fixture
def suite(monkeypatch: pytest.MonkeyPatch) -> Iterator[SimpleNamespace]:
    """Import the suite's modules under their own names."""
    before = set(sys.modules)
    monkeypatch.syspath_prepend(SOAK)
    import ledger
    import programs
    import promise
    import scenarios

    yield SimpleNamespace(
        Courier=ledger.Courier,
        Ledger=ledger.Ledger,
        Broken=promise.Broken,
        Entry=ledger.Entry,
        Sqlite=programs.Sqlite,
        promise=promise,
        scenarios=scenarios.SCENARIOS,
    )
    for name in set(sys.modules) - before:
        if Path(getattr(sys.modules[name], "__file__", None) or "/").parent == SOAK:
            del sys.modules[name]


VALUES = [(0, 0), (0, 0), (0, 0), (1, 2), (1, 1)]


@pytest.fixture
def counted(tmp_path: Path, suite: SimpleNamespace, survey: Survey) -> SimpleNamespace:
    """A database with five acknowledged reports, and the matching ledger."""
    file = suite.Sqlite(tmp_path / "counted.db")
    book = suite.Ledger()
    reports = [Report(id=UUID(int=i), values=list(v)) for i, v in enumerate(VALUES)]
    entries = [suite.Entry("health", UUID(int=i).bytes, bytes(v)) for i, v in enumerate(VALUES)]
    with Store(file.url) as store:
        operations.publish_survey(store, survey)
        receipt = store.reports.add("health", survey.digest, reports)
    first = book.attempt(entries)
    body = b'{"accepted": %d, "duplicates": 0}' % receipt.accepted
    book.answered(entries, first, 202, body)
    return SimpleNamespace(file=file, ledger=book, entries=entries)


def test_a_correct_database_passes(suite, counted):
    reading = counted.file.read()
    assert sum(reading.counts.values()) == len(reading.ids) == 5
    suite.promise.check_after_fault(reading, counted.ledger)
    suite.promise.check_after_retries(reading, counted.ledger)


@pytest.mark.parametrize(
    ("damage", "notice"),
    [
        ("UPDATE cells SET count = count + 1 WHERE cell = x'0000'", "the cells have {'health': 6}"),
        ("DELETE FROM cells WHERE cell = x'0101'", "the cells have {'health': 4} reports"),
        ("DELETE FROM report_ids WHERE hex(report_id) LIKE '%02'", "the ids {'health': 4}"),
        ("UPDATE daily_outcomes SET count = count - 1", "the days have {'health': 4} reports"),
        (
            "DELETE FROM report_ids WHERE hex(report_id) LIKE '%02';"
            " DELETE FROM cells WHERE cell = x'0101'; UPDATE daily_outcomes SET count = 4",
            "1 acknowledged reports are not counted",
        ),
        (
            "UPDATE cells SET cell = x'0100' WHERE cell = x'0101'",
            "the counts of 2 cells are not those of the reports",
        ),
        (
            "INSERT INTO report_ids VALUES (1, x'ff'); UPDATE daily_outcomes SET count = 6;"
            " UPDATE cells SET count = 2 WHERE cell = x'0101'",
            "1 reports are counted that never reached the collector",
        ),
    ],
)
def test_damage_is_detected(suite, counted, damage, notice):
    change(counted.file, damage)
    with pytest.raises(suite.Broken, match=notice):
        suite.promise.check_after_fault(counted.file.read(), counted.ledger)


@pytest.fixture
def invited(tmp_path: Path, suite: SimpleNamespace, survey: Survey) -> SimpleNamespace:
    """A database with reports for three of five invitations, and its ledger."""
    file = suite.Sqlite(tmp_path / "invited.db")
    book = suite.Ledger()
    entries = [suite.Entry("health", UUID(int=i).bytes, b"\1\2") for i in range(3)]
    with Store(file.url) as store:
        operations.publish_survey(store, survey, Terms(invitations=True))
        given = operations.create_invitations(store, "health", 5)
        reports = [
            Report(id=UUID(int=i), values=[1, 2], invitation=invitation)
            for i, invitation in enumerate(given[:3])
        ]
        store.reports.add("health", survey.digest, reports)
    book.issued = {hashlib.sha256(bytes.fromhex(each)).digest() for each in given}
    book.invitations = dict(zip(entries, given[:3], strict=True))
    book.answered(entries, book.attempt(entries), 202, b'{"accepted": 3, "duplicates": 0}')
    hashes = [hashlib.sha256(bytes.fromhex(invitation)).hexdigest() for invitation in given]
    return SimpleNamespace(file=file, ledger=book, hashes=hashes)


def test_correctly_used_invitations_pass(suite, invited):
    reading = invited.file.read()
    assert {hash_.hex() for hash_ in reading.invitations} == set(invited.hashes[3:])
    suite.promise.check_after_fault(reading, invited.ledger)
    suite.promise.check_after_retries(reading, invited.ledger)


@pytest.mark.parametrize(
    ("damage", "notice"),
    [
        (
            "INSERT INTO invitations (survey, hash) VALUES (1, x'{0}')",
            "1 invitations are left whose reports",
        ),
        ("DELETE FROM invitations WHERE hash = x'{4}'", "1 invitations are gone"),
        (
            "INSERT INTO invitations (survey, hash) VALUES (1, x'00')",
            "of 5 invitations 3 are left, but 3 reports",
        ),
    ],
)
@pytest.mark.parametrize("check", ["check_after_fault", "check_after_retries"])
def test_damage_to_invitations_is_detected(suite, invited, damage, notice, check):
    change(invited.file, damage.format(*invited.hashes))
    with pytest.raises(suite.Broken, match=notice):
        getattr(suite.promise, check)(invited.file.read(), invited.ledger)


def test_two_reports_for_one_invitation_are_detected(suite, invited):
    twice = suite.Entry("health", UUID(int=9).bytes, b"\1\2")
    book = invited.ledger
    book.invitations[twice] = next(iter(book.invitations.values()))
    book.attempt([twice])
    book.lost([twice])
    change(
        invited.file,
        f"INSERT INTO report_ids VALUES (1, x'{twice.id.hex()}');"
        " UPDATE cells SET count = 4; UPDATE daily_outcomes SET count = 4",
    )
    with pytest.raises(suite.Broken, match="of 5 invitations 2 are left, but 4 reports came"):
        suite.promise.check_after_fault(invited.file.read(), book)


def test_a_report_of_a_refused_request_must_not_be_counted(suite, counted):
    refused = counted.entries[:1]
    book = suite.Ledger()
    book.forge(refused)
    book.answered(refused, book.attempt(refused), 422, b"{}")
    rest = counted.entries[1:]
    book.answered(rest, book.attempt(rest), 202, b'{"accepted": 4, "duplicates": 0}')
    with pytest.raises(suite.Broken, match="1 reports of refused requests are counted"):
        suite.promise.check_after_fault(counted.file.read(), book)


@pytest.mark.parametrize("stream", [False, True])
def test_a_report_whose_answer_ends_after_its_status_is_in_flight(suite, survey, stream):
    def app(_, start_response):
        start_response("202 ACCEPTED", [("Content-Length", "30"), ("Connection", "close")])
        return [b'{"accepted"']

    book = suite.Ledger()
    body = f'{{"digest": "", "reports": [{{"id": "{UUID(int=9)}", "values": [1, 2]}}]}}'
    sent = suite.Entry("health", UUID(int=9).bytes, b"\1\2")
    with (
        listening(app) as url,
        suite.Courier(book, [survey]) as courier,
        pytest.raises(requests.RequestException),
    ):
        # A process that another test starts meanwhile can hold the connection open.
        courier.post(url + REPORTS, data=body, stream=stream, timeout=5)
    assert book.in_flight == book.outstanding == {sent}


def test_reports_in_flight_may_be_uncounted_until_they_are_retried(suite, counted):
    book, entries = suite.Ledger(), counted.entries
    absent = suite.Entry("health", UUID(int=9).bytes, b"\x00\x01")
    book.answered(entries[:3], book.attempt(entries[:3]), 202, b'{"accepted": 3, "duplicates": 0}')
    book.attempt([*entries[3:], absent])
    book.lost([*entries[3:], absent])
    suite.promise.check_after_fault(counted.file.read(), book)
    with pytest.raises(suite.Broken, match="1 reports sent are not counted"):
        suite.promise.check_after_retries(counted.file.read(), book)


@pytest.mark.parametrize(
    ("status", "body", "notice"),
    [
        (500, b"{}", "a report was answered 500"),
        (422, b"{}", "a report was answered 422"),
        (403, b"{}", "a report was answered 403"),
        (202, b'{"accepted": 1, "duplicates": 3}', "the receipt of 5 reports"),
        (202, b'{"accepted": 5, "duplicates": 0}', "receipts accept 10"),
    ],
)
def test_inconsistent_responses_are_detected(suite, counted, status, body, notice):
    book, entries = counted.ledger, counted.entries
    book.answered(entries, book.attempt(entries), status, body)
    with pytest.raises(suite.Broken, match=notice):
        suite.promise.check_after_retries(counted.file.read(), book)


def change(file: SimpleNamespace, statements: str) -> None:
    """Modify a database directly."""
    path = file.url.removeprefix("sqlite:///")
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(statements)
