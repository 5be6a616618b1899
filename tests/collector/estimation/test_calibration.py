"""Intervals, errors and decisions against simulated surveys.

The population is a fixed table of 2 × 3 × 2 cells, each with at least 4 %; every survey has 5 000
respondents. Seeds are fixed, so that a failure is due to a change of the code; the stated
false-alarm rates are those of a fresh seed.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest
from halftruth_collector.estimation import Counts, Estimator
from halftruth_shared.mechanisms import MECHANISMS
from mined import itemsets_of
from scipy.stats import chi2, norm
from sources import aim, aimed

from .definitions import KINDS, TARGETS

SHAPE = (2, 3, 2)
SHARES = np.array([14, 6, 9, 11, 4, 10, 8, 12, 5, 7, 6, 8]) / 100
RESPONDENTS = 5000
EVERY_CELL = np.stack(np.unravel_index(np.arange(12), SHAPE), axis=1)


def test_every_mechanism_is_simulated_here_or_in_its_own_module():
    elsewhere = {"randomized-gamma-diagonal", "split-questionnaire"}
    assert {*KINDS, *elsewhere} == {mechanism.kind for mechanism in MECHANISMS}


@pytest.fixture
def survey(make_survey, kind):
    return make_survey(kind, SHAPE)


def margin(table, names):
    """Return the flat margin of a table of 12 cells, with the axes in the order of the names."""
    positions = ["abc".index(name) for name in names]
    others = tuple({0, 1, 2} - set(positions))
    kept = sorted(positions)
    return (
        np.reshape(table, SHAPE)
        .sum(axis=others)
        .transpose([kept.index(position) for position in positions])
        .ravel()
    )


def every_report(survey):
    shape = survey.report_space.shape
    return np.stack(np.unravel_index(np.arange(np.prod(shape)), shape), axis=1)


def counted(survey, reports):
    """Return the number of reports of each possible kind."""
    shape = survey.report_space.shape
    return np.bincount(np.ravel_multi_index(reports.T, shape), minlength=np.prod(shape))


def estimators(survey, tables):
    reports = every_report(survey)
    for table in tables:
        yield Estimator(survey, Counts.from_cells(survey, reports, table))


def drawn_tables(survey, oracle, target, surveys, rng):
    """Return counts of the reports of many surveys, drawn from the dense matrix, and the truth."""
    matrix = oracle.matrix(survey, "abc")
    if target == "population":
        return rng.multinomial(RESPONDENTS, matrix @ SHARES, size=surveys), SHARES
    fixed = rng.multinomial(RESPONDENTS, SHARES)
    drawn = [
        rng.multinomial(count, matrix[:, cell], size=surveys) for cell, count in enumerate(fixed)
    ]
    return sum(drawn), fixed / RESPONDENTS


@dataclass(frozen=True)
class Simulation:
    """Estimates of the cells of one table, with a row for each survey."""

    truth: np.ndarray
    support: np.ndarray
    variance: np.ndarray


@pytest.fixture(scope="module")
def simulate(make_survey, oracle):
    """Tables of one, two and three attributes in 4 000 surveys drawn from the dense matrix."""

    @cache
    def run(kind, target):
        survey = make_survey(kind, SHAPE)
        rng = np.random.default_rng(53)
        tables, truth = drawn_tables(survey, oracle, target, 4000, rng)
        rows = {names: [] for names in ("b", "ca", "abc")}
        for estimator in estimators(survey, tables):
            for names, found in rows.items():
                table = estimator.table(list(names))
                found.append((table.value.ravel(), aim(table, target).variance().ravel()))
        return [
            Simulation(margin(truth, names), *map(np.array, zip(*found, strict=True)))
            for names, found in rows.items()
        ]

    return run


@pytest.mark.nightly
@pytest.mark.parametrize("target", TARGETS)
def test_supports_are_unbiased_with_the_predicted_errors_and_coverage(simulate, kind, target):
    # Over 152 cells, a |z| of 4.5 is a false alarm in one run of 900. With 4 000 surveys, a
    # standard deviation has an error of 1.1 %, so that 5 % is 4.5 of these: as above. A cell's
    # coverage has a standard deviation of 0.34 %, so that 1.5 % is 4.4 of them: one run of 500.
    for simulation in simulate(kind, target):
        support, truth, variance = simulation.support, simulation.truth, simulation.variance
        spread = support.std(axis=0, ddof=1)
        z = (support.mean(axis=0) - truth) / (spread / np.sqrt(len(support)))
        assert np.abs(z).max() < 4.5
        np.testing.assert_allclose(np.sqrt(variance.mean(axis=0)), spread, rtol=0.05)
        covered = np.abs(support - truth) <= norm.ppf(0.975) * np.sqrt(variance)
        np.testing.assert_allclose(covered.mean(axis=0), 0.95, atol=0.015)


@pytest.mark.nightly
@pytest.mark.parametrize("target", TARGETS)
def test_the_covariance_is_as_predicted(survey, oracle, target):
    # Along 12 random directions in the space of tables, with tolerances as for the standard errors
    # above: one false alarm in 1 500 runs.
    rng = np.random.default_rng(54)
    surveys = 4000
    tables, _ = drawn_tables(survey, oracle, target, surveys, rng)
    directions = rng.normal(size=(12, 12))
    supports, predicted = [], []
    for k, estimator in enumerate(estimators(survey, tables)):
        table = estimator.table(["a", "b", "c"])
        supports.append(directions @ table.value.ravel())
        if k < 200:
            predicted.append(np.diag(directions @ aim(table, target).covariance() @ directions.T))
    spread = np.std(supports, axis=0, ddof=1)
    np.testing.assert_allclose(np.sqrt(np.mean(predicted, axis=0)), spread, rtol=0.05)


@pytest.mark.nightly
@pytest.mark.parametrize("target", TARGETS)
def test_an_itemset_at_the_threshold_is_rarely_pruned_by_its_subsets(make_survey, oracle, target):
    # The pruning bounds share their error among all subsets, so that an itemset at the threshold is
    # pruned in at most 2.5 % of surveys. Every respondent answers either 000 or 121, so that all
    # subsets of 121 are at the threshold too.
    survey = make_survey("randomized-response", SHAPE)
    rng = np.random.default_rng(56)
    surveys, threshold = 1500, 0.2
    true = np.zeros(12)
    true[0], true[np.ravel_multi_index((1, 2, 1), SHAPE)] = 1 - threshold, threshold
    matrix = oracle.matrix(survey, "abc")
    if target == "population":
        tables = rng.multinomial(RESPONDENTS, matrix @ true, size=surveys)
    else:
        tables = sum(
            rng.multinomial(round(RESPONDENTS * share), column, size=surveys)
            for share, column in zip(true, matrix.T, strict=True)
        )
    lost = 0
    for estimator in estimators(survey, tables):
        mined = itemsets_of(aimed(estimator, target), threshold, max_length=3)
        support = estimator.table(["a", "b", "c"]).value[1, 2, 1]
        there = (mined.codes == (1, 2, 1)).all(axis=1).any()
        lost += bool(support >= threshold and not there)
    # 2.5 % plus 3 standard deviations: a false alarm in at most one run of 700.
    assert lost / surveys < 0.025 + 3 * np.sqrt(0.025 * 0.975 / surveys)


def test_the_simulated_channel_is_that_of_the_samplers(survey, oracle):
    # Chi-square of 100 000 perturbed copies of each record against the dense matrix, at a level
    # that less than one run of 10 000 reaches.
    rng = np.random.default_rng(58)
    copies = 100_000
    matrix = oracle.matrix(survey, "abc")
    statistic = 0.0
    for cell, record in enumerate(EVERY_CELL):
        records = np.repeat(record[np.newaxis], copies, axis=0)
        found = counted(survey, survey.perturbation.reports(records, rng))
        expected = copies * matrix[:, cell]
        statistic += ((found - expected) ** 2 / expected).sum()
    assert statistic < chi2.isf(1e-4, matrix.size - len(EVERY_CELL))
