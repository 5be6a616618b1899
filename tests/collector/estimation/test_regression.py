"""Regression by corrected scores, against likelihoods of records and by simulation."""

from types import SimpleNamespace

import numpy as np
import pytest
from halftruth_collector.estimation import Counts, Estimator
from halftruth_collector.estimation.equation import equation
from halftruth_collector.estimation.regression import fit_table
from halftruth_shared import (
    Attribute,
    GammaDiagonal,
    RandomizedResponse,
    Schema,
    SplitQuestionnaire,
    Survey,
)
from halftruth_shared.analyses.regression import RegressionQuery
from scipy.optimize import minimize
from scipy.special import expit

#: Two predictors with two and three categories, and an outcome with two.
SIZES = (2, 3, 2)
BETA = np.array([-0.8, 0.7, 0.5, -0.6])
PREDICTORS = np.array([[0.25, 0.20, 0.15], [0.10, 0.12, 0.18]])


def schema_of(*sizes, public=()):
    return Schema(
        [
            Attribute(f"a{j}", [f"c{code}" for code in range(size)], sensitive=j not in public)
            for j, size in enumerate(sizes)
        ]
    )


def response(*keep, sizes=SIZES):
    names = [f"a{j}" for j in range(len(sizes))]
    schema = schema_of(*sizes, public=[j for j, kept in enumerate(keep) if kept == "1"])
    return Survey("s", "S", schema, RandomizedResponse(dict(zip(names, keep, strict=True))))


def model_of(survey, **asked):
    *predictors, outcome = survey.schema.names
    query = RegressionQuery(**{"outcome": outcome, "predictors": predictors, **asked})
    return equation(survey.schema, query)


def fit(survey, counts, target="population", **asked):
    model = model_of(survey, **asked)
    return fit_table(Estimator(survey, counts, target=target).table(model.names), model)


def design():
    """Intercept and dummies."""
    rows = [[1, a, b == 1, b == 2] for a in range(2) for b in range(3)]
    return np.array(rows, dtype=float)


def population(beta=BETA, predictors=PREDICTORS):
    """Shares of a population that follows the logistic model."""
    shares, mean = predictors.ravel(), expit(design() @ beta)
    return np.stack([shares * (1 - mean), shares * mean], axis=1).reshape(SIZES)


def people(shares, count, rng):
    cells = np.stack(np.unravel_index(np.arange(shares.size), shares.shape), axis=1)
    return cells[rng.choice(shares.size, count, p=shares.ravel())]


def counted(survey, shares, count, seed):
    rng = np.random.default_rng(seed)
    reports = survey.perturbation.reports(people(shares, count, rng), rng)
    return Counts.from_reports(survey, reports)


def exactly(shares, covariance=None, reports=1_000_000):
    """A table of known shares."""
    whole = np.zeros((shares.size,) * 2) if covariance is None else covariance
    return SimpleNamespace(
        value=shares,
        reports=reports,
        logit=False,
        covariance=lambda forms=None: whole if forms is None else forms @ whole @ forms.T,
    )


def records_and_predictors(seed=3, count=700):
    records = people(population(), count, np.random.default_rng(seed))
    x = design()[records[:, 0] * 3 + records[:, 1]]
    return records, x, records[:, 2].astype(float)


def test_coefficients_from_unperturbed_answers_maximize_the_likelihood():
    survey = response("1", "1", "1")
    records, x, y = records_and_predictors()
    found = fit(survey, Counts.from_reports(survey, records))
    likeliest = likeliest_of_records(x, y)
    assert found.coefficients.value == pytest.approx(likeliest, abs=1e-6)
    # White's variance over records, divided by N − 1 as everywhere here.
    mean = expit(x @ likeliest)
    bread = np.linalg.inv((x.T * (mean * (1 - mean))) @ x)
    white = bread @ ((x.T * (y - mean) ** 2) @ x) @ bread * len(y) / (len(y) - 1)
    assert found.coefficients.covariance == pytest.approx(white, rel=1e-5)
    exact = fit(survey, Counts.from_reports(survey, records), target="respondents")
    assert exact.coefficients.standard_error == pytest.approx(np.zeros(4), abs=1e-7)


def likeliest_of_records(x, y):
    return minimize(
        lambda b: np.sum(np.logaddexp(0, x @ b) - y * (x @ b)),
        np.zeros(x.shape[1]),
        jac=lambda b: x.T @ (expit(x @ b) - y),
        method="BFGS",
        options={"gtol": 1e-8},
    ).x


def test_z_from_unperturbed_answers_is_that_of_the_robust_score_test():
    """Boos (1992), "On generalized score tests", computed over records."""
    survey = response("1", "1", "1")
    records, x, y = records_and_predictors()
    found = fit(survey, Counts.from_reports(survey, records))
    for j in range(4):
        others = np.delete(x, j, axis=1)
        mean = expit(others @ likeliest_of_records(others, y))
        weights = (mean * (1 - mean))[:, None]
        own, *_ = np.linalg.lstsq(others * np.sqrt(weights), x[:, j] * np.sqrt(weights[:, 0]))
        scores = (x[:, j] - others @ own) * (y - mean)
        assert found.coefficients.statistic[j] == pytest.approx(
            scores.sum() / np.sqrt(len(y) * np.var(scores, ddof=1)), rel=1e-4
        )


@pytest.mark.nightly
def test_tests_with_rare_answers_keep_their_level():
    """Wald tests would reject 24 %, as β̂ is finite only if the estimated share is large."""
    survey = Survey("s", "S", schema_of(2, 2, 2, 2, 2), GammaDiagonal(19))
    rare = np.array([16, 1]) / 17
    shares = np.einsum("a,b,c,d,e->abcde", *[rare] * 5)
    rng, tested, rejected = np.random.default_rng(31), 0, 0
    for _ in range(150):
        reports = survey.perturbation.reports(people(shares, 20_000, rng), rng)
        estimator = Estimator(survey, Counts.from_reports(survey, reports))
        model = equation(survey.schema, RegressionQuery(outcome="a1", predictors=["a0"]))
        found = fit_table(estimator.table(model.names), model)
        tested += found.undefined is None
        rejected += found.undefined is None and abs(found.coefficients.statistic[1]) > 1.96
    assert tested > 50
    # 5 %, plus two standard errors for this number of surveys.
    assert rejected <= 0.05 * tested + 2 * np.sqrt(0.0475 * tested)


@pytest.mark.parametrize("beta", [BETA, [2.0, -3.0, 0.0, 4.0], [0.0, 0.0, 0.0, 0.0]])
def test_shares_that_follow_the_model_give_its_coefficients(beta):
    found = fit_table(exactly(population(np.array(beta))), model_of(response("1", "1", "1")))
    assert found.coefficients.value == pytest.approx(beta, abs=1e-8)


def test_one_predictor_gives_the_odds_ratio_of_the_reconstructed_table():
    survey = response("8/10", "9/10", sizes=(2, 2))
    counts = Counts.from_cells(survey, [[0, 0], [0, 1], [1, 0], [1, 1]], [400, 200, 150, 250])
    found = fit(survey, counts)
    table = Estimator(survey, counts).table(["a0", "a1"])
    (a, b), (c, d) = table.value
    assert found.coefficients.value == pytest.approx(
        [np.log(b / a), np.log(a * d / (b * c))], abs=1e-9
    )
    slopes = np.array([1 / a, -1 / b, -1 / c, 1 / d])
    assert found.coefficients.standard_error[1] == pytest.approx(
        np.sqrt(slopes @ table.covariance() @ slopes), rel=1e-9
    )


def test_other_reference_categories_give_an_equivalent_model():
    survey = response("9/10", "9/10", "9/10")
    counts = counted(survey, population(), 3_000, seed=5)
    first = fit(survey, counts)
    other = fit(survey, counts, reference={"a1": "c2"})
    # From a1=c1 and a1=c2 against c0 to a1=c0 and a1=c1 against c2.
    turned = np.array([[1, 0, 0, 1], [0, 1, 0, 0], [0, 0, 0, -1], [0, 0, 1, -1]], dtype=float)
    assert other.coefficients.value == pytest.approx(turned @ first.coefficients.value, abs=1e-8)
    assert other.coefficients.covariance == pytest.approx(
        turned @ first.coefficients.covariance @ turned.T, rel=1e-6
    )
    absent = fit(survey, counts, present={"a2": "c0"})
    assert absent.coefficients.value == pytest.approx(-first.coefficients.value, abs=1e-8)
    swapped = fit(survey, counts, predictors=["a1", "a0"])
    assert swapped.coefficients.value[[0, 3, 1, 2]] == pytest.approx(
        first.coefficients.value, abs=1e-8
    )


SPLIT = schema_of(*SIZES)
SURVEYS = {
    "randomized response": response("4/5", "17/20", "4/5"),
    "perturbed and public": response("1", "4/5", "3/4"),
    "gamma-diagonal": Survey("s", "S", SPLIT, GammaDiagonal("19")),
    "split questionnaire": Survey(
        "s", "S", SPLIT, SplitQuestionnaire.for_amplification(SPLIT, 19, max_length=3)
    ),
}


@pytest.mark.nightly
@pytest.mark.parametrize("name", SURVEYS)
def test_coefficients_are_unbiased_and_intervals_cover(name):
    """400 surveys of 3 000 people from a population that follows a model with main effects.

    The coverage of one coefficient has an error of 1.1 points, that of all four 0.6 points, and
    means a twentieth of a standard error: a false alarm in one of 200 runs with other seeds.
    """
    survey, rng, shares = SURVEYS[name], np.random.default_rng(13), population()
    model, found = model_of(survey), []
    for _ in range(400):
        reports = survey.perturbation.reports(people(shares, 3_000, rng), rng)
        table = Estimator(survey, Counts.from_reports(survey, reports)).table(model.names)
        found.append(fit_table(table, model))
    assert [one.undefined for one in found] == [None] * 400
    coefficients = np.array([one.coefficients.value for one in found])
    errors = np.array([one.coefficients.standard_error for one in found])
    covered = np.abs(coefficients - BETA) < 1.96 * errors
    assert 0.92 <= covered.mean() <= 0.97
    assert (np.abs(covered.mean(axis=0) - 0.95) < 0.035).all()
    # With 3 000 perturbed reports, the nonlinear estimate has a little bias.
    bias = (coefficients.mean(axis=0) - BETA) / errors.mean(axis=0)
    assert (np.abs(bias) < 0.1 + 3.5 / np.sqrt(400)).all()
    assert coefficients.std(axis=0) == pytest.approx(errors.mean(axis=0), rel=0.15)


def test_a_perturbed_outcome_with_unperturbed_predictors_agrees_with_its_likelihood():
    """P(yes | x) = p·μ + (1 − p)(1 − μ): logistic regression of van den Hout et al. (2007)."""
    survey = response("1", "1", "4/5")
    records = people(population(), 4_000, np.random.default_rng(29))
    reports = survey.perturbation.reports(records, np.random.default_rng(30))
    x, y = design()[reports[:, 0] * 3 + reports[:, 1]], reports[:, 2]

    def unlikelihood(beta):
        yes = 0.2 + 0.6 * expit(x @ beta)
        return -np.sum(np.log(np.where(y == 1, yes, 1 - yes)))

    likeliest = minimize(unlikelihood, np.zeros(4)).x
    found = fit(survey, Counts.from_reports(survey, reports))
    assert (
        np.abs(found.coefficients.value - likeliest) < 0.25 * found.coefficients.standard_error
    ).all()
    # With all combinations as one predictor both are equal.
    counts = Counts.from_reports(survey, reports)
    groups = fit(survey, counts, interactions=[["a0", "a1"]]).coefficients.value
    yes = [(y[(x == row).all(axis=1)]).mean() for row in design()]
    share = (np.array(yes) - 0.2) / 0.6
    every = np.array([[*row, row[1] * row[2], row[1] * row[3]] for row in design()])
    assert every @ groups == pytest.approx(np.log(share / (1 - share)), abs=1e-6)


def separated():
    shares = population()
    shares[1, :, 0], shares[1, :, 1] = 0, shares[1].sum(axis=-1)
    return shares


def without_a_category():
    shares = population()
    shares[:, 2] = 0
    return shares / shares.sum()


def two_that_are_one():
    shares = np.zeros((2, 2, 2))
    shares[0, 0], shares[1, 1] = [0.3, 0.2], [0.1, 0.4]
    return shares


@pytest.mark.parametrize(
    ("shares", "said", "least"),
    [
        (separated(), "no coefficients solve its equations", (1,)),
        (without_a_category(), "too little is known of these answers together", (3,)),
        (two_that_are_one(), "too little is known of these answers together", (1, 2)),
    ],
)
def test_data_that_do_not_identify_the_model_give_no_coefficients(shares, said, least):
    sizes = shares.shape
    survey = response("1", "1", "1", sizes=sizes)
    found = fit(survey, counted(survey, shares, 500, seed=1))
    assert said in found.undefined
    assert found.least_known == least
    assert np.isnan(found.coefficients.value).all()
    assert np.isnan(found.coefficients.standard_error).all()


def test_noise_gives_no_coefficients():
    """As in CENSUS: few reports in a table of 1 000 cells."""
    schema = schema_of(20, 25, 2)
    survey = Survey("s", "S", Schema([*schema.attributes]), GammaDiagonal("19"))
    for seed in range(10):
        reports = np.random.default_rng(seed).integers(0, (20, 25, 2), (500, 3))
        assert fit(survey, Counts.from_reports(survey, reports)).undefined is not None
    one = Counts.from_reports(survey, [[0, 0, 0]])
    assert fit(survey, one).undefined == "one report shows no error"


@pytest.mark.nightly
def test_intervals_of_imprecise_coefficients_rarely_miss():
    """300 surveys that are almost too small for the model; the fitted ones cover the truth."""
    survey = response("4/5", "4/5", "4/5")
    fits = [fit(survey, counted(survey, population(), 150, seed)) for seed in range(300)]
    carried = [one for one in fits if one.undefined is None]
    assert 0.2 < len(carried) / len(fits) < 0.9
    missed = [
        np.abs(one.coefficients.value - BETA) > 1.96 * one.coefficients.standard_error
        for one in carried
    ]
    assert np.mean(missed) < 0.05
