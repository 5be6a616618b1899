"""An audit has every part that applies to a survey, and its statement describes it."""

import math
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest
from halftruth_collector.disclosure import posterior
from halftruth_collector.disclosure.audit import audit
from halftruth_collector.disclosure.linking import linking_risk_of
from halftruth_collector.disclosure.statement import MAX_ROWS, statement
from halftruth_collector.estimation.planning.margins import Expectation
from halftruth_shared import (
    Attribute,
    DistortionMatrices,
    GammaDiagonal,
    ParameterError,
    Protection,
    RandomizedResponse,
    Relay,
    Schema,
    Survey,
)
from halftruth_shared.results.wording import number

SCHEMA = Schema(
    [
        Attribute("sex", ["f", "m"]),
        Attribute("town", ["A", "B", "C"], sensitive=False),
        Attribute("illness", ["none", "flu", "hush"]),
    ]
)
RESPONSE = RandomizedResponse({"sex": "3/4", "town": "2/3", "illness": "3/5"})
OPEN_TOWN = RandomizedResponse({"sex": "3/4", "town": "1", "illness": "3/5"})
PEOPLE = np.array([[[30, 5, 1], [20, 4, 0], [9, 0, 0]], [[25, 9, 2], [0, 3, 3], [12, 7, 7]]])


def survey_of(mechanism, schema=SCHEMA):
    return Survey("clinic", "A clinic", schema, mechanism)


def people(names):
    axes = [SCHEMA.names.index(name) for name in names]
    others = tuple(j for j in range(3) if j not in axes)
    order = sorted(axes)
    return PEOPLE.sum(axis=others).transpose([order.index(j) for j in axes])


def said(found):
    return {
        section.title: " ".join((*section.paragraphs, *section.notes))
        for section in statement(found).sections
    }


def test_an_audit_contains_the_results_of_the_separate_analyses():
    survey = survey_of(RESPONSE)
    found = audit(survey, 3_000, people=people, quasi=["town", "sex"], sensitive="illness")
    assert found.protection == Protection.of(survey)
    assert found.pilot == PEOPLE.sum()
    assert found.digest == survey.digest
    expected = Expectation(survey.perturbation, 3_000, people=people)
    margins = [expected.share(name) for name in survey.schema.names]
    assert found.precision[0].median == np.median(margins)
    assert found.twice.gamma == found.protection.record.gamma**2
    assert len(found.answers) == 8
    linked = linking_risk_of(survey, ["town", "sex"], "illness", people(["town", "sex", "illness"]))
    assert found.linking.one_by_one == linked.maximum
    assert found.linking.at_once == linked.of_whole_reports.maximum
    with pytest.raises(FrozenInstanceError):
        found.respondents = 1


def test_people_above_the_limit_are_counted_if_either_risk_exceeds_it(monkeypatch):
    monkeypatch.setattr("halftruth_collector.disclosure.audit.LIMIT", 0.1)
    # For some of these people only one of the two risks exceeds the limit.
    pilot = np.array(
        [[[22, 0, 3], [12, 18, 14]], [[16, 0, 24], [2, 0, 10]], [[0, 7, 3], [2, 0, 40]]]
    )
    order = ["town", "sex", "illness"]

    def counted(names):
        return np.einsum(pilot, [0, 1, 2], [order.index(name) for name in names])

    survey = survey_of(RandomizedResponse({"sex": "77/100", "town": "67/100", "illness": "92/100"}))
    found = audit(survey, 3_000, people=counted, quasi=["town", "sex"], sensitive="illness")
    linked = linking_risk_of(survey, ["town", "sex"], "illness", pilot)
    each = [linked.risk, linked.of_whole_reports.risk]
    at_risk = [
        sum(
            count
            for cell, count in np.ndenumerate(pilot)
            if count and any(r[cell] > 0.1 for r in risks)
        )
        for risks in (each[:1], each[1:], each)
    ]
    assert at_risk[2] > max(at_risk[:2])
    assert found.linking.above == pytest.approx(at_risk[2] / pilot.sum())
    assert (
        "of the people, one of these risks is above"
        in said(found)["Someone who knows quasi-identifiers"]
    )


def test_the_probability_in_the_statement_follows_from_the_tail():
    found = audit(survey_of(GammaDiagonal("19")), 5_000)
    text = said(found)["Someone who sees only the counts"]
    odds = math.exp(found.counts.tail) / 19
    assert f"at most {math.ceil(odds / (1 + odds) * 1000) / 10}" in text.replace("\u202f", " ")
    assert found.counts.tail > found.counts.epsilon
    assert "plus δ" in text


def test_false_reports_are_as_many_as_shift_a_share_by_its_margin():
    # A yes or no that is kept with 3/4: a report has the weight 3/2 or −1/2.
    survey = survey_of(RandomizedResponse({"a": "3/4"}), Schema([Attribute("a", ["no", "yes"])]))
    found = audit(survey, 10_000)
    [length], [false] = found.precision, found.false_reports
    assert false.weight == pytest.approx(1.5)
    [row] = statement(found).sections[-2].table.rows
    assert row[-1] == str(math.ceil(length.median * 10_000 / 1.5))


def test_a_survey_with_unperturbed_answers_has_no_bound_of_the_counts():
    found = audit(survey_of(OPEN_TOWN), 3_000)
    assert found.counts is None
    assert {answer.attribute for answer in found.answers} == {"sex", "illness"}
    texts = said(found)
    assert "sent unperturbed or can be proved" in texts["Someone who sees only the counts"]
    same = "among people with the same answer to “town”"
    assert f"Before and after: {same}." in texts["What one report reveals about an answer"]
    again = texts["Someone who takes part more than once"]
    assert again.startswith(f"All other answers together, {same}, after 2 independent reports")


def test_with_a_pilot_the_bounds_are_among_people_with_the_same_unperturbed_answers():
    """What the town tells of an illness is no part of the bounds."""
    found = audit(survey_of(OPEN_TOWN), 3_000, people=people)
    assert any(answer.joint.most > answer.bound for answer in found.answers)
    text = said(found)["What one report reveals about an answer"]
    assert "The last two columns are among people with the same answer to “town”" in text
    assert all(
        answer.joint.most <= answer.bound
        for answer in audit(survey_of(RESPONSE), 3_000, people=people).answers
    )


def test_provable_answers_are_stated_and_only_the_others_have_posteriors():
    designs = {
        "cheated": {"design": "triangular", "prevalence": "1/4", "not_sensitive": "no"},
        "smokes": {"design": "forced-response", "yes": "1/6", "no": "1/6"},
    }
    schema = Schema([Attribute(name, ["no", "yes"]) for name in designs])
    survey = survey_of(DistortionMatrices({}, designs), schema)
    found = audit(survey, 3_000)
    assert found.counts is None
    assert [(a.attribute, a.category) for a in found.answers] == [
        ("cheated", "yes"),
        ("smokes", "no"),
        ("smokes", "yes"),
    ]
    # 5 % · 4 / (5 % · 4 + 95 %), and γ = 5 for forced responses.
    assert [a.known for a in found.answers] == pytest.approx([4 / 23, 5 / 24, 5 / 24])
    # A report of two times “yes” proves nothing, and both factors count.
    assert [a.bound for a in found.answers] == pytest.approx([20 / 39] * 3)
    texts = said(found)
    for sentence in Protection.of(survey).sentences():
        assert sentence in texts["What each report promises"]
    assert "can be proved divide people" in texts["Someone who sees only the counts"]


def test_the_statement_lists_what_the_guarantee_of_a_relay_depends_on():
    keys = {"key": "1" * 64, "sealing_key": "2" * 64}
    relay = Relay(url="https://relay.example.edu", batch=40_000, **keys)
    survey = replace(survey_of(GammaDiagonal("100")), relay=relay)
    found = audit(survey, 30_000)
    told = said(found)
    assert "Someone who sees only the counts" not in told
    hides = told["What the relay hides, and from whom"]
    assert found.protection.relayed.sentences()[0] in hides
    assert f"to ε = 0.5 with δ = 1 in {number(10**8)}" in hides
    assert "It would pass on none of the planned 30\u202f000 reports" in hides
    rests = told["Assumptions of the promise with the relay"]
    assert rests == " ".join(found.protection.relayed.rests_on())
    assert "invitation" not in " ".join(told.values()).replace("has no invitations", "")


def test_a_survey_without_protection_has_no_guarantees():
    schema = Schema([Attribute("town", ["A", "B"], sensitive=False)])
    found = audit(survey_of(RandomizedResponse({"town": "1"}), schema), 3_000)
    assert found.answers == ()
    texts = said(found)
    assert texts["What each report promises"] == ("Sent as answered, without protection: town.")
    assert not any("Someone" in title for title in texts)


def test_too_few_reports_to_hide_a_person_are_stated():
    assert (
        "So few reports"
        in said(audit(survey_of(GammaDiagonal("19")), 20))["Someone who sees only the counts"]
    )


def test_the_table_of_a_pilot_is_limited_to_the_answers_with_the_largest_gains():
    whole = audit(survey_of(RESPONSE), 3_000, people=people)
    assert len(statement(whole).sections[1].table.rows) == 8
    sizes = [f"c{code}" for code in range(30)]
    many = Schema([Attribute("a", sizes)])
    found = audit(
        survey_of(GammaDiagonal("19"), many), 3_000, people=lambda names: np.arange(1, 31)
    )
    section = statement(found).sections[1]
    assert len(section.table.rows) == MAX_ROWS
    assert f"The table has the {MAX_ROWS} of 30 answers" in section.paragraphs[0]
    gains = {a.category: a.joint.most - a.prior for a in found.answers}
    shown = {row[1] for row in section.table.rows}
    assert min(gains[c] for c in shown) >= max(gains[c] for c in set(gains) - shown)


def test_posteriors_over_too_many_records_are_undefined_with_a_note(monkeypatch):
    monkeypatch.setattr(posterior, "MAX_CELLS", 20)
    section = statement(audit(survey_of(GammaDiagonal("19")), 3_000, people=people)).sections[1]
    assert {row[4] for row in section.table.rows} == {"undefined"}
    assert "undefined" not in {row[5] for row in section.table.rows}
    assert "too many possible records" in section.notes[0]


@pytest.mark.parametrize(
    ("asked", "field"),
    [
        ({"quasi": ["sex"], "sensitive": "illness"}, "pilot"),
        ({"quasi": ["sex"], "people": people}, "sensitive"),
        ({"sensitive": "illness", "people": people}, "quasi"),
        ({"quasi": ["sex"], "sensitive": "sex", "people": people}, "sensitive"),
        ({"delta": 0.0}, "delta"),
    ],
)
def test_missing_or_invalid_arguments_are_named(asked, field):
    with pytest.raises(ParameterError) as raised:
        audit(survey_of(RESPONSE), 3_000, **asked)
    assert raised.value.field == field
