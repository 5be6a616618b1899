"""Operators' pages and calls: forms of other sites, unlisted surveys, keys, links and logs."""

import csv
import json
import logging
import re
from datetime import UTC, datetime
from io import StringIO

import pytest
from click.testing import CliRunner
from halftruth_collector import operations
from halftruth_collector.cli import main
from halftruth_collector.web.invitations import as_document, cards, links
from halftruth_shared.protocol.sealing import create_sealing_key, retire_sealing_key
from halftruth_shared.protocol.terms import Terms

FORM = {"survey": "", "confirm": "health", "count": "2", "role": "monitor", "closed_for": "0"}


@pytest.fixture
def app(store, sealing_app):
    return sealing_app


@pytest.fixture
def posted(app):
    """Addresses of every form of operators."""
    return [
        re.sub(r"<any\('(\w+)'[^>]*>", r"\1", rule.rule)
        .replace("<survey_id>", "health")
        .replace("<token_id>", "12345678")
        for rule in app.url_map.iter_rules()
        if rule.rule.startswith(("/operate", "/sign")) and "POST" in rule.methods
    ]


@pytest.fixture
def signed_in(http, store):
    token = operations.create_token(store, "operator")
    assert http.post("/sign-in", data={"token": token}).status_code == 303
    return http


@pytest.mark.parametrize(
    "headers",
    [
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site", "Origin": "http://localhost"},
        {"Sec-Fetch-Site": "none"},
        {"Origin": "https://elsewhere.example"},
        {"Origin": "http://localhost:8000"},
        {"Origin": "http://[::1"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site", "Origin": "http://localhost"},
    ],
    ids=str,
)
def test_no_form_of_another_site_does_anything(signed_in, store, posted, headers):
    before = [store.surveys.states(), store.tokens.all(), store.audit.all()]
    assert len(posted) == 8
    for path in posted:
        response = signed_in.post(path, data=FORM, headers=headers)
        assert response.status_code == 403, path
        assert "expected a form of this collector" in response.text
    assert [store.surveys.states(), store.tokens.all(), store.audit.all()] == before


@pytest.mark.parametrize(
    "headers", [{"Sec-Fetch-Site": "same-origin"}, {"Origin": "http://localhost"}, {}], ids=str
)
def test_a_form_of_the_collector_itself_works(signed_in, store, headers):
    assert signed_in.post("/operate/surveys/health/close", headers=headers).status_code == 303
    assert store.surveys.get("health").status == "closed"


@pytest.mark.parametrize(
    ("role", "homes"), [("operator", ["/operate/", "/results/"]), ("analyst", ["/results/"])]
)
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_the_cookie_is_for_the_pages_of_its_role_and_out_of_reach_for_scripts_and_other_sites(
    http, store, role, homes, scheme
):
    data = {"token": operations.create_token(store, role), "next": homes[0]}
    response = http.post("/sign-in", data=data, base_url=f"{scheme}://localhost")
    cookies = response.headers.getlist("Set-Cookie")
    assert sorted(re.search("Path=([^;]+)", each)[1] for each in cookies) == homes
    for each in cookies:
        assert "HttpOnly" in each
        assert "SameSite=Strict" in each
        assert ("Secure" in each) == (scheme == "https")


def test_an_unlisted_survey_is_in_no_list_and_can_be_answered(http, operator, batch, store):
    listing = {"listed": False}
    response = http.put("/v1/surveys/health/listing", json=listing, headers=operator)
    assert response.get_json()["listed"] is False
    assert http.get("/v1/surveys").get_json()["surveys"] == []
    assert "Health at work" not in http.get("/").text
    assert http.get("/v1/surveys/health").status_code == 200
    assert http.get("/s/health").status_code == 200
    assert http.post("/v1/surveys/health/reports", json=batch([0, 0])).status_code == 202
    states = http.get("/v1/states", headers=operator).get_json()["surveys"]
    assert [(each["id"], each["reports"]) for each in states] == [("health", 1)]


def test_a_report_to_a_deleted_survey_is_told_that_there_is_none(http, operator, batch, store):
    assert http.post("/v1/surveys/health/reports", json=batch([0, 0])).status_code == 202
    assert http.delete("/v1/surveys/health", headers=operator).get_json()["reports"] == 1
    # Also where a worker has seen it a moment ago.
    assert http.post("/v1/surveys/health/reports", json=batch([0, 0])).status_code == 404
    assert http.get("/s/health").status_code == 404
    assert store.surveys.states() == []


def test_a_key_that_is_put_into_the_file_is_known_without_a_restart(
    http, operator, key_file, sealing_key, caplog
):
    new = create_sealing_key(key_file)
    found = http.get("/v1/sealing-keys", headers=operator).get_json()["keys"]
    assert found == [new, sealing_key]
    terms = {"terms": {"sealing_key": new}}
    assert http.patch("/v1/surveys/health/terms", json=terms, headers=operator).status_code == 200
    retired = http.post(f"/v1/sealing-keys/{new}/retire", headers=operator)
    assert retired.status_code == 422
    assert "are sealed to it" in retired.get_json()["detail"]
    # Nor once it is closed, when it could be reopened; and without the key it could not.
    http.post("/v1/surveys/health/close", headers=operator)
    assert http.post(f"/v1/sealing-keys/{new}/retire", headers=operator).status_code == 422
    retire_sealing_key(key_file, new)
    reopened = http.post("/v1/surveys/health/reopen", headers=operator)
    assert (reopened.status_code, reopened.get_json()["field"]) == (422, "sealing_key")
    found = [sealing_key]
    # A file that nobody can read any more takes no key away.
    key_file.write_bytes(b"nonsense")
    assert http.get("/v1/sealing-keys", headers=operator).get_json()["keys"] == found
    assert "cannot be read any more" in caplog.text


def test_invitations_are_in_no_log_and_no_address(signed_in, caplog):
    caplog.set_level(logging.DEBUG)
    response = signed_in.post(
        "/operate/surveys/health/invitations", data={"count": "3", "as": "csv"}
    )
    assert response.headers["Content-Disposition"] == (
        'attachment; filename="health-invitations.csv"'
    )
    assert response.headers["Cache-Control"] == "no-store"
    rows = list(csv.DictReader(StringIO(response.text)))
    assert len({row["invitation"] for row in rows}) == 3
    for row in rows:
        assert row["link"] == f"http://localhost/s/health#invitation={row['invitation']}"
        assert row["invitation"] not in caplog.text
        assert row["invitation"] not in str(response.headers)


def test_a_card_has_the_link_as_a_code_and_in_words():
    """That a code reads as its link is the library's own business, and tested there."""
    [one, other] = cards("https://example.org/s/health", ["0" * 32, "f" * 32])
    assert one[0] == "https://example.org/s/health#invitation=" + "0" * 32
    assert one[1] != other[1]
    assert one[1].startswith("<svg")
    assert "style=" not in one[1]
    page = as_document("<b>Health", "https://example.org/s/health", ["0" * 32])
    assert "<b>" not in page
    assert page.count("<svg") == 1
    assert "src=" not in page
    assert links("x", []) == []


def test_links_and_cards_are_made_by_command(halftruth, store, survey, tmp_path):
    operations.publish_survey(store, survey)
    file = tmp_path / "cards.html"
    words = (
        "survey",
        "invite",
        "create",
        "health",
        "2",
        "--links",
        "https://example.org/",
        "--cards",
        file,
    )
    status, said, _ = halftruth(*words)
    assert status == 0
    rows = list(csv.DictReader(StringIO(said)))
    page = file.read_text(encoding="utf-8")
    for row in rows:
        assert row["link"] == f"https://example.org/s/health#invitation={row['invitation']}"
        assert row["link"] in page
    assert store.invitations.count("health").issued == len(rows) == 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("2", "--cards", "x.html"), "cards: expected --links with it"),
        (("2", "--links", "example.org"), "links: expected the address of a collector"),
        (("2", "--links", "https://a.example", "--cards", "/nowhere/x"), "cards: expected a file"),
        (("1001", "--links", "https://a.example", "--cards", "x"), "at most 1000 cards"),
    ],
)
def test_nothing_is_issued_where_it_cannot_be_shown(halftruth, store, survey, words, said):
    operations.publish_survey(store, survey)
    status, printed, complaint = halftruth("survey", "invite", "create", "health", *words)
    assert (status, printed) == (2, "")
    assert said in complaint
    assert complaint.count("\n") == 1
    assert store.invitations.count("health").issued == 0


def test_who_signs_out_is_signed_out_everywhere(http, store):
    http.post("/sign-in", data={"token": operations.create_token(store, "operator")})
    assert [http.get(path).status_code for path in ("/operate/", "/results/")] == [200, 200]
    assert http.post("/sign-out").status_code == 303
    assert [http.get(path).status_code for path in ("/operate/", "/results/")] == [401, 401]


PAST = datetime(2020, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("terms", "close", "why"),
    [
        (Terms(), False, None),
        (Terms(closes_at=PAST), False, "deadline"),
        (Terms(max_reports=1), False, "quota"),
        (Terms(closes_at=PAST), True, "operator"),
    ],
)
def test_every_view_says_alike_whether_a_survey_takes_reports(
    signed_in, operator, store, batch, database, terms, close, why
):
    signed_in.post("/v1/surveys/health/reports", json=batch([0, 0]))
    operations.set_terms(store, "health", terms)
    if close:
        operations.close_survey(store, "health")
    word = "open" if why is None else "closed"
    for path in ("/v1/surveys", "/v1/states"):
        [found] = signed_in.get(path, headers=operator).get_json()["surveys"]
        assert (path, found["status"]) == (path, word)
    for path in ("/v1/surveys/health", "/v1/surveys/health/state"):
        found = signed_in.get(path, headers=operator).get_json()
        assert (path, found["status"], found["closed_because"]) == (path, word, why)
    operating = signed_in.get("/operate/").text
    assert f"<td>{word}</td>" in operating
    this = signed_in.get("/operate/surveys/health").text
    assert f"<dt>Status</dt><dd>{word}" in this
    assert ("by its deadline." in this, "by its quota." in this) == (
        why == "deadline",
        why == "quota",
    )
    # What is over but not closed can still be closed.
    assert ("Close the survey" in this) == (not close)
    assert word in signed_in.get("/").text.lower()
    assert f"{word.capitalize()} ·" in signed_in.get("/results/").text
    assert f"<dt>Status</dt><dd>{word}</dd>" in signed_in.get("/results/health").text
    listed = CliRunner().invoke(main, ["survey", "list", "--json", "--database", database]).output
    assert json.loads(listed)["status"] == word
    answer = signed_in.post("/v1/surveys/health/reports", json=batch([1, 1]))
    assert answer.status_code == (202 if why is None else 409)
