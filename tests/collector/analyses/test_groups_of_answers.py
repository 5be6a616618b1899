"""Queries of collapsed answers: in groups if they are about several questions, in detail if not."""

from datetime import UTC, datetime

import numpy as np
import pytest
from halftruth_collector.analyses import ANALYSES, AnalysisContext, identified
from halftruth_collector.analyses.answering import answer
from halftruth_collector.analyses.base import is_in_groups
from halftruth_collector.analyses.labels import labels_of
from halftruth_collector.estimation import Counts
from halftruth_collector.web.pages.controls import controls
from halftruth_shared import ParameterError, Survey
from halftruth_shared.analyses.comparison import ComparisonQuery
from halftruth_shared.analyses.crosstab import CrosstabQuery
from halftruth_shared.analyses.distribution import DistributionQuery
from halftruth_shared.analyses.itemsets import ItemsetsQuery
from halftruth_shared.analyses.overview import OverviewQuery
from halftruth_shared.analyses.table import TableQuery

SURVEY = Survey.from_toml(
    """
id = "incomes"
title = "Incomes"
[mechanism]
kind = "split-questionnaire"
gamma = "19"
public = ["sex"]
[[mechanism.tables]]
of = ["drugs"]
by = ["income", "sex"]
[[attributes]]
name = "sex"
categories = ["f", "m"]
sensitive = false
[[attributes]]
name = "income"
categories = ["1", "2", "3", "4", "5"]
ordered = true
missing = ["refused"]
collapsed = { low = ["1", "2"], high = ["3", "4", "5"] }
short_answers = { low = "below 3" }
[[attributes]]
name = "drugs"
categories = ["no", "yes"]
[[attributes]]
name = "town"
categories = ["a", "b", "c"]
"""
)
DETAIL, GROUPS = ("1", "2", "3", "4", "5", "refused"), ("low", "high", "refused")

#: Queries with the answers to the collapsed question that their results have.
QUERIES = [
    (OverviewQuery(), DETAIL),
    (OverviewQuery(where={"sex": "f"}), DETAIL),
    (OverviewQuery(estimate="likelihood"), DETAIL),
    (OverviewQuery(attributes=["income"], merge={"income": [["4", "5"]]}), ("1", "2", "3")),
    (OverviewQuery(attributes=["income"], missing="exclude"), DETAIL[:-1]),
    (OverviewQuery(attributes=["income"], where={"drugs": "yes"}), GROUPS),
    (OverviewQuery(attributes=["income", "drugs"], estimate="model"), GROUPS),
    (TableQuery(attributes=["income"]), DETAIL),
    (TableQuery(attributes=["sex", "income"]), DETAIL),
    (TableQuery(attributes=["income", "drugs"]), GROUPS),
    (CrosstabQuery(attributes=["income", "drugs"]), GROUPS),
    (ComparisonQuery(answer={"drugs": "yes"}, groups="income"), GROUPS),
    (ItemsetsQuery(min_support=0.05, max_length=2), GROUPS[:-1]),
]


@pytest.fixture(scope="module")
def counts():
    rng = np.random.default_rng(2)
    records = np.stack([rng.integers(size, size=4_000) for size in SURVEY.schema.shape], axis=1)
    return Counts.from_reports(SURVEY, SURVEY.perturbation.reports(records, rng))


def ask(query, counts):
    [analysis] = [each for each in ANALYSES.values() if isinstance(query, each.query)]
    context = AnalysisContext(SURVEY, counts, datetime.now(UTC), min_reports=10)
    return analysis, answer(analysis, context, query)


@pytest.mark.parametrize(("query", "answers"), QUERIES)
def test_results_have_answers_in_detail_or_in_groups(query, answers, counts):
    analysis, result = ask(query, counts)
    assert is_in_groups(SURVEY, query) == (answers[0] == "low")
    text = str([list(row.keys.values()) for row in result.rows])
    assert all(f"{each}'" in text for each in answers)
    others = set(DETAIL + GROUPS) - set(answers) - {"refused"}
    assert not any(f"'{each}'" in text for each in others)
    # What people read says so, with labels.
    shown = analysis.present(result, labels_of(SURVEY, query)).text()
    assert ("below 3" in shown) == (answers[0] == "low")
    said = "are in groups, as in all reports about several questions"
    assert any(said in each.sentence for each in result.caveats) == (answers[0] == "low")


def test_the_mean_of_a_question_alone_is_of_its_answers(counts):
    _, alone = ask(DistributionQuery(attribute="income"), counts)
    [mean] = [row for row in alone.rows if row.quantity == "mean"]
    assert mean.value == pytest.approx(3, abs=0.5)
    _, by_drugs = ask(DistributionQuery(attribute="income", groups="drugs"), counts)
    means = [row.value for row in by_drugs.rows if row.quantity == "mean"]
    # True means are 3; the middles of the groups are 1.5 and 4.
    assert means == pytest.approx([3] * 3, abs=0.5)


@pytest.mark.parametrize(
    "query",
    [
        ComparisonQuery(answer={"income": "1"}, groups="drugs"),
        ComparisonQuery(answer={"drugs": "yes"}, groups="income", reference="1"),
        OverviewQuery(attributes=["drugs"], where={"income": ["1", "2"]}),
        CrosstabQuery(attributes=["income", "drugs"], merge={"income": [["1", "2"]]}),
    ],
)
def test_an_answer_in_detail_is_refused_where_there_are_groups(query, counts):
    with pytest.raises(ParameterError, match="expected one of: low, high, refused"):
        ask(query, counts)


def test_every_analysis_begins_with_what_is_defined(counts):
    assert len(identified(SURVEY)) > 10
    for analysis in identified(SURVEY):
        query = analysis.start(SURVEY)
        _, result = ask(query, counts)
        assert analysis.present(result, labels_of(SURVEY, query)).headline
        offered = controls(analysis, SURVEY, {})
        values = {option.value for each in offered for group in each.options for option in group}
        assert not any(value == "income=1" for value in values)
        if "where" in analysis.fields:
            assert "income=low" in values


def test_means_by_groups_of_people_are_in_the_unit_of_the_scores(counts):
    """Of 1 and 2 the middle is 1.5, of 3 to 5 it is 4, at most one from each answer."""
    _, result = ask(DistributionQuery(attribute="income", groups="drugs"), counts)
    said = {caveat.code: caveat.values for caveat in result.caveats}
    assert said["scores"]["scores"] == {"low": 1.5, "high": 4.0}
    assert said["bin error"]["error"] == 1.0
    mean = result.find("mean", group="no")
    low = result.find("share", answer="low", group="no")
    assert mean.value == pytest.approx(1.5 * low.value + 4 * (1 - low.value))
