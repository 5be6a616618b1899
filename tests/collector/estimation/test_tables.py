"""Reconstructed tables against a dense inverse with a weight for each report."""

import numpy as np
import pytest
from halftruth_collector.estimation import Counts, Estimator
from halftruth_collector.estimation.intervals import table_intervals
from halftruth_shared import (
    Attribute,
    DomainTooLarge,
    NoReports,
    ParameterError,
    RandomizedResponse,
    ReportError,
    Schema,
    Survey,
)
from scipy.stats import norm
from sources import aim, aimed
from witnesses import witness

from .definitions import TARGETS

SHAPE = (2, 3, 4)
SUBSETS = ("a", "b", "ca", "ac", "bc", "abc", "cab", "bca")


@pytest.fixture
def survey(make_survey, kind):
    return make_survey(kind, SHAPE)


@pytest.fixture
def reports(make_reports, survey):
    return make_reports(survey, 700, seed=11)


@pytest.fixture
def estimator(survey, reports):
    return Estimator(survey, Counts.from_reports(survey, reports))


def single_attribute(size):
    schema = Schema([Attribute("q", [str(code) for code in range(size)])])
    survey = Survey("large", "Large", schema, RandomizedResponse({"q": "0.9"}))
    return Estimator(survey, Counts.from_cells(survey, [[0], [size - 1]], [300, 700]))


@pytest.mark.parametrize("names", SUBSETS)
def test_support_is_the_mean_weight_of_the_reports(estimator, oracle, survey, reports, names):
    witness("FRAPP", "Equations 6–8")
    table = estimator.table(list(names))
    assert table.axes == tuple(names)
    assert table.value.shape == tuple(SHAPE["abc".index(name)] for name in names)
    np.testing.assert_allclose(
        table.value.ravel(), oracle.support(survey, reports, names), atol=1e-12
    )


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("names", SUBSETS)
def test_covariance_and_variance_agree_with_the_weights_of_the_reports(
    estimator, oracle, survey, reports, names, target
):
    witness("Guo", "Equation 5.16")
    witness("GYW", "Equation 2")
    table = estimator.table(list(names))
    covariance = oracle.covariance(survey, reports, names, target)
    np.testing.assert_allclose(aim(table, target).covariance(), covariance, rtol=1e-9, atol=1e-13)
    variance = oracle.variance(survey, reports, names, target)
    assert np.isfinite(variance).all()
    np.testing.assert_allclose(aim(table, target).variance().ravel(), variance, rtol=1e-9)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
def test_an_interval_ends_where_a_score_test_rejects(
    estimator, oracle, survey, reports, confidence, target
):
    """The variance is that at the end, with others in proportion to the estimates cut at 0."""
    z = norm.ppf(0.5 + confidence / 2)
    ends = np.stack(table_intervals(aim(estimator.table(["b", "a"]), target), confidence))
    support, n = oracle.support(survey, reports, "ba"), len(reports)
    channel, weights = oracle.matrix(survey, "ba"), oracle.contributions(survey, "ba")

    def of_design(cell, share):
        """N times the variance at a share of the cell."""
        others = np.maximum(support, 0) * (np.arange(support.size) != cell)
        shares = (1 - share) * others / others.sum()
        shares[cell] = share
        squares = weights[cell] ** 2 @ (channel @ shares)
        return squares - (share**2 if target == "population" else share)

    for cell, both in enumerate(ends.reshape(2, -1).T):
        for end in both:
            there = z**2 * of_design(cell, end) / n
            assert (end - support[cell]) ** 2 == pytest.approx(there, rel=1e-8)
    assert (ends[0].ravel() < support).all()
    assert (support < ends[1].ravel()).all()


def test_one_report_has_an_estimate_and_no_variance(survey, oracle, make_reports):
    report = make_reports(survey, 1, seed=12)
    table = Estimator(survey, Counts.from_reports(survey, report)).table(["b", "a"])
    np.testing.assert_allclose(
        table.value.ravel(), oracle.support(survey, report, "ba"), atol=1e-12
    )
    for target in TARGETS:
        assert np.isnan(aim(table, target).variance()).all()
        assert np.isnan(aim(table, target).covariance()).all()
        assert aim(table, target).covariance().shape == (6, 6)
        assert np.isnan(np.stack(table_intervals(aim(table, target)))).all()


@pytest.mark.parametrize("count", [2, 3, 10, 100_000])
def test_equal_reports_have_an_undefined_variance_and_an_interval(survey, count):
    counts = Counts.from_cells(survey, [np.array(survey.report_space.shape) - 1], [count])
    for names in ("a", "bc", "abc"):
        table = Estimator(survey, counts).table(list(names))
        assert np.isnan(table.variance()).all()
        lower, upper = table_intervals(table)
        assert (lower <= table.value).all()
        assert (table.value <= upper).all()
        assert (upper - lower > 0).all()


def test_a_negative_variance_for_respondents_is_undefined(make_survey, oracle):
    survey = make_survey("randomized-response", SHAPE)
    reports = np.zeros((5, 3), dtype=int)
    expected = np.diag(oracle.covariance(survey, reports, "abc", "respondents"))
    table = Estimator(survey, Counts.from_reports(survey, reports)).table(["a", "b", "c"])
    assert (expected < -1e-6).any()
    assert (expected > 1e-6).any()
    np.testing.assert_allclose(
        table.alone.variance().ravel(),
        np.where(expected < 0, np.nan, expected),
        rtol=1e-9,
    )


def test_public_answers_are_exact_for_respondents_and_binomial_for_the_population(
    public_survey,
):
    survey = public_survey((2, 3))
    counts = Counts.from_cells(survey, [[0, 0], [0, 1], [1, 1]], [20, 30, 50])
    table = Estimator(survey, counts).table(["a", "b"])
    np.testing.assert_allclose(table.value, [[0.2, 0.3, 0], [0, 0.5, 0]], atol=1e-15)
    np.testing.assert_allclose(table.alone.variance(), 0, atol=1e-18)
    expected = [[0.16 / 99, 0.21 / 99, np.nan], [np.nan, 0.25 / 99, np.nan]]
    np.testing.assert_allclose(table.variance(), expected, rtol=1e-12)


def test_an_unknown_target_is_refused(estimator):
    with pytest.raises(ParameterError, match="population or respondents") as error:
        aimed(estimator, "everyone")
    assert error.value.field == "target"


def test_a_covariance_too_large_to_hold_is_refused():
    table = single_attribute(4097).table(["q"])
    assert np.isfinite(table.variance()).any()
    with pytest.raises(DomainTooLarge, match="4097") as error:
        table.covariance()
    assert error.value.field == "attributes"


def test_a_table_of_too_many_cells_is_refused():
    schema = Schema([Attribute(f"q{j}", [str(code) for code in range(250)]) for j in range(3)])
    mechanism = RandomizedResponse(dict.fromkeys(schema.names, "0.5"))
    survey = Survey("large", "Large", schema, mechanism)
    estimator = Estimator(survey, Counts.from_cells(survey, [[0, 1, 2]], [5]))
    assert estimator.table(["q0", "q2"]).value.shape == (250, 250)
    with pytest.raises(DomainTooLarge, match="15625000") as error:
        estimator.table(["q0", "q1", "q2"])
    assert error.value.field == "attributes"


def test_an_estimator_without_reports_is_refused(survey):
    nothing = Counts.from_reports(survey, np.zeros((0, 3), dtype=int))
    with pytest.raises(NoReports, match="test"):
        Estimator(survey, nothing)


def test_counts_of_another_survey_of_the_same_shape_are_refused(make_survey):
    survey = make_survey("gamma-diagonal", SHAPE)
    other = Schema(
        [
            Attribute(name, [f"c{code}" for code in range(size)])
            for name, size in zip("xyz", SHAPE, strict=True)
        ]
    )
    counts = Counts.from_cells(Survey("other", "Other", other, survey.mechanism), [[0, 0, 0]], [5])
    with pytest.raises(ReportError):
        Estimator(survey, counts)
