"""The series to which a wave belongs."""

import pytest
from halftruth_shared import Survey, SurveyError

FILE = """
id = "wellbeing-2"
title = "Well-being"

[series]
id = "wellbeing"
wave = {wave}
total_gamma = {total}
{origin}

[mechanism]
kind = "gamma-diagonal"
gamma = "19"

[[attributes]]
name = "smoker"
categories = ["no", "yes"]
"""


def survey(wave=1, total='"361"', origin='origin = "https://survey.example.org"'):
    return Survey.from_toml(FILE.format(wave=wave, total=total, origin=origin))


def test_the_series_is_part_of_the_digest():
    surveys = [survey(), survey(wave=2), survey(origin='origin = "https://example.org"')]
    assert len({each.digest for each in surveys}) == 3
    assert (surveys[1].series.wave, surveys[2].series.origin) == (2, "https://example.org")
    assert Survey.from_json(surveys[1].canonical_json) == surveys[1]


def test_totals_are_normalized():
    written = [survey(total=total) for total in ("361", '"361.0"')]
    assert written[0].digest == written[1].digest
    assert b'"total_gamma":"361"' in written[0].canonical_json


@pytest.mark.parametrize(
    ("wave", "total", "field"),
    [
        ("0", '"361"', "series.wave"),
        ("1001", '"361"', "series.wave"),
        ("1", '"1"', "series.total_gamma"),
        ("1", '"many"', "series.total_gamma"),
        ("1", "19.5", "series.total_gamma"),
    ],
)
def test_an_invalid_series_is_refused(wave, total, field):
    with pytest.raises(SurveyError, match=field):
        survey(wave, total)


@pytest.mark.parametrize("origin", ["", 'origin = ""', 'origin = "https://survey.example.org/s/x"'])
def test_a_series_requires_the_page_address_that_asks_it(origin):
    expected = r"^series.origin: expected the web address of its forms, such as https://\S+ [^\n]+$"
    with pytest.raises(SurveyError, match=expected) as refused:
        survey(origin=origin)
    assert refused.value.field == "series.origin"
