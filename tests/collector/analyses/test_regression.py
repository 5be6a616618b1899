"""Results of regressions: intervals, odds ratios, tests, reliability and warnings."""

import math
from datetime import UTC, datetime
from statistics import NormalDist

import numpy as np
import pytest
from halftruth_collector.analyses import ANALYSES, AnalysisContext, answer
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
from halftruth_shared.results.wording import items
from sources import coefficients

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
UNIT = {"age": "each unit"}


def counted(reports=5_000, survey=SURVEY, seed=7):
    rng = np.random.default_rng(seed)
    age = rng.integers(0, 3, reports)
    smoker = rng.random(reports) < 0.2 + 0.2 * age
    vote = np.where(rng.random(reports) < 0.4, age, rng.integers(0, 3, reports))
    records = np.stack([smoker, age, vote], axis=1).astype(int)
    sent = survey.perturbation.reports(records, rng)
    return AnalysisContext(
        survey, Counts.from_reports(survey, sent), datetime(2026, 5, 9, tzinfo=UTC), min_reports=1
    )


def regression(where=None, **asked):
    query = RegressionQuery(**{"outcome": "smoker", "predictors": ["age", "vote"], **asked})
    return answer(ANALYSIS, where or counted(), query)


@pytest.mark.parametrize("confidence", [0.95, 0.8])
def test_intervals_odds_ratios_and_tests_follow_from_coefficient_and_error(confidence):
    result = regression(confidence=confidence)
    quantile = NORMAL.inv_cdf((1 + confidence) / 2)
    terms = [None, {"age": "middle"}, {"age": "old"}, {"vote": "right"}, {"vote": "none, a=b"}]
    every = coefficients(result)
    assert [found["term"] for found in every] == terms
    for found in every:
        odds = odds_of(result, found)
        ends = [found.value + side * quantile * found.standard_error for side in (-1, 1)]
        assert found.interval == pytest.approx(ends)
        assert odds.value == pytest.approx(math.exp(found.value))
        assert odds.interval == pytest.approx(list(map(math.exp, ends)))
        assert odds.standard_error_log == found.standard_error
        # Coefficient and odds ratio have the same test.
        assert found.statistic * found.value > 0
        assert found.p_value == pytest.approx(2 * NORMAL.cdf(-abs(found.statistic)), abs=1e-12)
        assert odds.p_value == found.p_value
    old = result.find("odds_ratio", term={"age": "old"}, against={"age": "young"})
    # 60 % against 20 % is an odds ratio of 6.
    assert old.interval[0] < 6 < old.interval[1]


def odds_of(result, found):
    """Return the odds, or the odds ratio, of the term of a coefficient."""
    name = "odds" if found.quantity == "intercept" else "odds_ratio"
    return result.find(name, term=found["term"])


def caveat(result, code):
    return next((each.sentence for each in result.caveats if each.code == code), None)


def verdict_on(odds):
    """Return the reliability by the factor of the odds ratio."""
    lower, upper = odds.interval
    factor = math.sqrt(upper / lower)
    if factor <= 1.5:
        return "usable"
    return "barely usable" if factor <= 2 else "not usable"


def test_the_reliability_of_a_coefficient_follows_the_factor_of_its_odds_ratio():
    seen = set()
    for reports in (5_000, 1_500, 700):
        result = regression(counted(reports))
        for found in coefficients(result):
            odds = odds_of(result, found)
            assert found.reliability == odds.reliability == verdict_on(odds)
            seen.add(found.reliability)
    assert seen == {"usable", "barely usable", "not usable"}


def test_few_reports_behind_a_coefficient_cause_a_warning():
    """With 30 unperturbed answers, 95 % intervals of least squares cover 90 %."""
    public = Schema([Attribute(a.name, a.categories, sensitive=False) for a in SCHEMA.attributes])
    survey = Survey("open", "Open", public, RandomizedResponse(dict.fromkeys(SCHEMA.names, 1)))
    asked = {"model": "linear", "scores": {"smoker": "0,5"}, "confidence": 0.05}
    few = regression(counted(30, survey), **asked)
    many = regression(counted(3_000, survey), **asked)
    assert "reports for each cell, intervals cover the" in caveat(few, "few reports")
    assert caveat(few, "few reports") in ANALYSIS.present(few).warnings
    assert caveat(many, "few reports") is None


def test_a_coefficient_of_scores_is_graded_over_their_range():
    """Independent of the unit: over the whole range, the factor is squared here."""
    few = counted(1_000)
    narrow = regression(few, scores={"age": "ranks"}, predictors=["age"])
    wide = regression(few, scores={"age": "0,1000,2000"}, predictors=["age"])
    lower, upper = narrow.find("odds_ratio").interval
    narrow, wide = (each.find("coefficient", term=UNIT) for each in (narrow, wide))
    assert wide.value == pytest.approx(narrow.value / 1000, rel=1e-6)
    assert wide.statistic == pytest.approx(narrow.statistic)
    factor = math.sqrt(upper / lower)
    assert factor < 1.5 < factor**2 < 2
    assert narrow.reliability == wide.reliability == "barely usable"


def test_a_linear_model_has_no_odds():
    asked = {"outcome": "age", "predictors": ["smoker"], "model": "linear"}
    result = regression(**asked, scores={"age": "20,45,70"})
    assert [row.quantity for row in result.rows] == ["intercept", "coefficient"]
    assert {row.reliability for row in result.rows} == {"usable"}
    assert result.rows[1].keys == {"term": {"smoker": "yes"}, "against": {"smoker": "no"}}
    [panel] = ANALYSIS.chart(result).panels
    assert (panel.axis.scale, panel.reference.value) == ("linear", 0)
    scores = "The answers to age count as scores: young 20, middle 45, old 70."
    assert scores in ANALYSIS.present(result).notes


def test_a_model_that_cannot_be_estimated_has_no_number_in_any_presentation():
    result = regression(counted(30), estimate="moment")
    line = "The data cannot carry the model: "
    notice, _ = ANALYSIS.present(result).warnings
    assert notice.startswith(line)
    assert "The choice “estimate: model” " in notice
    terms = [items(row["term"]) for row in result.rows if row["term"]]
    assert any(f"least precise: {term}" in notice for term in terms)
    for row in result.rows:
        assert (row.reliability, row.undefined) == ("not usable", "there are no coefficients")
    frame = result.to_pandas().drop(columns=["reliability", "undefined"])
    assert frame.isna().all(axis=None)
    assert all(row.value is None for _, row in ANALYSIS.chart(result).panels[0].rows)
    assert line in ANALYSIS.chart(result).description


def test_predictors_without_reports_about_all_of_them_are_refused():
    schema = Schema([Attribute(f"q{j}", ("no", "yes")) for j in range(4)])
    mechanism = SplitQuestionnaire.for_amplification(schema, 19, max_length=2)
    survey = Survey("split", "Split", schema, mechanism)
    reports = survey.perturbation.reports(np.zeros((500, 4), dtype=int), np.random.default_rng(1))
    few = AnalysisContext(
        survey, Counts.from_reports(survey, reports), datetime.now(UTC), min_reports=1
    )
    query = RegressionQuery(outcome="q0", predictors=["q1", "q2", "q3"], estimate="moment")
    with pytest.raises(ParameterError, match=r"^predictors: no report is about ") as caught:
        answer(ANALYSIS, few, query)
    assert caught.value.field == "predictors"


def test_written_scores_can_be_read_again():
    query = RegressionQuery(
        outcome="smoker",
        predictors=["age", "vote"],
        reference={"vote": "none, a=b"},
        scores={"age": "20,45,70"},
    )
    assert write(query)["scores"] == ["age=20,45,70"]
    assert read(RegressionQuery, write(query)) == query
