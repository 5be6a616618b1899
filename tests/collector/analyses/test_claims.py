"""Headlines state exactly the claims of a result."""

import json
from datetime import UTC, datetime

import msgspec
import numpy as np
import pytest
from halftruth_collector.analyses import ANALYSES, AnalysisContext, answer
from halftruth_collector.analyses.labels import labels_of
from halftruth_collector.analyses.survey_report import survey_report
from halftruth_collector.estimation import Counts
from halftruth_shared import Attribute, RandomizedResponse, Schema, Survey
from halftruth_shared.analyses import result_of
from halftruth_shared.analyses.comparison import ComparisonQuery
from halftruth_shared.analyses.measures import MeasuresQuery
from halftruth_shared.columns import decode, encode
from halftruth_shared.results import NAMES

NOTHING = "No finding is stated for these estimates."


def results(counted):
    for analysis in ANALYSES.values():
        if analysis.applies(counted.survey):
            yield analysis, answer(analysis, counted, analysis.start(counted.survey))


def test_a_headline_has_one_sentence_for_each_claim(study):
    for analysis, result in results(study.counted["study"]):
        assert result.claims, analysis.name
        for labels in (NAMES, labels_of(study.counted["study"].survey)):
            stated = [analysis.state(result, claim, labels) for claim in result.claims]
            assumed = "Assuming no interaction of three or more questions: "
            first = assumed if result.model_fit else ""
            assert analysis.headline(result, labels) == first + " ".join(stated)
            assert all(each.endswith(".") for each in stated), analysis.name
            for left_out in range(len(stated)):
                rest = [claim for i, claim in enumerate(result.claims) if i != left_out]
                said = analysis.headline(msgspec.structs.replace(result, claims=rest), labels)
                kept = [each for i, each in enumerate(stated) if i != left_out]
                assert said == first + (" ".join(kept) or NOTHING)


def test_a_headline_does_not_depend_on_p_values(study):
    """It is the same for a result whose p-values would support other claims."""
    for analysis, result in results(study.counted["study"]):
        other = json.loads(encode(result))
        tests = other.pop("tests")
        _without_effects(other)
        whole = encode({**other, "tests": tests})
        changed = decode(whole, result_of(analysis.query))
        assert analysis.headline(changed) == analysis.headline(result), analysis.name


def _without_effects(value):
    for each in value.values() if isinstance(value, dict) else value:
        if isinstance(each, dict | list):
            _without_effects(each)
    if isinstance(value, dict):
        for name in ("p_value", "adjusted", "adjusted_p_value"):
            if value.get(name) is not None:
                many = isinstance(value[name], list)
                value[name] = [each and 1.0 for each in value[name]] if many else 1.0
        if isinstance(value.get("decision"), list):
            value["decision"] = [each and "undecided" for each in value["decision"]]


def test_claims_refer_to_rows_and_tests_of_their_result(study):
    for analysis, result in results(study.counted["study"]):
        rows = len(result.rows)
        for claim in result.claims:
            assert claim.test is None or claim.test < len(result.tests), analysis.name
            assert all(0 <= row < rows for row in claim.rows), analysis.name
            decided = claim.kind in {"associated", "different", "effect", "changed", "frequent"}
            assert (claim.rate > 0) == (decided or claim.kind in {"largest", "at least"})
            assert claim.test is not None or claim.by_rate or not decided


def test_a_claim_about_one_of_many_groups_is_based_on_an_adjusted_test(study):
    counted = study.counted["study"]
    query = ComparisonQuery(answer={"vote": "left"}, groups="age", reference="old")
    result = answer(ANALYSES["comparison"], counted, query)
    [test], claim = result.tests, result.claims[0]
    p_values = result.estimates.p_value[result.places("difference")]
    assert (test.hypotheses, claim.kind, claim.rate) == (2, "different", pytest.approx(0.05))
    assert test.p_value == pytest.approx(2 * min(p_values))
    effect = result.rows[claim.rows[0]]
    assert (effect.quantity, effect["group"], effect["against"]) == ("difference", "young", "old")
    assert effect.p_value == min(p_values)
    assert (claim.direction == "more") == (effect.value > 0)


def test_questions_that_depend_on_each_other_by_design_are_not_claimed_to_be_associated():
    """Two questions in a chain of conditions, and an independent one."""
    schema = Schema(
        (
            Attribute("smoker", ("no", "yes")),
            Attribute("daily", ("few", "many"), ask_if={"smoker": ["yes"]}),
            Attribute("brand", ("a", "b"), ask_if={"daily": ["many"]}),
            Attribute("coin", ("heads", "tails")),
        )
    )
    survey = Survey(
        "chain", "Chain", schema, RandomizedResponse(dict.fromkeys(schema.names, "0.9"))
    )
    records = [[0, 2, 2], [1, 0, 2], [1, 1, 0], [1, 1, 1]]
    true = np.repeat([[*each, coin] for each in records for coin in (0, 1)], 500, axis=0)
    counts = Counts.from_reports(
        survey, survey.perturbation.reports(true, np.random.default_rng(2))
    )
    context = AnalysisContext(survey, counts, datetime.now(UTC), min_reports=0)
    result = answer(ANALYSES["measures"], context, MeasuresQuery())
    linked = [("smoker", "daily"), ("smoker", "brand"), ("daily", "brand")]
    for row in result.rows:
        by_design = {row["row"], row["column"]} <= {"smoker", "daily", "brand"}
        assert (row.p_value is None) == (row.adjusted_p_value is None) == by_design
    [claim] = result.claims
    assert (claim.kind, claim.count, result.tests[0].hypotheses) == ("none found", 3, 3)
    [said] = [each for each in result.caveats if each.code == "by design"]
    assert [tuple(pair) for pair in said.values["pairs"]] == linked
    assert survey_report(context).claim.count == 3
