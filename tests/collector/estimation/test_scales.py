"""Polychoric correlation and test for trend, against SciPy, direct maximization and enumeration."""

import math

import numpy as np
import pytest
import scipy.stats
from halftruth_collector.estimation import Counts, Estimator
from halftruth_collector.estimation.groups import group_codes, group_sums, survey_in_groups
from halftruth_collector.estimation.reconstruction import reconstruction
from halftruth_collector.estimation.scales import (
    NO_VARIANCE,
    NOT_NORMAL,
    UNCLEAR_MARGIN,
    Binormal,
    Polychoric,
    are_scales,
    correlation_of,
    estimate_scales,
    score_correlation_of,
    table_of_scales,
    trend_score,
)
from halftruth_shared import (
    Attribute,
    GammaDiagonal,
    ParameterError,
    RandomizedResponse,
    Schema,
    SplitQuestionnaire,
    Survey,
)
from halftruth_shared.mechanisms.split_questionnaire.wanted import WantedTables
from mined import associations_of, rows_of
from sources import estimator_of

ELEVEN = [str(score) for score in range(11)]
GROUPS = {"low": ELEVEN[:4], "middle": ELEVEN[4:8], "high": ELEVEN[8:]}


def scales(names, categories=ELEVEN, **more):
    return [Attribute(name, [*categories], ordered=True, **more) for name in names]


def survey_of(attributes, wanted=None):
    schema = Schema(attributes)
    wanted = [WantedTables(of=schema.names)] if wanted is None else wanted
    return Survey("s", "S", schema, SplitQuestionnaire.designed(schema, "19", (), wanted))


def unperturbed(attributes):
    schema = Schema(attributes)
    return Survey("s", "S", schema, RandomizedResponse(dict.fromkeys(schema.names, "1")))


def normal(count, correlation, thresholds, seed):
    """Answers of people to two questions with latent normal variables."""
    rng = np.random.default_rng(seed)
    latent = rng.multivariate_normal([0, 0], [[1, correlation], [correlation, 1]], count)
    return np.stack([np.searchsorted(t, z) for t, z in zip(thresholds, latent.T, strict=True)], 1)


def rectangles(correlation, rows, columns):
    """Shares by SciPy's bivariate normal distribution."""
    known = {"cov": [[1, correlation], [correlation, 1]], "abseps": 1e-12, "releps": 1e-12}
    rows, columns = ([-9, *each, 9] for each in (rows, columns))
    below = [[scipy.stats.multivariate_normal.cdf([h, k], **known) for k in columns] for h in rows]
    return np.diff(np.diff(below, axis=0), axis=1)


@pytest.mark.parametrize("correlation", [-0.97, -0.4, 0, 0.6, 0.99])
def test_shares_are_those_of_the_bivariate_normal_distribution(correlation):
    rows, columns = np.array([-1.0, 0.2, 1.5]), np.array([-0.5, 0.9])
    table = Binormal(rows, columns)
    np.testing.assert_allclose(
        table.shares(correlation), rectangles(correlation, rows, columns), atol=1e-10
    )
    change = table.shares(correlation + 1e-6) - table.shares(correlation - 1e-6)
    np.testing.assert_allclose(table.slopes(correlation), change / 2e-6, atol=1e-8)


def test_the_score_has_the_slopes_of_the_thresholds():
    rng, step = np.random.default_rng(0), 1e-6
    forms, people = rng.normal(size=(4, 3)), rng.dirichlet(np.ones(12)).reshape(4, 3)

    def value(cells):
        margins = cells.sum(axis=1), cells.sum(axis=0)
        return float((forms * Binormal.of_margins(*margins).shares(0.4)).sum())

    found = Binormal.of_margins(people.sum(axis=1), people.sum(axis=0)).through_thresholds(
        0.4, forms
    )
    for cell in np.ndindex(4, 3):
        moved = np.zeros((4, 3))
        moved[cell] += step
        moved[3, 2] -= step
        expected = (value(people + moved) - value(people - moved)) / (2 * step)
        assert found[cell] - found[3, 2] == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize("correlation", [-0.7, 0.55])
def test_without_perturbation_it_is_the_two_step_polychoric_correlation(correlation):
    """The likelihood of the table by SciPy, with the thresholds of its margins, is largest."""
    survey = unperturbed(scales("xy", "abcd", missing=("-",), sensitive=False))
    codes = normal(1_500, correlation, ([-1, 0.3, 1.2], [-0.2, 0.5, 0.9]), seed=3)
    codes[::9, 0] = 4
    estimator = estimator_of(survey, codes)
    counts = np.zeros((4, 4))
    np.add.at(counts, tuple(codes[codes[:, 0] < 4].T), 1)
    thresholds = [
        scipy.stats.norm.ppf(counts.sum(axis=axis).cumsum()[:-1] / counts.sum()) for axis in (1, 0)
    ]
    best = scipy.optimize.minimize_scalar(
        lambda r: -(counts * np.log(rectangles(r, *thresholds))).sum(),
        bounds=(correlation - 0.2, correlation + 0.2),
        method="bounded",
        options={"xatol": 1e-8},
    )
    found = correlation_of(table_of_scales(estimator, ["x", "y"]))
    assert found.value[0] == pytest.approx(best.x, abs=1e-6)
    lower, upper = (
        float(end[0]) for end in (found.interval(0.95).lower, found.interval(0.95).upper)
    )
    assert lower < found.value[0] < upper
    assert (upper - lower) / 3.92 == pytest.approx(found.standard_error[0], rel=0.02)


def test_the_correlation_of_halves_is_in_closed_form():
    """P(both above the median) = 1/4 + arcsin(ρ)/2π (Sheppard 1899)."""
    survey = unperturbed(scales("xy", ["no", "yes"], sensitive=False))
    cells, numbers = [[0, 0], [0, 1], [1, 0], [1, 1]], [400, 100, 100, 400]
    table = Estimator(survey, Counts.from_cells(survey, cells, numbers)).table(["x", "y"])
    expected = math.sin(2 * math.pi * (0.4 - 0.25))
    assert correlation_of(table).value[0] == pytest.approx(expected, abs=1e-8)


SURVEYS = {
    "groups": survey_of(scales(("x", "y", "z"), collapsed=GROUPS)),
    "detail": survey_of(scales("xy", "abcde")),
    "records": Survey("s", "S", Schema(scales("xy", "abcde")), GammaDiagonal("19")),
}


@pytest.mark.parametrize("name", SURVEYS)
def test_the_expected_table_has_the_true_correlation(name):
    """The estimate is consistent whatever the mechanism, and so is its standard error."""
    survey = survey_in_groups(SURVEYS[name])
    cut = [-0.8, 0.9] if name == "groups" else [-1, -0.2, 0.4, 1.1]
    shares = Binormal(np.array(cut), np.array(cut) - 0.1).shares(0.45)
    found = [
        correlation_of(reconstruction(survey).expected_table(["x", "y"], shares, reports))
        for reports in (10_000, 40_000)
    ]
    np.testing.assert_allclose([each.value[0] for each in found], 0.45, atol=1e-7)
    errors = [each.standard_error[0] for each in found]
    assert errors[0] / errors[1] == pytest.approx(2, rel=1e-3)
    assert found[0].p_value[0] > found[1].p_value[0]


def test_the_margins_of_groups_count_reports_in_detail():
    survey = SURVEYS["groups"]
    rng = np.random.default_rng(5)
    codes = rng.binomial(10, 0.5, (3_000, 3))
    counts = Counts.from_reports(survey, survey.perturbation.reports(codes, rng))
    pair = Estimator(survey_in_groups(survey), counts).pair(["x", "y"])
    alone = Estimator(survey_in_groups(survey), counts).table(["x", "y"])
    sums = group_sums(group_codes(survey.schema.attributes[0]))
    for axis, name in enumerate("xy"):
        margin = Estimator(survey, counts).table([name])
        np.testing.assert_allclose(pair.value.sum(axis=1 - axis), sums @ margin.value, atol=1e-12)
        _, error = pair.margin([axis])
        # Both have the weights of the same reports; the shares differ that these are taken to have.
        known = np.sqrt(np.diag(sums @ margin.covariance() @ sums.T))
        np.testing.assert_allclose(error, known, rtol=0.05)
    # Only the shares of single questions change.
    change = pair.value - alone.value
    assert np.abs(change).max() > 1e-4
    np.testing.assert_allclose(np.diff(np.diff(change, axis=0), axis=1), 0, atol=1e-12)


@pytest.mark.parametrize("name", SURVEYS)
def test_the_test_for_trend_is_that_of_the_direction(name):
    """No form of departures has more power: its noncentrality is that of the whole information."""
    survey = survey_in_groups(SURVEYS[name])
    size = survey.schema.shape[0]
    even, ranks = np.full((size, size), 1 / size**2), np.arange(size, dtype=float)
    table = reconstruction(survey).expected_table(["x", "y"], even, 10_000)
    score = trend_score(table, ranks, ranks)
    direction = even * np.multiply.outer(ranks - ranks.mean(), ranks - ranks.mean())
    # With even answers, the departures are all tables without margins.
    spread = np.linalg.pinv(table.covariance(shares=even), rcond=1e-10, hermitian=True)
    information = direction.ravel() @ spread @ direction.ravel()
    assert score.variance == pytest.approx(information, rel=1e-6)
    assert score.value == pytest.approx(0, abs=1e-9)


def test_without_perturbation_the_test_for_trend_is_mantels():
    survey = unperturbed(scales("xy", "abcd", sensitive=False))
    codes = normal(2_000, 0.06, ([-1, 0.3, 1.2], [-0.2, 0.5, 0.9]), seed=8)
    estimator = estimator_of(survey, codes)
    found = score_correlation_of(estimator, ["x", "y"])
    correlation, _ = scipy.stats.pearsonr(*codes.T)
    assert found.value[0] == pytest.approx(correlation, abs=1e-12)
    assert found.statistic[0] == pytest.approx(math.sqrt(1_999) * correlation, rel=0.01)


def test_a_correlation_beyond_all_tables_is_1_with_a_bounded_interval():
    survey = unperturbed(scales("xy", "abc", sensitive=False))
    estimator = estimator_of(survey, np.repeat([[0, 0], [1, 1], [2, 2]], 50, axis=0))
    found = correlation_of(table_of_scales(estimator, ["x", "y"]))
    sets = found.interval(0.95)
    assert found.value[0] == 1
    assert np.isnan(found.standard_error[0])
    assert 0.9 < sets.lower[0] < 1 == sets.upper[0]


def test_without_perturbation_the_fit_is_that_of_pearson():
    """The test of Pearson's statistic has the same size, and nearly the same value."""
    survey = unperturbed(scales("xy", "abcd", sensitive=False))
    thresholds = ([-1, 0.3, 1.2], [-0.2, 0.5, 0.9])
    codes = normal(4_000, 0.5, thresholds, seed=1)
    found = Polychoric(table_of_scales(estimator_of(survey, codes), ["x", "y"]))
    shares = found.thresholds.shares(found.root)
    statistic = 4_000 * float(((found.table.value - shares) ** 2 / shares).sum())
    assert found.fit() == pytest.approx(scipy.stats.chi2.sf(statistic, 8), rel=0.15)


def test_answers_that_no_normal_variables_explain_have_no_correlation():
    """A quarter of the people give the same extreme answer to both, the others are independent."""
    survey = SURVEYS["detail"]
    rng = np.random.default_rng(9)
    codes = rng.integers(0, 5, (30_000, 2))
    codes[:7_000] = np.where(rng.random((7_000, 1)) < 0.5, 0, 4)
    counts = Counts.from_reports(survey, survey.perturbation.reports(codes, rng))
    found = estimate_scales(Estimator(survey, counts), ["x", "y"], "polychoric")
    assert np.isnan(found.value[0])
    assert found.undefined == [NOT_NORMAL]
    assert found.p_value[0] < 1e-6


def test_answers_that_are_all_alike_have_no_correlation():
    survey = unperturbed(scales("xy", "abc", sensitive=False))
    estimator = estimator_of(survey, np.repeat([[0, 0], [0, 1], [0, 2]], 30, axis=0))
    for measure, reason in (("polychoric", UNCLEAR_MARGIN), ("score_correlation", NO_VARIANCE)):
        found = estimate_scales(estimator, ["x", "y"], measure)
        assert np.isnan(found.value[0])
        assert found.undefined == [reason]


def test_only_ordered_questions_of_three_answers_are_scales():
    schema = Schema(
        [
            *scales("xy", "abc"),
            Attribute("sex", ["m", "f"], ordered=True),
            Attribute("party", ["left", "right", "none"]),
        ]
    )
    assert are_scales(schema, ["x", "y"])
    assert not are_scales(schema, ["x", "sex"])
    assert not are_scales(schema, ["x", "party"])
    survey = Survey("s", "S", schema, GammaDiagonal("19"))
    estimator = estimator_of(survey, np.array([[0, 0, 0, 0], [1, 1, 1, 1], [2, 2, 0, 2]]))
    with pytest.raises(ParameterError, match="of two ordered questions of 3 answers or more"):
        estimate_scales(estimator, ["x", "party"], "polychoric")


def test_the_map_has_correlations_of_scales_and_cramers_v_of_others():
    attributes = [*scales(("x", "y"), collapsed=GROUPS), Attribute("sex", ["m", "f"])]
    survey = survey_of(attributes)
    rng = np.random.default_rng(2)
    latent = rng.multivariate_normal(np.zeros(3), np.full((3, 3), 0.6) + 0.4 * np.eye(3), 8_000)
    codes = np.clip(np.rint(5 + 1.9 * latent), 0, 10).astype(int)
    codes[:, 2] = latent[:, 2] > 0
    counts = Counts.from_reports(survey, survey.perturbation.reports(codes, rng))
    estimator = Estimator(survey_in_groups(survey), counts)
    rows = rows_of(associations_of(estimator))
    of = ["polychoric", *["cramers_v"] * 2]
    assert [row.quantity for row in rows] == of
    alone = estimate_scales(estimator, ["x", "y"], "polychoric")
    assert rows[0].value == alone.value[0]
    assert rows[0].p_value == alone.p_value[0] < rows[0].adjusted_p_value
    assert abs(rows[0].value - 0.6) < 3 * alone.standard_error[0]


def test_a_false_report_moves_the_statistic_as_stated():
    """One more report of the most harmful kind, counted."""
    survey = SURVEYS["detail"]
    codes = normal(8_000, 0.25, [[-1, -0.2, 0.4, 1.1]] * 2, seed=4)
    rng = np.random.default_rng(6)
    reports = survey.perturbation.reports(codes, rng)

    def statistic(more):
        counts = Counts.from_reports(survey, np.concatenate([reports, more]))
        return Polychoric(table_of_scales(Estimator(survey, counts), ["x", "y"])).statistic(0.0)

    none = np.zeros((0, 1), dtype=np.int64)
    stated = correlation_of(
        table_of_scales(Estimator(survey, Counts.from_reports(survey, reports)), ["x", "y"])
    ).moved[0]
    here = statistic(none)
    every = range(survey.perturbation.space.shape[-1])
    falls = [here - statistic(np.full((1, 1), symbol)) for symbol in every]
    assert max(falls) == pytest.approx(stated, rel=0.2)
