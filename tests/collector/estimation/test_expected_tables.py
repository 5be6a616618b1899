"""Expected tables of a survey, against exactly the expected counts."""

import numpy as np
import pytest
from halftruth_collector.estimation import Counts
from halftruth_collector.estimation.reconstruction import reconstruction
from halftruth_collector.estimation.report_model import report_probabilities
from halftruth_shared import SplitQuestionnaire, Survey
from witnesses import witness

from .definitions import KINDS, mechanism_of, schema_of

#: Number of reports with the expected counts, large enough for negligible rounding.
MANY = 10**14


def split(length, public=""):
    schema = schema_of((3, 2, 4), public=["abc".index(name) for name in public])
    return Survey(
        "s", "S", schema, SplitQuestionnaire.for_amplification(schema, 19, list(public), length)
    )


def records(kind):
    schema = schema_of((3, 2, 4))
    return Survey("s", "S", schema, mechanism_of(kind, schema))


SURVEYS = [
    *(pytest.param(records(kind), id=kind) for kind in KINDS),
    *(pytest.param(split(n), id=f"split-{n}") for n in (2, 3)),
    pytest.param(split(2, "b"), id="split-2-public"),
]


@pytest.mark.parametrize("names", ["a", "b", "ab", "cb", "ac"])
@pytest.mark.parametrize("survey", SURVEYS)
def test_an_expected_table_equals_that_of_the_expected_counts(survey, names):
    witness("Guo", "Equations 2.1 and 2.2")
    names, schema, space = list(names), survey.schema, survey.report_space
    people = np.random.default_rng(11).dirichlet(np.full(schema.size, 2.0)).reshape(schema.shape)
    expected = np.rint(report_probabilities(survey.perturbation, people).ravel() * MANY)
    cells = np.indices(space.shape).reshape(len(space.shape), -1).T
    counts = Counts.from_cells(survey, cells, expected.astype(np.int64))
    positions = schema.positions(names)
    others = tuple(j for j in range(len(schema.shape)) if j not in positions)
    shares = people.sum(axis=others).transpose([sorted(positions).index(j) for j in positions])
    counted = reconstruction(survey).table(counts, names)
    table = reconstruction(survey).expected_table(names, shares, 1000)
    scale = MANY / 1000
    np.testing.assert_allclose(table.value, shares, atol=1e-12)
    np.testing.assert_allclose(counted.value, shares, atol=1e-9)
    for target in (0.0, 1.0):
        one, other = table.sampled(target), counted.sampled(target)
        # Bias corrections for products of estimates are of the order of 1/N.
        size = np.abs(other.covariance()).max() * scale + 1e-9
        np.testing.assert_allclose(
            one.covariance(), scale * other.covariance(), rtol=0.01, atol=0.01 * size
        )
    np.testing.assert_allclose(table.variance(), scale * counted.variance(), rtol=0.02)
    np.testing.assert_allclose(
        table.effective_reports, counted.effective_reports / scale, rtol=1e-3
    )
    forms = np.eye(shares.size)
    np.testing.assert_allclose(
        table.covariance(forms, shares),
        scale * counted.covariance(forms, shares),
        rtol=0.01,
        atol=1e-4 * size,
    )
