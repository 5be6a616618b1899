"""Every action of an operator on every way to it, from its declaration.

It is refused alike by its call, its commands and its forms: for an unknown id, an invalid argument
and a database that does not answer, and then nothing changes. Who may call it is tested in
`web/test_access.py`, confirmations in `test_confirmation.py`, and what each action does in
`test_operations.py`.
"""

import re
from dataclasses import dataclass
from html import unescape
from typing import Any

import click
import msgspec
import pytest
from calls import PLACES, SURVEY, calls
from halftruth_collector.cli import main
from halftruth_collector.cli.actions import COMMANDS
from halftruth_collector.errors import UnknownSurvey
from halftruth_collector.operations import ACTIONS
from halftruth_collector.operations.base import SUBJECTS
from halftruth_collector.survey_file import of_survey
from halftruth_collector.web.calls import OPERATORS, declared
from halftruth_shared.analyses.reading import fields, write
from halftruth_shared.protocol.base import Request
from halftruth_shared.protocol.terms import TermsChange
from installed import needs_addons
from sqlalchemy.exc import OperationalError

from .store.conftest import statements

#: Words of the commands that are written by hand, after the subject and before further options.
BY_HAND = {
    "survey publish": ("{survey}",),
    "survey terms": ("--invitations",),
    "survey invite create": ("1",),
    "survey invite revoke": ("--all", "--confirm", SURVEY.id),
    "admin sealing-key retire": ("--confirm", PLACES["key"]),
    "admin audit-log": (),
    "admin backup": ("{new}",),
    "admin restore": ("{new}",),
    "reports export": ("{new}",),
    "reports import": ("{new}",),
    "reports read": ("{new}", "--survey", "{survey}"),
}

#: A value that no field of this kind accepts, as a text and as JSON.
WRONG = {"choice": "nonsense", "flag": "nonsense", "integer": "1.5", "number": "nonsense"}


@dataclass(frozen=True)
class Way:
    """One way to an action: `kind` is "call", "command" or "form"."""

    action: Any
    kind: str
    place: Any

    def __str__(self):
        place = self.place
        names = {"call": "rule", "command": "words", "form": "path"}
        return f"{self.action.__name__} by {self.kind} {getattr(place, names[self.kind])}"


WAYS = [
    Way(action, kind, place)
    for action in ACTIONS
    for kind, places in (
        ("call", [action.call] if action.call else []),
        ("command", action.commands),
        ("form", action.forms),
    )
    for place in places
]


def ways(chosen):
    return pytest.mark.parametrize("way", [*filter(chosen, WAYS)], ids=str)


def requested(action):
    """Return the example of a request for an action."""
    rule = action.call.method, action.call.rule
    return next(calls()[o.id] for o in declared((OPERATORS,)) if (o.method, o.rule) == rule)


def example(action):
    """Return valid arguments of an action."""
    bodies = requested(action).bodies if action.call else {}
    return next((each for each in bodies.values() if isinstance(each, Request)), Request())


@pytest.fixture
def survey():
    return SURVEY


@pytest.fixture
def app(store, sealing_app):
    return sealing_app


@pytest.fixture
def attempt(http, store, operator, command, database, tmp_path, key_file):
    """Return a function that tries an action on a way, and returns its status and complaint.

    The status is that of HTTP; for commands 0 or 2.
    """
    token = operator["Authorization"].partition(" ")[2]
    http.set_cookie("halftruth_token", token, path="/operate/")
    (tmp_path / "survey.toml").write_text(of_survey(SURVEY), encoding="utf-8")
    files = {"survey": tmp_path / "survey.toml", "new": tmp_path / "new"}

    def by_call(way, subject, wrong):
        rule, call = way.place.rule, requested(way.action)
        query, [body] = dict(write(call.query)), [*call.bodies.values()] or [None]
        content = msgspec.to_builtins(body)
        if wrong and type(call.query) is way.action.arguments:
            query |= {name: [text] for name, text in wrong.items()}
        elif wrong:
            content |= wrong
        given = {} if content is None else {"json": content}
        answer = http.open(
            re.sub("<[^>]*>", subject, rule),
            method=way.place.method,
            query_string=query,
            headers=operator,
            **given,
        )
        problem = answer.get_json() or {}
        assert answer.status_code < 400 or answer.mimetype == "application/problem+json"
        return answer.status_code, problem.get("detail", ""), problem.get("field")

    def by_command(way, subject, wrong, on):
        shown, action = way.place, way.action
        about = [subject] if action.about else []
        if shown.words in BY_HAND:
            words = [word.format(**files) for word in BY_HAND[shown.words]]
            about = [key_file, *about] if "sealing-key" in shown.words else about
        else:
            texts = {k: v for k, v in write(example(action)).items() if k not in shown.given}
            texts |= {name: [text] for name, text in (wrong or {}).items()}
            words = [f"--{k.replace('_', '-')}={text}" for k, v in texts.items() for text in v]
            words += ["--confirm", subject] if action.is_final else []
        status, said, complaint = command(*shown.words.split(), *about, *words, "--database", on)
        assert status == 0 or (said, complaint.count("\n")) == ("", 1), complaint
        return status, complaint.removeprefix("halftruth: "), None

    def by_form(way, subject, wrong):
        data = {"confirm": subject} | (wrong or {})
        answer = http.post(f"/operate/surveys/{subject}/{way.place.path}", data=data)
        found = re.search('role="alert">(.*?)</p>', answer.text, re.S)
        return answer.status_code, unescape(found[1] if found else answer.text), None

    def run(way, subject=None, wrong=None, on=database):
        about = way.action.about
        named = subject or (PLACES[about.place] if about else "")
        if way.kind == "command":
            return by_command(way, named, wrong, on)
        return (by_call if way.kind == "call" else by_form)(way, named, wrong)

    return run


def test_each_action_is_described_with_its_arguments():
    for action in ACTIONS:
        assert action.description, action
        assert "----" not in action.description
        for field in fields(action.arguments).values():
            # Terms and signatures have descriptions of their own.
            assert field.description or action.arguments is TermsChange, field.name
    names = [action.name for action in ACTIONS if action.name]
    assert len(names) == len(set(names))


@needs_addons
def test_each_declared_command_exists_once():
    found = []

    def walk(command, words):
        if isinstance(command, click.Group):
            context = click.Context(command)
            for name in command.list_commands(context):
                walk(command.get_command(context, name), [*words, name])
        else:
            found.append(" ".join(words))

    walk(main, [])
    every = [shown.words for action in ACTIONS for shown in action.commands]
    assert len(every) == len(set(every))
    assert set(every) <= set(found)
    # Those that print nothing of their own are written by hand.
    assert set(every) - COMMANDS.keys() == BY_HAND.keys()


@ways(lambda way: way.action.about in (SUBJECTS["survey_id"], SUBJECTS["token_id"]))
def test_an_unknown_id_is_refused(attempt, dump, way):
    about = "survey" if way.action.about is SUBJECTS["survey_id"] else "token"
    before = dump()
    status, said, field = attempt(way, "no")
    assert status == {"call": 404, "command": 2, "form": 404}[way.kind], said
    assert f"there is no {about} 'no'" in said or "there is none with the id 'no'" in said
    assert field in (None, about)
    assert dump() == before


def wrong_values(action):
    """Yield a field of each argument of an action with a value that it does not accept."""
    for name, field in fields(action.arguments).items():
        schema = msgspec.json.schema(field.type)
        limits = [x for x in (schema, *schema.get("anyOf", [])) if {"minimum", "maximum"} & set(x)]
        if field.kind in WRONG:
            yield name, WRONG[field.kind]
        elif "date" in repr(field.type):
            yield name, "soon"
        for limit in limits:
            if "minimum" in limit:
                yield name, str(limit["minimum"] - 1)
            if "maximum" in limit:
                yield name, str(limit["maximum"] + 1)


@ways(lambda way: any(wrong_values(way.action)) and getattr(way.place, "words", "") not in BY_HAND)
def test_an_invalid_argument_is_refused_by_its_name(attempt, dump, way):
    before = dump()
    for name, text in wrong_values(way.action):
        if name in getattr(way.place, "given", {}):
            continue
        status, said, field = attempt(way, wrong={name: text})
        assert status == (2 if way.kind == "command" else 422), (name, text, said)
        assert said.startswith(f"{name}: expected ") or f"{name}`" in said, said
        assert field in (None, name, "body")
        assert dump() == before


@ways(lambda way: way.kind == "command")
def test_a_command_without_its_database_fails_in_one_line(attempt, tmp_path, way):
    (tmp_path / "folder").mkdir()
    (tmp_path / "new").touch()
    status, said, _ = attempt(way, on=f"sqlite:///{tmp_path / 'folder'}")
    assert status == 2
    assert said


@ways(lambda way: way.kind != "command")
def test_a_database_that_fails_is_reported_and_nothing_changes(attempt, http, dump, way):
    before, seen = dump(), []

    def fail(text):
        # The first transaction looks the token up.
        if "COMMIT" in seen:
            raise OperationalError(text, {}, Exception())
        seen.append(text)

    with statements(http.application.extensions["halftruth"].store.database.engine, fail):
        status, said, _ = attempt(way)
    if way.action.__name__ == "list_sealing_keys":
        # It reads a file alone.
        assert status == 200
        return
    assert status == 503, said
    assert "the database" in said
    assert dump() == before


@pytest.mark.parametrize(
    "action",
    [each for each in ACTIONS if each.about is SUBJECTS["survey_id"] and each.call],
    ids=lambda action: action.__name__,
)
@pytest.mark.parametrize("id", ["no", "no\0"])
def test_functions_raise_an_error_for_an_unknown_survey(store, published, dump, action, id):
    before = dump()
    with pytest.raises(UnknownSurvey, match="there is no survey 'no"):
        action.run(store, id, example(action), id)
    assert dump() == before
