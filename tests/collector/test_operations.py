"""Operators' actions: transitions, refusals, terms, secrets and the audit log."""

import dataclasses
import hashlib
import re
from contextvars import copy_context
from datetime import UTC, datetime, timedelta
from shutil import copyfile
from types import SimpleNamespace
from uuid import UUID

import pytest
from halftruth_collector import operations
from halftruth_collector.collector_store import Store
from halftruth_collector.errors import (
    DeadlinePassed,
    QuotaReached,
    SignatureRefused,
    SurveyClosed,
    SurveyExists,
    Unauthorized,
    UnknownSurvey,
)
from halftruth_collector.store.audit import ACTOR
from halftruth_shared import (
    Attribute,
    GammaDiagonal,
    HalftruthError,
    ParameterError,
    Relay,
    Schema,
    Series,
    Survey,
)
from halftruth_shared.protocol.sealing import SealingKeys, create_sealing_key
from halftruth_shared.protocol.signing import OperatorKey, sign
from halftruth_shared.protocol.terms import Signature, Terms
from msgspec.structs import replace
from sqlalchemy.exc import OperationalError

from .store.conftest import report, statements

NOW = datetime.now(UTC)
TODAY = NOW.date()
PAST, MOMENT = datetime(2020, 1, 1, tzinfo=UTC), datetime(2031, 3, 31, 22, tzinfo=UTC)

#: State of a survey after each event, or the error that it raises.
#: Without reports a quota is never reached. A replaced survey keeps its terms.
TRANSITIONS = """
state     reports  close   finish  reopen        replace       purge   report
open      0        closed  relay   open          open          open    counted
deadline  0        closed  relay   deadline      deadline      purged  DeadlinePassed
closed    0        closed  closed  open          open          purged  SurveyClosed
relay     0        relay   relay   SurveyClosed  open          purged  SurveyClosed
purged    0        purged  purged  open          open          purged  SurveyClosed
open      1        closed  relay   open          SurveyExists  open    counted
deadline  1        closed  relay   deadline      SurveyExists  purged  DeadlinePassed
quota     1        closed  relay   quota         SurveyExists  purged  QuotaReached
closed    1        closed  closed  SurveyClosed  SurveyExists  purged  SurveyClosed
relay     1        relay   relay   SurveyClosed  SurveyExists  purged  SurveyClosed
purged    1        purged  purged  SurveyClosed  SurveyExists  purged  SurveyClosed
"""
HEADER, *ROWS = [line.split() for line in TRANSITIONS.strip().splitlines()]
ERRORS = {
    each.__name__: each for each in (SurveyClosed, SurveyExists, DeadlinePassed, QuotaReached)
}


def bring_into(store, survey, state, reports):
    """Publish a survey and bring it into a state."""
    operations.publish_survey(store, survey)
    if reports:
        store.reports.add(survey.id, survey.digest, [report(1, 0, 0)])
    limits = {"deadline": Terms(closes_at=PAST), "quota": Terms(max_reports=1)}
    operations.set_terms(store, survey.id, limits.get(state, Terms()))
    if state == "relay":
        operations.finish_relayed(store, survey.id)
    if state in ("closed", "purged"):
        operations.close_survey(store, survey.id, confirm=survey.id)
    if state == "purged":
        operations.purge(store, 0, confirm="*")


def state_of(store, id):
    state = store.surveys.state(id)
    if state.purged_at is not None:
        return "purged"
    return {None: "open", "operator": "closed"}.get(state.closed_because, state.closed_because)


@pytest.mark.parametrize("event", HEADER[2:])
@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row[0]} {row[1]}")
def test_the_state_of_a_survey_after_each_event(store, survey, row, event):
    state, reports, *outcomes = row
    expected = outcomes[HEADER[2:].index(event)]
    bring_into(store, survey, state, int(reports))
    assert state_of(store, "health") == state
    events = {
        "close": lambda: operations.close_survey(store, "health", confirm="health"),
        "finish": lambda: operations.finish_relayed(store, "health"),
        "reopen": lambda: operations.reopen_survey(store, "health"),
        "replace": lambda: operations.publish_survey(store, another(survey)),
        "purge": lambda: operations.purge(store, 0, confirm="*"),
        "report": lambda: store.reports.add("health", survey.digest, [report(2, 0, 0)]),
    }
    before = store.surveys.get("health"), store.audit.all()
    if expected in ERRORS:
        with pytest.raises(ERRORS[expected]):
            events[event]()
        assert (store.surveys.get("health"), store.audit.all()) == before
        return
    events[event]()
    if event == "report":
        assert store.surveys.state("health").reports == int(reports) + 1
        return
    assert state_of(store, "health") == expected
    stored = store.surveys.get("health")
    assert (stored.closed_at is None) == (expected in ("open", "deadline", "quota"))
    # An event that changes nothing is not logged, but the end of a relay once.
    unchanged = event != "replace" and expected == state
    logged = not unchanged or (event == "finish" and state != "relay")
    assert (store.audit.all() == before[1]) == (not logged)
    assert (stored == before[0]) == unchanged


def test_a_survey_that_its_relay_ended_stays_closed_after_a_purge(store, survey):
    operations.publish_survey(store, survey)
    operations.finish_relayed(store, "health")
    operations.purge(store, 0, confirm="*")
    assert store.surveys.state("health").closed_because == "relay"
    with pytest.raises(SurveyClosed, match="its relay takes no more reports"):
        operations.reopen_survey(store, "health")
    # Another survey of this id, with another relay, begins anew.
    operations.publish_survey(store, another(survey))
    assert store.surveys.state("health").closed_because is None


def another(survey, id="health"):
    return Survey(id, "Another", survey.schema, survey.mechanism)


def waved(survey, id="new"):
    series = Series(id="panel", wave=1, total_gamma="361", origin="https://survey.example.org")
    return dataclasses.replace(another(survey, id), series=series)


def relayed(survey, id="new", sealing_key="6" * 64):
    keys = {"key": "5" * 64, "sealing_key": sealing_key}
    relay = Relay(url="https://relay.example.edu", batch=1_000, **keys)
    return dataclasses.replace(another(survey, id), relay=relay)


@pytest.fixture(scope="module")
def exported(sqlite_template, tmp_path_factory, survey):
    """Four reports of another collector to a third survey."""
    folder = tmp_path_factory.mktemp("elsewhere")
    third = another(survey, "third")
    with Store(f"sqlite:///{copyfile(sqlite_template, folder / 'elsewhere.db')}") as elsewhere:
        operations.publish_survey(elsewhere, third)
        elsewhere.reports.add("third", third.digest, [report(n, 0, 0) for n in range(4)])
        operations.export_reports(elsewhere, "third", folder / "third.reports")
    return folder / "third.reports"


@pytest.fixture
def it(store, survey, exported, tmp_path):
    """A collector with surveys, tokens and keys, and the names of these."""
    key, sealing_file = OperatorKey.create(), tmp_path / "sealing.pem"
    invited = Terms(invitations=True)
    operations.publish_survey(store, survey, invited)
    [used, *unused] = operations.create_invitations(store, "health", 3)
    store.reports.add("health", survey.digest, [report(1, 1, 2, invitation=used)])
    for id in ("signed", "empty", "ended"):
        operations.publish_survey(store, another(survey, id))
    signed = store.surveys.get("signed")
    operations.set_terms(store, "signed", Terms(), sign(key, signed.digest, Terms()))
    operations.close_survey(store, "empty", confirm="empty")
    operations.set_terms(store, "ended", Terms(closes_at=PAST))
    token = store.tokens.bearer(operations.create_token(store, "analyst", "health")).id
    sealing_key = create_sealing_key(sealing_file)
    operations.publish_survey(store, relayed(survey, "relayed"))
    operations.publish_survey(store, waved(survey, "wave"))
    operations.publish_survey(store, another(survey, "shared"), Terms(shared_devices=True))
    return SimpleNamespace(
        store=store,
        survey=survey,
        key=key,
        unused=unused,
        token=token,
        sealing_file=sealing_file,
        sealing_key=sealing_key,
        exported=exported,
        folder=tmp_path,
        pages=[([UUID(int=n).bytes for n in range(2)], [b"\0\0"] * 2)],
        new=another(survey, "new"),
    )


def do(action, *given, **named):
    """Return a function that performs an action on the store of `it`."""
    return lambda it: getattr(operations, action)(it.store, *given, **named)


def retire(it):
    """Retire the sealing key."""
    operations.retire_sealing_key(it.store, it.sealing_key, it.sealing_file, confirm=it.sealing_key)


#: Each action with the entries that it writes to the audit log, by a descriptive key.
ACTIONS = {
    "publish": (
        lambda it: operations.publish_survey(it.store, it.new),
        lambda it: ("survey publish", "new", it.new.digest),
    ),
    "publish, unlisted": (
        lambda it: operations.publish_survey(it.store, it.new, unlisted=True),
        lambda it: ("survey publish", "new", f"{it.new.digest}; unlisted"),
    ),
    "publish, again with other terms": (
        lambda it: operations.publish_survey(it.store, it.survey, {"max_reports": 9}),
        lambda it: ("survey publish", "health", f"{it.survey.digest}; max_reports: none → 9"),
    ),
    "terms": (
        do("set_terms", "health", {"invitations": False, "closes_at": MOMENT}),
        "survey terms, health, invitations: yes → no; closes_at: none → 2031-03-31T22:00:00Z",
    ),
    "terms, unsigned": (
        do("set_terms", "signed", Terms(), None),
        lambda it: ("survey terms", "signed", f"signature: {it.key.public} → none"),
    ),
    "close": (do("close_survey", "health", confirm="health"), "survey close, health, "),
    "reopen": (do("reopen_survey", "empty"), "survey reopen, empty, "),
    "unlist": (do("set_listing", "health", False), "survey unlist, health, "),
    "delete": (
        do("delete_survey", "health", confirm="health"),
        lambda it: (
            "survey delete",
            "health",
            f"{it.survey.digest}; 1 reports, 1 ids, 2 unused invitations, 1 tokens",
        ),
    ),
    "purge": (
        do("purge", 0, confirm="*"),
        "survey purge, empty, nothing",
        "survey close, ended, its deadline had passed or its quota was full",
        "survey purge, ended, nothing",
    ),
    "compact": (do("compact"), "compact, , "),
    "invite": (do("create_invitations", "health", 7), "invite create, health, 7 invitations"),
    "withdraw": (
        do("revoke_invitations", "health", confirm="health"),
        "invite revoke, health, 2 invitations",
    ),
    "withdraw, one": (
        lambda it: operations.revoke_invitations(
            it.store, "health", [bytes.fromhex(it.unused[0]), bytes(16)]
        ),
        "invite revoke, health, 1 invitations",
    ),
    "token": (
        do("create_token", "analyst", "health", name="Anna", expires=TODAY),
        lambda it: (
            "token create",
            next(each.id for each in it.store.tokens.all() if each.name == "Anna"),
            f"analyst of health; Anna; until {TODAY}",
        ),
    ),
    "revoke token": (
        lambda it: operations.revoke_token(it.store, it.token),
        lambda it: ("token revoke", it.token, ""),
    ),
    "revoke key": (
        lambda it: operations.revoke_key(it.store, it.key.public, confirm=it.key.public),
        lambda it: ("key revoke", it.key.public, "signed"),
    ),
    "sealing key": (
        lambda it: operations.create_sealing_key(it.store, it.sealing_file),
        lambda it: ("sealing-key create", SealingKeys.read(it.sealing_file).public[0], ""),
    ),
    "retire sealing key": (
        lambda it: (
            create_sealing_key(it.sealing_file),
            retire(it),
        ),
        lambda it: ("sealing-key retire", it.sealing_key, ""),
    ),
    "back up": (
        lambda it: operations.back_up(it.store, it.folder / "all.backup"),
        "backup, , ",
    ),
    "import": (
        lambda it: operations.import_reports(it.store, it.exported),
        "import, third, 4 reports counted",
    ),
    "read": (
        lambda it: operations.count_rows(it.store, it.new, it.pages),
        "read, new, 2 reports counted",
    ),
}

#: Actions on files, which are not done in the transaction of their log entry.
OF_FILES = ("compact", "sealing key", "retire sealing key", "back up")


@pytest.mark.parametrize("name", ACTIONS)
def test_actions_are_logged_with_their_actor(it, name):
    act, *entries = ACTIONS[name]
    before = len(it.store.audit.all())
    context = copy_context()
    context.run(ACTOR.set, "token 1234")
    context.run(act, it)
    written = it.store.audit.all()[before:]
    assert [(each.action, each.subject, each.detail) for each in written] == [
        tuple(each.split(", ", 2)) if isinstance(each, str) else each(it) for each in entries
    ]
    assert {each.actor for each in written} == {"token 1234"}


@pytest.mark.parametrize("name", [name for name in ACTIONS if name not in OF_FILES])
def test_actions_that_cannot_be_logged_are_rolled_back(it, dump, name):
    before = dump()

    def fail(text: str) -> None:
        if "INTO audit" in text:
            raise OperationalError(text, {}, Exception())

    with statements(it.store.database.engine, fail), pytest.raises(HalftruthError):
        ACTIONS[name][0](it)
    assert dump() == before
    ACTIONS[name][0](it)
    assert dump() != before


def test_the_default_actor_is_the_command_line(store, published):
    assert {each.actor for each in store.audit.all()} == {"command line"}


@pytest.mark.parametrize(
    "act",
    [
        lambda it: operations.publish_survey(it.store, it.survey),
        lambda it: operations.publish_survey(it.store, it.survey, Terms(invitations=True)),
        lambda it: operations.set_terms(it.store, "health", {"invitations": True}),
        lambda it: operations.close_survey(it.store, "empty", confirm="empty"),
        lambda it: operations.set_listing(it.store, "health", True),
        lambda it: operations.purge(it.store, 0, confirm="*"),
    ],
)
def test_actions_that_change_nothing_are_not_logged(it, dump, act):
    operations.purge(it.store, 0, confirm="*")
    before = dump()
    act(it)
    assert dump() == before


SCHEMA = Schema([Attribute("a", ["no", "yes"])])
UNCONFIRMED = Survey("new", "New", SCHEMA, GammaDiagonal("19"), unconfirmed=["one"])


def opening(it, *keys):
    """Return the store of a collector that has the private keys of some public keys."""
    it.store.sealing_keys = lambda: keys
    return it.store


def with_relay(id, terms):
    return lambda it: operations.publish_survey(it.store, relayed(it.survey, id), terms)


def in_days(days):
    return TODAY + timedelta(days=days)


#: Errors and their messages, with the actions that raise them.
REFUSED = {
    (UnknownSurvey, "there is no survey 'no"): [
        do("create_token", "analyst", "no"),
        lambda it: operations.export_reports(it.store, "no", it.folder / "x"),
    ],
    (SurveyExists, "id: survey 'health' has reports already and cannot be replaced"): [
        lambda it: operations.publish_survey(it.store, another(it.survey))
    ],
    (ParameterError, "one; expected that somebody checks it and deletes the line 'unconfirmed'"): [
        do("publish_survey", UNCONFIRMED)
    ],
    (ParameterError, "closed_for: expected an integer from 0 to 36500"): [
        do("purge", -1),
        do("purge", 36_501),
    ],
    (ParameterError, "count: expected 1 to 1000000 invitations"): [
        do("create_invitations", "health", count) for count in (0, 1_000_001)
    ],
    (ParameterError, "survey: expected none, but for an analyst"): [
        do("create_token", "operator", "health")
    ],
    (ParameterError, "name: expected a line of up to 100 characters"): [
        do("create_token", "analyst", name=name)
        for name in ("", "x" * 101, "two\nlines", "\x1b[31mred")
    ],
    (ParameterError, "expires: expected a day from "): [
        do("create_token", "analyst", expires=in_days(days)) for days in (-1, 3654)
    ],
    (ParameterError, "key: expected a public key of 64 hexadecimal digits"): [
        do("revoke_key", key) for key in ("x", "g" * 64, "A" * 64, "0" * 63)
    ],
    (ParameterError, "sealing_key: its private key is not here"): [
        lambda it: operations.set_terms(
            opening(it, it.sealing_key), "health", {"sealing_key": "0" * 64}
        ),
        lambda it: operations.publish_survey(opening(it), it.new, {"sealing_key": it.sealing_key}),
    ],
    (ParameterError, "relay.sealing_key: its private key is not here"): [
        lambda it: operations.publish_survey(opening(it), relayed(it.survey))
    ],
    (ParameterError, "shared_devices: the survey is of a series"): [
        lambda it: operations.publish_survey(it.store, waved(it.survey), {"shared_devices": True}),
        lambda it: operations.publish_survey(it.store, waved(it.survey, "shared")),
        do("set_terms", "wave", {"shared_devices": True}),
    ],
    **{
        (ParameterError, f"{name}: the survey has a relay"): [
            with_relay("new", {name: value}),
            with_relay("empty", {name: value}),
            do("set_terms", "relayed", {name: value}),
        ]
        for name, value in (("invitations", True), ("max_reports", 9), ("sealing_key", "0" * 64))
    },
    (ParameterError, "signature: the terms are signed by "): [
        do("set_terms", "signed", {"max_reports": 9}),
        lambda it: operations.publish_survey(
            it.store, another(it.survey, "signed"), {"max_reports": 9}
        ),
    ],
}


@pytest.mark.parametrize(("error", "said"), REFUSED)
def test_refused_actions_raise_a_one_line_error_and_change_nothing(it, dump, error, said):
    before = dump()
    for act in REFUSED[error, said]:
        with pytest.raises(error, match=re.escape(said)) as refused:
            act(it)
        assert "\n" not in str(refused.value)
        assert dump() == before


def test_keys_that_a_survey_may_need_are_not_retired(it):
    terms = Terms(sealing_key=it.sealing_key)
    new = create_sealing_key(it.sealing_file)
    operations.publish_survey(opening(it, it.sealing_key), it.new, terms)
    for change in (lambda: None, lambda: operations.close_survey(it.store, "new", confirm="new")):
        change()
        with pytest.raises(ParameterError, match="key: the reports of 'new' are sealed to it"):
            retire(it)
    # It can be reopened only if the key is available.
    with pytest.raises(ParameterError, match="sealing_key: its private key is not here"):
        operations.reopen_survey(opening(it, new), "new")
    operations.reopen_survey(opening(it, new, it.sealing_key), "new")
    # A closed survey with reports cannot be reopened, and needs its key no more.
    operations.delete_survey(it.store, "new", confirm="new")
    operations.set_terms(it.store, "health", {"sealing_key": it.sealing_key})
    with pytest.raises(ParameterError, match="the reports of 'health' are sealed to it"):
        retire(it)
    operations.close_survey(it.store, "health", confirm="health")
    retire(it)
    assert SealingKeys.read(it.sealing_file).public == (new,)


def test_the_key_of_a_survey_with_a_relay_is_not_retired_before_its_purge(it):
    create_sealing_key(it.sealing_file)
    operations.publish_survey(it.store, relayed(it.survey, "new", it.sealing_key))
    for change in (lambda: None, lambda: operations.close_survey(it.store, "new", confirm="new")):
        change()
        with pytest.raises(ParameterError, match="key: the reports of 'new' are sealed to it"):
            retire(it)
    operations.purge(it.store, 0, confirm="*")
    retire(it)


EVERY = Terms(
    invitations=True,
    sealing_key="ab" * 32,
    closes_at=MOMENT,
    max_reports=500,
    shared_devices=True,
)


@pytest.mark.parametrize(
    ("name", "value", "written"),
    [
        ("invitations", False, "yes → no"),
        ("sealing_key", "cd" * 32, f"{'ab' * 32} → {'cd' * 32}"),
        ("sealing_key", None, f"{'ab' * 32} → none"),
        (
            "closes_at",
            datetime(2032, 1, 1, 8, 30, tzinfo=UTC),
            "2031-03-31T22:00:00Z → 2032-01-01T08:30:00Z",
        ),
        ("closes_at", None, "2031-03-31T22:00:00Z → none"),
        ("max_reports", 700, "500 → 700"),
        ("max_reports", None, "500 → none"),
        ("shared_devices", False, "yes → no"),
    ],
)
@pytest.mark.parametrize("publish", [False, True])
def test_changing_a_term_keeps_the_others(store, published, name, value, written, publish):
    operations.set_terms(store, "health", EVERY)
    change = {name: value}
    said = (
        operations.publish_survey(store, published, change)
        if publish
        else operations.set_terms(store, "health", change)
    )
    assert said == [f"{name}: {written}"]
    assert store.surveys.get("health").terms == replace(EVERY, **change)


def test_replacing_a_survey_keeps_its_terms_and_removes_the_signature(store, published):
    key, other = OperatorKey.create(), another(published)
    operations.set_terms(store, "health", EVERY, sign(key, published.digest, EVERY))
    operations.publish_survey(store, other)
    stored = store.surveys.get("health")
    assert (stored.digest, stored.terms, stored.signature) == (other.digest, EVERY, None)
    said = f"{other.digest}; signature: {key.public} → none"
    assert store.audit.all()[-1].detail == said
    signature = sign(key, published.digest, EVERY)
    operations.publish_survey(store, published, EVERY, signature)
    assert store.surveys.get("health").signature == signature


def test_a_signature_is_kept_with_unchanged_terms_and_can_be_removed(store, published):
    signature = sign(OperatorKey.create(), published.digest, EVERY)
    operations.set_terms(store, "health", EVERY, signature)
    operations.publish_survey(store, published, EVERY)
    assert store.surveys.get("health").signature == signature
    operations.set_terms(store, "health", {"max_reports": 9}, None)
    stored = store.surveys.get("health")
    assert (stored.signature, stored.terms) == (None, replace(EVERY, max_reports=9))


def spoilt(text):
    return ["", text[:-1], text + "0", text.upper(), "g" + text[1:], " " + text[1:], text + "\n"]


def test_invalid_signatures_are_refused(store, published, dump):
    key, terms = OperatorKey.create(), Terms(max_reports=9)
    good = sign(key, published.digest, terms)
    before = dump()
    wrong = [
        sign(key, published.digest, Terms()),
        sign(key, published.digest, Terms(max_reports=9, sealing_key="ab" * 32)),
        sign(key, "0" * 64, terms),
        replace(good, key=OperatorKey.create().public),
        replace(good, value=f"{int(good.value, 16) ^ 1:0128x}"),
        replace(good, value="0" * 128),
        *(replace(good, value=value) for value in spoilt(good.value) if value != good.value),
        *(replace(good, key=each) for each in spoilt(good.key)),
    ]
    for signature in wrong:
        with pytest.raises(HalftruthError, match="signature") as refused:
            operations.set_terms(store, "health", terms, signature)
        assert isinstance(refused.value, SignatureRefused | ParameterError)
        with pytest.raises(HalftruthError, match="signature"):
            operations.publish_survey(store, published, terms, signature)
        assert dump() == before
    operations.set_terms(store, "health", terms, good)
    assert store.surveys.get("health").signature == Signature(key=good.key, value=good.value)


def test_signatures_of_revoked_keys_are_removed_and_refused(store, published):
    key, other = OperatorKey.create(), OperatorKey.create()
    second = another(published, "second")
    operations.publish_survey(store, second, Terms(), sign(other, second.digest, Terms()))
    signature = sign(key, published.digest, EVERY)
    operations.set_terms(store, "health", EVERY, signature)
    assert operations.revoke_key(store, key.public, confirm=key.public) == ["health"]
    health = store.surveys.get("health")
    assert (health.signature, health.terms) == (None, EVERY)
    assert store.surveys.get("second").signature is not None
    for act in (
        lambda: operations.set_terms(store, "health", EVERY, signature),
        lambda: operations.publish_survey(store, published, EVERY, signature),
    ):
        with pytest.raises(SignatureRefused, match="its key was revoked"):
            act()
    operations.set_terms(store, "health", EVERY, sign(other, published.digest, EVERY))
    found = {each.key: (each.surveys, each.revoked_at is None) for each in store.keys.all()}
    assert found == {key.public: ([], False), other.public: (["health", "second"], True)}
    assert operations.revoke_key(store, key.public, confirm=key.public) == []


@pytest.mark.parametrize("role", ["analyst", "operator", "monitor"])
def test_a_token_has_its_role_and_only_its_hash_is_stored(store, dump, role):
    token = operations.create_token(store, role)
    assert re.fullmatch(r"ht_[A-Za-z0-9_-]{43}", token)
    found = store.tokens.bearer(token)
    assert (found.role, found.survey, found.revoked_at) == (role, None, None)
    [row] = dump()["tokens"]
    assert bytes(row[1]) == hashlib.sha256(token.encode()).digest()
    assert token not in repr(dump())
    assert found.id in repr(dump())


def test_a_revoked_token_is_refused_and_still_listed(store):
    token, other = (operations.create_token(store, "operator") for _ in range(2))
    id = store.tokens.bearer(token).id
    operations.revoke_token(store, id)
    with pytest.raises(Unauthorized, match="not known here, or has been revoked"):
        store.tokens.bearer(token)
    assert store.tokens.bearer(other).role == "operator"
    revoked = {each.id: each.revoked_at for each in store.tokens.all()}
    assert [each for each in revoked if revoked[each] is not None] == [id]
    # Revoking it again changes nothing.
    operations.revoke_token(store, id)
    assert {each.id: each.revoked_at for each in store.tokens.all()} == revoked


def test_a_token_is_valid_until_the_end_of_its_last_day(store, raw):
    for days in (0, 3653):
        last = TODAY + timedelta(days=days)
        token = operations.create_token(store, "operator", expires=last)
        found = store.tokens.bearer(token)
        end = datetime(last.year, last.month, last.day, tzinfo=UTC) + timedelta(days=1)
        assert found.expires_at == end
        assert found.state(end - timedelta(seconds=1)) == "good"
        assert found.state(end) == "expired"
    with raw.begin() as connection:
        connection.exec_driver_sql("UPDATE tokens SET expires_at = '2025-01-01 00:00:00.000000'")
    with pytest.raises(Unauthorized, match="it expired on 2025-01-01"):
        store.tokens.bearer(token)
    operations.revoke_token(store, found.id)
    with pytest.raises(Unauthorized, match="not known here, or has been revoked"):
        store.tokens.bearer(token)


def test_secrets_are_not_stored(store, published, dump):
    token = operations.create_token(store, "operator")
    kept, gone = (operations.create_invitations(store, "health", count) for count in (200, 3))
    operations.revoke_invitations(store, "health", [bytes.fromhex(each) for each in gone])
    rows = dump()
    hashes = {hashlib.sha256(bytes.fromhex(each)).digest() for each in kept}
    assert {bytes(hash_) for _, hash_, _ in rows["invitations"]} == hashes
    assert len(hashes) == len(kept)
    for secret in (token, token.removeprefix("ht_"), *kept, *gone):
        assert secret not in repr(rows)


def test_invitations_are_withdrawn_at_most_once(it):
    counts = it.store.invitations.count
    assert operations.revoke_invitations(it.store, "health", [bytes(16)]) == 0
    one, other = (bytes.fromhex(each) for each in it.unused)
    assert operations.revoke_invitations(it.store, "health", iter([one])) == 1
    assert operations.revoke_invitations(it.store, "health", [one]) == 0
    assert not it.store.invitations.is_unused("health", hashlib.sha256(one).digest())
    assert it.store.invitations.is_unused("health", hashlib.sha256(other).digest())
    assert operations.revoke_invitations(it.store, "health", confirm="health") == 1
    found = counts("health")
    assert (found.issued, found.used, found.withdrawn, found.unused) == (3, 1, 2, 0)


def test_the_listing_of_a_survey_survives_changes(store, survey):
    operations.publish_survey(store, survey, unlisted=True)
    operations.publish_survey(store, survey)
    operations.publish_survey(store, another(survey))
    assert store.surveys.listed() == []
    operations.set_listing(store, "health", True)
    operations.publish_survey(store, another(survey))
    assert [each.id for each in store.surveys.listed()] == ["health"]
    operations.set_listing(store, "health", False)
    assert store.surveys.listed() == []


def test_the_audit_log_is_read_in_pages_from_the_latest_entry(store):
    for _ in range(5):
        operations.create_token(store, "monitor")
    everything = store.audit.all()[::-1]
    first = store.audit.latest(2)
    assert first == everything[:2]
    assert store.audit.latest(2, before=first[-1].number) == everything[2:4]
    assert store.audit.latest(9, before=everything[3].number) == everything[4:]
    assert store.audit.latest(9, before=1) == []
