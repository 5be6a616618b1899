"""What operators do on the command line: terms, signatures, invitations, tokens and keys."""

import json
import re

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from databases import on_both
from halftruth_shared import Survey
from halftruth_shared.protocol.sealing import SealingKeys
from halftruth_shared.protocol.terms import Signature, Terms

pytestmark = on_both

TOML = """
id = "health"
title = "Health at work"

[mechanism]
kind = "gamma-diagonal"
gamma = "19"

[[attributes]]
name = "smoker"
categories = ["no", "yes"]
"""
DIGEST = Survey.from_toml(TOML).digest
INVITATION = re.compile(r"[0-9a-f]{32}")
SEALING_KEYS = SealingKeys((X25519PrivateKey.from_private_bytes(bytes(range(32))),))
[KEY] = SEALING_KEYS.public


@pytest.fixture
def halftruth(halftruth, monkeypatch, tmp_path):
    """Run a command where a survey file is."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "health.toml").write_text(TOML, encoding="utf-8")
    (tmp_path / "sealing.pem").write_bytes(SEALING_KEYS.to_pem())
    (tmp_path / "sealing.pem").chmod(0o600)
    monkeypatch.setenv("HALFTRUTH_SEALING_KEYS", "sealing.pem")
    return halftruth


@pytest.fixture
def published(done):
    done("survey", "publish", "health.toml")


@pytest.fixture
def stored(store):
    """Terms and signature of the survey."""

    def read():
        found = store.surveys.get("health")
        return found.terms, found.signature

    return read


@pytest.fixture
def operator_key(done):
    return done("admin", "key", "create", "operator.pem").strip()


@pytest.fixture
def signed(done, operator_key, tmp_path):
    """Sign the survey with some options into a file."""

    def sign(*options, file="terms.json"):
        said = done("survey", "sign", "health.toml", "--key", "operator.pem", *options)
        (tmp_path / file).write_text(said, encoding="utf-8")
        return json.loads(said)

    return sign


@pytest.mark.parametrize(
    ("options", "terms"),
    [
        ((), Terms()),
        (("--invitations",), Terms(invitations=True)),
        (("--sealed-to", KEY), Terms(sealing_key=KEY)),
        (("--sealed-to", KEY, "--invitations"), Terms(invitations=True, sealing_key=KEY)),
    ],
)
def test_options_say_how_reports_are_taken(done, stored, options, terms):
    said = done("survey", "publish", "health.toml", *options)
    assert f"published health, digest {DIGEST}" in said
    assert stored() == (terms, None)
    done("survey", "terms", "health", "--no-invitations", "--no-sealed-to")
    assert stored() == (Terms(), None)
    done("survey", "terms", "health", *options)
    assert stored() == (terms, None)


def test_reports_are_sealed_to_known_keys_alone_and_a_key_in_use_is_not_retired(
    halftruth, done, stored, published, monkeypatch
):
    unknown = SealingKeys.create().public[0]
    for key, file in ((unknown, "sealing.pem"), (KEY, None)):
        if file is None:
            monkeypatch.delenv("HALFTRUTH_SEALING_KEYS")
        for words in (("publish", "health.toml"), ("terms", "health")):
            status, _, complaint = halftruth("survey", *words, "--sealed-to", key)
            assert (status, complaint.count("\n")) == (2, 1)
            assert "sealing_key: its private key is not here" in complaint
        assert stored() == (Terms(), None)
    monkeypatch.setenv("HALFTRUTH_SEALING_KEYS", "sealing.pem")
    done("survey", "terms", "health", "--sealed-to", KEY)
    new = done("admin", "sealing-key", "create", "sealing.pem").strip()
    status, _, complaint = halftruth("admin", "sealing-key", "retire", "sealing.pem", KEY)
    assert status == 2
    assert "the reports of 'health' are sealed to it" in complaint
    # Nor while that survey could be reopened.
    done("survey", "close", "health")
    assert halftruth("admin", "sealing-key", "retire", "sealing.pem", KEY)[2] == complaint
    monkeypatch.delenv("HALFTRUTH_SEALING_KEYS")
    assert "its private key is not here" in halftruth("survey", "reopen", "health")[2]
    monkeypatch.setenv("HALFTRUTH_SEALING_KEYS", "sealing.pem")
    done("survey", "reopen", "health")
    done("survey", "terms", "health", "--sealed-to", new)
    assert done("admin", "sealing-key", "retire", "sealing.pem", KEY) == f"retired {KEY}\n"
    assert "sealing-key retire" in done("admin", "audit-log")


def test_what_sign_prints_publishes_a_signed_survey(done, stored, signed, operator_key):
    made = signed("--invitations", "--sealed-to", KEY)
    assert made["terms"] == {
        "invitations": True,
        "sealing_key": KEY,
        "closes_at": None,
        "max_reports": None,
        "shared_devices": False,
    }
    assert made["signature"]["key"] == operator_key
    message = (
        f'halftruth survey 1\n{{"digest":"{DIGEST}","invitations":true,"sealing_key":"{KEY}"}}'
    )
    public = Ed25519PublicKey.from_public_bytes(bytes.fromhex(operator_key))
    public.verify(bytes.fromhex(made["signature"]["value"]), message.encode())
    done("survey", "publish", "health.toml", "--terms", "terms.json")
    signature = Signature(**made["signature"])
    assert stored() == (Terms(invitations=True, sealing_key=KEY), signature)
    assert "with invitations, sealed, signed" in done("survey", "list")


def test_sign_needs_no_database(halftruth, operator_key, monkeypatch):
    monkeypatch.setenv("HALFTRUTH_DATABASE", "sqlite:////nowhere/at/all.db")
    status, _, _ = halftruth("survey", "sign", "health.toml", "--key", "operator.pem")
    assert status == 0


def test_terms_are_changed_to_what_was_signed(done, stored, signed, published, operator_key):
    made = signed("--invitations")
    assert done("survey", "terms", "health", "terms.json").splitlines() == [
        "health: invitations: no → yes",
        f"health: signature: none → {operator_key}",
        "health: with invitations, not sealed, signed",
    ]
    assert stored() == (Terms(invitations=True), Signature(**made["signature"]))
    # Publishing again without a word of terms changes nothing of them.
    done("survey", "publish", "health.toml")
    assert stored() == (Terms(invitations=True), Signature(**made["signature"]))
    assert done("survey", "terms", "health", "--no-invitations", "--no-signature").splitlines() == [
        "health: invitations: yes → no",
        f"health: signature: {operator_key} → none",
        "health: from anyone, not sealed, not signed",
    ]
    assert stored() == (Terms(), None)


def test_invitations_are_issued_counted_and_withdrawn(done, store):
    done("survey", "publish", "health.toml", "--invitations")
    made = done("survey", "invite", "create", "health", "5").splitlines()
    assert len(set(made)) == 5
    assert all(INVITATION.fullmatch(invitation) for invitation in made)
    listed = done("survey", "invite", "list", "health")
    assert listed.splitlines()[-1].split() == ["health", "5", "0", "0", "5"]
    assert not any(invitation in listed for invitation in made)
    assert done("survey", "invite", "revoke", "health", made[0], made[1]) == "withdrawn 2\n"
    assert done("survey", "invite", "revoke", "health", made[0]) == "withdrawn 0\n"
    assert done("survey", "invite", "revoke", "health", "--all") == "withdrawn 3\n"
    assert store.invitations.count("health").unused == 0
    assert done("survey", "invite", "list", "health").splitlines()[-1].split()[1:] == [
        "5",
        "0",
        "5",
        "0",
    ]
    assert not any(invitation in done("admin", "audit-log") for invitation in made)


def test_invitations_to_a_survey_that_asks_for_none_are_issued_with_a_warning(halftruth, published):
    status, said, complaint = halftruth("survey", "invite", "create", "health", "1")
    assert status == 0
    assert INVITATION.fullmatch(said.strip())
    assert complaint.count("\n") == 1
    assert "takes reports without invitations, too" in complaint


def test_a_key_is_listed_with_its_surveys_and_revoked(done, stored, signed, operator_key):
    signed()
    done("survey", "publish", "health.toml", "--terms", "terms.json")
    assert done("admin", "key", "list").splitlines()[-1].split() == [operator_key, "health", "no"]
    said = done("admin", "key", "revoke", operator_key)
    assert said == f"revoked {operator_key}\nhealth is not signed any more\n"
    assert stored() == (Terms(), None)
    listed = done("admin", "key", "list").splitlines()[-1].split()
    assert listed[0] == operator_key
    assert listed[-1] != "no"
    # Again is no harm.
    assert done("admin", "key", "revoke", operator_key) == f"revoked {operator_key}\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("survey", "publish", "health.toml", "--sealed-to", "x"), "sealed-to: expected 64"),
        (("survey", "publish", "health.toml", "--terms", "no.json"), "no.json: cannot be read"),
        (("survey", "publish", "health.toml", "--terms", "health.toml"), "'halftruth survey sign'"),
        (("survey", "publish", "health.toml", "--terms", "x", "--invitations"), "either a file or"),
        (("survey", "sign", "health.toml"), "--key"),
        (("survey", "sign", "health.toml", "--key", "no.pem"), "no.pem: "),
        (("survey", "sign", "health.toml", "--key", "operator.pem", "--sealed-to", "x"), "sealed"),
        (("survey", "terms", "nothing"), "there is no survey 'nothing'"),
        (("survey", "terms", "health", "--closes-at", "soon"), "closes_at: expected a moment with"),
        (("survey", "terms", "health", "--max-reports", "0"), "an integer of at least 1"),
        (("survey", "terms", "health", "no.json"), "no.json: cannot be read"),
        (("survey", "invite", "create", "nothing", "1"), "there is no survey 'nothing'"),
        (("survey", "invite", "create", "health", "0"), "count: expected 1 to 1000000"),
        (("survey", "invite", "list", "nothing"), "there is no survey 'nothing'"),
        (("survey", "invite", "revoke", "health"), "expected some of them, or --all"),
        (
            ("survey", "invite", "revoke", "health", "0" * 32, "--all"),
            "expected some of them, or --all",
        ),
        (("survey", "invite", "revoke", "health", "x"), "expected 32 hexadecimal digits"),
        (("survey", "invite", "revoke", "nothing", "--all"), "there is no survey 'nothing'"),
        (
            ("admin", "token", "create", "--role", "analyst", "--survey", "nothing"),
            "no survey 'nothing'",
        ),
        (
            ("admin", "token", "create", "--role", "operator", "--survey", "health"),
            "survey: expected none",
        ),
        (("admin", "key", "revoke", "x"), "key: expected a public key of 64 hexadecimal digits"),
    ],
    ids=lambda value: " ".join(value)[:60] if isinstance(value, tuple) else "",
)
def test_bad_input_is_one_line_and_changes_nothing(
    refused, published, operator_key, store, words, said
):
    before = [store.surveys.all(), store.tokens.all(), store.keys.all(), store.audit.all()]
    assert said in refused(*words)
    after = [store.surveys.all(), store.tokens.all(), store.keys.all(), store.audit.all()]
    assert after == before


@pytest.mark.parametrize(
    "content",
    [
        *(b"", b"{", b"[]", b"\xff", b'{"terms": []}', b'{"terms": {}, "more": 1}', b"[" * 100_000),
        *(b'{"terms": {"sealing_key": "x"}}', b'{"terms": {"invitatons": true}}'),
        b'{"terms": {"x": ' + b"[" * 100_000 + b"]" * 100_000 + b"}}",
    ],
    ids=range(10),
)
def test_a_file_of_terms_that_is_none_is_one_line(refused, stored, published, tmp_path, content):
    (tmp_path / "terms.json").write_bytes(content)
    for words in (
        ("survey", "terms", "health", "terms.json"),
        ("survey", "publish", "health.toml", "--terms", "terms.json"),
    ):
        expected = "halftruth: terms.json: expected what 'halftruth survey sign' prints\n"
        assert refused(*words) == expected
    assert stored() == (Terms(), None)
