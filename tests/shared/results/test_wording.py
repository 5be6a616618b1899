"""Digits by the margin of error, and estimates outside the possible range."""

import pytest
from halftruth_shared.results import QUANTITIES, Quantity
from halftruth_shared.results.estimate import Estimate
from halftruth_shared.results.layout import Arranged, in_words
from halftruth_shared.results.long_table import Row
from halftruth_shared.results.wording import (
    half_width,
    number_in_words,
    unbiased_in_words,
    with_interval,
)

from .test_long_tables import table

SHARE, POINTS = QUANTITIES["share"], QUANTITIES["difference"]
MEAN = Quantity("mean")


def said(value, half, of=SHARE, error=None):
    ends = (max(value - half, of.lower), min(value + half, of.upper))
    return with_interval(
        Estimate(value=value, interval=ends, standard_error=error, reliability="usable"), of
    ).replace("\u202f", " ")


@pytest.mark.parametrize(
    ("half", "expected"),
    [
        (0.14, "51 % (37 to 65 %)"),
        (0.0996, "51 % (41 to 61 %)"),
        (0.039, "51.2 % (47.3 to 55.1 %)"),
        (0.0065, "51.23 % (50.58 to 51.88 %)"),
        (0.0002, "51.23 % (51.21 to 51.25 %)"),
    ],
)
def test_two_digits_of_the_margin_decide_the_digits_of_estimate_and_interval(half, expected):
    assert said(0.5123, half) == expected
    assert said(0.5123, half, POINTS) == expected.replace(" %", "") + " points"


def test_other_numbers_have_the_same_rule():
    assert said(2.1234, 0.039, MEAN) == "2.123 (2.084 to 2.162)"
    assert said(2.1234, 0.44, MEAN) == "2.12 (1.68 to 2.56)"
    assert said(2123.4, 440, MEAN) == "2 123 (1 683 to 2 563)"


def test_an_interval_without_the_value_of_no_effect_looks_so():
    assert said(0.0150, 0.0149, POINTS) == "1.50 (0.01 to 2.99) points"
    assert said(-0.16, 0.157, POINTS) == "−16.0 (−31.7 to −0.3) points"
    assert said(0.0150, 0.0151, POINTS) == "1.5 (0.0 to 3.0) points"
    assert said(0.0150, 0.0149) == "1.5 % (0.0 to 3.0 %)"
    assert said(1.083, 0.0827, QUANTITIES["odds_ratio"]) == "1.0830 (1.0003 to 1.1657)"


def test_margins_never_have_three_digits():
    assert [half_width(w) for w in (0.0996, 0.0994, 0.00996)] == [
        "±10 points", "±9.9 points", "±1.0 points"
    ]  # fmt: skip


def test_the_margin_is_that_of_the_interval_before_it_was_cut():
    """Half of the cut interval is 0.6 points, but the margin is 8."""
    assert said(-0.062, 0.075, error=0.041) == "0 % (0 to 1.3 %)"
    assert said(0.02, 0.12, error=0.06) == "2 % (0 to 14 %)"


@pytest.mark.parametrize(
    ("value", "interval", "of", "shown", "unbiased"),
    [
        (-0.0621, (0.0, 0.0129), SHARE, "0 %", "−6.21 %"),
        (1.0621, (0.9871, 1.0), SHARE, "100 %", "106.21 %"),
        (-1.31, (-1.0, -0.5), POINTS, "−100", "−131 points"),
        (-0.3, (0.0, 0.4), QUANTITIES["odds_ratio"], "0", "−0.3"),
        # The range of a mean depends on its scores, and is known by the interval.
        (0.91, (1.0, 1.41), MEAN, "1.00", "0.91"),
    ],
)
def test_an_impossible_estimate_is_shown_as_the_end_of_the_range(
    value, interval, of, shown, unbiased
):
    estimate = Estimate(value=value, interval=interval)
    assert number_in_words(estimate, of).replace("\u202f", " ") == shown
    found = unbiased_in_words(estimate, of).replace("\u202f", " ")
    assert found == f"unbiased estimate: {unbiased}"


def test_without_any_possible_value_the_end_is_shown_beside_it():
    row = Row(keys={}, quantity="share", value=-0.11, standard_error=0.04, set="empty")
    assert in_words(row).replace("\u202f", " ") == (
        "not usable (0 %, none: outside the possible range)"
    )
    assert unbiased_in_words(row, row.of).replace("\u202f", " ") == "unbiased estimate: −11.0 %"


@pytest.mark.parametrize("value", [0.0, 0.3, 1.0, 1 + 1e-12])
def test_possible_estimates_need_no_unbiased_one(value):
    assert unbiased_in_words(Estimate(value=value, interval=(0.0, 1.0)), SHARE) == ""


def test_tables_name_the_unbiased_estimate_and_files_have_it():
    found = table()
    cell = Arranged(found, found.layout[0]).grid.rows[3][2]
    assert (str(cell), cell.detail, cell.number) == (
        "0\u202f%", "unbiased estimate: −4.00\u202f%", -0.04
    )  # fmt: skip
    assert found.to_pandas()["value"].tolist() == [0.5, 0.2, 0.34, -0.04]
