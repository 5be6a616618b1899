"""Publishing and fetching surveys over HTTP; `test_operations.py` tests their replacement."""

import json

import pytest
from halftruth_shared import Survey

DOCUMENT = {
    "id": "new",
    "title": "New",
    "attributes": [{"name": "smoker", "categories": ["no", "yes"]}],
    "mechanism": {"kind": "gamma-diagonal", "gamma": "19"},
}


def test_a_survey_is_served_with_its_digest(http, survey):
    answer = http.get("/v1/surveys/health")
    assert survey.canonical_json in answer.data
    document = answer.get_json()
    assert document["digest"] == survey.digest
    assert document["status"] == "open"
    assert Survey.from_json(json.dumps(document["survey"])).digest == survey.digest


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"id": "No Good"}, "id: expected lower-case letters"),
        ({"attributes": []}, "attributes: expected 1 to"),
        ({"attributes": [{"name": "a", "categories": ["x"]}]}, "expected 2 to"),
        ({"mechanism": {"kind": "gamma-diagonal", "gamma": 19.0}}, "mechanism.gamma: expected"),
        ({"mechanism": {"kind": "randomized-response", "keep": {"smoker": "1"}}}, "sensitive"),
        ({"more": 1}, "unknown field `more`"),
    ],
)
def test_invalid_surveys_are_refused_with_a_one_line_error(http, operator, change, said):
    response = http.post("/v1/surveys", json={**DOCUMENT, **change}, headers=operator)
    assert response.status_code == 422
    detail = response.get_json()["detail"]
    assert said in detail
    assert "\n" not in detail
    assert http.get("/v1/surveys/new").status_code == 404


def test_unknown_parameters_are_refused(http):
    response = http.get("/v1/surveys?limit=3")
    assert response.status_code == 422
    assert response.get_json()["detail"] == "limit: unknown parameter; expected none"
