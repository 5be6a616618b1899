"""What the files, logs and back-ups of relay and collector hold, and what they do not."""

import logging

import pytest
from halftruth_collector import operations as collecting
from halftruth_collector.store.tables import metadata
from halftruth_relay import operations as relaying
from relays import Device, contents, inner_reports

#: The address of all reports, as text and as bytes.
ADDRESS = "203.0.113.77"
ADDRESSES = [ADDRESS.encode(), bytes(map(int, ADDRESS.split(".")))]


@pytest.fixture
def parties(make, caplog):
    caplog.set_level(logging.INFO)
    made = make({"proxies": 1, "rate_limit": "1000 per hour"}, batch=20)
    made.devices = [Device((n % 2, n % 3)) for n in range(40)]
    for device in made.devices:
        response = made.send(device, **{"X-Forwarded-For": ADDRESS})
        assert response.status_code == 202
    return made


def found(data, needles):
    return [needle for needle in needles if needle in data]


def test_no_addresses_passed_reports_or_links_between_ids_are_kept(parties, tmp_path, caplog):
    backups = tmp_path / "backups"
    backups.mkdir()
    inner = inner_reports(parties.relay_store)
    # The sealed reports have equal lengths and are distinct.
    assert (len(set(map(len, inner))), len(set(inner))) == (1, 40)
    folder = tmp_path / "relay"
    ids = [device.report_id.bytes for device in parties.devices]
    relay_ids = [device.relay_id.bytes for device in parties.devices]
    before = contents(folder)
    # The searches below would find these if they were kept.
    assert len(found(before, inner)) == len(found(before, relay_ids)) == 40
    collecting.back_up(parties.relay_store, backups / "held")
    parties.close()
    collecting.close_survey(parties.store, "health", confirm="health")
    collecting.back_up(parties.relay_store, backups / "relay")
    collecting.back_up(parties.store, backups / "collector")
    after, collected = contents(folder), (tmp_path / "test.db").read_bytes()
    kept = contents(tmp_path)
    assert found(kept + caplog.text.encode(), ADDRESSES) == []
    # On SQLite, neither the file nor its log holds reports that were passed on.
    assert found(after, inner) == []
    assert found((backups / "relay").read_bytes(), inner) == []
    # Neither party can link its id of a report to that of the other.
    assert len(found(after, relay_ids)) == len(found(collected, ids)) == 40
    assert found(after + before, ids) == found(collected, relay_ids) == []
    assert found((backups / "held").read_bytes(), ids) == []
    assert parties.token not in collected.decode("latin")


@pytest.mark.parametrize("order", [1, -1], ids=["ascending", "descending"])
@pytest.mark.parametrize("database", ["sqlite", "postgresql"], indirect=True)
def test_reports_of_one_request_are_stored_in_an_order_independent_of_theirs(make, tmp_path, order):
    parties = make(batch=20)
    devices = sorted((Device((n % 2, n % 3)) for n in range(15)), key=lambda one: one.relay_id)
    assert parties.send(*devices[::order]).status_code == 202
    ids = [device.relay_id.bytes for device in devices]
    with parties.relay_store.database.reading() as connection:
        run = connection.exec_driver_sql
        if not parties.relay_store.database.is_sqlite:
            for table in ("relay_ids", "relay_reports"):
                rows = run(f"SELECT report_id FROM {table} ORDER BY ctid").scalars()
                assert [bytes(id) for id in rows] == ids
            return
        run("PRAGMA wal_checkpoint(TRUNCATE)")
    data = contents(tmp_path / "relay")
    for find in (data.find, data.rfind):
        # Each id is in a page of either table, which SQLite fills from its end.
        places = [find(id) for id in ids]
        assert places == sorted(places, reverse=True)
        assert min(places) >= 0


@pytest.mark.parametrize("database", ["sqlite", "postgresql"], indirect=True)
def test_tables_of_a_relay_have_no_columns_for_times_addresses_or_orders(parties):
    """Tables of reports have none of these; only the survey has times."""
    names = {
        table.name: set(table.c.keys())
        for table in metadata.tables.values()
        if table.name.startswith("relay_")
    }
    assert names.pop("relay_surveys") >= {"closes_at", "closed_at"}
    assert names == {
        "relay_ids": {"survey", "report_id"},
        "relay_reports": {"survey", "report_id", "sealed", "is_due"},
    }
    with parties.relay_store.database.reading() as connection:
        for name in names:
            rows = connection.exec_driver_sql(f"SELECT * FROM {name}").all()
            assert len(rows) == 40
            assert len({(row.survey, getattr(row, "is_due", None)) for row in rows}) == 1


def test_purging_a_relay_deletes_its_ids(parties, tmp_path):
    ids = [device.relay_id.bytes for device in parties.devices]
    assert relaying.purge(parties.relay_store, 0, confirm="*") == []
    parties.close()
    assert relaying.purge(parties.relay_store, 1, confirm="*") == []
    assert relaying.purge(parties.relay_store, 0, confirm="*") == [("health", 40, 0)]
    assert found(contents(tmp_path / "relay"), ids) == []
    # After the purge, a retry is refused because the survey is closed.
    assert parties.send(parties.devices[0]).status_code == 409
    assert parties.relay_store.all()[0].status == "purged"


def test_logs_do_not_mention_accepted_reports(parties, caplog):
    """The first line after the registration is about the end of the survey."""
    lines = [record.getMessage() for record in caplog.records]
    assert not [line for line in lines if "health" in line]
    parties.close()
    said = [r.getMessage() for r in caplog.records if r.name.endswith(("operations", "passing"))]
    assert said == [
        "health is closed by its operator",
        "40 reports of health are passed on",
        "passed on 40 reports of health: 40 counted now, 0 before, 0 not to be opened; 0 are held",
    ]


def test_the_metrics_of_a_relay_change_once_a_day(parties, monkeypatch):
    metrics, now = parties.relay.extensions["halftruth"].metrics, [0.0]
    monkeypatch.setattr(metrics, "_clock", lambda: now[0])
    token = collecting.create_token(parties.relay_store, "monitor")
    bearer = {"Authorization": f"Bearer {token}"}

    def counts() -> list[str]:
        text = parties.http.get("/metrics", headers=bearer).get_data(as_text=True)
        return [line for line in text.splitlines() if 'method="POST"' in line or "_total" in line]

    at_first = counts()
    assert not [line for line in at_first if "reports" in line]
    now[0] = 86_399
    assert counts() == at_first
    now[0] = 86_400
    [posted] = [line for line in counts() if "_seconds_count" in line]
    assert posted.endswith(" 40.0")
    assert parties.send(Device((1, 2))).status_code == 202
    now[0] = 2 * 86_400 - 1
    assert posted in counts()
    now[0] += 1
    assert posted.replace(" 40.0", " 41.0") in counts()
