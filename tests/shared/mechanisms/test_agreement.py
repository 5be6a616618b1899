"""Sums over orthogonal points, against dense matrices."""

from fractions import Fraction

import numpy as np
import pytest
from halftruth_shared.channels import channel_of
from halftruth_shared.channels.geometry import orthogonal_sums, points_of_cells
from halftruth_shared.subset_responses import coordinates, count_points, response


def orthogonal(prime, dimension):
    """Return which points are orthogonal, from all products of their coordinates."""
    vectors = np.array(
        [coordinates(point, prime, dimension) for point in range(count_points(prime, dimension))]
    )
    return vectors @ vectors.T % prime == 0


@pytest.mark.parametrize(
    ("prime", "dimension"), [(2, 3), (2, 6), (3, 3), (3, 4), (5, 4), (19, 3), (37, 3)]
)
def test_sums_over_orthogonal_points_match_brute_force(prime, dimension):
    values = np.random.default_rng(0).integers(0, 1_000, (3, 2, count_points(prime, dimension)))
    expected = values @ orthogonal(prime, dimension)
    found = orthogonal_sums(values.astype(float), prime, dimension)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    np.testing.assert_array_equal(np.rint(found), expected)


@pytest.mark.parametrize(("cells", "prime"), [(7, 2), (25, 5), (100, 5), (300, 19)])
def test_sums_over_a_few_symbols_match_brute_force(cells, prime):
    answered = channel_of(response(Fraction(19), cells, prime, 2))
    symbols = np.random.default_rng(1).choice(answered.symbols, 5, replace=False)
    values = np.arange(10.0).reshape(2, 5)
    whole = np.zeros((2, answered.symbols))
    whole[:, symbols] = values
    placement = points_of_cells(np.arange(cells), answered.symbols)
    expected = whole @ orthogonal(prime, answered.dimension)[:, placement]
    np.testing.assert_allclose(answered.sums_of_few(symbols, values), expected)
