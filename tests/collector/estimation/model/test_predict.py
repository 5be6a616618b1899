"""Shares and ratios by a model, against sums of its table and differences of these."""

import math
from itertools import combinations

import numpy as np
import pytest
from halftruth_collector.estimation import Counts
from halftruth_collector.estimation.model import (
    fit_model,
    itemsets,
    odds_ratio,
    risk_ratio,
    share,
    shares,
)
from halftruth_collector.estimation.model.information import Fitted
from halftruth_shared import (
    Attribute,
    EstimateError,
    ParameterError,
    RandomizedResponse,
    Schema,
    SchemaError,
    Survey,
)
from scipy.special import expit, logit

from ..definitions import Z

CATEGORIES = {"a": "xyz", "b": "no yes", "c": "1 2 3 none"}


@pytest.fixture(scope="module")
def model():
    schema = Schema(
        [
            Attribute("a", ["x", "y", "z"]),
            Attribute("b", ["no", "yes"]),
            Attribute("c", ["1", "2", "3", "none"], missing=["none"]),
        ]
    )
    survey = Survey("s", "S", schema, RandomizedResponse(dict.fromkeys("abc", "0.8")))
    rng = np.random.default_rng(2)
    drawn = rng.choice(24, 3_000, p=rng.dirichlet(np.ones(24)))
    records = np.stack(np.unravel_index(drawn, (3, 2, 4)), axis=1)
    reports = survey.mechanism.perturb_many(schema, records, rng)
    return fit_model(survey, Counts.from_reports(survey, reports))


def slopes(model, function, step=1e-6):
    """Derivatives by the parameters of what is computed of a table."""
    corner = model.design.corner

    def at(theta):
        return np.asarray(function(Fitted(model.design, corner @ theta).table))

    moves = step * np.eye(model.design.parameters)
    theta = model.coefficients
    return np.array([(at(theta + m) - at(theta - m)).ravel() / (2 * step) for m in moves]).T


def test_shares_of_every_table_are_its_margins_with_errors_by_differences(model):
    for length in (1, 2, 3):
        for axes in combinations(range(3), length):
            names = ["abc"[axis] for axis in axes][::-1]

            def margin(table, axes=axes):
                return table.sum(axis=tuple(j for j in range(3) if j not in axes)).transpose()

            found = shares(model, names)
            np.testing.assert_allclose(found.support, margin(model.table), atol=1e-14)
            by_parameter = slopes(model, margin)
            covariance = by_parameter @ model.covariance @ by_parameter.T
            np.testing.assert_allclose(found.covariance(), covariance, atol=1e-11)
            variance = np.diag(covariance).reshape(found.support.shape)
            np.testing.assert_allclose(found.variance(), variance, atol=1e-11)
            width = Z * found.standard_error() / (found.support * (1 - found.support))
            lower, upper = found.interval(0.95)
            np.testing.assert_allclose(lower, expit(logit(found.support) - width))
            np.testing.assert_allclose(upper, expit(logit(found.support) + width))


def test_shares_within_a_domain_are_among_it_alone(model):
    def conditional(table):
        inside = table[[0, 2]].sum(axis=0)
        return (inside / inside.sum()).T

    found = shares(model, ["c", "b"], where={"a": ["x", "z"]})
    np.testing.assert_allclose(found.support, conditional(model.table))
    by_parameter = slopes(model, conditional)
    np.testing.assert_allclose(
        found.covariance(), by_parameter @ model.covariance @ by_parameter.T, atol=1e-11
    )


def test_missing_answers_are_left_out_where_asked(model):
    def answered(table):
        inside = table[1, :, :3]
        return inside / inside.sum()

    found = shares(model, ["b", "c"], where={"a": "y"}, missing="exclude")
    np.testing.assert_allclose(found.support, answered(model.table))
    by_parameter = slopes(model, answered)
    np.testing.assert_allclose(
        found.covariance(), by_parameter @ model.covariance @ by_parameter.T, atol=1e-11
    )
    others = shares(model, ["b"], missing="exclude", answering=["c"])
    inside = model.table[:, :, :3].sum(axis=(0, 2))
    np.testing.assert_allclose(others.support, inside / inside.sum())
    assert shares(model, ["c"]).support.shape == (4,)


def test_a_share_is_the_cell_of_its_table(model):
    one = share(model, {"b": "yes", "c": ["1", "3"]}, where={"a": "y"}, missing="exclude")
    table = shares(model, ["b", "c"], where={"a": "y"}, missing="exclude")
    assert one.value == pytest.approx(table.support[1, [0, 2]].sum())
    chosen = np.array([0, 0, 0, 1, 0, 1])
    assert one.standard_error == pytest.approx(math.sqrt(chosen @ table.covariance() @ chosen))
    width = Z * one.standard_error / (one.value * (1 - one.value))
    assert one.interval() == pytest.approx(expit(logit(one.value) + np.array([-width, width])))
    everybody = share(model, {"b": ["no", "yes"]})
    assert everybody.value == pytest.approx(1)
    assert everybody.standard_error == pytest.approx(0, abs=1e-9)


def test_itemsets_of_all_lengths_have_the_shares_of_their_tables(model):
    codes = np.array([[0, -1, -1], [-1, 1, 2], [2, 0, 1], [1, -1, 3], [0, 1, 0]])
    support, error, lower, upper = itemsets(model, codes, 0.9)
    for k, row in enumerate(codes):
        items = {
            "abc"[axis]: model.schema.attributes[axis].categories[code]
            for axis, code in enumerate(row)
            if code >= 0
        }
        one = share(model, items)
        assert support[k] == pytest.approx(one.value)
        assert error[k] == pytest.approx(one.standard_error)
        assert (lower[k], upper[k]) == pytest.approx(one.interval(0.9))


def test_ratios_compare_two_groups_on_the_log_scale(model):
    question = ({"b": "yes"}, {"a": "x"}, {"a": ["y", "z"], "c": "2"})

    def share_in(table, rows, cells):
        inside = table[rows][:, :, cells]
        return inside[:, 1].sum() / inside.sum()

    def log_risk(table):
        return math.log(share_in(table, [0], [0, 1, 2, 3]) / share_in(table, [1, 2], [1]))

    def log_odds(table):
        return logit(share_in(table, [0], [0, 1, 2, 3])) - logit(share_in(table, [1, 2], [1]))

    for ratio, level in ((risk_ratio, log_risk), (odds_ratio, log_odds)):
        found = ratio(model, *question)
        expected = level(model.table)
        [slope] = slopes(model, level)
        error = math.sqrt(slope @ model.covariance @ slope)
        assert found.value == pytest.approx(math.exp(expected))
        assert found.scale_error == pytest.approx(error, rel=1e-5)
        assert found.standard_error == pytest.approx(found.value * error, rel=1e-5)
        assert found.interval(0.95) == pytest.approx(
            np.exp([expected - Z * error, expected + Z * error]), rel=1e-5
        )


def test_odds_ratios_given_all_others_are_parameters_of_the_model(model):
    """With all pairs in the model, b and a depend on each other alike whatever c is."""
    corner = model.design.corner @ model.coefficients
    covariance = model.design.corner @ model.covariance @ model.design.corner.T
    [number] = np.flatnonzero((model.design.codes == [1, 1, 0]).all(axis=1))
    for answer in ("1", "2", "none"):
        found = odds_ratio(model, {"b": "yes"}, {"a": "y", "c": answer}, {"a": "x", "c": answer})
        assert math.log(found.value) == pytest.approx(corner[number])
        assert found.scale_error == pytest.approx(math.sqrt(covariance[number, number]))


def test_questions_that_cannot_be_answered_are_refused(model):
    with pytest.raises(SchemaError, match=r"^attributes: 'd'|'d'"):
        shares(model, ["d"])
    with pytest.raises(ParameterError, match=r"^attributes: 'a' is filtered on by where"):
        shares(model, ["a"], where={"a": "x"})
    with pytest.raises(ParameterError, match=r"^where: 'a' has no category 'w'"):
        share(model, {"b": "yes"}, where={"a": "w"})
    with pytest.raises(EstimateError, match=r"^items: nobody can give another answer"):
        odds_ratio(model, {"b": ["no", "yes"]}, {"a": "x"}, {"a": "y"})
    with pytest.raises(ParameterError, match=r"^confidence: expected"):
        shares(model, ["a"]).interval(1.5)
