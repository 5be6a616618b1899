"""No command, call or page performs a final action without its confirmation."""

import inspect
import os
import pty
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from html import unescape
from shutil import copyfile
from typing import Any
from uuid import uuid4

import click
import pytest
from halftruth_collector import operations
from halftruth_collector.cli import main
from halftruth_collector.collector_store import Store
from halftruth_collector.confirmation import EVERY, FINAL
from halftruth_collector.ops.settings import Config
from halftruth_collector.relay import operations as relaying
from halftruth_collector.relay.store import RelayStore
from halftruth_collector.store.tables import metadata, relay_reports, relay_surveys
from halftruth_collector.web import create_app
from halftruth_collector.web.calls import declared
from halftruth_collector.web.messages import Confirmation
from halftruth_shared import Survey
from halftruth_shared.protocol.sealing import create_sealing_key
from halftruth_shared.protocol.signing import OperatorKey, sign
from halftruth_shared.protocol.terms import Terms
from relays import with_relay
from sqlalchemy import insert
from wire import PATIENCE

from .store.conftest import report

KEY = OperatorKey.create()


@dataclass(frozen=True)
class Surfaces:
    """What confirms an action, and how it is asked for on each surface."""

    expected: str
    command: str
    call: tuple[str, str] | None = None
    body: dict[str, Any] | None = None
    page: str | None = None
    reason: str = ""


#: Every final action. Sealing keys of a test are in braces.
SURFACES = {
    "operations.close_survey": Surfaces(
        "health",
        "survey close health",
        ("POST", "/surveys/health/close"),
        page="close",
        reason="with 3 reports it cannot be opened again",
    ),
    "operations.delete_survey": Surfaces(
        "health",
        "survey delete health",
        ("DELETE", "/surveys/health"),
        page="delete",
        reason="'Health at work' would be lost with 3 reports",
    ),
    "operations.purge": Surfaces(
        "ended,second",
        "admin purge --closed-for 0",
        ("POST", "/purge"),
        {"closed_for": 0},
        reason="'ended' would lose 1 ids; 'second' would lose 2 ids",
    ),
    "operations.revoke_invitations": Surfaces(
        "health",
        "survey invite revoke health --all",
        ("POST", "/surveys/health/invitations/revoke"),
        page="withdraw",
        reason="2 unused invitations would not be accepted any more",
    ),
    "operations.revoke_key": Surfaces(
        KEY.public,
        f"admin key revoke {KEY.public}",
        ("POST", f"/keys/{KEY.public}/revoke"),
        reason="its signatures would never be accepted again, and 1 survey would lose its own",
    ),
    "operations.retire_sealing_key": Surfaces(
        "{key}",
        "admin sealing-key retire {file} {key} --database {database}",
        ("POST", "/sealing-keys/{key}/retire"),
        reason="reports that are sealed to it could never be opened again",
    ),
    "relay.operations.close": Surfaces(
        "health",
        "relay close health --database {relay}",
        reason="a relay cannot open it again, and 3 reports, fewer than the 10 of a batch, would"
        " never be passed on",
    ),
    "relay.operations.purge": Surfaces(
        "ended,second",
        "relay purge --closed-for 0 --database {relay}",
        reason="'ended' would lose 0 ids and 1 reports; 'second' would lose 0 ids and 2 reports",
    ),
}

#: Every other action, with the reason why it need not be confirmed.
NOT_FINAL = {
    "operations.publish_survey": "replaces only a survey without reports",
    "operations.set_terms": "the terms can be set again",
    "operations.finish_relayed": "records what a relay has done",
    "operations.reopen_survey": "the survey can be closed again",
    "operations.set_listing": "can be set again",
    "operations.compact": "keeps every count and id",
    "operations.create_invitations": "invitations can be withdrawn",
    "operations.create_token": "the token can be revoked",
    "operations.revoke_token": "a new token with the same role takes its place",
    "operations.create_sealing_key": "the key can be retired",
    "operations.back_up": "changes nothing",
    "operations.restore": "changes only an empty database",
    "operations.export_reports": "changes nothing",
    "operations.import_reports": "adds reports, as respondents do",
    "operations.count_rows": "adds reports, as respondents do",
    "relay.operations.register": "changes only what a relay accepts",
    "relay.operations.resume": "releases reports that were to be passed on anyway",
    "relay.operations.release": "done by the relay when a batch is full",
    "relay.operations.acknowledge": "done by the relay when the collector has the reports",
}


def actions(module: Any) -> dict[str, Callable[..., Any]]:
    """Return the actions of a module by name: its public functions on a store."""
    name = module.__name__.removeprefix("halftruth_collector.")
    return {
        f"{name}.{each}": found
        for each, found in inspect.getmembers(module, inspect.isfunction)
        if found.__module__ == module.__name__
        and not each.startswith("_")
        and next(iter(inspect.signature(found).parameters), None) == "store"
    }


def test_every_action_is_declared_as_final_or_listed_as_reversible():
    found = actions(operations) | actions(relaying)
    final = {name.removeprefix("halftruth_collector.") for name in FINAL}
    assert final == SURFACES.keys()
    assert found.keys() - final == NOT_FINAL.keys()


def test_every_final_action_of_a_collector_can_be_called_over_http():
    calls = {(call.method, call.rule) for call in declared() if call.query is Confirmation}
    named = {
        (each.call[0], re.sub("/(health|{key}|[0-9a-f]{64})(?=/|$)", "/<>", f"/v1{each.call[1]}"))
        for each in SURFACES.values()
        if each.call is not None
    }
    assert {(method, re.sub("<[^>]*>", "<>", rule)) for method, rule in calls} == named
    assert len(calls) == len(actions(operations).keys() & SURFACES.keys())


def test_every_command_with_a_confirmation_is_in_the_table():
    found = set()

    def walk(command: click.Command, words: list[str]) -> None:
        if isinstance(command, click.Group):
            context = click.Context(command)
            for name in command.list_commands(context):
                walk(command.get_command(context, name), [*words, name])
        elif any(parameter.name == "confirm" for parameter in command.params):
            found.add(" ".join(words))

    walk(main, [])
    named = {
        words for each in SURFACES.values() for words in found if each.command.startswith(words)
    }
    assert found == named
    assert len(found) == len(SURFACES)


@pytest.fixture
def it(tmp_path, sqlite_template, survey) -> dict[str, Any]:
    """Return the places of a collector and of a relay on which every final action is possible."""
    places: dict[str, Any] = {
        "file": tmp_path / "sealing.pem",
        "database": f"sqlite:///{copyfile(sqlite_template, tmp_path / 'test.db')}",
        "relay": f"sqlite:///{copyfile(sqlite_template, tmp_path / 'relay.db')}",
    }
    places["key"] = create_sealing_key(places["file"])
    create_sealing_key(places["file"])
    with Store(places["database"]) as store:
        for id, reports in (("health", 3), ("ended", 1), ("second", 2), ("empty", 0)):
            made = Survey(id, "Health at work", survey.schema, survey.mechanism)
            signature = sign(KEY, made.digest, Terms()) if id == "health" else None
            operations.publish_survey(store, made, Terms(), signature)
            given = [report(n, 0, 1) for n in range(reports)]
            store.reports.add(id, made.digest, given)
            if id != "health":
                operations.close_survey(store, id, confirm=id)
        operations.create_invitations(store, "health", 2)
        places["token"] = operations.create_token(store, "operator")
    keys = tmp_path / "keys"
    keys.mkdir()
    relayed = with_relay(survey, keys)
    with RelayStore(places["relay"]) as relay, relay.database.writing() as connection:
        for number, id in enumerate(("health", "ended", "second", "empty")):
            held = {"health": 3, "ended": 1, "second": 2}.get(id, 0)
            row = {
                "number": number,
                "id": id,
                "digest": relayed.digest,
                "document": relayed.canonical_json.decode(),
                "collector": "https://collect.example.org",
                "token": "ht_",
                "status": "open" if id == "health" else "withheld",
                "closed_at": None if id == "health" else datetime.now(UTC),
            }
            connection.execute(insert(relay_surveys), row)
            for _ in range(held):
                row = {"report_id": uuid4().bytes, "sealed": b"", "is_due": False}
                connection.execute(insert(relay_reports), {"survey": number, **row})
    return places


@pytest.fixture
def state(it) -> Callable[[], Any]:
    """Return a function that reads both databases and the file of keys."""

    def read() -> Any:
        rows = []
        for url in (it["database"], it["relay"]):
            with Store(url) as store, store.database.reading() as connection:
                rows += [
                    # Compiling a statement for every table took half of the time of these tests.
                    sorted(map(repr, connection.exec_driver_sql(f"SELECT * FROM {table.name}")))
                    for table in metadata.sorted_tables
                ]
        return rows, it["file"].read_bytes()

    return read


@pytest.fixture
def http(it):
    """A client that is signed in as an operator."""
    app = create_app(Config(database=it["database"], sealing_keys=it["file"]))
    client = app.test_client()
    assert client.post("/sign-in", data={"token": it["token"]}).status_code == 303
    yield client
    app.extensions["halftruth"].store.close()


def by_command(surfaces, it, command, http, confirm):
    """Return whether a command was refused, and what it said."""
    words = surfaces.command.format(**it).split()
    if "--database" not in words:
        words += ["--database", it["database"]]
    words += [] if confirm is None else ["--confirm", confirm]
    status, said, complaint = command(*words)
    if status:
        assert (status, said, complaint.count("\n")) == (2, "", 1), complaint
        return True, complaint.removeprefix("halftruth: ")
    return False, said


def by_call(surfaces, it, command, http, confirm):
    """Return whether a call was refused, and its detail."""
    method, path = surfaces.call
    answer = http.open(
        f"/v1{path.format(**it)}",
        method=method,
        json=surfaces.body,
        query_string={} if confirm is None else {"confirm": confirm},
        headers={"Authorization": f"Bearer {it['token']}"},
    )
    if answer.status_code != 200:
        problem = answer.get_json()
        assert (answer.status_code, problem["field"]) == (422, "confirm"), problem
        assert problem["type"] == "urn:halftruth:problem:not-confirmed"
        return True, problem["detail"]
    return False, answer.text


def by_page(surfaces, it, command, http, confirm):
    """Return whether a form was refused, and the notice on the page."""
    path = f"/operate/surveys/health/{surfaces.page}"
    answer = http.post(path, data={} if confirm is None else {"confirm": confirm})
    if answer.status_code not in (200, 303):
        assert answer.status_code == 422
        return True, unescape(re.search('role="alert">(.*?)</p>', answer.text, re.S)[1])
    return False, answer.text


CASES = [
    pytest.param(surfaces, by, id=f"{name} {by.__name__}")
    for name, surfaces in SURFACES.items()
    for by, there in (
        (by_command, True),
        (by_call, surfaces.call is not None),
        (by_page, surfaces.page is not None),
    )
    if there
]


@pytest.mark.parametrize(("surfaces", "by"), CASES)
def test_nothing_happens_without_the_confirmation(it, state, command, http, surfaces, by):
    expected, before = surfaces.expected.format(**it), state()
    of_several = EVERY if "," in expected else "second"
    wrong = ("", "x", "yes", expected[:-1], expected.upper().replace("0", "1"), f"{expected},x")
    for confirm in (None, *wrong, "second" if of_several == EVERY else EVERY):
        refused, said = by(surfaces, it, command, http, confirm)
        assert refused, confirm
        assert said.startswith(f"confirm: expected {expected}"), said
        assert f", since {surfaces.reason}; nothing was " in said
        assert state() == before, confirm
    refused, said = by(surfaces, it, command, http, expected)
    assert not refused, said
    assert state() != before


@pytest.mark.parametrize(
    ("name", "by"),
    [
        ("operations.purge", by_command),
        ("operations.purge", by_call),
        ("relay.operations.purge", by_command),
    ],
)
def test_a_timer_purges_every_survey_that_has_ended(it, state, command, http, name, by):
    surfaces, before = SURFACES[name], state()
    assert not by(surfaces, it, command, http, EVERY)[0]
    # Nothing is left that another purge would delete.
    after = state()
    assert after != before
    assert not by(surfaces, it, command, http, None)[0]
    assert state() == after


def test_what_loses_nothing_is_not_asked(it, command):
    """A survey without reports can be reopened; no invitation, id or row is left to lose."""
    words = ("--database", it["database"])
    with Store(it["database"]) as store:
        operations.reopen_survey(store, "empty")
    for line in ("survey close empty", "survey invite revoke empty --all", "survey close ended"):
        assert command(*line.split(), *words)[0] == 0, line
    with Store(it["database"]) as store:
        [one] = operations.create_invitations(store, "empty", 1)
    # Invitations that are typed one by one are named already.
    assert command("survey", "invite", "revoke", "empty", one, *words)[:2] == (0, "withdrawn 1\n")


@pytest.mark.parametrize(
    ("typed", "status", "said"),
    [
        (b"health\n", 0, "closed health"),
        (b"Health\n", 2, "confirm: expected health, since"),
        (b"\x04", 130, ""),
    ],
    ids=["right", "wrong", "end"],
)
def test_on_a_terminal_the_command_asks(it, state, typed, status, said):
    before = state()
    words = [sys.executable, "-m", "halftruth_collector", "survey", "close", "health"]
    terminal, end = pty.openpty()
    try:
        process = subprocess.Popen(
            [*words, "--database", it["database"]],
            stdin=end,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        os.write(terminal, typed)
        printed, _ = process.communicate(timeout=PATIENCE)
    finally:
        os.close(terminal)
        os.close(end)
    assert (process.returncode, said in printed) == (status, True), printed
    assert printed.startswith("halftruth: with 3 reports it cannot be opened again\nType health to")
    assert (state() == before) == (status != 0)
