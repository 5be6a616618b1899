"""The largest allowed results are computed and written within a gigabyte."""

import gc
import resource
import subprocess
import sys
import tracemalloc
import weakref
from functools import partial

import numpy as np
import pytest
from halftruth_collector.analyses import ANALYSES, answer
from halftruth_collector.counts import RecentResults
from halftruth_collector.estimation import Counts, Estimator
from halftruth_collector.estimation.design_fit import contradictions
from halftruth_collector.estimation.estimator import TABLE_CELLS
from halftruth_collector.estimation.table import COVARIANCE_CELLS
from halftruth_shared import Attribute, DomainTooLarge, RandomizedResponse, Schema, Survey
from halftruth_shared.analyses.table import TableQuery
from halftruth_shared.columns import encode
from mined import measures_of
from sources import counts_of, source_of

#: Number of categories of each attribute, and the query for the table of all attributes.
LARGEST = {
    "table": ((64, 32, 32), {}),
    "covariance": ((2,) * 11, {"covariance": True}),
    "itemsets": ((1_400, 1_400), {"min_support": 1e-4, "decision": "frequent"}),
}


def surveyed(shape):
    schema = Schema(
        [Attribute(f"q{j}", [f"answer number {k}" for k in range(d)]) for j, d in enumerate(shape)]
    )
    survey = Survey(
        "large", "Large", schema, RandomizedResponse(dict.fromkeys(schema.names, "0.9"))
    )
    rng = np.random.default_rng(1)
    records = rng.integers(0, shape, size=(2_000, len(shape)))
    return survey, counts_of(survey, records, rng)


def compute(name):
    """Compute and encode the largest result of this name within a memory limit."""
    shape, asked = LARGEST[name]
    survey, counts = surveyed(shape)
    # A gigabyte beyond the memory that the process has mapped already.
    with open("/proc/self/statm", encoding="ascii") as file:
        mapped = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (mapped + 2**30,) * 2)
    analysis = ANALYSES["itemsets" if name == "itemsets" else "table"]
    named = {} if name == "itemsets" else {"attributes": list(survey.schema.names)}
    query = analysis.query(**asked, **named)
    encode(answer(analysis, source_of(survey, counts), query))


def test_the_largest_results_have_the_maximum_sizes():
    assert np.prod(LARGEST["table"][0]) == TABLE_CELLS
    assert np.prod(LARGEST["covariance"][0]) == COVARIANCE_CELLS


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits are those of Linux")
@pytest.mark.parametrize(
    "name", ["table", "itemsets", pytest.param("covariance", marks=pytest.mark.nightly)]
)
def test_the_largest_results_take_less_than_a_gigabyte(name):
    program = f"import sys; sys.path[:0] = {sys.path!r}; import runpy; "
    program += f"runpy.run_path({__file__!r})['compute']({name!r})"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("shape", [(257, 256), (2,) * 17, (2**12, 2**12)])
def test_a_table_beyond_the_limit_is_refused_in_one_line(shape):
    survey, counts = surveyed(shape)
    estimator = Estimator(survey, counts)
    for ask in (estimator.table, partial(measures_of, estimator)):
        with pytest.raises(DomainTooLarge, match=f"expected at most {TABLE_CELLS}") as caught:
            ask(survey.schema.names)
        assert (caught.value.field, "\n" in str(caught.value)) == ("attributes", False)


def test_counts_are_sorted_without_widening_the_cells():
    """20 000 different reports of 40 columns, each of 40 bytes and a count."""
    survey, _ = surveyed((3,) * 40)
    cells = np.random.default_rng(1).integers(0, 3, size=(20_000, 40), dtype=np.uint8)
    tracemalloc.start()
    try:
        counts = Counts.from_cells(survey, cells, np.ones(20_000, dtype=np.int64))
        assert tracemalloc.get_traced_memory()[1] < 20_000 * 320
    finally:
        tracemalloc.stop()
    assert counts.cells.dtype == np.int8
    assert sorted(map(tuple, cells.tolist())) == list(map(tuple, counts.cells.tolist()))


def test_caches_hold_no_past_counts():
    """While reports arrive, each request has other counts, which are freed after it."""
    survey, counts = surveyed((2, 3, 2))
    counts = Counts.from_reports(survey, np.repeat(counts.cells, counts.counts, axis=0))
    left = weakref.ref(counts)
    source = source_of(survey, counts)
    for query in (
        TableQuery(attributes=["q0", "q1", "q2"]),
        TableQuery(attributes=["q0", "q1", "q2"], estimate="model"),
    ):
        name = next(each for each in ANALYSES if ANALYSES[each].query is type(query))
        result = answer(ANALYSES[name], source, query)
        assert result.reports == counts.reports
    # A report that no shares explain is tested, and the test is kept.
    assert contradictions(survey, counts, survey.schema.names, together=True) is not None
    del counts, source, result
    gc.collect()
    assert left() is None


def test_recent_results_are_computed_once_and_bounded():
    computed = []
    recent = RecentResults(2)

    def compute_of(key):
        return recent.get(key, lambda: computed.append(key) or key)

    assert [compute_of(key) for key in "aabacab"] == [*"aabacab"]
    # "a" was used more recently than "b" when "c" came.
    assert computed == ["a", "b", "c", "b"]
