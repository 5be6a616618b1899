"""Generalization: entropy l-diversity of each group, and the search against enumeration."""

import math
from itertools import product

import numpy as np
import pytest
from halftruth_shared import Attribute, ParameterError
from halftruth_studies.anonymization.generalization import (
    entropies,
    generalize,
    grouped,
    minimal_generalizations,
)
from halftruth_studies.anonymization.hierarchies import hierarchy, read_hierarchies
from hypothesis import given, settings
from hypothesis import strategies as st

LETTERS = "abcdefgh"


def attribute(size, name="x"):
    return Attribute(name, list(LETTERS[:size]))


@st.composite
def hierarchies_of(draw, size):
    """Draw up to two random groupings between the categories and ``*``."""
    names, groupings = list(LETTERS[:size]), []
    for level in range(draw(st.integers(0, 2))):
        places = draw(st.lists(st.integers(0, 2), min_size=len(names), max_size=len(names)))
        grouping = {
            f"g{level}{place}": [n for n, p in zip(names, places, strict=True) if p == place]
            for place in sorted(set(places))
        }
        groupings.append(grouping)
        names = list(grouping)
    return hierarchy(attribute(size), groupings)


@st.composite
def releases(draw):
    """Draw a table of up to three quasi-identifiers, their hierarchies, and a feasible l."""
    sizes = draw(st.lists(st.integers(2, 4), min_size=1, max_size=3))
    values = draw(st.integers(2, 4))
    cells = math.prod(sizes) * values
    # Many empty cells, as in real tables.
    count = st.one_of(st.just(0), st.integers(0, 6))
    counts = draw(st.lists(count, min_size=cells, max_size=cells).filter(any))
    table = np.array(counts).reshape(*sizes, values)
    chosen = [draw(hierarchies_of(size)) for size in sizes]
    most = math.exp(entropy(table.sum(axis=tuple(range(len(sizes))))))
    return table, chosen, 1 + draw(st.floats(0, 1)) * (most - 1) * (1 - 1e-6)


def entropy(counts):
    shares = [count / sum(counts) for count in counts if count]
    return -sum(share * math.log(share) for share in shares)


def groups(table, chosen, levels):
    """Return the counts of each group of indistinguishable people, cell by cell."""
    found = {}
    for cell in np.ndindex(table.shape):
        key = tuple(h[n].group[c] for h, n, c in zip(chosen, levels, cell[:-1], strict=True))
        found.setdefault(key, [0] * table.shape[-1])[cell[-1]] += int(table[cell])
    return found


def diverse(table, chosen, levels, diversity):
    return all(
        entropy(values) >= math.log(diversity) - 1e-9
        for values in groups(table, chosen, levels).values()
        if any(values)
    )


@given(releases())
@settings(max_examples=60, deadline=None)
def test_the_search_matches_the_enumeration_of_all_generalizations(release):
    table, chosen, diversity = release
    every = [
        levels
        for levels in product(*(range(len(h)) for h in chosen))
        if diverse(table, chosen, levels, diversity)
    ]
    minimal = [
        levels
        for levels in every
        if not any(
            other != levels and all(a <= b for a, b in zip(other, levels, strict=True))
            for other in every
        )
    ]
    assert list(minimal_generalizations(table, chosen, diversity)) == sorted(minimal)


@given(releases())
@settings(max_examples=60, deadline=None)
def test_the_release_is_diverse_uniform_and_nearest(release):
    table, chosen, diversity = release
    found = generalize(table, chosen, diversity)
    assert diverse(table, chosen, found.levels, diversity)
    assert found.levels in found.minimal
    by_group = groups(table, chosen, found.levels)
    members = groups(np.ones_like(table), chosen, found.levels)
    for cell in np.ndindex(table.shape):
        key = tuple(h[n].group[c] for h, n, c in zip(chosen, found.levels, cell[:-1], strict=True))
        expected = by_group[key][cell[-1]] / members[key][cell[-1]] / table.sum()
        assert found.estimate[cell] == pytest.approx(expected)
    # The nearest of all diverse generalizations, not only of the minimal ones.
    nearest = max(
        likelihood(table, chosen, levels)
        for levels in product(*(range(len(h)) for h in chosen))
        if diverse(table, chosen, levels, diversity)
    )
    assert likelihood(table, chosen, found.levels) == pytest.approx(nearest, abs=1e-9)


def likelihood(table, chosen, levels):
    by_group, members = groups(table, chosen, levels), groups(np.ones_like(table), chosen, levels)
    return sum(
        count * math.log(count / members[key][value])
        for key, values in by_group.items()
        for value, count in enumerate(values)
        if count
    )


def test_grouping_sums_the_cells_of_a_level():
    table = np.arange(1, 13).reshape(3, 2, 2)
    chosen = [hierarchy(attribute(3), [{"ab": ["a", "b"]}]), hierarchy(attribute(2))]
    assert grouped(table, chosen, (1, 1)).tolist() == [[[1 + 3 + 5 + 7, 2 + 4 + 6 + 8]], [[20, 22]]]
    np.testing.assert_allclose(entropies(np.array([[3, 3], [0, 0]])), [math.log(2), 0])


def test_a_too_large_diversity_is_refused_with_the_maximum():
    table = np.array([[3, 1], [2, 2]])
    with pytest.raises(ParameterError, match=r"entropy of ln 1\.938; expected at most") as refused:
        generalize(table, [hierarchy(attribute(2))], 2)
    assert refused.value.field == "diversity"


def test_hierarchies_refer_to_groups_of_the_previous_level():
    school, sex = Attribute("school", ["none", "primary", "college"]), Attribute("sex", ["f", "m"])
    [levels, suppressed] = read_hierarchies(
        [school, sex], {"school": [{"low": ["none", "primary"]}, {"any": ["low", "college"]}]}
    )
    assert [level.names for level in levels] == [school.categories, ("low", "college"), ("any",)]
    assert [level.group for level in levels] == [(0, 1, 2), (0, 0, 1), (0, 0, 0)]
    assert [level.names for level in suppressed] == [("f", "m"), ("*",)]


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({"age": []}, "'age' is no quasi-identifier; expected some of: school"),
        ({"school": {"low": ["none"]}}, r"expected tables \[\[school\]\], one for each level"),
        ({"school": [{"low": "none"}]}, r"expected tables \[\[school\]\], one for each level"),
        ({"school": [{"low": ["nobody"]}]}, "level 1: group 'low': expected groups of the level"),
        ({"school": [{"a": ["none"], "b": ["none"]}]}, "level 1: group 'b': expected"),
        (
            {"school": [{"low": ["none", "primary"]}, {"x": ["none"]}]},
            "level 2: group 'x': expected groups of the level before, each once: low, college",
        ),
    ],
)
def test_an_invalid_hierarchy_is_refused(document, message):
    school = Attribute("school", ["none", "primary", "college"])
    with pytest.raises(ParameterError, match=message):
        read_hierarchies([school], document)
