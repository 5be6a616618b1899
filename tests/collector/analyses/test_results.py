"""What answers hold besides numbers: order, covariance, counts, and what is undefined."""

import numpy as np
import pytest
from halftruth_collector.estimation import Estimator


def test_a_table_names_its_cells_in_the_order_asked_for(http, filled, analyst, survey):
    url = "/v1/surveys/health/table?attributes=drinks,smoker&covariance=true&target=respondents"
    answer = http.get(url, headers=analyst).get_json()
    table = Estimator(survey, filled).table(["drinks", "smoker"])
    assert answer["query"]["attributes"] == ["drinks", "smoker"]
    assert answer["cells"][1]["values"] == {"drinks": "never", "smoker": "yes"}
    assert [cell["value"] for cell in answer["cells"]] == pytest.approx(
        table.support.ravel().tolist()
    )
    assert np.array(answer["covariance"]) == pytest.approx(table.covariance("respondents"))


def test_counts_are_those_of_the_reports(http, filled, analyst):
    answer = http.get("/v1/surveys/health/counts", headers=analyst).get_json()
    assert (answer["names"], answer["shape"]) == (["smoker", "drinks"], [2, 3])
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


def test_without_reports_there_are_no_counts(http, analyst):
    refused = http.get("/v1/surveys/health/counts", headers=analyst)
    assert (refused.status_code, refused.get_json()["type"].rpartition(":")[2]) == (
        409,
        "too-few-reports",
    )
    assert http.get("/v1/surveys/nothing/counts", headers=analyst).status_code == 404
