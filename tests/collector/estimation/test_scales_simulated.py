"""Error, coverage, level and power of correlations of scales, in simulated surveys.

By day a few surveys are simulated, as a witness with wide bounds; at night enough for the figures
of the manual.
"""

from functools import cache

import numpy as np
import pytest
import scipy
from halftruth_collector.estimation import Counts, Estimator
from halftruth_collector.estimation.groups import survey_in_groups
from halftruth_collector.estimation.planning.margins import Expectation
from halftruth_collector.estimation.scales import (
    correlation_of,
    estimate_scales,
    score_correlation_of,
    table_of_scales,
)
from halftruth_shared import Attribute, RandomizedResponse, Schema, SplitQuestionnaire, Survey
from halftruth_shared.mechanisms.split_questionnaire.wanted import WantedTables
from mined import associations_of

ELEVEN = [str(score) for score in range(11)]
CUTS = {2: [5], 3: [3, 7]}
NIGHTLY = pytest.mark.nightly


@cache
def four_scales(groups, *, wanted=True, cuts=None):
    """Four scales from 0 to 10, whose reports about several have two or three groups of answers.

    The views are designed for all pairs that are wanted, or for tables of up to two questions.
    """
    parts = np.split(np.array(ELEVEN), cuts or CUTS[groups])
    collapsed = {f"{part[0]} to {part[-1]}": part.tolist() for part in parts}
    schema = Schema(
        [
            Attribute(name, ELEVEN, ordered=True, collapsed=collapsed)
            for name in ("trust", "mood", "sleep", "pain")
        ]
    )
    tables = [WantedTables(of=schema.names)] if wanted else {1: 1.0, 2: 1.0}
    return Survey("s", "S", schema, SplitQuestionnaire.designed(schema, "19", (), tables))


def rounded(latent):
    return np.clip(np.rint(5 + 1.9 * latent), 0, 10).astype(int)


def skewed(latent):
    return np.clip(np.floor(2.2 * np.exp(0.7 * latent)), 0, 10).astype(int)


def correlated(rng, people, correlation, count=4):
    spread = np.full((count, count), float(correlation))
    np.fill_diagonal(spread, 1.0)
    return rng.multivariate_normal(np.zeros(count), spread, people)


def estimator_of(survey, codes, rng):
    counts = Counts.from_reports(survey, survey.perturbation.reports(codes, rng))
    return Estimator(survey_in_groups(survey), counts)


def estimates(survey, people, correlation, scores, surveys, seed):
    """Estimates, ends of intervals and p-values of two pairs of each of some surveys."""
    rng, found = np.random.default_rng(seed), []
    for _ in range(surveys):
        codes = scores(correlated(rng, people, correlation))
        estimator = estimator_of(survey, codes, rng)
        for names in (["trust", "mood"], ["sleep", "pain"]):
            each = correlation_of(table_of_scales(estimator, names))
            sets = each.interval(0.95)
            found.append([each.value[0], sets.lower[0], sets.upper[0], each.p_value[0]])
    return np.array(found)


@pytest.mark.parametrize("surveys", [3, pytest.param(200, marks=NIGHTLY)])
@pytest.mark.parametrize(
    ("groups", "people", "largest"),
    [(3, 5_000, 0.11), (3, 20_000, 0.05), (2, 5_000, 0.085), (2, 20_000, 0.045)],
)
def test_the_error_of_a_correlation_of_scales(groups, people, largest, surveys):
    found = estimates(four_scales(groups), people, 0.4, rounded, surveys, seed=11)
    found = found[np.isfinite(found[:, 0])]
    error = float(np.sqrt(((found[:, 0] - 0.4) ** 2).mean()))
    covered = float(((found[:, 1] <= 0.4) & (found[:, 2] >= 0.4)).mean())
    print(f"| {groups} | {people} | {error:.4f} | {covered:.3f} |")
    assert error <= (largest if surveys == 200 else 2 * largest)


def least_error(survey, cuts, people):
    """The Cramér–Rao bound for a correlation of 0.4 of two scales, even with known thresholds."""
    ends = np.array([-8.0, *((cut - 0.5 - 5) / 1.9 for cut in cuts), 8.0])

    def table(correlation):
        normal = scipy.stats.multivariate_normal([0, 0], [[1, correlation], [correlation, 1]])
        below = normal.cdf(np.stack(np.meshgrid(ends, ends), axis=-1))
        return np.diff(np.diff(below, axis=0), axis=1).ravel()

    slopes, information = (table(0.401) - table(0.399)) / 0.002, 0.0
    weights = sum(view.weight for view in survey.perturbation.views)
    for view in survey.perturbation.views:
        assert len(view.positions) <= 2
        if view.positions == (0, 1):
            channel = np.asarray(view.channel.forward(np.eye(view.channel.cells))).T
            change = channel @ slopes
            information += view.weight / weights * change @ (change / (channel @ table(0.4)))
    return float(1 / np.sqrt(people * information))


@pytest.mark.parametrize("surveys", [3, pytest.param(300, marks=NIGHTLY)])
@pytest.mark.parametrize(("people", "largest"), [(5_000, 0.11), (20_000, 0.05)])
@pytest.mark.parametrize("cuts", [(3, 7), (4, 6)])
def test_errors_where_half_of_the_reports_are_about_single_scales(cuts, people, largest, surveys):
    """With groups of similar size they are as wanted; otherwise no unbiased estimate has them.

    The groups of 0 to 2, 3 to 6, and 7 to 10 have 9, 69 and 21 % of the answers.
    """
    survey = four_scales(3, wanted=False, cuts=cuts)
    views = survey.perturbation.views
    alone = sum(view.weight for view in views if len(view.positions) == 1)
    assert 0.45 < alone / sum(view.weight for view in views) < 0.5
    found = estimates(survey, people, 0.4, rounded, surveys, seed=16)
    found = found[np.isfinite(found[:, 0])]
    error = float(np.sqrt(((found[:, 0] - 0.4) ** 2).mean()))
    covered = float(((found[:, 1] <= 0.4) & (found[:, 2] >= 0.4)).mean())
    bound = least_error(survey, cuts, people)
    print(f"| {cuts} | {people} | {error:.4f} | bound {bound:.4f} | {covered:.3f} |")
    assert (bound > largest) == (cuts == (3, 7))
    if surveys > 3:
        assert error <= 1.1 * bound
        assert error <= largest or bound > largest
        assert 0.93 <= covered <= 0.97


@pytest.mark.parametrize("surveys", [2, pytest.param(300, marks=NIGHTLY)])
@pytest.mark.parametrize("scores", [rounded, skewed])
@pytest.mark.parametrize("correlation", [0, 0.4, 0.8])
def test_intervals_cover_the_correlation(correlation, scores, surveys):
    """The standard error of the coverage is 0.9 points at night."""
    found = estimates(four_scales(3), 5_000, correlation, scores, surveys, seed=12)
    known = np.isfinite(found[:, 0])
    # The test of the normal variables has a level of 1 %.
    assert (~known).mean() <= (0.02 if surveys == 300 else 0.5)
    found = found[known]
    covered = float(((found[:, 1] <= correlation) & (found[:, 2] >= correlation)).mean())
    print(f"| {correlation} | {scores.__name__} | {covered:.3f} | {known.mean():.3f} |")
    assert 0.93 <= covered <= 0.97 if surveys == 300 else covered > 0


@pytest.mark.parametrize("surveys", [2, pytest.param(200, marks=NIGHTLY)])
def test_the_map_of_independent_scales_has_few_false_associations(surveys):
    survey, rng, false = four_scales(3), np.random.default_rng(13), 0
    for _ in range(surveys):
        estimator = estimator_of(survey, rounded(correlated(rng, 3_000, 0)), rng)
        adjusted = np.asarray(associations_of(estimator).adjusted_p_value, dtype=float)
        false += bool((adjusted <= 0.05).any())
    print(f"| {false} of {surveys} |")
    # 5 % of 200 are 10, with a standard error of 3.1.
    assert false <= (19 if surveys == 200 else 1)


FIVE = Schema([Attribute(name, [*"abcde"], ordered=True) for name in "xy"])
FIVES = Survey("s", "S", FIVE, SplitQuestionnaire.designed(FIVE, "19", (), {1: 1.0, 2: 1.0}))
THRESHOLDS = np.array([[-1.2, -0.6, 0.3, 0.9], [-0.4, 0.2, 0.8, 1.6]])


def fives(latent):
    return np.stack([np.searchsorted(t, z) for t, z in zip(THRESHOLDS, latent.T, strict=True)], 1)


def likelihood_ratio(counts):
    """2 ln of the ratio for a linear-by-linear term, by the likelihood of all reports."""
    parts = []
    for view in FIVES.perturbation.views:
        own = (counts.cells[:, -1] >= view.first) & (
            counts.cells[:, -1] < view.first + view.symbols
        )
        numbers = np.zeros(view.symbols)
        numbers[counts.cells[own, -1].astype(int) - view.first] = counts.counts[own]
        channel = np.asarray(view.channel.forward(np.eye(view.channel.cells))).T
        parts.append((channel, numbers, [axis for axis in (0, 1) if axis not in view.positions]))
    ranks = np.linspace(-1, 1, 5)
    products = np.multiply.outer(ranks, ranks)

    def loss(parameters):
        first, second = (np.append(0, each) for each in np.split(parameters[:8], 2))
        table = np.exp(first[:, None] + second + parameters[8] * products)
        table /= table.sum()
        level, slopes = 0.0, np.zeros((5, 5))
        for channel, numbers, summed in parts:
            reported = channel @ table.sum(axis=tuple(summed)).ravel()
            level -= numbers @ np.log(reported)
            back = channel.T @ (numbers / reported)
            slopes = slopes + np.expand_dims(back.reshape([5] * (2 - len(summed))), tuple(summed))
        change = table * (slopes - (table * slopes).sum())
        gradient = [change.sum(axis=1)[1:], change.sum(axis=0)[1:], [(change * products).sum()]]
        return level, -np.concatenate(gradient)

    def best(bounds):
        fit = scipy.optimize.minimize(loss, np.zeros(9), jac=True, method="L-BFGS-B", bounds=bounds)
        return fit.fun

    free = [(-8, 8)] * 8
    return 2 * (best([*free, (0, 0)]) - best([*free, (-8, 8)]))


@pytest.mark.parametrize("surveys", [6, pytest.param(500, marks=NIGHTLY)])
def test_the_test_for_trend_has_the_power_of_the_likelihood_ratio(surveys):
    """Of the same reports, with one linear-by-linear parameter and free margins."""
    rng, found = np.random.default_rng(14), {0: [], 0.15: []}
    for correlation, statistics in found.items():
        for _ in range(surveys):
            codes = fives(correlated(rng, 3_000, correlation, 2))
            counts = Counts.from_reports(FIVES, FIVES.perturbation.reports(codes, rng))
            trend = score_correlation_of(Estimator(FIVES, counts), ["x", "y"])
            statistics.append([trend.statistic[0] ** 2, likelihood_ratio(counts)])
    limit = scipy.stats.chi2.ppf(0.95, 1)
    level, power = ((np.array(each) > limit).mean(axis=0) for each in found.values())
    print(f"| level {level} | power {power} |")
    if surveys < 500:
        # Both are nearly the same statistic.
        both = np.array(found[0.15])
        assert np.corrcoef(both.T)[0, 1] > 0.8
        return
    assert level[0] <= 0.07
    assert power[0] >= 0.9 * power[1]


@pytest.mark.parametrize("surveys", [10, pytest.param(300, marks=NIGHTLY)])
def test_a_detectable_correlation_is_found_in_four_of_five_surveys(surveys):
    rng, names = np.random.default_rng(15), ["trust", "mood"]
    survey = four_scales(3)
    shares = rounded(correlated(np.random.default_rng(0), 200_000, 0, 1))[:, 0]
    single = np.bincount(shares, minlength=11) / 200_000

    def people(asked):
        return single if len(asked) == 1 else np.multiply.outer(single, single)

    expected = Expectation(survey.perturbation, 5_000, people=people).reading(names)
    correlation = expected.detectable_correlation(*names)
    found = 0
    for _ in range(surveys):
        estimator = estimator_of(survey, rounded(correlated(rng, 5_000, correlation)), rng)
        found += estimate_scales(estimator, names, "polychoric").p_value[0] <= 0.05
    print(f"| {correlation:.3f} | {found} of {surveys} |")
    assert 0.74 <= found / surveys <= 0.86 if surveys == 300 else found >= 4


def test_a_detectable_correlation_falls_with_the_root_of_the_respondents():
    """Without perturbation it is nearly that of the normal theory, 2.8/√N, for many answers."""
    schema = Schema([Attribute(name, ELEVEN, ordered=True, sensitive=False) for name in "xy"])
    survey = Survey("s", "S", schema, RandomizedResponse({"x": "1", "y": "1"}))
    found = [
        Expectation(survey.perturbation, count).detectable_correlation("x", "y")
        for count in (2_500, 10_000)
    ]
    assert found[0] / found[1] == pytest.approx(2, rel=0.01)
    # Eleven answers have nearly the information of the numbers behind them.
    assert found[1] == pytest.approx(2.802 / 100, rel=0.05)
