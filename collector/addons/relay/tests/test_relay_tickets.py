"""Tickets of a relay: neither it nor a sender nor the collector chooses the view of a report."""

import base64
import logging
from collections import Counter
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from urllib.parse import urlsplit

import pytest
import requests
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from halftruth_client import Client, CollectorUnavailable, RequestRefused, SurveyRefused
from halftruth_collector import operations as collecting
from halftruth_collector.analyses import ANALYSES, AnalysisContext, answer
from halftruth_relay import operations as relaying
from halftruth_shared import ParameterError
from halftruth_shared.protocol.sealing import SealingKeys, create_sealing_key, open_relayed
from halftruth_shared.protocol.tickets import (
    ID,
    Ticket,
    commit,
    draw_view,
    issue,
    new_secret,
    signed_bytes,
)
from postgres_files import files_of, log_position
from relays import Device, contents, inner_reports, ticket_keys
from ticketed import TICKETS, asked, by_tickets, view_of
from ticketed import take as taken
from wire import listening

NOT_ISSUED = "ticket: it was not issued here, or to somebody else"
OTHER_VIEW = "ticket: it asks about other questions than the report is about"
SPENT = "ticket: it was used before; expected one of your own"

both = pytest.mark.parametrize("database", ["sqlite", "postgresql"], indirect=True)


@pytest.fixture
def survey(survey):
    return by_tickets(survey)


def ask(parties, *secrets, **changed):
    """Ask the relay for tickets for these secrets."""
    return parties.http.post(TICKETS, json=asked(parties.survey, *secrets) | changed)


def take(parties, count):
    """Take tickets of the relay for new secrets."""
    return taken(parties.http, parties.survey, count)


def device(survey, ticket, **changed):
    """Return a device with a report of the view of its ticket."""
    values = survey.perturbation.report([1, 2], view=view_of(survey, ticket))
    return Device(**{"values": values, "ticket": ticket} | changed)


def fill(parties, count):
    devices = [device(parties.survey, ticket) for ticket in take(parties, count)]
    assert parties.send(*devices).status_code == 202
    return devices


@contextmanager
def served(parties):
    """Serve the relay at the address that the survey names."""
    port = urlsplit(parties.survey.relay.url).port
    with listening(parties.relay, port):
        yield


@both
def test_reports_with_tickets_of_the_relay_count_once(make, dump):
    parties = make(batch=10)
    devices = fill(parties, 12)
    assert parties.send(*devices[:3]).get_json() == {"accepted": 0, "duplicates": 3}
    assert (parties.held(), parties.counted()) == (12, 0)
    parties.close()
    assert (parties.held(), parties.counted()) == (0, 12)
    spent = {bytes(id_) for _, id_ in dump()["ticket_ids"]}
    assert spent == {each.ticket.id for each in devices}
    # The collector has issued none, and keeps no key.
    assert dump()["ticket_keys"] == []
    kept = parties.relay_store.get("health")
    assert (kept.passed, kept.unopened) == (12, 0)


@both
def test_reports_that_are_passed_on_again_are_duplicates(make):
    """Their tickets are spent, by themselves."""
    parties = make(batch=2)
    devices = fill(parties, 3)
    inner = inner_reports(parties.relay_store)
    parties.close()
    bearer = {"Authorization": f"Bearer {parties.token}"}
    body = {
        "digest": parties.survey.digest,
        "relayed": [base64.b64encode(each).decode() for each in inner],
    }
    response = parties.collector.test_client().post(parties.path, json=body, headers=bearer)
    assert response.get_json() == {"accepted": 0, "duplicates": len(devices)}
    assert parties.counted() == 3


@both
def test_reports_without_a_ticket_of_their_own_are_omitted_with_the_reason(make, caplog):
    parties = make(batch=2)
    survey = parties.survey
    tickets = take(parties, 8)
    good, spent, forged, foreign, stolen, turned, collected, bare = tickets
    own = Ed25519PrivateKey.generate()
    message = b"halftruth relay ticket 1\n" + bytes.fromhex(survey.digest)
    other = next(v for v in range(3) if v != view_of(survey, turned))
    elsewhere = issue(
        ticket_keys(parties.folder / "relay.pem").signer(survey.relay.tickets_key),
        "5e" * 32,
        commit("5e" * 32, foreign.secret),
    )
    bad = [
        # By another key, of another survey, for another secret, of another view, of a collector.
        replace(forged, code=own.sign(message + forged.id + commit(survey.digest, forged.secret))),
        Ticket.of_issued(elsewhere, foreign.secret),
        replace(stolen, secret=new_secret()),
        replace(collected, code=bytes(32) + collected.code[:32]),
        replace(bare, id=bytes(16), secret=bytes(32), code=bytes(64)),
    ]
    devices = [
        device(survey, good),
        device(survey, spent),
        device(survey, spent),
        *(device(survey, each) for each in bad),
        device(survey, turned, values=survey.perturbation.report([1, 2], view=other)),
    ]
    assert parties.send(*devices).get_json() == {"accepted": 9, "duplicates": 0}
    parties.close()
    assert parties.counted() == 2
    [day] = parties.store.reports.daily_outcomes("health")
    assert (day.counted, day.repeated, day.refused) == (2, 0, {"ticket-refused": 7})
    for reason, reports in ((NOT_ISSUED, 5), (OTHER_VIEW, 1), (SPENT, 1)):
        assert f"health: omitted {reports} reports of its relay: {reason}" in caplog.text
    kept = parties.relay_store.get("health")
    assert (kept.passed, kept.unopened) == (9, 7)
    # Reports that counted nowhere hid nobody.
    assert kept.is_doubtful


def test_a_ticket_that_was_spent_in_an_earlier_batch_is_refused(make, caplog):
    parties = make(batch=2, release="batches")
    [again, *_] = fill(parties, 2)
    parties.passing().look()
    assert parties.counted() == 2
    parties.send(
        device(parties.survey, again.ticket),
        *[device(parties.survey, t) for t in take(parties, 11)],
    )
    parties.passing().look()
    assert parties.counted() == 13
    assert f"health: omitted 1 reports of its relay: {SPENT}" in caplog.text


def test_a_report_with_bytes_of_another_length_is_not_taken(make):
    """Neither without the bytes of a ticket, nor with those of a ticket of the collector."""
    parties = make()
    [ticket] = take(parties, 1)
    for given in (None, replace(ticket, code=bytes(32))):
        response = parties.send(replace(device(parties.survey, ticket), ticket=given))
        assert response.status_code == 422
        assert response.get_json()["field"] == "sealed"


def test_a_relay_cannot_choose_views(make):
    """It fixes the id before anybody but the client knows the secret, whatever rule it follows.

    Here it tries the ids that favour a view for the secrets that it guesses, and signs them.
    """
    parties = make()
    survey = parties.survey
    guess = new_secret()
    aimed = next(
        id_
        for id_ in (n.to_bytes(ID) for n in range(10_000))
        if draw_view(survey.perturbation, survey.digest, id_, guess) == 2
    )
    views = Counter(
        draw_view(survey.perturbation, survey.digest, aimed, n.to_bytes(32)) for n in range(6_000)
    )
    for number, view in enumerate(survey.perturbation.views):
        expected = 6_000 * view.weight / 6
        assert abs(views[number] - expected) < 4 * expected**0.5
    # One that sees a commitment and signs for a secret of its own has no ticket for that secret.
    sign = ticket_keys(parties.folder / "relay.pem").signer(survey.relay.tickets_key)
    theirs = new_secret()
    signed = Ticket.of_issued(issue(sign, survey.digest, commit(survey.digest, theirs)), guess)
    parties.send(device(survey, signed), *(device(survey, each) for each in take(parties, 10)))
    parties.close()
    assert parties.counted() == 10


def test_a_relay_that_issues_an_id_twice_loses_a_report_and_learns_nothing(make, caplog):
    """As if it had dropped the second one: the collector counts fewer than the relay passed on."""
    parties = make(batch=2)
    survey = parties.survey
    sign = ticket_keys(parties.folder / "relay.pem").signer(survey.relay.tickets_key)
    id_ = bytes(range(ID))
    twice = [
        Ticket(id_, each, sign(signed_bytes(survey.digest, id_, commit(survey.digest, each))))
        for each in (new_secret(), new_secret())
    ]
    parties.send(*(device(survey, each) for each in (*twice, *take(parties, 10))))
    parties.close()
    assert parties.counted() == 11
    assert f"health: omitted 1 reports of its relay: {SPENT}" in caplog.text
    kept = parties.relay_store.get("health")
    assert (kept.passed, kept.unopened) == (12, 1)


def test_the_collector_issues_no_tickets_of_a_survey_with_a_relay(make):
    parties = make()
    http = parties.collector.test_client()
    body = {"digest": parties.survey.digest, "commitments": ["5e" * 32]}
    response = http.post("/v1/surveys/health/tickets", json=body)
    assert (response.status_code, response.get_json()["field"]) == (422, "tickets")
    expected = f"tickets: the relay of this survey issues them; ask {parties.survey.relay.url}"
    assert response.get_json()["detail"] == expected


def test_requests_for_tickets_that_a_relay_refuses(make):
    parties = make()
    secret = new_secret()
    for changed, status, field in (
        ({"digest": "00" * 32}, 409, "digest"),
        ({"commitments": []}, 413, "commitments"),
        ({"commitments": ["5e" * 32] * 1001}, 413, "commitments"),
        ({"commitments": ["5E" * 32]}, 422, "commitments"),
        ({"invitations": ["5e" * 32]}, 422, "invitations"),
        ({"view": 0}, 422, "body"),
    ):
        response = ask(parties, secret, **changed)
        assert (response.status_code, response.get_json()["field"]) == (status, field)
        assert response.headers["Access-Control-Allow-Origin"] == "*"
    response = parties.http.post("/v1/surveys/other/tickets", json={})
    assert response.status_code in (404, 422)
    relaying.close(parties.relay_store, "health", confirm="health")
    assert ask(parties, secret).status_code == 409


def test_tickets_of_a_relay_are_limited_by_address_like_reports(make):
    parties = make({"rate_limit": "3 per hour"})
    tickets = take(parties, 3)
    refused = ask(parties, new_secret())
    assert refused.status_code == 429
    assert int(refused.headers["Retry-After"]) > 0
    # Reports have a limit of their own, so that all tickets can be used.
    sent = [device(parties.survey, each) for each in tickets]
    assert parties.send(*sent).status_code == 202


def test_a_relay_without_the_private_key_registers_no_survey_and_issues_no_ticket(make, tmp_path):
    parties = make()
    with pytest.raises(ParameterError, match=r"relay.tickets_key: its private key is not here"):
        parties.register(tickets_keys=["0" * 64])
    create_sealing_key(tmp_path / "other.pem")
    other = SealingKeys.read(tmp_path / "other.pem")
    service = parties.relay.extensions["halftruth"]
    service.key_file._keys = other
    response = ask(parties, new_secret())
    assert response.status_code == 503
    assert "lacks the key that it signs tickets with" in response.get_json()["detail"]


def test_keys_that_are_added_to_the_file_leave_the_tickets_valid(make):
    parties = make()
    [before] = take(parties, 1)
    create_sealing_key(parties.folder / "relay.pem")
    after = take(parties, 11)
    parties.send(*(device(parties.survey, each) for each in (before, *after)))
    parties.close()
    assert parties.counted() == 12


@both
def test_a_relay_keeps_the_number_of_tickets_alone(make, dump):
    parties = make()
    take(parties, 5)
    take(parties, 2)
    parties.relay_store.tickets.flush()
    assert parties.relay_store.get("health").issued == 7
    # The collector says how many were spent, and where the other number is.
    parties.send(*(device(parties.survey, each) for each in take(parties, 10)))
    parties.close()
    assert parties.store.tickets.totals("health") == (0, 10)
    source = AnalysisContext(
        parties.survey,
        parties.store.reports.counts("health")[1],
        datetime.now(UTC),
        min_reports=1,
        tickets=lambda: parties.store.tickets.totals("health"),
    )
    found = answer(ANALYSES["counts"], source, ANALYSES["counts"].query())
    [said] = [each.sentence for each in found.caveats if each.code == "relay_tickets"]
    assert said.startswith("10 reports came with a ticket of the relay.")


@both
def test_no_secret_and_no_view_is_stored_or_logged_by_either_party(
    make, database, relay_database, caplog, dump, tmp_path
):
    caplog.set_level(logging.DEBUG)
    parties = make(batch=2)
    since = None if database.startswith("sqlite") else log_position(database)
    devices = fill(parties, 11)
    inner = inner_reports(parties.relay_store)
    unused = take(parties, 1)
    forged = replace(devices[0].ticket, code=bytes(64))
    parties.send(device(parties.survey, forged))

    def relay_files():
        if since is None:
            return contents(tmp_path / "relay")
        return b"".join(files_of(relay_database, since))

    held = relay_files()
    parties.close()
    assert parties.counted() == 11
    parties.relay_store.tickets.flush()
    after = relay_files()
    collected = (
        b"".join(file.read_bytes() for file in tmp_path.glob("test.db*"))
        if since is None
        else b"".join(files_of(database, since))
    )
    tickets = [*unused, *(each.ticket for each in devices)]
    for ticket in tickets:
        commitment = commit(parties.survey.digest, ticket.secret)
        for files in (held, after, collected):
            for never in (ticket.secret, commitment, ticket.code):
                assert never not in files
                assert never.hex().encode() not in files
        for never in (ticket.secret, commitment, ticket.code, ticket.id):
            assert never.hex() not in caplog.text
            assert repr(never)[2:-1] not in caplog.text
    # The searches would find what is kept: ids that were spent, and reports that were held.
    assert all(each.ticket.id in collected for each in devices)
    assert all(each in held for each in inner)
    if since is None:
        # The log of PostgreSQL is that of both parties here, which are on one server.
        assert not any(each.ticket.id in held + after for each in devices)
    # The relay cannot open what it holds, and its ids are not those of the collector.
    keys = SealingKeys.read(parties.folder / "relay.pem")
    size = parties.survey.report_space.packed_size + 112
    for each in inner:
        assert (
            keys.decrypt(
                each, b"halftruth relayed report 1\n" + bytes.fromhex(parties.survey.digest)
            )
            is None
        )
    opened = SealingKeys.read(parties.folder / "collector.pem")
    for each in inner[:2]:
        _, content = open_relayed(opened, parties.survey.digest, each, size)
        assert len(content) == size


@pytest.fixture
def sent(monkeypatch):
    """Address, path and headers of every request of the Python client."""
    found = []
    real = requests.Session.send

    def spy(self, request, **options):
        server, _, path = request.url.partition("/v1/surveys/")
        found.append((server, path.partition("/")[2], "Authorization" in request.headers))
        return real(self, request, **options)

    monkeypatch.setattr(requests.Session, "send", spy)
    return found


def test_the_python_client_takes_its_tickets_of_the_relay(make, record, sent):
    parties = make(batch=2)
    relay, url = parties.survey.relay.url, parties.url
    sent.clear()
    with served(parties):
        token = collecting.create_token(parties.store, "operator")
        client = Client(url, max_gamma="19", token=token)
        survey = client.survey("health")
        # Fetched before anything is answered, and of the relay, which is not sent the token.
        assert sent == [(url, "", True), (relay, "", False), (relay, "tickets", False)]
        assert client.submit(survey, record).status == "accepted"
        assert sent[3:] == [(relay, "reports", False)]
        assert client.submit_many(survey, [record] * 6).accepted == 6
        assert sent[4:] == [(relay, "tickets", False), (relay, "reports", False)]
        parties.close()
    assert parties.counted() == 7


def test_whoever_has_drawn_never_draws_again_whatever_the_relay_answers(make, record, tmp_path):
    parties = make(batch=2)
    outbox = tmp_path / "outbox.db"
    with served(parties):
        client = Client(parties.url, max_gamma="19", outbox=outbox, retries=0)
        survey = client.survey("health")
        client.fetch_tickets(survey, 3)
    # Drawn without a connection: it waits, and stays the same.
    assert client.submit(survey, record, respondent="ada").status == "waiting"
    kept = client._outbox.find("health", "ada")
    relaying.close(parties.relay_store, "health", confirm="health")
    with served(parties):
        again = Client(parties.url, max_gamma="19", outbox=outbox, retries=0)
        with pytest.raises(RequestRefused, match="is closed"):
            again.submit(survey, record, respondent="ada")
        assert again._outbox.find("health", "ada").values == kept.values
        # Whoever has not answered is asked nothing.
        with pytest.raises(SurveyRefused, match="takes no reports of it"):
            again.survey("health")


def test_without_a_ticket_of_the_relay_nothing_is_drawn(make, record):
    parties = make(batch=2)
    client = Client(parties.url, max_gamma="19", retries=0)
    survey = client.survey("health")
    with pytest.raises(CollectorUnavailable, match="relay"):
        client.submit(survey, record)
    assert not client._unsettled._reports


def altered(text):
    """Return another text of the same length."""
    return text[:-1] + ("1" if text[-1] == "0" else "0")


def test_a_client_refuses_tickets_that_the_relay_has_not_signed(make, record, monkeypatch):
    """The collector would omit their reports, and nobody would know."""
    parties = make(batch=2)
    issuer = parties.relay_store.tickets
    real = issuer.issue
    monkeypatch.setattr(issuer, "issue", lambda *given: [*map(altered, real(*given))])
    with served(parties):
        client = Client(parties.url, max_gamma="19", retries=0)
        survey = client.survey("health")
        with pytest.raises(RequestRefused, match="the relay answered without valid tickets"):
            client.submit(survey, record)
    assert parties.held() == 0
