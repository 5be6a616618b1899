"""Exact numbers: parsing, and the canonical form."""

import math
import string
from decimal import Decimal
from fractions import Fraction

import pytest
from halftruth_shared import ParameterError
from halftruth_shared.rational import (
    as_float,
    format_approximately,
    format_rational,
    parse_rational,
)
from hypothesis import given
from hypothesis import strategies as st


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("19", Fraction(19)),
        ("0.9", Fraction(9, 10)),
        ("19/2", Fraction(19, 2)),
        ("38/4", Fraction(19, 2)),
        ("-0.25", Fraction(-1, 4)),
        ("-1/3", Fraction(-1, 3)),
        (19, Fraction(19)),
        (10**100, Fraction(10**100)),
    ],
)
def test_numbers_are_parsed_exactly(written, value):
    assert parse_rational(written, "gamma") == value
    assert type(parse_rational(written, "gamma")) is Fraction


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (Fraction(19), "19"),
        (Fraction(38, 4), "19/2"),
        (Fraction(0), "0"),
        (Fraction(-1, 3), "-1/3"),
    ],
)
def test_numbers_are_written_in_lowest_terms(value, written):
    assert format_rational(value, "gamma") == written


@given(st.fractions(min_value=-(10**20), max_value=10**20, max_denominator=10**20))
def test_formatted_numbers_can_be_parsed(value):
    assert parse_rational(format_rational(value, "gamma"), "gamma") == value


@given(
    st.decimals(
        min_value=-(10**12), max_value=10**12, allow_nan=False, allow_infinity=False, places=9
    )
)
def test_decimals_are_parsed_exactly(value):
    numerator, denominator = Decimal(value).as_integer_ratio()
    assert parse_rational(f"{value:f}", "gamma") == Fraction(numerator, denominator)


@pytest.mark.parametrize(
    "bad",
    [
        *(0.5, float("nan"), float("inf"), True, False, None, 1j, b"1", ["1"], Decimal("0.9")),
        *("", " ", "1 ", " 1", "1\n", "\n1", "1_000", "1,5", "½", "٣", "１"),
        *("1e5", "1E-5", "nan", "inf", "Infinity", "0x10", "0b1", ".5", "5.", "5./2", "1.0/2"),
        *("1/0", "0/0", "1/-2", "1//2", "1/2/3", "/2", "1/", "--1", "+", "-"),
        *("9" * 1001, "0." + "9" * 1001, "1/" + "9" * 1001, "9" * 10**6),
    ],
    ids=lambda bad: repr(bad)[:20],
)
def test_invalid_numbers_are_refused_with_valid_examples(bad, refused):
    refused(
        ParameterError,
        lambda: parse_rational(bad, "keep.smoker"),
        field="keep.smoker",
        mentions=["keep.smoker: ", '"19"', '"0.9"', '"19/2"'],
        never=[bad] if isinstance(bad, str) and len(bad) > 20 else [],
    )


@pytest.mark.parametrize("power", [1_000, 5_000, 10_000_000])
@pytest.mark.parametrize("make", [lambda size: size, lambda size: Fraction(1, size)])
def test_too_long_numbers_are_refused_without_formatting(power, make, refused):
    # Formatting 3 million digits would take minutes.
    number = make(1 << (power * 10 // 3 + 10))
    assert parse_rational(number, "gamma") == number
    refused(ParameterError, lambda: format_rational(Fraction(number), "gamma"), field="gamma")


def test_the_longest_number_can_be_formatted_and_parsed():
    for number in (Fraction(10**1000 - 1), Fraction(10**498 + 1, 10**498)):
        assert parse_rational(format_rational(number, "gamma"), "gamma") == number


@given(st.text(alphabet=string.printable, max_size=12))
def test_no_text_raises_anything_but_a_parameter_error(text):
    try:
        value = parse_rational(text, "gamma")
    except ParameterError:
        return
    assert value == Fraction(text)


@pytest.mark.parametrize(
    ("value", "number", "words"),
    [
        (10**899 + 7, math.inf, "about 10^899"),
        (-(10**899), -math.inf, None),
        (Fraction(1, 10**899), 0.0, "0"),
        (Fraction(57, 7), 57 / 7, "8.14286"),
        (19, 19.0, "19"),
        (math.inf, math.inf, "infinite"),
    ],
)
def test_fractions_are_converted_to_float_and_text(value, number, words):
    assert as_float(value) == number
    if words is not None:
        assert format_approximately(value) == words
