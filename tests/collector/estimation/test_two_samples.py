"""Two samples of one question: closed forms of the literature, likelihoods, and coverage."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from halftruth_collector.estimation.predictors import Predictor, Predictors
from halftruth_collector.estimation.responses import Outcome
from halftruth_collector.estimation.two_samples import (
    QUANTITIES,
    SHARES,
    TwoSamples,
    anchored,
    fit_samples,
    stratified,
)
from halftruth_shared.analyses.regression import Factor
from scipy.optimize import minimize
from scipy.special import expit
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


def covered(design, theta, surveys, seed, people=800):
    """How often 95 % intervals of shares hold the truth, in samples of so many people each."""
    *channels, _ = WORLDS[design]
    rng = np.random.default_rng(seed)
    rows = [(0.7, 0.3), (0.3, 0.7)] if design == "unrelated-question" else channels
    chances = np.array(rows) @ theta
    truth = {
        name: (np.array(top) @ [*theta, 1]) / (np.array(bottom) @ [*theta, 1])
        for name, (top, bottom) in QUANTITIES[design].items()
    }
    held = []
    for _ in range(surveys):
        samples = two(design, channels, rng.binomial(people, chances), (people, people))
        held.append([s.lower <= truth[s.quantity] <= s.upper for s in samples.shares(0.95)])
    return dict(zip(truth, np.mean(held, axis=0).tolist(), strict=True))


@pytest.mark.parametrize("surveys", [40, pytest.param(1_500, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("design", WORLDS)
def test_intervals_hold_the_truth_as_often_as_they_say(design, surveys):
    """Of 1 500 surveys a rate is off by 2 points once in 2 500 by chance."""
    found = covered(design, WORLDS[design][-1], surveys, seed=51)
    print(design, found)
    lowest, highest = (0.93, 0.97) if surveys > 100 else (0.82, 1)
    assert all(lowest <= rate <= highest for rate in found.values())


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("design", "theta", "share"),
    [
        ("cheater-detection", (0.2, 0.8), "cheaters"),
        ("lie-detector", (0.25, 0.75), "honest, of these"),
        ("unrelated-question", (0.0, 0.4), "prevalence"),
    ],
)
def test_intervals_of_none_or_all_hold_the_truth_at_least_as_often(design, theta, share):
    """One side cannot be missed where the truth is 0 or 100 %."""
    found = covered(design, theta, 1_500, seed=53)
    print(design, found)
    assert 0.96 <= found[share] <= 0.99


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
    print(design, prevalence, np.mean(rejected))
    # Four standard errors.
    assert np.mean(rejected) == pytest.approx(0.05, abs=0.0225)


def people_of(design, beta, share, people, rng, channels=None):
    """Covariates, sample and report of people whose answers follow a logistic equation."""
    rows = np.array(channels or WORLDS[design][:2], dtype=float)
    x = np.column_stack([np.ones(people), rng.normal(size=people), rng.random(people) < 0.5])
    sample = rng.integers(0, len(rows), people)
    chance = said(design, *rows[sample].T, expit(x @ beta), share)
    return x, rows, sample, rng.random(people) < chance


def said(design, of_yes, of_no, answer, share):
    """P(yes) of a report, written out for each design."""
    asked = of_yes - of_no
    return {
        "compliance": of_yes * answer + of_no * (1 - answer),
        "cheater-detection": (1 - share) * (of_yes * answer + of_no * (1 - answer)),
        "lie-detector": of_yes * share * answer + of_no * (1 - answer),
        "unrelated-question": asked * answer + (1 - asked) * share,
    }[design]


def regress(design, x, rows, sample, yes):
    channels = np.array([[[1 - b, 1 - a], [b, a]] for a, b in rows])
    names = [f"x{column}" for column in range(1, x.shape[1])]
    each = [
        Predictor(name, (Factor(attribute=name),), x[:, [column]])
        for column, name in enumerate(names, 1)
    ]
    reports = np.column_stack([~yes, yes]).astype(float)
    outcome = Outcome("logistic", np.array([0.0, 1.0]))
    return fit_samples(reports, channels, sample, Predictors(tuple(each)), outcome, design)


BETA = np.array([-1.0, 0.5, 0.7])

#: A share of each design in the middle, and one that is as if it had none.
MIDDLE = {"compliance": 0, "cheater-detection": 0.2, "lie-detector": 0.7, "unrelated-question": 0.4}
NONE = {"compliance": 0, "cheater-detection": 0, "lie-detector": 1, "unrelated-question": 0.05}


@pytest.mark.parametrize("world", [MIDDLE, NONE])
@pytest.mark.parametrize("design", WORLDS)
def test_a_regression_of_both_samples_is_that_of_largest_likelihood(design, world):
    """By a general minimizer of the likelihood written out, without any restriction."""
    people = people_of(design, BETA, world[design], 1_500, np.random.default_rng(61))
    x, rows, sample, yes = people
    found = regress(design, *people)
    parameters = 4 if design in SHARES else 3

    def loss(free):
        chance = said(design, *rows[sample].T, expit(x @ free[:3]), free[3:].sum())
        reported = np.where(yes, chance, 1 - chance)
        return -np.log(reported).sum() if ((chance > 0) & (chance < 1)).all() else 1e9

    start = np.array([*BETA, world[design]])[:parameters]
    search = {"xatol": 1e-9, "fatol": 1e-9, "maxfev": 20_000}
    best = minimize(loss, start, method="Nelder-Mead", options=search).x
    steps = 1e-4 * np.eye(parameters)
    hessian = [
        [
            (loss(best + i + j) - loss(best + i - j) - loss(best - i + j) + loss(best - i - j))
            / 4e-8
            for j in steps
        ]
        for i in steps
    ]
    covariance = np.linalg.inv(hessian)
    np.testing.assert_allclose(found.coefficients, best[:3], atol=1e-5)
    np.testing.assert_allclose(found.covariance, covariance[:3, :3], rtol=0.01, atol=1e-5)
    if design in SHARES:
        value, covariances = found.share
        assert value == pytest.approx(best[3], abs=1e-5)
        np.testing.assert_allclose(covariances, covariance[3], rtol=0.01, atol=1e-5)
    else:
        assert found.share is None


def test_samples_that_were_randomized_alike_are_regressed_as_one():
    rng = np.random.default_rng(62)
    x, rows, sample, yes = people_of("compliance", BETA, 0, 2_000, rng, [(0.8, 0.2)] * 2)
    both = regress("compliance", x, rows, sample, yes)
    one = regress("compliance", x, rows[:1], np.zeros(1, int), yes)
    np.testing.assert_allclose(both.coefficients, one.coefficients, rtol=1e-12)
    np.testing.assert_allclose(both.covariance, one.covariance, rtol=1e-12)
    for design in SHARES:
        alike = regress(design, x, rows, sample, yes)
        assert alike.undefined == "the samples were randomized with the same probabilities"


def test_the_prevalence_by_a_regression_is_that_of_the_shares():
    """A predictor that is nothing but chance changes little of θ₁ and of cheaters."""
    rng = np.random.default_rng(63)
    x, rows, sample, yes = people_of("cheater-detection", [-1, 0, 0], 0.25, 60_000, rng)
    found = regress("cheater-detection", x, rows, sample, yes)
    counts = [np.bincount(sample, kept, 2) for kept in (yes, np.ones(len(yes)))]
    shares = by_name(TwoSamples(*counts, rows, "cheater-detection"))
    assert found.share[0] == pytest.approx(shares["cheaters"].value, abs=1e-3)
    average = expit(x @ found.coefficients).mean() * (1 - found.share[0])
    assert average == pytest.approx(shares["honest yes"].value, abs=1e-3)


def test_a_share_outside_of_0_to_1_is_no_reason_for_no_numbers():
    """Half of all surveys without cheaters have too few of them."""
    found = [
        regress(
            "cheater-detection",
            *people_of("cheater-detection", BETA, 0, 600, np.random.default_rng(seed)),
        )
        for seed in range(20)
    ]
    assert all(each.undefined is None for each in found)
    assert {each.share[0] < 0 for each in found} == {True, False}


def regressions_covered(design, beta, share, surveys, seed, people=1_500):
    """How often intervals hold the truth, tests reject that there is no effect, and none is given.

    Returns
    -------
    held : ndarray
        Of each coefficient, and of the share.
    rejected : ndarray
        Of each coefficient but the intercept.
    undefined : float
    """
    rng = np.random.default_rng(seed)
    held, rejected, undefined = [], [], 0
    for _ in range(surveys):
        found = regress(design, *people_of(design, beta, share, people, rng))
        if found.undefined:
            undefined += 1
            continue
        inside = np.abs(found.coefficients - beta) < 1.96 * found.standard_error
        if found.share is not None:
            value, covariances = found.share
            inside = [*inside, abs(value - share) < 1.96 * covariances[-1] ** 0.5]
        held.append(inside)
        rejected.append(np.abs(found.z[1:]) > 1.96)
    return np.mean(held, axis=0), np.mean(rejected, axis=0), undefined / surveys


@pytest.mark.parametrize("surveys", [30, pytest.param(1_000, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("world", ["middle", "none"])
@pytest.mark.parametrize("design", WORLDS)
def test_regressions_hold_the_truth_as_often_as_they_say(design, world, surveys):
    """With effects and a share in the middle, and without effects where there is no share."""
    beta, shares = (BETA, MIDDLE) if world == "middle" else (np.array([-1.0, 0, 0]), NONE)
    held, rejected, undefined = regressions_covered(design, beta, shares[design], surveys, 64)
    print(design, world, held.round(3), rejected.round(3), undefined)
    lowest, highest = (0.93, 0.97) if surveys > 100 else (0.8, 1)
    assert (held >= lowest).all()
    assert (held <= highest).all()
    assert undefined <= 0.02
    if world == "none":
        assert (rejected <= 1 - lowest).all()


#: Three strata with their own p of Warner's design, prevalence and part of everybody.
STRATA = [(0.7, 0.1, 0.5), (0.8, 0.3, 0.3), (0.9, 0.6, 0.2)]


def test_strata_with_their_own_probabilities_are_those_of_kim_and_warde():
    """Σ W π̂, with the variance Σ W²/(n − 1) [λ(1 − λ)/(2p − 1)²], of numbers as they are."""
    yes, reports = np.array([160, 90, 70]), np.array([400, 250, 120])
    p, _, size = np.array(STRATA).T
    found = stratified(yes, reports, np.stack([p, 1 - p], axis=1), size, 0.95)
    rates = [Fraction(int(y), int(n)) for y, n in zip(yes, reports, strict=True)]
    value = variance = Fraction(0)
    for (keep, _, part), rate, n in zip(STRATA, rates, reports.tolist(), strict=True):
        keep, part = Fraction(str(keep)), Fraction(str(part))
        value += part * (rate - (1 - keep)) / (2 * keep - 1)
        variance += part**2 * rate * (1 - rate) / ((n - 1) * (2 * keep - 1) ** 2)
    assert found.value == found.moment == pytest.approx(float(value))
    assert found.standard_error == pytest.approx(float(variance) ** 0.5)
    ends = float(value) + 1.959964 * float(variance) ** 0.5 * np.array([-1, 1])
    assert (found.lower, found.upper) == pytest.approx(tuple(ends))


def test_strata_hold_the_truth_as_often_as_they_say():
    """Of 4 000 surveys, whose rate has a standard error of 0.35 points."""
    p, prevalence, size = np.array(STRATA).T
    reports, chances = np.array([300, 200, 150]), (2 * p - 1) * prevalence + 1 - p
    rng = np.random.default_rng(65)
    channels, truth = np.stack([p, 1 - p], axis=1), size @ prevalence
    found = [
        stratified(rng.binomial(reports, chances), reports, channels, size, 0.95)
        for _ in range(4_000)
    ]
    held = [each.lower <= truth <= each.upper for each in found]
    print(np.mean(held))
    assert np.mean(held) == pytest.approx(0.95, abs=0.014)
    spread = np.std([each.moment for each in found])
    assert spread == pytest.approx(np.mean([each.standard_error for each in found]), rel=0.05)


def test_the_crosswise_example_of_cwise_to_its_digits():
    """Printed in its manual (`bc_est`), of 2 000 people with a p of 0.15 twice; data are simulated.

    The naive estimate is 0.1950 (0.0144, 0.1667 to 0.2233), the corrected one 0.1054 and the share
    of attentive people 0.7729. Only 1 427 and 1 541 reports of “both or neither” give these; 1 133
    gave both if these hang together as the model has it. The corrected one's error, 0.0226, is that
    of a bootstrap.
    """
    one = np.array([1427.0]), np.array([2000.0]), np.array([crosswise(0.15)])
    whole = stratified(*one, np.ones(1), 0.95)
    found = [whole.value, whole.standard_error, whole.lower, whole.upper]
    assert np.round(found, 4).tolist() == [0.1950, 0.0144, 0.1667, 0.2233]
    both = np.array([[165.0, 408], [294, 1133]])
    [prevalence, attentive], _ = anchored(both, np.array([crosswise(0.15)] * 2), 0.95)
    assert round(prevalence.value, 4) == 0.1054
    assert prevalence.standard_error == pytest.approx(0.0226, rel=0.05)
    assert round(attentive.value, 4) == 0.7729


def answers_with_anchor(prevalence, attentive, people, rng):
    """Reports of a crosswise question with 0.2 and an anchor with 0.15, by who is attentive."""
    has, attends = rng.random(people) < prevalence, rng.random(people) < attentive
    question = np.where(attends, has == (rng.random(people) < 0.2), rng.random(people) < 0.5)
    anchor = np.where(attends, rng.random(people) >= 0.15, rng.random(people) < 0.5)
    both = np.zeros((2, 2))
    np.add.at(both, (question.astype(int), anchor.astype(int)), 1)
    return both


@pytest.mark.parametrize("surveys", [200, pytest.param(3_000, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("attentive", [0.7, 1.0])
def test_an_anchor_tells_how_many_answer_at_random(attentive, surveys):
    """Each is attentive or not in both, so that reports hang together."""
    rng, channels = np.random.default_rng(66), np.array([crosswise(0.2), crosswise(0.15)])
    held, rejected = [], []
    for _ in range(surveys):
        both = answers_with_anchor(0.25, attentive, 1_500, rng)
        shares, p_value = anchored(both, channels, 0.95)
        truth = (0.25, attentive)
        held.append([s.lower <= t <= s.upper for s, t in zip(shares, truth, strict=True)])
        rejected.append(p_value < 0.05)
    print(attentive, np.mean(held, axis=0), np.mean(rejected))
    margin = 0.02 if surveys > 1_000 else 0.05
    prevalence, share = np.mean(held, axis=0)
    assert prevalence == pytest.approx(0.95, abs=margin)
    assert share == pytest.approx(0.95, abs=margin)
    if attentive == 1:
        assert np.mean(rejected) == pytest.approx(0.05, abs=margin)
    else:
        assert np.mean(rejected) > 0.9


def test_an_anchor_that_tells_nothing_gives_no_shares():
    half = np.full((2, 2), 250.0)
    shares, p_value = anchored(half, np.array([crosswise(0.2), crosswise(0.15)]), 0.95)
    assert np.isnan([p_value, *(share.value for share in shares)]).all()
