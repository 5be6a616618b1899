"""Which symbols answer for which cell, by enumeration."""

from fractions import Fraction
from itertools import combinations

import dense_split
import numpy as np
import pytest
from halftruth_shared.mechanisms.split_questionnaire.incidence import belongs
from halftruth_shared.mechanisms.split_questionnaire.responses import (
    MAX_CELLS,
    MAX_PRIME,
    coordinates,
    is_prime,
    most_direct,
    nearest_prime,
    number,
    placed,
    points,
    response,
)
from halftruth_shared.mechanisms.split_questionnaire.sampling import (
    coordinates_of,
    numbers_of,
    placed_of,
)

GEOMETRIES = [(2, 3), (2, 4), (2, 5), (3, 3), (3, 4), (5, 3), (7, 3)]


def own(prime, dimension):
    """The symbols of every point."""
    every = dense_split.points(prime, dimension)
    return [
        {y for y, vector in enumerate(every) if dense_split.orthogonal(u, vector, prime)}
        for u in every
    ]


@pytest.mark.parametrize(("prime", "dimension"), GEOMETRIES)
def test_points_are_numbered_by_the_place_of_their_first_1(prime, dimension):
    every = dense_split.points(prime, dimension)
    assert [coordinates(i, prime, dimension) for i in range(points(prime, dimension))] == every
    assert coordinates_of(np.arange(len(every)), prime, dimension).T.tolist() == [
        list(vector) for vector in every
    ]
    for scale in range(1, prime):
        multiples = [tuple(scale * entry % prime for entry in vector) for vector in every]
        assert [number(vector, prime) for vector in multiples] == list(range(len(every)))
        assert numbers_of(np.array(multiples).T, prime).tolist() == list(range(len(every)))


@pytest.mark.parametrize(("prime", "dimension"), GEOMETRIES)
def test_cells_share_as_many_symbols_as_a_response_says(prime, dimension):
    sets, found = own(prime, dimension), response(points(prime, dimension), prime, 2)
    assert (found.symbols, found.prime, found.dimension) == (len(sets), prime, dimension)
    assert {len(symbols) for symbols in sets} == {found.inside}
    assert {len(a & b) for a, b in combinations(sets, 2)} == {found.common}
    # Of three points the first two might be any.
    first, second = sets[:2]
    together = [len(first & second & third) for third in sets[2:]]
    assert Fraction(sum(together), len(together)) == found.common_to_three


@pytest.mark.parametrize(("prime", "dimension"), GEOMETRIES)
def test_a_cell_has_the_symbols_that_are_orthogonal_to_its_point(prime, dimension):
    count = points(prime, dimension)
    placement = dense_split.placement(count, count)
    sets = own(prime, dimension)
    found = belongs(np.arange(count), response(count, prime, 2)).T
    assert [set(np.flatnonzero(row).tolist()) for row in found] == [sets[i] for i in placement]


@pytest.mark.parametrize("count", [7, 13, 15, 31, 381, 1_000, 7_240])
def test_every_cell_has_a_point_of_its_own(count):
    placement = [placed(cell, count) for cell in range(count)]
    assert sorted(placement) == list(range(count))
    assert placed_of(np.arange(count), count).tolist() == placement
    assert placement == dense_split.placement(count, count)


def test_the_largest_geometry_is_placed_without_rounding():
    count = points(MAX_PRIME, 3)
    cells = [0, 1, 2, 3, 12_345, MAX_CELLS - 1]
    assert placed_of(np.array(cells), count).tolist() == [placed(cell, count) for cell in cells]


@pytest.mark.parametrize(
    ("cells", "prime", "direct"), [(2, 2, 2), (5, 7, 9), (7, 2, 2), (13, 3, 2), (15, 2, 2)]
)
@pytest.mark.parametrize("gamma", ["3/2", "19"])
def test_information_is_what_the_estimate_of_every_contrast_tells(cells, prime, direct, gamma):
    # With as many cells as symbols no cell is a special one, and the information is exact: the
    # variances of the centred estimates of all cells add up to (n − 1)/i.
    gamma, found = Fraction(gamma), response(cells, prime, direct)
    rows = np.array(dense_split.belongs(cells, prime, direct)).astype(int)
    weights = [[Fraction(int(x)) for x in row - 0] for row in rows]
    symbol = [sum(1 + (gamma - 1) * x for x in row) / cells for row in weights]
    total = sum(symbol)
    scale = found.share(gamma) * (gamma - 1) * (found.inside - found.common)
    spread = Fraction(0)
    for row, probability in zip(weights, symbol, strict=True):
        mean = sum(row) / cells
        spread += probability / total * sum((x - mean) ** 2 for x in row) / scale**2
    assert spread == (cells - 1) / found.information(gamma)


@pytest.mark.parametrize(
    ("gamma", "prime"),
    [("19", 19), ("1.0001", 2), ("3/2", 2), ("3", 3), ("6", 7), ("1000", 997), (10**60, MAX_PRIME)],
)
def test_the_prime_is_the_nearest_to_one_more_than_gamma(gamma, prime):
    gamma = Fraction(gamma)
    assert nearest_prime(gamma) == prime
    assert is_prime(prime)
    if gamma < MAX_PRIME:
        assert not any(
            is_prime(other) and abs(other - gamma - 1) < abs(prime - gamma - 1)
            for other in range(2, 2 * prime)
        )


@pytest.mark.parametrize("gamma", ["1.0001", "3/2", "3", "19/2", "19", "49"])
@pytest.mark.parametrize("prime", [2, 3, 19, 53])
def test_few_cells_are_answered_directly_as_long_as_that_tells_more(gamma, prime):
    gamma = Fraction(gamma)

    def tells_as_much(n):
        by_geometry = response(n, prime, n - 1).information(gamma)
        return response(n, prime, n).information(gamma) >= by_geometry

    every = range(2, int(2 * gamma**2) + 200)
    assert most_direct(gamma, prime) == max(filter(tells_as_much, every))


def test_with_a_large_gamma_every_view_is_answered_directly():
    assert most_direct(Fraction(10**60), MAX_PRIME) == MAX_CELLS
