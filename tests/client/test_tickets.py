"""Reports with tickets, from the Python client: which views, kept tickets, and no second draw."""

import logging
import sqlite3
from dataclasses import replace
from datetime import UTC, datetime

import pytest
import requests
from halftruth_client import (
    Client,
    CollectorUnavailable,
    RequestRefused,
    SurveyRefused,
    ticketing,
)
from halftruth_client import client as client_module
from halftruth_collector import operations
from halftruth_shared import ParameterError, RecordError, SplitQuestionnaire
from halftruth_shared.mechanisms import ViewClass
from halftruth_shared.protocol.sealing import create_sealing_key
from halftruth_shared.protocol.terms import Terms
from halftruth_shared.protocol.tickets import SECRET, Ticket, draw_view
from halftruth_shared.survey import Reporting
from wire import free_port, listening

from .conftest import NOWHERE, counted


@pytest.fixture
def survey(survey):
    """The small survey with a view of each question, by tickets."""
    views = [ViewClass(attributes=[[name]], weight=1) for name in ("smoker", "drinks")]
    return replace(
        survey,
        mechanism=SplitQuestionnaire("19", views),
        reporting=Reporting(tickets="required"),
    )


@pytest.fixture
def tickets(monkeypatch):
    """Every secret that a client draws."""
    drawn = []
    real = ticketing.new_secret
    monkeypatch.setattr(ticketing, "new_secret", lambda: drawn.append(real()) or drawn[-1])
    return drawn


@pytest.fixture
def requested(monkeypatch):
    """The method and path of every request."""
    sent = []
    real = requests.Session.send

    def spy(self, request, **options):
        sent.append(f"{request.method} {request.path_url.rpartition('/')[2]}")
        return real(self, request, **options)

    monkeypatch.setattr(requests.Session, "send", spy)
    return sent


def test_a_ticket_comes_with_the_survey_and_one_with_each_further_report(live, record, requested):
    client = Client(live.url, max_gamma="19")
    survey = client.survey("health")
    # Fetched before anything is answered.
    assert requested == ["GET health", "POST tickets"]
    assert client.submit(survey, record).status == "accepted"
    assert requested[2:] == ["POST reports"]
    assert client.submit(survey, record).status == "accepted"
    assert requested[3:] == ["POST tickets", "POST reports"]
    assert client.submit_many(survey, [record] * 7).accepted == 7
    # All commitments in one request.
    assert requested[5:] == ["POST tickets", "POST reports"]
    assert counted(live.store) == 9


def test_the_view_is_that_of_the_ticket(live, survey, record, tmp_path):
    away = Client(live.url, max_gamma="19", outbox=tmp_path / "outbox.db")
    away.fetch_tickets(survey, 12)
    kept = [Ticket.from_text(text) for (text,) in rows_of(tmp_path, "SELECT ticket FROM tickets")]
    offline = Client(NOWHERE, max_gamma="19", outbox=tmp_path / "outbox.db", retries=0)
    assert offline.submit_many(survey, [record] * 12).waiting == 12
    reports = rows_of(tmp_path, "SELECT ticket, report FROM reports")
    assert {text for text, _ in reports} == {ticket.to_text() for ticket in kept}
    for text, values in reports:
        ticket = Ticket.from_text(text)
        view = draw_view(survey.perturbation, survey.digest, ticket.id, ticket.secret)
        assert survey.perturbation.view_number([int(values[1:-1])]) == view
    # Each is used once.
    assert rows_of(tmp_path, "SELECT * FROM tickets") == []
    with pytest.raises(CollectorUnavailable):
        offline.submit(survey, record)


def rows_of(folder, query):
    connection = sqlite3.connect(folder / "outbox.db")
    try:
        return connection.execute(query).fetchall()
    finally:
        connection.close()


def test_reports_drawn_without_a_connection_arrive_later(live, survey, record, tmp_path):
    outbox, port = tmp_path / "outbox.db", free_port()
    url = f"http://127.0.0.1:{port}"
    with listening(live.app, port):
        Client(url, max_gamma="19", outbox=outbox).survey("health")
    # A later process has the ticket that came with the survey.
    offline = Client(url, max_gamma="19", outbox=outbox, retries=0)
    assert offline.submit(survey, record, respondent="ada").status == "waiting"
    with listening(live.app, port):
        assert Client(url, max_gamma="19", outbox=outbox).flush().accepted == 1
        again = Client(url, max_gamma="19", outbox=outbox)
        assert again.submit(survey, record, respondent="ada").status == "duplicate"
    # The secret is deleted once the report was counted.
    assert rows_of(tmp_path, "SELECT ticket FROM reports") == [(None,)]


def test_whoever_has_drawn_never_draws_again_whatever_the_refusal(
    live, survey, record, tmp_path, monkeypatch
):
    client = Client(live.url, max_gamma="19", outbox=tmp_path / "outbox.db")
    real = Ticket.to_text
    monkeypatch.setattr(Ticket, "to_text", lambda self: real(replace(self, code=bytes(32))))
    for _ in range(3):
        with pytest.raises(RequestRefused, match="ticket: it was not issued here") as caught:
            client.submit(survey, record, respondent="ada")
        assert (caught.value.status, caught.value.field) == (403, "ticket")
    assert len(rows_of(tmp_path, "SELECT * FROM reports")) == 1
    assert len(rows_of(tmp_path, "SELECT * FROM tickets")) == 0
    # Without a memory of the person, the next call sends the same report, too.
    plain = Client(live.url, max_gamma="19")
    drawn = []
    draw = client_module.draw
    monkeypatch.setattr(
        client_module, "draw", lambda *a, **k: drawn.append(draw(*a, **k)) or drawn[-1]
    )
    for _ in range(2):
        with pytest.raises(RequestRefused):
            plain.submit(survey, record)
    assert drawn[0] == drawn[1]
    assert counted(live.store) == 0


def test_without_a_ticket_nothing_is_drawn(live, survey, record, tmp_path):
    client = Client(NOWHERE, max_gamma="19", retries=0)
    for outbox in (None, tmp_path / "outbox.db"):
        client = Client(NOWHERE, max_gamma="19", retries=0, outbox=outbox)
        with pytest.raises(CollectorUnavailable):
            client.submit(survey, record)
        with pytest.raises(CollectorUnavailable):
            client.submit_many(survey, [record] * 3)
    assert rows_of(tmp_path, "SELECT * FROM reports") == []
    # An invalid record asks for no ticket.
    with pytest.raises(RecordError):
        client.submit(survey, {"smoker": "sometimes"})


def test_a_program_with_an_operators_token_takes_no_ticket(live, record, requested):
    token = operations.create_token(live.store, "operator")
    client = Client(live.url, max_gamma="19", token=token)
    survey = client.survey("health")
    assert client.submit_many(survey, [record] * 5).accepted == 5
    client.fetch_tickets(survey, 5)
    assert requested == ["GET health", "POST reports"]


def test_invited_people_take_tickets_by_the_hash_of_their_invitation(
    live, survey, record, tmp_path
):
    operations.set_terms(live.store, "health", Terms(invitations=True))
    codes = operations.create_invitations(live.store, "health", 5)
    client = Client(live.url, max_gamma="19", outbox=tmp_path / "outbox.db")
    asked = client.survey("health")
    assert client.submit(asked, record, invitation=codes[0]).status == "accepted"
    assert client.submit_many(asked, [record] * 2, invitations=codes[1:3]).accepted == 2
    with pytest.raises(ParameterError, match="invitation"):
        client.submit(asked, record)
    client.fetch_tickets(asked, invitations=codes[3:4])
    # A ticket is not bound to the invitation that admitted it.
    assert client.submit(asked, record, invitation=codes[4]).status == "accepted"
    with pytest.raises(RequestRefused, match="invitation"):
        client.submit(asked, record, invitation="00" * 16)
    assert counted(live.store) == 4


def test_sealed_reports_take_their_ticket_along(make_app, store, survey, record, key_file):
    key = create_sealing_key(key_file)
    operations.publish_survey(store, survey, Terms(sealing_key=key))
    token = operations.create_token(store, "operator")
    with listening(make_app(rate_limit=None, min_reports=1, sealing_keys=key_file)) as url:
        client = Client(url, max_gamma="19")
        assert client.submit(client.survey("health"), record).status == "accepted"
        trusted = Client(url, max_gamma="19", token=token)
        assert trusted.submit(trusted.survey("health"), record).status == "accepted"
    assert counted(store) == 2


def test_no_secret_is_logged_or_shown(live, survey, record, tmp_path, caplog, tickets, monkeypatch):
    caplog.set_level(logging.DEBUG)
    client = Client(live.url, max_gamma="19", outbox=tmp_path / "outbox.db")
    client.submit(survey, record, respondent="ada")
    monkeypatch.setattr(Ticket, "to_text", lambda self: "ab" * 80)
    with pytest.raises(RequestRefused) as caught:
        client.submit(survey, record)
    said = f"{caplog.text} {caught.value!r} {vars(caught.value)!r}"
    found = client._outbox.find("health", "ada")
    said += f"{found!r} {client._unsettled._reports!r}"
    assert len(tickets) == 2
    for secret in tickets:
        assert len(secret) == SECRET
        assert secret.hex() not in said
        assert repr(secret)[2:-1] not in said
    # That of the counted report was overwritten in the outbox.
    assert tickets[0].hex().encode() not in (tmp_path / "outbox.db").read_bytes()


def test_an_outbox_of_an_earlier_version_is_completed(live, survey, record, tmp_path):
    connection = sqlite3.connect(tmp_path / "outbox.db")
    connection.executescript(
        "CREATE TABLE reports (id TEXT PRIMARY KEY, survey TEXT NOT NULL, digest TEXT NOT NULL,"
        " report TEXT NOT NULL, relay_id TEXT, respondent BLOB, collector TEXT NOT NULL,"
        " waiting INTEGER NOT NULL DEFAULT 1, invitation TEXT, UNIQUE (survey, respondent)) STRICT"
    )
    connection.close()
    for _ in range(2):
        client = Client(live.url, max_gamma="19", outbox=tmp_path / "outbox.db")
        assert client.submit(survey, record).status == "accepted"


def test_a_test_of_a_survey_has_tickets_of_its_own(live, survey, record, requested):
    operations.set_terms(live.store, "health", {"opens_at": datetime(2131, 3, 31, tzinfo=UTC)})
    id = operations.try_survey(live.store, "health")
    client = Client(live.url, max_gamma="19")
    with pytest.raises(SurveyRefused, match="opens at 2131"):
        client.survey("health")
    # None is asked for a survey that opens later.
    assert requested == ["GET health"]
    tried = client.survey(id)
    assert tried.reporting == survey.reporting
    for _ in range(2):
        assert client.submit(tried, record).status == "accepted"
        assert live.store.surveys.state(id).reports == 1
        assert operations.clear_test_reports(live.store, "health") == 1
    assert requested.count("POST tickets") == 2
    assert counted(live.store) == 0
