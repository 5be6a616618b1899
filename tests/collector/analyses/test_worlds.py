"""Coverage of every analysis in small simulated populations, and detection of wrong intervals.

``tests/bench/honesty.py`` simulates hundreds of surveys of more populations.
"""

import math
from functools import cache

import numpy as np
import pytest
from halftruth_collector.analyses import ANALYSES
from likelihood_ratio import association, ratio_test
from scipy.stats import chi2_contingency
from worlds import WORLDS, Number, Tally, questions, simulate

#: Analyses without an interval: plain counts.
WITHOUT_INTERVALS = {"counts"}

#: Populations that are fast to simulate.
SMALL = [world for world in WORLDS if world.reports <= 2_000 or world.parts == {"model"}]


@cache
def simulated(surveys):
    """Simulate this number of surveys of each population."""
    tally = Tally((1.0, 0.6))
    for world in SMALL:
        tally.merge(simulate(world, range(surveys), tally.factors).sums)
    return tally


@pytest.mark.parametrize("surveys", [1, pytest.param(2, marks=pytest.mark.nightly)])
def test_no_analysis_fails_its_nominal_error_rate(surveys):
    assert simulated(surveys).failures() == []


def test_intervals_of_three_fifths_of_their_width_are_detected():
    assert any(each.startswith("all") for each in simulated(1).failures(0.6))


def test_every_analysis_is_simulated_and_has_intervals():
    asked = {each.label.split()[0] for world in WORLDS for each in questions(world)}
    assert asked == set(ANALYSES)
    found = {name[0].split()[0] for name, *_ in simulated(1).rates("given")}
    assert found == asked - WITHOUT_INTERVALS


@pytest.mark.parametrize(("surveys", "width"), [(1300, 0.9), (260, 0.8), (60, 0.6)])
def test_narrow_intervals_are_detected_and_correct_ones_are_not(surveys, width):
    """Five intervals in each survey; the estimates share half of their variance."""
    rng, tally = np.random.default_rng(7), Tally((1.0, width))
    for _ in range(surveys):
        errors = math.sqrt(0.5) * (rng.standard_normal(5) + rng.standard_normal())
        misses = [abs(error) > 1.96 * np.array(tally.factors) for error in errors]
        tally.add("all", "intervals", outcomes=misses)
    assert tally.failures() == []
    assert len(tally.failures(width)) == 1


@pytest.mark.parametrize(
    ("number", "true", "factor"),
    [
        (Number(0.5, 0.4, 0.7), 0.6, 0.5),
        (Number(0.5, 0.4, 0.7), 0.3, 2.0),
        # An unbiased estimate can lie outside the possible range.
        (Number(-0.1, 0.0, 0.2), 0.1, 0.5),
        (Number(-0.1, 0.0, 0.0), 0.1, math.inf),
        (Number(2.0, 1.0, None), 9.0, 0.0),
        (Number(2.0, 1.0, 4.0, None, True), math.sqrt(2), 0.5),
        (Number(0.5, None, None, (0.2, 0.8)), 0.3, math.inf),
        (Number(0.5, None, None, (0.2, 0.8)), 0.9, 0.0),
    ],
)
def test_miss_is_the_factor_of_the_width_at_which_the_truth_is_excluded(number, true, factor):
    assert number.miss(true) == pytest.approx(factor, abs=1e-4)


def test_the_likelihood_ratio_test_without_perturbation_is_that_of_a_table():
    table = np.array([[30, 20, 50], [45, 15, 30]])
    expected = chi2_contingency(table, lambda_="log-likelihood").pvalue
    found = ratio_test(*association((2, 3)), np.eye(6), table.ravel().astype(float))
    assert found == pytest.approx(expected, rel=1e-3)
