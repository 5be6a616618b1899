"""Order, covariance, counts and undefined estimates in results."""

import csv
import io
import json
from itertools import combinations

import numpy as np
import pytest
from halftruth_collector.analyses import ANALYSES, answer
from halftruth_collector.analyses.tabular import to_csv
from halftruth_collector.estimation import Estimator
from halftruth_collector.estimation.intervals import table_intervals
from halftruth_collector.estimation.reliability import RELIABILITIES, grades, margin
from halftruth_shared.columns import encode
from mined import associations_of, itemsets_of, measures_of, mined_rules, rule_of
from msgspec.structs import replace
from sources import aimed

from .conftest import SCHEMA

#: Columns that an answer adds to estimates: decisions, and what false reports can do.
ADDED = dict.fromkeys(("threshold", "decision", "moved_by", "undone_by"))


def without_decisions(rows):
    """Return rows without decisions."""
    return [replace(row, **ADDED) for row in rows]


def whole(estimates):
    """Return estimates without decisions."""
    return replace(estimates, **ADDED)


def test_a_table_has_its_estimates_in_the_requested_order(http, filled, analyst, survey):
    url = "/v1/surveys/health/table?attributes=drinks,smoker&covariance=true&target=respondents"
    answer = http.get(url, headers=analyst).get_json()
    table = Estimator(survey, filled).table(["drinks", "smoker"])
    assert answer["query"]["attributes"] == ["drinks", "smoker"]
    keys, estimates = {key["name"]: key["values"] for key in answer["keys"]}, answer["estimates"]
    assert (keys["drinks"][1], keys["smoker"][1]) == ("never", "yes")
    lower, upper = table_intervals(table.alone, 0.95)
    perturbation, sampling = table.alone.error_parts()
    for name, expected in (
        ("value", table.value),
        ("standard_error", np.sqrt(table.alone.variance())),
        ("perturbation_error", perturbation),
        ("sampling_error", sampling),
        ("lower", lower),
        ("upper", upper),
    ):
        assert estimates[name] == pytest.approx(expected.ravel().tolist()), name
    reliability = [RELIABILITIES[grade] for grade in grades(margin(lower, upper)).ravel()]
    assert estimates["reliability"] == reliability
    assert np.array(answer["covariance"]) == pytest.approx(table.alone.covariance())


def test_measures_are_those_of_the_estimator(study):
    counted, analysis = study.counted["study"], ANALYSES["measures"]
    query = analysis.query(attributes=["smoker", "vote"], target="respondents")
    result = answer(analysis, counted, query)
    alone = aimed(counted.estimator, "respondents")
    assert whole(result.estimates) == measures_of(alone, ["smoker", "vote"])
    assert result.find("cramers_v", row="smoker", column="vote").value > 0


@pytest.mark.parametrize(
    ("name", "mine", "parameters"),
    [
        ("itemsets", itemsets_of, {"min_support": 0.15, "confidence": 0.9}),
        ("rules", mined_rules, {"min_support": 0.02, "min_confidence": 0.3}),
    ],
)
def test_a_list_has_the_rows_of_the_estimator(study, name, mine, parameters):
    counted, analysis = study.counted["study"], ANALYSES[name]
    mined = mine(aimed(counted.estimator, "respondents"), **parameters)
    result = answer(analysis, counted, analysis.query(**parameters, target="respondents"))
    assert without_decisions(result.rows) == list(mined.rows) != []
    assert result.selection.candidates == mined.candidates
    assert result.selection.listed == len(mined)


def test_filtered_itemsets_are_a_subset_of_all(study):
    counted, analysis = study.counted["study"], ANALYSES["itemsets"]

    def asked(**some):
        return answer(analysis, counted, analysis.query(min_support=0.05, max_length=2, **some))

    every = asked()
    for some, belongs in (
        ({"length": 2}, lambda row: len(row["itemset"]) == 2),
        ({"attribute": "age"}, lambda row: "age" in row["itemset"]),
        ({"decision": "frequent"}, lambda row: row.adjusted_p_value <= 0.05),
        ({"decision": "undecided"}, lambda row: row.adjusted_p_value > 0.05),
    ):
        found = asked(**some)
        assert list(found.rows) == [row for row in every.rows if belongs(row)] != []
        assert found.selection == every.selection


@pytest.mark.parametrize(
    ("name", "asked", "threshold", "words"),
    [
        ("itemsets", {"min_support": 0.05}, 0.05, ("frequent", "undecided")),
        ("itemsets", {"min_support": 0.05, "confidence": 0.6}, 0.05, ("frequent", "undecided")),
        (
            "comparison",
            {"answer": {"vote": "left"}, "groups": "smoker"},
            0.0,
            ("significant", "not significant"),
        ),
        (
            "comparison",
            {"answer": {"vote": "left"}, "groups": "smoker", "effect": "odds_ratio"},
            1.0,
            ("significant", "not significant"),
        ),
        (
            "crosstab",
            {"attributes": ["smoker", "vote"]},
            None,
            ("significant", "not significant"),
        ),
        ("measures", {}, None, ("significant", "not significant")),
        (
            "regression",
            {"outcome": "smoker", "predictors": ["age"]},
            None,
            ("significant", "not significant"),
        ),
    ],
)
def test_each_tested_row_of_a_file_says_what_was_decided(study, name, asked, threshold, words):
    analysis = ANALYSES[name]
    result = answer(analysis, study.counted["study"], analysis.query(**asked))
    rate = 1 - result.query.confidence
    written = [*csv.DictReader(io.StringIO(to_csv(result)))]
    tested = [row for row in written if row["adjusted_p_value"] or row["p_value"]]
    assert tested
    for row in written:
        p_value = row["adjusted_p_value"] or row["p_value"]
        expected = "" if not p_value else words[float(p_value) > rate]
        assert row["decision"] == expected
        if threshold is not None:
            assert row["threshold"] == (str(threshold) if p_value else "")
    decided = [row.decision or "" for row in result.rows]
    assert decided == [row["decision"] for row in written]
    columns = json.loads(encode(result))["estimates"]["decision"]
    assert [columns[i] or "" for i in range(len(written))] == decided


def test_best_guesses_are_undecided(study):
    analysis = ANALYSES["itemsets"]
    asked = analysis.query(min_support=0.05, estimate="likelihood")
    result = answer(analysis, study.counted["study"], asked)
    assert {row.decision for row in result.rows} == {"undecided"}
    assert {row.threshold for row in result.rows} == {0.05}


def test_a_rule_by_name_ignores_the_thresholds(study):
    counted, analysis = study.counted["study"], ANALYSES["rules"]
    sides = {"antecedent": {"smoker": "yes"}, "consequent": {"coughs": "yes"}}
    for least in ({}, {"min_support": 1, "min_confidence": 1, "min_lift": 99, "limit": 1}):
        result = answer(analysis, counted, analysis.query(**sides, **least))
        assert list(result.rows) == list(rule_of(counted.estimator, **sides).rows)
        assert result.selection is None


def test_the_map_of_associations_is_that_of_the_estimator(study):
    counted, analysis = study.counted["study"], ANALYSES["measures"]
    every = answer(analysis, counted, analysis.query())
    pairs = list(zip(*(key.values for key in every.keys), strict=True))
    assert pairs == [*combinations(SCHEMA.names, 2)]
    assert whole(every.estimates) == whole(associations_of(counted.estimator))
    asked = {"attributes": ["vote", "smoker", "age"], "confidence": 0.9}
    some = answer(analysis, counted, analysis.query(**asked))
    assert whole(some.estimates) == whole(associations_of(counted.estimator, **asked))
    # Named measures belong to a single table with all attributes.
    named = {"attributes": ["vote", "smoker", "age"], "measures": ["g_squared"]}
    of_three = answer(analysis, counted, analysis.query(**named))
    assert of_three.estimates == measures_of(counted.estimator, **named)
    assert [*of_three.key("row").values] == [None]


def test_counts_are_those_of_the_reports(http, filled, analyst):
    answer = http.get("/v1/surveys/health/counts", headers=analyst).get_json()
    assert [key["name"] for key in answer["keys"]] == ["smoker", "drinks"]
    codes = [map(int, key["values"]) for key in answer["keys"]]
    assert {*answer["estimates"]["quantity"]} == {"reports"}
    assert dict(zip(zip(*codes, strict=True), answer["estimates"]["value"], strict=True)) == dict(
        zip(map(tuple, filled.cells.tolist()), filled.counts.tolist(), strict=True)
    )


def test_one_report_gives_no_standard_error(http, batch, analyst):
    http.post("/v1/surveys/health/reports", json=batch([0, 0]))
    answer = http.get("/v1/surveys/health/itemsets?min_support=0.1", headers=analyst).get_json()
    estimates, precision = answer["estimates"], answer["caveats"][1]
    assert "standard_error" not in estimates
    assert "adjusted_p_value" not in estimates
    assert {*estimates["lower"], *estimates["set"]} == {None}
    assert (precision["code"], precision["values"]["reliability"]) == ("precision", "not usable")
    url = "/v1/surveys/health/table?attributes=smoker&covariance=true"
    assert http.get(url, headers=analyst).get_json()["covariance"] is None
