"""Commands beside a service: which database they use, whose it is, and why it cannot be used."""

import json
import os
import shutil
import sqlite3
import stat
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from traceback import format_exc
from typing import Any

import pytest
from halftruth_collector import operations
from halftruth_collector.collector_store import Store
from halftruth_collector.errors import StoreUnavailable
from halftruth_collector.store.database import Database
from halftruth_collector.store.tables import VERSION
from halftruth_collector.survey_file import of_survey
from halftruth_shared.protocol.sealing import create_sealing_key
from installed import missing

from ..store.conftest import report

#: User and group of a service; no account has them.
SERVICE = (54_321, 54_322)


@pytest.fixture
def folder(monkeypatch) -> Iterator[Path]:
    """The current folder: one of the service, which its user can reach."""
    if os.geteuid() != 0:
        missing("the right of root to act as another user")
    made = Path(tempfile.mkdtemp())
    os.chown(made, *SERVICE)
    made.chmod(0o700)
    monkeypatch.chdir(made)
    yield made
    shutil.rmtree(made)


def as_service(act: Callable[[], Any]) -> Any:
    """Return the JSON value of a function that a process of the service's user has called."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.setgroups([])
            os.setgid(SERVICE[1])
            os.setuid(SERVICE[0])
            os.write(writer, json.dumps(act()).encode())
            code = 0
        except BaseException:
            os.write(writer, format_exc().encode())
        finally:
            os._exit(code)
    os.close(writer)
    with open(reader, "rb") as said:
        printed = said.read().decode()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0, printed
    return json.loads(printed)


def failure_of(url: str) -> list[str]:
    """Return the error of a store for people and for operators; empty if it can be used."""
    try:
        with Store(url) as store:
            operations.create_token(store, "monitor")
    except StoreUnavailable as error:
        return [str(error), error.for_operators]
    return []


def files_of(folder: Path) -> dict[str, tuple[int, int, int]]:
    """Return owner, group and mode of each file in a folder."""
    statuses = {each.name: each.stat() for each in folder.iterdir()}
    return {
        name: (status.st_uid, status.st_gid, stat.S_IMODE(status.st_mode))
        for name, status in statuses.items()
    }


def test_files_that_root_creates_belong_to_the_owner_of_their_folder(
    folder, survey, published_by_commands
):
    """The service can use a database, its back-up and its keys, whoever has created them."""
    database = f"sqlite:///{folder / 'service.db'}"
    published_by_commands(database)
    create_sealing_key(folder / "sealing.keys")
    with Store(database) as store:
        store.reports.add("health", survey.digest, [report(1, 0, 0)])
        operations.back_up(store, folder / "now.backup")
        names = {"service.db", "service.db-wal", "service.db-shm", "now.backup", "sealing.keys"}
        assert names <= files_of(folder).keys()
        private = dict.fromkeys(names, (*SERVICE, 384))
        assert {name: files_of(folder)[name] for name in names} == private

        def use() -> int:
            with Store(database) as own:
                own.reports.add("health", survey.digest, [report(2, 0, 0)])
                own.reports.add("health", survey.digest, [report(3, 0, 0)])
                return own.surveys.state("health").reports

        # It uses the database while root does.
        assert as_service(use) == 3
    # And alone; then root again, which leaves no file that is not the service's.
    assert as_service(lambda: failure_of(database)) == []
    with Store(database) as store:
        assert store.surveys.state("health").reports == 3
        operations.compact(store)
        assert {owner for owner, *_ in files_of(folder).values()} == {SERVICE[0]}
    with sqlite3.connect(folder / "now.backup") as backup:
        assert backup.execute("SELECT count(*) FROM report_ids").fetchone() == (1,)
    backup.close()


@pytest.fixture
def published_by_commands(command, survey, tmp_path):
    """Return a function that publishes a survey and creates a token by commands of root."""
    file = tmp_path / "health.toml"
    file.write_text(of_survey(survey), encoding="utf-8")

    def run(database: str) -> None:
        first = command("survey", "publish", file, "--database", database)
        assert (first[0], first[2]) == (0, f"halftruth: new database {database}\n")
        words = ("admin", "token", "create", "--role", "monitor", "--database", database)
        status, token, complaint = command(*words)
        # What scripts read from standard output is the token alone.
        assert (status, token.count("\n"), token[:3]) == (0, 1, "ht_")
        assert complaint == f"halftruth: database {database}\n"

    return run


def test_files_of_other_users_keep_their_owner_and_others_stay_with_root(folder, tmp_path):
    """Only new files get the owner of the folder, and only if it is a service's database."""
    (folder / "theirs.db").touch(0o600)
    Store(f"sqlite:///{folder / 'theirs.db'}").close()
    assert files_of(folder)["theirs.db"] == (0, 0, 0o600)
    Store(f"sqlite:///{tmp_path / 'ours.db'}").close()
    assert files_of(tmp_path)["ours.db"] == (0, 0, 0o600)


def test_a_relative_path_is_named_absolutely_and_a_password_is_not(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = ("admin", "migrate", "--database")
    assert command(*words, "sqlite:///new.db")[2] == (
        f"halftruth: new database sqlite:///{tmp_path}/new.db\n"
    )
    # Nothing was written.
    assert command(*words, "sqlite:///new.db") == (
        0,
        f"the tables are of version {VERSION} already\n",
        "",
    )
    for url in (
        "postgresql://halftruth:secret@db.example.org/halftruth",
        "postgresql+psycopg://halftruth@db.example.org/halftruth?password=secret",
        "postgresql://halftruth@db.example.org/halftruth?sslpassword=secret&sslmode=require",
    ):
        name = Database(url).name
        assert name.startswith("postgresql://halftruth")
        assert "secret" not in name


def test_the_error_names_owner_mode_and_user_of_a_file_that_root_owns(folder):
    database = folder / "service.db"
    Store(f"sqlite:///{database}").close()
    os.chown(database, 0, 0)
    said, told = as_service(lambda: failure_of(f"sqlite:///{database}"))
    expected = f"database sqlite:///{database} cannot be used: the database does not answer"
    assert said == f"{expected} (SQLITE_CANTOPEN)"
    assert told == (
        f"{said}: {database} belongs to root with mode 0600, {folder} belongs to user"
        f" {SERVICE[0]} with mode 0700; this program runs as user {SERVICE[0]}"
    )


def test_the_error_names_the_folder_if_there_is_no_file(folder):
    os.chown(folder, 0, 0)
    for mode, name, seen in (
        (0o755, "service.db", "{file} does not exist, {folder} belongs to root with mode 0755"),
        (
            0o755,
            "no/service.db",
            "{file} does not exist, {folder}/no does not exist, {folder} belongs to root with mode"
            " 0755",
        ),
        (0o700, "service.db", "{file} cannot be reached, {folder} belongs to root with mode 0700"),
    ):
        folder.chmod(mode)
        file = folder / name
        [_, told] = as_service(lambda file=file: failure_of(f"sqlite:///{file}"))
        assert f"(SQLITE_CANTOPEN): {seen.format(file=file, folder=folder)}; " in told


def test_the_error_names_a_read_only_file_and_a_foreign_file_beside_it(folder):
    database = folder / "service.db"
    with Store(f"sqlite:///{database}") as store:
        operations.create_token(store, "monitor")
    database.chmod(0o400)
    [_, told] = as_service(lambda: failure_of(f"sqlite:///{database}"))
    assert "(SQLITE_READONLY" in told
    assert f"{database} belongs to user {SERVICE[0]} with mode 0400, " in told
    database.chmod(0o600)
    beside = folder / "service.db-shm"
    beside.unlink(missing_ok=True)
    beside.touch(0o600)
    [_, told] = as_service(lambda: failure_of(f"sqlite:///{database}"))
    assert f", {beside} belongs to root with mode 0600, {folder} belongs to " in told


def test_what_operators_are_told_is_logged_and_not_sent_to_others(http, store, caplog, batch):
    """Names of folders and users are none of a respondent's business."""
    hint = "/var/lib/halftruth/halftruth.db belongs to root with mode 0600"

    def fail(*_: object) -> None:
        raise StoreUnavailable("the database does not answer (SQLITE_READONLY)", hint=hint)

    with pytest.MonkeyPatch.context() as patch:
        found = http.application.extensions["halftruth"].store
        patch.setattr(found.reports, "_write", fail)
        answer = http.post("/v1/surveys/health/reports", json=batch([0, 1]))
    assert answer.status_code == 503
    assert "SQLITE_READONLY" in answer.text
    assert "root" not in answer.text
    assert f"unavailable: the database does not answer (SQLITE_READONLY): {hint}" in caplog.text
