"""Shares within groups against dense gradients."""

from itertools import combinations

import numpy as np
import pytest
from halftruth_collector.estimation.contrasts import shares_within
from halftruth_collector.estimation.intervals import UNDEFINED

from .definitions import GivenTable, Z, differences

SHAPE = (2, 3, 2)
AXES = [given for length in range(3) for given in combinations(range(3), length)]


def an_estimate(seed=1, scale=0.005):
    """A table of 2 × 3 × 2 cells with the covariance of cells that add up to 1."""
    rng = np.random.default_rng(seed)
    support = rng.dirichlet(np.full(12, 5.0))
    root = rng.normal(scale=scale, size=(12, 12))
    root -= root.mean(axis=0)
    return support.reshape(SHAPE), root @ root.T


def share_of(cells, given):
    """Return shares within groups by their definition."""
    table = np.reshape(cells, SHAPE)
    shares = np.empty(SHAPE)
    for cell in np.ndindex(SHAPE):
        group = tuple(code if axis in given else slice(None) for axis, code in enumerate(cell))
        shares[cell] = table[cell] / table[group].sum()
    return shares.ravel()


@pytest.mark.parametrize("given", AXES)
def test_shares_and_covariance_are_those_of_the_dense_gradient(given):
    support, covariance = an_estimate()
    gradient = differences(lambda cells: share_of(cells, given), support.ravel())
    expected = gradient @ covariance @ gradient.T
    found = shares_within(GivenTable(support, covariance), given)
    assert found.value == pytest.approx(share_of(support, given))
    assert found.covariance == pytest.approx(expected, rel=1e-5, abs=1e-12)
    assert found.standard_error**2 == pytest.approx(np.diag(expected), rel=1e-5, abs=1e-12)
    # All of this error is of the perturbation, as the covariance is that of the respondents, too.
    assert found.parts[0] == pytest.approx(found.standard_error)
    assert (found.parts[1] == 0).all()


def test_sets_without_groups_are_the_normal_intervals_of_the_table():
    support, covariance = an_estimate()
    sets = shares_within(GivenTable(support, covariance), ()).sets(Z)
    error = np.sqrt(np.diag(covariance))
    assert sets.kind.tolist() == [0] * 12
    assert sets.lower == pytest.approx(support.ravel() - Z * error)
    assert sets.upper == pytest.approx(support.ravel() + Z * error)


def test_a_base_not_significantly_above_zero_has_open_sets_and_no_variance():
    support, covariance = an_estimate(scale=0.0005)
    support[0] *= 0.01
    base, spread = support[0].sum(), covariance[:6, :6].sum()
    # A base of one standard error, and a negative one.
    weak = covariance * base**2 / spread
    found = shares_within(GivenTable(support, weak), [0])
    assert np.isnan(found.standard_error[:6]).all()
    assert set(found.sets(Z).kind[:6].tolist()) <= {1, 2}
    negative = support.copy()
    negative[0] *= -1
    found = shares_within(GivenTable(negative, weak), [0])
    assert np.isnan(found.value[:6]).all()
    assert np.isfinite(found.value[6:]).all()
    assert np.isnan(found.covariance[:6]).all()


def test_sets_without_a_known_variance_are_undefined():
    support, covariance = an_estimate()
    found = shares_within(GivenTable(support, np.full_like(covariance, np.nan)), [1])
    assert found.value == pytest.approx(share_of(support, [1]))
    assert np.isnan(found.standard_error).all()
    assert found.sets(Z).kind.tolist() == [UNDEFINED] * 12
