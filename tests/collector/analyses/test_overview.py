"""The overview against Warner's estimator, computed by hand from the counts."""

import math
from datetime import date

import msgspec
import numpy as np
import pytest
from halftruth_collector.analyses import ANALYSES, answer
from halftruth_collector.analyses.survey_report import survey_report
from halftruth_collector.estimation import Counts
from halftruth_shared import Attribute, RandomizedResponse, Schema, SplitQuestionnaire, Survey
from halftruth_shared.analyses.overview import OverviewQuery
from halftruth_shared.results import NAMES
from halftruth_shared.results.layout import Arranged
from sources import source_of

SCHEMA = Schema(
    (
        Attribute("smoker", ("no", "yes"), label="Do you smoke?"),
        Attribute("drinks", ("never", "weekly", "daily")),
    )
)
SURVEY = Survey("health", "Health", SCHEMA, RandomizedResponse({"smoker": "3/4", "drinks": "4/5"}))
CELLS = {(0, 0): 500, (0, 1): 300, (0, 2): 200, (1, 0): 250, (1, 1): 400, (1, 2): 350}
KEEP = {"smoker": 0.75, "drinks": 0.8}


def overview(**query):
    counts = Counts.from_cells(SURVEY, [list(cell) for cell in CELLS], list(CELLS.values()))
    counted = source_of(SURVEY, counts)
    return answer(ANALYSES["overview"], counted, OverviewQuery(**query))


def shares_of(result):
    return [result.rows[place] for place in result.places("share")]


@pytest.mark.parametrize("target", ["population", "respondents"])
def test_every_share_and_its_error_are_those_of_warner(target):
    result = overview(target=target)
    total = sum(CELLS.values())
    for position, attribute in enumerate(SCHEMA.attributes):
        keep, categories = KEEP[attribute.name], len(attribute.categories)
        other = (1 - keep) / (categories - 1)
        for code, place in enumerate(result.places("share", question=attribute.name)):
            found = result.rows[place]
            reported = sum(n for cell, n in CELLS.items() if cell[position] == code) / total
            share = (reported - other) / (keep - other)
            assert found["answer"] == attribute.categories[code]
            assert found.value == pytest.approx(share, abs=1e-12)
            # Variance of a share of reports, without sampling for the respondents themselves.
            variance = reported * (1 - reported) / (keep - other) ** 2
            if target == "respondents":
                variance -= share * (1 - share)
            error = math.sqrt(variance / (total - 1))
            assert found.standard_error == pytest.approx(error, rel=1e-3)
            assert found.interval == pytest.approx(
                (share - 1.96 * error, share + 1.96 * error), rel=1e-2
            )


@pytest.mark.parametrize("target", ["population", "respondents"])
def test_each_error_is_split_into_perturbation_and_sampling(target):
    """The sampling error is that of the same share without perturbation."""
    people = sum(CELLS.values()) - 1
    result = overview(target=target)
    for found in shares_of(result):
        openly = found.value * (1 - found.value) / people if target == "population" else 0.0
        assert found.sampling_error == pytest.approx(math.sqrt(openly), abs=1e-9)
        total = found.perturbation_error**2 + found.sampling_error**2
        assert found.standard_error == pytest.approx(math.sqrt(total))
    chart = ANALYSES["overview"].chart(result)
    for _, bar in chart.rows:
        if target == "respondents":
            assert chart.inner(bar) is None
        else:
            lower, upper = chart.inner(bar)
            assert bar.drawn[0] < lower < bar.value < upper < bar.drawn[1]


def test_the_sampling_error_of_an_impossible_estimate_is_undefined():
    few = Counts.from_cells(SURVEY, [[0, 0], [1, 0]], [79, 21])
    counted = source_of(SURVEY, few)
    result = answer(ANALYSES["overview"], counted, OverviewQuery(attributes=["smoker"]))
    for found in shares_of(result):
        assert not 0 <= found.value <= 1
        assert found.sampling_error is None
        assert found.perturbation_error > 0


def test_reports_are_listed_by_day():
    counts = Counts.from_cells(SURVEY, [[0, 0]], [90])
    days = {date(2026, 5, day): 10 for day in range(1, 10)}
    counted = source_of(SURVEY, counts, days=days)
    result = answer(ANALYSES["overview"], counted, OverviewQuery())
    [caveat] = [each for each in result.caveats if each.code == "days"]
    assert caveat.values["days"] == {day.isoformat(): reports for day, reports in days.items()}
    said = caveat.sentence
    assert said.startswith("Reports by day (UTC): 2026-05-03 10, ")
    assert said.endswith("2026-05-09 10; earlier ones on 2 more days.")


def test_a_chart_has_only_complete_questions():
    result = overview()
    for most, drawn in ((2, 2), (4, 2), (5, 5), (1, 2)):
        block = msgspec.structs.replace(ANALYSES["overview"].layout(result, NAMES)[0], most=most)
        assert len(Arranged(result, block).chart.rows) == drawn
    assert Arranged(result, block).chart.notes == ("Shown are the first 2 of 5 rows.",)


def test_a_question_with_imprecise_shares_is_named():
    few = Counts.from_cells(SURVEY, [[0, 0], [1, 1]], [6, 4])
    result = answer(ANALYSES["overview"], source_of(SURVEY, few), OverviewQuery())
    said = [caveat.values["question"] for caveat in result.caveats if caveat.weight == "warning"]
    assert said == ["smoker", "drinks"]


def test_a_question_that_no_report_is_about_yet_does_not_hide_the_others():
    """Each report of a split questionnaire is about a few questions, drawn at random."""
    schema = Schema([Attribute(f"q{j}", ["no", "yes", "hush"][: 2 + j // 4]) for j in range(6)])
    survey = Survey("few", "Few", schema, SplitQuestionnaire.designed(schema, "19", (), {1: 1.0}))
    assert {len(view.positions) for view in survey.perturbation.views} == {2, 3}
    # Four people sent the same report, which is about two or three of the six questions.
    reports = survey.perturbation.reports(np.zeros((1, 6), int), np.random.default_rng(1))
    counted = source_of(survey, Counts.from_cells(survey, reports.tolist(), [4]))
    result = answer(ANALYSES["overview"], counted, OverviewQuery())
    known = {row["question"] for row in shares_of(result) if row.value is not None}
    assert len(known) in (2, 3)
    assert {row["question"] for row in shares_of(result) if row.undefined} == {
        *schema.names
    } - known
    said = ANALYSES["overview"].present(result).warnings
    assert any("no report is about this question yet" in each for each in said)
    # The report has the same, and tests pairs that are reported.
    assert len(survey_report(counted).charts) == 6
