"""The symbols of each cell, by enumeration."""

from fractions import Fraction
from itertools import combinations

import dense_split
import numpy as np
import pytest
from halftruth_shared.channels.geometry import (
    count_points,
    is_prime,
    point_of_cell,
    points_of_cells,
)
from halftruth_shared.mechanisms.split_questionnaire.responses import (
    MAX_CELLS,
    MAX_PRIME,
    choose_direct,
    choose_prime,
    response,
)

GEOMETRIES = [(2, 3), (2, 4), (2, 5), (3, 3), (3, 4), (5, 3), (7, 3)]


def own(prime, dimension):
    """Return the symbols of each point."""
    every = dense_split.points(prime, dimension)
    return [
        {y for y, vector in enumerate(every) if dense_split.orthogonal(u, vector, prime)}
        for u in every
    ]


@pytest.mark.parametrize(("prime", "dimension"), GEOMETRIES)
def test_the_numbers_of_shared_symbols_match_the_response(prime, dimension):
    sets, found = (
        own(prime, dimension),
        response(Fraction(19), count_points(prime, dimension), prime, 2),
    )
    assert (found.symbols, found.prime, found.dimension) == (len(sets), prime, dimension)
    assert {len(symbols) for symbols in sets} == {found.subset_size}
    assert {len(a & b) for a, b in combinations(sets, 2)} == {found.common}
    # By symmetry the first two of three points can be fixed.
    first, second = sets[:2]
    together = [len(first & second & third) for third in sets[2:]]
    assert Fraction(sum(together), len(together)) == found.common_to_three


@pytest.mark.parametrize("count", [7, 13, 15, 31, 381, 1_000, 7_240])
def test_the_placement_of_cells_is_a_bijection(count):
    placement = [point_of_cell(cell, count) for cell in range(count)]
    assert sorted(placement) == list(range(count))
    assert points_of_cells(np.arange(count), count).tolist() == placement
    assert placement == dense_split.placement(count, count)


def test_the_largest_geometry_is_placed_exactly():
    count = count_points(MAX_PRIME, 3)
    cells = [0, 1, 2, 3, 12_345, MAX_CELLS - 1]
    assert points_of_cells(np.array(cells), count).tolist() == [
        point_of_cell(cell, count) for cell in cells
    ]


@pytest.mark.parametrize(
    ("gamma", "prime"),
    [("19", 19), ("1.0001", 2), ("3/2", 2), ("3", 3), ("6", 7), ("1000", 997), (10**60, MAX_PRIME)],
)
def test_the_prime_is_the_nearest_to_gamma_plus_one(gamma, prime):
    gamma = Fraction(gamma)
    assert choose_prime(gamma) == prime
    assert is_prime(prime)
    if gamma < MAX_PRIME:
        assert not any(
            is_prime(other) and abs(other - gamma - 1) < abs(prime - gamma - 1)
            for other in range(2, 2 * prime)
        )


@pytest.mark.parametrize("gamma", ["1.0001", "3", "19/2", "19"])
@pytest.mark.parametrize("prime", [2, 3, 19, 53])
def test_cells_are_answered_directly_while_that_has_more_information(gamma, prime):
    gamma = Fraction(gamma)

    def tells_as_much(n):
        by_geometry = response(gamma, n, prime, n - 1).information
        return response(gamma, n, prime, n).information >= by_geometry

    every = range(2, int(2 * gamma**2) + 200)
    assert choose_direct(gamma, prime) == max(filter(tells_as_much, every))


def test_with_a_large_gamma_all_views_are_answered_directly():
    assert choose_direct(Fraction(10**60), MAX_PRIME) == MAX_CELLS
