"""Audit of one wave of a series."""

import itertools
from fractions import Fraction

import pytest
from halftruth_collector.disclosure.audit import audit
from halftruth_collector.disclosure.statement import statement
from halftruth_shared import Attribute, GammaDiagonal, RandomizedResponse, Schema, Series, Survey

SMOKER, DRINKS = Attribute("smoker", ("no", "yes")), Attribute("drinks", ("no", "yes"))
WARNER = RandomizedResponse({"smoker": "3/4", "drinks": "2/3"})


def wave(mechanism=WARNER, total="400"):
    series = total and Series(id="panel", wave=1, total_gamma=total, origin="https://a.test")
    return Survey("wave-1", "Panel", Schema([SMOKER, DRINKS]), mechanism, series=series)


def said(survey):
    sections = statement(audit(survey, 1_000)).sections
    return " ".join(
        itertools.chain(*((section.title, *section.paragraphs) for section in sections))
    ).replace("\u202f", " ")


def test_two_waves_have_the_square_of_the_gamma_of_one():
    """Enumerate the likelihood ratios of all pairs of reports of Warner's two questions."""
    kept = [Fraction(3, 4), Fraction(2, 3)]

    def chance(reports, record):
        found = Fraction(1)
        for report in reports:
            for answer, sent, keep in zip(record, report, kept, strict=True):
                found *= keep if answer == sent else 1 - keep
        return found

    records = list(itertools.product((0, 1), repeat=2))
    pairs = itertools.product(records, repeat=2)
    whole = max(chance(p, a) / chance(p, b) for p in pairs for a in records for b in records)
    found = audit(wave(total="36"), 1_000).series
    assert found.cost.gamma**2 == whole == found.total.gamma
    assert found.waves == 2


@pytest.mark.parametrize(
    ("gamma", "total", "waves", "sentence"),
    [
        ("19", "400", 2, "at most 2 such waves."),
        ("19", "361", 2, "at most 2 such waves."),
        ("19", "360", 1, "at most 1 such wave."),
        # A series has at most 1 000 waves.
        ("1.0001", "400", 1_000, "at most 1 000 such waves."),
    ],
)
def test_the_audit_states_how_many_waves_fit_the_total(gamma, total, waves, sentence):
    survey = wave(GammaDiagonal(gamma), total)
    assert audit(survey, 1_000).series.waves == waves
    assert sentence in said(survey)
