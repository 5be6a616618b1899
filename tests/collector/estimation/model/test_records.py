"""Weighted records: replicate weights against the delta method with dense matrices."""

import numpy as np
import pytest
from halftruth_collector.estimation.calibration import known_margins
from halftruth_collector.estimation.model import fit_model, shares
from halftruth_collector.estimation.model.records import raked, weighted_records
from halftruth_shared import DomainTooLarge, EstimateError, RandomizedResponse, Survey
from scipy.optimize import approx_fprime
from scipy.special import expit
from sources import counts_of

from ..definitions import schema_of
from .dense import DenseModel, blocks_of

SHAPE = (3, 2, 2)
PEOPLE = 5_000.0


def survey_of(shape, keep="0.8"):
    schema = schema_of(shape)
    return Survey("s", "S", schema, RandomizedResponse(dict.fromkeys(schema.names, keep)))


def simulated(survey, reports=5_000, seed=3):
    rng = np.random.default_rng(seed)
    common = rng.normal(size=reports)
    answers = [
        np.clip(np.floor(common + rng.normal(size=reports) + size / 2), 0, size - 1)
        for size in survey.schema.shape
    ]
    records = np.stack(answers, axis=1).astype(int)
    return counts_of(survey, records, rng)


@pytest.fixture(scope="module")
def fitted():
    survey = survey_of(SHAPE)
    counts = simulated(survey)
    model = fit_model(survey, counts, variances=(np.inf, np.inf))
    dense = DenseModel(SHAPE, [(0, 1), (0, 2), (1, 2)], blocks_of(survey, counts))
    columns = np.column_stack([np.ones(len(dense.columns)), dense.columns])
    theta = np.linalg.lstsq(columns, np.log(model.table.ravel()), rcond=None)[0][1:]
    np.testing.assert_allclose(dense.score(theta), 0, atol=1e-3)
    information = -approx_fprime(theta, dense.score, 1e-6)
    return model, dense, theta, np.linalg.inv((information + information.T) / 2)


def mean(table):
    return np.array([0.0, 2.0, 5.0]) @ table.reshape(3, 4).sum(axis=1) / table.sum()


def ratio(table):
    by_answers = table.reshape(SHAPE)
    return by_answers[0, 1].sum() / by_answers[:, 1].sum()


def coefficient(table):
    """Coefficient of the second answer for the last, adjusted for the first as a number."""
    cells = np.indices(SHAPE).reshape(3, -1)
    design = np.column_stack([np.ones(cells.shape[1]), cells[0], cells[1]])
    beta = np.zeros(3)
    for _ in range(30):
        fitted = expit(design @ beta)
        information = (design * (table * fitted * (1 - fitted))[:, None]).T @ design
        beta += np.linalg.solve(information, design.T @ (table * (cells[2] - fitted)))
    return beta[2]


def poststratified(table, known=(0.2, 0.5, 0.3)):
    """Share of the second answer to the last question, given the margin of the first."""
    by_first = table.reshape(3, 2, 2).sum(axis=1)
    return np.array(known) @ (by_first[:, 1] / by_first.sum(axis=1))


def by_records(records, statistic, shape=SHAPE):
    cells = np.ravel_multi_index(tuple(records.codes.T), shape)

    def of(weights):
        return statistic(np.bincount(cells, weights, np.prod(shape)))

    value = of(records.weights)
    changes = np.array([of(weights) - value for weights in records.replicates.T])
    return value, np.sqrt(records.scale * (changes**2).sum(axis=0))


@pytest.mark.parametrize("statistic", [mean, ratio, coefficient])
def test_replicate_weights_give_the_errors_of_the_delta_method(fitted, statistic):
    model, dense, theta, covariance = fitted
    records = weighted_records(model, ["a", "b", "c"], PEOPLE, 100)
    assert not records.drawn
    assert records.weights.sum() == pytest.approx(PEOPLE)
    np.testing.assert_allclose(records.replicates.sum(axis=0), PEOPLE)
    value, error = by_records(records, statistic)
    gradient = approx_fprime(theta, lambda at: statistic(dense.table(at)), 1e-6)
    assert value == pytest.approx(statistic(dense.table(theta)), rel=1e-6)
    assert error == pytest.approx(np.sqrt(gradient @ covariance @ gradient), rel=1e-3)


def test_raked_records_have_the_margin_and_the_errors_of_post_stratification(fitted):
    model, dense, theta, covariance = fitted
    margins, people = known_margins(model.schema, {"a": {"c0": 200, "c1": 500, "c2": 300}})
    records = raked(weighted_records(model, ["a", "b", "c"], 1.0, 100), [0], margins, people)
    for weights in (records.weights, *records.replicates.T):
        np.testing.assert_allclose(np.bincount(records.codes[:, 0], weights), [200, 500, 300])
    value, error = by_records(records, lambda t: t.reshape(-1, 2)[:, 1].sum() / t.sum())
    gradient = approx_fprime(theta, lambda at: poststratified(dense.table(at)), 1e-6)
    assert value == pytest.approx(poststratified(dense.table(theta)), rel=1e-6)
    assert error == pytest.approx(np.sqrt(gradient @ covariance @ gradient), rel=1e-3)


def test_a_margin_of_a_category_without_records_is_refused(fitted):
    records = weighted_records(fitted[0], ["a", "b"], 1.0, 100)
    records.weights[records.codes[:, 0] == 1] = 0.0
    margins, _ = known_margins(fitted[0].schema, {"a": {"c0": 0.2, "c1": 0.5, "c2": 0.3}})
    with pytest.raises(EstimateError, match="no weights give these margins"):
        raked(records, [0], margins, 1.0)


def test_records_of_some_questions_have_their_table_and_fewer_replicates(fitted):
    model = fitted[0]
    records = weighted_records(model, ["c", "a"], PEOPLE, 100)
    assert records.replicates.shape == (6, 2 * 5)
    value, error = by_records(records, lambda table: table / PEOPLE, (2, 3))
    expected = shares(model, ["c", "a"])
    np.testing.assert_allclose(value, expected.value.ravel())
    np.testing.assert_allclose(error, np.sqrt(expected.variance()).ravel(), rtol=1e-3)


@pytest.mark.parametrize("many", [False, True])
def test_a_sample_of_rows_has_the_tables_of_pairs_and_their_errors(many, monkeypatch):
    """A sample is drawn above `max_rows`, or if there would be too many replicate weights."""
    survey = survey_of((3, 4, 2, 3, 2, 3))
    model = fit_model(survey, simulated(survey))
    names = list(survey.schema.names)
    if many:
        numbers = 2 * model.design.parameters * 250
        monkeypatch.setattr("halftruth_collector.estimation.model.records.MAX_NUMBERS", numbers)
    records = weighted_records(model, names, PEOPLE, 1_000 if many else 250)
    assert records.drawn
    assert len(records.codes) <= 250 < model.table.size
    assert (records.weights > 0).all()
    for pair in (["a", "b"], ["c", "f"], ["d"]):
        axes = [names.index(name) for name in pair]
        expected = shares(model, pair)
        cells = np.ravel_multi_index(tuple(records.codes[:, axes].T), expected.value.shape)
        tables = [
            np.bincount(cells, weights, expected.value.size) / PEOPLE
            for weights in (records.weights, *records.replicates.T)
        ]
        error = np.sqrt(records.scale * ((tables[1:] - tables[0]) ** 2).sum(axis=0))
        np.testing.assert_allclose(tables[0], expected.value.ravel(), atol=1e-9)
        np.testing.assert_allclose(error, np.sqrt(expected.variance()).ravel(), rtol=2e-3)


def test_too_few_rows_for_all_combinations_are_refused():
    survey = survey_of((3, 4, 2, 3, 2, 3))
    model = fit_model(survey, simulated(survey))
    with pytest.raises(DomainTooLarge, match=r"^max_rows: 12 cannot stand for all"):
        weighted_records(model, list(survey.schema.names), PEOPLE, 12)
