"""Audit of the waves of a series, as an ethics board reads it."""

import itertools
from fractions import Fraction

import pytest
from halftruth_collector.disclosure.audit import audit
from halftruth_collector.disclosure.series import audit_series, series_statement
from halftruth_collector.disclosure.statement import statement
from halftruth_shared import (
    Attribute,
    GammaDiagonal,
    ParameterError,
    RandomizedResponse,
    Schema,
    Series,
    SplitQuestionnaire,
    Survey,
    ViewClass,
)

SMOKER, DRINKS = Attribute("smoker", ("no", "yes")), Attribute("drinks", ("no", "yes"))
WARNER = {"smoker": "3/4", "drinks": "2/3"}


def wave(number, mechanism=None, attributes=(SMOKER, DRINKS), total="400", id="panel"):
    schema = Schema(attributes)
    mechanism = mechanism or RandomizedResponse({n: WARNER[n] for n in schema.names})
    series = Series(id=id, wave=number, total_gamma=total)
    return Survey(f"wave-{number}", "Panel", schema, mechanism, series=series)


def texts(said):
    return " ".join(
        word
        for section in said.sections
        for word in (
            section.title,
            *section.paragraphs,
            *(itertools.chain(*section.table.rows) if section.table else ()),
        )
    )


def test_whole_records_and_questions_cost_what_two_reports_tell_when_enumerated():
    """Warner's two questions, twice: the largest ratio of two chances of any pair of reports."""
    chances = {"smoker": Fraction(3, 4), "drinks": Fraction(2, 3)}
    kept = [chances["smoker"], chances["drinks"]]

    def chance(reports, record):
        found = Fraction(1)
        for report in reports:
            for answer, said, keep in zip(record, report, kept, strict=True):
                found *= keep if answer == said else 1 - keep
        return found

    records = list(itertools.product((0, 1), repeat=2))
    pairs = list(itertools.product(records, repeat=2))
    whole = max(chance(p, a) / chance(p, b) for p in pairs for a in records for b in records)
    smoker = max(chance(p, (a, d)) / chance(p, (1 - a, d)) for p in pairs for a, d in records)
    found = audit_series([wave(1), wave(2)])
    assert found.waves[-1].together.gamma == whole == 36
    assert found.questions[0].known.gamma == smoker == 9
    assert [question.reports for question in found.questions] == [2, 2]


def test_a_question_of_a_rotating_survey_is_reported_on_once_until_all_were():
    one = ViewClass(attributes=(("smoker", "drinks"),), choose=(1,), weight=1)
    split = SplitQuestionnaire("5", [one])
    two = audit_series([wave(n, split) for n in (1, 2)])
    three = audit_series([wave(n, split) for n in (1, 2, 3)])
    assert {(q.reports, q.known.gamma, q.unknown.gamma) for q in two.questions} == {(1, 5, 5)}
    assert {(q.reports, q.known.gamma) for q in three.questions} == {(2, 25)}
    assert two.waves[-1].together.gamma == 25


def test_views_that_are_not_the_same_in_all_waves_rotate_by_no_promise():
    one = ViewClass(attributes=(("smoker", "drinks"),), choose=(1,), weight=1)
    found = audit_series([wave(1, SplitQuestionnaire("5", [one])), wave(2, GammaDiagonal("7"))])
    assert {(q.reports, q.known.gamma) for q in found.questions} == {(2, 35)}
    assert found.differences == ("Wave 2 against wave 1: answers are perturbed in another way.",)


def test_waves_beyond_the_total_are_refused_and_cost_nothing():
    found = audit_series([wave(n, GammaDiagonal("19")) for n in (3, 1, 2)])
    assert [(w.wave, w.together.gamma, w.within) for w in found.waves] == [
        (1, 19, True),
        (2, 361, True),
        (3, 361, False),
    ]
    said = texts(series_statement(found))
    assert "Of waves like wave 1 it takes part in 2." in said
    assert "Who answered all waves before is refused wave 3" in said


@pytest.mark.parametrize("total", ["400", "20"])
def test_a_smaller_total_that_comes_later_bounds_nobody_who_answered_before(total):
    """A device with the ledger of wave 1 takes part in no wave that promises less."""
    found = audit_series([wave(1, GammaDiagonal("19")), wave(2, GammaDiagonal("19"), total=total)])
    assert [(w.together.gamma, w.within) for w in found.waves] == [
        (19, True),
        (361, True) if total == "400" else (19, False),
    ]
    assert found.total.gamma == 400
    assert "Of waves like wave 1 it takes part in 2." in texts(series_statement(found))


def test_questions_in_another_order_are_promised_no_common_rotation():
    """Devices draw another rotation for them: its digest is another one."""
    one = ViewClass(attributes=(("smoker", "drinks"),), choose=(1,), weight=1)
    split = SplitQuestionnaire("5", [one])
    waves = [wave(1, split), wave(2, split, attributes=(DRINKS, SMOKER))]
    assert len({each.mechanism.rotation(each.schema).digest for each in waves}) == 2
    found = audit_series(waves)
    assert {(q.reports, q.known.gamma) for q in found.questions} == {(2, 25)}
    assert found.differences == (
        "Wave 2 against wave 1: asks in another order, or after other answers.",
    )


def test_waves_that_cost_next_to_nothing_are_counted_up_to_the_most_that_a_series_has():
    said = texts(series_statement(audit_series([wave(1, GammaDiagonal("1.0001"))])))
    assert "Of waves like wave 1 it takes part in 1 000." in said.replace("\u202f", " ")


def test_what_is_not_the_same_in_all_waves_is_listed():
    other = Attribute("smoker", ("never", "often"))
    found = audit_series([wave(1), wave(3, attributes=(other,), total="300")])
    assert found.differences == (
        "The waves promise different totals (400, 300); a device keeps the smallest one of the"
        " waves that it takes part in.",
        "Not audited: wave 2, which may cost more.",
        "Wave 3 against wave 1: does not ask drinks.",
        "Wave 3 against wave 1: has other answers to smoker.",
        "Wave 3 against wave 1: answers are perturbed in another way.",
    )


def test_one_file_of_a_series_says_what_is_left_of_the_total():
    said = texts(statement(audit(wave(1), 1_000)))
    assert "What all waves together promise" in said
    assert "γ = 400" in said
    assert "private window or another device" in said
    alone = Survey("alone", "Alone", Schema([SMOKER]), RandomizedResponse({"smoker": "3/4"}))
    assert "What all waves together promise" not in texts(statement(audit(alone, 1_000)))


@pytest.mark.parametrize(
    ("surveys", "said"),
    [
        ([wave(1), wave(1)], "both wave 1; expected different ones"),
        ([wave(1), wave(2, id="other")], "series other, panel; expected one series"),
        (
            [wave(1), Survey("alone", "Alone", Schema([SMOKER]), GammaDiagonal("5"))],
            "'alone' is in no series",
        ),
    ],
)
def test_files_of_no_single_series_are_refused(surveys, said):
    with pytest.raises(ParameterError, match=said):
        audit_series(surveys)
