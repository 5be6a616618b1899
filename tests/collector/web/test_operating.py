"""Calls and pages of operators, cross-site forms, links and logs.

The operations themselves are tested in `test_operations.py`.
"""

import csv
import json
import logging
import re
from datetime import UTC, datetime
from html import unescape
from io import StringIO

import msgspec
import pytest
from click.testing import CliRunner
from halftruth_collector import operations
from halftruth_collector.cli import main
from halftruth_collector.web.invitations import as_document, cards, links
from halftruth_shared import Survey
from halftruth_shared.protocol.sealing import create_sealing_key, retire_sealing_key
from halftruth_shared.protocol.signing import OperatorKey, sign
from halftruth_shared.protocol.terms import SignedTerms, Terms

FORM = {"survey": "", "confirm": "health", "count": "2", "role": "monitor", "closed_for": "0"}


@pytest.fixture
def app(store, sealing_app):
    return sealing_app


@pytest.fixture
def posted(app):
    """Addresses of all forms for operators."""
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


TERMS = "/surveys/health/terms"

#: Successive calls, with the entry that each writes to the audit log.
CALLS = [
    ("PATCH", TERMS, {"terms": {"max_reports": 9}}, "survey terms health"),
    ("PATCH", TERMS, {"terms": {"max_reports": None}}, "survey terms health"),
    ("PUT", "/surveys/health/listing", {"listed": False}, "survey unlist health"),
    ("POST", "/surveys/health/close", None, "survey close health"),
    ("POST", "/surveys/health/reopen", None, "survey reopen health"),
    ("POST", "/surveys/health/invitations", {"count": 2}, "invite create health"),
    (
        "POST",
        "/surveys/health/invitations/revoke?confirm=health",
        None,
        "invite revoke health",
    ),
    ("POST", "/tokens", {"role": "analyst", "survey": "health", "name": "A"}, "token create {id}"),
    ("POST", "/tokens/{id}/revoke", None, "token revoke {id}"),
    ("POST", "/sealing-keys", None, "sealing-key create {new}"),
    ("POST", "/sealing-keys/{key}/retire?confirm={key}", None, "sealing-key retire {key}"),
    ("POST", "/keys/{key}/revoke?confirm={key}", None, "key revoke {key}"),
    ("POST", "/surveys?unlisted=true", "second", "survey publish second"),
    ("POST", "/surveys/health/close", None, "survey close health"),
    ("POST", "/purge", {"closed_for": 0}, "survey purge health"),
    ("DELETE", "/surveys/health?confirm=health", None, "survey delete health"),
]


def test_each_call_runs_and_logs_its_operation(http, operator, store, survey, sealing_key):
    second = Survey("second", "Second", survey.schema, survey.mechanism).canonical_json
    actor = f"token {store.tokens.all()[-1].id}"
    for method, path, body, written in CALLS:
        place = {"id": store.tokens.all()[-1].id, "key": sealing_key}
        answer = http.open(
            f"/v1{path.format(**place)}",
            method=method,
            data=second if body == "second" else msgspec.json.encode(body),
            headers=operator,
        )
        assert answer.status_code in (200, 201), answer.text
        place = {"id": store.tokens.all()[-1].id, "key": sealing_key}
        keys = http.get("/v1/sealing-keys", headers=operator).get_json()["keys"]
        entry = store.audit.all()[-1]
        assert f"{entry.action} {entry.subject}" == written.format(**place, new=keys[0])
        assert entry.actor == actor
    log = http.get("/v1/audit-log?most=2", headers=operator).get_json()["entries"]
    assert [each["action"] for each in log] == ["survey delete", "survey purge"]
    assert [each.id for each in store.surveys.all()] == ["second"]
    assert store.surveys.listed() == []


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "field"),
    [
        ("POST", "/surveys/health/reopen", None, 409, "survey"),
        ("POST", "/keys/x/revoke?confirm=x", None, 422, "key"),
        ("POST", "/tokens", {"role": "monitor", "survey": "health"}, 422, "survey"),
        (
            "PATCH",
            TERMS,
            {"terms": {"sealing_key": "0" * 64}},
            422,
            "sealing_key",
        ),
        ("PATCH", TERMS, {"terms": {"sealing_key": "x"}}, 422, "sealing_key"),
        ("PATCH", TERMS, {"terms": {"max_reports": 9}}, 422, "signature"),
        (
            "PATCH",
            TERMS,
            {"terms": {}, "signature": {"key": "0" * 64, "value": "0" * 128}},
            422,
            "signature",
        ),
        ("PATCH", TERMS, {"terms": {"invitations": "true"}}, 422, "body"),
        ("PATCH", TERMS, {"terms": {"invitatons": True}}, 422, "body"),
        ("PATCH", TERMS, {"terms": {}, "signature": {"key": "x"}}, 422, "body"),
        ("PATCH", TERMS, {}, 422, "body"),
    ],
)
def test_a_refused_call_names_the_field_and_changes_nothing(
    http, operator, store, survey, batch, method, path, body, status, field
):
    http.post("/v1/surveys/health/reports", json=batch([0, 0]))
    signature = sign(OperatorKey.create(), survey.digest, Terms())
    operations.set_terms(store, "health", Terms(), signature)
    operations.close_survey(store, "health", confirm="health")
    before = [store.surveys.states(), store.tokens.all(), store.keys.all(), store.audit.all()]
    answer = http.open(f"/v1{path}", method=method, json=body, headers=operator)
    problem = answer.get_json()
    assert (answer.status_code, problem["field"]) == (status, field), answer.text
    assert answer.mimetype == "application/problem+json"
    assert "\n" not in problem["detail"]
    after = [store.surveys.states(), store.tokens.all(), store.keys.all(), store.audit.all()]
    assert after == before


ADDRESS = "/operate/surveys/health"


def form_of(page):
    """Return the data that a browser would send for the unedited form of terms."""
    form = re.search(rf'<form method="post" action="{ADDRESS}/terms".*?</form>', page, re.S)[0]
    filled = {}
    for tag in re.findall("<input[^>]*>", form):
        member = dict(re.findall(r'(\w+)="([^"]*)"', tag))
        if member.get("type") != "checkbox" or "checked" in tag:
            filled[member["name"]] = unescape(member.get("value", ""))
    filled["sealing_key"] = re.search(
        r'<option\s+value="([^"]*)"\s+selected', form + '<option value="" selected'
    )[1]
    return filled


def test_the_form_of_terms_changes_only_edited_fields(signed_in, store, survey, sealing_key):
    every = Terms(
        invitations=True,
        sealing_key=sealing_key,
        closes_at=datetime(2031, 3, 31, 22, tzinfo=UTC),
        max_reports=500,
        shared_devices=True,
    )
    key = OperatorKey.create()
    operations.set_terms(store, "health", every, sign(key, survey.digest, every))
    untouched = form_of(signed_in.get(ADDRESS).text)

    def post(**filled):
        data = {k: v for k, v in {**untouched, **filled}.items() if v is not None}
        return signed_in.post(f"{ADDRESS}/terms", data=data)

    assert post().status_code == 303
    assert store.surveys.get("health").terms == every
    answer = post(max_reports="9")
    assert answer.status_code == 422
    assert f"the terms are signed by {key.public}" in answer.text
    assert post(max_reports="9", unsigned="true").status_code == 303
    assert store.surveys.get("health").signature is None
    # Terms that were changed elsewhere meanwhile are kept.
    operations.set_terms(store, "health", {"sealing_key": None})
    assert post(invitations=None, closes_at="").status_code == 303
    assert store.surveys.get("health").terms == Terms(max_reports=9, shared_devices=True)
    signed = SignedTerms(terms=every, signature=sign(key, survey.digest, every))
    text = msgspec.json.encode(signed).decode()
    assert post(signed=text).status_code == 303
    assert store.surveys.get("health").terms == every
    assert post(signed="x").status_code == 422
    assert store.surveys.get("health").signature == signed.signature


def test_each_button_runs_and_logs_its_operation(signed_in, store):
    actor = f"token {store.tokens.all()[-1].id}"
    for action in ("close", "reopen", "unlist", "list", "withdraw"):
        assert signed_in.post(f"{ADDRESS}/{action}").status_code == 303
    assert signed_in.post("/operate/tokens", data={"role": "monitor"}).status_code == 200
    id = store.tokens.all()[-1].id
    assert signed_in.post(f"/operate/tokens/{id}/revoke").status_code == 303
    assert signed_in.post(f"{ADDRESS}/delete", data={"confirm": "health"}).status_code == 200
    entries = [each for each in store.audit.all() if each.actor == actor]
    assert ", ".join(each.action for each in entries) == (
        "survey close, survey reopen, survey unlist, survey list, invite revoke, token create,"
        " token revoke, survey delete"
    )


@pytest.mark.parametrize(
    "headers",
    [
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site", "Origin": "http://localhost"},
        {"Sec-Fetch-Site": "none"},
        {"Origin": "https://elsewhere.example"},
        {"Origin": "http://localhost:8000"},
        {"Origin": "https://localhost"},
        {"Origin": "http://[::1"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site", "Origin": "http://localhost"},
    ],
    ids=str,
)
def test_forms_of_other_sites_are_refused(signed_in, store, posted, headers):
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
def test_forms_of_the_same_origin_are_accepted_over_https(make_app, store, published, headers):
    """Behind a proxy that terminates TLS, and in front of it."""
    for more, scheme in (({"proxies": 1}, "http"), ({}, "https")):
        http = make_app(**more).test_client()
        given = {"X-Forwarded-Proto": "https", "X-Forwarded-For": "203.0.113.1"} if more else {}
        token = operations.create_token(store, "operator")
        http.set_cookie("halftruth_token", token, path="/operate/")
        own = {"Origin": "https://localhost"} if "Origin" in headers else headers
        answer = http.post(
            "/operate/surveys/health/unlist",
            headers=own | given,
            base_url=f"{scheme}://localhost",
        )
        assert answer.status_code == 303


@pytest.mark.parametrize(
    "headers", [{"Sec-Fetch-Site": "same-origin"}, {"Origin": "http://localhost"}, {}], ids=str
)
def test_forms_of_the_same_origin_are_accepted(signed_in, store, headers):
    assert signed_in.post("/operate/surveys/health/close", headers=headers).status_code == 303
    assert store.surveys.get("health").status == "closed"


@pytest.mark.parametrize(
    ("role", "homes"), [("operator", ["/operate/", "/results/"]), ("analyst", ["/results/"])]
)
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_cookies_are_http_only_same_site_and_limited_to_pages_of_the_role(
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


def test_an_unlisted_survey_is_not_listed_but_accepts_reports(http, operator, batch, store):
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


def test_reports_to_a_deleted_survey_get_404(http, operator, batch, store):
    assert http.post("/v1/surveys/health/reports", json=batch([0, 0])).status_code == 202
    assert (
        http.delete("/v1/surveys/health?confirm=health", headers=operator).get_json()["reports"]
        == 1
    )
    # Also where a worker has just read the survey.
    assert http.post("/v1/surveys/health/reports", json=batch([0, 0])).status_code == 404
    assert http.get("/s/health").status_code == 404
    assert store.surveys.states() == []


def test_changes_of_the_key_file_apply_without_a_restart(
    http, operator, key_file, sealing_key, caplog
):
    new = create_sealing_key(key_file)
    found = http.get("/v1/sealing-keys", headers=operator).get_json()["keys"]
    assert found == [new, sealing_key]
    retire_sealing_key(key_file, new)
    # An unreadable file removes no key.
    assert http.get("/v1/sealing-keys", headers=operator).get_json()["keys"] == [sealing_key]
    key_file.write_bytes(b"nonsense")
    assert http.get("/v1/sealing-keys", headers=operator).get_json()["keys"] == [sealing_key]
    assert "cannot be read any more" in caplog.text


def test_invitations_appear_neither_in_logs_nor_in_headers(signed_in, caplog):
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


def test_a_card_shows_the_link_as_a_code_and_as_text():
    """The library of the codes tests that they can be read."""
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


def test_signing_out_applies_to_all_pages(http, store):
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
        (Terms(), True, "relay"),
    ],
)
def test_all_views_agree_whether_a_survey_is_open(
    signed_in, operator, store, batch, database, terms, close, why
):
    signed_in.post("/v1/surveys/health/reports", json=batch([0, 0]))
    operations.set_terms(store, "health", terms)
    if why == "relay":
        operations.finish_relayed(store, "health")
    elif close:
        operations.close_survey(store, "health", confirm="health")
    word = "open" if why is None else "closed"
    for path in ("/v1/surveys", "/v1/states"):
        [found] = signed_in.get(path, headers=operator).get_json()["surveys"]
        assert (path, found["status"]) == (path, word)
    for path in ("/v1/surveys/health", "/v1/surveys/health/state"):
        found = signed_in.get(path, headers=operator).get_json()
        assert (path, found["status"], found["closed_because"]) == (path, word, why)
    operating = signed_in.get("/operate/").text
    assert f">{word}</td>" in operating
    this = " ".join(signed_in.get("/operate/surveys/health").text.split())
    assert f"<dt>Status</dt><dd>{word}" in this
    assert ("by its deadline." in this, "by its quota." in this) == (
        why == "deadline",
        why == "quota",
    )
    assert ("Its relay has ended it" in this) == (why == "relay")
    # A survey that ended by its terms can still be closed.
    assert ("Close the survey" in this) == (not close)
    assert word in signed_in.get("/").text.lower()
    assert f"{word.capitalize()} ·" in signed_in.get("/results/").text
    assert f"<dt>Status</dt><dd>{word}</dd>" in signed_in.get("/results/health").text
    listed = CliRunner().invoke(main, ["survey", "list", "--json", "--database", database]).output
    assert json.loads(listed)["status"] == word
    answer = signed_in.post("/v1/surveys/health/reports", json=batch([1, 1]))
    assert answer.status_code == (202 if why is None else 409)
