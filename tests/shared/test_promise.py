"""What a survey promises where questions depend on answers."""

import math
import random
from fractions import Fraction
from itertools import product

import msgspec
import numpy as np
import pytest
from halftruth_shared import ParameterError, Protection, SchemaError, Survey

from tests.support.dependent import AFTER, REVEALING, VIEWS, document, keep, question
from tests.support.feasible import by_agreement, largest_ratio, small_surveys


def read(mechanism, *questions):
    return Survey.from_json(msgspec.json.encode(document(mechanism, *questions)))


@pytest.mark.parametrize("case", REVEALING)
def test_what_would_reveal_a_protected_answer_is_refused(case):
    with pytest.raises(SchemaError) as refused:
        read(*REVEALING[case])
    assert refused.value.field == "ask_if"
    last = REVEALING[case][-1]
    protected = "uses.tobacco" if last["name"] == "smoker" else "smoker"
    assert f"answer to '{protected}'; expected '{last['name']}" in str(refused.value)


def test_over_several_steps_the_last_protected_answer_is_named():
    chain = [
        question("smoker"),
        question("daily", AFTER, sensitive=False),
        question("brand", {"daily": ["yes"]}, sensitive=False),
    ]
    with pytest.raises(SchemaError, match=r"'daily': ask_if: .* answer to 'smoker'"):
        read(keep(smoker="3/4", daily="1", brand="1"), *chain)
    with pytest.raises(SchemaError, match=r"'brand': ask_if: .* answer to 'daily'"):
        read(keep(smoker="3/4", daily="3/4", brand="1"), *chain)


def test_what_is_perturbed_may_depend_on_anything_and_what_is_not_on_what_is_not():
    read(keep(smoker="3/4", brand="3/4"), question("smoker"), question("brand", AFTER))
    read(
        keep(smoker="1", brand="1"),
        question("smoker", sensitive=False),
        question("brand", AFTER, sensitive=False),
    )
    read(
        VIEWS | {"public": ["smoker"], "views": [{"attributes": [["brand"]], "weight": 1}]},
        question("smoker", sensitive=False),
        question("brand", AFTER),
    )


def position(survey, names):
    return {survey.schema.names.index(name) for name in names}


def worst(weights, records, agree):
    groups = by_agreement(records, agree)
    return max(largest_ratio(weights[:, places]) for places in groups)


def worst_unknown(weights, records, agree, j):
    """All feasible combinations of the others are equally likely, whatever the answer."""
    found = Fraction(1)
    for places in by_agreement(records, agree):
        answers = by_agreement([records[place] for place in places], {j})
        sums = [weights[:, [places[i] for i in answer]].sum(axis=1) for answer in answers]
        found = max(found, largest_ratio(np.array(sums).T, list(map(len, answers))))
    return found


def worst_of_proved(weights, records, agree, others):
    """By so much a report is likelier under answers that are not proved, by position."""
    found = Fraction(1)
    for places in by_agreement(records, agree):
        over = [p for p in places if all(records[p][j] == other for j, other in others.items())]
        under = [p for p in places if p not in over]
        if not over or not under:
            continue
        for row in weights:
            most, least = max(row[over]), min(row[under])
            if most:
                found = max(found, Fraction(most, least) if least else math.inf)
    return found


def assert_kept(case, survey):
    """No ratio of a report's likelihoods under two feasible records exceeds what is promised."""
    promise = Protection.of(survey)
    records, weights = case.feasible(), case.weights()
    apart = position(survey, promise.unperturbed)
    provable = position(survey, promise.provable)
    protected = position(survey, promise.protected)
    assert worst(weights, records, apart | provable) <= promise.record.gamma
    for j in protected:
        others = set(range(len(case.shape))) - case.dependents(j)
        of_answer = worst(weights, records, others | apart | provable)
        assert of_answer <= promise.answer_all_known.gamma
        unknown = worst_unknown(weights, records, apart | provable, j)
        assert unknown <= promise.answer_none_known.gamma
    asked_after = {}
    for name, found in promise.provable.items():
        [j] = position(survey, [name])
        other = survey.schema.attributes[j].categories.index(found.other)
        others = set(range(len(case.shape))) - case.dependents(j)
        of_other = worst_of_proved(weights, records, others | apart, {j: other})
        assert of_other <= found.amplification
        if name in survey.schema.conditional:
            asked_after[j] = other
    # What is asked after an answer that can be proved is told of by the report of that, too.
    if asked_after and protected:
        agree = (apart | provable) - asked_after.keys()
        together = worst_of_proved(weights, records, agree, asked_after)
        assert together <= promise.record.gamma


def unprotected(case):
    """Attributes of which a report rules an answer out, and those of them that are sent as such."""
    weights = case.all_weights()
    every = list(product(*map(range, case.shape)))
    revealing = {
        j
        for j in range(len(case.shape))
        if worst(weights, every, {*range(len(case.shape))} - {j}) == math.inf
    }
    designs = case.survey["mechanism"].get("designs", {})
    questions = case.survey["attributes"]
    return revealing, {
        j for j in revealing if not questions[j]["sensitive"] and f"a{j}" not in designs
    }


def test_a_small_survey_is_refused_exactly_where_a_report_would_reveal_a_protected_answer():
    refused = leaks = 0
    for case in small_surveys(random.Random(4), 250, most=3):
        revealing, sent = unprotected(case)
        expected = any(case.conditions[j].keys() - sent for j in revealing)
        try:
            Survey.from_json(msgspec.json.encode(case.survey))
            found = False
        except SchemaError:
            found = True
        except ParameterError:
            continue
        assert found == expected, case.survey
        if found:
            refused += 1
            # Without the check, the promise would not hold for who knows what does not depend.
            free = {j for j in sent if not case.ancestors(j) - sent}
            leaks += worst(case.weights(), case.feasible(), free) == math.inf
    # Of some, no record meets the condition.
    assert refused > 20
    assert leaks > 0.9 * refused


def test_no_report_of_any_small_survey_tells_more_than_is_promised():
    asked = refused = conditional = 0
    for case in small_surveys(random.Random(20), 500):
        try:
            survey = Survey.from_json(msgspec.json.encode(case.survey))
        except SchemaError:
            refused += 1
            continue
        except ParameterError:
            continue
        asked += 1
        conditional += bool(survey.schema.conditional)
        assert_kept(case, survey)
    assert (asked > 300, refused > 20, conditional > 100) == (True,) * 3


def test_the_answer_that_five_questions_are_asked_after_is_told_by_all_of_their_reports():
    names = [f"a{j}" for j in range(5)]
    survey = read(
        {"kind": "randomized-response", "keep": dict.fromkeys(["smoker", *names], "3/4")},
        question("smoker"),
        *(question(name, AFTER, categories=["yes"]) for name in names),
    )
    answer = Protection.of(survey).sentences()[-2]
    # The same as of the whole record, 3 of each question.
    assert "729" in answer
    assert "whether or not the other answers are known" in answer
