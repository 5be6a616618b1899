"""The overview against Warner's estimator, worked by hand from the counts."""

import math
from datetime import date

import numpy as np
import pytest
from halftruth_collector.analyses import ANALYSES
from halftruth_collector.estimation import Counts
from halftruth_collector.web.pages.overview import ENDS, Bar, by_day, cards
from halftruth_shared import Attribute, RandomizedResponse, Schema, Survey
from halftruth_shared.analyses.base import DayCount
from halftruth_shared.analyses.overview import OverviewQuery
from halftruth_shared.results.charts.drawing import draw
from halftruth_shared.results.estimate import Estimate
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
    return ANALYSES["overview"].compute(counted, OverviewQuery(**query))


@pytest.mark.parametrize("target", ["population", "respondents"])
def test_every_share_and_its_error_are_those_of_warner(target):
    result = overview(target=target)
    total = sum(CELLS.values())
    for position, question in enumerate(result.questions):
        attribute = SCHEMA.attributes[position]
        keep, categories = KEEP[attribute.name], len(attribute.categories)
        other = (1 - keep) / (categories - 1)
        for code, found in enumerate(question.answers):
            reported = sum(n for cell, n in CELLS.items() if cell[position] == code) / total
            share = (reported - other) / (keep - other)
            assert found.answer == attribute.categories[code]
            assert found.value == pytest.approx(share, abs=1e-12)
            # Of a share of reports, less what sampling alone gives where these people are meant.
            variance = reported * (1 - reported) / (keep - other) ** 2
            if target == "respondents":
                variance -= share * (1 - share)
            error = math.sqrt(variance / (total - 1))
            assert found.standard_error == pytest.approx(error, rel=1e-3)
            assert found.interval == pytest.approx(
                (share - 1.96 * error, share + 1.96 * error), rel=1e-2
            )


@pytest.mark.parametrize("target", ["population", "respondents"])
def test_each_error_is_told_apart_into_perturbation_and_sampling(target):
    """What Warner's estimator adds to the error of a share that everybody tells openly."""
    people = sum(CELLS.values()) - 1
    for question in overview(target=target).questions:
        for found in question.answers:
            openly = found.value * (1 - found.value) / people if target == "population" else 0.0
            assert found.sampling_error == pytest.approx(math.sqrt(openly), abs=1e-9)
            total = found.perturbation_error**2 + found.sampling_error**2
            assert found.standard_error == pytest.approx(math.sqrt(total))
    chart = ANALYSES["overview"].chart(overview(target=target))
    for bar in chart.rows:
        if target == "respondents":
            assert bar.inner is None
        else:
            assert bar.lower < bar.inner[0] < bar.value < bar.inner[1] < bar.upper


def test_where_an_estimate_is_impossible_its_sampling_error_is_undefined():
    few = Counts.from_cells(SURVEY, [[0, 0], [1, 0]], [79, 21])
    counted = source_of(SURVEY, few)
    result = ANALYSES["overview"].compute(counted, OverviewQuery(attributes=["smoker"]))
    for found in result.questions[0].answers:
        assert not 0 <= found.value <= 1
        assert found.sampling_error is None
        assert found.perturbation_error > 0


def test_cards_draw_what_charts_do_on_the_same_axis():
    few = Counts.from_cells(SURVEY, [[0, 0], [0, 2]], [30, 10])
    vague = ANALYSES["overview"].compute(source_of(SURVEY, few), OverviewQuery())
    for result in (overview(), vague):
        rows = ANALYSES["overview"].chart(result).rows
        drawn = [bar.mark for card in cards(SURVEY, result, str) for bar in card.bars]
        assert drawn == list(rows)
    assert {row.doubtful for row in rows} == {True}
    figure = draw(ANALYSES["overview"].chart(overview()))
    assert figure.axes[0].get_xlim() == pytest.approx([end / 100 for end in ENDS])


def test_a_bar_in_a_card_has_an_arrow_where_its_interval_goes_on():
    share = Estimate(value=-0.02, interval=(-0.09, 0.05), reliability="usable")
    bar = Bar.of("yes", share, 0.95)
    assert bar.rectangle == (-2.0, 2.0)
    assert bar.line == "M-4.0 5H5.0M-1.0 2L-4.0 5L-1.0 8M5.0 3V7"
    assert (bar.inner, bar.mark.doubtful) == ("", False)
    assert Bar.of("yes", Estimate(undefined="nobody was asked"), 0.95).line == ""


def test_reports_are_told_by_day():
    counts = Counts.from_cells(SURVEY, [[0, 0]], [90])
    days = {date(2026, 5, day): 10 for day in range(1, 10)}
    counted = source_of(SURVEY, counts, days=days)
    result = ANALYSES["overview"].compute(counted, OverviewQuery())
    assert {found.day: found.reports for found in result.days} == days
    [said] = [line for line in ANALYSES["overview"].interpretation(result) if "by day" in line]
    assert said.startswith("Reports by day (UTC): 2026-05-03 10, ")
    assert said.endswith("2026-05-09 10; earlier ones on 2 more days.")


def test_days_without_reports_are_drawn_with_none_and_one_day_is_not_drawn():
    def drawn(days):
        return by_day([DayCount(day=date(2026, 2, day), reports=n) for day, n in days.items()])

    days = [(each.day.day, each.reports, each.part) for each in drawn({25: 40, 27: 20, 28: 30})]
    assert days == [(25, 40, 100), (26, 0, 0), (27, 20, 50), (28, 30, 75)]
    assert drawn({25: 60}) == []


def test_the_first_sentence_says_when_reports_came_and_how_precise_shares_are():
    result = overview()
    margins = sorted(
        (answer.interval[1] - answer.interval[0]) / 2
        for question in result.questions
        for answer in question.answers
    )
    said = ANALYSES["overview"].headline(result).replace("\u202f", " ")
    assert said.startswith("2 000 reports. The typical margin of error of a share is ±")
    middle = float(said.rpartition("±")[2].partition(" ")[0])
    assert middle == pytest.approx(100 * np.median(margins), rel=0.05)


def test_questions_are_told_by_their_labels_and_in_the_order_asked_for():
    assert [q.label for q in overview().questions] == ["Do you smoke?", "drinks"]
    assert [q.attribute for q in overview(attributes=["drinks"]).questions] == ["drinks"]
    grid = ANALYSES["overview"].grid(overview())
    assert [row[0] for row in grid.rows] == ["smoker", "", "drinks", "", ""]
    chart = ANALYSES["overview"].chart(overview())
    assert [group.heading for group in chart.panels] == ["smoker", "drinks"]
    assert "2\u202f000 reports" in chart.description


def test_a_question_that_is_not_known_precisely_is_named():
    few = Counts.from_cells(SURVEY, [[0, 0], [1, 1]], [6, 4])
    result = ANALYSES["overview"].compute(source_of(SURVEY, few), OverviewQuery())
    said = ANALYSES["overview"].warnings(result)
    assert [line.split(" is ")[0] for line in said] == ["smoker", "drinks"]
