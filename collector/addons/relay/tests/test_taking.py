"""A relay keeps each sealed report of registered surveys once."""

import base64
from dataclasses import replace
from uuid import uuid4

import hpke
import pytest
from databases import on_both
from halftruth_client.errors import RequestRefused
from halftruth_collector import operations as collecting
from halftruth_collector.ops.settings import Config
from halftruth_collector.web.calls import declared, template
from halftruth_relay.app import create_app
from halftruth_shared import HalftruthError, ParameterError
from halftruth_shared.protocol.sealing import create_sealing_key
from halftruth_shared.protocol.signing import OperatorKey, sign
from halftruth_shared.protocol.terms import Terms
from openapi_spec_validator import OpenAPIV31SpecValidator
from relays import Device, inner_reports
from sqlalchemy import event

CANNOT_BE_OPENED = (
    "report 0: cannot be opened; expected a report sealed to the relay's key with this survey's"
    " digest and the relay's id"
)


def body(parties, *reports, digest=None):
    return {"digest": digest or parties.survey.digest, "reports": list(reports)}


def envelope(parties, *, key=None, digest=None, id=None, size=None):
    """Return a report sealed by an independent HPKE implementation, with optional errors."""
    survey, own = parties.survey, uuid4()
    digest = bytes.fromhex(digest or survey.digest)
    packed = bytes(survey.report_space.packed_size if size is None else size)
    info = b"halftruth relayed report 1\n" + digest
    inner = hpke.seal(bytes.fromhex(survey.relay.sealing_key), info, uuid4().bytes + packed)
    info = b"halftruth relay envelope 1\n" + digest + (id or own).bytes
    outer = hpke.seal(bytes.fromhex(key or survey.relay.key), info, inner)
    return {"id": str(own), "sealed": base64.b64encode(outer).decode()}


@on_both
def test_a_report_that_is_sent_or_sealed_again_is_kept_once(make):
    parties = make()
    device = Device((1, 2))
    assert parties.send(device).get_json() == {"accepted": 1, "duplicates": 0}
    # Sealed again, and twice in one request.
    assert parties.send(device, device).get_json() == {"accepted": 0, "duplicates": 2}
    other = Device((0, 1))
    assert parties.send(device, other, other).get_json() == {"accepted": 1, "duplicates": 2}
    assert parties.held() == 2
    report = envelope(parties)
    assert parties.http.post(parties.path, json=body(parties, report)).status_code == 202


def test_a_wrongly_sealed_report_is_refused_with_its_whole_request(make, tmp_path):
    """Sealed to another relay, digest or id, or with values of another length."""
    parties = make()
    key = create_sealing_key(tmp_path / "other.pem")
    for wrong in ({"key": key}, {"digest": 32 * "ab"}, {"id": uuid4()}, {"size": 0}, {"size": 3}):
        bad = envelope(parties, **wrong)
        response = parties.http.post(parties.path, json=body(parties, bad, envelope(parties)))
        assert (response.status_code, response.get_json()["detail"]) == (422, CANNOT_BE_OPENED)
    assert parties.held() == 0


def test_other_requests_are_refused(make, batch):
    parties = make({"max_batch": 2})
    relayed = {"digest": parties.survey.digest, "relayed": []}
    plain = batch([1, 2], digest=parties.survey.digest)
    for sent, status, kind in (
        (plain, 422, "report-error"),
        (relayed, 422, "parameter-error"),
        (body(parties, digest="0" * 64), 409, "stale-digest"),
        (body(parties, *(envelope(parties) for _ in range(3))), 413, "too-large"),
    ):
        response = parties.http.post(parties.path, json=sent)
        assert response.status_code == status, response.text
        assert response.get_json()["type"] == f"urn:halftruth:problem:{kind}"
    assert parties.http.post("/v1/surveys/other/reports", json=plain).status_code == 404
    assert parties.http.get("/v1/surveys/health%00").status_code == 404
    assert [parties.http.get(path).status_code for path in ("/healthz", "/readyz")] == [200, 200]
    assert parties.held() == 0


def test_other_origins_may_send_reports_and_read_the_survey(make):
    parties = make()
    asked = parties.http.options(parties.path, headers={"Origin": "https://form.example.org"})
    assert asked.headers["Access-Control-Allow-Origin"] == "*"
    assert asked.headers["Access-Control-Allow-Headers"] == "Content-Type"
    for response in (parties.send(Device((0, 0))), parties.http.get("/v1/surveys/health")):
        assert response.headers["Access-Control-Allow-Origin"] == "*"
    assert "Access-Control-Allow-Origin" not in parties.http.get("/readyz").headers


def test_metrics_require_the_role_of_monitor_or_operator(make, monkeypatch):
    parties, day = make(), [20_000]
    metrics = parties.relay.extensions["halftruth"].metrics
    monkeypatch.setattr(metrics, "_clock", lambda: day[0] * 86_400)
    parties.fill(1)
    assert parties.http.get("/metrics").status_code == 401
    for role, status in (("monitor", 200), ("operator", 200), ("analyst", 403)):
        token = collecting.create_token(parties.relay_store, role)
        found = parties.http.get("/metrics", headers={"Authorization": f"Bearer {token}"})
        assert found.status_code == status
        # Numbers of requests are released once a day.
        day[0] += 1
    token = collecting.create_token(parties.relay_store, "monitor")
    text = parties.http.get("/metrics", headers={"Authorization": f"Bearer {token}"}).text
    route = 'method="POST",route="/v1/surveys/{survey_id}/reports",status="2xx"'
    assert f"halftruth_http_request_seconds_count{{{route}}} 1.0" in text
    assert "health" not in text


def test_the_openapi_document_of_a_relay_describes_its_routes(make):
    parties = make()
    found = parties.http.get("/openapi.json").get_json()
    assert list(OpenAPIV31SpecValidator(found).iter_errors()) == []
    described = {(path, method) for path, item in found["paths"].items() for method in item}
    served = {
        (template(rule.rule), method.lower())
        for rule in parties.relay.url_map.iter_rules()
        for method in rule.methods - {"HEAD", "OPTIONS"}
    }
    assert described - {(path, "parameters") for path in found["paths"]} == served
    assert found["info"]["title"] == "halftruth relay"


def test_a_relay_with_a_full_disk_answers_503_and_keeps_no_report(make):
    parties = make()
    parties.fill(1)
    engine = parties.relay_store.database.engine

    @event.listens_for(engine, "begin")
    def limit(connection):
        if is_full:
            connection.exec_driver_sql("PRAGMA max_page_count = 1")

    is_full = True
    devices = [Device((0, 0)) for _ in range(800)]
    response = parties.send(*devices)
    assert response.status_code == 503, response.text
    assert response.get_json()["detail"].endswith("nothing of this request was counted")
    is_full = False
    event.remove(engine, "begin", limit)
    engine.dispose()
    assert parties.held() == 1
    assert parties.send(*devices).get_json() == {"accepted": 800, "duplicates": 0}


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"digest": "0" * 64}, "digest: the collector publishes 'health' with {digest}"),
        (
            {"url": "https://relay.example.edu"},
            "relay.url: expected https://relay.example.edu, the address of this relay; got {url}",
        ),
        (
            {"keys": ["0" * 64]},
            "relay.key: its private key is not here; expected one of the file that"
            " HALFTRUTH_RELAY_KEYS names",
        ),
        ({"token": "ht_unknown"}, "token: it is not known here, or has been revoked"),
        (
            {"operator_keys": ["0" * 64]},
            "survey 'health': signature: there is none; expected one by a pinned operator key",
        ),
    ],
    ids=lambda given: next(iter(given)) if isinstance(given, dict) else "",
)
def test_only_a_survey_that_names_this_relay_is_registered(make, given, error):
    parties = make()
    with pytest.raises(HalftruthError) as refusal:
        parties.register(**given)
    expected = error.format(digest=parties.survey.digest, url=parties.survey.relay.url)
    assert str(refusal.value).startswith(expected)


def test_a_token_is_not_sent_without_tls(make):
    parties = make()
    parties.url = "http://collect.example.org"
    with pytest.raises(ParameterError, match="collector: expected an address with https"):
        parties.register()


def test_a_signed_survey_is_registered_under_its_operators_key(make):
    parties, key = make(), OperatorKey.create()
    signature = sign(key, parties.survey.digest, Terms())
    collecting.set_terms(parties.store, "health", {}, signature)
    parties.register(operator_keys=[key.public])
    with pytest.raises(HalftruthError):
        parties.register(operator_keys=[OperatorKey.create().public])


@on_both
def test_a_survey_without_a_relay_or_with_another_digest_is_not_registered(make, survey):
    parties = make()
    before = parties.survey.digest
    collecting.publish_survey(parties.store, replace(parties.survey, title="Another"))
    with pytest.raises(ParameterError, match=f"digest: 'health' is registered here with {before}"):
        parties.register()
    collecting.publish_survey(parties.store, replace(survey, id="bare"))
    with pytest.raises(ParameterError, match="survey: expected the id of a survey that has a rel"):
        collecting.create_token(parties.store, "relay", "bare")


def test_a_relay_refuses_the_database_of_a_collector(make, database, tmp_path):
    make()
    config = Config(database=database, relay_keys=tmp_path / "relay.pem")
    with pytest.raises(ParameterError, match="database: it is that of a collector"):
        create_app(config)


def test_the_token_of_a_relay_permits_only_relayed_reports_of_its_survey(make, operator):
    """Nor does the collector accept reports without this token to a survey with a relay."""
    parties = make()
    http = parties.collector.test_client()
    bearer = {"Authorization": f"Bearer {parties.token}"}
    for call in declared():
        if call.role is not None:
            path = call.path.format(survey_id="health", token_id="x", key="x")
            assert http.open(path, method=call.method, headers=bearer).status_code == 403, path
    relayed = {"digest": parties.survey.digest, "relayed": []}
    plain = {"digest": parties.survey.digest, "reports": []}
    said = "reports: this survey takes them from its relay alone; expected them at {}"
    for headers, sent, status, detail in (
        (bearer, relayed, 202, None),
        (bearer, plain, 422, "body: Object contains unknown field `reports`"),
        ({}, relayed, 403, said.format(parties.survey.relay.url)),
        ({}, plain, 403, said.format(parties.survey.relay.url)),
        (operator, relayed, 403, said.format(parties.survey.relay.url)),
        (operator, plain, 403, said.format(parties.survey.relay.url)),
    ):
        response = http.post(parties.path, json=sent, headers=headers)
        assert response.status_code == status, response.text
        if detail is not None:
            assert response.get_json()["detail"].startswith(detail)
    parties.survey = replace(parties.survey, id="other")
    collecting.publish_survey(parties.store, parties.survey)
    with pytest.raises(RequestRefused, match="it is for the survey 'health' only"):
        parties.register()


def test_the_form_may_connect_only_to_the_relay_of_its_survey(make, survey):
    parties = make()
    collecting.publish_survey(parties.store, replace(survey, id="bare"))
    http = parties.collector.test_client()
    for id, targets in (("health", f"'self' {parties.survey.relay.url}/;"), ("bare", "'self';")):
        policy = http.get(f"/s/{id}").headers["Content-Security-Policy"]
        assert f"connect-src {targets}" in policy
    page = http.get("/v1/surveys/health").headers["Content-Security-Policy"]
    assert "connect-src" not in page


@on_both
def test_reports_stay_at_the_relay_if_the_collector_lacks_keys_or_was_purged(make, monkeypatch):
    parties = make(batch=2)
    parties.fill(2)
    service = parties.collector.extensions["halftruth"]
    keys = service.key_file._keys
    monkeypatch.setattr(type(service), "sealing_keys", None)
    parties.close()
    assert (parties.held(), parties.counted()) == (2, 0)
    monkeypatch.undo()
    assert service.key_file._keys is keys
    collecting.close_survey(parties.store, "health", confirm="health")
    collecting.purge(parties.store, 0, confirm="*")
    parties.passing().look()
    # The collector cannot know any more whether they were counted before.
    assert (parties.held(), parties.counted()) == (2, 0)
    assert inner_reports(parties.relay_store)
