"""Test of how often each view was reported: its level, its power, and what is said of it."""

from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction

import numpy as np
import pytest
from halftruth_collector.analyses import ANALYSES, AnalysisContext
from halftruth_collector.estimation import Counts
from halftruth_collector.estimation.views import compare_views
from halftruth_shared import Attribute, GammaDiagonal, Schema, SplitQuestionnaire, Survey
from halftruth_shared.analyses.counts import CountsQuery
from halftruth_shared.survey import Reporting

SIZES = [2, 4, 3, 2, 5, 2, 3, 2]
SCHEMA = Schema(
    [Attribute(f"q{j}", [f"a{code}" for code in range(d)]) for j, d in enumerate(SIZES)]
)
SPLIT = SplitQuestionnaire.designed(SCHEMA, Fraction(19), (), {1: 1.0, 2: 1.0})
SURVEY = Survey("s", "S", SCHEMA, SPLIT)


def reported(people, rng, chosen=0):
    """Return counts of reports of people, and of some that were made up about the first view."""
    rows = SURVEY.perturbation.reports(np.zeros((people, len(SIZES)), dtype=int), rng)
    return Counts.from_reports(SURVEY, np.vstack([rows, np.zeros((chosen, 1), dtype=int)]))


# Fewer and more reports than views.
@pytest.mark.parametrize("people", [40, 2_000])
def test_the_test_of_views_keeps_its_level(people):
    rng = np.random.default_rng(people)
    found = np.array([compare_views(SURVEY, reported(people, rng)).p_value for _ in range(400)])
    # Of 400 tests 20 are expected below 5 %, with a standard deviation of 4.4.
    assert 8 <= (found < 0.05).sum() <= 34
    assert 0.4 < np.median(found) < 0.6


def test_the_test_of_views_sees_many_chosen_reports_and_not_a_few():
    rng = np.random.default_rng(3)
    views = len(SURVEY.perturbation.views)
    few = [compare_views(SURVEY, reported(3_000, rng, 10)).p_value for _ in range(50)]
    many = [
        compare_views(SURVEY, reported(3_000, rng, 3_000 // views * 3)).p_value for _ in range(50)
    ]
    assert np.mean(np.array(few) < 0.01) < 0.2
    assert np.mean(np.array(many) < 0.01) > 0.95


def test_only_surveys_with_several_views_are_tested():
    plain = Survey("s", "S", SCHEMA, GammaDiagonal("19"))
    rows = np.zeros((5, len(SIZES)), dtype=int)
    assert compare_views(plain, Counts.from_reports(plain, rows)) is None
    assert compare_views(SURVEY, Counts.from_reports(SURVEY, np.zeros((0, 1), dtype=int))) is None


def test_counts_say_what_is_known_of_who_chooses():
    rng = np.random.default_rng(5)

    def said(survey, counts, **more):
        context = AnalysisContext(survey, counts, datetime.now(UTC), min_reports=1, **more)
        analysis = next(each for each in ANALYSES.values() if each.query is CountsQuery)
        return {each.code: each for each in analysis.compute(context, CountsQuery()).caveats}

    expected = said(SURVEY, reported(3_000, rng))
    usual, usual_codes = expected["views"], expected.keys()
    assert usual.weight == "note"
    assert usual.sentence.startswith(
        "Groups of questions were reported about as often as the design"
    )
    odd = said(SURVEY, reported(3_000, rng, 400))["views"]
    assert odd.weight == "warning"
    assert "p-value below 0.0001" in odd.sentence
    by_ticket = replace(SURVEY, reporting=Reporting(tickets="required"))
    found = said(by_ticket, reported(30, rng), tickets=lambda: (41, 30))
    assert found["tickets"].sentence.startswith("41 tickets were issued, and 30 came with reports.")
    assert "views" not in found
    # Reports from files have no tickets, so the test is of how often questions were reported.
    assert said(by_ticket, reported(3_000, rng), tickets=lambda: (0, 0)).keys() == usual_codes
