"""The test of independence: its formula, and its level by simulation."""

from types import SimpleNamespace

import numpy as np
import pytest
from halftruth_collector.estimation import Counts, Estimator
from halftruth_collector.estimation.independence import Departures
from halftruth_shared import (
    DistortionMatrices,
    GammaDiagonal,
    RandomizedResponse,
)
from respondents import SURVEYS as THREE
from scipy.stats import chi2_contingency
from sources import estimator_of

from . import definitions

SURVEYS = 1_500
ASYMMETRIC = [["9/10", "3/10"], ["1/10", "7/10"]]


def survey_of(mechanism, *sizes):
    return definitions.survey_of(mechanism, sizes)


def response(keep, *sizes):
    names = "abcd"[: len(sizes)]
    mechanism = RandomizedResponse(dict.fromkeys(names, keep))
    return definitions.survey_of(mechanism, sizes, public=names if keep == "1" else "")


def outcomes(*survey, **asked):
    """Outcomes of the test of the first two attributes in simulated surveys."""
    return (Departures(table).test() for table in tables(*survey, **asked))


def tables(survey, shares, respondents, surveys=SURVEYS, seed=1):
    """Reconstructed tables of the first two attributes in simulated surveys."""
    schema, rng = survey.schema, np.random.default_rng(seed)
    cells = np.stack(np.unravel_index(np.arange(shares.size), shares.shape), axis=1)
    for _ in range(surveys):
        people = cells[rng.choice(shares.size, respondents, p=shares.ravel())]
        estimator = estimator_of(survey, people, rng)
        yield estimator.table(schema.names[:2])


def rates(survey, shares, respondents, **asked):
    """Return how often the test was defined, and how often it then rejected at 5 %."""
    p_values = [test.p_value for test in outcomes(survey, shares, respondents, **asked)]
    tested = [p for p in p_values if p is not None]
    rejected = np.mean([p < 0.05 for p in tested]) if tested else None
    return SimpleNamespace(tested=len(tested) / len(p_values), rejected=rejected)


def independent(*margins):
    product = np.ones(())
    for margin in margins:
        product = np.multiply.outer(product, margin)
    return product


HALVES = [0.5, 0.5]

#: With 1 500 surveys, 5 % has an error of 0.56 points, so that 3 to 7 % is 3.5 of these each way;
#: all of these together raise a false alarm in less than one run of 150 if each keeps its level.
UNDER_INDEPENDENCE = {
    "randomized response, 50": (response("9/10", 2, 2), ([0.6, 0.4], [0.7, 0.3]), 50),
    "randomized response, 500": (response("7/10", 2, 2), ([0.6, 0.4], [0.7, 0.3]), 500),
    "randomized response, 5 000": (response("6/10", 3, 4), ([0.5, 0.3, 0.2], [0.4, 0.3, 0.2, 0.1]),
                                   5_000),
    "asymmetric matrices, 200": (survey_of(DistortionMatrices({"a": ASYMMETRIC, "b": ASYMMETRIC}),
                                           2, 2), (HALVES, [0.8, 0.2]), 200),
    "gamma-diagonal, 100": (survey_of(GammaDiagonal("19"), 2, 3), ([0.6, 0.4], [0.5, 0.3, 0.2]),
                            100),
    "gamma-diagonal, 1 000": (survey_of(GammaDiagonal("19"), 2, 3), ([0.6, 0.4], [0.5, 0.3, 0.2]),
                              1_000),
    # The other attributes make the reports of two independent ones dependent.
    "gamma-diagonal with others, 5 000": (survey_of(GammaDiagonal("19"), 2, 2, 3, 2),
                                          ([0.6, 0.4], [0.7, 0.3], [0.5, 0.3, 0.2], HALVES), 5_000),
    "rare categories, 1 000": (response("99/100", 5, 2),
                               ([0.5, 0.3, 0.15, 0.03, 0.02], [0.9, 0.1]), 1_000),
}  # fmt: skip


@pytest.mark.nightly
@pytest.mark.parametrize("name", UNDER_INDEPENDENCE)
def test_true_independence_is_rejected_in_one_of_twenty_surveys(name):
    survey, margins, respondents = UNDER_INDEPENDENCE[name]
    found = rates(survey, independent(*margins), respondents)
    assert found.tested > 0.8
    assert 0.03 <= found.rejected <= 0.07


@pytest.mark.parametrize("respondents", [20, 100, 500])
def test_the_test_is_undefined_with_too_few_reports(respondents):
    """As in CENSUS: with 2 000 cells, a share has a margin of about ±100 points."""
    survey = survey_of(GammaDiagonal("19"), 2, 2, 20, 25)
    shares = independent(HALVES, HALVES, [1 / 20] * 20, [1 / 25] * 25)
    found = rates(survey, shares, respondents, surveys=100)
    assert found.tested < 0.02
    few = next(outcomes(response("9/10", 2, 2), independent(HALVES, [0.99, 0.01]), 40))
    assert (few.statistic, few.p_value) == (None, None)
    assert "is not significantly above zero" in few.undefined


@pytest.mark.parametrize(
    ("survey", "respondents"),
    [(response("8/10", 2, 2), 1_000), (survey_of(GammaDiagonal("19"), 2, 2), 500)],
)
def test_dependence_is_detected(survey, respondents):
    shares = np.array([[0.4, 0.1], [0.15, 0.35]])
    found = rates(survey, shares, respondents, surveys=100)
    assert found.tested > 0.99
    assert found.rejected > 0.95


def test_the_test_without_perturbation_is_pearsons():
    survey = response("1", 3, 4)
    counts = np.random.default_rng(4).integers(5, 40, (3, 4))
    cells = np.stack(np.indices((3, 4)), axis=-1).reshape(-1, 2)
    estimator = Estimator(survey, Counts.from_cells(survey, cells, counts.ravel()))
    found = Departures(estimator.table(["a", "b"])).test()
    pearson = chi2_contingency(counts, correction=False)
    n = counts.sum()
    assert found.degrees_of_freedom == pearson.dof == 6
    # Variances are divided by N − 1.
    assert found.statistic == pytest.approx(pearson.statistic * (n - 1) / n, rel=1e-9)


def test_residuals_without_perturbation_are_haberman_s_within_each_layer():
    survey = response("1", 3, 4, 2)
    counts = np.random.default_rng(4).integers(5, 40, (3, 4, 2))
    cells = np.stack(np.indices((3, 4, 2)), axis=-1).reshape(-1, 3)
    estimator = Estimator(survey, Counts.from_cells(survey, cells, counts.ravel()))
    found = Departures(estimator.table(["a", "b", "c"])).residuals
    for layer in range(2):
        observed = counts[:, :, layer]
        total = observed.sum()
        rows, columns = observed.sum(axis=1) / total, observed.sum(axis=0) / total
        variance = total * np.multiply.outer(rows * (1 - rows), columns * (1 - columns))
        expected = (observed - total * np.outer(rows, columns)) / np.sqrt(variance)
        # Variances are divided by N − 1.
        scale = np.sqrt((counts.sum() - 1) / counts.sum())
        assert found[:, :, layer] == pytest.approx(scale * expected, rel=1e-9)


def test_residuals_are_undefined_in_rare_categories_and_with_one_report():
    table = next(tables(response("9/10", 3, 2), independent([0.5, 0.49, 0.01], HALVES), 400))
    found = Departures(table).residuals
    assert np.isnan(found[2]).all()
    assert np.isfinite(found[:2]).all()
    single = Estimator(
        THREE["gamma-diagonal"], Counts.from_reports(THREE["gamma-diagonal"], [[0, 0, 0]])
    )
    assert np.isnan(Departures(single.table(["sex", "vote"])).residuals).all()


def test_the_statistic_does_not_depend_on_the_order_of_attributes_and_categories():
    survey = survey_of(GammaDiagonal("19"), 2, 3)
    reports = np.random.default_rng(5).integers(0, (2, 3), (800, 2))
    estimator = Estimator(survey, Counts.from_reports(survey, reports))
    turned = Estimator(survey, Counts.from_reports(survey, np.array([1, 2]) - reports))
    found = Departures(estimator.table(["a", "b"])).test()
    for other in (estimator.table(["b", "a"]), turned.table(["a", "b"])):
        assert Departures(other).test().statistic == pytest.approx(found.statistic, rel=1e-8)


def test_one_report_leaves_the_test_undefined():
    survey = response("9/10", 2, 2, 2)
    estimator = Estimator(survey, Counts.from_reports(survey, [[0, 0, 0]]))
    assert Departures(estimator.table(["a", "b"])).test().undefined == "one report shows no error"
