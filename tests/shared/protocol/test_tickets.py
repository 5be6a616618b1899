"""Tickets: the vectors, what a ticket binds, and how often each view is drawn."""

import hmac
import json
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path

import pytest
import scipy
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from halftruth_shared import (
    Attribute,
    GammaDiagonal,
    ParameterError,
    Relay,
    ReportError,
    Schema,
    SplitQuestionnaire,
    Survey,
    SurveyError,
)
from halftruth_shared.mechanisms import ViewClass
from halftruth_shared.protocol.sealing import SealingKeys
from halftruth_shared.protocol.signed_tickets import TicketKeys, is_signed
from halftruth_shared.protocol.tickets import (
    Ticket,
    code_by,
    commit,
    draw_view,
    is_issued,
    issue,
    new_secret,
    read_commitments,
    signed_bytes,
    ticket_size,
)
from halftruth_shared.survey import Reporting

FILES = json.loads(
    (Path(__file__).parents[2] / "vectors" / "tickets.json").read_text(encoding="ascii")
)
VECTORS = FILES["vectors"]
KEY, SECRET, DIGEST = bytes(range(32)), bytes(range(32, 64)), "5e" * 32
FILE = """
id = "health"
title = "Health"
[mechanism]
kind = "split-questionnaire"
gamma = "19"
views = [{attributes = [["smoker"]], weight = 3}, {attributes = [["age"]], weight = 1}]
prime = 19
direct = 9
[[attributes]]
name = "smoker"
categories = ["no", "yes"]
[[attributes]]
name = "age"
categories = ["young", "old"]
"""


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["survey"]["id"])
def test_tickets_of_the_vectors_have_their_views(vector):
    survey = Survey.from_json(json.dumps(vector["survey"]))
    assert survey.has_tickets
    assert survey.digest == vector["digest"]
    for known in vector["tickets"]:
        secret, id_, key = (bytes.fromhex(known[name]) for name in ("secret", "id", "key"))
        commitment = commit(survey.digest, secret)
        assert commitment.hex() == known["commitment"]
        code = code_by(key, signed_bytes(survey.digest, id_, commitment))
        assert code.hex() == known["code"]
        assert draw_view(survey.perturbation, survey.digest, id_, secret) == known["view"]
        ticket = Ticket.of_issued(known["id"] + known["code"], secret)
        assert is_issued(key, survey.digest, ticket)
        assert Ticket.from_text(ticket.to_text()) == ticket


def test_vectors_need_a_second_block():
    # 131 073 outcomes take 18 bits of 3 bytes: a block has ten of these.
    [rejected] = [each for each in VECTORS if each["survey"]["id"] == "rejected"]
    assert sum(each["weight"] for each in rejected["survey"]["mechanism"]["views"]) == 2**17 + 1
    assert {ticket["view"] for ticket in rejected["tickets"]} == {0, 1}


@pytest.mark.parametrize("vector", FILES["signed"], ids=lambda vector: vector["survey"]["id"])
def test_tickets_of_a_relay_have_the_signatures_and_views_of_the_vectors(vector):
    survey = Survey.from_json(json.dumps(vector["survey"]))
    assert survey.has_tickets
    assert survey.digest == vector["digest"]
    assert ticket_size(survey) == 16 + 32 + 64
    for known in vector["tickets"]:
        secret, id_ = bytes.fromhex(known["secret"]), bytes.fromhex(known["id"])
        assert commit(survey.digest, secret).hex() == known["commitment"]
        ticket = Ticket.of_issued(known["id"] + known["code"], secret)
        assert is_signed(survey.relay.tickets_key, survey.digest, ticket)
        assert draw_view(survey.perturbation, survey.digest, id_, secret) == known["view"]
    assert {known["view"] for known in vector["tickets"]} == {0, 1}


@pytest.mark.parametrize("vector", FILES["refused"], ids=lambda vector: vector["why"])
def test_a_ticket_that_the_relay_has_not_signed_is_recognized(vector):
    [signed] = FILES["signed"]
    public = signed["survey"]["relay"]["tickets_key"]
    ticket = Ticket.of_issued(vector["id"] + vector["code"], bytes.fromhex(vector["secret"]))
    assert not is_signed(public, signed["digest"], ticket)


def test_the_keys_of_tickets_follow_from_the_file_of_the_relay():
    first, second = SealingKeys.create(), SealingKeys.create()
    keys = TicketKeys(first)
    [public] = keys.public
    assert TicketKeys(first).public == keys.public
    assert keys.public != TicketKeys(second).public
    # RFC 5869 with an empty salt, written out.
    [private] = first._private
    prk = hmac.digest(bytes(32), private.private_bytes_raw(), "sha256")
    seed = hmac.digest(prk, b"halftruth relay tickets_key 1\1", "sha256")
    expected = Ed25519PrivateKey.from_private_bytes(seed).public_key().public_bytes_raw()
    assert public == expected.hex() != first.public[0]
    sign = keys.signer(public)
    ticket = Ticket.of_issued(issue(sign, DIGEST, commit(DIGEST, SECRET)), SECRET)
    assert is_signed(public, DIGEST, ticket)
    assert not is_signed(public, "5f" * 32, ticket)
    assert not is_signed(public, DIGEST, replace(ticket, secret=new_secret()))
    assert keys.signer(TicketKeys(second).public[0]) is None
    assert repr(keys) == f"<TicketKeys {public}>"


def test_a_ticket_is_of_its_survey_its_id_and_its_secret():
    issued = issue(partial(code_by, KEY), DIGEST, commit(DIGEST, SECRET))
    ticket = Ticket.of_issued(issued, SECRET)
    assert is_issued(KEY, DIGEST, ticket)
    assert not is_issued(KEY, "5f" * 32, ticket)
    assert not is_issued(bytes(32), DIGEST, ticket)
    assert not is_issued(KEY, DIGEST, replace(ticket, secret=new_secret()))
    assert not is_issued(KEY, DIGEST, replace(ticket, id=bytes(16)))
    assert not is_issued(KEY, DIGEST, replace(ticket, code=ticket.code[:-1]))
    assert not is_issued(KEY, DIGEST, replace(ticket, code=bytes(32)))


def test_no_text_of_a_ticket_has_its_secret():
    issued = issue(partial(code_by, KEY), DIGEST, commit(DIGEST, SECRET))
    ticket = Ticket.of_issued(issued, SECRET)
    assert SECRET.hex() not in repr(ticket)
    assert repr(SECRET) not in repr(ticket)
    for text in (ticket.to_text()[:-1], ticket.to_text().upper(), ticket.to_text()[:96]):
        with pytest.raises(ReportError) as caught:
            Ticket.from_text(text)
        assert not any(text[i : i + 8] in str(caught.value) for i in range(len(text) - 8))
    with pytest.raises(ReportError, match="commitments: expected 64"):
        read_commitments(["5e" * 32, "5E" * 32])


def test_views_are_drawn_as_often_as_they_weigh():
    # Two questions by weights of 3 to 1, and a total that is no power of two.
    survey = Survey.from_toml(FILE.replace("weight = 1", "weight = 2"))
    drawn = [
        draw_view(survey.perturbation, survey.digest, i.to_bytes(16), SECRET) for i in range(20_000)
    ]
    counts = [drawn.count(0), drawn.count(1)]
    assert scipy.stats.chisquare(counts, [12_000, 8_000]).pvalue > 0.01


def test_a_file_of_a_split_questionnaire_requires_tickets_unless_it_says_otherwise():
    required = Survey.from_toml(FILE)
    assert required.has_tickets
    assert b'"reports":{"tickets":"required"}' in required.canonical_json
    assert Survey.from_json(required.canonical_json) == required
    none = Survey.from_toml(FILE + '[reports]\ntickets = "none"\n')
    assert not none.has_tickets
    # A survey that was published before there were tickets has the digest of then.
    assert b"reports" not in none.canonical_json
    assert Survey.from_json(none.canonical_json) == none
    assert Survey.from_toml(FILE + '[reports]\ntickets = "required"\n') == required


RELAY = """[relay]
url = "https://relay.example.edu"
key = "{}"
sealing_key = "{}"
batch = 1000
""".format("1" * 64, "2" * 64)


def test_a_file_with_a_relay_requires_tickets_if_it_names_their_key():
    """Such a file had no tickets before, and keeps its digest."""
    key = f'tickets_key = "{"3" * 64}"\n'
    bare = Survey.from_toml(FILE + RELAY)
    assert not bare.has_tickets
    assert bare.digest == "dd22d64558496d10d3ea2cffa87ef89ef5dc61042297dd135981b26535f014b2"
    assert Survey.from_toml(f'{FILE}{RELAY}[reports]\ntickets = "none"\n') == bare
    required = Survey.from_toml(FILE + RELAY + key)
    assert required.has_tickets
    assert Survey.from_toml(f'{FILE}{RELAY}{key}[reports]\ntickets = "required"\n') == required
    assert Survey.from_json(required.canonical_json) == required
    with pytest.raises(SurveyError, match="reports have no tickets; expected no such key"):
        Survey.from_toml(f'{FILE}{RELAY}{key}[reports]\ntickets = "none"\n')
    later = FILE + 'ask_if = {smoker = ["yes"]}\n' + RELAY + key
    with pytest.raises(SurveyError, match="would tell the relay which were asked") as caught:
        Survey.from_toml(later)
    assert caught.value.field == "reports.tickets"
    # The test of a survey has no relay, and tickets of the collector.
    assert required.for_test().has_tickets
    assert ticket_size(required.for_test()) == 80


def test_only_the_views_of_a_split_questionnaire_have_tickets():
    schema = Schema([Attribute("smoker", ["no", "yes"])])
    reporting = Reporting(tickets="required")
    with pytest.raises(ParameterError, match="gamma-diagonal has no view") as caught:
        Survey("s", "S", schema, GammaDiagonal("19"), reporting=reporting)
    assert caught.value.field == "reports.tickets"
    relay = Relay(url="https://a.example", key="1" * 64, sealing_key="2" * 64, batch=1000)
    split = SplitQuestionnaire(Fraction(19), [ViewClass(attributes=[["smoker"]], weight=1)])
    with pytest.raises(SurveyError, match="the relay issues the tickets") as caught:
        Survey("s", "S", schema, split, relay=relay, reporting=reporting)
    assert caught.value.field == "relay.tickets_key"
    for written in ('tickets = "all"', "ticket = 1", "tickets = true"):
        with pytest.raises((SurveyError, ParameterError), match=r"reports|tickets"):
            Survey.from_toml(f"{FILE}[reports]\n{written}\n")
