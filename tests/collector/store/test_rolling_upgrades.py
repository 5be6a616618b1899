"""Collectors are replaced one after the other, on tables that are migrated before."""

import time
from collections.abc import Iterator
from datetime import UTC, date, datetime
from shutil import copytree
from typing import Any
from uuid import UUID

import pytest
from alembic.config import Config
from alembic.script import ScriptDirectory
from halftruth_collector.collector_store import Store
from halftruth_collector.errors import SchemaOutdated, StoreRefused, StoreUnavailable
from halftruth_collector.store import schema
from halftruth_collector.store.database import Database
from halftruth_shared import HalftruthError
from halftruth_shared.protocol.reports import Report
from sqlalchemy import MetaData, Table, UniqueConstraint, delete, select, update

POSTGRESQL = pytest.param("postgresql", marks=pytest.mark.nightly)
on_both = pytest.mark.parametrize("fresh_database", ["sqlite", "postgresql"], indirect=True)
on_both_at_night = pytest.mark.parametrize("fresh_database", ["sqlite", POSTGRESQL], indirect=True)

#: Two values of each type that a column has.
VALUES = {
    int: (1, 2),
    str: ("x", "y"),
    bytes: (b"x", b"y"),
    bool: (True, False),
    datetime: (datetime(2026, 1, 2, tzinfo=UTC), datetime(2026, 1, 3, tzinfo=UTC)),
    date: (date(2026, 1, 2), date(2026, 1, 3)),
}

#: What a migration of the next version may do, and what would break its promise.
ADDS = """
    op.add_column("surveys", sa.Column("contact", sa.String(100)))
    op.add_column("cells", sa.Column("kind", sa.Integer, nullable=False, server_default="0"))
    op.create_table("notes", sa.Column("number", sa.Integer, primary_key=True))
"""
BREAKS = {
    "a column dropped": 'op.drop_column("surveys", "unlisted")',
    "a column renamed": 'op.alter_column("tokens", "name", new_column_name="purpose")',
    "a table dropped": 'op.drop_table("audit")',
    "a table renamed": 'op.rename_table("cells", "counts")',
    "a value asked for": """op.drop_table("revoked_keys")
    op.create_table("revoked_keys", sa.Column("key", sa.String(64), primary_key=True),
        sa.Column("revoked_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("why", sa.String(100), nullable=False))""",
    "a longer key": """op.drop_table("report_ids")
    op.create_table("report_ids", sa.Column("survey", sa.Integer, primary_key=True),
        sa.Column("report_id", sa.LargeBinary(16), primary_key=True),
        sa.Column("day", sa.Date, primary_key=True, server_default="2026-01-01"))""",
    "a value that may not be missing": """with op.batch_alter_table("tokens") as table:
        table.alter_column("name", existing_type=sa.String(100), nullable=False)""",
    "a value that may not be there twice": """op.create_index(
        "alone", "surveys", ["digest"], unique=True)""",
}


@pytest.fixture
def raw(fresh_database):
    """The database without the store in between."""
    database = Database(fresh_database)
    yield database
    database.close()


@pytest.fixture
def add_version(tmp_path, monkeypatch):
    """Make this program that of the next version, with a migration of its own."""

    def add(changes: str, suffix: str = f"_since_{schema.HEAD[:4]}") -> str:
        scripts = copytree(schema._SCRIPTS, tmp_path / "migrations")
        made = f"{int(schema.HEAD[:4]) + 1:04}{suffix}"
        (scripts / "versions" / "next.py").write_text(
            f'import sqlalchemy as sa\nfrom alembic import op\n\nrevision = "{made}"\n'
            f'down_revision = "{schema.HEAD}"\n\n\ndef upgrade() -> None:\n    {changes.strip()}\n'
        )
        monkeypatch.setattr(schema, "_SCRIPTS", scripts)
        monkeypatch.setattr(schema, "VERSIONS", (*schema.VERSIONS, made))
        monkeypatch.setattr(schema, "HEAD", made)
        return made

    return add


def versions_that_promise() -> list[tuple[str, str]]:
    """Each version whose name says which earlier programs go on, and the first of those."""
    config = Config()
    config.set_main_option("script_location", str(schema._SCRIPTS))
    names = [each.revision for each in ScriptDirectory.from_config(config).walk_revisions()]
    return [
        (name, old) for name in names for old in names if old < name and schema.serves(name, old)
    ]


def tables_of(database: Database) -> dict[str, Table]:
    """Every table as the database itself has it, parents first."""
    found = MetaData()
    with database.reading() as connection:
        found.reflect(connection)
    return {each.name: each for each in found.sorted_tables if each.name != schema.VERSION_TABLE}


def rows_of(table: Table) -> tuple[dict[str, Any], dict[str, Any]]:
    """A row with a value in every column, and one that is as alike and as empty as it may be."""
    one_only = {column.name for column in table.primary_key}
    for constraint in table.constraints:
        if isinstance(constraint, UniqueConstraint):
            one_only |= {column.name for column in constraint.columns}
    full, empty = {}, {}
    for column in table.columns:
        value, another = VALUES[column.type.python_type]
        full[column.name] = value
        alike = None if column.nullable else value
        empty[column.name] = another if column.name in one_only else alike
    return full, empty


def work_with(database: Database, tables: dict[str, Table]) -> None:
    """Count, read, change and delete rows of each table as its program does."""
    with database.writing() as connection:
        for table in tables.values():
            keys = list(table.primary_key)
            last = list(table.columns)[-1]
            for row in rows_of(table):
                statement = database.insert(table).values(row)
                change = {last.name: row[last.name]}
                connection.execute(
                    statement.on_conflict_do_update(index_elements=keys, set_=change)
                )
                this = [key == row[key.name] for key in keys]
                found = connection.execute(select(*table.columns).where(*this)).one()
                assert set(found._mapping) == set(row)
                changed = connection.execute(update(table).where(*this).values(row))
                assert changed.rowcount == 1
        for table in reversed(tables.values()):
            assert connection.execute(delete(table)).rowcount == 2


def upgraded(database: Database) -> Iterator[dict[str, Table]]:
    """Tables as each earlier program has them, once they are of the version that promises it."""
    for later, earlier in versions_that_promise():
        with database.writing() as connection:
            found = MetaData()
            found.reflect(connection)
            found.drop_all(connection)
        schema.migrate(database, earlier)
        tables = tables_of(database)
        assert schema.migrate(database, later, rolling=True) == (earlier, later)
        yield tables


@on_both
def test_programs_of_the_versions_that_a_name_promises_work_with_its_tables(raw, add_version):
    """The migrations, and a made-up next one, so that there is one."""
    add_version(ADDS)
    tried = [work_with(raw, tables) for tables in upgraded(raw)]
    assert tried


@on_both_at_night
@pytest.mark.parametrize("changes", BREAKS.values(), ids=BREAKS)
def test_a_migration_that_breaks_its_promise_is_noticed(raw, add_version, changes):
    add_version(changes)
    tables = next(upgraded(raw))
    with pytest.raises((StoreRefused, StoreUnavailable)):
        work_with(raw, tables)


@on_both
def test_this_program_goes_on_with_later_tables_that_promise_it(
    fresh_database, raw, survey, tmp_path, monkeypatch, add_version
):
    with Store(fresh_database) as running:
        running.surveys.publish(survey)
        later = add_version(ADDS)
        migrated = schema.migrate(raw, rolling=True)
        monkeypatch.undo()
        assert migrated == (schema.HEAD, later)
        # Before it was restarted, and after.
        for number in (1, 2):
            with Store(fresh_database) as restarted:
                for store in (running, restarted):
                    store.check()
                    report = Report(id=UUID(int=number), values=[1, 2])
                    store.reports.add(survey.id, survey.digest, [report])
        assert running.state(survey.id).reports == 2
        # What would lose what it does not know, it leaves to the later program.
        with pytest.raises(SchemaOutdated, match=f"{later}, which is newer than"):
            running.back_up(tmp_path / "never.backup")
        if not raw.is_sqlite:
            with pytest.raises(SchemaOutdated):
                running.compact()
        running.surveys.close(survey.id)
        assert running.state(survey.id).status == "closed"


@on_both_at_night
def test_a_version_without_the_promise_waits_until_collectors_are_stopped(raw, add_version):
    schema.migrate(raw)
    before = schema.HEAD
    later = add_version(BREAKS["a column dropped"], suffix="")
    with pytest.raises(
        HalftruthError, match=f"version {before} cannot go on with tables of {later}"
    ):
        schema.migrate(raw, rolling=True)
    assert schema.migrate(raw) == (before, later)


@on_both
def test_a_rolling_migration_holds_up_collectors_for_two_seconds_at_most(
    fresh_database, raw, add_version
):
    schema.migrate(raw)
    add_version(ADDS)
    reader = Database(fresh_database)
    with reader.writing() as connection:
        connection.exec_driver_sql("UPDATE surveys SET status = status")
        began = time.monotonic()
        with pytest.raises(StoreUnavailable):
            schema.migrate(raw, rolling=True)
        assert time.monotonic() - began < 6
    reader.close()
    schema.migrate(raw, rolling=True)
