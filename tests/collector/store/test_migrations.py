"""Migrations create the tables of the program, and are atomic."""

import multiprocessing
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from halftruth_collector import operations
from halftruth_collector.collector_store import Store
from halftruth_collector.errors import SchemaOutdated, StoreRefused, StoreUnavailable
from halftruth_collector.store import database
from halftruth_collector.store.database import _MIGRATION_LOCK, Database
from halftruth_collector.store.tables import COMPACTED, VERSION, metadata
from halftruth_shared import SplitQuestionnaire
from halftruth_shared.mechanisms import ViewClass
from halftruth_shared.protocol.reports import TicketRequest
from halftruth_shared.protocol.signing import OperatorKey, sign
from halftruth_shared.protocol.terms import Terms
from halftruth_shared.survey import Reporting
from msgspec.structs import asdict
from sqlalchemy import create_engine, inspect, text
from sqlalchemy.exc import OperationalError
from wire import PATIENCE

from .conftest import statements

pytestmark = pytest.mark.parametrize("fresh_database", ["sqlite", "postgresql"], indirect=True)

SCRIPTS = Path(database.__file__).parent / "migrations"


@pytest.fixture
def raw(fresh_database):
    """The database without a store."""
    database = Database(fresh_database)
    yield database
    database.engine.dispose()


@pytest.fixture
def halftruth(command, fresh_database, monkeypatch):
    """Return a function that runs a command on a database without tables."""
    monkeypatch.setenv("HALFTRUTH_DATABASE", fresh_database)
    return command


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
    """Return the columns, types, keys and constraints of every table from the database."""
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


def test_the_last_revision_is_that_of_the_program(fresh_database):
    config = Config()
    config.set_main_option("script_location", str(SCRIPTS))
    scripts = ScriptDirectory.from_config(config)
    assert scripts.get_heads() == [VERSION]


def test_a_fresh_database_gets_its_tables_by_migrations(fresh_database, raw, survey):
    with Store(fresh_database) as store:
        operations.publish_survey(store, survey)
        store.database.check()
    rows = all_rows(raw)
    assert rows.keys() == {"alembic_version", *metadata.tables}
    assert rows["alembic_version"] == [(VERSION,)]
    # Opening it again changes nothing.
    Store(fresh_database).close()
    assert all_rows(raw) == rows


def test_migrations_create_the_tables_of_the_program(fresh_database, raw):
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
        assert shapes == without_rowid(raw) == {table.name for table in COMPACTED}


@pytest.mark.parametrize(
    ("version", "said"),
    [
        (
            "0000",
            f"version 0000, expected {VERSION}; back it up with the halftruth that wrote"
            " them, then run 'halftruth admin migrate'",
        ),
        ("9999", f"version 9999, which is newer than {VERSION}; expected a newer halftruth"),
    ],
)
def test_tables_of_another_version_are_refused_and_unchanged(
    fresh_database, raw, halftruth, version, said
):
    Store(fresh_database).close()
    with raw.writing() as connection:
        connection.exec_driver_sql(f"UPDATE alembic_version SET version_num = '{version}'")
    before = all_rows(raw)
    for words in (("serve", "--port", "0"), ("survey", "list"), ("admin", "backup", "never.db")):
        assert halftruth(*words) == (2, "", f"halftruth: database: its tables are of {said}\n")
    status, _, complaint = halftruth("admin", "migrate")
    assert status == 2
    assert complaint.count("\n") == 1
    assert all_rows(raw) == before


def test_a_running_store_notices_a_changed_version(fresh_database, raw):
    with Store(fresh_database) as store:
        store.database.check()
        with raw.writing() as connection:
            connection.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")
        with pytest.raises(SchemaOutdated):
            store.database.check()
        if not raw.is_sqlite:
            # SQLite compacts the whole file, PostgreSQL only known tables.
            with pytest.raises(SchemaOutdated):
                store.database.compact()


def test_a_fresh_database_can_be_migrated_before_it_is_used(fresh_database, raw, halftruth):
    assert (
        halftruth("admin", "migrate")[1] == f"migrated the tables from version none to {VERSION}\n"
    )
    rows = all_rows(raw)
    assert halftruth("admin", "migrate") == (
        0,
        f"the tables are of version {VERSION} already\n",
        "",
    )
    assert all_rows(raw) == rows
    Store(fresh_database).close()


EVERY = Terms(
    invitations=True,
    sealing_key="ab" * 32,
    closes_at=datetime(2031, 3, 31, 22, tzinfo=UTC),
    max_reports=500,
    shared_devices=True,
)


def test_terms_in_columns_of_their_own_are_migrated(
    fresh_database, raw, halftruth, survey, monkeypatch
):
    """A database of the first version keeps everything, and its surveys their terms and tokens."""
    key = OperatorKey.create()
    signature = sign(key, survey.digest, EVERY)
    with monkeypatch.context() as patched:
        patched.setattr(database, "VERSION", "0001")
        raw.migrate()
    plain = {
        "status": "open",
        "published_at": "2027-01-01 00:00:00.000000",
        "invited": 0,
        "withdrawn": 0,
        "invitations": False,
        "digest": survey.digest,
        "document": survey.canonical_json.decode(),
    }
    terms = {**asdict(EVERY), "closes_at": "2031-03-31 22:00:00.000000"}
    # A later term, which had no column.
    del terms["opens_at"]
    if not raw.is_sqlite:
        plain["published_at"] += "+00:00"
        # The same moment in another zone.
        terms["closes_at"] = "2031-04-01 00:00:00+02:00"
    signed = {"signature_key": signature.key, "signature": signature.value}
    rows = {"signed": plain | terms | signed, "terms": plain | terms, "none": plain}
    with raw.writing() as connection:
        for number, (id, row) in enumerate(rows.items(), start=1):
            row |= {"id": id, "number": number}
            names = ", ".join(row)
            values = ", ".join(f":{name}" for name in row)
            connection.execute(text(f"INSERT INTO surveys ({names}) VALUES ({values})"), row)
        token = "INSERT INTO tokens (id, hash, role, survey, created_at) VALUES"
        token += " (:id, :hash, :role, 1, :at)"
        values = {
            "id": "12345678",
            "hash": b"0" * 32,
            "role": "analyst",
            "at": plain["published_at"],
        }
        connection.execute(text(token), values)
    assert f"version 0001, expected {VERSION}" in halftruth("survey", "list")[2]
    migrated = f"migrated the tables from version 0001 to {VERSION}\n"
    assert halftruth("admin", "migrate")[1] == migrated
    with Store(fresh_database) as store:
        found = {each.id: (each.terms, each.signature) for each in store.surveys.all()}
        assert found == {
            "signed": (EVERY, signature),
            "terms": (EVERY, None),
            "none": (Terms(), None),
        }
        assert [each.key for each in store.keys.all()] == [key.public]
        assert [each.survey for each in store.tokens.all()] == ["signed"]
        operations.set_terms(store, "terms", {"max_reports": None, "sealing_key": None})
        assert store.surveys.get("terms").terms.max_reports is None
    names = {column["name"] for column in inspect(raw.engine).get_columns("surveys")}
    assert "terms" in names
    assert not names & {*Terms.__struct_fields__, "signature", "signature_key"}


def test_a_database_before_tickets_keeps_its_reports_and_takes_tickets(
    fresh_database, raw, halftruth, survey, monkeypatch
):
    with monkeypatch.context() as patched:
        patched.setattr(database, "VERSION", "0002")
        raw.migrate()
    with raw.writing() as connection:
        connection.execute(
            text(
                "INSERT INTO surveys (id, digest, document, status, published_at, invited,"
                " withdrawn) VALUES ('health', :digest, :document, 'open', :at, 1, 0)"
            ),
            {
                "digest": survey.digest,
                "document": survey.canonical_json.decode(),
                "at": "2027-01-01 00:00:00.000000" + ("" if raw.is_sqlite else "+00:00"),
            },
        )
        connection.execute(
            text("INSERT INTO invitations (survey, hash) VALUES (1, :hash)"), {"hash": b"1" * 32}
        )
    before = {name: found for name, found in all_rows(raw).items() if name != "alembic_version"}
    assert halftruth("admin", "migrate")[1] == "migrated the tables from version 0002 to 0004\n"
    after = all_rows(raw)
    # An invitation has admitted no ticket yet.
    assert before.pop("invitations") == [(1, b"1" * 32)]
    assert after.pop("invitations") == [(1, b"1" * 32, 0)]
    assert before.items() <= after.items()
    with Store(fresh_database) as store:
        assert not store.surveys.get("health").survey().has_tickets
        views = [ViewClass(attributes=[[name]], weight=1) for name in survey.schema.names]
        by_ticket = replace(
            survey,
            id="views",
            mechanism=SplitQuestionnaire("19", views),
            reporting=Reporting(tickets="required"),
        )
        operations.publish_survey(store, by_ticket)
        asked = TicketRequest(digest=by_ticket.digest, commitments=["5e" * 32])
        [issued] = store.tickets.issue(store.surveys.get("views"), asked)
        assert len(issued) == 96


@pytest.mark.parametrize("at", ["CREATE TABLE surveys", "CREATE TABLE audit", "COMMIT"])
def test_a_failed_migration_is_rolled_back(fresh_database, raw, at):
    failing = Database(fresh_database)

    def fail(statement: str) -> None:
        if at in statement.replace("\n", " "):
            raise OperationalError(statement, {}, Exception())

    with statements(failing.engine, fail), pytest.raises(StoreUnavailable):
        failing.migrate()
    failing.close()
    assert all_rows(raw) == {}
    # It can be repeated.
    raw.migrate()
    assert all_rows(raw).keys() == {"alembic_version", *metadata.tables}


def test_tables_of_other_programs_are_unchanged(raw):
    with raw.writing() as connection:
        connection.exec_driver_sql("CREATE TABLE invitations (mine INTEGER)")
    before = all_rows(raw)
    with pytest.raises((StoreUnavailable, StoreRefused)):
        raw.migrate()
    assert all_rows(raw) == before


def test_opening_a_fresh_database_waits_for_other_writers(fresh_database):
    """SQLite does not wait on its own when it enables the write-ahead log."""
    engine = create_engine(fresh_database.replace("postgresql:", "postgresql+psycopg:"))
    with ThreadPoolExecutor() as threads, engine.connect() as other:
        if engine.dialect.name == "sqlite":
            other.exec_driver_sql("BEGIN IMMEDIATE")
        else:
            other.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_MIGRATION_LOCK})")
        opening = threads.submit(open_and_close, fresh_database)
        with pytest.raises(TimeoutError):
            opening.result(0.3)
        other.rollback()
        assert opening.result(PATIENCE) == "opened"
    engine.dispose()


def open_and_close(url: str) -> str:
    try:
        Store(url).close()
    except Exception as error:
        return repr(error)
    return "opened"


def test_concurrent_processes_can_all_open_a_fresh_database(fresh_database, raw):
    """As with the workers of a server, or with two servers."""
    # Forked, since importing the program would separate the processes in time.
    with multiprocessing.get_context("fork").Pool(4) as pool:
        assert pool.map(open_and_close, [fresh_database] * 4, chunksize=1) == ["opened"] * 4
    assert all_rows(raw)["alembic_version"] == [(VERSION,)]
