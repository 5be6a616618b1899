"""Every analysis in small worlds whose truth is known, and whether wrong intervals are noticed.

``tests/bench/honesty.py`` runs the same with hundreds of surveys of more worlds.
"""

import math
from functools import cache

import numpy as np
import pytest
from halftruth_collector.analyses import ANALYSES
from likelihood_ratio import association, ratio_test
from scipy.stats import chi2_contingency
from worlds import WORLDS, Number, Tally, questions, simulate

#: Analyses without an interval: counts as they came, and risks that are maxima.
WITHOUT_INTERVALS = {"counts", "risk"}

#: Worlds that take little time, with two surveys of each.
SMALL = [world for world in WORLDS if world.reports <= 2_000 or world.parts == {"model"}]


@cache
def simulated():
    tally = Tally((1.0, 0.6))
    for world in SMALL:
        tally.merge(simulate(world, range(2), tally.factors).sums)
    return tally


def test_no_analysis_is_wrong_more_often_than_it_says():
    assert simulated().failures() == []


def test_intervals_of_three_fifths_of_their_width_are_noticed():
    assert any(each.startswith("all") for each in simulated().failures(0.6))


def test_every_analysis_is_asked_and_has_intervals():
    asked = {each.label.split()[0] for world in WORLDS for each in questions(world)}
    assert asked == set(ANALYSES)
    found = {name[0].split()[0] for name, *_ in simulated().rates("given")}
    assert found == asked - WITHOUT_INTERVALS


@pytest.mark.parametrize(("surveys", "width"), [(1300, 0.9), (260, 0.8), (60, 0.6)])
def test_narrow_intervals_are_noticed_and_right_ones_are_not(surveys, width):
    """Five intervals in each survey, of estimates that share half of their variance."""
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
        # The unbiased estimate can lie outside of what is possible.
        (Number(-0.1, 0.0, 0.2), 0.1, 0.5),
        (Number(-0.1, 0.0, 0.0), 0.1, math.inf),
        (Number(2.0, 1.0, None), 9.0, 0.0),
        (Number(2.0, 1.0, 4.0, None, True), math.sqrt(2), 0.5),
        (Number(0.5, None, None, (0.2, 0.8)), 0.3, math.inf),
        (Number(0.5, None, None, (0.2, 0.8)), 0.9, 0.0),
    ],
)
def test_an_interval_misses_at_less_than_a_multiple_of_its_width(number, true, factor):
    assert number.miss(true) == pytest.approx(factor, abs=1e-4)


def test_the_likelihood_ratio_of_true_answers_is_that_of_a_table():
    table = np.array([[30, 20, 50], [45, 15, 30]])
    expected = chi2_contingency(table, lambda_="log-likelihood").pvalue
    found = ratio_test(*association((2, 3)), np.eye(6), table.ravel().astype(float))
    assert found == pytest.approx(expected, rel=1e-3)
