"""Privacy levels: conversions between their definitions."""

import math
from fractions import Fraction

import pytest
from halftruth_shared import ParameterError, amplification_for_breach, epsilon, worst_case_posterior
from hypothesis import given
from hypothesis import strategies as st
from witnesses import witness

PROBABILITIES = st.fractions(min_value="1/1000", max_value="999/1000", max_denominator=1000)


def test_five_to_fifty_percent_is_19_exactly():
    for rho1, rho2 in [("0.05", "0.5"), ("1/20", "1/2"), (Fraction(1, 20), Fraction(1, 2))]:
        witness("FRAPP", "Equations 1–2").assert_own(amplification_for_breach(rho1, rho2))
    assert isinstance(amplification_for_breach("0.05", "0.5"), Fraction)


@given(PROBABILITIES, PROBABILITIES)
def test_breach_and_posterior_are_inverse(rho1, rho2):
    if rho1 == rho2:
        return
    low, high = sorted((rho1, rho2))
    gamma = amplification_for_breach(low, high)
    # An amplification multiplies odds.
    assert gamma == (high / (1 - high)) / (low / (1 - low))
    assert gamma > 1
    assert worst_case_posterior(low, gamma) == high


@given(PROBABILITIES)
def test_the_posterior_is_the_prior_at_gamma_1_and_1_at_infinity(rho):
    assert worst_case_posterior(rho, 1) == rho
    assert worst_case_posterior(rho, math.inf) == 1


@pytest.mark.parametrize(
    ("rho1", "rho2", "field"),
    [
        ("0.5", "0.05", "rho2"),
        ("0.5", "0.5", "rho2"),
        ("1", "0.5", "rho1"),
        ("0.1", "1", "rho2"),
        ("0.1", "3/2", "rho2"),
        (0.05, "0.5", "rho1"),
        ("0.05", 0.5, "rho2"),
    ],
    ids=repr,
)
def test_breaches_outside_their_range_are_refused(rho1, rho2, field, refused):
    refused(
        ParameterError, lambda: amplification_for_breach(rho1, rho2), field=field, mentions=[field]
    )


def test_epsilon_is_the_logarithm_of_the_amplification():
    assert epsilon("19") == pytest.approx(math.log(19), rel=1e-15)
    assert epsilon(Fraction(3, 2)) == pytest.approx(math.log(1.5), rel=1e-14)
    assert epsilon(1) == 0
    assert epsilon(math.inf) == math.inf
    # Beyond floating point.
    assert epsilon(10**900) == pytest.approx(900 * math.log(10), rel=1e-14)


@pytest.mark.parametrize("digits", [9, 12, 15, 18])
def test_a_small_epsilon_is_as_precise_as_a_large_one(digits):
    # ln(1 + t) = t − t²/2 + …
    tiny = Fraction(1, 10**digits)
    assert epsilon(1 + tiny) == pytest.approx(float(tiny - tiny**2 / 2), rel=1e-12, abs=0)


@pytest.mark.parametrize(
    "bad", ["0.99", 0, "-19", 19.0, math.nan, -math.inf, "inf", None], ids=repr
)
@pytest.mark.parametrize("convert", [epsilon, lambda gamma: worst_case_posterior("0.05", gamma)])
def test_an_amplification_below_1_or_inexact_is_refused(bad, convert, refused):
    refused(ParameterError, lambda: convert(bad), field="gamma", mentions=["gamma"])


@pytest.mark.parametrize("bad", ["0", "1", "1.5", "-0.1", 0.05, None], ids=repr)
def test_an_invalid_prior_is_refused(bad, refused):
    refused(ParameterError, lambda: worst_case_posterior(bad, 19), field="prior")
