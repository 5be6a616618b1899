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
from importlib import import_module
from pkgutil import iter_modules
from shutil import copyfile
from typing import Any
from uuid import uuid4

import click
import pytest
from halftruth_collector import operations
from halftruth_collector.cli import main
from halftruth_collector.collector_store import Store
from halftruth_collector.confirmation import EVERY
from halftruth_collector.ops.settings import Config
from halftruth_collector.store.tables import metadata, relay_reports, relay_surveys
from halftruth_collector.web import create_app
from halftruth_collector.web.calls import declared
from halftruth_collector.web.messages import Confirmation
from halftruth_relay import operations as relaying
from halftruth_relay.store import RelayStore
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
class Asked:
    """What confirms an action, its command, the arguments of its call, and what it would end."""

    expected: str
    command: str
    arguments: dict[str, Any] | None = None
    reason: str = ""


#: Every final action by its name. Sealing keys of a test are in braces.
ASKED = {
    "survey close": Asked(
        "health",
        "survey close health",
        reason="with 3 reports it cannot be opened again",
    ),
    "survey delete": Asked(
        "health",
        "survey delete health",
        reason="'Health at work' would be lost with 3 reports",
    ),
    "survey purge": Asked(
        "ended,second",
        "admin purge --closed-for 0",
        {"closed_for": 0},
        reason="'ended' would lose 1 ids; 'second' would lose 2 ids",
    ),
    "invite revoke": Asked(
        "health",
        "survey invite revoke health --all",
        reason="2 unused invitations would not be accepted any more",
    ),
    "key revoke": Asked(
        KEY.public,
        f"admin key revoke {KEY.public}",
        reason="its signatures would never be accepted again, and 1 survey would lose its own",
    ),
    "sealing-key retire": Asked(
        "{key}",
        "admin sealing-key retire {file} {key} --database {database}",
        reason="reports that are sealed to it could never be opened again",
    ),
    "relay close": Asked(
        "health",
        "relay close health --database {relay}",
        reason="a relay cannot open it again, and 3 reports, fewer than the 10 of a batch, would"
        " never be passed on",
    ),
    "relay purge": Asked(
        "ended,second",
        "relay purge --closed-for 0 --database {relay}",
        reason="'ended' would lose 0 ids and 1 reports; 'second' would lose 0 ids and 2 reports",
    ),
}

FINAL = {action.name: action for action in operations.ACTIONS if action.is_final}


def test_every_function_on_a_store_is_declared_and_says_how_it_is_undone():
    modules = [
        import_module(each.name)
        for each in iter_modules(operations.__path__, "halftruth_collector.operations.")
    ]
    for module in (*modules, relaying):
        for name, found in inspect.getmembers(module, inspect.isfunction):
            if found.__module__ == module.__name__ and not name.startswith("_"):
                assert next(iter(inspect.signature(found).parameters), None) != "store", name
    assert all(action.undone for action in operations.ACTIONS if not action.is_final)
    assert FINAL.keys() == ASKED.keys()


def test_an_action_without_confirmation_has_to_say_why():
    def harmless(store: Store) -> None: ...

    def final(store: Store, confirm: str | None = None) -> None: ...

    before = [*operations.ACTIONS]
    for function, undone in ((harmless, ""), (final, "it can be"), (final, "")):
        with pytest.raises(TypeError):
            operations.action("x", undone=undone)(function)
    assert before == operations.ACTIONS


def test_every_final_action_of_a_collector_can_be_called_over_http():
    called = {(call.method, call.rule) for call in declared() if call.query is Confirmation}
    finals = {name: action for name, action in FINAL.items() if not name.startswith("relay ")}
    assert called == {(each.call.method, each.call.rule) for each in finals.values()}
    assert len(called) == len(finals)


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
    named = {words for each in ASKED.values() for words in found if each.command.startswith(words)}
    assert found == named
    assert len(found) == len(ASKED)


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


def by_command(name, it, command, http, confirm):
    """Return whether a command was refused, and what it said."""
    words = ASKED[name].command.format(**it).split()
    if "--database" not in words:
        words += ["--database", it["database"]]
    words += [] if confirm is None else ["--confirm", confirm]
    status, said, complaint = command(*words)
    if status:
        assert (status, said, complaint.count("\n")) == (2, "", 1), complaint
        return True, complaint.removeprefix("halftruth: ")
    return False, said


def by_call(name, it, command, http, confirm):
    """Return whether a call was refused, and its detail."""
    call, asked = FINAL[name].call, ASKED[name]
    answer = http.open(
        re.sub("<[^>]*>", asked.expected.format(**it), call.rule),
        method=call.method,
        json=asked.arguments,
        query_string={} if confirm is None else {"confirm": confirm},
        headers={"Authorization": f"Bearer {it['token']}"},
    )
    if answer.status_code != 200:
        problem = answer.get_json()
        assert (answer.status_code, problem["field"]) == (422, "confirm"), problem
        assert problem["type"] == "urn:halftruth:problem:not-confirmed"
        return True, problem["detail"]
    return False, answer.text


def by_page(name, it, command, http, confirm):
    """Return whether a form was refused, and the notice on the page."""
    [form] = FINAL[name].forms
    path = f"/operate/surveys/health/{form.path}"
    answer = http.post(path, data={} if confirm is None else {"confirm": confirm})
    if answer.status_code not in (200, 303):
        assert answer.status_code == 422
        return True, unescape(re.search('role="alert">(.*?)</p>', answer.text, re.S)[1])
    return False, answer.text


CASES = [
    pytest.param(name, by, id=f"{name} {by.__name__}")
    for name, action in FINAL.items()
    for by, there in ((by_command, True), (by_call, action.call), (by_page, action.forms))
    if there
]


@pytest.mark.parametrize(("name", "by"), CASES)
def test_nothing_happens_without_the_confirmation(it, state, command, http, name, by):
    expected, before = ASKED[name].expected.format(**it), state()
    of_several = EVERY if "," in expected else "second"
    wrong = ("", "x", "yes", expected[:-1], expected.upper().replace("0", "1"), f"{expected},x")
    for confirm in (None, *wrong, "second" if of_several == EVERY else EVERY):
        refused, said = by(name, it, command, http, confirm)
        assert refused, confirm
        assert said.startswith(f"confirm: expected {expected}"), said
        assert f", since {ASKED[name].reason}; nothing was " in said
        assert state() == before, confirm
    refused, said = by(name, it, command, http, expected)
    assert not refused, said
    assert state() != before


@pytest.mark.parametrize(
    ("name", "by"),
    [
        ("survey purge", by_command),
        ("survey purge", by_call),
        ("relay purge", by_command),
    ],
)
def test_a_timer_purges_every_survey_that_has_ended(it, state, command, http, name, by):
    before = state()
    assert not by(name, it, command, http, EVERY)[0]
    # Nothing is left that another purge would delete.
    after = state()
    assert after != before
    assert not by(name, it, command, http, None)[0]
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
