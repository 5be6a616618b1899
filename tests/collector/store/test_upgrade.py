"""A database of the version of the tables before keeps all that it has when this version opens it.

``filled/0003.sql`` was written by the program of that version: surveys (one closed, one by tickets,
one by invitation, one of a relay), reports, tokens and an invitation, sent over HTTP. ``0003.json``
has what it must keep. A change of the tables brings a new pair of files.
"""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from halftruth_collector.collector_store import Store
from halftruth_collector.errors import SchemaOutdated
from halftruth_collector.ops.settings import Config
from halftruth_collector.store import database
from halftruth_collector.store.database import Database
from halftruth_collector.store.tables import VERSION
from halftruth_collector.web import create_app
from sqlalchemy import MetaData, create_engine, insert, inspect, select

FILLED = Path(__file__).with_name("filled")
BEFORE = f"{int(VERSION) - 1:04}"
KEPT = json.loads((FILLED / f"{BEFORE}.json").read_text("utf-8"))

pytestmark = pytest.mark.parametrize("fresh_database", ["sqlite", "postgresql"], indirect=True)


def rows_of(url):
    """Return the rows of all tables by name, with columns by name."""
    engine, found = create_engine(url.replace("postgresql:", "postgresql+psycopg:")), {}
    tables = MetaData()
    tables.reflect(engine)
    with engine.connect() as connection:
        for table in tables.sorted_tables:
            given = connection.execute(select(table)).mappings()
            found[table.name] = sorted(map(dict, given), key=repr)
    engine.dispose()
    return found


@pytest.fixture
def filled(fresh_database, tmp_path, monkeypatch):
    """URL of a database of the version before."""
    file = Path(fresh_database.removeprefix("sqlite:///"))
    if not fresh_database.startswith("sqlite"):
        file = tmp_path / "filled.db"
    with closing(sqlite3.connect(file)) as connection:
        connection.executescript((FILLED / f"{BEFORE}.sql").read_text("utf-8"))
    if fresh_database.startswith("sqlite"):
        return fresh_database
    there = Database(fresh_database)
    with monkeypatch.context() as patched:
        patched.setattr(database, "VERSION", BEFORE)
        there.migrate()
    tables = MetaData()
    tables.reflect(there.engine)
    rows = rows_of(f"sqlite:///{file}")
    with there.writing() as connection:
        for table in tables.sorted_tables:
            if table.name != "alembic_version" and rows[table.name]:
                connection.execute(insert(table), rows[table.name])
        for table in tables.tables.values():
            for column in inspect(there.engine).get_columns(table.name):
                if "nextval" in (column["default"] or "") or column.get("identity"):
                    named = f"pg_get_serial_sequence('{table.name}', '{column['name']}')"
                    most = f"(SELECT coalesce(max({column['name']}), 0) + 1 FROM {table.name})"
                    connection.exec_driver_sql(f"SELECT setval({named}, {most}, false)")
    there.engine.dispose()
    return fresh_database


def test_an_upgrade_keeps_every_row(filled):
    before = rows_of(filled)
    assert before.pop("alembic_version") == [{"version_num": BEFORE}]
    assert sum(map(len, before.values())) > 150
    there = Database(filled)
    there.migrate()
    there.engine.dispose()
    after = rows_of(filled)
    assert after.pop("alembic_version") == [{"version_num": VERSION}]
    for table, rows in before.items():
        kept = [{name: row[name] for name in rows[0]} for row in after[table]] if rows else []
        assert kept == rows, table


def test_an_upgraded_collector_goes_on_where_it_was(filled):
    there = Database(filled)
    there.migrate()
    there.engine.dispose()
    app = create_app(Config(database=filled, rate_limit=None, min_reports=1))
    http, store = app.test_client(), app.extensions["halftruth"].store
    for survey, counts in KEPT["counts"].items():
        found = store.reports.counts(survey)[1]
        cells = [bytes(cell).hex() for cell in found.cells.tolist()]
        assert dict(zip(cells, found.counts.tolist(), strict=True)) == counts

    def send(survey, report):
        digest = http.get(f"/v1/surveys/{survey}").get_json()["digest"]
        body = {"digest": digest, "reports": [report]}
        answered = http.post(f"/v1/surveys/{survey}/reports", json=body)
        return answered.status_code, answered.get_json()

    once = {"accepted": 1, "duplicates": 0}
    assert send("health", KEPT["known"]) == (202, {"accepted": 0, "duplicates": 1})
    assert send("views", KEPT["unspent"]) == (202, once)
    assert send("views", KEPT["spent"])[0] == 403
    assert send("invited", KEPT["fresh"] | {"invitation": KEPT["used"]})[0] == 403
    assert send("invited", KEPT["fresh"] | {"invitation": KEPT["invitation"]}) == (202, once)
    assert send("closed", KEPT["fresh"])[0] == 409
    paths = {
        "operator": "/v1/surveys/health/overview",
        "analyst": "/v1/surveys/health/overview",
        "monitor": "/metrics",
    }
    for role, token in KEPT["tokens"].items():
        given = {"Authorization": f"Bearer {token}"}
        assert http.get(paths[role], headers=given).status_code == 200, role
    store.close()


def test_the_program_says_how_to_upgrade(filled):
    with pytest.raises(SchemaOutdated, match="halftruth admin migrate"):
        Store(filled)
