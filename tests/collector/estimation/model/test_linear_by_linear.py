"""Linear-by-linear terms of two scales, against statsmodels, brute force and simulated surveys."""

import numpy as np
import pytest
import scipy
import statsmodels.api as sm
from halftruth_collector.estimation import Counts
from halftruth_collector.estimation.estimates import Estimates
from halftruth_collector.estimation.groups import survey_in_groups
from halftruth_collector.estimation.intervals import intervals_at
from halftruth_collector.estimation.model import adequacy, completed, described, fit_model, shares
from halftruth_collector.estimation.model.fit import design_of
from halftruth_collector.estimation.scales import correlation_of_ranks
from halftruth_shared import Attribute, RandomizedResponse, Schema, SplitQuestionnaire, Survey
from halftruth_shared.results import QUANTITIES

from .dense import DenseModel, blocks_of, columns_of

NIGHTLY = pytest.mark.nightly
FREE = (np.inf, np.inf)


def scale(name, answers, **more):
    return Attribute(name, [str(score) for score in range(answers)], ordered=True, **more)


def two_scales(*sizes, **more):
    """Two scales and a question of two answers."""
    return Schema(
        [*(scale(name, size, **more) for name, size in zip("xy", sizes, strict=True)), SEX]
    )


SEX = Attribute("sex", ["m", "f"])


def split(schema):
    return Survey("s", "S", schema, SplitQuestionnaire.designed(schema, "19", (), {1: 1, 2: 1}))


def world(sizes, association, bend=0.0):
    """Shares of two scales and a question with a linear-by-linear term; a bend contradicts it."""
    u, v = (np.linspace(-1, 1, size) for size in sizes)
    log = -1.2 * (u[:, None] - 0.1) ** 2 - 1.2 * (v - 0.1) ** 2
    log = log + association * np.outer(u, v) + bend * np.outer(u**2 - 0.4, v)
    weights = np.exp(log[:, :, None] + 0.5 * u[:, None, None] * np.array([-1, 1]))
    return weights / weights.sum()


def simulated(survey, truth, people, rng):
    cells = rng.choice(truth.size, people, p=truth.ravel())
    records = np.stack(np.unravel_index(cells, truth.shape), axis=1)
    return Counts.from_reports(survey, survey.perturbation.reports(records, rng))


def brute_columns(sizes, missing=0):
    """Columns of main effects, products of scores, and interactions with the last question.

    The last `missing` answers of the first question are missing.
    """
    shape = (*sizes, 2)
    x, y, z = (each.ravel() for each in np.indices(shape))
    answered = x < sizes[0] - missing
    products = [np.where(answered, x, 0) * y]
    products += [(x == sizes[0] - 1 - number) * y for number in range(missing)]
    return np.column_stack([columns_of(shape, [(0, 2), (1, 2)]), *products]).astype(float), z


def test_without_perturbation_it_is_a_poisson_regression_with_the_product_of_the_scores():
    sizes = (5, 6)
    schema = Schema([scale("x", 5, sensitive=False), scale("y", 6, sensitive=False)])
    survey = Survey("s", "S", schema, RandomizedResponse({"x": "1", "y": "1"}))
    table = np.random.default_rng(2).poisson(3_000 * world(sizes, 1.5).sum(axis=-1)) + 1
    cells = np.argwhere(table)
    counts = Counts.from_cells(survey, cells, table.ravel())
    model = fit_model(survey, counts, variances=FREE)
    x, y = cells.T
    columns = sm.add_constant(
        np.column_stack(
            [*(x == np.arange(1, 5)[:, None]), *(y == np.arange(1, 6)[:, None]), x * y]
        ).astype(float)
    )
    reference = sm.GLM(table.ravel(), columns, family=sm.families.Poisson()).fit(tol=1e-12)
    np.testing.assert_allclose(model.table.ravel(), reference.fittedvalues / table.sum(), rtol=1e-6)
    # The covariance of the shares, given the number of people.
    spread = reference.fittedvalues / table.sum()
    slopes = spread[:, None] * (columns - spread @ columns)
    expected = slopes @ reference.cov_params() @ slopes.T
    np.testing.assert_allclose(shares(model, ["x", "y"]).covariance(), expected, atol=1e-10)
    # Rao's test of the whole interaction is Pearson's χ² of the fit.
    tests = {each.degrees_of_freedom: each for each in adequacy(survey, counts, model)}
    assert tests.keys() == {3, 19}
    pearson = reference.pearson_chi2
    assert tests[19].statistic == pytest.approx(pearson, rel=1e-5)
    # And that of polynomials is the score test of three more columns.
    more = np.column_stack([columns, x**2 * y, x * y**2, x**2 * y**2])
    residuals = table.ravel() - reference.fittedvalues
    weighted = more.T * reference.fittedvalues @ more
    score = more.T @ residuals
    assert tests[3].statistic == pytest.approx(score @ np.linalg.solve(weighted, score), rel=1e-5)


@pytest.mark.parametrize("missing", [0, 1])
def test_perturbed_reports_have_the_maximum_of_their_likelihood(missing):
    sizes = (5 + missing, 5)
    schema = Schema(
        [
            Attribute(
                "x", [*"abcde", "none"][: sizes[0]], ordered=True, missing=["none"][:missing]
            ),
            scale("y", 5),
            SEX,
        ]
    )
    survey = split(schema)
    counts = simulated(survey, world(sizes, 1.0), 40_000, np.random.default_rng(3))
    model = fit_model(survey, counts, variances=FREE)
    assert model.converged
    dense = DenseModel((*sizes, 2), [], blocks_of(survey, counts))
    dense.columns, _ = brute_columns(sizes, missing)
    assert model.design.parameters == dense.columns.shape[1]
    found = scipy.optimize.minimize(
        lambda theta: -dense.level(theta) / 40_000,
        np.zeros(dense.columns.shape[1]),
        jac=lambda theta: -dense.score(theta) / 40_000,
        method="BFGS",
        options={"gtol": 1e-9, "maxiter": 2_000},
    )
    np.testing.assert_allclose(model.table.ravel(), dense.table(found.x), atol=2e-6)
    assert model.log_likelihood == pytest.approx(-found.fun * 40_000, abs=1e-3)
    # Observed information by differences of the score.
    steps = np.eye(len(found.x)) * 1e-5
    information = -np.array(
        [(dense.score(found.x + h) - dense.score(found.x - h)) / 2e-5 for h in steps]
    )
    slopes = dense.slopes(found.x)
    expected = slopes @ np.linalg.inv(information) @ slopes.T
    found_covariance = shares(model, ["x", "y", "sex"]).covariance()
    np.testing.assert_allclose(found_covariance, expected, atol=1e-3 * expected.max())


def test_only_pairs_of_scales_with_five_answers_have_one_parameter():
    names = [Attribute("c", [*"abcdef"]), scale("short", 4), scale("x", 5), scale("y", 11), SEX]
    survey = split(Schema(names))
    design = design_of(survey, survey.schema)
    assert design.linear == {(2, 3)}
    full = design_of(survey, survey.schema, further=[["x", "y"]])
    assert design.columns == full.columns == full.parameters
    assert design.parameters == full.parameters - 4 * 10 + 1
    assert not full.linear
    assert not design_of(survey, survey.schema, further=[["x", "y", "sex"]]).linear
    # Named interactions are full ones.
    assert not design_of(survey, survey.schema, terms=[["x", "y"]]).linear
    groups = {"low": ["0", "1"], "high": ["2", "3", "4"]}
    grouped = split(two_scales(5, 5, collapsed=groups))
    assert not design_of(survey_in_groups(grouped), survey_in_groups(grouped).schema).linear


def test_a_result_names_the_pair_and_the_test_that_contradicts_it():
    survey = split(two_scales(5, 5))
    rng = np.random.default_rng(4)
    fits = described(survey, simulated(survey, world((5, 5), 1.5), 10_000, rng))
    assert fits.linear_pairs == [["x", "y"]]
    assert not fits.contradicted
    bent = simulated(survey, world((5, 5), 1.5, 4.0), 20_000, rng)
    against = described(survey, bent)
    assert against.contradicted
    assert against.clearest.attributes == ["x", "y"]
    # The full interaction is added, or named, and is then not tested any more.
    [added] = completed(survey, bent)
    assert added.attributes == ["x", "y"]
    named = described(survey, bent, [["x", "y"]])
    assert named.linear_pairs == []
    assert named.interactions[0].attributes == ["x", "y"]
    assert named.interactions[0].p_value < 0.05


def correlation(table):
    of = QUANTITIES["score_correlation"]
    return Estimates.contrast(table, correlation_of_ranks, of)


@pytest.mark.parametrize("surveys", [1, pytest.param(40, marks=NIGHTLY)])
def test_correlations_of_long_scales_are_several_times_as_precise(surveys):
    """Of two scales from 0 to 10: 121 cells, and normal variables behind them."""
    survey, rng, errors = split(two_scales(11, 11)), np.random.default_rng(5), []
    for _ in range(surveys):
        latent = rng.multivariate_normal([0, 0], [[1, 0.4], [0.4, 1]], 20_000)
        codes = np.clip(np.rint(5 + 1.9 * latent), 0, 10).astype(int)
        records = np.column_stack([codes, rng.integers(0, 2, len(codes))])
        counts = Counts.from_reports(survey, survey.perturbation.reports(records, rng))
        truth = np.corrcoef(codes.T)[0, 1]
        found = correlation(shares(fit_model(survey, counts), ["x", "y"]))
        sets = found.interval(0.95)
        errors.append([found.value[0] - truth, sets.lower[0] <= truth <= sets.upper[0]])
        if surveys > 1:
            full = fit_model(survey, counts, further=[["x", "y"]])
            errors[-1].append(correlation(shares(full, ["x", "y"])).value[0] - truth)
    linear, covered, *full = np.array(errors).T
    linear = np.sqrt((linear**2).mean())
    if surveys == 1:
        assert linear < 0.15
        return
    full = np.sqrt((full[0] ** 2).mean())
    print(f"| linear by linear {linear:.3f}, covered {covered.mean():.3f} | full {full:.3f} |")
    assert linear < 0.08
    assert linear < 0.5 * full
    assert covered.mean() >= 0.9


@pytest.mark.parametrize("bend", [0.0, 2.0, 4.0])
@pytest.mark.parametrize(
    ("sizes", "surveys"),
    [
        ((5, 5), 5),
        pytest.param((5, 5), 400, marks=NIGHTLY),
        pytest.param((11, 11), 20, marks=NIGHTLY),
    ],
)
def test_intervals_cover_a_true_term_and_a_false_one_is_contradicted(sizes, bend, surveys):
    survey, rng = split(two_scales(*sizes)), np.random.default_rng(6)
    truth = world(sizes, 1.2 if not bend else 0.0, bend)
    table = truth.sum(axis=-1)
    covered, rejected, added = [], 0, 0
    for _ in range(surveys):
        counts = simulated(survey, truth, 5_000, rng)
        model = fit_model(survey, counts)
        rejected += adequacy(survey, counts, model)[0].adjusted_p_value < 0.05
        further = [each.attributes for each in completed(survey, counts)]
        added += bool(further)
        for number, each in enumerate((model, fit_model(survey, counts, further=further))):
            low, high = intervals_at(shares(each, ["x", "y"]), scipy.stats.norm.ppf(0.975))
            covered.append((number, ((low <= table) & (table <= high)).mean()))
    as_is, complete = (np.mean([c for n, c in covered if n == number]) for number in (0, 1))
    print(
        f"| {sizes} | {bend} | {rejected / surveys:.3f} | {as_is:.3f} | {complete:.3f} | {added} |"
    )
    if not bend:
        assert as_is >= 0.93
        assert complete >= 0.93
        assert rejected / surveys <= (0.09 if surveys > 10 else 1)
    elif bend == 4.0:
        assert rejected / surveys > 0.6
        assert complete > as_is
