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

[mechanism]
kind = "gamma-diagonal"
gamma = "19"

[[attributes]]
name = "smoker"
categories = ["no", "yes"]
"""


def test_the_series_is_part_of_the_digest():
    surveys = [Survey.from_toml(FILE.format(wave=w, total='"361"')) for w in (1, 2)]
    assert surveys[0].digest != surveys[1].digest
    assert surveys[1].series.wave == 2
    assert Survey.from_json(surveys[1].canonical_json) == surveys[1]


def test_totals_are_normalized():
    written = [Survey.from_toml(FILE.format(wave=1, total=t)) for t in ("361", '"361.0"')]
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
        Survey.from_toml(FILE.format(wave=wave, total=total))
