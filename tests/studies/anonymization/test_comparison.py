"""Releases of the same data: published values, utility and disclosure."""

import math
import tomllib
from fractions import Fraction

import numpy as np
import pytest
from halftruth_shared import Attribute, DomainTooLarge, ParameterError, Schema, SchemaError
from halftruth_studies.anonymization.comparison import (
    CompareQuery,
    People,
    anatomized,
    compare,
    estimates,
    guessed,
    over_limit,
    randomized,
    uncertainty_coefficient,
)
from halftruth_studies.anonymization.distances import distances
from halftruth_studies.anonymization.generalization import generalize
from halftruth_studies.anonymization.hierarchies import hierarchy, read_hierarchies
from witnesses import witness

from .conftest import FOLDER

REPETITIONS = 12

#: Probabilities to keep education, salary, sex and race under a linking risk of 1/l.
KEEP = {
    2: ("0.7942", "0.9799", "0.9826", "0.9808"),
    3: ("0.6743", "0.9433", "0.9819", "0.9774"),
    4: ("0.5993", "0.9204", "0.9818", "0.9745"),
    5: ("0.5436", "0.9056", "0.9876", "0.9678"),
    6: ("0.4774", "0.9441", "0.9697", "0.9467"),
    7: ("0.4504", "0.9333", "0.9565", "0.9143"),
}
SALARY, OCCUPATION = 1, 4


@pytest.fixture(scope="module")
def people(adult):
    return People(*adult)


def small_people(seed=0):
    schema = Schema([Attribute(n, list("xyz")[:d]) for n, d in zip("abs", (3, 2, 3), strict=True)])
    return People(schema, np.random.default_rng(seed).integers(5, 60, schema.shape))


def small_comparison(**asked):
    people = small_people()
    query = CompareQuery(**{"quasi": ["a", "b"], "sensitive": "s", "diversity": [2], **asked})
    return people, compare(people, query, [hierarchy(a) for a in people.schema.attributes[:-1]])


def test_uncertainty_coefficients_of_adult_match_the_publication(people):
    witness("GYW", "Section V (associations)")
    pairs = [("education", "salary"), ("education", "occupation"), ("salary", "occupation")]
    found = [
        100 * uncertainty_coefficient(people.shares, *people.schema.positions(pair))
        for pair in pairs
    ]
    witness("Guo", "Section 5.3 (associations of Adult)").assert_own(found)


def assert_near_the_printed(row, found):
    """Within three standard deviations of one release and the rounding of the source."""
    row.assert_own(np.mean(found, axis=1))
    for releases, printed in zip(found, row.printed_values, strict=True):
        assert abs(np.mean(releases) - printed) < 3 * np.std(releases) + 0.005


def test_the_association_after_anatomy_matches_the_publication(people):
    row = witness("Guo", "Section 5.3.3 and Table 5.3 (anatomy)")
    found = [
        [
            100 * uncertainty_coefficient(anatomized(people, diversity, rng), SALARY, OCCUPATION)
            for rng in map(np.random.default_rng, range(REPETITIONS))
        ]
        for diversity in (3, 4, 5)
    ]
    assert_near_the_printed(row, found)


def test_the_published_values_of_randomized_releases_are_clipped_estimates(people):
    row = witness("Guo", "Section 5.3.3 and Table 5.3 (randomized)")
    found = []
    for diversity in (3, 4, 5):
        keep = dict(zip(people.schema.names, KEEP[diversity], strict=False))
        releases = []
        for seed in range(REPETITIONS):
            estimator = randomized(people, keep, np.random.default_rng(seed))
            clipped = np.maximum(estimator.table(people.schema.names).value, 0)
            clipped = clipped / clipped.sum()
            releases.append(100 * uncertainty_coefficient(clipped, SALARY, OCCUPATION))
        found.append(releases)
        # Significantly below the original: clipping weakens the association.
        assert np.mean(releases) + 3 * np.std(releases) / math.sqrt(REPETITIONS) < 2.74
    assert_near_the_printed(row, found)


@pytest.fixture(scope="module")
def compared(people):
    """Tables from one release of each kind for each l: generalized, anatomized, randomized."""
    with open(FOLDER / "adult-hierarchies.toml", "rb") as file:
        hierarchies = read_hierarchies(people.schema.attributes[:-1], tomllib.load(file))
    found = {}
    for diversity, keep in KEEP.items():
        rng = np.random.default_rng(diversity)
        chances = dict(zip(people.schema.names, keep, strict=False))
        found[diversity] = {
            "generalization": generalize(people.counts, hierarchies, diversity).estimate,
            "anatomy": anatomized(people, diversity, rng),
            **estimates(randomized(people, chances, rng)),
        }
    return found


def test_randomized_releases_are_the_nearest_at_every_l(people, compared):
    witness("Guo", "Figures 5.5–5.7 (distances)")
    witness("GYW", "Figures 5–7 (distances)")
    for tables in compared.values():
        found = {name: distances(people.shares, table) for name, table in tables.items()}
        for name in ("moment", "clipped", "likelihood"):
            for measure in ("variational", "l2", "chi_squared"):
                values = [getattr(found[n], measure) for n in (name, "anatomy", "generalization")]
                assert values == sorted(values), (name, measure)
        # Only the likelihood has no cell with people and an estimate of 0 or less.
        assert found["moment"].kl is None
        assert found["likelihood"].kl < found["anatomy"].kl < found["generalization"].kl


def test_errors_of_queries_depend_on_the_estimate_of_a_randomized_release(people, compared):
    witness("Guo", "Figures 5.5–5.7 (queries)")
    witness("GYW", "Figures 5–7 (queries)")
    for diversity, tables in compared.items():
        found = {name: distances(people.shares, table) for name, table in tables.items()}
        for measure in ("base_error", "cube_error"):
            errors = {name: getattr(each, measure) for name, each in found.items()}
            assert errors["likelihood"] < errors["anatomy"] < errors["generalization"]
            if diversity != 5:
                assert (errors["moment"] < errors["anatomy"]) == (diversity < 5), measure


def test_anatomy_keeps_associations_of_quasi_identifiers_and_loses_those_with_the_answer(
    people, compared
):
    witness("Guo", "Figures 5.5–5.7 (associations)")
    witness("GYW", "Figures 5–7 (associations)")
    education, salary, occupation = people.schema.positions(["education", "salary", "occupation"])
    quasi, sensitive = (education, salary), (education, occupation)
    for tables in compared.values():
        kept = uncertainty_coefficient(tables["anatomy"], *quasi)
        assert kept == pytest.approx(uncertainty_coefficient(people.shares, *quasi))
        lost = uncertainty_coefficient(tables["anatomy"], *sensitive)
        assert lost < 0.25 * uncertainty_coefficient(people.shares, *sensitive)
        # Randomization keeps more than half of both kinds.
        for pair in (quasi, sensitive):
            clipped = uncertainty_coefficient(tables["clipped"], *pair)
            assert clipped > 0.5 * uncertainty_coefficient(people.shares, *pair)


def test_anatomy_keeps_to_its_limit_for_each_person(people):
    for diversity in (2, 7):
        found = anatomized(people, diversity, np.random.default_rng(2))
        assert over_limit(people.shares, found, diversity) == 0


def test_a_randomized_release_keeps_the_sensitive_attribute():
    people = small_people()
    estimator = randomized(people, {"a": Fraction(4, 5), "b": 1}, np.random.default_rng(3))
    kept = people.shares.sum(axis=0)
    np.testing.assert_allclose(estimator.table(["b", "s"]).value, kept, atol=1e-12)
    assert np.abs(estimator.table(["a"]).value - people.shares.sum(axis=(1, 2))).max() > 1e-3


def test_clipped_and_likelihood_estimates_are_valid_tables():
    people = small_people()
    found = estimates(randomized(people, {"a": "1/2", "b": "3/5"}, np.random.default_rng(5)))
    assert list(found) == ["moment", "clipped", "likelihood"]
    assert (found["moment"] < 0).any()
    for name in ("clipped", "likelihood"):
        assert (found[name] >= 0).all()
        assert found[name].sum() == pytest.approx(1)


def test_disclosure_is_counted_per_person():
    actual = np.array([[0.2, 0.2, 0.1], [0.0, 0.1, 0.4]])
    estimated = np.array([[0.3, 0.1, 0.1], [0.2, 0.2, 0.1]])
    # Guesses: the first value in the first group, and the first in the second, where it is wrong.
    assert guessed(actual, estimated) == pytest.approx(0.2)
    # Above one third: 3/5 in the first group; 2/5 and 2/5 in the second.
    assert over_limit(actual, estimated, 3) == pytest.approx(0.2 + 0.0 + 0.1)
    assert over_limit(actual, estimated, 2) == pytest.approx(0.2)


def test_each_release_is_compared_once_per_l_and_repetition():
    people, result = small_comparison(repetitions=2, gamma="3/2")
    assert result.people == people.counts.sum()
    found = [(r.kind, r.estimate, r.diversity, r.repetition) for r in result.releases]
    three = ("moment", "clipped", "likelihood")
    assert sorted(found, key=str) == sorted(
        [
            ("generalization", "uniform in groups", 2, 0),
            *(("anatomy", "shares of groups", 2, k) for k in range(2)),
            *(("randomized", name, 2, k) for name in three for k in range(2)),
            *(("split-questionnaire", name, None, k) for name in three for k in range(2)),
        ],
        key=str,
    )
    assert [len(row) for row in result.rows()] == [len(result.columns)] * len(found)
    assert len(result.means) == 8
    for mean in result.means:
        same = [
            release
            for release in result.releases
            if (release.kind, release.estimate) == (mean.kind, mean.estimate)
        ]
        assert mean.variational == pytest.approx(np.mean([r.variational for r in same]))
        assert (mean.kl is None) == (None in [r.kl for r in same])
    [limited] = result.parameters
    assert all(1 / d < p <= 1 for d, p in zip((3, 2), limited.keep.values(), strict=True))


def test_pairs_can_be_chosen_and_are_directed():
    people, result = small_comparison(pairs=[["s", "a"], ["a", "s"]])
    table = people.shares.sum(axis=1)
    rows, columns = table.sum(axis=1), table.sum(axis=0)
    information = (table * np.log(table / np.outer(rows, columns))).sum()
    assert result.original == pytest.approx(
        [
            information / -(rows * np.log(rows)).sum(),
            information / -(columns * np.log(columns)).sum(),
        ]
    )


def test_an_association_of_negative_cells_is_undefined():
    assert uncertainty_coefficient(np.array([[0.6, -0.1], [0.2, 0.3]]), 0, 1) is None
    assert uncertainty_coefficient(np.array([[0.25, 0.25], [0.25, 0.25]]), 0, 1) == 0


def test_parameters_that_do_not_fit_the_data_are_refused():
    with pytest.raises(ParameterError, match="diversity: the sensitive values of everybody"):
        small_comparison(diversity=[5])
    with pytest.raises(SchemaError, match="pairs: unknown attribute 'c'"):
        small_comparison(pairs=[["a", "c"]])
    large = Schema([Attribute(n, list(map(str, range(100)))) for n in "abs"])
    query = CompareQuery(quasi=["a", "b"], sensitive="s", diversity=[2])
    with pytest.raises(DomainTooLarge, match="quasi: a table of 1000000 cells; expected at most"):
        compare(People(large, np.zeros(0, dtype=int)), query, [])
