"""The regression as an answer: intervals, odds ratios and tests by hand, and what is said of it."""

import math
from datetime import UTC, datetime
from statistics import NormalDist

import numpy as np
import pytest
from halftruth_collector.analyses import ANALYSES, Counted
from halftruth_collector.estimation import Counts
from halftruth_shared import (
    Attribute,
    ParameterError,
    RandomizedResponse,
    Schema,
    SplitQuestionnaire,
    Survey,
)
from halftruth_shared.analyses.reading import read, write
from halftruth_shared.analyses.regression import RegressionQuery

SCHEMA = Schema(
    [
        Attribute("smoker", ("no", "yes")),
        Attribute("age", ("young", "middle", "old")),
        Attribute("vote", ("left", "right", "none, a=b")),
    ]
)
SURVEY = Survey("study", "Study", SCHEMA, RandomizedResponse(dict.fromkeys(SCHEMA.names, "9/10")))
ANALYSIS = ANALYSES["regression"]
NORMAL = NormalDist()


def counted(reports=5_000, survey=SURVEY, seed=7):
    rng = np.random.default_rng(seed)
    age = rng.integers(0, 3, reports)
    smoker = rng.random(reports) < 0.2 + 0.2 * age
    vote = np.where(rng.random(reports) < 0.4, age, rng.integers(0, 3, reports))
    records = np.stack([smoker, age, vote], axis=1).astype(int)
    sent = survey.perturbation.reports(records, rng)
    return Counted(
        survey, Counts.from_reports(survey, sent), datetime(2026, 5, 9, tzinfo=UTC), min_reports=1
    )


def regression(where=None, **asked):
    query = RegressionQuery(**{"outcome": "smoker", "predictors": ["age", "vote"], **asked})
    return ANALYSIS.compute(where or counted(), query)


@pytest.mark.parametrize("confidence", [0.95, 0.8])
def test_intervals_odds_ratios_and_tests_follow_from_coefficient_and_error(confidence):
    result = regression(confidence=confidence)
    quantile = NORMAL.inv_cdf((1 + confidence) / 2)
    terms = ["(intercept)", "age=middle", "age=old", "vote=right", "vote=none, a=b"]
    assert [found.term for found in result.coefficients] == terms
    for found in result.coefficients:
        ends = [found.value + side * quantile * found.standard_error for side in (-1, 1)]
        assert found.interval == pytest.approx(ends)
        assert found.odds_ratio.value == pytest.approx(math.exp(found.value))
        assert found.odds_ratio.interval == pytest.approx(list(map(math.exp, ends)))
        # Both tests are of the same hypothesis, with its error here and there.
        assert found.z * found.value > 0
        assert found.p_value == pytest.approx(2 * NORMAL.cdf(-abs(found.z)), abs=1e-12)
    old = result.coefficients[2]
    # 60 % against 20 % is an odds ratio of 6.
    assert old.odds_ratio.interval[0] < 6 < old.odds_ratio.interval[1]


def verdict_on(found):
    """The verdict by the row that is shown: its factor, whatever its direction is."""
    lower, upper = found.odds_ratio.interval
    factor = math.sqrt(upper / lower)
    if factor <= 1.5:
        return "usable"
    return "barely usable" if factor <= 2 else "not usable"


def test_usable_is_an_odds_ratio_known_to_half_as_much_again():
    seen = set()
    for reports in (5_000, 1_500, 700):
        for found in regression(counted(reports)).coefficients:
            assert found.reliability == verdict_on(found)
            seen.add(found.reliability)
    assert seen == {"usable", "barely usable", "not usable"}


def test_few_reports_behind_a_coefficient_are_said():
    """Of 30 people's answers as they are, 95 % intervals of least squares cover 90 %."""
    public = Schema([Attribute(a.name, a.categories, sensitive=False) for a in SCHEMA.attributes])
    survey = Survey("open", "Open", public, RandomizedResponse(dict.fromkeys(SCHEMA.names, 1)))
    asked = {"model": "linear", "scores": {"smoker": "0,5"}, "confidence": 0.05}
    few = regression(counted(30, survey), **asked)
    many = regression(counted(3_000, survey), **asked)
    assert "reports for each cell, intervals miss the" in few.caution
    assert few.caution in ANALYSIS.warnings(few)
    assert many.caution is None


def test_a_coefficient_of_scores_is_judged_over_their_range():
    """Whatever their unit is: from one end to the other the factor is squared here."""
    few = counted(1_000)
    narrow = regression(few, scores={"age": "ranks"}, predictors=["age"]).coefficients[1]
    wide = regression(few, scores={"age": "0,1000,2000"}, predictors=["age"]).coefficients[1]
    assert narrow.term == wide.term == "age"
    assert wide.value == pytest.approx(narrow.value / 1000, rel=1e-6)
    assert wide.z == pytest.approx(narrow.z)
    lower, upper = narrow.odds_ratio.interval
    factor = math.sqrt(upper / lower)
    assert factor < 1.5 < factor**2 < 2
    assert narrow.reliability == wide.reliability == "barely usable"


def test_a_linear_model_has_no_odds():
    asked = {"outcome": "age", "predictors": ["smoker"], "model": "linear"}
    result = regression(**asked, scores={"age": "20,45,70"})
    for found in result.coefficients:
        assert found.odds_ratio is None
        assert found.reliability == "usable"
    assert (result.present, result.reference) == ({}, {"smoker": "no"})
    assert result.scores == {"age": [20, 45, 70]}
    grid, [panel] = ANALYSIS.grid(result), ANALYSIS.chart(result).panels
    assert "odds ratio" not in grid.header
    assert (panel.axis.scale, panel.reference.value) == ("linear", 0)
    scores = "Scores of the categories in their order: age 20, 45, 70."
    assert scores in ANALYSIS.interpretation(result)


def test_every_view_says_whose_odds_these_are_and_against_what():
    result = regression(present={"smoker": "no"}, reference={"age": "old"})
    said = ANALYSIS.interpretation(result)
    assert said[0] == (
        "The equation is of the log odds of smoker=no; the reference categories are age=old,"
        " vote=left."
    )
    assert said[0] in ANALYSIS.chart(result).notes
    [panel] = ANALYSIS.chart(result).panels
    assert (panel.axis.scale, panel.reference.value) == ("log", 1)
    assert [(row.label, row.value, row.interval) for row in panel.rows] == [
        (found.term, found.odds_ratio.value, found.odds_ratio.interval)
        for found in result.coefficients[1:]
    ]
    rows = [row[0] for row in ANALYSIS.grid(result).rows]
    assert rows[1:3] == ["age=young against old", "age=middle against old"]


def test_where_the_data_cannot_carry_the_model_no_view_has_a_number():
    result = regression(counted(30))
    line = "The data cannot carry the model: "
    notice, further = ANALYSIS.warnings(result)
    assert notice.startswith(line)
    assert further.startswith("The choice “estimate: model” ")
    assert any(f"the least is known of {found.term}" in notice for found in result.coefficients)
    for found in result.coefficients:
        assert found.reliability == "not usable"
        assert (found.value, found.odds_ratio, found.z, found.p_value) == (None,) * 4
    for row in ANALYSIS.grid(result).rows:
        assert set(row[1:]) == {"undefined"}
    frame = result.to_pandas().drop(columns=["reliability", "undefined", "reference", "estimate"])
    assert frame.isna().all(axis=None)
    assert all(row.value is None for row in ANALYSIS.chart(result).panels[0].rows)
    assert line in ANALYSIS.chart(result).description


def test_what_is_too_uncertain_is_named_and_marked():
    result = regression(counted(700))
    notices, grid = ANALYSIS.warnings(result), ANALYSIS.grid(result)
    assert notices
    for found, row in zip(result.coefficients, grid.rows, strict=True):
        assert row[1].startswith("not usable (") == (found.reliability == "not usable")
        if found.reliability != "usable":
            assert any(found.term in notice for notice in notices)


def test_predictors_that_no_report_tells_of_together_are_refused():
    schema = Schema([Attribute(f"q{j}", ("no", "yes")) for j in range(4)])
    mechanism = SplitQuestionnaire.for_amplification(schema, 19, max_length=2)
    survey = Survey("split", "Split", schema, mechanism)
    reports = survey.perturbation.reports(np.zeros((500, 4), dtype=int), np.random.default_rng(1))
    few = Counted(survey, Counts.from_reports(survey, reports), datetime.now(UTC), min_reports=1)
    query = RegressionQuery(outcome="q0", predictors=["q1", "q2", "q3"], estimate="moment")
    with pytest.raises(ParameterError, match=r"^predictors: no report tells of ") as caught:
        ANALYSIS.compute(few, query)
    assert caught.value.field == "predictors"


def test_scores_are_read_as_they_are_written():
    query = RegressionQuery(
        outcome="smoker",
        predictors=["age", "vote"],
        reference={"vote": "none, a=b"},
        scores={"age": "20,45,70"},
    )
    assert write(query)["scores"] == ["age=20,45,70"]
    assert read(RegressionQuery, write(query)) == query
