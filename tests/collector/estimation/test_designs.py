"""Estimates under named designs against the published estimators.

Expected values follow the functions ``RRuni.*`` of the R package RRreg (Heck and Moshagen 2018),
which has the published estimator and standard error of every design in its own form.
"""

import math
from fractions import Fraction

import numpy as np
import pytest
from halftruth_collector.estimation import Counts, Estimator
from halftruth_collector.estimation.reconstruction import reconstruction
from halftruth_collector.estimation.variances import UnitVariance
from halftruth_shared import Attribute, DistortionMatrices, Schema, Survey
from scipy.stats import norm
from sources import estimator_of
from witnesses import witness

#: For each design: its TOML, and from λ the published estimate and the factor of its variance.
PUBLISHED = {
    "Warner": (
        {"design": "warner", "p": "3/10"},
        lambda y, p=Fraction(3, 10): ((y + p - 1) / (2 * p - 1), (2 * p - 1) ** 2),
    ),
    "Crosswise": (
        {"design": "crosswise", "prevalence": "1/6"},
        lambda y, p=Fraction(1, 6): ((y + p - 1) / (2 * p - 1), (2 * p - 1) ** 2),
    ),
    "Triangular": (
        {"design": "triangular", "prevalence": "1/4", "not_sensitive": "no"},
        lambda y, p=Fraction(1, 4): (1 - (1 - y) / (1 - p), (1 - p) ** 2),
    ),
    "UQTknown": (
        {"design": "unrelated-question", "p": "7/10", "prevalence": "17/100"},
        lambda y, p=Fraction(7, 10), u=Fraction(17, 100): ((y - (1 - p) * u) / p, p**2),
    ),
    "Mangat": (
        {"design": "mangat", "p": "2/3", "not_sensitive": "no"},
        lambda y, p=Fraction(2, 3): ((y - 1 + p) / p, p**2),
    ),
    "Kuk": (
        {"design": "kuk", "theta1": "4/5", "theta2": "3/10"},
        lambda y, p=Fraction(4, 5), q=Fraction(3, 10): ((y - q) / (p - q), (p - q) ** 2),
    ),
    "FR": (
        {"design": "forced-response", "yes": "1/6", "no": "1/12"},
        lambda y, yes=Fraction(1, 6), no=Fraction(1, 12): (
            (y - yes) / (1 - yes - no),
            (1 - yes - no) ** 2,
        ),
    ),
}
EVERY = pytest.mark.parametrize("name", PUBLISHED)


def survey_of(*designs):
    names = [f"a{j}" for j in range(len(designs))]
    return Survey(
        "designs",
        "Designs",
        Schema([Attribute(name, ["no", "yes"]) for name in names]),
        DistortionMatrices({}, dict(zip(names, designs, strict=True))),
    )


def estimator(survey, yes, reports):
    return Estimator(survey, Counts.from_cells(survey, [[0], [1]], [reports - yes, yes]))


@EVERY
@pytest.mark.parametrize(("yes", "reports"), [(380, 1000), (3, 7), (611, 612)])
def test_estimate_and_error_are_the_published_ones(name, yes, reports):
    witness("RRreg", "Estimators of one sample")
    design, published = PUBLISHED[name]
    share = Fraction(yes, reports)
    estimate, factor = published(share)
    table = estimator(survey_of(design), yes, reports).table(["a0"])
    assert table.value[1] == pytest.approx(float(estimate), rel=1e-12, abs=1e-12)
    variance = share * (1 - share) / ((reports - 1) * factor)
    assert np.sqrt(table.variance())[1] == pytest.approx(
        float(variance) ** 0.5, rel=1e-9, abs=1e-12
    )


def test_the_naive_crosswise_estimate_agrees_with_cwise_to_four_digits():
    """From cWise's manual (`bc.est`): 2 000 simulated people with a p of 0.15.

    The estimate is 0.1950, its error 0.0144, its interval 0.1667 to 0.2233. Only 1 427 reports of
    "both or neither" give these numbers.
    """
    survey = survey_of({"design": "crosswise", "prevalence": "0.15"})
    naive = estimator(survey, 1427, 2000).table(["a0"])
    share, error = naive.value[1], np.sqrt(naive.variance())[1]
    found = [share, error, share - 1.959964 * error, share + 1.959964 * error]
    witness("cWise", "Naive estimate").assert_own(found)


#: The surveys of the package RRTCS: design, and its chances of "yes" of those with and without
#: the trait; sample and population.
RRTCS = {
    "Warner model": ({"design": "warner", "p": "7/10"}, "0.7", "0.3", 125, 802),
    "Singh–Joarder model": (None, "0.84", "0.4", 170, 802),
    "Forced response model": (
        {"design": "forced-response", "yes": "1/5", "no": "1/5"},
        "0.8",
        "0.2",
        1_000,
        10_000,
    ),
    "Horvitz model": (
        {"design": "unrelated-question", "p": "1/2", "prevalence": "1/12"},
        Fraction(13, 24),
        Fraction(1, 24),
        710,
        10_777,
    ),
}


@pytest.mark.parametrize("name", RRTCS)
def test_samples_of_finite_populations_have_the_errors_of_rrtcs(name):
    """By its formulas, r = (z − P(yes|no))/(P(yes|yes) − P(yes|no)) with the variance r(r − 1).

    For every number of "yes" that some share explains.
    """
    witness("RRTCS", "Warner model")
    witness("RRTCS", "Singh–Joarder model")
    witness("RRTCS", "Forced response model")
    witness("RRTCS", "Horvitz model")
    design, with_trait, without, sample, population = RRTCS[name]
    high, low = Fraction(with_trait), Fraction(without)
    schema = Schema([Attribute("a0", ["no", "yes"])])
    matrix = [[1 - low, 1 - high], [low, high]]
    mechanism = DistortionMatrices(
        {} if design else {"a0": [[str(p) for p in row] for row in matrix]},
        {"a0": design} if design else {},
    )
    survey = Survey("rrtcs", "RRTCS", schema, mechanism)
    for yes in range(math.ceil(low * sample), math.floor(high * sample) + 1):
        counts = Counts.from_cells(survey, [[0], [1]], [sample - yes, yes])
        table = Estimator(survey, counts, population=population).table(["a0"])
        no_yes = [float((z - low) / (high - low)) for z in (0, 1)]
        values = np.repeat(no_yes, [sample - yes, yes])
        assert table.value[1] == pytest.approx(values.mean(), abs=1e-12)
        of_design = (1 - sample / population) * values.var(ddof=1) / sample
        of_device = (values * (values - 1)).mean() / population
        expected = (of_design + of_device) ** 0.5
        assert np.sqrt(table.variance())[1] == pytest.approx(expected, rel=1e-3)


@pytest.mark.nightly
@EVERY
def test_estimates_over_many_surveys_are_unbiased_and_their_intervals_cover(name):
    """600 surveys of 1 500 people, 30 % of whom have the trait.

    A mean further than 4 of its errors, or a coverage outside of 95 % ± 3.2 %, is a false alarm
    once in 3 000 times.
    """
    design, published = PUBLISHED[name]
    surveys, people, trait = 600, 1500, 0.3
    rng = np.random.default_rng(16)
    # The estimate is linear in λ: it is 0 and 1 at the two response probabilities.
    (low, _), (high, _) = published(Fraction(0)), published(Fraction(1))
    chance = float((Fraction(3, 10) - low) / (high - low))
    drawn = rng.binomial(people, chance, size=surveys)
    found, covered = [], 0
    survey = survey_of(design)
    for yes in drawn:
        table = estimator(survey, int(yes), people).table(["a0"])
        estimate, error = table.value[1], np.sqrt(table.variance())[1]
        found.append(estimate)
        covered += abs(estimate - trait) <= norm.ppf(0.975) * error
    assert abs(np.mean(found) - trait) < 4 * np.std(found) / surveys**0.5
    assert abs(covered / surveys - 0.95) < 0.032


def test_tables_of_questions_with_different_designs_are_near_the_truth():
    """One perturbed survey of 60 000 people: each cell within 4.5 of its errors."""
    shares = np.array([[[0.4, 0.1], [0.1, 0.05]], [[0.05, 0.1], [0.05, 0.15]]])
    designs = [PUBLISHED[name][0] for name in ("FR", "Triangular", "Crosswise")]
    survey = survey_of(*designs)
    rng = np.random.default_rng(1965)
    cells = np.stack(np.unravel_index(rng.choice(8, size=60_000, p=shares.ravel()), (2, 2, 2)), 1)
    table = estimator_of(survey, cells, rng).table(["a0", "a1", "a2"])
    away = np.abs(table.value - shares) / np.sqrt(table.variance())
    assert away.max() < 4.5


@EVERY
def test_a_plan_forecasts_the_error_of_the_formula(name):
    design, published = PUBLISHED[name]
    (low, factor), (high, _) = published(Fraction(0)), published(Fraction(1))
    chance = (Fraction(1, 20) - low) / (high - low)
    unbiased = reconstruction(survey_of(design))
    foretold: UnitVariance = unbiased.unit_variance(["a0"], "population")
    assert foretold.at(0.05)[1] == pytest.approx(float(chance * (1 - chance) / factor), rel=1e-9)
