"""Margins of shares within groups by the design, which grade them."""

import numpy as np
import pytest
from halftruth_collector.analyses import ANALYSES, answer
from halftruth_collector.estimation.independence import margins_within
from halftruth_collector.estimation.reliability import RELIABILITIES, grades
from halftruth_shared import Attribute, RandomizedResponse, Schema, SplitQuestionnaire, Survey
from halftruth_shared.analyses.crosstab import CrosstabQuery
from sources import estimator_of, source_of

SCHEMA = Schema(
    [
        Attribute(f"q{j}", [f"a{i}" for i in range(size)], sensitive=True)
        for j, size in enumerate((2, 3, 4))
    ]
)
MECHANISMS = {
    "kept": RandomizedResponse(dict.fromkeys(SCHEMA.names, "0.8")),
    "split": SplitQuestionnaire.designed(SCHEMA, 19, (), {1: 1.0, 2: 1.0, 3: 1.0}),
}
SHARES = ([0.7, 0.3], [0.6, 0.3, 0.1], [0.5, 0.3, 0.15, 0.05])


def people(reports, rng):
    return np.stack([rng.choice(len(p), reports, p=p) for p in SHARES], 1)


@pytest.mark.parametrize("given", [[0], [1], [0, 2], []])
@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("fraction", [0.0, 0.25, 1.0])
def test_margins_are_those_of_the_pooled_shares(mechanism, given, fraction):
    """Against the delta method at the independent table, with a dense covariance of all cells."""
    rng = np.random.default_rng(8)
    survey = Survey("s", "S", SCHEMA, MECHANISMS[mechanism])
    names = ["q0", "q1", "q2"]
    table = estimator_of(survey, people(900, rng), rng).table(names).sampled(fraction)
    margins = margins_within(table, given, 1.96)
    cut = np.maximum(table.value, 0) / np.maximum(table.value, 0).sum()
    others = [axis for axis in range(3) if axis not in given]
    groups = cut.sum(axis=tuple(others), keepdims=True) * np.ones(cut.shape)
    pooled = cut.sum(axis=tuple(given), keepdims=True) * np.ones(cut.shape)
    null = groups * pooled
    # The covariance of a large population, less the part by sampling.
    covariance = table.sampled(0.0).covariance(np.eye(null.size), null)
    cells = np.indices(cut.shape).reshape(3, -1).T
    for cell in cells:
        inside = (cells[:, given] == cell[given]).all(axis=1)
        place, size = tuple(cell), groups[tuple(cell)]
        if size == 0:
            assert margins[place] == np.inf
            continue
        form = ((cells == cell).all(axis=1) - pooled[place] * inside) / size
        variance = form @ covariance @ form
        variance -= fraction * pooled[place] * (1 - pooled[place]) / (900 * size)
        assert margins[place] == pytest.approx(1.96 * np.sqrt(max(variance, 0)), rel=1e-6)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_shares_within_groups_are_graded_by_the_design(mechanism):
    """Not by the estimated error, which is small where the share is too small by chance."""
    rng = np.random.default_rng(9)
    survey = Survey("s", "S", SCHEMA, MECHANISMS[mechanism])
    seen = set()
    for reports in (300, 3_000, 30_000):
        source = source_of(survey, people(reports, rng), rng)
        query = CrosstabQuery(attributes=["q0", "q2"], percentages="row")
        result = answer(ANALYSES["crosstab"], source, query)
        margins = margins_within(source.estimator.table(["q0", "q2"]), [0], 1.959964)
        expected = [RELIABILITIES[grade] for grade in grades(margins.ravel())]
        rows = [result.rows[place] for place in result.places("share")]
        for row, grade in zip(rows, expected, strict=True):
            assert row.reliability == (grade if row.set == "interval" else "not usable")
        seen |= set(expected)
    assert len(seen) > 1


def test_no_cell_is_significant_unless_the_table_is():
    """Adjusted p-values of cells are at least that of the test of the whole table."""
    survey, tested = Survey("s", "S", SCHEMA, MECHANISMS["kept"]), 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        source = source_of(survey, people(400, rng), rng)
        query = CrosstabQuery(attributes=["q1", "q2"])
        result = answer(ANALYSES["crosstab"], source, query)
        [test, *_] = result.tests
        assert test.name == "score"
        least = 1.0 if test.p_value is None else test.p_value
        adjusted = result.estimates.numbers("adjusted_p_value")[result.places("share")]
        assert np.nanmin(adjusted, initial=1.0) >= least
        tested += test.p_value is not None
    assert tested > 20
