"""Correlations of scales in measures, the map of associations, crosstabs and comparisons."""

import numpy as np
import pytest
from halftruth_collector.analyses import ANALYSES, AnalysisContext
from halftruth_collector.analyses.answering import answer
from halftruth_collector.analyses.survey_report import survey_report
from halftruth_collector.estimation import Counts
from halftruth_shared import Attribute, ParameterError, Schema, SplitQuestionnaire, Survey
from halftruth_shared.analyses.comparison import ComparisonQuery
from halftruth_shared.analyses.crosstab import CrosstabQuery
from halftruth_shared.analyses.measures import MeasuresQuery
from halftruth_shared.analyses.rules import RulesQuery
from halftruth_shared.mechanisms.split_questionnaire.wanted import WantedTables
from sources import NOW

SCORES = [str(score) for score in range(11)]
GROUPS = {"low": SCORES[:4], "middle": SCORES[4:8], "high": SCORES[8:]}
SCALES = [Attribute(name, SCORES, ordered=True, collapsed=GROUPS) for name in ("trust", "mood")]
SCHEMA = Schema([*SCALES, Attribute("sex", ["m", "f"])])
WANTED = [WantedTables(of=SCHEMA.names)]
SURVEY = Survey("s", "S", SCHEMA, SplitQuestionnaire.designed(SCHEMA, "19", (), WANTED))
CORRELATIONS = ["polychoric", "score_correlation"]


@pytest.fixture(scope="module")
def counts():
    rng = np.random.default_rng(3)
    latent = rng.multivariate_normal(np.zeros(3), np.full((3, 3), 0.6) + 0.4 * np.eye(3), 9_000)
    codes = np.clip(np.rint(5 + 1.9 * latent), 0, 10).astype(int)
    codes[:, 2] = latent[:, 2] > 0
    return Counts.from_reports(SURVEY, SURVEY.perturbation.reports(codes, rng))


def ask(query, counts):
    [analysis] = [each for each in ANALYSES.values() if isinstance(query, each.query)]
    context = AnalysisContext(SURVEY, counts, NOW, min_reports=10)
    result = answer(analysis, context, query)
    return result, analysis.present(result).text()


@pytest.mark.parametrize(
    "query",
    [
        MeasuresQuery(attributes=["trust", "mood"]),
        CrosstabQuery(attributes=["trust", "mood"]),
        ComparisonQuery(answer={"trust": "high"}, groups="mood", trend=True),
    ],
)
def test_two_scales_have_correlations_with_tests(query, counts):
    result, text = ask(query, counts)
    found = [row for row in result.rows if row.quantity in CORRELATIONS]
    assert [row.quantity for row in found] == CORRELATIONS
    assert all(row.p_value < 1e-4 and row.interval[0] < row.value for row in found)
    assert abs(found[0].value - 0.6) < 0.2
    assert "Correlation of two scales" in text
    assert "correlation of ranks (test for trend)" in text


def test_other_questions_have_none(counts):
    for query in (
        MeasuresQuery(attributes=["trust", "sex"]),
        CrosstabQuery(attributes=["sex", "mood"]),
        ComparisonQuery(answer={"sex": "f"}, groups="mood", trend=True),
        ComparisonQuery(answer={"trust": "high"}, groups="mood"),
    ):
        result, _ = ask(query, counts)
        assert not {row.quantity for row in result.rows}.intersection(CORRELATIONS)


def test_named_measures_are_in_their_order(counts):
    names = ["tau_b", "polychoric", "concentration"]
    result, _ = ask(MeasuresQuery(attributes=["trust", "mood"], measures=names), counts)
    assert [row.quantity for row in result.rows] == names


def test_the_map_tells_scales_from_other_pairs(counts):
    result, text = ask(MeasuresQuery(), counts)
    assert result.find("polychoric", row="trust", column="mood").adjusted_p_value < 0.01
    assert result.find("cramers_v", row="trust", column="sex").value > 0
    assert "Associations of scales: polychoric correlation" in text
    assert "Associations of other pairs: Cramér’s V" in text


def test_rules_have_no_correlation_of_scales(counts):
    query = RulesQuery(
        antecedent={"trust": "low"}, consequent={"mood": "low"}, measures=["polychoric"]
    )
    with pytest.raises(ParameterError, match="of the table of two scales"):
        ask(query, counts)


@pytest.mark.parametrize("people", [9_000, 6_000])
def test_the_report_and_the_map_find_the_same_pairs(people):
    """Both test two scales by their correlation, and other pairs by their cells."""
    rng = np.random.default_rng(8)
    latent = rng.multivariate_normal(np.zeros(3), np.full((3, 3), 0.3) + 0.7 * np.eye(3), people)
    codes = np.clip(np.rint(5 + 1.9 * latent), 0, 10).astype(int)
    codes[:, 2] = latent[:, 2] > 0
    counts = Counts.from_reports(SURVEY, SURVEY.perturbation.reports(codes, rng))
    of_map, _ = ask(MeasuresQuery(), counts)
    report = survey_report(AnalysisContext(SURVEY, counts, NOW, min_reports=10))
    adjusted = {
        frozenset(row.keys.values()): row.adjusted_p_value
        for row in of_map.rows
        if row.adjusted_p_value is not None
    }
    found = [pair for pair, p_value in adjusted.items() if p_value <= 0.05]
    assert report.claim.count == len(adjusted)
    assert len(report.claim.rows) == len(found) > 0
    [correlation] = [row for row in report.associations.rows if row[0].text == "trust and mood"]
    [row] = [row for row in of_map.rows if (row["row"], row["column"]) == ("trust", "mood")]
    assert correlation[1].text == f"correlation {row.value:.2f}"
    assert f"{correlation[0].text}: {correlation[1].text} (" in " ".join(report.findings)
    assert "of people; 0 if" not in " ".join(report.findings)
