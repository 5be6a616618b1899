"""Damaged back-ups and exports are refused as a whole, whatever is damaged, and named."""

import hashlib
import random
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from shutil import copyfile
from typing import Any

import pytest
from halftruth_collector import operations
from halftruth_collector.collector_store import Store
from halftruth_collector.store.audit import BACKUP
from halftruth_collector.store.tables import metadata, relay_surveys
from halftruth_shared import HalftruthError, ParameterError, Survey
from sqlalchemy import Engine, event, insert, select
from sqlalchemy.exc import OperationalError

from .conftest import report, seal

#: Files are SQLite's for both databases.
both = pytest.mark.parametrize("database", ["sqlite", "postgresql"], indirect=True)

#: Length of the last line: a line break, "halftruth sha256 ", 64 digits and a line break.
LAST_LINE = 83

PAGE = 4096


@pytest.fixture
def backup(store, survey, tmp_path) -> Path:
    """A back-up of a collector with a purged and an open survey, a token and an invitation."""
    purged = Survey("purged", "Purged", survey.schema, survey.mechanism)
    for each in (survey, purged):
        operations.publish_survey(store, each)
        reports = [report(n, n % 2, n % 3) for n in range(300)]
        store.reports.add(each.id, each.digest, reports)
    operations.close_survey(store, "purged", confirm="purged")
    operations.purge(store, 0, confirm="purged")
    operations.create_invitations(store, "health", 3)
    operations.create_token(store, "analyst", "health")
    file = tmp_path / "of tonight.backup"
    operations.back_up(store, file)
    return file


@pytest.fixture
def refused(elsewhere, backup, tmp_path) -> Callable[[bytes], str]:
    """Return a function that checks and restores changed content, and returns the one error."""
    empty = contents(elsewhere)

    def run(content: bytes, *, restores: bool = True) -> str:
        file = tmp_path / "changed.backup"
        file.write_bytes(content)
        said = set()
        for act in (operations.check_backup, lambda file: operations.restore(elsewhere, file)):
            with pytest.raises(ParameterError) as error:
                act(file)
            assert error.value.field == "file"
            said.add(str(error.value))
            if not restores:
                break
        assert contents(elsewhere) == empty
        [one] = said
        assert one.startswith((f"file: {file} ", f"file: {file}: "))
        assert "\n" not in one
        return one

    return run


def contents(store: Store) -> dict[str, list[str]]:
    with store.database.reading() as connection:
        return {
            table.name: sorted(
                repr(row) for row in connection.execute(select(table)) if BACKUP not in row
            )
            for table in metadata.sorted_tables
        }


def flipped(content: bytes, bit: int) -> bytes:
    changed = bytearray(content)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


@both
def test_a_file_ends_with_the_sha256_of_its_pages(store, backup, elsewhere):
    """As `head -c -83 FILE | sha256sum` computes it; SQLite reads the file like any other."""
    pages, line = backup.read_bytes()[:-LAST_LINE], backup.read_bytes()[-LAST_LINE:]
    assert line == f"\nhalftruth sha256 {hashlib.sha256(pages).hexdigest()}\n".encode()
    assert len(pages) % PAGE == 0
    with closing(sqlite3.connect(f"file:{backup}?mode=ro", uri=True)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert connection.execute("SELECT count(*) FROM report_ids").fetchall() == [(300,)]
    found = operations.check_backup(backup)
    # A copy is as good as the file.
    copy = copyfile(backup, backup.with_name("copy"))
    assert operations.check_backup(copy) == found
    assert (operations.restore(elsewhere, copy), found.reports) == (found.rows, 600)
    assert contents(elsewhere) == contents(store)


@both
def test_fourteen_copies_with_one_flipped_bit_are_refused(backup, refused, elsewhere):
    content = backup.read_bytes()
    for bit in random.Random(1).sample(range(8 * len(content)), 14):
        assert "is damaged" in refused(flipped(content, bit)), bit
    operations.restore(elsewhere, backup)


def test_a_flipped_bit_is_found_wherever_it_is(backup, refused):
    """In each byte of SQLite's header and of the last line, in each page, and in unused space."""
    content = backup.read_bytes()
    size = len(content) - LAST_LINE
    generator = random.Random(2)
    places = [*range(100), *range(size, len(content))]
    places += [page + generator.randrange(PAGE) for page in range(0, size, PAGE)]
    places += generator.sample(range(size), 100)
    unused = content.index(bytes(64), 100)
    for place in (*places, unused, unused + 63):
        bit = 8 * place + generator.randrange(8)
        assert "checksum" in refused(flipped(content, bit), restores=False), place


def test_other_damages_are_found(backup, refused):
    content = backup.read_bytes()
    pages = content[:-LAST_LINE]
    for length in (*range(0, len(content), PAGE // 2), len(content) - 1, len(pages) + 1):
        said = refused(content[:length], restores=False)
        expected = "does not end with a checksum" if length >= 16 else "is no back-up or export"
        assert expected in said, length
    for start in range(0, len(pages), PAGE):
        zeroed = content[:start] + bytes(PAGE) + content[start + PAGE :]
        assert "is damaged" in refused(zeroed, restores=False)
    moved = pages[PAGE : 2 * PAGE] + pages[:PAGE] + content[2 * PAGE :]
    assert "is damaged" in refused(moved)
    # A copy over a slow line may end with what was there before.
    for more in (b"\0", b"\n", content):
        assert "checksum" in refused(content + more)
    assert "is damaged" in refused(content[PAGE:])


def test_files_that_are_no_backups_are_refused(refused, tmp_path, backup):
    with closing(sqlite3.connect(tmp_path / "other.db")) as connection:
        connection.execute("CREATE TABLE mine (x)")
    seal(tmp_path / "other.db")
    said = refused((tmp_path / "other.db").read_bytes())
    assert "is no back-up or export of a collector" in said
    for content in (b"", b"\n", b"nonsense" * 1000, bytes(PAGE)):
        assert "is no back-up or export of a collector" in refused(content)
    # As back-ups were before they had a checksum.
    said = refused(backup.read_bytes()[:-LAST_LINE])
    assert "does not end with a checksum, so it is damaged or not whole; expected a" in said


#: What does not fit together though nothing of the file has changed since.
CONTRADICTIONS = {
    "DELETE FROM report_ids WHERE hex(report_id) LIKE '%01'": (
        "survey 'health' has 298 ids of reports, but the counts of 300; expected as many"
    ),
    "UPDATE cells SET count = count + 7 WHERE cell = X'0101' AND survey = 1": (
        "survey 'health' has 300 ids of reports, but the counts of 307; expected as many"
    ),
    "DELETE FROM cells WHERE survey = 1": (
        "survey 'health' has 300 ids of reports, but the counts of 0; expected as many"
    ),
    "UPDATE surveys SET document = replace(document, 'work', 'play')": (
        "survey 'health' does not have its digest"
    ),
    "UPDATE surveys SET digest = '00' WHERE id = 'purged'": (
        "survey 'purged' does not have its digest"
    ),
}


@pytest.mark.parametrize("change", CONTRADICTIONS)
def test_contradictions_in_a_file_with_its_checksum_are_found(backup, refused, change):
    with closing(sqlite3.connect(backup)) as connection:
        connection.execute(change)
        connection.commit()
    seal(backup)
    assert refused(backup.read_bytes()).endswith(f": {CONTRADICTIONS[change]}")


def test_the_surveys_of_a_relay_have_their_digests(store, survey, refused, tmp_path):
    row = {"id": "health", "digest": survey.digest, "document": survey.canonical_json.decode()}
    row |= {"collector": "https://collect.example.org", "token": "ht_", "status": "open"}
    with store.database.writing() as connection:
        connection.execute(insert(relay_surveys), row)
    operations.back_up(store, tmp_path / "good.backup")
    operations.check_backup(tmp_path / "good.backup")
    with store.database.writing() as connection:
        connection.execute(relay_surveys.update().values(digest="0" * 64))
    operations.back_up(store, tmp_path / "bad.backup")
    said = refused((tmp_path / "bad.backup").read_bytes())
    assert said.endswith(": survey 'health' does not have its digest")


def test_rows_that_the_tables_do_not_accept_are_blamed_on_the_file(backup, elsewhere):
    """SQLite accepts a token of no survey while its references are not checked."""
    with closing(sqlite3.connect(backup)) as connection:
        connection.execute("UPDATE tokens SET survey = 99")
        connection.commit()
    seal(backup)
    operations.check_backup(backup)
    with pytest.raises(ParameterError) as error:
        operations.restore(elsewhere, backup)
    assert str(error.value).startswith(f"file: {backup} has rows that contradict each other")


@both
@pytest.mark.parametrize("table", ["report_ids", "tokens"])
def test_a_file_that_cannot_be_read_any_more_is_named(backup, elsewhere, table):
    """The disk fails between the check and the copy; the database is not to blame."""
    empty = contents(elsewhere)

    def fail(connection: Any, _: Any, text: str, *__: Any) -> None:
        if connection.engine.url.query.get("mode") == "ro" and f"FROM {table} ORDER BY" in text:
            raise OperationalError(text, {}, Exception())

    event.listen(Engine, "before_cursor_execute", fail)
    try:
        with pytest.raises(HalftruthError) as error:
            operations.restore(elsewhere, backup)
    finally:
        event.remove(Engine, "before_cursor_execute", fail)
    assert str(error.value) == f"file: {backup} cannot be read (Exception)"
    assert contents(elsewhere) == empty
    operations.restore(elsewhere, backup)


def test_a_damaged_export_is_not_imported(store, published, elsewhere, tmp_path):
    store.reports.add("health", published.digest, [report(n, 0, 0) for n in range(30)])
    file, damaged = tmp_path / "there.reports", tmp_path / "damaged.reports"
    operations.export_reports(store, "health", file)
    # An id that nothing else shows to be another one.
    place = file.read_bytes().index(bytes(15) + b"\x07")
    damaged.write_bytes(flipped(file.read_bytes(), 8 * place))
    with pytest.raises(ParameterError, match=f"file: {damaged} is damaged"):
        operations.import_reports(elsewhere, damaged)
    assert elsewhere.surveys.all() == []
    assert operations.import_reports(elsewhere, file).counted == 30


def test_commands_check_a_file_without_a_database_and_create_none(
    backup, command, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    rows = operations.check_backup(backup).rows
    assert command("admin", "backup", "--check", backup) == (
        *(0, f"{backup} is unchanged: {rows} rows, 600 reports\n", ""),
    )
    damaged = tmp_path / "damaged.backup"
    damaged.write_bytes(flipped(backup.read_bytes(), 40_000))
    complaint = (
        f"halftruth: file: {damaged} is damaged: its content does not have the checksum in its"
        " last line\n"
    )
    before = sorted(tmp_path.iterdir())
    new = ("--database", "sqlite:///new.db")
    for words in (("backup", "--check", damaged), ("restore", damaged, *new)):
        assert command("admin", *words) == (2, "", complaint)
    assert sorted(tmp_path.iterdir()) == before
    status, said, named = command("admin", "restore", backup, *new)
    assert (status, said) == (0, f"{rows} rows from {backup}\n")
    assert named == f"halftruth: new database sqlite:///{tmp_path}/new.db\n"
