"""Plans of split questionnaires, against simulated errors and the information bound."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from halftruth_collector.estimation.planning import compared
from halftruth_collector.estimation.planning.bound import information_bound
from halftruth_collector.estimation.planning.changes import _Redesign
from halftruth_collector.estimation.planning.margins import Expectation
from halftruth_collector.estimation.planning.planner import plan
from halftruth_collector.estimation.planning.summaries import Chosen
from halftruth_collector.estimation.planning.wording import footnotes, headline
from halftruth_shared import Attribute, GammaDiagonal, Schema, SplitQuestionnaire, Survey, ViewClass
from halftruth_shared.analyses.plan import PlanQuery
from halftruth_shared.mechanisms import MECHANISMS

from .definitions import Z, schema_of

TEN = schema_of((2,) * 10)


def split(schema, longest, gamma="19", public=()):
    mechanism = SplitQuestionnaire.for_amplification(schema, gamma, public, longest)
    return Survey("split", "Split", schema, mechanism)


def widths(survey, respondents):
    """Typical margins of shares of answers to one question, two, and so on."""
    chosen = Chosen(survey, PlanQuery(respondents=respondents))
    planned = chosen.shares_of_lengths(chosen.expectation(survey.perturbation))
    return [each.median for each in planned]


def test_ten_questions_have_the_errors_of_earlier_experiments():
    """Errors with 5 000 respondents in points, from experiments that predate this program."""
    bound = information_bound(TEN, Fraction(19), 5_000, (), [1, 2])
    assert [100 * error for error in bound.values()] == pytest.approx([1.67, 1.92], abs=0.006)
    errors = [100 * each / Z for each in widths(split(TEN, 2), 5_000)]
    assert errors[:2] == pytest.approx([2.00, 2.36], abs=0.015)
    [own, *_] = plan(split(TEN, 2), PlanQuery(alone=True)).mechanisms
    # The ratio is a norm of high order, to which the longer table contributes nearly everything.
    assert own.times_bound == pytest.approx(2.36 / 1.92, rel=0.02)


@pytest.mark.parametrize(
    ("gamma", "target"), [("3/2", "population"), ("19", "respondents"), ("500", "population")]
)
def test_no_mechanism_is_better_than_the_information_bound(gamma, target):
    for schema in (TEN, schema_of((7,)), schema_of((3, 9, 2))):
        survey = Survey("x", "X", schema, GammaDiagonal(gamma))
        result = plan(survey, PlanQuery(respondents=1_000, target=target))
        for mechanism in result.mechanisms:
            # None if the bound is 0, as all respondents may be known.
            assert mechanism.times_bound is None or mechanism.times_bound >= 1 - 1e-6


def test_margins_of_shares_are_those_of_the_perturbed_attributes():
    # Only "yes" is an item, and one attribute is public.
    schema = schema_of((2, 3, 2), items={0: [1]}, public=(1,))
    public = widths(split(schema, 2, public=("b",)), 1_000)
    assert public == pytest.approx(widths(split(schema_of((2, 2)), 2), 1_000))


@pytest.mark.parametrize(
    "questions", [12, *(pytest.param(n, marks=pytest.mark.nightly) for n in (8, 14))]
)
def test_no_mechanism_is_recommended_for_unknown_margins(questions):
    """With max_length = 1 the survey's reports identify few pairs, and others determine none."""
    sizes = [2, 6, 5, 2, 5, 2, 3, 2, 4, 2, 3, 2, 2, 2][:questions]
    schema = schema_of(tuple(sizes))
    survey = Survey("x", "X", schema, split(schema, 1).mechanism)
    result = plan(survey, PlanQuery(respondents=3_000))
    shares = {found.kind: found.margins[0].median for found in result.mechanisms}
    assert result.recommended == "split-questionnaire"
    assert shares[result.recommended] == min(shares.values())
    assert "unknown" not in headline(result)
    assert "no other mechanism" not in headline(result)
    said = " ".join(footnotes(result))
    assert "the reports do not identify the others" in said or "Pairs:" not in said


def test_a_mechanism_without_reports_about_pairs_is_not_recommended(monkeypatch):
    class Single(SplitQuestionnaire):
        kind = "single"

        @classmethod
        def for_amplification(cls, schema, gamma, public=(), max_length=None):
            return super().for_amplification(schema, gamma, public, 1)

    survey = Survey("x", "X", TEN, GammaDiagonal(3))
    monkeypatch.setattr(compared, "MECHANISMS", (*MECHANISMS, Single))
    result = plan(survey, PlanQuery(respondents=10_000))
    by_kind = {found.kind: found for found in result.mechanisms}
    assert [each.quantity for each in by_kind["single"].margins] == ["share"]
    assert by_kind["single"].times_bound is None
    # Although its margin of a share is the smallest.
    shares = {kind: found.margins[0].median for kind, found in by_kind.items()}
    assert shares["single"] == min(shares.values())
    assert result.recommended == "split-questionnaire"


def test_groups_have_people_in_proportion_to_their_numbers_of_answers():
    """Evenly spread answers: two fifths, one fifth and two fifths of the people."""
    income = Attribute(
        "income", tuple("12345"), collapsed={"a": ["1", "2"], "b": ["3"], "c": ["4", "5"]}
    )
    area = Attribute("area", tuple("xyz"), collapsed={"city": ["x", "y"], "land": ["z"]})
    asked = Attribute("rent", ("low", "high"), ask_if={"income": ["1"]})
    schema = Schema([income, area, asked])
    views = [ViewClass(attributes=(schema.names,), choose=(2,), weight=1)]
    expected = Expectation(SplitQuestionnaire("19", views).bind(schema), 1_000)
    design = expected.reading(["income", "area"])
    assert design.shares(["income"]) == pytest.approx([2 / 5, 1 / 5, 2 / 5])
    assert design.shares(["area", "income"]) == pytest.approx(
        np.multiply.outer([2 / 3, 1 / 3], [2 / 5, 1 / 5, 2 / 5])
    )
    # Of the first answer two kinds of people, of the others one.
    assert design.shares(["income", "rent"]) == pytest.approx(
        np.array([[1, 1, 1], [0, 0, 1], [0, 0, 2]]) / 6
    )
    # A pilot of these people gives the same margins.
    pilot = replace(expected, people=expected.shares).reading(["income", "area"])
    for quantity in ("share", "share_within", "difference", "odds_ratio"):
        margin = getattr(design, quantity)("area", "income")
        assert margin == pytest.approx(getattr(pilot, quantity)("area", "income"), rel=1e-6)
        assert design.likeness(["income", "area"]) != design.likeness(["area", "income"])


def test_answers_merged_in_pairs_have_people_in_proportion_to_their_numbers():
    schema = schema_of((5, 2))
    expected = Expectation(split(schema, 2).perturbation, 1_000)
    redesign = _Redesign(expected, Fraction(19), 2, schema.shape, (False, False))
    merged = redesign._changed(sizes=(3, 2))
    assert merged.shares(merged.schema.names[:1]) == pytest.approx([2 / 5, 2 / 5, 1 / 5])
