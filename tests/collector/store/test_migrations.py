"""Migrations lead to the tables of this program, keep every row, and are all or nothing."""

import multiprocessing
from datetime import date
from pathlib import Path
from uuid import UUID

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from halftruth_collector.errors import SchemaOutdated, StoreRefused, StoreUnavailable
from halftruth_collector.store import Store, schema
from halftruth_collector.store.database import Database
from halftruth_collector.store.tables import metadata
from halftruth_shared.messages import Report
from sqlalchemy import inspect, text
from sqlalchemy.exc import OperationalError

from .conftest import statements

pytestmark = pytest.mark.parametrize("fresh_database", ["sqlite", "postgresql"], indirect=True)

SCRIPTS = Path(schema.__file__).parent / "migrations"


@pytest.fixture
def raw(fresh_database):
    """The database without the store in between."""
    database = Database(fresh_database)
    yield database
    database.engine.dispose()


@pytest.fixture
def halftruth(command, fresh_database, monkeypatch):
    """Run a command on a database without tables."""
    monkeypatch.setenv("HALFTRUTH_DATABASE", fresh_database)
    return command


def upgrade(database: Database, revision: str) -> None:
    """Migrate by Alembic's own command."""
    config = Config()
    config.set_main_option("script_location", str(SCRIPTS))
    with database.writing() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, revision)


def all_rows(database: Database, names=None):
    with database.reading() as connection:
        names = names or inspect(connection).get_table_names()
        return {
            name: sorted(
                (tuple(row) for row in connection.exec_driver_sql(f"SELECT * FROM {name}")),
                key=repr,
            )
            for name in names
        }


def structure(database: Database):
    """Columns, types, keys and constraints of every table, as the database tells them."""
    with database.reading() as connection:
        seen = inspect(connection)
        return {
            name: (
                {
                    column["name"]: (
                        column["type"].compile(connection.dialect),
                        column["nullable"],
                        column["default"] is not None,
                    )
                    for column in seen.get_columns(name)
                },
                seen.get_pk_constraint(name)["constrained_columns"],
                sorted(each["column_names"] for each in seen.get_unique_constraints(name)),
                [
                    (each["constrained_columns"], each["referred_table"], each["referred_columns"])
                    for each in seen.get_foreign_keys(name)
                ],
            )
            for name in sorted(seen.get_table_names())
            if name != "alembic_version"
        }


def without_rowid(database: Database) -> set[str]:
    with database.reading() as connection:
        rows = connection.exec_driver_sql("SELECT name, sql FROM sqlite_master WHERE type='table'")
        return {name for name, sql in rows if "WITHOUT ROWID" in sql.upper()}


@pytest.fixture
def first(raw, survey):
    """A database of the time before there were migrations, with some of everything."""
    upgrade(raw, "0001")
    fill_first(raw, survey)
    return raw


def fill_first(raw, survey) -> None:
    document = survey.canonical_json.decode()
    false_digest = "f" * 64
    old = [
        (
            "INSERT INTO surveys (id, digest, document, status, published_at, closed_at)"
            " VALUES (:id, :digest, :document, :status, :at, :closed)",
            [
                # Published later, though its name comes first.
                {"id": "a", "digest": false_digest, "document": "{}", "status": "closed",
                     "at": "2024-05-06 07:08:09.000000", "closed": "2024-06-01 00:00:00.000000"},
                {"id": "health", "digest": survey.digest, "document": document, "status": "open",
                     "at": "2024-01-02 03:04:05.000000", "closed": None},
            ],
        ),
        (
            "INSERT INTO cells (survey_id, cell, count) VALUES (:id, :cell, :count)",
            [
                {"id": "health", "cell": b"\0\0", "count": 2},
                {"id": "health", "cell": b"\1\2", "count": 1},
                {"id": "a", "cell": b"\5", "count": 10**12},
            ],
        ),
        (
            "INSERT INTO report_ids (survey_id, report_id, cell) VALUES (:id, :report, :cell)",
            [
                {"id": "health", "report": UUID(int=1).bytes, "cell": b"\0\0"},
                {"id": "health", "report": UUID(int=2).bytes, "cell": b"\0\0"},
                {"id": "health", "report": UUID(int=3).bytes, "cell": b"\1\2"},
                {"id": "a", "report": UUID(int=1).bytes, "cell": b"\5"},
            ],
        ),
        (
            "INSERT INTO arrivals (survey_id, day, outcome, count)"
            " VALUES (:id, :day, :outcome, :count)",
            [
                {"id": "health", "day": "2024-01-03", "outcome": "counted", "count": 3},
                {"id": "health", "day": "2024-01-04", "outcome": "repeated", "count": 7},
                {"id": "health", "day": "2024-01-04", "outcome": "report-error", "count": 2},
                {"id": "a", "day": "2024-05-07", "outcome": "counted", "count": 1},
            ],
        ),
        (
            "INSERT INTO tokens (id, hash, role, created_at, revoked_at)"
            " VALUES (:id, :hash, :role, :at, :revoked)",
            [
                {"id": "0a", "hash": b"\7" * 32, "role": "analyst",
                     "at": "2024-01-02 00:00:00.000000", "revoked": None},
                {"id": "0b", "hash": b"\x08" * 32, "role": "operator",
                     "at": "2024-01-03 00:00:00.000000", "revoked": "2024-02-01 00:00:00.000000"},
            ],
        ),
    ]  # fmt: skip
    with raw.writing() as connection:
        for statement, parameters in old:
            connection.execute(text(statement), parameters)


def test_the_last_revision_is_the_one_that_this_program_works_with(fresh_database):
    config = Config()
    config.set_main_option("script_location", str(SCRIPTS))
    scripts = ScriptDirectory.from_config(config)
    assert scripts.get_heads() == [schema.HEAD]
    assert [each.revision for each in scripts.walk_revisions()] == ["0002", "0001"]


def test_a_fresh_database_gets_its_tables_by_migrations(fresh_database, raw, survey):
    with Store(fresh_database) as store:
        store.surveys.publish(survey)
        store.check()
    rows = all_rows(raw)
    assert rows.keys() == {"alembic_version", *metadata.tables}
    assert rows["alembic_version"] == [(schema.HEAD,)]
    # Opening it again changes nothing.
    Store(fresh_database).close()
    assert all_rows(raw) == rows


def test_the_migrations_lead_to_the_tables_of_the_program(fresh_database, raw):
    Store(fresh_database).close()
    with raw.reading() as connection:
        context = MigrationContext.configure(
            connection, opts={"compare_type": True, "compare_server_default": True}
        )
        assert compare_metadata(context, metadata) == []
    found = structure(raw)
    shapes = without_rowid(raw) if raw.is_sqlite else None
    with raw.writing() as connection:
        connection.exec_driver_sql("DROP TABLE alembic_version")
        metadata.drop_all(connection)
        metadata.create_all(connection)
    assert found == structure(raw)
    if shapes is not None:
        assert shapes == without_rowid(raw) == {"cells", "report_ids", "invitations"}


@pytest.mark.parametrize("stamped", [True, False])
def test_an_old_database_keeps_every_row(fresh_database, first, halftruth, survey, stamped):
    if not stamped:
        with first.writing() as connection:
            connection.exec_driver_sql("DROP TABLE alembic_version")
    assert halftruth("migrate") == (
        0,
        "migrated the tables from version 0001 to 0002\n",
        "",
    )
    rows = all_rows(first)
    assert rows.keys() == {"alembic_version", *metadata.tables}
    assert rows["alembic_version"] == [("0002",)]
    # The survey that was published first has the first number.
    assert sorted(tuple(map(bytes_or_same, row)) for row in rows["report_ids"]) == [
        (1, UUID(int=1).bytes, b"\0\0"),
        (1, UUID(int=2).bytes, b"\0\0"),
        (1, UUID(int=3).bytes, b"\1\2"),
        (2, UUID(int=1).bytes, b"\5"),
    ]
    assert sorted(tuple(map(bytes_or_same, row)) for row in rows["cells"]) == [
        (1, b"\0\0", 0, 2),
        (1, b"\1\2", 0, 1),
        (2, b"\5", 0, 10**12),
    ]
    assert [(row[0], str(row[1]), *row[2:]) for row in rows["arrivals"]] == [
        (1, "2024-01-03", "counted", 0, 3),
        (1, "2024-01-04", "repeated", 0, 7),
        (1, "2024-01-04", "report-error", 0, 2),
        (2, "2024-05-07", "counted", 0, 1),
    ]
    assert rows["invitations"] == rows["revoked_keys"] == rows["audit"] == []
    with Store(fresh_database) as store:
        a, health = store.surveys.all()
        assert (a.id, a.digest, a.document, a.status) == ("a", "f" * 64, "{}", "closed")
        assert (health.id, health.number, health.status) == ("health", 1, "open")
        assert health.survey() == survey
        assert health.signature is None
        assert not health.terms.invitations
        assert health.terms.sealing_key is None
        for stored, published, closed in (
            (health, "2024-01-02 03:04:05", None),
            (a, "2024-05-06 07:08:09", "2024-06-01 00:00:00"),
        ):
            row = next(row for row in rows["surveys"] if row[0] == stored.number)
            assert str(row[5])[:19] == published
            assert (row[6] and str(row[6])[:19]) == closed
        analyst, operator = store.tokens.all()
        assert (analyst.id, analyst.role, analyst.revoked_at) == ("0a", "analyst", None)
        assert (operator.id, operator.role) == ("0b", "operator")
        assert operator.revoked_at.date() == date(2024, 2, 1)
        assert {bytes(row[1]) for row in rows["tokens"]} == {b"\7" * 32, b"\x08" * 32}
        # And it counts on: retries of old reports are known.
        old = [Report(id=UUID(int=1), values=[0, 0]), Report(id=UUID(int=9), values=[0, 0])]
        receipt = store.reports.add("health", survey.digest, old)
        assert (receipt.accepted, receipt.duplicates) == (1, 1)
        _, counts, _ = store.reports.counts("health")
        assert counts.marginal((0, 1)).tolist() == [[3, 0, 0], [0, 0, 1]]
        assert [each.counted for each in store.reports.arrivals("health")] == [1, 0, 3]


def bytes_or_same(value):
    return bytes(value) if isinstance(value, (bytes, memoryview)) else value


def test_an_old_database_is_refused_in_one_line_and_left_alone(first, fresh_database, halftruth):
    before = all_rows(first)
    with pytest.raises(SchemaOutdated, match="version 0001, expected 0002"):
        Store(fresh_database)
    for words in (("serve", "--port", "0"), ("survey", "list"), ("backup", "never.db")):
        status, said, complaint = halftruth(*words)
        assert (status, said) == (2, "")
        assert complaint.count("\n") == 1
        assert "run 'halftruth migrate'" in complaint
    assert all_rows(first) == before


def test_a_database_of_a_later_program_is_refused_and_left_alone(fresh_database, raw, halftruth):
    Store(fresh_database).close()
    with raw.writing() as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '0003'")
    before = all_rows(raw)
    for words in (("survey", "list"), ("migrate",)):
        status, said, complaint = halftruth(*words)
        assert (status, said) == (2, "")
        assert complaint == (
            "halftruth: database: its tables are of version 0003, which is newer than 0002;"
            " expected a newer halftruth\n"
        )
    assert all_rows(raw) == before


def test_a_database_that_is_changed_under_a_running_store_is_noticed(fresh_database, raw):
    with Store(fresh_database) as store:
        store.check()
        with raw.writing() as connection:
            connection.exec_driver_sql("UPDATE alembic_version SET version_num = '0003'")
        with pytest.raises(SchemaOutdated):
            store.check()


def test_migrating_twice_changes_nothing(first, halftruth):
    halftruth("migrate")
    rows = all_rows(first)
    assert halftruth("migrate") == (0, "the tables are of version 0002 already\n", "")
    assert all_rows(first) == rows


def test_a_fresh_database_can_be_migrated_before_it_is_used(fresh_database, halftruth):
    assert halftruth("migrate")[1] == "migrated the tables from version none to 0002\n"
    Store(fresh_database).close()


@pytest.mark.parametrize(
    "at", ["CREATE TABLE audit", "INSERT INTO arrivals", "DROP TABLE old_surveys", "COMMIT"]
)
def test_a_migration_that_fails_leaves_all_as_it_was(first, fresh_database, at):
    before, tables = all_rows(first), structure(first)
    failing = Database(fresh_database)

    def fail(statement: str) -> None:
        if at in statement.replace("\n", " "):
            raise OperationalError(statement, {}, Exception())

    with statements(failing.engine, fail), pytest.raises(StoreUnavailable):
        schema.migrate(failing)
    failing.engine.dispose()
    assert all_rows(first) == before
    assert structure(first) == tables
    # And can be done again.
    schema.migrate(first)
    assert all_rows(first, ["report_ids"])["report_ids"]


def test_rows_that_contradict_the_new_tables_leave_all_as_it_was(first, monkeypatch):
    """Such as a table of the new names that somebody made."""
    with first.writing() as connection:
        connection.exec_driver_sql("CREATE TABLE invitations (mine INTEGER)")
    before = all_rows(first)
    with pytest.raises((StoreUnavailable, StoreRefused)):
        schema.migrate(first)
    assert all_rows(first) == before


def open_and_close(url: str) -> str:
    try:
        Store(url).close()
    except Exception as error:
        return repr(error)
    return "opened"


def test_processes_that_meet_a_fresh_database_at_once_all_open_it(fresh_database, raw):
    """As the workers of a server, or two servers, do."""
    with multiprocessing.get_context("spawn").Pool(3) as pool:
        assert pool.map(open_and_close, [fresh_database] * 6, chunksize=1) == ["opened"] * 6
    assert all_rows(raw)["alembic_version"] == [(schema.HEAD,)]
