"""Asking for results over HTTP: who may, what comes, and what bad questions get."""

from pathlib import Path

import numpy as np
import pytest
from halftruth_collector.estimate import Counts, Estimator

RESULTS = (
    "itemsets?min_support=0.1",
    "rules?min_support=0.1&min_confidence=0",
    "table?attributes=smoker",
    "measures?attributes=smoker,drinks",
    "counts",
)


@pytest.fixture
def filled(http, batch, survey):
    """A collector with 400 perturbed reports, and their counts as counted here."""
    rng = np.random.default_rng(3)
    records = np.stack([rng.integers(0, 2, 400), rng.integers(0, 3, 400)], axis=1)
    reports = survey.mechanism.perturb_many(survey.schema, records, rng)
    assert http.post("/v1/surveys/health/reports", json=batch(*reports.tolist())).status_code == 202
    return Counts.from_reports(survey.schema, reports)


@pytest.mark.parametrize("result", RESULTS)
def test_results_need_an_analysts_token(http, filled, store, analyst, operator, result):
    url = f"/v1/surveys/health/{result}"
    nobody = http.get(url)
    assert nobody.status_code == 401
    assert nobody.headers["WWW-Authenticate"] == "Bearer"
    for header in ("Bearer ht_wrong", "Bearer", "Basic YTpi", "ht_wrong", "Bearer \x00"):
        assert http.get(url, headers={"Authorization": header}).status_code == 401
    assert http.get(url, headers=analyst).status_code == 200
    assert http.get(url, headers=operator).status_code == 200


def test_a_revoked_token_is_worth_nothing(http, filled, store, analyst):
    [token] = store.tokens.all()
    store.tokens.revoke(token.id)
    assert http.get("/v1/surveys/health/counts", headers=analyst).status_code == 401


@pytest.mark.parametrize("path", ["/v1/surveys", "/v1/surveys/health/close"])
def test_only_operators_operate(http, analyst, path):
    assert http.post(path, json={}).status_code == 401
    assert http.post(path, json={}, headers=analyst).status_code == 403


def test_a_token_is_stored_only_as_its_hash(store, database):
    token = store.tokens.create("analyst")
    store.close()
    content = Path(database.removeprefix("sqlite:///")).read_bytes()
    assert token.encode() not in content
    assert store.tokens.bearer(token).role == "analyst"


def test_itemsets_are_those_computed_offline(http, filled, analyst, survey):
    answer = http.get("/v1/surveys/health/itemsets?min_support=0.1", headers=analyst).get_json()
    expected = list(Estimator(survey, filled).itemsets(0.1))
    assert answer["reports"] == 400
    assert answer["digest"] == survey.digest
    assert [entry["items"] for entry in answer["itemsets"]] == [e.items for e in expected]
    for entry, other in zip(answer["itemsets"], expected, strict=True):
        assert entry["support"] == pytest.approx(other.support, abs=1e-12)
        assert entry["standard_error"] == pytest.approx(other.standard_error, abs=1e-12)
        assert tuple(entry["interval"]) == pytest.approx(other.interval, abs=1e-12)
        assert entry["decision"] == other.decision


def test_rules_are_those_computed_offline(http, filled, analyst, survey):
    url = "/v1/surveys/health/rules?min_support=0.05&min_confidence=0.3"
    answer = http.get(url, headers=analyst).get_json()
    expected = list(Estimator(survey, filled).rules(0.05, 0.3))
    assert len(expected) > 3
    for entry, other in zip(answer["rules"], expected, strict=True):
        assert (entry["antecedent"], entry["consequent"]) == (other.antecedent, other.consequent)
        assert entry["confidence"] == pytest.approx(other.confidence, abs=1e-12)


def test_a_table_names_its_cells_in_the_order_asked_for(http, filled, analyst, survey):
    url = "/v1/surveys/health/table?attributes=drinks,smoker&covariance=true&target=respondents"
    answer = http.get(url, headers=analyst).get_json()
    table = Estimator(survey, filled).table(["drinks", "smoker"])
    assert answer["query"]["attributes"] == ["drinks", "smoker"]
    assert answer["cells"][1]["values"] == {"drinks": "never", "smoker": "yes"}
    assert [cell["support"] for cell in answer["cells"]] == pytest.approx(
        table.support.ravel().tolist()
    )
    assert np.array(answer["covariance"]) == pytest.approx(table.covariance("respondents"))


def test_measures_are_those_computed_offline(http, filled, analyst, survey):
    url = "/v1/surveys/health/measures?attributes=smoker,drinks&present=drinks%3Ddaily"
    answer = http.get(url, headers=analyst).get_json()
    expected = Estimator(survey, filled).measures(["smoker", "drinks"], {"drinks": "daily"})
    assert [entry["name"] for entry in answer["measures"]] == [e.name for e in expected]
    assert len(expected) == 20
    for entry, other in zip(answer["measures"], expected, strict=True):
        assert entry["value"] == pytest.approx(other.value)
        assert entry["standard_error"] == pytest.approx(other.standard_error)


def test_counts_are_those_of_the_reports(http, filled, analyst):
    answer = http.get("/v1/surveys/health/counts", headers=analyst).get_json()
    assert (answer["columns"], answer["shape"]) == (["smoker", "drinks"], [2, 3])
    assert {tuple(cell["values"]): cell["count"] for cell in answer["cells"]} == dict(
        zip(map(tuple, filled.cells.tolist()), filled.counts.tolist(), strict=True)
    )


def test_one_report_determines_no_standard_error(http, batch, analyst):
    http.post("/v1/surveys/health/reports", json=batch([0, 0]))
    answer = http.get("/v1/surveys/health/itemsets?min_support=0.1", headers=analyst).get_json()
    assert answer["itemsets"][0]["standard_error"] is None
    assert answer["itemsets"][0]["interval"] is None
    assert answer["itemsets"][0]["decision"] == "undecided"
    assert answer["precision"][0]["verdict"].startswith("not usable")
    url = "/v1/surveys/health/table?attributes=smoker&covariance=true"
    assert http.get(url, headers=analyst).get_json()["covariance"] is None


def test_a_survey_without_reports_has_nothing_to_conclude(http, analyst):
    for result in RESULTS[:4]:
        response = http.get(f"/v1/surveys/health/{result}", headers=analyst)
        assert response.status_code == 409
        assert "no report has been counted yet" in response.get_json()["detail"]
    assert http.get("/v1/surveys/health/counts", headers=analyst).get_json()["cells"] == []


def test_an_unknown_survey_has_no_results(http, analyst):
    assert http.get("/v1/surveys/nothing/counts", headers=analyst).status_code == 404


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("itemsets", "min_support"),
        ("itemsets?min_support=0", "min_support"),
        ("itemsets?min_support=-0.1", "min_support"),
        ("itemsets?min_support=1.01", "min_support"),
        ("itemsets?min_support=nan", "min_support"),
        ("itemsets?min_support=inf", "min_support"),
        ("itemsets?min_support=much", "min_support"),
        ("itemsets?min_support=0.1&min_support=0.2", "min_support"),
        ("itemsets?min_support=0.1&max_length=0", "max_length"),
        ("itemsets?min_support=0.1&max_length=1.5", "max_length"),
        ("itemsets?min_support=0.1&confidence=1", "confidence"),
        ("itemsets?min_support=0.1&confidence=0", "confidence"),
        ("itemsets?min_support=0.1&select=best", "select"),
        ("itemsets?min_support=0.1&target=everyone", "target"),
        ("itemsets?min_support=0.1&minsupport=0.1", "minsupport"),
        ("rules?min_support=0.1", "min_confidence"),
        ("rules?min_support=0.1&min_confidence=1.1", "min_confidence"),
        ("rules?min_support=0.1&min_confidence=-0.1", "min_confidence"),
        ("table", "attributes"),
        ("table?attributes=", "attributes"),
        ("table?attributes=weight", "attributes"),
        ("table?attributes=smoker,smoker", "attributes"),
        ("table?attributes=smoker&covariance=maybe", "covariance"),
        ("measures?attributes=smoker", "attributes"),
        ("measures?attributes=smoker,drinks&present=daily", "present"),
        ("measures?attributes=smoker,drinks&present=drinks%3Dhourly", "present"),
        ("counts?x=1", "x"),
    ],
)
def test_a_bad_question_gets_one_line_that_names_the_parameter(http, filled, analyst, query, field):
    response = http.get(f"/v1/surveys/health/{query}", headers=analyst)
    assert response.status_code == 422
    document = response.get_json()
    assert document["field"] == field
    assert (
        "expected" in document["detail"]
        or "survey has" in document["detail"]
        or ("twice" in document["detail"])
    )
    assert "\n" not in document["detail"]
