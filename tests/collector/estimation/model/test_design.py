"""Designs of loglinear models, against dense design matrices."""

from itertools import combinations

import numpy as np
import pytest
from halftruth_collector.estimation.model.design import Design
from halftruth_shared import DomainTooLarge

from .dense import codes_of, columns_of, components

CASES = [
    ((3, 2, 4), [(0, 1), (1, 2), (0, 2)]),
    ((2, 3, 2, 2), [(3, 0, 1), (2, 3)]),
    ((5,), []),
    ((2, 2, 2, 2, 2), list(combinations(range(5), 2))),
]


@pytest.fixture(params=CASES, ids=str)
def case(request):
    shape, terms = request.param
    weights = np.random.default_rng(0).dirichlet(np.ones(np.prod(shape)))
    return Design(shape, terms), columns_of(shape, terms), weights.reshape(shape)


def test_columns_are_those_of_every_subset_of_an_interaction(case):
    design, columns, _ = case
    terms = [design.terms[number] for number in design.term_of]
    assert design.codes.tolist() == [list(code) for code in codes_of(design.shape, design.terms)]
    assert [tuple(np.flatnonzero(code)) for code in design.codes] == terms
    assert design.parameters == columns.shape[1]


def test_sums_are_products_with_the_matrix(case):
    design, columns, weights = case
    cube = design.cube(weights)
    np.testing.assert_allclose(cube[design.place], columns.T @ weights.ravel(), atol=1e-14)
    moments = columns.T @ (weights.reshape(-1, 1) * columns)
    np.testing.assert_allclose(design.second_moments(cube), moments, atol=1e-14)
    theta = np.random.default_rng(1).normal(size=design.parameters)
    np.testing.assert_allclose(design.predictor(theta).ravel(), columns @ theta, atol=1e-13)


def test_margins_sum_the_rows_of_the_matrix_in_any_order_of_axes(case):
    design, columns, weights = case
    weighted = weights.reshape(-1, 1) * np.column_stack([np.ones(len(columns)), columns])
    for length in range(len(design.shape) + 1):
        for number, axes in enumerate(combinations(range(len(design.shape)), length)):
            order = axes[::-1] if number % 2 else axes
            others = tuple(j for j in range(len(design.shape)) if j not in axes)
            table = weighted.reshape(*design.shape, -1).sum(axis=others)
            table = np.moveaxis(table, [sorted(order).index(j) for j in order], range(length))
            found = design.margin(design.cube(weights), order)
            np.testing.assert_allclose(found, table.reshape(found.shape), atol=1e-14)
            alone = design.margin_alone(design.cube(weights), order)
            np.testing.assert_allclose(alone, table[..., 0], atol=1e-14)


def test_functions_of_some_attributes_are_sums_of_effects(case):
    design, _, weights = case
    effects, expected = np.zeros(design.cells), np.zeros(design.shape)
    for axes in combinations(range(len(design.shape)), min(2, len(design.shape))):
        values = weights.sum(axis=tuple(j for j in range(weights.ndim) if j not in axes))
        design.add_effects(effects, values.transpose(), axes[::-1])
        expected += np.expand_dims(values, tuple(j for j in range(weights.ndim) if j not in axes))
    np.testing.assert_allclose(design.expanded(effects), expected, atol=1e-14)


def test_squared_contrasts_are_mean_squares_of_components_of_the_logarithm(case):
    """So a penalty on them does not depend on the reference or order of categories."""
    design, _, _ = case
    theta = np.random.default_rng(2).normal(size=design.parameters)
    np.testing.assert_allclose(design.contrast @ design.corner @ theta, theta, atol=1e-13)
    squares = components(design.predictor(design.corner @ theta))
    for number, term in enumerate(design.terms):
        own = theta[design.term_of == number]
        assert own @ own == pytest.approx(squares.pop(term))
    assert all(square == pytest.approx(0, abs=1e-12) for square in squares.values())


def test_a_too_large_model_or_table_is_refused():
    with pytest.raises(DomainTooLarge, match=r"^terms: 1326 parameters; expected at most 1000, so"):
        Design((2,) * 51, list(combinations(range(51), 2)))
    design = Design((2,) * 17, list(combinations(range(17), 2)))
    cube = design.cube(np.zeros(design.shape))
    message = r"^attributes: a table of 262144 cells in a model of 171 parameters; expected at most"
    large = Design((2,) * 18, list(combinations(range(18), 2)))
    with pytest.raises(DomainTooLarge, match=message):
        large.margin(cube, tuple(range(18)))
