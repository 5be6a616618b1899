"""The OpenAPI document agrees with the HTTP interface."""

import json
import re
from datetime import UTC, datetime
from urllib.parse import quote

import jsonschema
import msgspec
import pytest
from calls import PLACES, SURVEY, TICKETED, calls, document_with_examples, reports
from halftruth_collector import operations
from halftruth_collector.web.calls import declared
from halftruth_collector.web.errors import status_of
from halftruth_collector.web.openapi import CALLERS, document
from halftruth_shared import Survey
from halftruth_shared.protocol.sealing import create_sealing_key
from halftruth_shared.protocol.terms import Terms
from openapi_spec_validator import OpenAPIV31SpecValidator

#: Described calls that are not under /v1.
OPERATIONAL = {"/healthz", "/readyz", "/metrics", "/openapi.json"}

OPERATIONS = declared()
DESCRIBED = {operation.id: operation for operation in OPERATIONS}


@pytest.fixture
def survey():
    return SURVEY


@pytest.fixture
def app(store, sealing_app, key_file):
    # A second key, so that one can be retired.
    create_sealing_key(key_file)
    return sealing_app


@pytest.fixture
def places(store, survey, sealing_key):
    """Values of path parameters."""
    token = operations.create_token(store, "analyst")
    return {"survey_id": survey.id, "token_id": store.tokens.bearer(token).id, "key": sealing_key}


@pytest.fixture
def filled(http, store, places):
    """A client of a collector with reports."""
    store.reports.add(SURVEY.id, SURVEY.digest, reports())
    operations.publish_survey(store, TICKETED)
    return http


@pytest.fixture
def headers(store):
    """Return a function that makes the headers of a role's requests."""

    def of(role):
        return (
            {}
            if role is None
            else {"Authorization": f"Bearer {operations.create_token(store, role)}"}
        )

    return of


def described(operation):
    return document_with_examples()["paths"][operation.path][operation.method.lower()]


def valid(schema):
    """Return a validator of a schema that may refer to components of the document."""
    root = {**schema, "components": document()["components"]}
    return jsonschema.Draft202012Validator(
        root, format_checker=jsonschema.Draft202012Validator.FORMAT_CHECKER
    )


def serialized(parameters):
    """Return the query of the examples in OpenAPI's style `form`."""
    parts = []
    for parameter in parameters:
        if "example" not in parameter:
            continue
        name, value = parameter["name"], parameter["example"]
        if not isinstance(value, list):
            texts = [json.dumps(value).strip('"')]
        elif parameter["explode"]:
            texts = [quote(str(item), safe="") for item in value]
        else:
            texts = [",".join(quote(str(item), safe="") for item in value)]
        parts += [f"{name}={text}" for text in texts]
    return "&".join(parts)


def send(client, operation, headers, body=None, places=None):
    """Send the example request of a call."""
    own = calls()[operation.id].places
    path = operation.path.format(**{"survey_id": SURVEY.id, **(places or {}), **own})
    query = serialized(described(operation).get("parameters", []))
    # A confirmation repeats the key of the path.
    query = query.replace(PLACES["key"], (places or PLACES).get("key", ""))
    return client.open(
        f"{path}?{query}" if query else path,
        method=operation.method,
        headers=headers,
        data=None if body is None else json.dumps(body),
    )


def bodies(operation):
    """Return the example bodies of a call; a call without a body has None."""
    content = described(operation).get("requestBody", {}).get("content", {})
    found = content.get("application/json", {}).get("examples", {"none": {"value": None}})
    return {name: example["value"] for name, example in found.items()}


def test_the_document_is_valid_openapi_3_1():
    assert document()["openapi"].startswith("3.1.")
    assert list(OpenAPIV31SpecValidator(document()).iter_errors()) == []


def test_described_calls_equal_the_routes(app):
    served = {
        (method, re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", rule.rule))
        for rule in app.url_map.iter_rules()
        for method in rule.methods - {"HEAD", "OPTIONS"}
        if rule.rule.startswith("/v1/") or rule.rule in OPERATIONAL
    }
    assert served == {(operation.method, operation.path) for operation in OPERATIONS}


def test_the_document_names_the_role_of_each_call():
    for operation in OPERATIONS:
        found = described(operation)
        assert found.get("x-role") == operation.role
        assert bool(found["security"]) == (operation.role is not None)
        assert f"{CALLERS[operation.role].capitalize()} may call it." in found["description"]


@pytest.mark.parametrize("operation", OPERATIONS, ids=DESCRIBED)
def test_example_requests_match_the_schemas(operation):
    found = described(operation)
    for parameter in found.get("parameters", []):
        if "example" in parameter:
            valid(parameter["schema"]).validate(parameter["example"])
    if operation.bodies:
        schema = found["requestBody"]["content"]["application/json"]["schema"]
        for body in bodies(operation).values():
            valid(schema).validate(body)


@pytest.mark.parametrize(
    "operation", [found for found in OPERATIONS if found.analysis], ids=lambda o: o.id
)
def test_described_parameters_equal_the_fields_of_queries(filled, headers, operation):
    """The echoed query equals the examples, and documented defaults equal those of the fields."""
    parameters = described(operation)["parameters"]
    fields = {field.name: field for field in msgspec.structs.fields(operation.query)}
    assert {found["name"] for found in parameters} == {*fields, "format"}
    assert {found["name"] for found in parameters if found["required"]} == {
        name for name, field in fields.items() if field.required
    }
    asked = msgspec.to_builtins(calls()[operation.id].query)
    echo = send(filled, operation, headers(operation.role)).get_json()["query"]
    if asked.get("estimate") == "auto":
        # The echo names the method that was chosen.
        asked["estimate"] = echo["estimate"]
        assert echo["estimate"] in ("auto", "moment", "model")
    if operation.id == "getMicrodata":
        # The echo names the interactions that were added because the reports demand them.
        asked["interactions"] = echo["interactions"]
        assert echo["interactions"] == [["smoker", "drinks", "shift"]]
    assert echo == asked
    for found in parameters:
        if "default" in found["schema"]:
            assert found["schema"]["default"] == by_default(fields[found["name"]])


def by_default(field):
    factory = field.default_factory
    default = field.default if factory is msgspec.NODEFAULT else factory()
    return list(default) if isinstance(default, dict) else default


def limited(operation):
    """Return the parameters of a call that have numeric limits."""
    words = {"minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum"}
    parameters = described(operation).get("parameters", [])
    return [found for found in parameters if words & set(found["schema"])]


@pytest.mark.parametrize("operation", list(filter(limited, OPERATIONS)), ids=lambda o: o.id)
def test_numbers_beyond_their_limits_are_refused(filled, headers, operation):
    bearer = headers(operation.role)
    path = operation.path.replace("{survey_id}", SURVEY.id)
    for found in limited(operation):
        schema = found["schema"]
        step = 1 if schema["type"] == "integer" else 1e-9
        beyond = [
            *(schema[word] for word in ("exclusiveMinimum", "exclusiveMaximum") if word in schema),
            *([schema["minimum"] - step] if "minimum" in schema else []),
            *([schema["maximum"] + step] if "maximum" in schema else []),
        ]
        others = [p for p in described(operation)["parameters"] if p["name"] != found["name"]]
        for value in beyond:
            query = f"{serialized(others)}&{found['name']}={value}"
            response = filled.get(f"{path}?{query}", headers=bearer)
            assert response.status_code == 422, (query, response.text)
            assert response.get_json()["field"] == found["name"]


def problem(operation, response):
    """Validate a problem document against its description, and return its type."""
    assert response.mimetype == "application/problem+json"
    found = described(operation)["responses"][str(response.status_code)]
    valid(found["content"]["application/problem+json"]["schema"]).validate(response.get_json())
    for name, header in found.get("headers", {}).items():
        value = response.headers[name]
        valid(header["schema"]).validate(
            int(value) if header["schema"].get("type") == "integer" else value
        )
    return response.get_json()["type"].rpartition(":")[2]


def test_problems_match_their_description(http, store, headers):
    calls = ("addReports", "publishSurvey", "getItemsets", "setTerms")
    add, publish, itemsets, terms = (DESCRIBED[name] for name in calls)
    body = bodies(add)["ReportBatch"]
    stale = {**body, "digest": "0" * 64}
    unfit = {**body, "reports": [{**body["reports"][0], "values": [9, 9, 9]}]}
    path = "/v1/surveys/health/reports"
    unsigned = {"terms": {}, "signature": {"key": "0" * 64, "value": "0" * 128}}
    replaced = {**bodies(publish)["SurveyDocument"], "title": "Another"}
    operator = headers("operator")
    for call, response, expected in (
        (itemsets, send(http, itemsets, {}), "unauthorized"),
        (publish, send(http, publish, headers("analyst")), "forbidden"),
        (itemsets, send(http, itemsets, headers("analyst")), "too-few-reports"),
        (add, http.post(path, data=b"{"), "malformed-request"),
        (add, http.post(path, json=stale), "stale-digest"),
        (add, http.post(path, json=unfit), "report-error"),
        (add, http.post(f"{path}?a=b", json=body), "parameter-error"),
        (add, http.post("/v1/surveys/none/reports", json=body), "unknown-survey"),
        (add, http.post("/v1/surveys/a%2Fb/reports", json=body), "http"),
        (terms, send(http, terms, operator, unsigned), "signature-refused"),
    ):
        assert problem(call, response) == expected
    assert http.post(path, json=body).status_code == 202
    again = http.post("/v1/surveys", json=replaced, headers=operator)
    assert problem(publish, again) == "survey-exists"
    late = {**body, "reports": [{**body["reports"][0], "id": "0" * 32}]}
    operations.set_terms(store, SURVEY.id, Terms(invitations=True))
    assert problem(add, http.post(path, json=late)) == "invitation-refused"
    close = DESCRIBED["closeSurvey"]
    refused = http.post("/v1/surveys/health/close", headers=operator)
    assert problem(close, refused) == "not-confirmed"
    assert send(http, close, operator).status_code == 200
    assert problem(add, http.post(path, json=late)) == "survey-closed"


def test_responses_match_their_description(filled, store, headers, places):
    """The calls that close and delete the survey come last."""
    planned = Survey("planned", "Planned", SURVEY.schema, SURVEY.mechanism)
    operations.publish_survey(store, planned, Terms(opens_at=datetime(2131, 3, 31, tzinfo=UTC)))
    order = ("closeSurvey", "deleteSurvey")
    bearers = {role: headers(role) for role in {found.role for found in OPERATIONS}}
    for operation in sorted(
        OPERATIONS, key=lambda found: order.index(found.id) if found.id in order else -1
    ):
        body = next(iter(bodies(operation).values()))
        # Only a survey that opens later can be tried.
        given = places | ({"survey_id": "planned"} if operation.id == "trySurvey" else {})
        response = send(filled, operation, bearers[operation.role], body, given)
        assert response.status_code == operation.status, (operation.id, response.text)
        content = described(operation)["responses"][str(operation.status)]["content"]
        answer = response.get_json() if response.mimetype == "application/json" else response.text
        valid(content[response.mimetype]["schema"]).validate(answer)


def test_every_error_of_a_call_has_a_status_other_than_500():
    for operation in OPERATIONS:
        assert all(status_of(kind.__new__(kind)) != 500 for kind in operation.errors)


def test_every_schema_has_a_description_and_typed_properties():
    found = document()["components"]["schemas"]
    for name, schema in found.items():
        assert all(schema["properties"].values()), name
        assert schema["description"], name
    for name in ("PublishedSurvey", "PlanRequest"):
        survey = found[name]["properties"]["survey"]
        assert survey["$ref"] == "#/components/schemas/SurveyDocument"


def test_plain_and_sealed_reports_cannot_share_a_batch():
    schema = {
        "oneOf": [
            {"$ref": f"#/components/schemas/{n}"}
            for n in ("ReportBatch", "SealedBatch", "RelayedBatch")
        ]
    }
    found = described(DESCRIBED["addReports"])["requestBody"]["content"]["application/json"]
    assert found["schema"] == schema
    plain, sealed, relayed = bodies(DESCRIBED["addReports"]).values()
    mixed = {**plain, "reports": plain["reports"] + sealed["reports"]}
    for batch in (plain, sealed, relayed):
        assert valid(schema).is_valid(batch)
    assert valid(schema).is_valid({**plain, "reports": []})
    assert not valid(schema).is_valid(mixed)


def test_the_document_has_json_values_alone():
    assert json.loads(json.dumps(document())) == document()
