"""Channels against dense linear algebra, for every subset of attributes."""

import math
import tracemalloc
from itertools import combinations, permutations

import numpy as np
import pytest
from halftruth_shared import (
    Dense,
    DistortionMatrices,
    GammaDiagonal,
    Kronecker,
    RandomizedResponse,
    UniformMixture,
)
from halftruth_shared.channels import margins
from witnesses import witness

BATCHES = [(), (0,), (1,), (2, 3)]


def generator():
    return np.random.default_rng(20240301)


def ordered_subsets(count):
    """Return all non-empty subsets of positions, in every order."""
    return [
        order for size in range(1, count + 1) for order in permutations(range(count), size)
    ]  # fmt: skip


def marginalization(shape, order):
    """M_s of shape (n_s, n): sums a table over all attributes but these, in this order."""
    sizes = [shape[j] for j in order]
    cells = np.indices(shape).reshape(len(shape), -1)
    margin = np.ravel_multi_index(tuple(cells[j] for j in order), sizes)
    return (margin == np.arange(math.prod(sizes))[:, np.newaxis]).astype(float)


def subset_matrix(matrix, shape, order):
    """A_s with M_s A = A_s M_s, unique because M_s M_sᵀ = (n/n_s) I."""
    M = marginalization(shape, order)
    A = M @ matrix @ M.T / M[0].sum()
    np.testing.assert_allclose(M @ matrix, A @ M, rtol=0, atol=1e-13)
    return A


def check_channel(channel, matrix, shape):
    """Compare all methods of a channel for tables of this shape with this dense matrix."""
    n = math.prod(shape)
    assert channel.shape == shape
    np.testing.assert_allclose(channel.dense(), matrix, rtol=0, atol=1e-12)
    condition = np.linalg.cond(matrix)
    assert channel.condition_number == pytest.approx(condition, rel=1e-9)
    precision = 1e-13 * condition**2 + 1e-12
    inverse = np.linalg.inv(matrix)
    for batch in BATCHES:
        flat = generator().uniform(-1, 3, size=(math.prod(batch), n))
        table = flat.reshape(*batch, *shape)
        before = table.copy()

        def same(result, expected, batch=batch):
            assert result.shape == (*batch, *shape)
            assert result.dtype == np.float64
            expected = np.reshape(expected, result.shape)
            np.testing.assert_allclose(result, expected, rtol=precision, atol=precision)

        same(channel.forward(table), flat @ matrix.T)
        same(channel.solve(table), np.linalg.solve(matrix, flat.T).T)
        same(channel.solve_squared(table), flat @ (inverse**2).T)
        same(channel.adjoint(table), flat @ matrix)
        assert (table == before).all()
    moments = channel.weight_moments()
    by_true_cell = inverse**2 @ matrix
    for result, expected in [
        (moments.own, np.diag(by_true_cell)),
        (moments.total, by_true_cell.sum(axis=1)),
    ]:
        assert result.shape == shape
        np.testing.assert_allclose(result.ravel(), expected, rtol=precision, atol=precision)
    merged = channel.merged()
    np.testing.assert_allclose(merged.dense(), matrix, rtol=0, atol=1e-12)
    single = generator().uniform(size=n)
    for apply, expected in [(merged.forward, matrix @ single), (merged.adjoint, single @ matrix)]:
        found = apply(single.reshape(merged.shape))
        assert found.shape == merged.shape
        np.testing.assert_allclose(found.ravel(), expected, rtol=precision, atol=precision)
    check_margins(channel, inverse, shape)


def check_margins(channel, inverse, shape):
    """Compare the margins of a table with sums of the weights of each report."""
    y = generator().uniform(-1, 3, size=shape)
    found = channel.margins(y)
    weights = np.pad(inverse.reshape(*shape, -1), [(0, 1)] * len(shape) + [(0, 0)])
    for axis in range(len(shape)):
        last = (slice(None),) * axis + (-1,)
        weights[last] = weights.sum(axis=axis)
    scale = np.abs(weights).max() ** 2 * np.abs(y).sum()
    for result, expected in [
        (found.support, weights @ y.ravel()),
        (found.second_moment, weights**2 @ y.ravel()),
    ]:
        assert result.shape == expected.shape
        np.testing.assert_allclose(result, expected, rtol=1e-9, atol=1e-11 * scale)
    first, second = pairs_of_margin_cells(shape, 200)
    products = (weights[tuple(first.T)] * weights[tuple(second.T)]) @ y.ravel()
    np.testing.assert_allclose(
        found.product(first, second), products, rtol=1e-9, atol=1e-11 * scale
    )


def pairs_of_margin_cells(shape, count):
    """Return pairs of cells that agree wherever both specify a category."""
    rng = generator()
    places = rng.integers(0, shape, size=(count, len(shape)))
    pair = [np.where(rng.uniform(size=places.shape) < 0.5, places, shape) for _ in range(2)]
    return pair[0], pair[1]


def test_the_channel_of_every_subset_is_the_full_matrix_summed_over_cells(record_case):
    witness("FRAPP", "Equation 40")
    case = record_case
    for order in ordered_subsets(len(case.shape)):
        channel = case.perturbation.channel([f"a{j}" for j in order])
        shape = tuple(case.shape[j] for j in order)
        check_channel(channel, subset_matrix(case.dense, case.shape, order), shape)


@pytest.mark.parametrize(
    "channel",
    [
        UniformMixture((2, 3), 0.5),
        Kronecker([UniformMixture((2,), 0.5), UniformMixture((3,), 0.5)]),
    ],
)
def test_the_product_of_disagreeing_cells_is_an_error(channel):
    with pytest.raises(ValueError, match="second"):
        channel.margins(np.ones((2, 3))).product(np.array([[0, 1]]), np.array([[0, 2]]))


def test_products_of_margins_do_not_depend_on_the_memory_limit(monkeypatch):
    factors = [Dense(random_stochastic(size, size)) for size in (2, 3, 2, 3)]
    shape = (2, 3, 2, 3)
    y = generator().uniform(size=shape)
    first, second = pairs_of_margin_cells(shape, 300)
    at_once = Kronecker(factors).margins(y).product(first, second)
    monkeypatch.setattr(margins, "_PRODUCT_CELLS", 1)
    by_pattern = Kronecker(factors).margins(y).product(first, second)
    np.testing.assert_allclose(by_pattern, at_once, rtol=1e-10, atol=1e-12)


def test_a_report_is_a_record(record_case):
    case = record_case
    assert case.perturbation.space.shape == case.shape
    assert case.perturbation.space.names == case.schema.names


def test_census_at_19_has_the_published_condition_number_for_every_subset(schema_of):
    row, schema = witness("FRAPP", "Equations 17–23"), schema_of((4, 5, 5, 5, 2, 2))
    mechanism = GammaDiagonal("19")
    for size in range(1, 7):
        for names in combinations(schema.names, size):
            condition = mechanism.bind(schema).channel(names).condition_number
            assert condition == pytest.approx(1 + 2000 / 18, rel=1e-14)
            row.assert_own(condition)


@pytest.mark.parametrize("size", [31, 32, 33, 40])
def test_channels_of_attributes_with_many_categories_are_correct(size, schema_of):
    witness("GYW", "Equation 1")
    schema = schema_of((2, size))
    mechanism = RandomizedResponse({"a0": "4/5", "a1": "1/3"})
    few = np.array([[0.8, 0.2], [0.2, 0.8]])
    many = np.full((size, size), (1 - 1 / 3) / (size - 1))
    np.fill_diagonal(many, 1 / 3)
    check_channel(mechanism.bind(schema).channel(["a0", "a1"]), np.kron(few, many), (2, size))
    check_channel(mechanism.bind(schema).channel(["a1"]), many, (size,))


def test_a_uniform_mixture_has_its_matrix():
    for shape in [(1,), (4,), (2, 1, 3)]:
        n = math.prod(shape)
        for keep in (1, 0.25):
            matrix = keep * np.eye(n) + np.full((n, n), (1 - keep) / n)
            check_channel(UniformMixture(shape, keep), matrix, shape)


@pytest.mark.parametrize("keep", [0, -0.1, 1.1, math.nan])
def test_a_uniform_mixture_refuses_an_invalid_probability(keep):
    with pytest.raises(ValueError, match="keep"):
        UniformMixture((2,), keep)


def random_stochastic(size, seed):
    """Return a well-conditioned column-stochastic matrix without symmetry."""
    matrix = np.random.default_rng(seed).uniform(0, 1, (size, size)) + size * np.eye(size) / 2
    return matrix / matrix.sum(axis=0)


def test_a_dense_channel_refuses_a_matrix_that_is_not_square():
    with pytest.raises(ValueError, match="matrix"):
        Dense(np.ones((2, 3)))


def test_a_product_of_unlike_channels_is_their_kronecker_product():
    mixture = 0.3 * np.eye(4) + np.full((4, 4), 0.7 / 4)
    first, last = random_stochastic(2, 1), random_stochastic(3, 2)
    channel = Kronecker([Dense(first), UniformMixture((4,), 0.3), Dense(last)])
    check_channel(channel, np.kron(np.kron(first, mixture), last), (2, 4, 3))


LARGE = (2,) * 12 + (50,)


def large_mechanism(kind, schema):
    if kind == "gamma-diagonal":
        return GammaDiagonal("19")
    if kind == "randomized-response":
        return RandomizedResponse.for_amplification(schema, 10**9)
    shifts = {0: "0.7", 1: "0.15", 7: "0.15"}
    circulant = [[shifts.get((v - u) % 50, "0") for u in range(50)] for v in range(50)]
    factors = [[["0.9", "0.2"], ["0.1", "0.8"]]] * 12 + [circulant]
    return DistortionMatrices(dict(zip(schema.names, factors, strict=True)))


@pytest.mark.parametrize("kind", ["gamma-diagonal", "randomized-response", "distortion-matrices"])
def test_a_large_channel_needs_the_memory_of_a_few_tables(kind, schema_of):
    # 204,800 cells are 1.6 MB; the full matrix would be 336 GB.
    schema = schema_of(LARGE)
    mechanism = large_mechanism(kind, schema)
    x = generator().uniform(size=LARGE)
    tracemalloc.start()
    try:
        channel = mechanism.bind(schema).channel(schema.names)
        assert channel.condition_number > 1
        y = channel.forward(x)
        back = channel.solve(y)
        squared = channel.solve_squared(y)
        back_and_forth = channel.adjoint(y)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 12 * x.nbytes

    np.testing.assert_allclose(back, x, rtol=0, atol=1e-6)
    assert (y * y).sum() == pytest.approx((x * back_and_forth).sum())
    assert (squared >= 0).all()
