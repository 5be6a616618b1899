"""Shares by a model, against sums of its table and numerical derivatives."""

from functools import partial
from itertools import combinations

import numpy as np
import pytest
from halftruth_collector.estimation.domain import Domain
from halftruth_collector.estimation.intervals import table_intervals
from halftruth_collector.estimation.model import fit_model, shares
from halftruth_collector.estimation.model.information import Fitted
from halftruth_shared import (
    Attribute,
    ParameterError,
    RandomizedResponse,
    Schema,
    SchemaError,
    Survey,
)
from scipy.special import expit, logit
from sources import counts_of

from ..definitions import Z


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
    return fit_model(survey, counts_of(survey, records, rng))


def within(model, where, *asked, answered=False):
    """Return a table of a domain."""
    return Domain(model.schema, where, answered).table(partial(shares, model), *asked)


def slopes(model, function, step=1e-6):
    """Derivatives of a function of the table by the parameters."""
    corner = model.design.corner

    def at(theta):
        return np.asarray(function(Fitted(model.design, corner @ theta).table))

    moves = step * np.eye(model.design.parameters)
    theta = model.coefficients
    return np.array([(at(theta + m) - at(theta - m)).ravel() / (2 * step) for m in moves]).T


def test_tables_are_margins_of_the_model_with_delta_method_errors(model):
    for length in (1, 2, 3):
        for axes in combinations(range(3), length):
            names = ["abc"[axis] for axis in axes][::-1]

            def margin(table, axes=axes):
                return table.sum(axis=tuple(j for j in range(3) if j not in axes)).transpose()

            found = shares(model, names)
            np.testing.assert_allclose(found.value, margin(model.table), atol=1e-14)
            by_parameter = slopes(model, margin)
            covariance = by_parameter @ model.covariance @ by_parameter.T
            np.testing.assert_allclose(found.covariance(), covariance, atol=1e-11)
            variance = np.diag(covariance).reshape(found.value.shape)
            np.testing.assert_allclose(found.variance(), variance, atol=1e-11)
            width = Z * np.sqrt(found.variance()) / (found.value * (1 - found.value))
            lower, upper = table_intervals(found, 0.95)
            low, high = (expit(logit(found.value) + sign * width) for sign in (-1, 1))
            roots = [
                (each**0.25 + Z * np.sqrt(found.variance()) / (4 * each**0.75)) ** 4
                for each in (found.value, 1 - found.value)
            ]
            low, high = np.maximum(low, 1 - roots[1]), np.minimum(high, roots[0])
            reach = Z * np.sqrt(found.variance())
            np.testing.assert_allclose(lower, np.clip(found.value - reach, 0, low))
            np.testing.assert_allclose(upper, np.clip(found.value + reach, high, 1))


@pytest.mark.parametrize(
    ("where", "names", "answered", "inside"),
    [
        ({"a": ["x", "z"]}, ["c", "b"], False, lambda table: table[[0, 2]].sum(axis=0).T),
        ({"a": "y"}, ["b", "c"], True, lambda table: table[1, :, :3]),
    ],
)
def test_shares_of_a_domain_are_conditional(model, where, names, answered, inside):
    def conditional(table):
        return inside(table) / inside(table).sum()

    found = within(model, where, names, answered=answered)
    np.testing.assert_allclose(found.value, conditional(model.table))
    by_parameter = slopes(model, conditional)
    np.testing.assert_allclose(
        found.covariance(), by_parameter @ model.covariance @ by_parameter.T, atol=1e-11
    )


def test_missing_answers_to_other_questions_are_excluded(model):
    others = within(model, {}, ["b"], ["c"], answered=True)
    inside = model.table[:, :, :3].sum(axis=(0, 2))
    np.testing.assert_allclose(others.value, inside / inside.sum())
    assert shares(model, ["c"]).value.shape == (4,)


def test_invalid_requests_are_refused(model):
    with pytest.raises(SchemaError, match=r"^attributes: 'd'|'d'"):
        shares(model, ["d"])
    with pytest.raises(ParameterError, match=r"^where: 'a' has no category 'w'"):
        within(model, {"a": "w"}, ["b"])
    with pytest.raises(ParameterError, match=r"^confidence: expected"):
        table_intervals(shares(model, ["a"]), 1.5)
