"""Surveys that promise by answer: what may, what γ means, and what the ledger adds up."""

import json
import random
import re
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import msgspec
import numpy as np
import pytest
from halftruth_client import Ledger, LedgerEntry
from halftruth_shared import (
    Attribute,
    DistortionMatrices,
    HalftruthError,
    ParameterError,
    Protection,
    RandomizedResponse,
    Schema,
    Survey,
)
from halftruth_shared.mechanisms import MECHANISMS

from tests.support.dependent import AFTER, document, keep, question
from tests.support.disclosed import Disclosure
from tests.support.feasible import answer_surveys, gamma_surveys

SCHEMA = Schema([Attribute(f"a{j}", ["no", "yes"]) for j in range(3)])
KEPT = keep(a0="5/6", a1="5/6", a2="5/6")
QUESTIONS = [question(f"a{j}") for j in range(3)]


def read(mechanism, *questions, **more):
    return Survey.from_json(json.dumps(document(mechanism, *questions) | more))


def test_the_default_promise_is_not_written_and_the_other_is_part_of_the_digest():
    plain, said = read(KEPT, *QUESTIONS), read(KEPT, *QUESTIONS, promise="record")
    assert plain.promise == said.promise == "record"
    assert plain.digest == said.digest
    assert b"promise" not in plain.canonical_json
    by_answer = read(KEPT, *QUESTIONS, promise="answer")
    assert json.loads(by_answer.canonical_json)["promise"] == "answer"
    assert by_answer.digest != plain.digest
    assert Survey.from_json(by_answer.canonical_json) == by_answer != plain


TOGETHER = {
    "gamma-diagonal": {"gamma": "19"},
    "randomized-gamma-diagonal": {"gamma": "19", "alpha": "1/4", "steps": 4},
    "split-questionnaire": {"gamma": "19", "max_length": 1},
}


@pytest.mark.parametrize("kind", TOGETHER)
def test_mechanisms_that_perturb_answers_together_cannot_promise_by_answer(kind):
    # Each kind of mechanism is either accepted or refused here.
    accepted = {mechanism.kind for mechanism in MECHANISMS if mechanism.is_by_attribute}
    assert accepted == {"randomized-response", "distortion-matrices"}
    assert accepted | TOGETHER.keys() == {mechanism.kind for mechanism in MECHANISMS}
    made = {"kind": kind, **TOGETHER[kind]}
    assert read(made, *QUESTIONS).promise == "record"
    with pytest.raises(ParameterError) as refused:
        read(made, *QUESTIONS, promise="answer")
    assert refused.value.field == "promise"
    assert str(refused.value) == (
        f'promise: {kind} perturbs answers together; expected "record", or answers perturbed one'
        ' by one, with kind = "randomized-response" or "distortion-matrices"'
    )


ZERO = [["1/2", "1/2", "0"], ["1/4", "1/4", "1/2"], ["1/4", "1/4", "1/2"]]
RULED_OUT = [["2/3", "0", "1/3"], ["1/3", "2/3", "0"], ["0", "1/3", "2/3"]]
OPEN = question("a0", sensitive=False)


@pytest.mark.parametrize(
    ("mechanism", "questions", "promise", "message"),
    [
        (KEPT, QUESTIONS, "both", 'expected "record" or "answer"'),
        (KEPT, QUESTIONS, "", 'expected "record" or "answer"'),
        (KEPT, QUESTIONS, 19, 'expected "record" or "answer"'),
        (KEPT, QUESTIONS, ["answer"], 'expected "record" or "answer"'),
        (
            {"kind": "distortion-matrices", "matrices": {"a0": RULED_OUT}},
            [question("a0", categories=["a", "b", "c"])],
            "answer",
            "a report can rule out an answer to 'a0', so it has no γ; expected \"record\", or every"
            " sensitive answer possible given any report",
        ),
        (keep(a0="1"), [OPEN], "answer", 'no answer is perturbed; expected "record"'),
    ],
)
def test_other_promises_are_refused_with_one_line(mechanism, questions, promise, message):
    with pytest.raises(HalftruthError) as refused:
        read(mechanism, *questions, promise=promise)
    assert (str(refused.value), refused.value.field) == (f"promise: {message}", "promise")


@pytest.mark.parametrize("promise", ["both", None, 1])
def test_a_survey_checks_its_promise(promise):
    mechanism = RandomizedResponse(dict.fromkeys(SCHEMA.names, "5/6"))
    with pytest.raises(ParameterError, match=r'^promise: expected "record" or "answer"$'):
        Survey("s", "S", SCHEMA, mechanism, promise=promise)


def test_gamma_of_a_file_is_that_of_each_answer():
    text = """
        id = "s"
        title = "S"
        {promise}
        [mechanism]
        kind = "randomized-response"
        gamma = "5"
        [[attributes]]
        name = "a"
        categories = ["no", "yes"]
        [[attributes]]
        name = "b"
        categories = ["1", "2", "3"]
    """
    survey = Survey.from_toml(text.format(promise='promise = "answer"'))
    assert survey.mechanism.keep == {"a": Fraction(5, 6), "b": Fraction(5, 7)}
    protection = Protection.of(survey)
    assert (protection.answer.gamma, protection.record.gamma) == (5, 25)
    divided = Protection.of(Survey.from_toml(text.format(promise="")))
    assert divided.record.gamma <= 5
    assert divided.answer.gamma < Fraction(9, 4)


def by_its_keep(case, survey):
    """Return an enumeration of the reports, by the probabilities of the published survey."""
    matrices = []
    for size, p in zip(case.shape, survey.mechanism.keep.values(), strict=True):
        own, other = p.numerator * (size - 1), p.denominator - p.numerator
        matrix = np.full((size, size), other, dtype=object)
        np.fill_diagonal(matrix, own)
        matrices.append(matrix)
    whole = np.ones((1, 1), dtype=object)
    for matrix in matrices:
        whole = np.kron(whole, matrix)
    case._weights = lambda: whole
    return Disclosure(case)


def test_the_parts_of_gamma_keep_every_question_within_it():
    """Options of a question, and questions that are asked after it, share its γ."""
    ratios, shared = [], 0
    for case in gamma_surveys(random.Random(30), 40):
        survey = Survey.from_json(json.dumps(case.survey))
        true = by_its_keep(case, survey)
        every = [true.of_question(attributes).ratio for attributes in case.questions]
        assert max(every) <= 5
        assert Protection.of(survey).answer.gamma <= 5
        ratios.append(max(every))
        shared += any(len(attributes) > 1 for attributes in case.questions)
    # A root is rounded down in its twelfth digit or so.
    assert sum(ratio > Fraction(49, 10) for ratio in ratios) > 30
    assert shared > 3


def test_the_ledger_of_waves_has_the_product_of_each_question():
    """Of the ratios of all reports by enumeration, with the options of a question as one."""
    waves = []
    for case in answer_surveys(random.Random(31), 60, most=3):
        try:
            survey = Survey.from_json(json.dumps(case.survey))
        except HalftruthError:
            continue
        if survey.mechanism.randomized_by == "device" and not survey.schema.conditional:
            true = Disclosure(case)
            ratios = {
                case.names[attributes[0]].partition(".")[0]: true.of_question(attributes).ratio
                for attributes in case.questions
                if true.perturbed.intersection(attributes)
            }
            waves.append((survey, ratios, true.whole.ratio))
    assert len(waves) > 10
    for (one, first, whole), (other, second, also) in pairwise(waves):
        ledger = Ledger((LedgerEntry.of(one), LedgerEntry.of(replace(other, id="wave-2"))))
        names = first.keys() | second.keys()
        assert ledger.questions == {n: first.get(n, 1) * second.get(n, 1) for n in names}
        assert ledger.gamma == whole * also


def test_questions_asked_after_an_answer_count_towards_it():
    mechanism = keep(smoker="3/4", brand="3/4")
    survey = read(mechanism, question("smoker"), question("brand", AFTER), promise="answer")
    # Someone who knows the answer to “brand”, which may be “not asked”, knows the other one.
    size = len(survey.schema.attributes[1].categories)
    brand = Fraction(3 * (size - 1))
    assert Protection.of(survey).answer.gamma == 3 * brand == Protection.of(survey).record.gamma
    assert not re.search("protected separately", " ".join(Protection.of(survey).sentences()))


def test_published_surveys_are_written_as_files(tmp_path):
    from halftruth_collector.survey_file import of_survey

    survey = read(KEPT, *QUESTIONS, promise="answer")
    assert Survey.from_toml(of_survey(survey)).digest == survey.digest
    assert msgspec.json.decode(survey.canonical_json)["promise"] == "answer"


def test_respondents_who_randomize_themselves_may_be_promised_an_answer():
    dice = {"design": "forced-response", "yes": "1/6", "no": "1/6"}
    mechanism = DistortionMatrices({}, dict.fromkeys(SCHEMA.names, dice), "respondent")
    protection = Protection.of(Survey("s", "S", SCHEMA, mechanism, promise="answer"))
    assert (protection.answer.gamma, protection.record.gamma) == (5, 125)
