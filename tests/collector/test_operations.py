"""Tokens and keys, and that everything an operator does is written down."""

import hashlib
import re
from datetime import UTC, datetime, timedelta
from functools import partial

import pytest
from databases import on_both
from halftruth_collector import operations
from halftruth_collector.errors import SignatureRefused, SurveyExists, Unauthorized, UnknownSurvey
from halftruth_shared import HalftruthError, Survey
from halftruth_shared.protocol.signing import OperatorKey, sign
from halftruth_shared.protocol.terms import Terms
from sqlalchemy.exc import OperationalError

from .store.conftest import report, statements

pytestmark = on_both

INVITED = Terms(invitations=True)


@pytest.fixture
def done(store):
    """What was written down since the last look: actor, action, subject and detail."""
    seen = [len(store.audit.all())]

    def look() -> list[tuple[str, str, str, str]]:
        entries = store.audit.all()[seen[0] :]
        seen[0] += len(entries)
        return [(each.actor, each.action, each.subject, each.detail) for each in entries]

    return look


@pytest.mark.parametrize("role", ["analyst", "operator", "monitor"])
def test_a_token_has_its_role_and_only_its_hash_is_stored(store, dump, role):
    token = operations.create_token(store, role)
    assert re.fullmatch(r"ht_[A-Za-z0-9_-]{43}", token)
    known = store.tokens.bearer(token)
    assert (known.role, known.survey, known.revoked_at) == (role, None, None)
    [row] = dump()["tokens"]
    assert bytes(row[1]) == hashlib.sha256(token.encode()).digest()
    assert token not in repr(dump())
    assert known.id in repr(dump())


def test_a_revoked_token_is_not_known_and_stays_listed(store, done):
    token, other = (
        operations.create_token(store, "operator"),
        operations.create_token(store, "operator"),
    )
    known = store.tokens.bearer(token)
    done()
    operations.revoke_token(store, known.id)
    with pytest.raises(Unauthorized):
        store.tokens.bearer(token)
    assert store.tokens.bearer(other).role == "operator"
    revoked = {each.id: each.revoked_at for each in store.tokens.all()}
    assert revoked[known.id] is not None
    assert [each for each in revoked.values() if each is None] == [None]
    # Again changes nothing.
    operations.revoke_token(store, known.id)
    assert {each.id: each.revoked_at for each in store.tokens.all()} == revoked
    assert {entry[:3] for entry in done()} == {("command line", "token revoke", known.id)}


def test_a_revoked_key_is_served_no_more_and_not_taken_again(store, survey, published):
    key, other = OperatorKey.create(), OperatorKey.create()
    second = Survey("second", "Second", survey.schema, survey.mechanism)
    operations.publish_survey(store, second, Terms(), sign(other, second.digest, Terms()))
    operations.set_terms(store, "health", INVITED, sign(key, survey.digest, INVITED))
    assert operations.revoke_key(store, key.public) == ["health"]
    health = store.surveys.get("health")
    assert (health.signature, health.terms) == (None, INVITED)
    assert store.surveys.get("second").signature is not None
    with pytest.raises(SignatureRefused, match="its key was revoked"):
        operations.set_terms(store, "health", INVITED, sign(key, survey.digest, INVITED))
    with pytest.raises(SignatureRefused, match="its key was revoked"):
        operations.publish_survey(store, survey, INVITED, sign(key, survey.digest, INVITED))
    operations.set_terms(store, "health", INVITED, sign(other, survey.digest, INVITED))
    known = {each.key: (each.surveys, each.revoked_at is None) for each in store.keys.all()}
    assert known == {key.public: ([], False), other.public: (["health", "second"], True)}
    assert operations.revoke_key(store, key.public) == []


def test_everything_an_operator_does_is_written_down(store, survey, done, tmp_path):
    key = OperatorKey.create()
    operations.publish_survey(store, survey, actor="token 1234")
    assert done() == [("token 1234", "survey publish", "health", survey.digest)]
    operations.set_terms(
        store, "health", INVITED, sign(key, survey.digest, INVITED), actor="token 1234"
    )
    signed = f"invitations: no → yes; signature: none → {key.public}"
    assert done() == [("token 1234", "survey terms", "health", signed)]
    sealed = Terms(sealing_key="ab" * 32)
    operations.publish_survey(store, survey, sealed, None)
    said = (
        f"{survey.digest}; invitations: yes → no; sealing_key: none → {'ab' * 32};"
        f" signature: {key.public} → none"
    )
    assert done() == [("command line", "survey publish", "health", said)]
    operations.create_invitations(store, "health", 3)
    operations.revoke_invitations(store, "health")
    assert done() == [
        ("command line", "invite create", "health", "3 invitations"),
        ("command line", "invite revoke", "health", "3 invitations"),
    ]
    operations.set_terms(store, "health", INVITED, sign(key, survey.digest, INVITED))
    done()
    operations.revoke_key(store, key.public)
    assert done() == [("command line", "key revoke", key.public, "health")]
    token = operations.create_token(store, "analyst", "health")
    id = store.tokens.bearer(token).id
    assert done() == [("command line", "token create", id, "analyst of health")]
    operations.create_token(store, "monitor")
    assert [entry[3] for entry in done()] == ["monitor"]
    operations.revoke_token(store, id)
    assert done() == [("command line", "token revoke", id, "")]
    operations.set_terms(store, "health", Terms(), None)
    store.reports.add("health", survey.digest, [report(1, 0, 0)])
    done()
    operations.export_reports(store, "health", tmp_path / "export.db")
    operations.import_reports(store, tmp_path / "export.db")
    assert done() == [("command line", "import", "health", "0 reports counted")]
    operations.close_survey(store, "health", actor="token 1234")
    assert done() == [("token 1234", "survey close", "health", "")]


def test_what_changes_nothing_or_is_refused_is_not_written_down(store, published, done):
    store.reports.add("health", published.digest, [report(1, 0, 0)])
    operations.publish_survey(store, published)
    other = Survey("health", "Another", published.schema, published.mechanism)
    with pytest.raises(SurveyExists):
        operations.publish_survey(store, other)
    operations.close_survey(store, "health")
    done()
    operations.close_survey(store, "health")
    for act in (
        partial(operations.close_survey, store),
        partial(operations.revoke_invitations, store),
    ):
        with pytest.raises(UnknownSurvey):
            act("nothing")
    assert done() == []


@pytest.mark.parametrize(
    "act",
    [
        lambda store: operations.create_token(store, "operator"),
        lambda store: operations.close_survey(store, "health"),
        lambda store: operations.set_terms(store, "health", INVITED),
        lambda store: operations.create_invitations(store, "health", 2),
        lambda store: operations.revoke_invitations(store, "health"),
        lambda store: operations.revoke_key(store, "0" * 64),
    ],
)
def test_what_cannot_be_written_down_is_not_done(store, published, dump, act):
    operations.create_invitations(store, "health", 1)
    before = dump()

    def fail(text: str) -> None:
        if "INTO audit" in text:
            raise OperationalError(text, {}, Exception())

    with statements(store.database.engine, fail), pytest.raises(HalftruthError):
        act(store)
    assert dump() == before
    act(store)
    assert dump() != before


def test_no_secret_is_written_down(store, published, rows):
    token = operations.create_token(store, "operator")
    invitations = operations.create_invitations(store, "health", 3)
    operations.revoke_invitations(store, "health", [bytes.fromhex(each) for each in invitations])
    written = repr(rows("SELECT * FROM audit"))
    assert token not in written
    assert token.removeprefix("ht_") not in written
    assert not any(each in written for each in invitations)


def test_a_token_with_a_last_day_is_good_until_that_is_over(store, done):
    today = datetime.now(UTC).date()
    token = operations.create_token(
        store, "analyst", name="Anna", expires=today, actor="token 1234"
    )
    known = store.tokens.bearer(token)
    assert known.name == "Anna"
    assert known.expires_at == datetime(today.year, today.month, today.day, tzinfo=UTC) + timedelta(
        days=1
    )
    assert done() == [("token 1234", "token create", known.id, f"analyst; Anna; until {today}")]
    assert known.state(known.expires_at - timedelta(seconds=1)) == "good"
    assert known.state(known.expires_at) == "expired"


def test_an_expired_token_is_told_so_and_stays_listed(store, raw):
    token = operations.create_token(store, "operator", expires=datetime.now(UTC).date())
    with raw.begin() as connection:
        connection.exec_driver_sql("UPDATE tokens SET expires_at = '2025-01-01 00:00:00.000000'")
    with pytest.raises(Unauthorized, match="it expired on 2025-01-01"):
        store.tokens.bearer(token)
    [known] = store.tokens.all()
    assert known.state(datetime.now(UTC)) == "expired"
    operations.revoke_token(store, known.id)
    with pytest.raises(Unauthorized, match="not known here, or has been revoked"):
        store.tokens.bearer(token)


@pytest.mark.parametrize(
    ("name", "days", "said"),
    [
        ("", 0, "name: expected a line of up to 100 characters"),
        ("x" * 101, 0, "name: expected a line"),
        ("two\nlines", 0, "name: expected a line"),
        ("\x1b[31mred", 0, "name: expected a line"),
        ("Anna", -1, "expires: expected a day from "),
        ("Anna", 3654, "expires: expected a day from "),
    ],
)
def test_a_name_or_day_that_cannot_be_makes_no_token(store, dump, name, days, said):
    before = dump()
    day = datetime.now(UTC).date() + timedelta(days=days)
    with pytest.raises(HalftruthError, match=said):
        operations.create_token(store, "analyst", name=name, expires=day)
    assert dump() == before


def test_the_latest_entries_come_page_by_page(store):
    for _ in range(5):
        operations.create_token(store, "monitor")
    everything = store.audit.all()[::-1]
    first = store.audit.latest(2)
    assert first == everything[:2]
    assert store.audit.latest(2, before=first[-1].number) == everything[2:4]
    assert store.audit.latest(9, before=everything[3].number) == everything[4:]
    assert store.audit.latest(9, before=1) == []
