"""Written files are readable by their owner only, even with a permissive umask."""

import os
import sqlite3
import stat
from uuid import UUID

import msgspec
import pytest
from click.testing import CliRunner
from halftruth_client import Client
from halftruth_collector import operations
from halftruth_collector.cli import main
from halftruth_collector.collector_store import Store
from halftruth_collector.survey_file import of_survey
from halftruth_shared.protocol.report_files import write_reports
from halftruth_shared.protocol.reports import Report, ReportBatch
from installed import needs_addons


@pytest.fixture(autouse=True)
def nothing_masked(tmp_path, monkeypatch):
    """Set the umask to 0, and work in an empty folder."""
    monkeypatch.chdir(tmp_path)
    before = os.umask(0)
    yield
    assert os.umask(before) == 0


def modes(folder):
    return {
        str(path.relative_to(folder)): oct(stat.S_IMODE(path.lstat().st_mode))
        for path in sorted(folder.rglob("*"))
    }


def open_to_others(folder):
    return {name: mode for name, mode in modes(folder).items() if int(mode, 8) & 0o077}


def run(*arguments):
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, (arguments, result.output)
    return result.output


def reports(number):
    return [Report(id=UUID(int=k), values=[k % 2, k % 3]) for k in range(number)]


def test_the_database_and_its_log_are_private_from_the_first_byte(tmp_path, survey):
    made = []
    connect = sqlite3.connect

    def seen(*arguments, **options):
        made.append(open_to_others(tmp_path) | {"there": (tmp_path / "new.db").exists()})
        return connect(*arguments, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sqlite3, "connect", seen)
        patch.setattr(sqlite3.dbapi2, "connect", seen)
        with Store("sqlite:///new.db") as store:
            operations.publish_survey(store, survey)
            store.reports.add("health", survey.digest, reports(6))
            assert {"new.db", "new.db-wal", "new.db-shm"} <= modes(tmp_path).keys()
            assert open_to_others(tmp_path) == {}
    assert made
    assert all(each == {"there": True} for each in made)


def test_opening_a_database_removes_permissions_of_others(tmp_path, survey):
    with Store("sqlite:///old.db") as first:
        operations.publish_survey(first, survey)
        first.reports.add("health", survey.digest, reports(6))
        for name in ("old.db", "old.db-wal", "old.db-shm"):
            (tmp_path / name).chmod(0o644)
        with Store("sqlite:///old.db") as second:
            assert second.surveys.state("health").reports == 6
            assert open_to_others(tmp_path) == {}
            # Neither store has lost a lock or a report.
            second.reports.add("health", survey.digest, reports(8))
        first.reports.add("health", survey.digest, reports(9))
        assert first.surveys.state("health").reports == 9


def test_the_mode_of_other_files_is_unchanged(tmp_path):
    (tmp_path / "notes.txt").write_text("Not a database, but long enough to be looked at. " * 99)
    (tmp_path / "notes.txt").chmod(0o644)
    result = CliRunner().invoke(main, ["survey", "list", "--database", "sqlite:///notes.txt"])
    assert result.exit_code == 2
    assert modes(tmp_path) == {"notes.txt": "0o644"}


def test_new_and_existing_outboxes_are_private(live, tmp_path, survey, record):
    Client(live.url, max_gamma="19", outbox=tmp_path / "outbox.db")
    assert modes(tmp_path)["outbox.db"] == "0o600"
    (tmp_path / "outbox.db").chmod(0o664)
    Client(live.url, max_gamma="19", outbox=tmp_path / "outbox.db")
    assert modes(tmp_path)["outbox.db"] == "0o600"


@needs_addons
def test_all_files_written_by_commands_are_private(tmp_path, survey):
    sent = ReportBatch(digest=survey.digest, reports=reports(60))
    for name, content in (
        ("health.toml", of_survey(survey).encode()),
        ("batches.ndjson", msgspec.json.encode(sent)),
        ("records.csv", b"smoker,drinks\nno,never\nyes,daily\n"),
    ):
        (tmp_path / name).write_bytes(content)
        (tmp_path / name).chmod(0o600)
    run("survey", "publish", "health.toml")
    run("admin", "token", "create", "--role", "analyst", "--output", "analyst.token")
    run("admin", "key", "create", "operator.key")
    run("admin", "sealing-key", "create", "sealing.keys")
    run("reports", "perturb", "health.toml", "records.csv", "-o", "perturbed.csv")
    run("reports", "write", "batches.ndjson", "--output", "sent")
    run("reports", "count", "sent/*.parquet", "--survey", "health.toml", "--output", "counts")
    run("reports", "import", "counts")
    run("survey", "invite", "create", "health", "3", "--output", "invitations.txt")
    run("admin", "backup", "backup.db")
    run("reports", "export", "health", "export.db")
    run("analyse", "overview", "health", "--parquet", "overview.parquet", "--plot", "overview.svg")
    run("analyse", "page", "health")
    names = {
        *("analyst.token", "invitations.txt"),
        *("halftruth.db", "operator.key", "sealing.keys", "perturbed.csv", "sent"),
        *("counts", "backup.db", "export.db", "overview.parquet", "overview.svg"),
        "health-report.html",
    }
    assert names <= modes(tmp_path).keys()
    assert open_to_others(tmp_path) == {}


def test_a_folder_of_written_reports_is_private(tmp_path):
    batch = ReportBatch(digest="0" * 64, reports=reports(6))
    write_reports([batch], tmp_path / "sent", form="ndjson")
    assert modes(tmp_path)["sent"] == "0o700"
    assert open_to_others(tmp_path) == {}
