"""Counts of reports against a naive loop, in all memory layouts."""

from collections import Counter

import numpy as np
import pytest
from halftruth_collector.estimation import Counts
from halftruth_shared import DomainTooLarge, ReportError

LAYOUTS = {
    "small, margins remembered": (2, 3, 4, 2),
    "dense, margins summed anew": (20, 30, 40),
    "dense to count, sparse to sum": (100, 100, 100),
    "binary, margins remembered": (2,) * 12,
    "as many values as a byte holds": (256, 3, 256, 2),
    "beyond 2**24 cells": (2,) * 30,
    "just beyond 2**24 cells": (2**12 + 1, 2**12),
    "beyond 2**63 cells": (2,) * 70,
    "beyond 2**63 cells, wide": (50_000, 2, 50_000, 3, 50_000, 50_000, 5),
}


def some_reports(shape, count, seed):
    """Reports with mostly small values, so that many are equal."""
    rng = np.random.default_rng(seed)
    columns = [np.minimum(rng.geometric(0.5, count) - 1, size - 1) for size in shape]
    reports = np.stack(columns, axis=1)
    reports[:5] = np.array(shape) - 1
    return reports


@pytest.fixture(params=LAYOUTS.values(), ids=LAYOUTS, scope="module")
def shape(request):
    return request.param


@pytest.fixture(scope="module")
def survey(make_survey, shape):
    return make_survey("randomized-response", shape)


def test_every_distinct_report_has_its_count(survey, shape):
    reports = some_reports(shape, 400, seed=1)
    counts = Counts.from_reports(survey, reports)
    expected = Counter(map(tuple, reports.tolist()))
    found = dict(zip(map(tuple, counts.cells.tolist()), counts.counts.tolist(), strict=True))
    assert found == expected
    assert len(counts.cells) == len(expected)
    assert counts.reports == 400
    assert (counts.names, counts.shape) == (survey.schema.names, shape)


def test_equal_cells_are_added_up(survey, shape):
    reports = some_reports(shape, 300, seed=2)
    weights = np.random.default_rng(3).integers(0, 5, 300)
    counts = Counts.from_cells(survey, reports, weights)
    expected = Counter()
    for report, weight in zip(reports.tolist(), weights.tolist(), strict=True):
        expected[tuple(report)] += weight
    found = dict(zip(map(tuple, counts.cells.tolist()), counts.counts.tolist(), strict=True))
    assert found == {report: count for report, count in expected.items() if count > 0}
    assert counts.reports == weights.sum()


def test_margins_agree_with_a_naive_loop(survey, shape):
    reports = some_reports(shape, 500, seed=4)
    counts = Counts.from_reports(survey, reports)
    last = len(shape) - 1
    for columns in [(0,), (last,), (last, 0), (0, 1), (1, 0)]:
        sizes = tuple(shape[column] for column in columns)
        if np.prod(sizes, dtype=float) > 2**24:
            continue
        expected = np.zeros(sizes, dtype=int)
        for report in reports:
            expected[tuple(report[list(columns)])] += 1
        margin = counts.marginal(columns)
        assert margin.dtype.kind == "i"
        np.testing.assert_array_equal(margin, expected)
        np.testing.assert_array_equal(counts.marginal(columns), expected)


def test_counts_of_billions_of_reports_are_exact(make_survey):
    for padding in ((), (2,) * 30):
        survey = make_survey("randomized-response", (2, 3, *padding))
        cells = np.zeros((3, 2 + len(padding)), dtype=int)
        cells[:, :2] = [[0, 0], [0, 2], [1, 2]]
        many = [2**40 + 1, 2**41 + 3, 5]
        counts = Counts.from_cells(survey, cells, many)
        assert counts.reports == sum(many)
        np.testing.assert_array_equal(counts.marginal([0]), [2**40 + 2**41 + 4, 5])
        np.testing.assert_array_equal(counts.marginal([1]), [2**40 + 1, 0, 2**41 + 8])


def test_an_empty_array_of_reports_gives_zero_counts(survey, shape):
    for empty in ([], np.zeros((0, len(shape)), dtype=int)):
        counts = Counts.from_reports(survey, empty)
        assert counts.reports == 0
        assert counts.cells.shape == (0, len(shape))
        np.testing.assert_array_equal(counts.marginal([1]), np.zeros(shape[1]))


def test_a_margin_too_large_to_hold_is_refused(make_survey):
    survey = make_survey("randomized-response", (2**12, 2**12, 2))
    counts = Counts.from_reports(survey, [[0, 1, 1], [5, 6, 0]])
    assert counts.marginal([0]).shape == (2**12,)
    with pytest.raises(DomainTooLarge, match=str(2**25)) as error:
        counts.marginal([0, 1, 2])
    assert error.value.field == "attributes"


@pytest.fixture
def pair(make_survey):
    return make_survey("randomized-response", (2, 3))


FORM = r"integers of shape \(N, 2\)"
BAD_REPORTS = [
    *(
        (reports, "reports", FORM)
        for reports in (
            *([0, 1], [[0, 1, 0]], [[0]], [[0.0, 1.0]], [["0", "1"]], [[True, False]]),
            *([[[0, 1]]], [[None, 1]], [[0, 2**70]]),
        )
    ),
    *((reports, None, None) for reports in (5, None, [[0, 1], [0]])),
    (np.array([[2**64 - 1, 0]], dtype=np.uint64), "a", "report 0: 'a'"),
]


@pytest.mark.parametrize(("reports", "field", "said"), BAD_REPORTS)
def test_invalid_reports_are_refused(pair, reports, field, said):
    with pytest.raises(ReportError, match=said) as error:
        Counts.from_reports(pair, reports)
    assert field in (None, error.value.field)


BAD_COUNTS = [
    *(
        (counts, "counts", "one integer for each report")
        for counts in (
            *(3, [1], [1, 2, 3], [1.0, 2.0], ["1", "2"], [[1, 2]]),
            *([True, False], None),
        )
    ),
    ([4, -1], "counts", "at least 0"),
    # Beyond 63 bits: a single count, and the sum.
    (np.array([2**63 + 5, 1], dtype=np.uint64), None, None),
    (np.array([2**62, 2**62]), None, None),
]


@pytest.mark.parametrize(("counts", "field", "said"), BAD_COUNTS)
@pytest.mark.parametrize("cells", [[[0, 0], [1, 1]], [[0, 0], [0, 0]]])
def test_invalid_counts_are_refused(pair, cells, counts, field, said):
    with pytest.raises(ReportError, match=said) as error:
        Counts.from_cells(pair, cells, counts)
    assert field in (None, error.value.field)


@pytest.mark.parametrize(("bad", "row", "column"), [(2, 1, 0), (-1, 2, 1), (3, 0, 1), (9, 2, 0)])
def test_a_value_outside_its_column_is_named(pair, bad, row, column):
    reports = np.zeros((3, 2), dtype=int)
    reports[row, column] = bad
    name, size = "ab"[column], (2, 3)[column]
    with pytest.raises(ReportError, match=f"report {row}: '{name}'.* 0 to {size - 1}") as error:
        Counts.from_reports(pair, reports)
    assert (error.value.field, error.value.index) == (name, row)


def test_writing_into_a_margin_does_not_change_the_counts(pair):
    counts = Counts.from_reports(pair, [[0, 0], [1, 1], [1, 2]])
    for columns in ([0], [0, 1]):
        try:
            counts.marginal(columns)[0] += 100
        except ValueError:  # A read-only margin is fine.
            continue
    np.testing.assert_array_equal(counts.marginal([0]), [1, 2])
    np.testing.assert_array_equal(counts.marginal([0, 1]), [[1, 0, 0], [0, 1, 1]])


def test_no_reports_give_no_cells(survey, shape):
    counts = Counts.from_reports(survey, np.zeros((0, len(shape)), dtype=int))
    assert counts.cells.shape == (0, len(shape))
    assert counts.reports == 0
