"""Back-ups are consistent and restored completely; imported reports are counted once."""

import sqlite3
import stat
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from datetime import date, datetime, tzinfo
from functools import partial
from pathlib import Path
from shutil import copyfile
from uuid import uuid4

import pytest
from halftruth_collector import operations
from halftruth_collector.collector_store import Store
from halftruth_collector.errors import SchemaOutdated, StoreUnavailable, SurveyExists, UnknownSurvey
from halftruth_collector.store import sqlite_files
from halftruth_collector.store.audit import BACKUP
from halftruth_collector.store.tables import VERSION, metadata
from halftruth_shared import HalftruthError, ParameterError, Survey
from halftruth_shared.protocol.signing import OperatorKey, sign
from halftruth_shared.protocol.terms import Terms
from sqlalchemy import Engine, event
from sqlalchemy.exc import OperationalError
from wire import PATIENCE

from .conftest import holding, refuse, report, seal, statements

#: For tests whose SQL differs; files are always SQLite's.
both = pytest.mark.parametrize("database", ["sqlite", "postgresql"], indirect=True)


@pytest.fixture
def folder(tmp_path) -> Path:
    """An empty folder for files."""
    made = tmp_path / "files"
    made.mkdir()
    return made


def fill(store: Store, survey: Survey) -> None:
    """Add rows to every table."""
    key = OperatorKey.create()
    invited = Terms(invitations=True)
    operations.publish_survey(store, survey, invited, sign(key, survey.digest, invited))
    first, second, *_ = operations.create_invitations(store, "health", 5)
    store.reports.add("health", survey.digest, [report(1, 0, 0, invitation=first)])
    store.reports.add("health", survey.digest, [report(2, 1, 2, invitation=second)])
    refuse(store)
    operations.revoke_invitations(store, "health", [])
    other = Survey("second", "Zweite „Umfrage“", survey.schema, survey.mechanism)
    operations.publish_survey(store, other)
    store.reports.add("second", other.digest, [report(n, n % 2, n % 3) for n in range(50)])
    operations.close_survey(store, "second", confirm="second")
    operations.create_token(store, "operator")
    operations.create_token(store, "analyst", "second")
    operations.revoke_token(store, store.tokens.all()[0].id)
    revoked = OperatorKey.create().public
    operations.revoke_key(store, revoked, confirm=revoked)


def contents(store: Store):
    """Return every row of every table except those about back-ups, with naive times."""
    with store.database.reading() as connection:
        return {
            table.name: sorted(
                (
                    tuple(
                        value.replace(tzinfo=None) if hasattr(value, "tzinfo") else value
                        for value in row
                    )
                    for row in connection.execute(table.select())
                    if BACKUP not in row
                ),
                key=repr,
            )
            for table in metadata.sorted_tables
        }


def rows_of(file: Path, query: str):
    with sqlite3.connect(file) as connection:
        found = connection.execute(query).fetchall()
    connection.close()
    return found


def counted(store: Store, id: str = "health") -> dict[tuple[int, ...], int]:
    _, counts, _ = store.reports.counts(id)
    return dict(zip(map(tuple, counts.cells.tolist()), counts.counts.tolist(), strict=True))


@both
def test_a_backup_restored_into_the_other_database_has_every_row(
    store, survey, elsewhere, folder, monkeypatch
):
    monkeypatch.setattr(sqlite_files, "PAGE", 7)
    fill(store, survey)
    before = contents(store)
    told: list[int] = []
    written = operations.back_up(store, folder / "all.db", told.append)
    assert written == sum(told) == sum(map(len, before.values()))
    assert operations.restore(elsewhere, folder / "all.db") == written
    assert contents(elsewhere) == before
    assert contents(store) == before
    # Back up the restored store as well.
    operations.back_up(elsewhere, folder / "again.db")
    for name in metadata.tables:
        query = f"SELECT * FROM {name}"
        assert sorted(rows_of(folder / "again.db", query), key=repr) == sorted(
            rows_of(folder / "all.db", query), key=repr
        )


@both
def test_a_restored_store_accepts_surveys_and_reports(store, survey, elsewhere, folder):
    fill(store, survey)
    operations.back_up(store, folder / "all.db")
    operations.restore(elsewhere, folder / "all.db")
    third = Survey("third", "Third", survey.schema, survey.mechanism)
    operations.publish_survey(elsewhere, third)
    numbers = [each.number for each in elsewhere.surveys.all()]
    assert len(set(numbers)) == 3
    assert elsewhere.reports.add("third", third.digest, [report(1, 0, 0)]).accepted == 1
    second = elsewhere.surveys.get("second")
    assert elsewhere.reports.add("second", second.digest, [report(1, 1, 1)]).duplicates == 1
    assert elsewhere.invitations.count("health").unused == 3
    # One store has recorded its back-up, the other the third survey.
    assert len(elsewhere.audit.all()) == len(store.audit.all())


@both
def test_a_backup_during_writes_is_consistent(store, published, folder, monkeypatch, true_counts):
    """The first page is held until further reports are counted."""
    monkeypatch.setattr(sqlite_files, "PAGE", 5)
    store.reports.add("health", published.digest, [report(n, 0, n % 3) for n in range(20)])
    with ThreadPoolExecutor() as threads, holding() as (held, _, hold):
        backing_up = threads.submit(operations.back_up, store, folder / "all.db", hold)
        assert held.wait(PATIENCE)
        # Reports do not wait for the back-up.
        later = [report(n, 1, n % 3) for n in range(20, 60)]
        assert store.reports.add("health", published.digest, later).accepted == 40
        operations.close_survey(store, "health", confirm="health")
        assert not backing_up.done()
    backing_up.result()
    file = folder / "all.db"
    assert rows_of(file, "SELECT count(*) FROM report_ids") == [(20,)]
    assert rows_of(file, "SELECT sum(count) FROM cells") == [(20,)]
    assert rows_of(file, "SELECT sum(count) FROM daily_outcomes") == [(20,)]
    assert rows_of(file, "SELECT status FROM surveys") == [("open",)]
    assert true_counts()[1].total() == 60


@pytest.mark.parametrize("name", ["all.db", "a [b] *?.db", "100%41 #1&mode=rw?.db", "ü ‚x‘.db"])
def test_a_file_is_complete_and_readable_by_its_owner_only(store, survey, folder, elsewhere, name):
    fill(store, survey)
    (folder / "other.db").touch()
    file = folder / name
    rows = operations.back_up(store, file)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    # There is neither a log nor an unfinished file.
    assert {each.name for each in folder.iterdir()} == {"other.db", name}
    assert operations.restore(elsewhere, file) == rows
    assert {each.name for each in folder.iterdir()} == {"other.db", name}


@pytest.mark.parametrize("operation", ["back_up", "export"])
def test_existing_files_are_not_overwritten(store, published, folder, operation):
    file = folder / "there.db"
    file.write_text("precious")
    for path, said in (
        (file, "exists; expected a new name"),
        (folder / "nowhere" / "new.db", "cannot be written: No such file"),
    ):
        with pytest.raises(ParameterError, match=said) as refused:
            write(store, operation, path)
        assert "\n" not in str(refused.value)
    assert file.read_text() == "precious"
    assert [each.name for each in folder.iterdir()] == ["there.db"]


def write(store: Store, operation: str, file: Path) -> int:
    return (
        operations.back_up(store, file)
        if operation == "back_up"
        else operations.export_reports(store, "health", file)
    )


@pytest.mark.parametrize("operation", ["back_up", "export"])
def test_a_full_disk_leaves_no_file(store, published, folder, operation):
    batch = [report(n, n % 2, n % 3) for n in range(5000)]
    store.reports.add("health", published.digest, batch)

    def fill_up(connection, record) -> None:
        if isinstance(connection, sqlite3.Connection):
            [(_, _, file)] = connection.execute("PRAGMA database_list").fetchall()
            if Path(file).parent == folder:
                connection.execute("PRAGMA max_page_count = 40")

    event.listen(Engine, "connect", fill_up)
    try:
        with pytest.raises(HalftruthError) as refused:
            write(store, operation, folder / "new.db")
    finally:
        event.remove(Engine, "connect", fill_up)
    assert str(refused.value) == f"file: {folder / 'new.db'} cannot be written (SQLITE_FULL)"
    assert list(folder.iterdir()) == []
    write(store, operation, folder / "new.db")


@pytest.mark.parametrize("failure", [KeyboardInterrupt, ValueError])
def test_interrupted_operations_leave_no_file(store, survey, folder, failure):
    fill(store, survey)

    def interrupt(_: int) -> None:
        raise failure

    file = folder / "new [1].db"
    for write_file in (
        partial(operations.back_up, store),
        partial(operations.export_reports, store, "second"),
    ):
        with pytest.raises(failure):
            write_file(file, interrupt)
        assert list(folder.iterdir()) == []


def test_a_backup_is_restored_only_into_an_empty_store(store, survey, elsewhere, folder):
    """A back-up of another version is refused, too, and one of several surveys is no export."""
    file = folder / "all.db"
    fill(store, survey)
    operations.back_up(store, file)
    with pytest.raises(ParameterError, match="expected an export of one survey, found 2"):
        operations.import_reports(elsewhere, file)
    operations.create_token(elsewhere, "monitor")
    before = contents(elsewhere)
    with pytest.raises(ParameterError, match="database: it is not empty; expected an empty one"):
        operations.restore(elsewhere, file)
    with pytest.raises(ParameterError, match="expected an empty one"):
        operations.restore(store, file)
    rows_of(file, "UPDATE alembic_version SET version_num = '9999'")
    seal(file)
    with pytest.raises(SchemaOutdated, match=f"of version 9999; expected {VERSION}"):
        operations.restore(elsewhere, file)
    assert contents(elsewhere) == before


def test_other_files_are_refused_as_backups_and_exports(store, folder):
    file, before = folder / "some.db", contents(store)
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("CREATE TABLE mine (x)")
    for content in (file.read_bytes(), b"", b"nonsense" * 1000):
        file.write_bytes(content)
        for operation in (
            partial(operations.restore, store),
            partial(operations.import_reports, store),
        ):
            with pytest.raises(ParameterError, match=r"no back-up or export|not whole") as refused:
                operation(file)
            assert "\n" not in str(refused.value)
        assert file.read_bytes() == content
    for operation in (
        partial(operations.restore, store),
        partial(operations.import_reports, store),
    ):
        with pytest.raises(ParameterError, match="is not there"):
            operation(folder / "nothing.db")
        with pytest.raises(ParameterError, match=r"is not there|is no folder that"):
            operation(folder)
    assert contents(store) == before


@both
def test_a_failed_restore_is_rolled_back_and_can_be_repeated(store, survey, elsewhere, folder):
    fill(store, survey)
    operations.back_up(store, folder / "all.db")
    empty = contents(elsewhere)
    for at in ("INTO cells", "INTO tokens", "COMMIT"):

        def fail(text: str, at: str = at) -> None:
            if at in text:
                raise OperationalError(text, {}, Exception())

        with statements(elsewhere.database.engine, fail), pytest.raises(StoreUnavailable):
            operations.restore(elsewhere, folder / "all.db")
        assert contents(elsewhere) == empty
    operations.restore(elsewhere, folder / "all.db")
    assert contents(elsewhere)["cells"] == contents(store)["cells"]


def test_an_export_holds_one_survey_and_no_secrets(store, survey, folder):
    fill(store, survey)
    assert operations.export_reports(store, "second", folder / "second.db") == 50
    file = folder / "second.db"
    assert rows_of(file, "SELECT id FROM surveys") == [("second",)]
    assert rows_of(file, "SELECT count(*) FROM report_ids") == [(50,)]
    assert rows_of(file, "SELECT sum(count) FROM cells") == [(50,)]
    days = rows_of(file, "SELECT outcome, sum(count) FROM daily_outcomes GROUP BY outcome")
    assert days == [("counted", 50)]
    for table in ("tokens", "invitations", "audit", "revoked_keys"):
        assert rows_of(file, f"SELECT * FROM {table}") == []
    with pytest.raises(UnknownSurvey):
        operations.export_reports(store, "nothing", folder / "nothing.db")
    assert [each.name for each in folder.iterdir()] == ["second.db"]


@pytest.fixture
def move(folder):
    """Return a function that imports the reports of one collector into another."""

    def run(source: Store, target: Store) -> tuple[int, int]:
        file = folder / f"{uuid4().hex}.db"
        operations.export_reports(source, "health", file)
        done = operations.import_reports(target, file)
        return done.counted, done.repeated

    return run


@pytest.fixture
def restored(tmp_path, folder):
    """Return a function that makes a new collector from another one's back-up."""
    with ExitStack() as stores:

        def make(source: Store) -> Store:
            file = folder / f"{uuid4().hex}.db"
            operations.back_up(source, file)
            made = stores.enter_context(Store(f"sqlite:///{tmp_path / uuid4().hex}.db"))
            operations.restore(made, file)
            return made

        yield make


def send(store: Store, *numbers: int, invitation: str | None = None) -> None:
    reports = [report(n, n % 2, n % 3, invitation=invitation) for n in numbers]
    store.reports.add("health", store.surveys.get("health").digest, reports)


def cells_of(*numbers: int) -> dict[tuple[int, int], int]:
    return Counter((n % 2, n % 3) for n in numbers)


@both
def test_merging_collectors_counts_each_report_once(
    store, published, elsewhere, move, true_counts, monkeypatch
):
    """Also if the import is repeated, and further reports arrive in between."""
    monkeypatch.setattr(sqlite_files, "PAGE", 7)
    operations.publish_survey(elsewhere, published)
    send(store, *range(30))
    send(elsewhere, *range(100, 140))
    assert move(elsewhere, store) == (40, 0)
    send(store, *range(30, 40))
    assert move(elsewhere, store) == (0, 40)
    everything = cells_of(*range(40), *range(100, 140))
    assert counted(store) == everything
    operations.compact(store)
    assert move(elsewhere, store) == (0, 40)
    assert true_counts() == {1: Counter({bytes(cell): n for cell, n in everything.items()})}
    # Retries of imported reports are duplicates.
    again = [report(n, 0, 0) for n in (100, 139)]
    assert store.reports.add("health", published.digest, again).duplicates == 2
    assert store.reports.daily_outcomes("health")[0].counted == 80


def test_imported_reports_keep_the_days_on_which_they_were_counted(
    store, published, elsewhere, move, monkeypatch
):
    operations.publish_survey(elsewhere, published)
    for day, numbers in ((1, range(3)), (2, range(3, 8))):
        with monkeypatch.context() as patch:
            patch.setattr("halftruth_collector.store.reports.datetime", Clock(day))
            send(elsewhere, *numbers)
    with monkeypatch.context() as patch:
        patch.setattr("halftruth_collector.store.reports.datetime", Clock(2))
        send(store, *range(100, 102))
    move(elsewhere, store)
    days = store.reports.snapshot("health").days
    assert days == {date(2026, 5, 1): 3, date(2026, 5, 2): 7}
    assert sum(days.values()) == store.reports.snapshot("health").counts.reports


class Clock:
    """Fake `datetime` whose date is a day of May."""

    def __init__(self, day: int) -> None:
        self.day = day

    def now(self, zone: tzinfo) -> datetime:
        return datetime(2026, 5, self.day, tzinfo=zone)


def test_an_older_export_adds_nothing(store, published, elsewhere, folder):
    """Also if the survey is closed."""
    operations.publish_survey(elsewhere, published)
    send(elsewhere, *range(10))
    operations.export_reports(elsewhere, "health", folder / "older.db")
    send(elsewhere, *range(10, 20))
    operations.close_survey(elsewhere, "health", confirm="health")
    operations.export_reports(elsewhere, "health", folder / "newer.db")
    operations.close_survey(store, "health", confirm="health")
    assert operations.import_reports(store, folder / "newer.db").counted == 20
    done = operations.import_reports(store, folder / "older.db")
    assert (done.counted, done.repeated) == (0, 10)
    assert counted(store) == cells_of(*range(20))
    assert store.surveys.get("health").status == "closed"


@pytest.mark.parametrize("first", ["here", "imported"])
def test_an_import_is_refused_if_some_of_its_reports_were_counted_here(
    store, published, elsewhere, dump, move, first
):
    operations.publish_survey(elsewhere, published)
    send(elsewhere, *range(12))
    if first == "imported":
        move(elsewhere, store)
        send(elsewhere, 12, 13)
    else:
        send(store, 8)
    before = dump()
    with pytest.raises(ParameterError, match="of its reports were counted here before"):
        move(elsewhere, store)
    assert dump() == before


def test_an_invitation_is_counted_once_across_backup_and_restore(
    store, published, restored, move, dump, tmp_path
):
    """Two stores restored from one back-up accept it; their reports cannot be merged."""
    operations.set_terms(store, "health", Terms(invitations=True))
    [invitation] = operations.create_invitations(store, "health", 1)
    twin = restored(store)
    send(store, 1, invitation=invitation)
    send(twin, 2, invitation=invitation)
    before = dump()
    for source, target in ((twin, store), (store, twin)):
        with pytest.raises(ParameterError, match="may have taken a report for the same one"):
            move(source, target)
    # Nor in a third collector, whether or not the twin still requires invitations.
    with Store(f"sqlite:///{tmp_path / 'third.db'}") as third:
        assert move(store, third) == (1, 0)
        for terms in (Terms(invitations=True), Terms()):
            operations.set_terms(third, "health", terms)
            operations.set_terms(twin, "health", terms)
            with pytest.raises(ParameterError, match="may have taken a report for the same one"):
                move(twin, third)
        assert move(store, third) == (0, 1)
        assert counted(third) == cells_of(1)
    assert dump() == before


def test_importing_an_unknown_survey_publishes_it_unchanged(
    store, survey, elsewhere, folder, true_counts
):
    fill(store, survey)
    operations.export_reports(store, "health", folder / "there.db")
    operations.import_reports(elsewhere, folder / "there.db")
    there, here = store.surveys.get("health"), elsewhere.surveys.get("health")
    assert (here.digest, here.document, here.status) == (
        there.digest,
        there.document,
        there.status,
    )
    assert (here.terms, here.signature) == (there.terms, there.signature)
    # Invitations are not transferred.
    count = elsewhere.invitations.count("health")
    assert (count.issued, count.used, count.unused) == (0, 0, 0)
    assert counted(elsewhere) == counted(store) == {(0, 0): 1, (1, 2): 1}


def test_another_survey_of_the_same_id_is_refused(store, published, elsewhere, folder, dump):
    other = Survey("health", "Another", published.schema, published.mechanism)
    operations.publish_survey(elsewhere, other)
    elsewhere.reports.add("health", other.digest, [report(1, 0, 0)])
    operations.export_reports(elsewhere, "health", folder / "there.db")
    before = dump()
    with pytest.raises(SurveyExists, match="file: another survey 'health' is published here"):
        operations.import_reports(store, folder / "there.db")
    assert dump() == before


DAMAGES = [
    "UPDATE cells SET cell = X'0003' WHERE cell = X'0101'",
    "UPDATE cells SET cell = X'00' WHERE cell = X'0101'",
    "UPDATE cells SET cell = X'000000' WHERE cell = X'0101'",
    "UPDATE cells SET count = 2 WHERE cell = X'0101'",
    "UPDATE cells SET count = -count",
    "DELETE FROM cells WHERE cell = X'0101'",
    "UPDATE report_ids SET report_id = X'01' WHERE hex(report_id) LIKE '%01'",
    "UPDATE surveys SET document = replace(document, 'work', 'play')",
    "UPDATE surveys SET document = 'x'",
    "UPDATE daily_outcomes SET count = count + 1",
    "UPDATE daily_outcomes SET day = 'someday'",
]


def test_a_damaged_export_is_refused(store, published, elsewhere, folder):
    batch = [report(n, n % 2, n % 3) for n in range(3)]
    store.reports.add("health", published.digest, batch)
    operations.export_reports(store, "health", folder / "there.db")
    before = contents(elsewhere)
    for damage in DAMAGES:
        damaged = copyfile(folder / "there.db", folder / "damaged.db")
        rows_of(damaged, damage)
        seal(damaged)
        with pytest.raises(ParameterError, match="file: ") as refused:
            operations.import_reports(elsewhere, damaged)
        assert "checksum" not in str(refused.value)
        assert contents(elsewhere) == before, damage
    operations.import_reports(elsewhere, folder / "there.db")


def test_signatures_of_revoked_keys_are_not_imported(store, survey, elsewhere, folder):
    key = OperatorKey.create()
    operations.publish_survey(store, survey, Terms(), sign(key, survey.digest, Terms()))
    operations.export_reports(store, "health", folder / "there.db")
    operations.revoke_key(elsewhere, key.public, confirm=key.public)
    operations.import_reports(elsewhere, folder / "there.db")
    assert elsewhere.surveys.get("health").signature is None


@both
def test_concurrent_imports_and_reports_are_counted_once(
    store, published, elsewhere, folder, true_counts, monkeypatch
):
    monkeypatch.setattr(sqlite_files, "PAGE", 20)
    operations.publish_survey(elsewhere, published)
    send(elsewhere, *range(300))
    operations.export_reports(elsewhere, "health", folder / "there.db")

    def work(number: int) -> None:
        for n in range(15):
            send(store, *range(1000 * number + 10 * n, 1000 * number + 10 * n + 20))

    with ThreadPoolExecutor() as threads:
        senders = [threads.submit(work, number) for number in range(1, 4)]
        imports = [
            threads.submit(operations.import_reports, store, folder / "there.db") for _ in range(2)
        ]
        for future in senders:
            future.result(2 * PATIENCE)
        imported = [future.result(2 * PATIENCE).counted for future in imports]
    assert sorted(imported) == [0, 300]
    assert true_counts()[1].total() == 300 + 3 * 160
