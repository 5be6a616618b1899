"""Distances of tables, compared with their definitions cell by cell."""

import math
from itertools import product

import numpy as np
import pytest
from halftruth_studies.anonymization.distances import cube, distances

ACTUAL = np.array([[0.5, 0.25], [0.25, 0.0]])
ESTIMATED = np.array([[0.4, 0.3], [0.2, 0.1]])


def test_distances_match_their_definitions():
    found = distances(ACTUAL, ESTIMATED)
    assert found.variational == pytest.approx((0.1 + 0.05 + 0.05 + 0.1) / 2)
    assert found.l2 == pytest.approx(math.sqrt(0.01 + 0.0025 + 0.0025 + 0.01))
    assert found.kl == pytest.approx(
        0.5 * math.log(0.5 / 0.4) + 0.25 * math.log(0.25 / 0.3) + 0.25 * math.log(0.25 / 0.2)
    )
    assert found.chi_squared == pytest.approx(0.01 / 0.5 + 0.0025 / 0.25 + 0.0025 / 0.25)
    assert found.base_error == pytest.approx((0.2 + 0.2 + 0.2) / 3)
    # Three cells, sums of rows and of columns, the total.
    margins = [0.2, 0.2, 0.2, 0.05 / 0.75, 0.05 / 0.25, 0.15 / 0.75, 0.15 / 0.25, 0]
    assert found.cube_error == pytest.approx(np.mean(margins))


@pytest.mark.parametrize("least", [0.0, -0.01])
def test_the_divergence_is_undefined_if_an_estimate_excludes_existing_cells(least):
    estimated = np.array([[0.5 - least, 0.5], [least, 0.0]])
    found = distances(ACTUAL, estimated)
    assert found.kl is None
    assert found.chi_squared > 0


def test_the_cube_has_the_sum_over_every_set_of_axes():
    table = np.random.default_rng(1).random((2, 3, 4))
    found = cube(table)
    assert found.shape == (3, 4, 5)
    for open_axes in product([False, True], repeat=3):
        place = tuple(slice(-1, None) if is_open else slice(-1) for is_open in open_axes)
        summed = table.sum(axis=tuple(np.flatnonzero(open_axes)), keepdims=True)
        np.testing.assert_allclose(found[place], summed)
