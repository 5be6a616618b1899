"""Posting reports: counted exactly once, all or nothing, with one clear line otherwise."""

import json
import threading
from unittest.mock import Mock
from uuid import uuid4

import pytest
from halftruth_collector.api import create_app
from halftruth_collector.config import Config
from halftruth_collector.errors import ReportIdReused, SurveyClosed
from halftruth_collector.store import Store
from halftruth_shared import Attribute, GammaDiagonal, RandomizedResponse, Schema, Survey
from halftruth_shared.messages import Report

#: The same tests on both kinds of store.
pytestmark = pytest.mark.parametrize("database", ["sqlite", "postgresql"], indirect=True)

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


def test_a_retried_batch_counts_once(http, batch, counted):
    body = batch([0, 0], [1, 2])
    assert http.post(URL, json=body).get_json() == {"accepted": 2, "duplicates": 0}
    assert http.post(URL, json=body).get_json() == {"accepted": 0, "duplicates": 2}
    assert counted() == 2


def test_a_report_twice_in_one_batch_counts_once(http, batch, counted):
    body = batch([0, 1])
    body["reports"] *= 3
    assert http.post(URL, json=body).get_json() == {"accepted": 1, "duplicates": 2}
    assert counted() == 1


def test_a_batch_with_old_and_new_reports_counts_the_new_ones(http, batch, counted):
    old = batch([0, 1])
    http.post(URL, json=old)
    new = batch([1, 1])
    new["reports"] += old["reports"]
    assert http.post(URL, json=new).get_json() == {"accepted": 1, "duplicates": 1}
    assert counted() == 2


def test_an_id_with_another_report_is_refused(http, batch, counted):
    body = batch([0, 1])
    http.post(URL, json=body)
    other = batch([1, 1])
    other["reports"] += [{**body["reports"][0], "values": [1, 0]}]
    document = problem(http.post(URL, json=other), 409)
    assert (document["report"], document["field"]) == (1, "id")
    assert counted() == 1


def test_one_batch_cannot_give_one_id_two_reports(http, batch, counted):
    body = batch([0, 1], [1, 1])
    body["reports"][1]["id"] = body["reports"][0]["id"]
    assert problem(http.post(URL, json=body), 409)["report"] == 1
    assert counted() == 0


def test_the_same_id_under_another_survey_is_another_report(http, batch, store, counted, survey):
    store.surveys.publish(Survey("second", "Second", survey.schema, survey.mechanism))
    body = batch([0, 1])
    http.post(URL, json=body)
    body["digest"] = store.surveys.get("second").digest
    response = http.post("/v1/surveys/second/reports", json=body)
    assert response.get_json() == {"accepted": 1, "duplicates": 0}
    assert (counted("health"), counted("second")) == (1, 1)


def test_an_empty_batch_is_fine(http, batch):
    assert http.post(URL, json=batch()).get_json() == {"accepted": 0, "duplicates": 0}


@pytest.mark.parametrize(
    ("value", "field", "said"),
    [
        ("[2, 0]", "smoker", "expected an integer from 0 to 1"),
        ("[0, 3]", "drinks", "expected an integer from 0 to 2"),
        ("[0, -1]", "drinks", "expected an integer from 0 to 2"),
        ("[true, 0]", "smoker", "expected `int`, got `bool`"),
        ("[0, 1.0]", "drinks", "expected `int`, got `float`"),
        ("[0, 1e999]", "drinks", "out of range"),
        ("[0, 123456789012345678901234567890]", "drinks", "from 0 to 2"),
        ('[0, "1"]', "drinks", "expected `int`, got `str`"),
        ("[0, null]", "drinks", "expected `int`, got `null`"),
        ("[0]", "values", "expected 2 values"),
        ("[0, 1, 2]", "values", "expected 2 values"),
        ("[]", "values", "expected 2 values"),
        ('"00"', "reports", "expected `array`, got `str`"),
        ("{}", "reports", "expected `array`, got `object`"),
    ],
)
def test_a_value_outside_the_schema_is_named(http, batch, counted, value, field, said):
    good = json.dumps(batch([0, 0], [0, 1], [1, 1]))
    body = good.replace("[0, 1]", value)
    document = problem(http.post(URL, data=body), 422)
    assert document["detail"].startswith("report 1: ")
    assert said in document["detail"]
    assert (document["report"], document["field"]) == (1, field)
    assert counted() == 0


@pytest.mark.parametrize(
    "body",
    ["", "{", "nonsense", '{"digest": "x", "reports": [', "\udc80", '{"digest": NaN}'],
)
def test_malformed_json_is_refused(http, body, counted):
    document = problem(http.post(URL, data=body.encode("utf-8", "surrogateescape")), 400)
    assert document["detail"].startswith("body: expected JSON")
    assert counted() == 0


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("[]", "Expected `object`, got `array`"),
        ("{}", "missing required field `digest`"),
        ('{"digest": "x"}', "missing required field `reports`"),
        ('{"digest": 1, "reports": []}', "Expected `str`, got `int`"),
        ('{"digest": "x", "reports": {}}', "Expected `array`"),
        ('{"digest": "x", "reports": [], "more": 1}', "unknown field `more`"),
    ],
)
def test_json_of_another_shape_is_refused(http, body, said):
    assert said in problem(http.post(URL, data=body), 422)["detail"]


@pytest.mark.parametrize(
    ("report", "said"),
    [
        ({"id": "x", "values": [0, 0]}, "invalid UUID"),
        ({"id": 7, "values": [0, 0]}, "expected `uuid`"),
        ({"values": [0, 0]}, "missing required field `id`"),
        ({"id": str(uuid4())}, "missing required field `values`"),
        ({"id": str(uuid4()), "values": [0, 0], "record": {}}, "unknown field `record`"),
        ("x", "expected `object`"),
    ],
)
def test_a_report_of_another_shape_is_named(http, batch, counted, report, said):
    body = batch([0, 0])
    body["reports"].append(report)
    document = problem(http.post(URL, json=body), 422)
    assert document["report"] == 1
    assert said in document["detail"]
    assert counted() == 0


def test_a_stale_digest_is_refused(http, batch, counted):
    document = problem(http.post(URL, json=batch([0, 0], digest="0" * 64)), 409)
    assert document["type"] == "urn:halftruth:problem:stale-digest"
    assert counted() == 0


def test_a_closed_survey_is_refused(http, batch, counted, store):
    store.surveys.close("health")
    document = problem(http.post(URL, json=batch([0, 0])), 409)
    assert document["type"] == "urn:halftruth:problem:survey-closed"
    assert counted() == 0


def test_an_unknown_survey_is_refused(http, batch):
    document = problem(http.post("/v1/surveys/nothing/reports", json=batch([0, 0])), 404)
    assert document["detail"] == "there is no survey 'nothing'"


def test_an_oversized_body_is_refused(database, store, survey, batch, counted):
    store.surveys.publish(survey)
    app = create_app(Config(database=database, max_body=1_000, max_batch=50))
    body = json.dumps(batch(*[[0, 0]] * 40)).encode()
    for environ in ({}, {"wsgi.input_terminated": True, "CONTENT_LENGTH": None}):
        response = app.test_client().post(URL, data=body, environ_overrides=environ)
        document = problem(response, 413)
        assert document["detail"] == "body: expected fewer than 1000 bytes"
    app.extensions["halftruth"].store.close()
    assert counted() == 0


def test_too_many_reports_are_refused(database, store, survey, batch, counted):
    store.surveys.publish(survey)
    app = create_app(Config(database=database, max_batch=50))
    document = problem(app.test_client().post(URL, json=batch(*[[0, 0]] * 51)), 413)
    assert document["detail"] == "reports: expected at most 50 in one request, got 51"
    app.extensions["halftruth"].store.close()
    assert counted() == 0


def test_a_store_that_is_away_is_said_to_be(http, batch, store, monkeypatch, app):
    engine = app.extensions["halftruth"].store.database.engine
    engine.dispose()
    away = engine.dialect.loaded_dbapi.OperationalError("gone")
    monkeypatch.setattr(engine.dialect, "connect", Mock(side_effect=away))
    response = http.post(URL, json=batch([0, 0]))
    document = problem(response, 503)
    assert document["detail"] == "the database does not answer (OperationalError)"
    assert response.headers["Retry-After"] == "5"


def test_an_unforeseen_failure_tells_nothing(app, http, batch, monkeypatch, caplog, counted):
    def fail(*_: object) -> None:
        raise RuntimeError("secret value 4711")

    monkeypatch.setattr(app.extensions["halftruth"].store.reports, "count", fail)
    app.config["PROPAGATE_EXCEPTIONS"] = False
    document = problem(http.post(URL, json=batch([0, 0])), 500)
    assert "nothing of this request was counted" in document["detail"]
    assert "4711" not in caplog.text
    assert "RuntimeError" in caplog.text
    assert counted() == 0


def test_writers_at_the_same_time_lose_nothing(store, survey):
    """Eight threads with common ids and common cells: every id counts exactly once."""
    store.surveys.publish(survey)
    shared = [Report(id=uuid4(), values=[n % 2, n % 3]) for n in range(50)]
    accepted: list[int] = []

    def write(number: int) -> None:
        own = [Report(id=uuid4(), values=[1, number % 3]) for _ in range(50)]
        for start in range(0, 50, 10):
            batch = own[start : start + 10] + shared[start : start + 10]
            accepted.append(store.reports.add("health", survey.digest, batch).accepted)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(accepted) == 40
    assert sum(accepted) == store.reports.counts("health")[1].reports == 8 * 50 + 50


def test_nothing_is_counted_after_a_survey_was_closed(store, survey):
    store.surveys.publish(survey)
    stop = threading.Event()
    after_close: list[int] = []

    def write() -> None:
        while not stop.is_set():
            try:
                store.reports.add("health", survey.digest, [Report(id=uuid4(), values=[0, 0])])
            except SurveyClosed:
                return

    threads = [threading.Thread(target=write) for _ in range(4)]
    for thread in threads:
        thread.start()
    store.surveys.close("health")
    after_close.append(store.reports.counts("health")[1].reports)
    for thread in threads:
        thread.join(10)
    stop.set()
    assert store.reports.counts("health")[1].reports == after_close[0]


def test_counts_survive_a_restart(database, store, survey):
    store.surveys.publish(survey)
    report = Report(id=uuid4(), values=[1, 2])
    store.reports.add("health", survey.digest, [report])
    store.close()
    again = Store(database)
    assert again.reports.counts("health")[1].reports == 1
    assert again.reports.add("health", survey.digest, [report]).duplicates == 1
    with pytest.raises(ReportIdReused):
        again.reports.add("health", survey.digest, [Report(id=report.id, values=[1, 1])])
    again.close()


@pytest.mark.parametrize("sizes", [(2, 256), (2, 257), (3, 65_536), (200,) * 12])
def test_wide_and_long_reports_are_counted_as_they_came(store, sizes):
    """Also beyond 2⁶³ cells."""
    schema = Schema(
        tuple(Attribute(f"a{j}", tuple(map(str, range(size)))) for j, size in enumerate(sizes))
    )
    mechanism = (
        GammaDiagonal("19")
        if schema.size < 10**6
        else RandomizedResponse.for_amplification(schema, "1000")
    )
    wide = Survey("wide", "Wide", schema, mechanism)
    store.surveys.publish(wide)
    last, first = [size - 1 for size in sizes], [0 for _ in sizes]
    reports = [Report(id=uuid4(), values=values) for values in (last, first, last)]
    store.reports.add("wide", wide.digest, reports)
    _, counts, _ = store.reports.counts("wide")
    assert dict(zip(map(tuple, counts.cells.tolist()), counts.counts.tolist(), strict=True)) == {
        tuple(last): 2,
        tuple(first): 1,
    }
