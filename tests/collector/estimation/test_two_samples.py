"""Two samples of one question: closed forms of the literature, likelihoods, and coverage."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from halftruth_collector.estimation.two_samples import QUANTITIES, TwoSamples
from scipy.stats import binom, chi2

#: Numbers of yes in samples of these sizes, 31 % and 47 %.
YES, REPORTS = (248, 329), (800, 700)
FIRST, SECOND = Fraction(248, 800), Fraction(329, 700)


def two(design, channels, yes=YES, reports=REPORTS):
    rows = np.array(channels, dtype=float)
    return TwoSamples(np.array(yes, float), np.array(reports, float), rows, design)


def by_name(samples, confidence=0.95):
    return {share.quantity: share for share in samples.shares(confidence)}


def mangat(p):
    return (1, 1 - p)


def unrelated(p, prevalence):
    return (p + (1 - p) * prevalence, (1 - p) * prevalence)


def crosswise(p):
    return (p, 1 - p)


def error(*weights):
    """Square root of the sum of squared weights times λ(1 − λ)/(n − 1)."""
    variances = [
        share * (1 - share) / (n - 1) for share, n in zip((FIRST, SECOND), REPORTS, strict=True)
    ]
    return float(sum(w**2 * v for w, v in zip(weights, variances, strict=True))) ** 0.5


def check(found, expected):
    for quantity, (value, deviation) in expected.items():
        assert found[quantity].moment == pytest.approx(float(value), abs=1e-12)
        assert found[quantity].value == pytest.approx(float(value), abs=1e-12)
        assert found[quantity].standard_error == pytest.approx(deviation, rel=1e-9)
    assert set(found) == set(expected)


def test_cheaters_are_those_of_clark_and_desharnais():
    """Forced yes with chances p: π = (p₂λ₁ − p₁λ₂)/(p₂ − p₁), β = (λ₂ − λ₁)/(p₂ − p₁)."""
    p, q = Fraction(1, 4), Fraction(3, 4)
    pi, beta = (q * FIRST - p * SECOND) / (q - p), (SECOND - FIRST) / (q - p)
    found = by_name(two("cheater-detection", [mangat(1 - p), mangat(1 - q)]))
    check(
        found,
        {
            "honest yes": (pi, error(q / (q - p), p / (q - p))),
            "honest no": (beta, error(1 / (q - p), 1 / (q - p))),
            "cheaters": (1 - pi - beta, error((q - 1) / (q - p), (1 - p) / (q - p))),
        },
    )


def test_a_symmetric_cheater_detection_is_that_of_ostapczuk():
    """Forced yes with p₁ or p₃ and forced no with p₂ or p₄."""
    p1, p2, p3, p4 = Fraction(1, 8), Fraction(1, 8), Fraction(3, 8), Fraction(1, 8)
    divisor = p3 * (1 - p2) - p1 * (1 - p4)
    pi = (p3 * FIRST - p1 * SECOND) / divisor
    gamma = ((p1 - FIRST) * (1 - p3 - p4) - (p3 - SECOND) * (1 - p1 - p2)) / -divisor
    samples = two("cheater-detection", [(1 - p2, p1), (1 - p4, p3)])
    found = by_name(samples)
    assert found["honest yes"].moment == pytest.approx(float(pi))
    assert found["honest yes"].standard_error == pytest.approx(error(p3 / divisor, p1 / divisor))
    assert found["cheaters"].moment == pytest.approx(float(gamma))


def test_lies_are_those_of_moshagen_musch_and_erdfelder():
    """λ = πt + (1 − π)(1 − p): π = 1 + (λ₂ − λ₁)/(p₂ − p₁)."""
    p, q = Fraction(3, 4), Fraction(1, 4)
    pi = 1 + (SECOND - FIRST) / (q - p)
    t = (SECOND * (1 - p) - FIRST * (1 - q)) / ((SECOND - FIRST) + (q - p))
    squared = (p - q + FIRST - SECOND) ** 2
    slopes = ((p - q) * (q + SECOND - 1) / squared, (p - q) * (p + FIRST - 1) / squared)
    check(
        by_name(two("lie-detector", [mangat(p), mangat(q)])),
        {
            "prevalence": (pi, error(1 / (p - q), 1 / (p - q))),
            "honest, of these": (t, error(*slopes)),
        },
    )


@pytest.mark.parametrize("supposed", [Fraction(1, 10), Fraction(2, 3)])
def test_an_unrelated_question_needs_no_known_prevalence(supposed):
    """Greenberg et al. 1969, whatever the survey supposes of the harmless question."""
    p, q = Fraction(1, 5), Fraction(7, 10)
    pi = (FIRST * (1 - q) - SECOND * (1 - p)) / (p - q)
    other = (q * FIRST - p * SECOND) / (q - p)
    check(
        by_name(two("unrelated-question", [unrelated(p, supposed), unrelated(q, supposed)])),
        {
            "prevalence": (pi, error((1 - q) / (p - q), (1 - p) / (p - q))),
            "prevalence of the harmless question": (other, error(q / (q - p), p / (q - p))),
        },
    )


def likelihood(samples, chances):
    return sum(
        binom.logpmf(yes, n, chance)
        for yes, n, chance in zip(samples.yes, samples.reports, chances, strict=True)
    )


def test_the_extended_crosswise_model_pools_both_samples():
    """Largest likelihood on a fine grid, and G² of Heck, Hoffmann and Moshagen 2018."""
    samples = two("compliance", [crosswise(0.158), crosswise(0.842)], (520, 240))
    grid = np.linspace(0, 1, 100_001)
    levels = likelihood(samples, np.array([[0.842 - 0.684 * grid], [0.158 + 0.684 * grid]])[:, 0])
    best = int(np.argmax(levels))
    inside = grid[levels >= levels[best] - chi2.isf(0.05, 1) / 2]
    [share] = samples.shares(0.95)
    assert share.value == pytest.approx(grid[best], abs=1e-5)
    assert (share.lower, share.upper) == pytest.approx((inside[0], inside[-1]), abs=2e-5)
    assert share.moment == pytest.approx(share.value, abs=0.002)
    assert share.standard_error == pytest.approx((share.upper - share.lower) / 3.92, rel=0.02)
    squared = 2 * (likelihood(samples, samples.yes / samples.reports) - levels[best])
    assert samples.p_value == pytest.approx(chi2.sf(squared, 1), rel=1e-3)


@pytest.mark.parametrize("design", ["cheater-detection", "lie-detector", "unrelated-question"])
@pytest.mark.parametrize("yes", [(248, 329), (300, 180), (10, 500)])
def test_intervals_are_of_the_profile_likelihood_on_a_grid(design, yes):
    channels = [(0.9, 0.2), (0.95, 0.6)]
    samples = two(design, channels, yes)
    theta = np.array([*product(np.linspace(0, 1, 501), repeat=2)])
    first, second = theta.T
    if design != "unrelated-question":
        theta = theta[first + second <= 1 + 1e-12]
        first, second = theta.T
        chances = np.array(channels) @ theta.T
    else:
        asked = np.array([0.7, 0.35])[:, None]
        chances = asked * first + (1 - asked) * second
    levels = likelihood(samples, chances)
    near = levels >= levels.max() - chi2.isf(0.05, 1) / 2
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = {
            "honest yes": first,
            "honest no": second,
            "cheaters": 1 - first - second,
            "prevalence": 1 - second if design == "lie-detector" else first,
            "honest, of these": np.where(second < 1, first / (1 - second), np.nan),
            "prevalence of the harmless question": second,
        }
    for share in samples.shares(0.95):
        found = shares[share.quantity]
        assert share.value == pytest.approx(found[np.argmax(levels)], abs=0.005, nan_ok=True)
        ends = np.nanmin(found[near]), np.nanmax(found[near])
        assert (share.lower, share.upper) == pytest.approx(ends, abs=0.008)


def test_an_estimate_outside_of_what_is_possible_is_cut_and_said():
    [yes, no, cheaters] = two("cheater-detection", [(1, 0.25), (1, 0.75)], (20, 400)).shares(0.95)
    assert yes.moment < 0 == yes.value == yes.lower
    assert 0 < yes.upper < 0.05
    assert no.value + cheaters.value == pytest.approx(1)


def test_samples_that_were_randomized_alike_identify_nothing_but_prevalence():
    alike = [(0.8, 0.2), (0.8, 0.2)]
    for design in QUANTITIES:
        assert (two(design, alike).undefined is None) == (design == "compliance")


def test_where_nobody_may_have_it_the_honesty_of_these_is_not_known():
    honest = by_name(two("lie-detector", [(1, 0.25), (1, 0.75)], (250, 750), (1000, 1000)))[
        "honest, of these"
    ]
    assert (honest.lower, honest.upper) == (0, 1)


WORLDS = {
    "compliance": (crosswise(0.25), crosswise(0.75), (0.2, 0.8)),
    "cheater-detection": (mangat(0.75), mangat(0.25), (0.2, 0.65)),
    "lie-detector": (mangat(0.75), mangat(0.25), (0.21, 0.7)),
    "unrelated-question": (unrelated(0.7, 0.5), unrelated(0.3, 0.5), (0.2, 0.4)),
}


@pytest.mark.nightly
@pytest.mark.parametrize("design", WORLDS)
def test_intervals_hold_the_truth_as_often_as_they_say(design):
    """Of 600 surveys; a rate is off by 2.5 points or more once in 200 by chance."""
    *channels, theta = WORLDS[design]
    rng = np.random.default_rng(51)
    rows = [(0.7, 0.3), (0.3, 0.7)] if design == "unrelated-question" else channels
    chances = np.array(rows) @ theta
    truth = {
        name: (np.array(top) @ [*theta, 1]) / (np.array(bottom) @ [*theta, 1])
        for name, (top, bottom) in QUANTITIES[design].items()
    }
    held = []
    for _ in range(600):
        samples = two(design, channels, rng.binomial(800, chances), (800, 800))
        held.append([s.lower <= truth[s.quantity] <= s.upper for s in samples.shares(0.95)])
    assert np.mean(held, axis=0) == pytest.approx(0.95, abs=0.025)


@pytest.mark.parametrize("design", ["compliance", "cheater-detection"])
@pytest.mark.parametrize("prevalence", [0, 0.2])
def test_the_test_rejects_one_in_twenty_where_all_follow_the_instructions(design, prevalence):
    """Also where hardly anybody has it, so that the best prevalence is often below 0."""
    channels = [crosswise(0.25), crosswise(0.75)]
    rng = np.random.default_rng(52)
    chances = np.array(channels) @ [prevalence, 1 - prevalence]
    rejected = [
        two(design, channels, rng.binomial(500, chances), (500, 500)).p_value < 0.05
        for _ in range(1500)
    ]
    # Four standard errors.
    assert np.mean(rejected) == pytest.approx(0.05, abs=0.0225)
