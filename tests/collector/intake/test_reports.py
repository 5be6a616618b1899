"""Posting reports: requests are counted as a whole or refused with a one-line error."""

import json
from uuid import uuid4

import pytest
from halftruth_collector import operations
from halftruth_collector.errors import StaleDigest
from halftruth_collector.intake.checking import check
from halftruth_collector.ops.settings import Config
from halftruth_collector.web import create_app
from halftruth_collector.web.routes import surveys
from halftruth_shared import Attribute, GammaDiagonal, RandomizedResponse, Schema, Survey
from halftruth_shared.protocol.reports import Report

URL = "/v1/surveys/health/reports"


def problem(response, status):
    assert response.status_code == status, response.text
    assert response.mimetype == "application/problem+json"
    document = response.get_json()
    assert document["status"] == status
    assert "\n" not in document["detail"]
    assert "Traceback" not in response.text
    return document


def test_reports_are_counted(http, batch, store):
    response = http.post(URL, json=batch([0, 0], [1, 2], [1, 2]))
    assert response.status_code == 202
    assert response.get_json() == {"accepted": 3, "duplicates": 0}
    _, counts, _ = store.reports.counts("health")
    assert counts.marginal((0, 1)).tolist() == [[1, 0, 0], [0, 0, 2]]


@pytest.mark.parametrize(
    ("value", "field", "said"),
    [
        ("[2, 0]", "smoker", "expected an integer from 0 to 1"),
        ("[0, 3]", "drinks", "expected an integer from 0 to 2"),
        ("[0, -1]", "drinks", "expected an integer from 0 to 2"),
        ("[true, 0]", "smoker", "expected an integer"),
        ("[0, 1.0]", "drinks", "expected an integer"),
        ("[0, 1e999]", "drinks", "expected an integer"),
        ("[0, 123456789012345678901234567890]", "drinks", "from 0 to 2"),
        ('[0, "1"]', "drinks", "expected an integer"),
        ("[0, null]", "drinks", "expected an integer"),
        ("[0]", "values", "expected 2 values"),
        ("[0, 1, 2]", "values", "expected 2 values"),
        ("[]", "values", "expected 2 values"),
        ('"00"', "values", "expected a list of integers"),
        ("{}", "values", "expected a list of integers"),
    ],
)
def test_an_invalid_value_is_refused_with_its_report_and_field(
    http, batch, counted, value, field, said
):
    good = json.dumps(batch([0, 0], [0, 1], [1, 1]))
    body = good.replace("[0, 1]", value)
    document = problem(http.post(URL, data=body), 422)
    assert document["detail"].startswith("report 1: ")
    assert said in document["detail"]
    assert (document["report"], document["field"]) == (1, field)
    assert counted() == 0


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        *((body, 400, "body: expected JSON") for body in ("", "{", "nonsense", "\udc80")),
        *((body, 400, "body: expected JSON") for body in ('{"reports": [', '{"digest": NaN}')),
        ("[]", 422, "Expected `object`, got `array`"),
        ("{}", 422, "missing required field `digest`"),
        ('{"digest": "x"}', 422, "missing required field `reports`"),
        ('{"digest": 1, "reports": []}', 422, "Expected `str`, got `int`"),
        ('{"digest": "x", "reports": {}}', 422, "Expected `array`"),
        ('{"digest": "x", "reports": [], "more": 1}', 422, "unknown field `more`"),
    ],
)
def test_malformed_json_is_refused(http, body, status, said, counted):
    response = http.post(URL, data=body.encode("utf-8", "surrogateescape"))
    assert said in problem(response, status)["detail"]
    assert counted() == 0


@pytest.mark.parametrize(
    ("report", "said"),
    [
        ({"id": "x", "values": [0, 0]}, "id: expected a UUID"),
        ({"id": 7, "values": [0, 0]}, "id: expected a UUID"),
        ({"values": [0, 0]}, "id: expected a UUID"),
        ({"id": str(uuid4())}, "values: expected a list"),
        ({"id": str(uuid4()), "values": [0, 0], "record": {}}, "record: unknown member"),
        ("x", "expected an object"),
    ],
)
def test_a_malformed_report_is_refused_with_its_position(http, batch, counted, report, said):
    body = batch([0, 0])
    body["reports"].append(report)
    document = problem(http.post(URL, json=body), 422)
    assert document["report"] == 1
    assert said in document["detail"]
    assert counted() == 0


def test_an_oversized_body_is_refused(database, store, survey, batch, counted):
    operations.publish_survey(store, survey)
    app = create_app(Config(database=database, max_body=5_000, max_batch=50))
    http = app.test_client()
    body = json.dumps(batch(*[[0, 0]] * 90)).encode()
    for environ in ({}, {"wsgi.input_terminated": True, "CONTENT_LENGTH": None}):
        document = problem(http.post(URL, data=body, environ_overrides=environ), 413)
        assert document["detail"] == "body: expected fewer than 5000 bytes"
    many = problem(http.post(URL, json=batch(*[[0, 0]] * 51)), 413)
    assert many["detail"] == "reports: expected at most 50 in one request, got 51"
    assert http.post(URL, json=batch(*[[0, 0]] * 50)).status_code == 202
    app.extensions["halftruth"].store.close()
    assert counted() == 50


def test_reports_checked_before_their_survey_was_replaced_are_refused(http, store, survey, counted):
    reports = [Report(id=uuid4(), values=[0, 0])]
    with pytest.raises(StaleDigest):
        store.reports.count(check("health", "0" * 64, survey.report_space, reports))
    assert counted() == 0


def test_reports_to_unknown_replaced_or_closed_surveys_are_refused(http, batch, counted, store):
    response = http.post("/v1/surveys/nothing/reports", json=batch([0, 0]))
    assert problem(response, 404)["detail"] == "there is no survey 'nothing'"
    stale = problem(http.post(URL, json=batch([0, 0], digest="0" * 64)), 409)
    operations.close_survey(store, "health", confirm="health")
    closed = problem(http.post(URL, json=batch([0, 0])), 409)
    kinds = [document["type"].rpartition(":")[2] for document in (stale, closed)]
    assert kinds == ["stale-digest", "survey-closed"]
    assert counted() == 0


def test_unexpected_errors_reveal_nothing(app, http, batch, monkeypatch, caplog, counted):
    def fail(*_: object) -> None:
        raise RuntimeError("secret value 4711")

    monkeypatch.setattr(surveys, "read", fail)
    app.config["PROPAGATE_EXCEPTIONS"] = False
    response = http.post(URL, json=batch([0, 0]))
    document = problem(response, 500)
    assert "nothing of this request was counted" in document["detail"]
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    assert response.headers["Cache-Control"] == "no-store"
    assert "4711" not in caplog.text
    assert "RuntimeError" in caplog.text
    assert counted() == 0


@pytest.mark.parametrize("sizes", [(2, 256), (2, 257), (3, 65_536), (200,) * 12])
def test_reports_with_many_cells_are_counted_exactly(store, sizes):
    schema = Schema(
        tuple(Attribute(f"a{j}", tuple(map(str, range(size)))) for j, size in enumerate(sizes))
    )
    mechanism = (
        GammaDiagonal("19")
        if schema.size < 10**6
        else RandomizedResponse.for_amplification(schema, "1000")
    )
    wide = Survey("wide", "Wide", schema, mechanism)
    operations.publish_survey(store, wide)
    last, first = [size - 1 for size in sizes], [0 for _ in sizes]
    reports = [Report(id=uuid4(), values=values) for values in (last, first, last)]
    store.reports.add("wide", wide.digest, reports)
    _, counts, _ = store.reports.counts("wide")
    assert dict(zip(map(tuple, counts.cells.tolist()), counts.counts.tolist(), strict=True)) == {
        tuple(last): 2,
        tuple(first): 1,
    }
