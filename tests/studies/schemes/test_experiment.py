"""FRAPP's experiment: its error measures, and the ranking of the schemes."""

import math
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from dense import gamma_diagonal
from halftruth_collector.demo.census import SCHEMA, census_counts
from halftruth_collector.demo.comparison import mining_errors
from halftruth_collector.estimation import Counts
from halftruth_shared import Attribute, ParameterError, RandomizedGammaDiagonal, Schema
from halftruth_studies.schemes.candidates import (
    candidates,
    posterior_range,
    randomized_errors,
    try_schemes,
)
from halftruth_studies.schemes.charts import RIVAL_CHARTS
from halftruth_studies.schemes.experiment import Records, Scheme, errors_of
from msgspec import structs
from witnesses import witness

TRUTH = census_counts()
CENSUS = Records.of(SCHEMA, TRUTH, 0.02)


def small(*sizes, people=400, min_support=0.1, max_length=None):
    """Return records of independent answers."""
    schema = Schema([Attribute(f"a{j}", [f"c{c}" for c in range(d)]) for j, d in enumerate(sizes)])
    rng = np.random.default_rng(5)
    codes = np.stack([rng.binomial(d - 1, 0.4, people) for d in sizes], axis=1)
    cells, counts = np.unique(codes, axis=0, return_counts=True)
    truth = Counts(schema.names, schema.shape, cells, counts)
    return Records.of(schema, truth, min_support, max_length)


def scheme_of(records, change=lambda table, names: table):
    """Return a scheme that reports the truth after `change`."""

    def support(names):
        shares = records.truth.marginal(records.schema.positions(names)) / records.truth.reports
        return change(shares, names)

    return Scheme(Fraction(19), lambda names: None, lambda rng: {"": support})


@pytest.fixture(scope="module")
def census():
    """Errors of each scheme in one simulated survey of CENSUS, without the slower best guess."""
    schemes, left_out = candidates(CENSUS, Fraction(19))
    assert left_out == []
    found = {
        name: errors_of(name, scheme, CENSUS, 1)[0].lengths
        for name, scheme in schemes.items()
        if name != "split questionnaire"
    }
    return found, {name: scheme.amplification for name, scheme in schemes.items()}


def of(lengths, field):
    return [getattr(length, field) for length in lengths]


def test_mining_errors_match_set_differences():
    rng = np.random.default_rng(2)
    for _ in range(50):
        true, estimated = rng.random(12) / 5 + 0.01, rng.random(12) / 5
        found = rng.random(12) < 0.5
        F = {k for k in range(12) if true[k] >= 0.1}
        R = {k for k in range(12) if found[k]}
        errors = mining_errors(true, estimated, found, 0.1)
        assert (errors.frequent, errors.found) == (len(F), len(R))
        if F:
            assert errors.false_negatives == len(F - R) / len(F)
            assert errors.false_positives == len(R - F) / len(F)
        else:
            assert errors.false_negatives is None
            assert errors.false_positives is None
        if F & R:
            relative = [abs(estimated[k] - true[k]) / true[k] for k in F & R]
            assert errors.support_error == pytest.approx(sum(relative) / len(relative))
        else:
            assert errors.support_error is None


def test_a_truthful_scheme_finds_exactly_the_frequent_itemsets():
    [errors] = errors_of("truth", scheme_of(CENSUS), CENSUS, 1)
    row = witness("FRAPP", "Table 3 (CENSUS)")
    assert of(errors.lengths, "found") == of(errors.lengths, "frequent") == row.own_values
    for field in ("support_error", "false_negatives", "false_positives", "root_mean_square"):
        assert of(errors.lengths, field) == [0] * 6


def test_an_itemset_is_found_only_if_all_its_subsets_are():
    records = small(2, 2, 2, min_support=0.01)

    def change(table, names):
        # a0 = c1 has an estimate of 0, and all longer itemsets have 1.
        if names == ["a0"]:
            return np.array([1.0, 0.0])
        return table if len(names) == 1 else np.ones_like(table)

    [errors] = errors_of("changed", scheme_of(records, change), records, 1)
    assert of(errors.lengths, "found") == [5, 8, 4]
    by_itself = replace(records, levels=False)
    [errors] = errors_of("changed", scheme_of(records, change), by_itself, 1)
    assert of(errors.lengths, "found") == [5, 12, 8]


def test_a_scheme_finds_no_itemsets_of_lengths_without_estimates():
    records = small(2, 3, 2)
    silent = scheme_of(records, lambda table, names: table if len(names) == 1 else None)
    [errors] = errors_of("silent", silent, records, 2)
    assert of(errors.lengths, "false_negatives") == [0, 1, 1]
    assert of(errors.lengths, "support_error") == [0, None, None]
    assert of(errors.lengths, "root_mean_square") == [0, None, None]


def test_means_are_over_all_surveys():
    records = small(3, 2)
    scheme = candidates(records, Fraction(19))[0]["MASK"]
    [both] = errors_of("MASK", scheme, records, 2, seed=4)
    single = [errors_of("MASK", scheme, records, 1, seed=seed)[0] for seed in (4, 5)]
    for k in range(2):
        squares = [one.lengths[k].root_mean_square ** 2 for one in single]
        assert both.lengths[k].root_mean_square == pytest.approx(math.sqrt(sum(squares) / 2))
        assert both.lengths[k].found == sum(one.lengths[k].found for one in single) / 2


def test_all_schemes_have_the_requested_amplification(census):
    for amplification in census[1].values():
        assert 19 * (1 - 1e-6) < amplification <= 19


def test_condition_numbers_are_constant_for_gamma_diagonal_and_grow_for_mask(census):
    witness("FRAPP", "Figure 4a")
    for name in ("gamma-diagonal", "randomized gamma-diagonal"):
        numbers = of(census[0][name], "condition_number")
        assert numbers == pytest.approx([1 + 2000 / 18] * 6)
    numbers = of(census[0]["MASK"], "condition_number")
    assert numbers == pytest.approx([(1 / (2 * 0.5610365 - 1)) ** k for k in range(1, 7)], rel=1e-4)
    numbers = of(census[0]["cut-and-paste, K = 6"], "condition_number")
    assert min(after / before for before, after in pairwise(numbers)) > 7
    assert of(census[0]["cut-and-paste, K = 3"], "condition_number")[3:] == [None] * 3


def test_gamma_diagonal_is_better_for_long_itemsets_and_worse_for_single_answers(census):
    witness("FRAPP", "Figure 1")
    # In a survey of 48 842 people the differences are many standard errors.
    errors = {name: of(lengths, "root_mean_square") for name, lengths in census[0].items()}
    earlier = ("MASK", "EMASK", "cut-and-paste, K = 6")
    for name in ("gamma-diagonal", "randomized gamma-diagonal"):
        assert all(errors[name][2] < errors[e][2] for e in earlier)
        for length in (4, 5, 6):
            assert all(errors[name][length - 1] < errors[e][length - 1] / 3 for e in earlier)
        assert all(errors[name][0] > 5 * errors[e][0] for e in earlier)
    assert errors["cut-and-paste, K = 3"][3:] == [None] * 3
    found = {name: of(lengths, "found") for name, lengths in census[0].items()}
    assert found["MASK"][4:] == found["EMASK"][4:] == [0, 0]


def test_randomized_matrices_cost_no_accuracy_for_any_alpha():
    witness("FRAPP", "Figure 3b")
    # Long tables have 2 000 cells, whose mean square varies by only 1 % between surveys.
    points = randomized_errors(CENSUS, Fraction(19), 1, steps=2)
    assert [point.alpha for point in points] == [0, 0.5, 1]
    errors = [point.errors.lengths[5].root_mean_square for point in points]
    assert errors == pytest.approx([errors[0]] * 3, rel=0.1)


def test_the_posteriors_of_half_the_range_are_the_published_ones():
    none, half, whole = (
        posterior_range(RandomizedGammaDiagonal("19", alpha), 2_000, Fraction(1, 20))
        for alpha in (0, "1/2", 1)
    )
    assert none == (Fraction(1, 2), Fraction(1, 2))
    witness("FRAPP", "Figure 3a").assert_own([100 * posterior for posterior in half])
    assert whole[0] == 0


@pytest.mark.parametrize(("gamma", "alpha"), [("19", "5/19"), ("19/2", "1/2"), ("3/2", "0")])
def test_the_range_of_posteriors_matches_the_extreme_matrices(gamma, alpha):
    # The posterior of "the report is the true record" for an attacker who knows r.
    rho, gamma, alpha = Fraction(1, 20), Fraction(gamma), Fraction(alpha)
    reach = alpha * gamma / (gamma + 5)
    extremes = []
    for r in (-reach, reach):
        own, other = gamma_diagonal(6, gamma, r)[0][:2]
        extremes.append(rho * own / (rho * own + (1 - rho) * other))
    found = posterior_range(RandomizedGammaDiagonal(gamma, alpha), 6, rho)
    assert found == tuple(extremes)


def test_an_inapplicable_scheme_is_left_out_with_its_reason():
    records = small(*[2] * 24, people=50, max_length=2)
    schemes, left_out = candidates(records, Fraction(4))
    assert "gamma-diagonal" not in schemes
    assert [reason.partition(":")[0] for reason in left_out] == [
        "gamma-diagonal",
        "randomized gamma-diagonal",
        "cut-and-paste, K = 3",
    ]
    rest = ["MASK", "EMASK", "cut-and-paste, K = 2", "randomized response", "split questionnaire"]
    assert list(schemes) == rest


@pytest.mark.parametrize(
    ("asked", "field"),
    [
        ({"min_support": 0}, "min_support"),
        ({"min_support": float("nan")}, "min_support"),
        ({"max_length": 0}, "max_length"),
        ({"max_length": 3}, "max_length"),
    ],
)
def test_invalid_arguments_are_refused(asked, field):
    with pytest.raises(ParameterError, match="expected") as raised:
        small(2, 2, **asked)
    assert raised.value.field == field


def test_charts_of_randomization_are_empty_if_it_is_inapplicable():
    result = structs.replace(try_schemes(small(2, 3), Fraction(19), 1), randomized=[])
    assert RIVAL_CHARTS["randomization"](result).curves == ()
    assert [curve.defined_points for curve in RIVAL_CHARTS["posterior"](result).curves] == [[], []]
