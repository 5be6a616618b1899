"""Anatomy: the guarantee of its groups, and estimates from them."""

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from halftruth_shared import ParameterError
from halftruth_studies.anonymization.anatomy import anatomize, anatomy_estimate
from hypothesis import assume, given, settings
from hypothesis import strategies as st


@st.composite
def people(draw):
    """Draw l and sensitive values, each with a share of at most 1/l."""
    diversity = draw(st.integers(1, 5))
    counts = draw(st.lists(st.integers(0, 12), min_size=diversity, max_size=8).filter(any))
    while max(counts) * diversity > sum(counts):
        counts[int(np.argmax(counts))] -= 1
    assume(any(counts))
    values = np.repeat(np.arange(len(counts)), counts)
    return draw(st.permutations(values.tolist())), diversity


@given(people(), st.integers(0, 2**32))
@settings(max_examples=150, deadline=None)
def test_each_person_is_in_one_group_of_at_least_l_different_values(case, seed):
    values, diversity = case
    sensitive = np.array(values)
    groups = anatomize(sensitive, diversity, np.random.default_rng(seed))
    assert groups.shape == sensitive.shape
    assert set(groups.tolist()) == set(range(groups.max() + 1))
    for group in range(groups.max() + 1):
        held = sensitive[groups == group]
        assert len(set(held.tolist())) == len(held) >= diversity
    # Only residual people, fewer than l, make groups larger than l.
    assert sum((groups == g).sum() - diversity for g in range(groups.max() + 1)) < diversity


@given(people(), st.integers(0, 2**32))
@settings(max_examples=80, deadline=None)
def test_the_estimate_sums_people_times_shares_over_groups(case, seed):
    values, diversity = case
    sensitive, rng = np.array(values), np.random.default_rng(seed)
    groups = anatomize(sensitive, diversity, rng)
    cells = rng.integers(0, 3, len(values))
    expected = np.full((3, 9), Fraction(0))
    for group in set(groups.tolist()):
        members = np.flatnonzero(groups == group)
        held = Counter(sensitive[members].tolist())
        for person in members:
            for value, count in held.items():
                expected[cells[person], value] += Fraction(count, len(members) * len(values))
    found = anatomy_estimate(cells, sensitive, groups, (3, 9))
    np.testing.assert_allclose(found, expected.astype(float), atol=1e-12)
    # Both margins of the estimate are those of the people.
    np.testing.assert_allclose(found.sum(axis=1), np.bincount(cells, minlength=3) / len(values))
    np.testing.assert_allclose(found.sum(axis=0), np.bincount(sensitive, minlength=9) / len(values))


def test_a_too_frequent_value_is_refused():
    with pytest.raises(ParameterError, match=r"3 of 5 people .*; expected at most 1"):
        anatomize(np.array([0, 0, 0, 1, 2]), 2, np.random.default_rng(0))


def test_ties_between_equally_frequent_values_are_broken_randomly():
    """Four values, ten each, in pairs: with ties broken by name, half of the pairs never occur."""
    sensitive, met = np.repeat(np.arange(4), 10), set()
    for seed in range(5):
        groups = anatomize(sensitive, 2, np.random.default_rng(seed))
        met |= {tuple(sorted(sensitive[groups == group])) for group in range(20)}
    # Of 100 pairs of six kinds, one kind is missing in less than one of a million runs.
    assert len(met) == 6
