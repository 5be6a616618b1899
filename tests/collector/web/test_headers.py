"""The protective headers of every answer."""

import pytest
from flask import Flask
from halftruth_collector.ops.settings import Config
from halftruth_collector.web import create_app
from werkzeug.routing import Rule


@pytest.fixture
def tokens(store) -> list[dict[str, str]]:
    roles = ("analyst", "operator", "monitor")
    bearers = [{"Authorization": f"Bearer {store.tokens.create(role)}"} for role in roles]
    return [{}, *bearers]


#: What stands in the variable parts of paths.
FILLED = {
    "survey_id": "health",
    "ending": "json",
    "token_id": "0" * 12,
    "key": "0" * 64,
}


def address(rule: Rule) -> str:
    name = "itemsets" if rule.rule.startswith("/results/") else "index.js"
    action = "close" if "/surveys/" in rule.rule else "create"
    built = rule.build({"name": name, "action": action, **FILLED}, append_unknown=False)
    assert built is not None
    return built[1]


def rules(app: Flask) -> list[tuple[str, str]]:
    return [(address(rule), method) for rule in app.url_map.iter_rules() for method in rule.methods]


def test_every_answer_is_protected(app, http, tokens):
    asked = [*rules(app), ("/nothing", "GET"), ("/healthz", "POST"), ("/v1/surveys", "PATCH")]
    assert len(asked) > 60
    statuses = set()
    for path, method in asked:
        for bearer in tokens:
            response = http.open(path, method=method, headers=bearer)
            statuses.add(response.status_code)
            where = f"{method} {path}: {response.status_code}"
            headers = response.headers
            assert headers["X-Content-Type-Options"] == "nosniff", where
            # A form tells only this collector where it was sent from.
            refers = (
                "same-origin"
                if path.startswith(("/results", "/operate", "/sign"))
                else "no-referrer"
            )
            assert headers["Referrer-Policy"] == refers, where
            policy = headers["Content-Security-Policy"].split("; ")
            assert {"default-src 'none'", "frame-ancestors 'none'"} <= set(policy), where
            assert headers["Cache-Control"], where
            readable = headers.get("Access-Control-Allow-Origin") == "*"
            expected = "cross-origin" if readable else "same-origin"
            assert headers["Cross-Origin-Resource-Policy"] == expected, where
            assert not any(character.isdigit() for character in headers.get("Server", "")), where
            assert "Traceback" not in response.get_data(as_text=True), where
            response.close()
    assert {200, 401, 403, 404, 405} <= statuses


def test_only_scripts_and_what_forms_need_may_be_read_from_elsewhere(app, http):
    readable = set()
    for path, method in rules(app):
        with http.open(path, method=method) as response:
            if method == "GET" and "Access-Control-Allow-Origin" in response.headers:
                readable.add(path)
    assert readable == {"/v1/surveys/health", "/js/index.js", "/openapi.json"}


def test_answers_are_kept_by_nobody(http, operator, analyst):
    for path in ("/v1/surveys", "/v1/surveys/health", "/", "/s/health", "/healthz", "/readyz"):
        assert http.get(path).headers["Cache-Control"] == "no-store", path
    assert http.get("/metrics", headers=operator).headers["Cache-Control"] == "no-store"


def test_the_answer_to_a_failure_is_protected_too(database, store, survey):
    app = create_app(Config(database=database))

    def fail() -> str:
        raise ValueError

    app.add_url_rule("/fails", "fails", fail)
    response = app.test_client().get("/fails")
    assert response.status_code == 500
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    assert response.headers["Cache-Control"] == "no-store"
    app.extensions["halftruth"].store.close()
