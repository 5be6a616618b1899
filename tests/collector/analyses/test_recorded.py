"""Results of all analyses on a dozen surveys equal those recorded before."""

import pytest
import recorded
from halftruth_collector.analyses import ANALYSES

RECORDED = {each.name: each for each in recorded.SURVEYS}


#: Surveys of many questions take a third of the time.
MANY = ("pairs-41-questions", "kept-60-questions")


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.nightly) if n in MANY else n for n in RECORDED]
)
def test_results_equal_the_recorded_ones(name):
    """Intended differences are listed in `recorded/differences.md`."""
    assert recorded.compare(RECORDED[name]) == []


def test_every_analysis_is_recorded():
    asked = {label.split()[0] for name in RECORDED for label in recorded.read(name)}
    # Weighted records are compared with R and pandas in tests of their own.
    assert asked == set(ANALYSES) - {"microdata"}


def test_a_changed_number_is_a_difference():
    before = {"a": {"columns": {"value": [0.25, None]}, "tests": [["score", 3.1, 1, 0.08, 1]]}}
    assert list(recorded.differences(before, before, "", recorded.EXACT)) == []
    after = {"a": {"columns": {"value": [0.25 + 1e-8, None]}, "tests": []}}
    found = list(recorded.differences(before, after, "", recorded.EXACT))
    assert len(found) == 2
