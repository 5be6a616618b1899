"""The choice between promises in plans: four designs, with what each protects and tells."""

import math
import re
from fractions import Fraction

import pytest
from halftruth_collector.estimation.planning.planner import plan
from halftruth_collector.estimation.planning.promises import compare_promises
from halftruth_collector.estimation.planning.summaries import Chosen
from halftruth_collector.estimation.planning.wording import promise_notes, promise_table
from halftruth_shared import (
    Attribute,
    DistortionMatrices,
    GammaDiagonal,
    RandomizedResponse,
    Schema,
    SplitQuestionnaire,
    Survey,
)
from halftruth_shared.analyses.plan import PlanQuery

NAMES = [f"q{j}" for j in range(10)]
TEN = Schema([Attribute(name, ["no", "yes"]) for name in NAMES])
QUERY = PlanQuery(respondents=3_000)
SPLIT = SplitQuestionnaire.for_amplification(TEN, 19, max_length=2)


def planned(mechanism, schema=TEN, query=QUERY, **more):
    return plan(Survey("s", "S", schema, mechanism, **more), query)


def compared(mechanism, schema=TEN, **more):
    """Return the lines of a survey, without the rest of its plan."""
    survey = Survey("s", "S", schema, mechanism, **more)
    gamma = survey.perturbation.amplification(public=survey.perturbation.unperturbed)
    return compare_promises(Chosen(survey, QUERY), gamma, 2)


def share_of(line):
    return next(each.median for each in line.margins if each.quantity == "share")


def test_four_designs_show_what_a_promise_by_answer_costs_and_gains():
    lines = compared(SPLIT)
    said = [(each.kind, each.promise, each.gamma, each.own) for each in lines]
    assert said == [
        ("split-questionnaire", "record", 19, True),
        ("randomized-response", "record", 19, False),
        ("randomized-response", "answer", 5, False),
        ("randomized-response", "answer", 19, False),
    ]
    single = [each.answer_amplification for each in lines]
    assert single == pytest.approx([19, 19**0.1, 5, 19])
    # Ten answers of γ = 5 are 9.8 million for the record.
    assert [each.amplification for each in lines] == pytest.approx([19, 19, 5**10, 19**10])
    # Half of the reports are "yes" for even answers; Warner's estimate divides by 2p − 1.
    for line, each in zip(lines[1:], (19**0.1, 5, 19), strict=True):
        kept = each / (each + 1)
        margin = 1.96 / 2 / math.sqrt(3_000) / (2 * kept - 1)
        assert share_of(line) == pytest.approx(margin, rel=0.01)
    assert 1.8 < share_of(lines[0]) / share_of(lines[2]) < 2.1


def test_the_survey_itself_is_one_of_the_designs():
    for gamma, other in ((5, 19), (7, 19), (19, 5)):
        lines = compared(RandomizedResponse.for_answers(TEN, gamma), promise="answer")
        assert [(each.gamma, each.own) for each in lines[2:]] == [(gamma, True), (other, False)]
        assert [(each.gamma, each.own) for each in lines[:2]] == [(19, False)] * 2
    whole = compared(RandomizedResponse.for_amplification(TEN, 9))
    assert [each.own for each in whole] == [False, True, False, False]
    assert [each.gamma for each in whole[:2]] == pytest.approx([9, 9])


GROUPED = Attribute(
    "income", ["0", "1", "2", "3"], collapsed={"low": ["0", "1"], "high": ["2", "3"]}
)


def test_public_questions_and_groups_of_answers_do_not_stand_in_the_way():
    schema = Schema([Attribute("age", ["young", "old"], sensitive=False), *TEN.attributes, GROUPED])
    mechanism = SplitQuestionnaire.for_amplification(schema, 19, ["age"], 2)
    lines = compared(mechanism, schema)
    # Answers are in detail in all designs, so the survey's own one is none of them.
    assert [each.own for each in lines] == [False] * 4
    amplifications = [each.amplification for each in lines]
    assert amplifications == pytest.approx([19, 19, 5**11, 19**11])


@pytest.mark.parametrize(
    ("mechanism", "schema", "query"),
    [
        (GammaDiagonal(19), Schema(TEN.attributes[:1]), QUERY),
        (SPLIT, TEN, PlanQuery(alone=True)),
        (
            DistortionMatrices(
                {}, {name: {"design": "warner", "p": "3/4"} for name in NAMES}, "respondent"
            ),
            TEN,
            QUERY,
        ),
        (
            RandomizedResponse(dict.fromkeys(NAMES, 1)),
            Schema([Attribute(name, ["no", "yes"], sensitive=False) for name in NAMES]),
            QUERY,
        ),
    ],
    ids=["one question", "alone", "by respondents", "nothing perturbed"],
)
def test_there_is_no_choice_to_show(mechanism, schema, query):
    assert planned(mechanism, schema, query).promises == []


def test_every_line_says_what_both_can_learn():
    heads, lines = promise_table(planned(RandomizedResponse.for_answers(TEN, 5), promise="answer"))
    assert heads[1:3] == ["who knows all other answers", "anybody else"]
    for line, gammas in zip(lines, [(19, 19), (None, 19), (5, 5**10), (19, 19**10)], strict=True):
        for cell, gamma in zip(line[1:3], gammas, strict=True):
            percent = float(re.match(r"[\d.]+", cell)[0])
            if gamma is not None:
                # The posterior of a prior of 5 %, rounded up to a tenth.
                exact = Fraction(gamma, gamma + 19)
                assert percent == math.ceil(1000 * exact) / 10
    assert "(the survey's)" in lines[2][0]
    [note] = promise_notes()
    assert "can learn more if answers are related" in note
