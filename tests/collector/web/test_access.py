"""Authorization: the status that each endpoint returns to each kind of bearer."""

import hashlib
import hmac
import re
from datetime import UTC, datetime
from functools import partial
from itertools import product
from unittest.mock import Mock
from uuid import uuid4

import msgspec
import pytest
from calls import SURVEY, TICKETED, calls
from halftruth_collector import operations
from halftruth_collector.analyses import ANALYSES
from halftruth_collector.operations import ACTIONS
from halftruth_collector.store.tables import metadata
from halftruth_collector.web.calls import declared
from halftruth_collector.web.messages import Confirmation
from halftruth_collector.web.pages.design import STARTER
from halftruth_shared import Survey
from halftruth_shared.analyses.reading import write
from halftruth_shared.protocol.reports import Report
from halftruth_shared.protocol.sealing import create_sealing_key
from halftruth_shared.protocol.terms import Terms
from sqlalchemy import select

#: Pages that need a session, and the data of their forms.
PAGES = ("/results", "/operate", "/sign")
FORM = {"do": "publish", "count": "2", "role": "monitor", "closed_for": "0", "confirm": "health"}

#: Address of the page of a survey.
OPERATED = "/operate/surveys/<survey_id>"

#: Calls of the HTTP interface by method and rule.
CALLS = {(call.method, call.rule): call for call in declared()}

#: Kinds of bearers. `malformed` is an empty token; `elsewhere` and `here` are analysts of
#: another survey and of this one.
WHO = (
    *("nobody", "malformed", "unknown", "revoked"),
    *("elsewhere", "here", "analyst", "monitor", "operator"),
)

#: Statuses in the order of WHO. 401: not authenticated; 403: not permitted.
TABLE = """
GET  /                                              200 200 200 200  200 200 200 200 200
GET  /s/<survey_id>                                 200 200 200 200  200 200 200 200 200
GET  /js/<path:name>                                200 200 200 200  200 200 200 200 200
GET  /form/<file>                                   200 200 200 200  200 200 200 200 200
GET  /assets/<path:name>                            200 200 200 200  200 200 200 200 200
GET  /openapi.json                                  200 200 200 200  200 200 200 200 200
GET  /healthz                                       200 200 200 200  200 200 200 200 200
GET  /readyz                                        200 200 200 200  200 200 200 200 200
GET  /metrics                                       401 401 401 401  403 403 403 200 200
GET  /v1/surveys                                    200 200 200 200  200 200 200 200 200
GET  /v1/surveys/<survey_id>                        200 200 200 200  200 200 200 200 200
POST /v1/surveys/<survey_id>/reports                202 202 401 401  403 403 403 403 202
GET  /v1/surveys/<survey_id>/<analysis>             401 401 401 401  403 200 200 403 200
POST /v1/plan                                       401 401 401 401  200 200 200 403 200
POST /v1/surveys/<survey_id>/invitations/check      200 200 200 200  200 200 200 200 200
POST /v1/surveys/<survey_id>/tickets                201 201 201 201  201 201 201 201 201
POST /v1/check                                      401 401 401 401  200 200 200 403 200
GET  /sign-in                                       200 200 200 200  200 200 200 200 200
POST /sign-in                                       401 401 401 401  303 303 303 403 303
POST /sign-out                                      303 303 303 303  303 303 303 303 303
GET  /results/                                      401 401 401 401  200 200 200 403 200
GET  /results/<survey_id>                           401 401 401 401  403 200 200 403 200
GET  /operate/                                      401 401 401 401  403 403 403 403 200
GET  /operate/surveys/<survey_id>                   401 401 401 401  403 403 403 403 200
POST /operate/surveys/<survey_id>/terms             401 401 401 401  403 403 403 403 303
POST /operate/surveys/<survey_id>/invitations       401 401 401 401  403 403 403 403 200
GET  /operate/design                                401 401 401 401  403 403 403 403 200
POST /operate/design                                401 401 401 401  403 403 403 403 303
GET  /operate/tokens                                401 401 401 401  403 403 403 403 200
POST /operate/tokens                                401 401 401 401  403 403 403 403 200
POST /operate/tokens/<token_id>/revoke              401 401 401 401  403 403 403 403 303
GET  /results/<survey_id>/export                    401 401 401 401  403 200 200 403 200
GET  /results/<survey_id>/findings                  401 401 401 401  403 200 200 403 200
GET  /results/<survey_id>/report                    401 401 401 401  403 200 200 403 200
GET  /results/<survey_id>/<name>                    401 401 401 401  403 200 200 403 200
"""


def parse(table):
    """Yield the method, the rule and the status by bearer of each row."""
    for line in table.strip().splitlines():
        method, rule, *statuses = line.split()
        for name in ANALYSES if "<analysis>" in rule else [""]:
            named = rule.replace("<analysis>", name)
            yield method, named, dict(zip(WHO, map(int, statuses), strict=True))


def of_actions():
    """Yield such rows for the calls and forms of actions, which are for operators alone."""
    for action in ACTIONS:
        made = [(action.call.method, action.call.rule, action.call.status)] if action.call else []
        # The page of a deleted survey says so.
        made += [
            ("POST", f"{OPERATED}/{form.path}", 200 if form.path == "delete" else 303)
            for form in action.forms
        ]
        for method, rule, status in made:
            yield method, rule, dict(zip(WHO, (*[401] * 4, *[403] * 4, status), strict=True))


ROWS = [*parse(TABLE), *of_actions()]

#: Addresses whose methods are public.
TOLD = {rule for _, rule, statuses in ROWS if statuses["nobody"] < 400}

#: Header of files that may be kept, and for how long: until the next use, which asks whether they
#: have changed; and the form on other pages for ten minutes.
STATIC = "ETag"
KEPT = ("no-cache", "public, max-age=600, stale-while-revalidate=86400")

#: Texts that no refusal may contain.
RESOURCE = ("Health at work", "weekly", "drinks", "gamma", "halftruth_worker_starts")


@pytest.fixture
def survey():
    return SURVEY


@pytest.fixture
def app(store, sealing_app):
    return sealing_app


@pytest.fixture
def filled(http, store, survey):
    """A client of a collector with reports and a second survey."""
    second = Survey("second", "Second", survey.schema, survey.mechanism)
    operations.publish_survey(store, second, Terms(opens_at=datetime(2131, 3, 31, tzinfo=UTC)))
    operations.publish_survey(store, TICKETED)
    reports = [Report(id=uuid4(), values=[n % 2, n % 3, n % 2]) for n in range(60)]
    store.reports.add("health", survey.digest, reports)
    return http


@pytest.fixture
def bearers(filled, store):
    """The token of each kind of bearer; None for requests without a token."""
    create = partial(operations.create_token, store)
    made = {"nobody": None, "malformed": "", "unknown": "ht_" + "A" * 43}
    made |= {"revoked": create("operator"), "elsewhere": create("analyst", "second")}
    made |= {"here": create("analyst", "health")}
    made |= {role: create(role) for role in ("analyst", "monitor", "operator")}
    operations.revoke_token(store, store.tokens.bearer(made["revoked"]).id)
    assert tuple(made) == WHO
    return made


@pytest.fixture
def dump(store):
    """Return a function that reads every row of every table."""

    def read():
        with store.database.reading() as connection:
            return {
                name: sorted(map(repr, connection.execute(select(table)).all()))
                for name, table in metadata.tables.items()
            }

    return read


@pytest.fixture
def ask(filled, bearers, sealing_key, key_file):
    """Return a function that sends a request with a token to an endpoint."""
    spare = filled.get("/v1/tokens", headers={"Authorization": f"Bearer {bearers['operator']}"})
    # A second key, so that one can be retired.
    create_sealing_key(key_file)
    places = {"<token_id>": spare.get_json()["tokens"][0]["id"], "<key>": sealing_key}
    places |= {"<survey_id>": "health", "<path:name>": "style.css", "<name>": "table"}
    places["<file>"] = "halftruth.js"

    def send(method, rule, token, as_method=None):
        path = rule.replace("js/<path:name>", "js/index.js")
        if (method, rule.rpartition("/")[2]) == ("POST", "test"):
            # Only a survey that opens later can be tried.
            path = path.replace("<survey_id>", "second")
        own = calls()[CALLS[method, rule].id].places if (method, rule) in CALLS else {}
        for place, value in (places | {f"<{name}>": value for name, value in own.items()}).items():
            path = path.replace(place, value)
        given, bearer = {}, {"Authorization": f"Bearer {token}".strip()}
        if (method, rule) in CALLS:
            example = calls()[CALLS[method, rule].id]
            confirms = as_method is None and isinstance(example.query, Confirmation)
            given["query_string"] = write(example.query) if confirms or method == "GET" else {}
            if confirms and "<key>" in rule:
                given["query_string"] = {"confirm": sealing_key}
            given["data"] = b"".join(map(msgspec.json.encode, [*example.bodies.values()][:1]))
        elif (method, path) == ("POST", "/sign-in"):
            given["data"] = {"token": token or ""}
        elif rule.startswith(PAGES):
            bearer = {"Cookie": f"halftruth_token={token}"}
            given["data"] = FORM | {"survey": STARTER if "design" in rule else ""}
        if token is not None:
            given["headers"] = bearer
        # Do not send the cookies of earlier requests.
        client = filled.application.test_client(use_cookies=False)
        response = client.open(path, method=as_method or method, buffered=True, **given)
        # Methods that are not allowed are refused before the page is known.
        check_headers(response.headers, path.startswith(PAGES) and response.status_code != 405)
        return response

    return send


def check_headers(headers, has_forms):
    """Check the security headers of a response."""
    assert headers["X-Content-Type-Options"] == "nosniff"
    # Forms send a referrer to this collector only.
    assert headers["Referrer-Policy"] == ("same-origin" if has_forms else "no-referrer")
    policy = set(headers["Content-Security-Policy"].split("; "))
    assert {"default-src 'none'", "frame-ancestors 'none'"} <= policy
    assert headers["Cache-Control"] in (KEPT if STATIC in headers else ["no-store"])
    readable = headers.get("Access-Control-Allow-Origin") == "*"
    shared = "cross-origin" if readable else "same-origin"
    assert headers["Cross-Origin-Resource-Policy"] == shared
    assert not any(character.isdigit() for character in headers.get("Server", ""))


def addresses(rule):
    """Return the addresses of a rule as in the table, which names each form of an action."""
    several = re.search(r"<any\(([^)]*)\):(\w+)>", rule.rule)
    if several is None:
        return [rule.rule]
    place = several[2]
    names = re.findall(r"'(\w+)'", several[1]) if place == "path" else [f"<{place}>"]
    return [rule.rule.replace(several[0], name) for name in names]


def test_the_table_names_every_endpoint(app):
    known = {
        (method, address)
        for rule in app.url_map.iter_rules()
        for address in addresses(rule)
        for method in rule.methods - {"HEAD", "OPTIONS"}
    }
    named = [(method, rule) for method, rule, _ in ROWS]
    assert sorted(named) == sorted(known)


#: GET requests change nothing and share a collector; each other row has its own.
GROUPS = {"GET": [row for row in ROWS if row[0] == "GET"]} | {
    f"{row[0]} {row[1]}": [row] for row in ROWS if row[0] != "GET"
}


#: Addresses of analyses except `table`; outside nightly runs, only operators get their results.
ANALYSED = {f"/v1/surveys/<survey_id>/{name}" for name in ANALYSES if name != "table"}


@pytest.mark.parametrize(
    ("rows", "answered_to_all"),
    [
        *(pytest.param(rows, False, id=name) for name, rows in GROUPS.items()),
        pytest.param(GROUPS["GET"], True, id="GET, all", marks=pytest.mark.nightly),
    ],
)
def test_each_bearer_gets_the_status_of_the_table(
    ask, bearers, dump, survey, rows, answered_to_all
):
    before = dump()
    for (method, rule, statuses), who in product(rows, WHO):
        expected, row = statuses[who], f"{method} {rule} by {who}"
        if expected < 400 and who != WHO[-1] and rule in ANALYSED and not answered_to_all:
            continue
        response = ask(method, rule, bearers[who])
        assert response.status_code == expected, row
        if method != "GET" or who == WHO[-1]:
            before, earlier = dump(), before
            if method == "GET" or expected >= 400:
                assert before == earlier, row
        if expected < 400:
            continue
        assert not any(held in response.text for held in (*RESOURCE, survey.digest)), row
        for token in filter(None, bearers.values()):
            assert token not in response.text
            assert token not in str(response.headers)
        if rule.startswith(PAGES):
            assert response.mimetype == "text/html"
            assert "Set-Cookie" not in response.headers
            continue
        assert response.mimetype == "application/problem+json"
        assert response.get_json()["status"] == expected
        assert response.get_json()["field"] == "token"
        assert response.headers.get("WWW-Authenticate") == ("Bearer" if expected == 401 else None)


@pytest.mark.parametrize(
    "who",
    ["nobody", *(pytest.param(who, marks=pytest.mark.nightly) for who in ("monitor", "operator"))],
)
def test_other_methods_are_not_allowed(ask, bearers, dump, who):
    """HEAD equals GET without a body; OPTIONS lists the methods; other methods get 405."""
    # All analyses share one view.
    for method, rule, statuses in (
        *parse(TABLE.replace("<analysis>", "table")),
        *of_actions(),
    ):
        before = dump()
        others = {m for m, r, _ in ROWS if r == rule}
        of_get = next((found for m, r, found in ROWS if (m, r) == ("GET", rule)), None)
        expected, row = statuses[who], f"{method} {rule} by {who}"
        head = ask(method, rule, bearers[who], "HEAD")
        if of_get is not None:
            assert head.status_code == of_get[who], row
        else:
            assert head.status_code >= 400, row
        assert head.get_data() == b"", row
        options = ask(method, rule, bearers[who], "OPTIONS")
        if rule in TOLD:
            assert options.status_code == 200, row
        else:
            assert options.status_code == (200 if expected < 400 else expected), row
        if options.status_code == 200:
            assert others <= set(options.headers["Allow"].split(", ")), row
            assert options.get_data() == b"", row
        tried = {"GET", "POST", "PUT", "PATCH", "DELETE", "TRACE", "X"} - others
        for word in tried:
            response = ask(method, rule, bearers[who], word)
            assert response.status_code == 405, f"{word}, not {row}"
            assert others <= set(response.headers["Allow"].split(", ")), row
        assert dump() == before, rule


#: Malformed headers; {} stands for an operator's token.
NO_BEARERS = (
    *("", "Bearer", "Bearer ", "bearer", "Basic {}", "{}", "Token {}", "Bearer{}", "Bearer,{}"),
    *("Bearer {} x", "Bearer {}x", "Bearer x{}", "Bearer {}, Bearer {}", "Bearer '{}'"),
    *("Digest username={}", "Bearer \x00{}", "Bearer {}\xff", "Bearer %00{}"),
)


def test_malformed_authorization_headers_are_refused(filled, bearers, dump):
    before = dump()
    for header in NO_BEARERS:
        said = {"Authorization": header.format(bearers["operator"], bearers["operator"])}
        for path in ("/v1/surveys/health/counts", "/metrics"):
            response = filled.get(path, headers=said)
            assert response.status_code == 401, header
            assert response.headers["WWW-Authenticate"] == "Bearer", header
        assert filled.post("/v1/surveys/health/close", headers=said).status_code == 401, header
    assert dump() == before


def test_tokens_in_other_parts_of_a_request_are_ignored(filled, bearers):
    """Calls ignore tokens in queries, cookies and bodies; pages ignore tokens in headers."""
    token = bearers["operator"]
    plain = filled.application.test_client(use_cookies=False)
    assert plain.get(f"/v1/surveys/health/counts?token={token}").status_code == 401
    cookie = {"Cookie": f"halftruth_token={token}"}
    assert plain.get("/v1/surveys/health/counts", headers=cookie).status_code == 401
    assert plain.post("/v1/surveys/health/close", headers=cookie).status_code == 401
    assert plain.post("/v1/surveys/health/close", data={"token": token}).status_code == 401
    bearer = {"Authorization": f"Bearer {token}"}
    assert plain.get("/results/health", headers=bearer).status_code == 401


def test_a_cookie_for_one_survey_cannot_open_another(filled, bearers, survey):
    client = filled.application.test_client()
    assert client.post("/sign-in", data={"token": bearers["elsewhere"]}).status_code == 303
    paths = ["", *(f"/{v}{e}" for v, e in product(ANALYSES, ("", "?format=json", "?format=csv")))]
    for path in paths:
        response = client.get(f"/results/health{path}")
        assert response.status_code == 403, path
        assert "it is for the survey &#39;second&#39; only" in response.text
        assert not any(held in response.text for held in (*RESOURCE, survey.digest))
    assert client.get("/results/second").status_code == 200
    # The refusal does not reveal which other surveys exist.
    known, unknown = client.get("/results/health"), client.get("/results/nothing")
    assert known.text.replace("health", "nothing") == unknown.text


def test_refusals_do_not_reveal_whether_a_survey_exists(filled, bearers):
    for who, status in (("nobody", 401), ("monitor", 403), ("elsewhere", 403)):
        said = {"Authorization": f"Bearer {bearers[who]}"} if bearers[who] else {}
        for path in ("counts", "itemsets?min_support=x", "table?nonsense=1"):
            known = filled.get(f"/v1/surveys/health/{path}", headers=said)
            unknown = filled.get(f"/v1/surveys/nothing/{path}", headers=said)
            assert known.status_code == unknown.status_code == status
            assert known.get_json() == unknown.get_json()


def test_tokens_are_compared_by_hash_and_in_constant_time(bearers, store, monkeypatch):
    """`hmac.compare_digest` compares the SHA-256 digests of the tokens."""
    spy = Mock(wraps=hmac.compare_digest)
    monkeypatch.setattr("halftruth_collector.store.tokens.hmac", Mock(compare_digest=spy))
    token = bearers["operator"]
    assert store.tokens.bearer(token).role == "operator"
    expected = hashlib.sha256(token.encode()).digest()
    spy.assert_called_once_with(expected, expected)
