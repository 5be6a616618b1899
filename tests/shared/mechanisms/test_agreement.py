"""Sums over orthogonal points and the agreement algebra, against dense matrices."""

from functools import reduce
from itertools import combinations

import numpy as np
import pytest
from halftruth_shared.mechanisms.split_questionnaire import agreement
from halftruth_shared.mechanisms.split_questionnaire.incidence import (
    orthogonal_sums,
    placement,
    sums_over,
)
from halftruth_shared.mechanisms.split_questionnaire.responses import coordinates, points, response

SIZES = (2, 3, 4)
SUBSETS = [set(chosen) for length in range(4) for chosen in combinations(range(3), length)]


def orthogonal(prime, dimension):
    """Which points are orthogonal, by all products of their coordinates."""
    vectors = np.array(
        [coordinates(point, prime, dimension) for point in range(points(prime, dimension))]
    )
    return vectors @ vectors.T % prime == 0


# Beyond 32 the transform is another one.
@pytest.mark.parametrize(
    ("prime", "dimension"), [(2, 3), (2, 6), (3, 3), (3, 4), (5, 4), (19, 3), (37, 3)]
)
def test_sums_over_orthogonal_points_are_those_of_brute_force(prime, dimension):
    values = np.random.default_rng(0).integers(0, 1_000, (3, 2, points(prime, dimension)))
    expected = values @ orthogonal(prime, dimension)
    found = orthogonal_sums(values.astype(float), prime, dimension)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    np.testing.assert_array_equal(np.rint(found), expected)


@pytest.mark.parametrize(("cells", "prime"), [(7, 2), (25, 5), (100, 5), (300, 19)])
def test_sums_over_a_few_symbols_are_the_same(cells, prime):
    answered = response(cells, prime, 2)
    symbols = np.random.default_rng(1).choice(answered.symbols, 5, replace=False)
    values = np.arange(10.0).reshape(2, 5)
    whole = np.zeros((2, answered.symbols))
    whole[:, symbols] = values
    expected = whole @ orthogonal(prime, answered.dimension)[:, placement(answered)]
    np.testing.assert_allclose(sums_over(symbols, values, answered), expected)


def component(subset):
    """The projection onto a component times n, as a Kronecker product."""
    factors = [
        size * np.eye(size) - 1 if axis in subset else np.ones((size, size))
        for axis, size in enumerate(SIZES)
    ]
    return reduce(np.kron, factors)


def bit(subset):
    return sum(1 << (2 - axis) for axis in subset)


def test_a_kernel_is_the_combination_of_its_components():
    weights = np.random.default_rng(2).normal(size=8)
    expected = sum(weights[bit(subset)] * component(subset) for subset in SUBSETS)
    found = agreement.matrix(agreement.kernel(weights, SIZES), SIZES)
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_sums_by_subset():
    values = np.random.default_rng(3).normal(size=8)
    below, above = agreement.subset_sums(values), agreement.superset_sums(values)
    for subset in SUBSETS:
        inside = [values[bit(other)] for other in SUBSETS if other <= subset]
        outside = [values[bit(other)] for other in SUBSETS if other >= subset]
        assert below[bit(subset)] == pytest.approx(sum(inside))
        assert above[bit(subset)] == pytest.approx(sum(outside))
        assert agreement.members(3)[bit(subset)].tolist() == [axis in subset for axis in range(3)]
        of_sizes = np.prod([SIZES[axis] for axis in subset])
        assert agreement.products(SIZES)[bit(subset)] == of_sizes
    np.testing.assert_allclose(agreement.subset_differences(below), values)


def test_numbers_by_subset_at_the_cells_of_all_margins():
    found = agreement.expand(np.arange(8.0), SIZES)
    assert found.shape == (3, 4, 5)
    for place in np.ndindex(found.shape):
        named = {axis for axis in range(3) if place[axis] < SIZES[axis]}
        assert found[place] == bit(named)
