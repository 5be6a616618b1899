"""The symbols of each cell, by enumeration."""

from fractions import Fraction
from itertools import combinations

import dense_split
import numpy as np
import pytest
from halftruth_shared.channels import channel_of
from halftruth_shared.channels.geometry import points_of_cells
from halftruth_shared.subset_responses import (
    MAX_CELLS,
    MAX_PRIME,
    choose_direct,
    choose_pairs,
    choose_prime,
    count_points,
    is_prime,
    point_of_cell,
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


@pytest.mark.parametrize("cells", [3, 4, 7, 12])
def test_pairs_of_cells_are_symbols_of_both(cells):
    every = [{a, b} for b in range(cells) for a in range(b)]
    sets = [{y for y, pair in enumerate(every) if u in pair} for u in range(cells)]
    found = channel_of(response(Fraction(19), cells, 19, 2, pairs=cells))
    assert found.symbols == len(every)
    assert not found.is_direct
    assert {len(symbols) for symbols in sets} == {found.subset_size}
    assert {len(a & b) for a, b in combinations(sets, 2)} == {found.common}
    assert {len(a & b & c) for a, b, c in combinations(sets, 3)} == {found.common_to_three}
    incidence = np.array([[u in pair for u in range(cells)] for pair in every])
    assert (found.belongs(np.arange(found.symbols)) == incidence).all()
    values = np.random.default_rng(0).random((2, found.symbols))
    np.testing.assert_allclose(found.sums_by_cell(values), values @ incidence)
    values = values[:, :cells]
    np.testing.assert_allclose(found.sums_by_symbol(values), values @ incidence.T)
    # The information of one report, from its definition near even answers.
    chances = np.where(incidence, 19.0, 1.0) / float(19 * (cells - 1) + found.symbols - cells + 1)
    fisher = (chances.T / chances.mean(axis=1)) @ chances
    contrast = np.zeros(cells)
    contrast[:2] = 0.5**0.5, -(0.5**0.5)
    assert contrast @ fisher @ contrast == pytest.approx(float(found.information))


def test_pairs_are_chosen_where_they_have_more_information():
    gamma, prime = Fraction(19), 19
    direct, most = choose_pairs(gamma, prime)
    assert (direct, most) == (28, 73)
    single, pairs, geometry = (
        [float(response(gamma, n, prime, *how).information) for n in range(3, 200)]
        for how in ((10**6, 0), (2, 512), (2, 0))
    )
    best = [max(each) for each in zip(single, pairs, geometry, strict=True)]
    assert pairs[direct + 1 - 3 : most + 1 - 3] == best[direct + 1 - 3 : most + 1 - 3]
    # At 45 cells, errors of the other two are 8.7 % larger.
    assert (pairs[42] / max(single[42], geometry[42])) ** 0.5 == pytest.approx(1.087, abs=1e-3)


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
