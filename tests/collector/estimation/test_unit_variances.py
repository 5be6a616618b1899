"""Variances as functions of one share, and the coverage of the score intervals built on them."""

from itertools import combinations, product

import numpy as np
import pytest
from halftruth_collector.estimation import Counts, Estimator
from halftruth_collector.estimation.intervals import table_intervals
from halftruth_shared import (
    Attribute,
    DistortionMatrices,
    GammaDiagonal,
    RandomizedResponse,
    Schema,
    SplitQuestionnaire,
    Survey,
)

SHAPE = (4, 3, 3, 2, 2, 2)
UNEVEN = {
    2: [["4/5", "1/10"], ["1/5", "9/10"]],
    3: [["7/10", "1/10", "1/5"], ["1/5", "4/5", "1/5"], ["1/10", "1/10", "3/5"]],
    4: [
        ["3/5", "1/10", "1/10", "1/20"],
        ["1/5", "7/10", "1/10", "1/20"],
        ["1/10", "1/10", "1/2", "1/10"],
        ["1/10", "1/10", "3/10", "4/5"],
    ],
}


def split(longest):
    lengths = dict.fromkeys(range(1, longest + 1), 1.0)
    return lambda schema: SplitQuestionnaire.designed(schema, 19, (), lengths)


MECHANISMS = {
    "randomized response": lambda schema: RandomizedResponse(dict.fromkeys(schema.names, "0.7")),
    "matrices": lambda schema: DistortionMatrices(
        {each.name: UNEVEN[len(each.categories)] for each in schema.attributes}
    ),
    "gamma-diagonal": lambda _: GammaDiagonal(19),
    "split pairs": split(2),
    "split, all lengths": lambda schema: split(len(schema.names))(schema),
}


def survey_of(mechanism, shape=SHAPE):
    schema = Schema(
        [Attribute(f"q{j}", [str(code) for code in range(n)]) for j, n in enumerate(shape)]
    )
    return Survey("s", "S", schema, MECHANISMS[mechanism](schema))


def drawn(survey, margins, reports, rng):
    codes = [rng.choice(p.size, reports, p=p) for p in margins]
    counts = Counts.from_reports(survey, survey.perturbation.reports(np.stack(codes, 1), rng))
    return Estimator(survey, counts)


def uneven(rng, shape=SHAPE):
    return [rng.dirichlet(np.full(n, 0.6)) for n in shape]


@pytest.mark.parametrize("fraction", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_unit_variances_are_those_of_reports_of_a_population_with_this_share(mechanism, fraction):
    """Against sums over all possible reports and their weights, also of merged answers."""
    rng = np.random.default_rng(3)
    survey = survey_of(mechanism, (3, 2, 4))
    margins = uneven(rng, (3, 2, 4))
    estimator = drawn(survey, margins, 400, rng)
    merged = Estimator(survey, estimator.counts, merge={"q2": [["0", "2"]]})
    for names, source in product((["q2"], ["q0", "q2"]), (estimator, merged)):
        table = source.table(names).sampled(fraction)
        unit, people = table.unit_variance(), np.maximum(table.value, 0.0)
        exact = source is estimator or (estimator.table(names).value > 0).all()
        for cell in np.ndindex(*people.shape):
            if not exact and cell[-1] != 0:
                # Of the other people, merged parts with a negative estimate are cut one by one.
                continue
            others = people.copy()
            others[cell] = 0
            for share in (0.0, 0.15, 0.6, 1.0):
                shares = (1 - share) * others / others.sum()
                shares[cell] = share
                found = unit.constant[cell] + unit.linear[cell] * share
                found += unit.quadratic[cell] * share**2
                expected = (1 - fraction) * _variance(table.sampled(0.0), shares, cell)
                expected += fraction * _variance(table.sampled(1.0), shares, cell)
                assert found == pytest.approx(expected, rel=1e-6)


def _variance(table, shares, cell):
    """N times the variance of the estimated share of a cell, from the weights of all reports."""
    total, form = 0.0, np.ravel_multi_index(cell, shares.shape)
    for each in table.report_distributions(shares):
        weights = each.weights[:, form]
        mean = each.chances @ weights
        total += each.reports * (each.chances @ (weights - mean) ** 2)
    share = shares[cell]
    return table.reports * total - (share * (1 - share) if table.fraction == 1 else 0)


SURVEYS = {300: 30, 3_000: 12, 50_000: 8}


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize(
    "reports", [pytest.param(n, marks=pytest.mark.nightly) if n != 3_000 else n for n in SURVEYS]
)
def test_intervals_of_shares_cover_at_every_length(mechanism, reports):
    """Uneven independent answers, tables of 1 to 6 questions; 93 to 97 % and simulation error.

    The cells of one survey depend on each other, so the error is that of the surveys' rates. It
    fails by chance once in 1 000 times.
    """
    rng = np.random.default_rng(28)
    survey = survey_of(mechanism)
    margins = uneven(rng)
    longest = 2 if mechanism == "split pairs" else len(SHAPE)
    rates = {length: [] for length in range(1, longest + 1)}
    for _ in range(SURVEYS[reports]):
        estimator = drawn(survey, margins, reports, rng)
        for length, found in rates.items():
            inside = []
            for axes in list(combinations(range(len(SHAPE)), length))[:3]:
                truth = margins[axes[0]]
                for axis in axes[1:]:
                    truth = np.multiply.outer(truth, margins[axis])
                lower, upper = table_intervals(estimator.table([f"q{axis}" for axis in axes]))
                inside.append(((lower <= truth) & (truth <= upper)).ravel())
            found.append(np.concatenate(inside).mean())
    for length, found in rates.items():
        rate, error = np.mean(found), np.std(found, ddof=1) / np.sqrt(len(found))
        assert 0.93 - 3.5 * error <= rate <= 0.97 + 3.5 * error, (length, rate, error)
