"""Association measures against their definitions; those of rules are simulated beside."""

import math

import numpy as np
import pytest
from halftruth_collector.estimation import Counts, Estimator
from halftruth_shared import DomainTooLarge, GammaDiagonal, RandomizedResponse
from scipy.stats import chi2_contingency

from . import definitions
from .definitions import CHEBYSHEV, PAIR, Z, category_measures, pair_measures, slopes

N = 5_000


def survey_of(*sizes, keep="0.9"):
    names = [chr(ord("a") + j) for j in range(len(sizes))]
    return definitions.survey_of(RandomizedResponse(dict.fromkeys(names, keep)), sizes)


def estimator_of(survey, shares):
    """Of counts whose reconstruction is near these shares."""
    channel = survey.mechanism.channel(survey.schema, survey.schema.names)
    counts = np.rint(channel.forward(shares) * N).astype(int)
    counts.flat[0] += N - counts.sum()
    cells = np.stack(np.indices(shares.shape), axis=-1).reshape(-1, shares.ndim)
    return Estimator(survey, Counts.from_cells(survey, cells, counts.ravel()))


def assert_formulas(measures, formulas, table, target="population"):
    """Every measure is its formula of the table, its error that of the delta method."""
    expected, gradients = formulas(table.support), slopes(formulas, table.support)
    assert set(measures) == set(expected)
    for name, measure in measures.items():
        assert measure.value == pytest.approx(expected[name], rel=1e-9), name
        gradient = gradients[name].ravel()
        error = math.sqrt(gradient @ table.covariance(target) @ gradient)
        assert measure.standard_error == pytest.approx(error, rel=1e-7), name
        for factor, ends in ((Z, measure.interval), (CHEBYSHEV, measure.chebyshev_interval)):
            around = measure.value - factor * error, measure.value + factor * error
            assert ends == pytest.approx(around), name


def of_pair(t):
    return pair_measures(t, N)


def of_categories(t):
    return category_measures(t, N)


def of_three(t):
    """Measures that extend to more attributes, of tables (…, 2, 2, 2)."""
    margins = [t.sum(axes, keepdims=True) for axes in ((-1, -2), (-1, -3), (-2, -3))]
    chance = margins[0] * margins[1] * margins[2]
    whole = (-1, -2, -3)
    every, expected = t[..., 1, 1, 1], chance[..., 1, 1, 1]
    return {
        "jaccard": every / (t.sum(whole) - t[..., 0, 0, 0]),
        "cosine": every / np.sqrt(expected),
        "interest": every / expected,
        "piatetsky_shapiro": every - expected,
        "chi_squared": N * ((t - chance) ** 2 / chance).sum(whole),
        "g_squared": 2 * N * (t * np.log(t / chance)).sum(whole),
    }


def by_name(measures):
    return {measure.name: measure for measure in measures}


@pytest.mark.parametrize("target", ["population", "respondents"])
@pytest.mark.parametrize(
    ("shape", "formulas"),
    [((2, 2), of_pair), ((3, 4), of_categories), ((2, 2, 2), of_three)],
)
def test_every_measure_is_its_formula(shape, formulas, target):
    for seed in range(5):
        shares = np.random.default_rng(seed).dirichlet(np.full(math.prod(shape), 9.0))
        estimator = estimator_of(survey_of(*shape), shares.reshape(shape))
        names = "abc"[: len(shape)]
        measures = by_name(estimator.measures(list(names), target=target))
        assert_formulas(measures, formulas, estimator.table(list(names)), target)


def test_one_category_stands_against_the_rest():
    shares = np.random.default_rng(2).dirichlet(np.full(12, 9.0)).reshape(3, 4)
    estimator = estimator_of(survey_of(3, 4), shares)

    def collapsed(t):
        cell, row, column = t[..., 2, 1], t[..., 2, :].sum(-1), t[..., 1].sum(-1)
        cells = [t.sum((-1, -2)) - row - column + cell, column - cell, row - cell, cell]
        pair = pair_measures(np.stack(cells, -1).reshape(*t.shape[:-2], 2, 2), N)
        # The categories as they are, not collapsed.
        return pair | of_categories(t)

    measures = by_name(estimator.measures(["a", "b"], {"a": "c2", "b": "c1"}))
    assert_formulas(measures, collapsed, estimator.table(["a", "b"]))


def test_the_only_item_is_presence(make_survey):
    shares = np.random.default_rng(4).dirichlet(np.full(9, 9.0)).reshape(3, 3)
    estimator = estimator_of(make_survey("randomized-response", (3, 3), {0: [0], 1: [0]}), shares)
    named = by_name(estimator.measures(["a", "b"], {"a": "c0", "b": "c0"}))
    assert by_name(estimator.measures(["a", "b"]))["phi"] == named["phi"]


def test_statistics_of_a_nearly_unperturbed_survey_are_those_of_the_plain_table():
    survey = survey_of(2, 3, keep="0.999999999999")
    shares = np.array([[0.2, 0.1, 0.15], [0.1, 0.25, 0.2]])
    measures = by_name(estimator_of(survey, shares).measures(["a", "b"]))
    plain = chi2_contingency(shares * N, correction=False)
    g = chi2_contingency(shares * N, correction=False, lambda_="log-likelihood")
    assert measures["chi_squared"].value == pytest.approx(plain.statistic, rel=1e-6)
    assert measures["g_squared"].value == pytest.approx(g.statistic, rel=1e-6)


def test_the_risk_difference_of_a_nearly_unperturbed_survey_is_that_of_the_plain_table():
    survey = survey_of(2, 2, keep="0.999999999999")
    counts = np.array([[1_500, 500], [1_000, 2_000]])
    measures = by_name(estimator_of(survey, counts / N).measures(["a", "b"]))
    # Presence of the second attribute, among presence and absence of the first.
    assert measures["risk_difference"].value == pytest.approx(2_000 / 3_000 - 500 / 2_000)
    # The source's D: absence of the first, among absence and presence of the second.
    assert measures["column_risk_difference"].value == pytest.approx(1_500 / 2_500 - 500 / 2_500)


def test_the_order_of_the_attributes_transposes_the_table():
    survey = survey_of(2, 2)
    shares = np.array([[0.35, 0.1], [0.2, 0.35]])
    estimator = estimator_of(survey, shares)
    one, other = (by_name(estimator.measures(names)) for names in (["a", "b"], ["b", "a"]))
    for name in ("phi", "jaccard", "kappa", "chi_squared"):
        assert one[name].value == pytest.approx(other[name].value)
    assert one["mutual_information"].value == pytest.approx(other["uncertainty_coefficient"].value)
    assert one["added_value"].value != pytest.approx(other["added_value"].value)


@pytest.mark.parametrize(
    ("counts", "names", "reason"),
    [
        ([900, 100, 100, 20], ["odds_ratio", "g_squared"], "outside the simplex"),
        ([950, 50, 40, 0], ["phi", "interest", "laplace"], "no positive estimated share"),
    ],
)
def test_a_measure_that_is_undefined_says_why(counts, names, reason):
    survey = survey_of(2, 2)
    estimator = Estimator(survey, Counts.from_cells(survey, PAIR, counts))
    measures = by_name(estimator.measures(["a", "b"]))
    assert (estimator.table(["a", "b"]).support < 0).any()
    for measure in (measures[name] for name in names):
        assert measure.value is None
        assert measure.standard_error is None
        assert reason in measure.undefined
    for measure in measures.values():
        assert (measure.value is None) == (measure.undefined is not None)


def test_one_report_has_values_without_errors():
    survey = survey_of(2, 2)
    measures = Estimator(survey, Counts.from_reports(survey, [[1, 1]])).measures(["a", "b"])
    assert all(measure.standard_error is None for measure in measures)
    assert all(measure.interval is None for measure in measures)


def test_a_table_too_large_for_its_covariance_is_refused():
    survey = definitions.survey_of(GammaDiagonal("19"), (80, 80))
    estimator = Estimator(survey, Counts.from_reports(survey, [[0, 0], [1, 1]]))
    with pytest.raises(DomainTooLarge, match="covariance of 6400 cells"):
        estimator.measures(["a", "b"])


def test_associations_are_the_concentration_of_every_ordered_pair():
    shares = np.random.default_rng(5).dirichlet(np.full(12, 6.0)).reshape(2, 3, 2)
    estimator = estimator_of(survey_of(2, 3, 2), shares)
    found = {(a.row, a.column): a.estimate for a in estimator.associations()}
    assert len(found) == 6
    for pair, estimate in found.items():
        expected = of_categories(estimator.table(list(pair)).support)["concentration"]
        assert estimate.value == pytest.approx(expected)


def test_associations_of_too_many_attributes_are_refused(make_survey):
    survey = make_survey("randomized-response", (2,) * 33)
    estimator = Estimator(survey, Counts.from_cells(survey, [[0] * 33, [1] * 33], [5, 5]))
    with pytest.raises(DomainTooLarge, match="33 of them; expected at most 32"):
        estimator.associations()
