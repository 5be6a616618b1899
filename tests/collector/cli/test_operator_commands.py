"""Commands of operators: their options, operations and output.

The operations themselves are tested in `test_operations.py`.
"""

import csv
import json
import re
import stat
from datetime import UTC, datetime
from io import StringIO

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from halftruth_collector.collector_store import Store
from halftruth_shared import Survey
from halftruth_shared.protocol.sealing import SealingKeys
from halftruth_shared.protocol.signing import OperatorKey
from halftruth_shared.protocol.terms import Signature, Terms

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
INVITATION, PUBLIC = re.compile(r"[0-9a-f]{32}"), re.compile(r"[0-9a-f]{64}\n")
SEALING_KEYS = SealingKeys((X25519PrivateKey.from_private_bytes(bytes(range(32))),))
[KEY] = SEALING_KEYS.public


@pytest.fixture
def halftruth(halftruth, monkeypatch, tmp_path):
    """Return a function that runs a command in a folder with a survey file and sealing keys."""
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
    """Return a function that reads the terms and the signature of the survey."""

    def read():
        found = store.surveys.get("health")
        return found.terms, found.signature

    return read


@pytest.fixture
def operator_key(done):
    return done("admin", "key", "create", "operator.pem").strip()


#: Successive commands, and the output of each.
COMMANDS = f"""
survey publish health.toml --unlisted --invitations | published health, digest {DIGEST}
survey relist health                       | listed health
survey unlist health                       | unlisted health
survey close health                        | closed health
survey reopen health                       | reopened health
survey terms health                        | health: nothing changed
survey terms health --sealed-to {KEY}      | health: sealing_key: none → {KEY}
survey terms health --no-sealed-to         | health: with invitations, not sealed, not signed
survey invite create health 2 --output new | 2 invitations in new
survey invite list health                  | health         2       0            0         2
survey invite revoke health --all --confirm health | withdrawn 2
survey list                                | health  open            0  no        Health at work
admin token create --role monitor --name M --expires {{today}} --output token | a token in token
admin token list                           | M       monitor
admin token revoke {{token}}               | revoked
admin key list                             | public key
admin key revoke {KEY} --confirm {KEY}     | revoked {KEY}
admin sealing-key create sealing.pem       |
admin sealing-key retire sealing.pem {KEY} --confirm {KEY} --database {{database}} | retired {KEY}
admin backup all.backup                    | rows in all.backup
admin migrate --database sqlite:///new.db  | migrated the tables from version none to
admin restore all.backup --database sqlite:///new.db | rows from all.backup
admin compact                              | compacted; arrival order erased
reports export health health.reports       | 0 reports in health.reports
reports import health.reports              | counted 0 reports; 0 had been counted before
survey close health                        | closed health
admin purge --closed-for 0                 | health: 0 ids and 0 unused invitations deleted
admin purge                                | no survey that ended 30 days ago still has ids
survey delete health --confirm health      | deleted health: 0 reports, 0 ids, 0 unused invitations
admin audit-log                            | command line  survey delete
"""
WRITTEN = (
    "survey publish, survey list, survey unlist, survey close, survey reopen, survey terms,"
    " survey terms, invite create, invite revoke, token create, token revoke, key revoke,"
    " sealing-key retire, backup, compact, import, survey close, survey purge, survey delete"
)


def test_each_command_runs_and_logs_its_operation(halftruth, done, store, database, tmp_path):
    places = {"database": database, "today": f"{datetime.now(UTC):%Y-%m-%d}"}
    for line in COMMANDS.strip().splitlines():
        words, _, said = line.partition(" |")
        places["token"] = next((each.id for each in store.tokens.all()), "")
        before = len(store.audit.all())
        status, printed, complaint = halftruth(*words.format(**places).split())
        assert status == 0, words
        assert re.sub(" +", " ", said.strip()) in re.sub(" +", " ", printed), words
        # What a command has written is in the database that it names.
        if len(store.audit.all()) > before:
            assert complaint == f"halftruth: database {database}\n", words
        elif "new.db" in words:
            new = "new " if "migrate" in words else ""
            assert complaint == f"halftruth: {new}database sqlite:///{tmp_path}/new.db\n"
    assert ", ".join(entry.action for entry in store.audit.all()) == WRITTEN
    entries = done("admin", "audit-log", "--json").splitlines()
    assert [json.loads(each)["action"] for each in entries] == WRITTEN.split(", ")


def test_a_check_prints_the_protection_and_whether_the_form_accepts_it(done, tmp_path, monkeypatch):
    # The check opens no database.
    monkeypatch.setenv("HALFTRUTH_DATABASE", "sqlite:////nowhere/at/all.db")
    first, *promised, form = done("survey", "check", "health.toml").splitlines()
    assert first == f"health: Health at work, 1 questions, digest {DIGEST}"
    assert any("γ = 19" in line for line in promised)
    assert form == "The hosted form asks it."
    monkeypatch.setenv("HALFTRUTH_MAX_TOTAL_GAMMA", "18")
    *_, form = done("survey", "check", "health.toml").splitlines()
    assert form == (
        "The hosted form refuses it: its amplification 19 exceeds 18 (HALFTRUTH_MAX_TOTAL_GAMMA)."
    )
    *_, form = done("survey", "check", "health.toml", "--max-total-gamma", "19").splitlines()
    assert form == "The hosted form asks it."
    monkeypatch.delenv("HALFTRUTH_MAX_TOTAL_GAMMA")
    (tmp_path / "health.toml").write_text(TOML.replace("19", "57"), encoding="utf-8")
    *_, form = done("survey", "check", "health.toml").splitlines()
    assert form == (
        "The hosted form refuses it: its amplification 57 exceeds 19 (HALFTRUTH_MAX_GAMMA)."
    )
    found = json.loads(done("survey", "check", "health.toml", "--max-gamma", "57", "--json"))
    assert (found["refused_by_form"], found["questions"]) == (None, 1)
    # Weekly smokers never report `no`.
    mechanism = """kind = "distortion-matrices"
[mechanism.matrices]
smoker = [["1/2", "0", "1/4"], ["1/4", "3/4", "1/4"], ["1/4", "1/4", "1/2"]]"""
    text = TOML.replace('kind = "gamma-diagonal"\ngamma = "19"', mechanism)
    text = text.replace('"yes"', '"weekly", "daily"')
    (tmp_path / "health.toml").write_text(text, encoding="utf-8")
    found = json.loads(done("survey", "check", "health.toml", "--json"))["refused_by_form"]
    assert found == "a report can rule out an answer to 'smoker' (γ is infinite)"


@pytest.mark.parametrize(
    ("options", "terms"),
    [
        ((), Terms()),
        (("--sealed-to", KEY, "--invitations"), Terms(invitations=True, sealing_key=KEY)),
        (("--max-reports", "500", "--shared-devices"), Terms(max_reports=500, shared_devices=True)),
    ],
)
def test_options_set_and_remove_terms(done, stored, options, terms):
    done("survey", "publish", "health.toml", *options)
    assert stored() == (terms, None)
    drop = ("invitations", "sealed-to", "closes-at", "max-reports", "shared-devices")
    done("survey", "terms", "health", *(f"--no-{name}" for name in drop))
    assert stored() == (Terms(), None)
    done("survey", "terms", "health", *options)
    assert stored() == (terms, None)


def test_the_output_of_sign_publishes_a_signed_survey(
    done, stored, operator_key, tmp_path, monkeypatch
):
    options = ("--key", "operator.pem", "--invitations", "--sealed-to", KEY)
    with monkeypatch.context() as patched:
        patched.setenv("HALFTRUTH_DATABASE", "sqlite:////nowhere/at/all.db")
        said = done("survey", "sign", "health.toml", *options)
    (tmp_path / "terms.json").write_text(said, encoding="utf-8")
    made = json.loads(said)
    assert made["terms"] == {
        "invitations": True,
        "sealing_key": KEY,
        "opens_at": None,
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
    signed = (Terms(invitations=True, sealing_key=KEY), Signature(**made["signature"]))
    assert stored() == signed
    assert "with invitations, sealed, signed" in done("survey", "list")
    assert done("survey", "terms", "health", "--no-signature", "--no-sealed-to").splitlines() == [
        f"health: sealing_key: {KEY} → none",
        f"health: signature: {operator_key} → none",
        "health: with invitations, not sealed, not signed",
    ]
    done("survey", "terms", "health", "terms.json")
    assert stored() == signed
    assert done("admin", "key", "list").splitlines()[-1].split() == [operator_key, "health", "no"]
    said = done("admin", "key", "revoke", operator_key, "--confirm", operator_key)
    assert said == f"revoked {operator_key}\nhealth is not signed any more\n"
    assert done("admin", "key", "list").splitlines()[-1].split()[-1] != "no"


def test_invitations_to_a_survey_that_does_not_need_them_cause_a_warning(
    halftruth, published, database
):
    status, said, complaint = halftruth("survey", "invite", "create", "health", "1")
    assert status == 0
    assert INVITATION.fullmatch(said.strip())
    [warning, named] = complaint.splitlines()
    assert "takes reports without invitations, too" in warning
    assert named == f"halftruth: database {database}"


def test_single_invitations_can_be_withdrawn(done):
    done("survey", "publish", "health.toml", "--invitations")
    made = done("survey", "invite", "create", "health", "5").splitlines()
    assert len(set(made)) == 5
    assert all(INVITATION.fullmatch(invitation) for invitation in made)
    assert done("survey", "invite", "revoke", "health", made[0], made[1]) == "withdrawn 2\n"
    listed = done("survey", "invite", "list", "health")
    assert listed.splitlines()[-1].split() == ["health", "5", "0", "2", "3"]
    assert not any(invitation in listed for invitation in made)


def test_links_and_cards_are_created(done, store):
    done("survey", "publish", "health.toml", "--invitations")
    words = ("--links", "https://example.org/", "--cards", "cards.html")
    rows = list(csv.DictReader(StringIO(done("survey", "invite", "create", "health", "2", *words))))
    with open("cards.html", encoding="utf-8") as file:
        page = file.read()
    for row in rows:
        assert row["link"] == f"https://example.org/s/health#invitation={row['invitation']}"
        assert row["link"] in page
    assert store.invitations.count("health").issued == len(rows) == 2


@pytest.mark.parametrize("setting", ["HALFTRUTH_MAX_GAMMA", "HALFTRUTH_PROXIES"])
def test_an_invalid_limit_of_the_form_prevents_publication(
    halftruth, store, database, monkeypatch, setting
):
    monkeypatch.setenv(setting, "x")
    status, _, complaint = halftruth("survey", "publish", "health.toml")
    # The command reads only the limit of the form, since it prints whether the form accepts it.
    if setting == "HALFTRUTH_MAX_GAMMA":
        assert status == 2
        assert complaint.startswith("halftruth: HALFTRUTH_MAX_GAMMA: expected")
        assert store.surveys.all() == []
    else:
        assert (status, complaint) == (0, f"halftruth: database {database}\n")
        assert [each.id for each in store.surveys.all()] == ["health"]


UNKNOWN = "0" * 64
REFUSED = f"""
survey publish health.toml --sealed-to x              | sealed-to: expected 64
survey publish health.toml --sealed-to {UNKNOWN} | sealing_key: its private key is not
survey terms health --sealed-to {UNKNOWN} | sealing_key: its private key is not
survey publish health.toml --terms no.json            | no.json: cannot be read
survey publish health.toml --terms x --invitations    | either a file or
survey check no.toml                                  | no.toml: cannot be read
survey check health.toml --max-gamma x                | max_gamma:
survey check health.toml --max-answer-gamma x         | max_answer_gamma:
survey check health.toml --max-total-gamma x          | max_total_gamma:
survey sign health.toml                               | --key
survey sign health.toml --key no.pem                  | no.pem:
survey sign health.toml --key operator.pem --sealed-to x | sealed
survey terms health --closes-at soon                  | closes_at: expected a moment with
survey terms health --max-reports 0                   | an integer of at least 1
survey terms health --max-reports 5 --no-max-reports  | max_reports: expected either a value or none
survey terms health no.json                           | no.json: cannot be read
survey invite create health 0                         | count: expected 1 to 1000000
survey invite create health 2 --cards x               | cards: expected --links with it
survey invite create health 2 --links example.org     | links: expected the address of a collector
survey invite create health 2 --links https://a.example --cards /no/x | cards: expected a file
survey invite create health 1001 --links https://a.example --cards x  | at most 1000 cards
survey invite revoke health                           | expected some of them, or --all
survey invite revoke health 00 --all                  | expected some of them, or --all
survey invite revoke health x                         | expected 32 hexadecimal digits
admin token create --role analyst --expires 2020-01-01 | expires: expected a day
admin key revoke x                                    | key: expected a public key of 64
"""


@pytest.mark.parametrize("row", REFUSED.strip().splitlines())
def test_refused_commands_print_one_line_and_change_nothing(
    refused, published, operator_key, dump, row
):
    words, _, said = row.partition(" | ")
    before = dump()
    assert said.strip() in refused(*words.split())
    assert dump() == before


@pytest.mark.parametrize(
    "content",
    [
        *(b"", b"{", b"[]", b"\xff", b'{"terms": []}', b'{"terms": {}, "more": 1}', b"[" * 100_000),
        *(b'{"terms": {"sealing_key": "x"}}', b'{"terms": {"invitatons": true}}'),
        b'{"terms": {"x": ' + b"[" * 100_000 + b"]" * 100_000 + b"}}",
    ],
    ids=range(10),
)
def test_an_invalid_file_of_terms_is_refused_with_one_line(
    refused, stored, published, tmp_path, content
):
    (tmp_path / "terms.json").write_bytes(content)
    for words in (
        ("survey", "terms", "health", "terms.json"),
        ("survey", "publish", "health.toml", "--terms", "terms.json"),
    ):
        expected = "halftruth: terms.json: expected what 'halftruth survey sign' prints\n"
        assert refused(*words) == expected
    assert stored() == (Terms(), None)


def test_creating_an_operator_key_writes_its_file_and_prints_the_public_key(command, tmp_path):
    path = tmp_path / "operator.pem"
    status, said, complaint = command("admin", "key", "create", path)
    assert (status, complaint) == (0, "")
    assert PUBLIC.fullmatch(said)
    assert OperatorKey.read(path).public == said.strip()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert command("admin", "key", "show", path) == (0, said, "")
    # It is not overwritten, and not read if other accounts may read it.
    before = path.read_bytes()
    complaint = f"halftruth: {path}: exists; expected the name of a new file\n"
    assert command("admin", "key", "create", path) == (2, "", complaint)
    assert path.read_bytes() == before
    path.chmod(0o644)
    status, said, complaint = command("admin", "key", "show", path)
    assert (status, said, complaint.count("\n")) == (2, "", 1)
    assert "expected mode 0600" in complaint


def test_sealing_keys_are_created_listed_and_retired(command, tmp_path):
    path = tmp_path / "sealing.pem"
    made = [command("admin", "sealing-key", "create", path) for _ in range(3)]
    assert all(status == 0 and PUBLIC.fullmatch(said) and not no for status, said, no in made)
    first, second, third = (said.strip() for _, said, _ in made)
    assert SealingKeys.read(path).public == (third, second, first)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    _, said, _ = command("admin", "sealing-key", "list", path)
    assert re.findall(r"[0-9a-f]{64}", said) == [third, second, first]
    status, _, complaint = command("admin", "sealing-key", "retire", path, second)
    assert (status, complaint.count("\n")) == (2, 1)
    assert "--database" in complaint
    database = f"sqlite:///{tmp_path}/collector.db"
    retire = ("admin", "sealing-key", "retire", path, "--database", database)
    # A missing database could not show that a survey still uses the key.
    retire += ("--confirm", second)
    complaint = command(*retire, second)[2]
    assert complaint.startswith(f"halftruth: database: there is no file {tmp_path}/collector.db; ")
    Store(database).close()
    named = f"halftruth: database {database}\n"
    assert command(*retire, second) == (0, f"retired {second}\n", named)
    assert SealingKeys.read(path).public == (third, first)
    status, said, complaint = command(*retire, second)
    assert (status, said) == (2, "")
    assert "expected one of the public keys of this file" in complaint


def test_no_command_prints_a_private_key(command, tmp_path):
    operator, sealing = tmp_path / "operator.pem", tmp_path / "sealing.pem"
    printed = [
        command("admin", "key", "create", operator),
        command("admin", "key", "show", operator),
        command("admin", "key", "create", operator),
        command("admin", "sealing-key", "create", sealing),
        command("admin", "sealing-key", "list", sealing),
        command("admin", "sealing-key", "retire", sealing, "0"),
        # Files of the other kind of key.
        command("admin", "key", "show", sealing),
        command("admin", "sealing-key", "list", operator),
    ]
    said = "".join(f"{out}{err}" for _, out, err in printed)
    for path in (operator, sealing):
        body = path.read_text().splitlines()[1]
        assert body not in said
    assert "PRIVATE" not in said
